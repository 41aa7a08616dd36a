"""What a stream can show: colours, and lines that change."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

PATIENCE = 1.0  # seconds that a command may be silent


def has_colour(stream: TextIO) -> bool:
    """Whether to write in colour: `NO_COLOR` and `FORCE_COLOR` decide, else what the stream is."""
    if os.environ.get("NO_COLOR"):
        return False
    return os.environ.get("FORCE_COLOR", "0") not in ("", "0") or is_live(stream)


def is_live(stream: TextIO) -> bool:
    """Whether the stream is a terminal that obeys escape sequences; one with `TERM=dumb` does not."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """While the block runs for longer than a second, says on stderr what is being waited for; nothing is left of it."""
    if not is_live(sys.stderr):
        yield
        return
    said = threading.Event()

    def say() -> None:
        said.set()
        sys.stderr.write(f"\r\033[K{text} ..")
        sys.stderr.flush()

    timer = threading.Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said.is_set():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
