"""Host programs as LLVM IR.

In: a host program. Out: LLVM IR, and what its failure sites mean. Holds: failures are those of the Python runner.
"""
