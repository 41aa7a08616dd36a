"""What a launch may ask of any machine. Light to import: the command line checks its options by it."""

from __future__ import annotations

MAX_THREADS = 1024
"""CPU threads that a launch may use."""
