"""The cores that this process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """How many: those of a container or of `taskset`, not all of the machine, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
