"""Declarations, modules, signatures and functors.

In: the modules of a program. Out: typed definitions. Holds: abstract types are opaque outside of their module.
"""
