"""Kernel IR printed as LLVM IR: the threads of a block are vector lanes.

In: kernel IR. Out: LLVM IR. Holds: the same bits for any number of workers.
"""
