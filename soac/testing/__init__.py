"""Test blocks: parsed, run on every version, compared.

In: programs with `-- ==` blocks. Out: outcomes. Holds: a case that cannot run says why.
"""
