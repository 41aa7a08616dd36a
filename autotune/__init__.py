"""Thresholds and sizes for a machine and a workload: timed runs in a study, the exact choice, tuning files.

In: the guards of an entry and what runs it on data sets. Out: `prog.soac.tuning`. Holds: values are integers from 0
to 2^63-1; the next step of a search follows from the finished trials of its study alone.
"""
