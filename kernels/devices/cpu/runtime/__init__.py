"""What compiled host programs call: memory, copies, the pool of threads, calls from Python; the JIT.

In: LLVM IR. Out: machine code in this process. Holds: every symbol is on a list of those that may be called.
"""
