"""Core under construction: statements, names and types of a body, arithmetic on scalars and arrays.

In: calls of `Code`. Out: core statements. Holds: every name is fresh, and its type is known.
"""
