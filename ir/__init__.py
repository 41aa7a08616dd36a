"""The ground floor: types, core with SOACs and segops; printing, parsing, checking, interpreting.

In: nothing. Out: the two IRs and their meaning. Holds: frozen nodes, unique names, no tuples.
"""
