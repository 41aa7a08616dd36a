"""Derivatives of ADBench's and other programs: their cost over that of the function, beside JAX and PyTorch.

The programs are written from the published definitions. `cases.py` says what they are called with.
"""
