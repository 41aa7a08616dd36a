"""Which arrays may share memory, and which regions of them are read and written.

In: a core body. Out: alias classes, regions. Holds: what is not in one class shares no memory.
"""
