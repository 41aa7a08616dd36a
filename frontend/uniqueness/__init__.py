"""Uniqueness: what is consumed is not used again, results alias what their types allow.

In: typed syntax. Out: nothing, or E02xx diagnostics. Holds: every update may be done in place.
"""
