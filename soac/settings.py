"""How programs are to be run, as commands and tests say it."""

from __future__ import annotations

from pathlib import Path

from .frontend.source.text import Reach
from .ir.records import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """How programs are to be run. `tuning` is None for the file beside the program; `reach`: what they may import."""

    device: str
    threads: int | None
    tuning: Path | None
    use_tuning: bool
    params: tuple[str, ...]
    forces: tuple[str, ...]
    reach: Reach
