"""Libraries of programs as files: header, archives, manifest, files for build systems, wheels.

In: a compiled program, targets. Out: a directory that other languages build against. Holds: what is in it names nothing
of this machine, and the same program gives the same files.
"""
