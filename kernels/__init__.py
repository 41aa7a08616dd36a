"""Segops to kernels and a host program, kernels to code, devices that run them; `lower.py` drives the first.

In: a flat `Prog`. Out: kernel IR and a host program, LLVM IR or CUDA C, results. Holds: collectives whole until
printing, every access checked or proved.
"""
