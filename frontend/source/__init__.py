"""The source language as data: syntax tree, types, numeric modules, diagnostics as text.

In: nothing. Out: frozen nodes with source ranges. Holds: nothing here infers or parses.
"""
