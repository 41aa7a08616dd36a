"""The report of `soac explain --report` and `--html`: a program, its stages, versions, kernels and tuning.

In: a compiled program, data sets. Out: facts as JSON data, shown as text or as a page. Holds: the page needs no other
file, and what programs say is text in it, never markup.
"""
