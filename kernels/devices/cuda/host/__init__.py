"""Compiled host programs of a GPU: what they call at run time, and what of their code is a GPU's.

In: a host program, kernels as they are launched. Out: LLVM IR that launches through the driver's functions. Holds: what
it computes is what the Python runner does with the same settings.
"""
