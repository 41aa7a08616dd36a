"""Arrays that need not be: fusion inside of threads, updates in place, scatters merged.

In: segops. Out: segops with less memory. Holds: what is overwritten is not read afterwards.
"""
