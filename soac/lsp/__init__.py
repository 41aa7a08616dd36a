"""What editors ask of a program: `soac lsp`.

In: the text of a file that is being written. Out: diagnostics, types, definitions, names to complete, edits. Holds:
`analysis.py` and what is beside it know nothing of the protocol; only `server.py` imports pygls.
"""
