"""Kernels run one thread after the other with visibility records: races and missing fences without a GPU.

In: kernel IR, arguments. Out: results, hazards, costs of accesses. Holds: proves nothing about other sizes.
"""
