"""Options that commands share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from ..frontend.source.text import Reach
from ..ir.nearest import nearest
from ..kernels.limits import MAX_THREADS
from ..settings import Settings


class Existing(click.Path):
    """A path that exists; for one that does not, the message has the name in its folder that is most similar."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            path, names = Path(value), list[str]()
            with suppress(OSError):  # there is no such folder, or it may not be read
                names = [] if path.exists() else os.listdir(path.parent)
            if near := nearest(path.name, names, 0.8):
                self.fail(f"{error.message} Did you mean '{path.with_name(near)}'?", param, ctx)
            raise


FILE = Existing(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
FILES = Existing(exists=True, path_type=Path)


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of everything that runs programs; the command gets them as one `settings`."""

    def command(
        *args: Any, device: str, threads: int | None, tuning: Path | None, no_tuning: bool,
        param: tuple[str, ...], force: tuple[str, ...], allow_outside: bool, **rest: Any,
    ) -> Any:  # fmt: skip
        settings = Settings(device, threads, tuning, not no_tuning, param, force, reach_of(allow_outside))
        return function(*args, settings=settings, **rest)

    command.__doc__ = function.__doc__
    for option in reversed((*_RUN_OPTIONS, allow_outside_option)):
        command = option(command)
    return command


allow_outside_option = click.option(
    "--allow-outside", is_flag=True, help="Let imports name files outside the directory of the program."
)


def reach_of(allow_outside: bool) -> Reach:
    """What `--allow-outside` says."""
    return Reach.ANYWHERE if allow_outside else Reach.PROJECT


_RUN_OPTIONS = (
    click.option(
        "--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="Where to run."
    ),
    click.option("--threads", type=click.IntRange(1, MAX_THREADS), help="CPU threads; default: all cores."),
    click.option("--tuning", type=click.Path(path_type=Path), help="Tuning file; default: FILE.tuning if there."),
    click.option("--no-tuning", is_flag=True, help="Do not read a tuning file."),
    click.option("--param", multiple=True, metavar="NAME=INT", help="Set a threshold, over the tuning file."),
    click.option("--force", multiple=True, metavar="GUARD=VERSION", help="Take this version at a guard site."),
)


class DataCommand(click.Command):
    """A command whose operands may be negative numbers, or files named like options (`-x.soac`)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [_operand(arg) for arg in args])


def _operand(arg: str) -> str:
    if re.match(r"-(\d|f(16|32|64)\.)", arg):
        return " " + arg
    if arg.startswith("-") and arg.endswith(".soac") and os.path.isfile(arg):
        return "./" + arg
    return arg
