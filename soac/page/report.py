"""The facts of the report: one JSON value for the page and for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..api import Program, Source, build
from ..checked_settings import guards_of
from ..devices import class_of, described, device
from ..ir.machine import CPU, MACHINES, Mode
from ..kernels.devices.cpu.executable import WORKERS, Executable
from ..kernels.devices.device import Runnable, default_of
from ..kernels.tracer.run import TraceSettings
from ..pipeline import compile_core
from ..program_cache import facts_of
from ..reports.explain import Step, explain, kernels_of
from ..reports.schedules import schedules_of
from ..session import Plan
from ..settings import Settings
from ..tuning.charts import fixed_versions
from ..version import __version__
from .data import Given, Runs, Seen, as_data, cases_of, chart_of, seen
from .history import history_of
from .kernels import Traceable, Traces, kernels_data, traces_of
from .lines import fused_away, sources_of, stages_of


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be reported: entries, data given for the only one of them instead of that of its test blocks, seconds
    for runs and as many for traces, and the machine that is traced."""

    path: Path
    settings: Settings
    entries: Sequence[str]
    given: Sequence[Given]
    seconds: float
    traced: TraceSettings


def report_of(asked: Asked, plan: Plan, views: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`views`: what `soac explain --json` says of each entry, in the same order."""
    compiled, name, path = plan.compiled, asked.settings.device, asked.path
    machine = MACHINES[name]
    text, is_there = compiled.texts[str(path)], not device(name).missing
    host = build(Source(text, str(path), asked.settings.reach, "cpu"))  # makes inputs, too
    runnable = _runnable(asked, plan, host, is_there)
    steps = {f.entry.name: explain(f) for f in compiled.host.functions if f.entry.name in asked.entries}
    runs = {entry: _runs(asked, plan, entry, runnable, is_there) for entry in asked.entries}
    found: dict[str, list[Seen]] = {}
    traces: list[Traces] = []
    for entry in asked.entries:
        sets = asked.given or list(cases_of(text, str(path), entry))
        found[entry] = list(seen(runs[entry], sets, host, path, asked.seconds / len(asked.entries)))
        traceable = _traceable(asked, plan, runs[entry], steps[entry])
        traces.append(traces_of(traceable, found[entry], asked.seconds / len(asked.entries)))
    sources = sources_of(compiled, str(path))
    files = list(sources)
    kernels, notes = kernels_data(
        compiled, machine, steps, schedules_of(compiled.flat, machine, asked.entries), _together(traces),
        (asked.traced, plan.thresholds), files,
    )  # fmt: skip
    if not is_there:
        what = "; ".join(one.what for one in device(name).missing)
        notes.insert(0, f"no times: {what}. The paths of data sets are those that the CPU finds.")
    stages = stages_of(compiled, asked.entries, files)
    left = {place for stage in stages for _, places in stage["lines"] for place in places}
    return {
        "format": 1, "soac": __version__, "program": path.name, "device": name,
        "machine": described(name) if is_there else machine.name,
        "threads": asked.traced.threads, "warp": asked.traced.warp, "notes": list(dict.fromkeys(notes)),
        "sources": [{"file": file, "lines": text.splitlines()} for file, text in sources.items()],
        "stages": stages, "inside": fused_away(compiled.core, files, left),
        "entries": [_entry(asked, runs[view["name"]], view, found[view["name"]], text) for view in views],
        "kernels": kernels,
    }  # fmt: skip


def _entry(asked: Asked, runs: Runs, view: Mapping[str, Any], sets: Sequence[Seen], text: str) -> dict[str, Any]:
    labels = [one.label for one in cases_of(text, str(asked.path), runs.entry)]
    return {
        **view,
        "data": [as_data(runs, one) for one in sets],
        "chart": chart_of(runs.entry, sets),
        "tuning": history_of(asked.path, runs.entry, asked.settings.device, labels, runs.sites),
    }


def _runnable(asked: Asked, plan: Plan, host: Program, is_there: bool) -> Runnable:
    """The program on its device; on the CPU, flattened for the device, where that is not there."""
    name = asked.settings.device
    if name == "cpu":
        return host.executable
    if is_there:
        return build(replace(host.source, device=name)).executable
    compiled = compile_core(plan.compiled.core, Mode.INCREMENTAL, MACHINES[name], schedules=CPU)
    return Executable.build(compiled.host, compiled.flat.functions)


def _runs(asked: Asked, plan: Plan, entry: str, runnable: Runnable, is_there: bool) -> Runs:
    settings, workers = asked.settings, asked.settings.threads or WORKERS
    facts = facts_of(plan.compiled)
    defaults = {name: default_of(class_of(settings.device), name, workers) for name in guards_of(facts)}
    sites = [site for site in plan.sites if site.entry == entry]
    thresholds = {**defaults, **plan.thresholds}
    return Runs(entry, sites, runnable, thresholds, plan.forced, settings.threads, is_there)


def _traceable(asked: Asked, plan: Plan, runs: Runs, steps: Sequence[Step]) -> Traceable:
    versions = dict(fixed_versions(runs.sites)) if runs.sites else {"only": {}}
    kernels = {name: (sides, frozenset(kernels_of(steps, sides))) for name, sides in versions.items()}
    return Traceable(plan.compiled, runs.entry, kernels, plan.thresholds, asked.traced)


def _together(traces: Sequence[Traces]) -> Traces:
    """Of all entries; a kernel that several have counts in the first."""
    launches = {name: seen for one in reversed(traces) for name, seen in one.launches.items()}
    of = {name: seen for one in reversed(traces) for name, seen in one.of.items()}
    return Traces(launches, of, tuple(why for one in traces for why in one.why))
