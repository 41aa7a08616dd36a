"""Typed syntax to core: a staged evaluator. Functions, records and modules are values of compile time.

In: typed syntax. Out: a core `Prog`. Holds: first-order, arrays of tuples are tuples of arrays, every size known or
checked.
"""
