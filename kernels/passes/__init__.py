"""Passes over kernel IR, a file each.

In: kernel IR. Out: kernel IR. Holds: the tracer sees the same values; a pass that does not apply gives the kernel
itself.
"""
