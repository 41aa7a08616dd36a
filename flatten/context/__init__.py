"""What the flattening rules share: the map nest, what is deferred, scalar statements, the trace of rules.

In: a map nest and its statements. Out: bodies of segops. Holds: what a rule adds is in the scope of the nest.
"""
