"""Text to syntax tree.

In: the text of a file. Out: a `Module`, or E01xx diagnostics. Holds: chains of operators and of `let` are flat nodes;
every node has its source range.
"""
