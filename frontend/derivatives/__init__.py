"""Derivatives of core: a function and its arguments to statements that also give tangents or adjoints.

In: a lambda of core. Out: core statements without any trace of differentiation, so that a derivative is differentiated,
fused and flattened like everything else. Holds: arrays are consumed as `ir/aliases.py` asks.
"""
