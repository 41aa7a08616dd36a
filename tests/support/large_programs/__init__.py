"""Random programs over large flat arrays, of sizes around those of vectors, tiles, chunks and blocks, beside NumPy."""
