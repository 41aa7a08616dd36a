"""Kernel IR: the structured program of one block; printing, equality, index forms.

In: nothing. Out: frozen nodes. Holds: operands are variables and constants; what is outside of thread loops is
uniform.
"""
