"""The lowest layer: types, core with SOACs and segops, the machine table, version trees; printing, parsing, checking,
interpreting.

In: nothing. Out: the two IRs and their meaning. Holds: frozen nodes, unique names, no tuples.
"""
