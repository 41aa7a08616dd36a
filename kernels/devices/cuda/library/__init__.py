"""Libraries for a GPU: the compiled host program, cubins and PTX, the same C interface as on a CPU.

In: a host program with its kernels, what their CUDA C compiles to. Out: objects. Holds: the driver's library is looked
for when a context is made, so that a library links where there is none.
"""
