"""What runs programs: the protocol of a device, caches of code, the Python runner of host programs.

In: a host program, arguments. Out: results, failures with their place. Holds: a cache never fails a run.
"""
