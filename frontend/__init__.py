"""Text to core: parse, infer, elaborate; diagnostics; test blocks and data files.

In: the text of a `.soac` file. Out: a core `Prog`, or diagnostics. Holds: well-typed, first-order, no tuples.
"""
