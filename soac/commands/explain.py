"""`soac explain FILE [DATA..]`: the versions of a program, and which of them run on given data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..autotune.tuning import INFINITY, parse_setting
from ..cluster.explain import lines as node_lines
from ..cluster.partition import plan_of as plan_of_entry
from ..cluster.run import BROADCAST
from ..devices import class_of
from ..entries import no_entry
from ..ir.by_hand import kernel_of_guard
from ..ir.errors import NOWHERE, Loc
from ..ir.machine import MACHINES, WARP
from ..ir.version_tree import Sides, Site
from ..kernels.devices.cpu.executable import WORKERS
from ..kernels.devices.device import default_of
from ..performance.checks import performance_warnings
from ..performance.summary import summary_of
from ..reports.explain import (
    Decision,
    Guard,
    Interpreted,
    Launched,
    Step,
    Trace,
    decisions_of,
    explain,
    kernels_of,
    versions_taken,
)
from ..reports.schedules import as_json_of, schedule_lines, schedules_of, sigma_lines
from ..session import Plan, open_program, plan_of, planned
from ..settings import Settings
from ..versions import named_versions
from .arguments import gather
from .options import FILE, DataCommand, run_options
from .run import default_entry


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of a threshold and who set it; `forced`: the side that `--force` takes whatever the value is."""

    value: int
    origin: str
    forced: bool | None


@dataclass(frozen=True, slots=True)
class View:
    """An entry to be shown. `trace` is None where nothing was run."""

    entry: str
    signature: str
    steps: tuple[Step, ...]
    sites: tuple[Site, ...]
    settings: Mapping[str, Setting]
    trace: Trace | None


@click.command("explain", cls=DataCommand)
@click.argument("file", type=FILE)
@click.argument("data", nargs=-1)
@click.option("-e", "--entry", metavar="NAME", help="Entry point; default: all, with DATA main or the only one.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--schedules", is_flag=True, help="Show how each segop is run on the device, and why so.")
@click.option("--sigma", is_flag=True, help="Show how points are laid on the threads of a GPU, in sectors of memory.")
@click.option("--node", is_flag=True, help="Show how entry points are partitioned over a cluster.")
@click.option("--report", is_flag=True, help="Show all that is known: paths and times of data sets, kernels, tuning.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), metavar="PAGE", help="Write that as a page.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=20.0, show_default=True,
              help="With --report or --html: time for runs, and as much for traces of kernels.")  # fmt: skip
@click.option("--block", type=click.IntRange(1, 1024), help="Threads of a block that is traced.")
@click.option("--warp", type=click.IntRange(1, 64), default=WARP.threads, show_default=True, help="Those of a warp.")
@run_options
def command(
    file: Path, data: tuple[str, ...], entry: str | None, as_json: bool, schedules: bool, sigma: bool, node: bool,
    report: bool, html: Path | None, seconds: float, block: int | None, warp: int, settings: Settings,
) -> None:  # fmt: skip
    """Show the versions of each nest in FILE: guards, their thresholds, and the kernels that each side launches.

    With DATA (as for `soac run`) an entry point is run, and what it decided at the guards is shown. Without
    DATA nothing is run, and no device is needed.

    With --schedules: for each segop the schedules that were considered, their costs by the cost model, and which one is
    taken, where sizes decide under which condition.

    With --sigma and --device cuda: for each kernel of a segop the orders of its space, its splits and the copies of its
    inputs that were considered, with the sectors of global memory that they touch and the bytes that copies move, where
    sizes that are not known are 512; and the setting that chooses between two of them, if there is one.

    With --node: what the workers of a cluster do in blocks of rows, what they are sent for it, and what has no such
    version.

    With --report or --html: also the paths of DATA, or of the data sets of the test blocks, with the times of all
    versions, and of each kernel its axes, accesses, work of threads, schedules and code; the page has the program at
    all stages. Kernels are traced thread by thread on small data sets. The device need not be there."""
    if report or html is not None:
        if str(file) == "-":
            raise click.UsageError("--report and --html need a file")
        from .explain_report import Out, write_report  # what it needs is much

        plan = planned(file, settings)
        wanted = (entry or default_entry(plan.entries),) if entry or data else plan.entries
        views = _views(plan, settings, wanted, None)
        shown = _as_json(str(file), views)["entries"], tuple(_lines(views))
        write_report(file, settings, plan, shown, data, Out(html, as_json), (seconds, block, warp))
        return
    if schedules or sigma or node:
        if data:
            option = "schedules" if schedules else "sigma" if sigma else "node"
            raise click.UsageError(f"--{option} takes no data: nothing is run")
        if schedules or sigma:
            _echo_schedules(file, settings, entry, as_json, schedules)
        else:
            _echo_node(file, settings, entry)
        return
    if data:
        session = open_program(file, settings)
        name = entry or default_entry(session.program.entries)
        args = gather(session.program.function(name), data)
        _, trace = session.program.trace(name, args, forced=session.forced, threads=settings.threads)
        plan = plan_of(session)
        views = _views(plan, settings, (name,), trace)
    else:
        plan = planned(file, settings)
        views = _views(plan, settings, _wanted(plan, entry), None)
    if as_json:
        click.echo(json.dumps(_as_json(str(file), views), indent=2))
        return
    click.echo("\n".join(_lines(views)))
    if settings.device == "cpu" and (slow := summary_of(len(performance_warnings(plan.compiled)), str(file))):
        click.echo(f"\n{slow}")


def _echo_schedules(file: Path, settings: Settings, entry: str | None, as_json: bool, schedules: bool) -> None:
    """All schedules, or the mappings of a GPU."""
    plan = planned(file, settings)
    segops = schedules_of(plan.compiled.flat, MACHINES[settings.device], _wanted(plan, entry))
    if as_json:
        shown = {"program": str(file), "device": settings.device, "segops": list(map(as_json_of, segops))}
        click.echo(json.dumps(shown, indent=2))
        return
    lines = schedule_lines(segops) if schedules else sigma_lines(segops, plan.thresholds)
    click.echo("\n".join(lines) or "no σ: only machines with many threads choose one (--device cuda)")


def _echo_node(file: Path, settings: Settings, entry: str | None) -> None:
    plan = planned(file, settings)
    for name in _wanted(plan, entry):
        click.echo(f"entry {name}")
        for line in node_lines(plan_of_entry(plan.compiled.fused, name).block, BROADCAST):
            click.echo(line)


def _wanted(plan: Plan, entry: str | None) -> tuple[str, ...]:
    """The entries to be shown, all if none is named; raises `CompileError` E0001 where there is no such entry."""
    if entry is not None and entry not in plan.entries:
        raise no_entry(entry, plan.entries)
    return plan.entries if entry is None else (entry,)


def _views(plan: Plan, settings: Settings, entries: Sequence[str], trace: Trace | None) -> list[View]:
    known = {name: _setting(plan, settings, name) for site in plan.sites for name in site.thresholds}
    return [_view(plan, entry, known, trace) for entry in entries]


def _setting(plan: Plan, settings: Settings, name: str) -> Setting:
    by_hand = {parse_setting(param, [param.partition("=")[0]])[0] for param in settings.params}
    value = plan.thresholds.get(name, default_of(class_of(settings.device), name, settings.threads or WORKERS))
    tuned = name in plan.thresholds
    if kernel_of_guard(name) is not None and name not in by_hand:
        return Setting(value if tuned else INFINITY, "verified" if tuned else "not verified", plan.forced.get(name))
    origin = "--param" if name in by_hand else "tuning file" if tuned else "default"
    return Setting(value, origin, plan.forced.get(name))


def _view(plan: Plan, entry: str, settings: Mapping[str, Setting], trace: Trace | None) -> View:
    """Raises `CompileError` E0001 where there is no such entry."""
    fun = next((f for f in plan.compiled.host.functions if f.entry.name == entry), None)
    if fun is None:
        raise no_entry(entry, plan.entries)
    steps = explain(fun)
    outermost = {step.threshold for step in steps if isinstance(step, Guard)}
    here = tuple(site for site in plan.sites if site.name in outermost)
    signature = " ".join([entry, *(f"({p.name}: {p.text})" for p in fun.entry.params)])
    return View(entry, signature, steps, here, settings, trace)


def _versions(view: View, site: Site) -> Iterator[tuple[str, Sides, tuple[str, ...], int | None]]:
    """Each version of a site: name, sides, kernels, and how often the run took it."""
    root = tuple(step for step in view.steps if isinstance(step, Guard) and step.threshold == site.name)
    ran = None
    if view.trace is not None:
        ran = versions_taken(view.trace, {s.name: s.thresholds for s in view.sites})[site.name]
    for name, version in named_versions(site).items():
        times = None if ran is None else ran[frozenset(version.items())]
        yield name, version, kernels_of(root, version), times


# ---- text --------------------------------------------------------------------------------------------------------


def _lines(views: Sequence[View]) -> Iterator[str]:
    for number, view in enumerate(views):
        if number:
            yield ""
        yield f"entry {view.signature}"
        if view.trace is not None:
            yield "ran on the data given; `>` marks what it took"
        if not view.sites:
            yield "one version, no guards"
        made = decisions_of(view.trace) if view.trace is not None else None
        yield from _step_lines(view.steps, view.settings, made, 1)
        for site in view.sites:
            yield from _version_lines(view, site)


Decided = Mapping[str, tuple[Decision, ...]] | None


def _step_lines(steps: Sequence[Step], settings: Mapping[str, Setting], decided: Decided, depth: int) -> Iterator[str]:
    """The steps, each below the loops and conditions around it."""
    around: tuple[str, ...] = ()
    for step in steps:
        yield from _context(around, step.under, depth)
        around = step.under
        inner = depth + len(around)
        match step:
            case Launched(kernel, blocks):
                yield f"{'  ' * inner}{kernel} [{blocks} blocks]"
            case Interpreted(why, loc=loc):
                yield f"{'  ' * inner}interpreted{_at(loc)}: {why}"
            case Guard():
                yield from _guard_lines(step, settings, decided, inner)


def _context(before: Sequence[str], under: Sequence[str], depth: int) -> Iterator[str]:
    """The loops and conditions that begin between a step and the next one; of two sides the second is `else`."""
    same = next((k for k, (x, y) in enumerate(zip(before, under)) if x != y), min(len(before), len(under)))
    for k in range(same, len(under)):
        is_other = k == same < len(before) and before[k] == f"if {under[k].removeprefix('unless ')}"
        yield f"{'  ' * (depth + k)}{'else' if is_other else under[k]}:"


def _guard_lines(guard: Guard, settings: Mapping[str, Setting], decided: Decided, depth: int) -> Iterator[str]:
    pad = "  " * depth
    setting = settings[guard.threshold]
    fits = "" if guard.fits is None else f" and {guard.fits}"
    yield f"{pad}guard {guard.threshold} <= {guard.par}{fits}{_at(guard.loc)}"
    forced = "" if setting.forced is None else f"; `--force` takes {_side(setting.forced)}"
    pays = "" if guard.pays is None or setting.origin != "default" else f", where {guard.pays}"
    yield f"{pad}  threshold {_count(setting.value)} ({setting.origin}){pays}{forced}"
    made = {d.side: d for d in (decided or {}).get(guard.threshold, ())}
    if decided is not None and not made:
        yield f"{pad}  not reached in this run"
    for side, steps in ((True, guard.then), (False, guard.orelse)):
        mark, why = (">", f"  {_why(made[side], setting)}") if side in made else (" ", "")
        yield f"{pad}{mark} {_side(side)}:{why}"
        yield from _step_lines(steps, settings, decided, depth + 2) if steps else (f"{pad}    no kernels",)


def _why(decision: Decision, setting: Setting) -> str:
    least, most = decision.least, decision.most
    times = _times(decision.times)
    if least < 0:
        return f"taken {times}: it does not fit, Par {-least}"
    par = str(least) if least == most else f"{least} to {most}"
    if setting.forced is not None:
        return f"taken {times}, by `--force`; Par {par}"
    if not decision.side and least >= setting.value:
        return f"taken {times}: Par {par}, by default the other side does not pay"
    return f"taken {times}: Par {par} {'>=' if decision.side else '<'} threshold {_count(setting.value)}"


def _version_lines(view: View, site: Site) -> Iterator[str]:
    yield f"  versions (--force {site.name}=NAME):"
    for name, version, kernels, times in _versions(view, site):
        sides = ", ".join(f"{threshold} {_side(side)}" for threshold, side in version.items())
        taken = f"; taken {_times(times)}" if times else ""
        count = f"{len(kernels)} kernel" + ("s" if len(kernels) != 1 else "")
        yield f"  {'>' if times else ' '} {name}: {sides}; {count}{taken}"


def _side(side: bool) -> str:
    return "yes" if side else "no"


def _times(times: int) -> str:
    return "once" if times == 1 else f"{times} times"


def _count(value: int) -> str:
    return "infinity" if value == INFINITY else str(value)


def _at(loc: Loc) -> str:
    return "" if loc == NOWHERE else f"  at {loc}"


# ---- JSON --------------------------------------------------------------------------------------------------------


def _as_json(file: str, views: Sequence[View]) -> dict[str, Any]:
    return {
        "program": file,
        "ran": any(view.trace is not None for view in views),
        "entries": [_entry_json(view) for view in views],
    }


def _entry_json(view: View) -> dict[str, Any]:
    decided = decisions_of(view.trace) if view.trace is not None else None
    return {
        "name": view.entry,
        "signature": view.signature,
        "steps": [_step_json(step, view.settings, decided) for step in view.steps],
        "sites": [{"name": site.name, "versions": _versions_json(view, site)} for site in view.sites],
    }


def _versions_json(view: View, site: Site) -> list[dict[str, Any]]:
    return [
        {"name": name, "sides": version, "kernels": list(kernels)} | ({} if times is None else {"times": times})
        for name, version, kernels, times in _versions(view, site)
    ]


def _step_json(step: Step, settings: Mapping[str, Setting], decided: Decided) -> dict[str, Any]:
    where = {"under": list(step.under), "at": None if step.loc == NOWHERE else str(step.loc)}
    match step:
        case Launched(kernel, blocks):
            return {"kind": "launch", "kernel": kernel, "blocks": blocks, **where}
        case Interpreted(why):
            return {"kind": "interpret", "why": why, **where}
        case Guard():
            return {"kind": "guard", **_guard_json(step, settings, decided), **where}


def _guard_json(guard: Guard, settings: Mapping[str, Setting], decided: Decided) -> dict[str, Any]:
    setting = settings[guard.threshold]
    taken = {} if decided is None else {"taken": [_taken_json(d) for d in decided.get(guard.threshold, ())]}
    return {
        "threshold": guard.threshold,
        "value": setting.value,
        "set_by": setting.origin,
        "forced": setting.forced,
        "parallelism": guard.par,
        "fits": guard.fits,
        **taken,
        "then": [_step_json(step, settings, decided) for step in guard.then],
        "else": [_step_json(step, settings, decided) for step in guard.orelse],
    }


def _taken_json(decision: Decision) -> dict[str, Any]:
    side = "then" if decision.side else "else"
    return {"side": side, "times": decision.times, "least": decision.least, "most": decision.most}
