"""Tiles in shared memory and registers.

In: segops. Out: segops with tiled reductions. Holds: every element is read inside of its row.
"""
