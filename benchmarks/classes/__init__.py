"""Classes of programs that nobody tuned for, each beside loops for Numba that use the same algorithm."""
