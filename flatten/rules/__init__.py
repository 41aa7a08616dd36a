"""The flattening rules, one function each, with the rule as its docstring.

In: a statement in a map nest. Out: segops, or None where the rule does not apply. Holds: interpretation before =
after.
"""
