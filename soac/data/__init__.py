"""Values in files: text, binary and NumPy's format; random values.

In: bytes. Out: arrays and scalars of the language, or D01xx. Holds: a reader gives exact positions.
"""
