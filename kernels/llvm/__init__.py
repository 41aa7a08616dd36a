"""LLVM IR as text: instructions of the operations, elementary functions in vectors.

In: operations of `ir/ops.py` on vectors of lanes. Out: instructions. Holds: no fast-math flag, no target intrinsic
without a generic form.
"""
