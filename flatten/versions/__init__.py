"""Which versions a nest gets, their guards and default thresholds.

In: a nest with parallelism inside. Out: versions, each behind a guard. Holds: versions are equal in value; their
number is linear in the nests.
"""
