"""Libraries of programs for the CPU: objects, tables and a C interface that need neither Python nor soac.

In: a host program with its kernels, targets. Out: an archive of objects, and what a header says. Holds: the code is
what Python runs, compiled for a file; of other libraries it needs those of C, mathematics and threads.
"""
