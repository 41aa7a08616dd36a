"""The CPU device: a program as machine code, its arguments as words, its results as arrays.

In: a host program, arguments. Out: results, failures, timing events. Holds: a caller's array is never written.
"""
