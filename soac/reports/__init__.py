"""What commands show: explanations, timings, charts.

In: compiled programs, times. Out: text and SVG. Holds: nothing here runs a program.
"""
