"""Fusion of producers with consumers.

In: core. Out: core with fewer arrays. Holds: nothing is computed twice, unless that is cheaper than an array.
"""
