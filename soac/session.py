"""A program made ready for a command: read, compiled, with its tuning file, `--param` and `--force` applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .api import Program, Source, build, compile_prog, with_entries
from .autotune.tuning import (
    clamped,
    device_tuning_path,
    made_on,
    node_settings,
    parse_setting,
    read_tuning,
    require_possible,
    tuning_beside,
    tuning_path,
)
from .by_hand import verified, with_kernels
from .checked_settings import guards_of, parameters_of
from .devices import described, require
from .failures import show_diagnostics
from .ir.machine import MACHINES
from .ir.records import dataclass
from .ir.version_tree import Site
from .program_cache import Facts, facts_of
from .settings import Settings
from .source import read_source
from .terminal import waiting
from .versions import forced_sides

if TYPE_CHECKING:
    from .pipeline import Compiled


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
    with waiting(f"compiling {path}"):
        program = build(Source(text, str(path), settings.reach, settings.device))
    chosen = _chosen(path, text, settings, program.facts, program.entries)
    sites = program.facts.sites
    return Session(text, replace(program, thresholds=chosen), sites, forced_sides(sites, settings.forces))


@dataclass(frozen=True, slots=True)
class Plan:
    """A program as it would run on a device: its passes, its guards, and what they are set and forced to."""

    compiled: Compiled
    sites: tuple[Site, ...]
    thresholds: Mapping[str, int]
    forced: Mapping[str, bool]

    @property
    def entries(self) -> tuple[str, ...]:
        return tuple(fun.entry.name for fun in self.compiled.host.functions)


def planned(path: Path, settings: Settings) -> Plan:
    """As `open_program`, for a program that is not run: the device need not be there."""
    text = read_source(path)
    with waiting(f"compiling {path}"):
        made = compile_prog(text, str(path), machine=MACHINES[settings.device], reach=settings.reach)
    compiled = with_entries(made, str(path))
    facts = facts_of(compiled)
    plan = Plan(compiled, facts.sites, {}, forced_sides(facts.sites, settings.forces))
    return replace(plan, thresholds=_chosen(path, text, settings, facts, plan.entries))


def plan_of(session: Session) -> Plan:
    return Plan(session.program.compiled, session.sites, session.program.thresholds, session.forced)


def _chosen(path: Path, text: str, settings: Settings, facts: Facts, entries: Sequence[str]) -> dict[str, int]:
    """What the tuning file and `--param` set; warnings are shown."""
    show_diagnostics(facts.warnings)
    tuned = _tuned(path, text, settings, facts, entries)
    right = verified(path, facts.by_hand)
    chosen = with_kernels(tuned, guards_of(facts), right, settings.device, settings.threads)
    return chosen | _set_by_hand(settings.params, facts, entries)


def tuning_file(path: Path, settings: Settings) -> Path | None:
    """The tuning file to be read: the one asked for, else that of the device, else that of the program, if there."""
    if not settings.use_tuning:
        return None
    if settings.tuning is not None:
        return settings.tuning
    return tuning_beside(path, settings.device)


def _tuned(path: Path, text: str, settings: Settings, facts: Facts, entries: Sequence[str]) -> dict[str, int]:
    file = tuning_file(path, settings)
    if file is None:
        return {}
    values, warnings = read_tuning(file, parameters_of(facts, entries), text, described(settings.device))
    fitting, notes = clamped(file, values)
    show_diagnostics((*warnings, *notes))
    return fitting


def tuning_to_write(path: Path, session: Session, settings: Settings) -> tuple[Path, dict[str, int]]:
    """Where the settings for this device go, and those that are there. The program's own file, unless it was made on
    another device: then `prog.soac.DEVICE.tuning`."""
    own, device = tuning_path(path), device_tuning_path(path, settings.device)
    if settings.tuning is not None:
        file = settings.tuning
    else:
        is_foreign = made_on(own) not in (None, settings.device)
        file = device if is_foreign or device.exists() else own
    if not (file.exists() or file.is_symlink()):
        return file, {}
    values, _ = read_tuning(file, parameters_of(session.program.facts, session.program.entries), session.text, None)
    return file, {**values, **node_settings(file)}


def _set_by_hand(params: Sequence[str], facts: Facts, entries: Sequence[str]) -> dict[str, int]:
    if not params:
        return {}
    known = parameters_of(facts, entries)
    asked = dict(parse_setting(param, known) for param in params)
    for name, value in asked.items():
        require_possible(name, value)
    return asked
