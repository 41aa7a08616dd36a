"""A program made ready for a command: read, compiled, with its tuning file, `--param` and `--force` applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .api import Program, compile
from .autotune.tuning import parse_setting, read_tuning, tuning_path
from .commands.options import Settings
from .devices import require
from .failures import show_diagnostics
from .flatten.tree import Site, sites, size_params
from .source import read_source
from .versions import forced_sides


@dataclass(frozen=True, slots=True)
class Session:
    """`forced`: the decisions at guards that `--force` fixes."""

    text: str
    program: Program
    sites: tuple[Site, ...]
    forced: Mapping[str, bool]


def open_program(path: Path, settings: Settings) -> Session:
    """Compiles the program at `path`; warnings go to stderr, errors are raised."""
    require(settings.device)
    text = read_source(path)
    program = compile(text, str(path), reach=settings.reach)
    show_diagnostics(program.compiled.warnings)
    all_sites = sites(program.compiled.flat)
    known = [name for site in all_sites for name in site.thresholds] + list(size_params(program.compiled.flat))
    thresholds = _tuned(path, text, settings, known) | _set_by_hand(settings.params, known)
    tuned = Program(program.compiled, program.executable, thresholds)
    return Session(text, tuned, all_sites, forced_sides(all_sites, settings.forces))


def _tuned(path: Path, text: str, settings: Settings, known: Sequence[str]) -> dict[str, int]:
    file = settings.tuning or tuning_path(path)
    if not settings.use_tuning or (settings.tuning is None and not file.is_symlink() and not file.exists()):
        return {}
    values, warnings = read_tuning(file, known, text)
    show_diagnostics(warnings)
    return values


def _set_by_hand(params: Sequence[str], known: Sequence[str]) -> dict[str, int]:
    return dict(parse_setting(param, known) for param in params)
