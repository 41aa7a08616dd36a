"""Thresholds for a machine and a workload: tuning files, timing of every version, and the exact choice.

In: a compiled program and data sets. Out: `prog.soac.tuning`. Holds: values are integers from 0 to 2^63-1.
"""
