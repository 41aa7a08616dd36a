"""NPBench's 54 programs in soac, compared with the suite's own NumPy, Numba and JAX versions.

The suite is not part of the project: its repository (spcl/npbench) is named by `--suite` or `$NPBENCH`. The programs
are written from the mathematics; `cases.py` says how their arguments and results correspond to the suite's.
"""
