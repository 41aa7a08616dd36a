"""Schedules of segops on a CPU.

In: segops and a `HostBuilder`. Out: kernels and launches. Holds: blocks are cut by sizes alone.
"""
