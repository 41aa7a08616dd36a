"""`soac autotune`: timed runs for the searches of `autotune/`, and their report.

In: a program and its data sets. Out: tuning files, a report. Holds: a run that was timed is kept.
"""
