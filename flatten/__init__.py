"""Core to segops in several versions.

In: core (`ir/core.py`) as elaborated. Out: core inlined, simplified and fused, then segops. Holds: `check` accepts
the program after each pass, and `interpret` gives what it gave before (the law of failure).
"""
