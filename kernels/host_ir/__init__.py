"""The host program: allocation, launches, guards, loops; liveness, events, launch parameters.

In: nothing. Out: frozen nodes. Holds: a launch names the sizes that it has.
"""
