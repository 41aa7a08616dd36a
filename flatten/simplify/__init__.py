"""Simplification: constant folding, copy propagation, common subexpressions, hoisting, views, bounds.

In: core or segops. Out: the same, smaller. Holds: a failure stays where it was, unless its value is not used.
"""
