"""Classes of programs for which nothing is tuned, each beside loops for Numba that use the same algorithm."""
