"""The CUDA device over the protocol `Driver`; PyCUDA is one driver, the tests have another.

In: a host program, arguments. Out: results on the GPU. Holds: everything that asks the driver runs in one thread.
"""
