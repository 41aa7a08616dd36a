"""Warnings about what makes a program slow without saying so: codes W05xx, one check each.

In: a compiled program (`Compiled`). Out: diagnostics with place, reason and remedy. Holds: a warning concerns every
version that may run by default, and every schedule of it.
"""
