"""The command line: a file for each command.

In: arguments of the command line. Out: text, files, an exit code. Holds: the only package that imports click.
"""
