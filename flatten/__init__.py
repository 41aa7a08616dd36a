"""In: core (`ir/core.py`) as elaborated. Out: core, inlined, simplified and fused, then segops in several versions.
Every pass is a function `Prog -> Prog` made of rules, one function each with its formula as docstring.
What holds after each: `check` accepts the program, and `interpret` gives what it gave before (the law of failure).
"""
