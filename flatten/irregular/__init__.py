"""Rules for what varies in size over the nest: segment descriptors and flat data.

In: a statement whose sizes vary. Out: segops over flat data. Holds: descriptors are made once for each size.
"""
