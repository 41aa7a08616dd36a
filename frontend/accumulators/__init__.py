"""Accumulators to what later stages know: histograms, scatters, reductions, and loops where nothing else is left.

In: core with `with_acc` and `accumulate`. Out: core without them. Holds: what is written goes out of the rows as arrays
of indices and values, so all versions of a program combine it in one order.
"""
