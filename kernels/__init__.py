"""Segops to kernels and a host program; kernels to LLVM lanes (CUDA C later); devices that run them.

In: a flat `Prog`. Out: kernel IR, a host program, code. Holds: collectives whole until printing, every access
checked or proved.
"""
