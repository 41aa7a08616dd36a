"""Kernel IR printed as CUDA C.

In: kernel IR with its fences. Out: CUDA C for NVRTC. Holds: a name of the text is short, and unique where it is seen.
"""
