"""`soac dataset`: data files made, converted and compared."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..data.dataset_types import bounds_of, drawn_of, generate, read_as, wanted_of
from ..data.files import read_file, read_stream
from ..data.read_write import TOLERANCE, Format, Value, compare_values, default_limit, read_values, write_values
from ..ir.errors import DataError, Diagnostic
from ..output import write_out
from ..terminal import waiting
from .options import FILE, DataCommand


class Dataset(click.Group):
    """A group whose first word may be left out: with `-g` it is `generate`, else `convert`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            makes = any(arg.startswith("-g") or arg.split("=")[0] == "--generate" for arg in args)
            args = ["generate" if makes else "convert", *args]
        return super().parse_args(ctx, args)


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds how and where to write; the command gets `form` and `output`."""
    flags = {Format.TEXT: ("--text",), Format.BINARY: ("-b", "--binary"), Format.NPY: ("--npy",)}
    path = click.Path(dir_okay=False, path_type=Path)
    function = click.option("-o", "--output", type=path, metavar="FILE", help="Write here; default: stdout.")(function)
    function = click.option(
        "--to", "form", type=click.Choice([form.value for form in Format]), default="text", show_default=True,
        help="Format of the values.",
    )(function)  # fmt: skip
    for form, names in flags.items():
        function = click.option(*names, "form", flag_value=form.value, help=f"The same as --to {form.value}.")(function)
    return function


@click.group("dataset", cls=Dataset)
def command() -> None:
    """Make, convert and compare data files.

    \b
    soac dataset -g [10][20]f32 -g 5i32 --seed 3 -b > in.data
    soac dataset in.data --to text                     (binary, npy; `-` is stdin)
    soac dataset in.data --as []f64 --to npy -o a.npy
    soac dataset compare a.out b.out --tolerance 0.01

    Files are text, binary, .npy or .npz, also packed with gzip."""


@command.command("generate", cls=DataCommand)
@click.option(
    "-g", "--generate", "words", multiple=True, required=True, metavar="TYPE|VALUE",
    help="A type with sizes to draw, or a value; several are written one after another.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed gives the same data.")
@click.option(
    "--bounds", multiple=True, metavar="TYPE=LOW:HIGH",
    help="Draw numbers of this type between these; default: integers of their full range, floats from 0 to 1.",
)  # fmt: skip
@output_options
def make(words: tuple[str, ...], seed: int, bounds: tuple[str, ...], form: str, output: Path | None) -> None:
    """Draw random values. A test block `random input { .. }` that fails names the seed that gives its values here."""
    known = {word: bounds_of(word) for word in bounds}
    for word, found in known.items():
        if found is None:
            raise click.BadParameter(f"`{word}` is not TYPE=LOW:HIGH, as `i32=0:99`", param_hint="--bounds")
    _check_words(words)
    with waiting("drawing values"):
        values = generate(words, seed, dict(found for found in known.values() if found))
    _write(values, Format(form), output)


def _check_words(words: tuple[str, ...]) -> None:
    """What is neither a type with sizes nor a value is wrong usage."""
    for position, word in enumerate(words, start=1):
        if drawn_of(word) is None:
            try:
                read_values(word.encode(), f"<value {position}>")
            except DataError:
                text = f"`{word}` is neither a type with sizes, as `[10]f32`, nor a value"
                raise click.BadParameter(text, param_hint="-g") from None


@command.command("convert", cls=DataCommand)
@click.argument("file", type=FILE)
@click.option(
    "--as", "types", multiple=True, metavar="TYPE",
    help="Convert to this type (`[]f64`), for all values or one for each; numbers must keep their value.",
)  # fmt: skip
@output_options
def convert(file: Path, types: tuple[str, ...], form: str, output: Path | None) -> None:
    """Read the values in FILE and write them in another format, or as another type."""
    wanted = [wanted_of(word) for word in types]
    if None in wanted:
        text = f"`{types[wanted.index(None)]}` is not a type of values, as `[]f32`"
        raise click.BadParameter(text, param_hint="--as")
    with waiting(f"reading {file}"):
        values = read_as(_contents(file), str(file), [w for w in wanted if w])
    _write(values, Format(form), output)


@command.command("compare", cls=DataCommand)
@click.argument("actual", type=FILE)
@click.argument("expected", type=FILE)
@click.option(
    "--tolerance", type=click.FloatRange(0), default=TOLERANCE, show_default=True,
    help="What floats may differ by, relative to the expected value, or absolute where that is below 1.",
)  # fmt: skip
def compare(actual: Path, expected: Path, tolerance: float) -> int:
    """Compare the values in two files; the exit code is 0 if they agree, 1 if not."""
    with waiting(f"comparing {actual} and {expected}"):
        got, wanted = (read_values(_contents(file), str(file)) for file in (actual, expected))
        differences = [(k, compare_values(a, b, tolerance)) for k, (a, b) in enumerate(zip(got, wanted))]
    for position, difference in differences:
        if difference is not None:
            click.echo(f"value {position}: {difference}")
    if len(got) != len(wanted):
        click.echo(f"expected {_count(wanted)}, got {_count(got)}")
    return int(len(got) != len(wanted) or any(difference for _, difference in differences))


def _count(values: list[Value]) -> str:
    return "1 value" if len(values) == 1 else f"{len(values)} values"


def _contents(file: Path) -> bytes:
    try:
        most = default_limit()
        return read_stream(sys.stdin.buffer, "<stdin>", most) if str(file) == "-" else read_file(file, most)
    except OSError as fault:
        text = f"cannot read `{file}`: {fault.strerror}"
        raise DataError(Diagnostic("D0121", text)) from None


def _write(values: list[Value], form: Format, output: Path | None) -> None:
    data = write_values(values, form)
    if output is None:
        click.echo(data, nl=False)
        return
    write_out(output, data)
