"""Schedules of segops on a GPU.

In: segops and a `HostBuilder`. Out: kernels and launches. Holds: results do not depend on the size of a block.
"""
