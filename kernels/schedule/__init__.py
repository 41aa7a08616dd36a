"""How a segop is run: the builders of kernels and host programs, statements and SOACs inside of kernels.

In: segops. Out: kernels and launches. Holds: results do not depend on the number of threads.
"""
