"""Entry points as Python sees them: signatures, classes of records and sums, values to components and back, stubs.

In: signatures of entries (`ir/entry_points.py`), Python values. Out: functions with signatures, annotations and
documentation; components, one array or scalar each. Holds: nothing here compiles or runs a program, and what an entry
of arrays and scalars alone needs is cheap to import.
"""
