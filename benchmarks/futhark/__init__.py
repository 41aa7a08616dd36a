"""Futhark's own benchmarks in soac, unmodified: what compiles, what it gives, what it takes.

In: a checkout of futhark-benchmarks beside the tree. Out: a result for each program. Holds: what is left out says why.
"""
