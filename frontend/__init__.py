"""Text to core: parse, infer, check uniqueness, elaborate; `compile.py` drives it.

In: the text of a `.soac` file and of what it imports. Out: a core `Prog`, or diagnostics. Holds: well-typed, first-
order, no tuples.
"""
