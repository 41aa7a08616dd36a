"""Operations of one line over all types of elements and all axes of an array, each beside NumPy and loops for Numba."""
