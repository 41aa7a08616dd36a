"""One layout for programs: `soac fmt`.

In: the text of a file that parses. Out: the text with canonical blanks, indentation and empty lines. Holds: the same
syntax tree, the same comments, lines end where they did; formatting twice changes nothing.
"""
