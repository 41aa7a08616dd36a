"""Options of commands that can run on a cluster: `--cluster ADDRESS`, or `--workers N` on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..autotune.tuning import INFINITY, node_settings
from ..checked_settings import misused
from ..ir.core import FunDef
from ..ir.records import dataclass
from ..ir.thresholds import is_node
from ..session import tuning_file
from ..settings import Settings
from .arguments import gather

if TYPE_CHECKING:
    from ..api import Program
    from ..cluster.api import Cluster

SIDES = {"cluster": True, "device": False}


@dataclass(frozen=True, slots=True)
class Where:
    """A cluster that a command is asked to use: its address, or how many workers to start here; how many blocks."""

    address: str | None
    workers: int | None
    blocks: int | None
    thresholds: Mapping[str, int] = field(default_factory=dict)
    forced: Mapping[str, bool] = field(default_factory=dict)


def cluster_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that say on which cluster; the command gets them as `where`."""

    def command(*args: Any, cluster: str | None, workers: int | None, blocks: int | None, **rest: Any) -> Any:
        if cluster is not None and workers is not None:
            raise click.UsageError("--cluster and --workers exclude each other")
        where = Where(cluster, workers, blocks) if cluster is not None or workers is not None else None
        return function(*args, where=where, **rest)

    command.__doc__ = function.__doc__
    command.__dict__.update(function.__dict__)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option("--cluster", metavar="ADDRESS", help="Run on the workers of a Dask scheduler (tcp://.. or tls://..)."),
    click.option("--workers", type=click.IntRange(1), metavar="N", help="Run on a cluster of N workers started here."),
    click.option("--blocks", type=click.IntRange(1), metavar="N", help="Blocks of an array on a cluster; default: 32."),
)


def tuned(where: Where, settings: Settings, path: Path) -> Where:
    """With what the tuning file of the program at `path` says of the guards `suff_node`."""
    file = tuning_file(path, settings)
    return where if file is None else replace(where, thresholds={**node_settings(file), **where.thresholds})


def with_guards(where: Where, settings: Settings) -> tuple[Where, Settings]:
    """The settings of the guards `suff_node` apart from the others."""
    thresholds = dict(number_of(param) for param in settings.params if is_node(named(param)))
    forced = dict(side_of(force) for force in settings.forces if is_node(named(force)))
    others = replace(
        settings,
        params=tuple(param for param in settings.params if not is_node(named(param))),
        forces=tuple(force for force in settings.forces if not is_node(named(force))),
    )
    return replace(where, thresholds=thresholds, forced=forced), others


def named(setting: str) -> str:
    return setting.partition("=")[0]


def number_of(param: str) -> tuple[str, int]:
    """NAME=INT; raises `SettingError` C0101."""
    name, _, text = param.partition("=")
    if not text.isdecimal() or int(text) > INFINITY:
        raise misused(f"`{param}` is no setting", "a threshold is an integer from 0 to 2^63-1")
    return name, int(text)


def side_of(force: str) -> tuple[str, bool]:
    """NAME=cluster or NAME=device; raises `SettingError` C0101."""
    name, _, side = force.partition("=")
    if side not in SIDES:
        hint = f"`{name}=cluster` takes the version in blocks, `{name}=device` the other one"
        raise misused(f"`{force}` is no setting", hint)
    return name, SIDES[side]


def opened(where: Where, threads: int | None) -> AbstractContextManager[Cluster]:
    """The cluster, and nothing of it is left at the end. `threads`: of one task."""
    from ..cluster.connect import connected

    return connected(where.address, where.workers, where.blocks, threads)


def gathered(cluster: Cluster, fun: FunDef, items: Sequence[str], limit: int | None) -> list[Any]:
    """Arguments as for a run on this machine; files of NumPy's format and Zarr arrays, one for each argument, are read
    by the workers."""
    if items and all(item.endswith((".npy", ".zarr")) and Path(item).exists() for item in items):
        return [cluster.read(item) for item in items]
    return list(gather(fun, items, limit))


def call(cluster: Cluster, where: Where, program: Program, entry: str, args: Sequence[Any]) -> list[Any]:
    """The results of an entry on the cluster."""
    return cluster.run(program, args, entry, where.thresholds, where.forced)


def prepared(cluster: Cluster, where: Where, program: Program, entry: str, args: Sequence[Any]) -> Callable[[], object]:
    """A call of an entry whose arrays are on the workers already."""
    placed = [cluster.array(arg) if arg.ndim else arg for arg in args]
    return lambda: call(cluster, where, program, entry, placed)
