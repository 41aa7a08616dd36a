"""How an entry is partitioned, in words: what `soac explain --node` shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..ir.core import Rearrange, Reshape, Scatter, Stm, Update
from ..ir.show import show_atom
from ..ir.types import Name
from .plan import (
    All,
    Block,
    Choice,
    Folded,
    Group,
    Mapped,
    Move,
    Part,
    Repeat,
    Scanned,
    Step,
    Whole,
)


def lines(block: Block, most: int, depth: int = 1) -> Iterator[str]:
    """The steps of an entry, indented by loops and branches. `most`: bytes of an array that goes to every block."""
    for step, _ in block.steps:
        yield from step_lines(step, depth, most)


def step_lines(step: Step, depth: int, most: int) -> Iterator[str]:
    pad = "  " * depth
    match step:
        case Group():
            widths = " * ".join(map(show_atom, max(step.work, key=len)))
            yield f"{pad}guard {step.threshold} <= {widths}"
            yield from (f"{pad}  {kind_of(out)}" for out in step.outputs)
            yield from (f"{pad}  {line}" for line in operands(step, most))
        case Whole(_, pat, False, why):
            yield f"{pad}on one worker: {bases(name for name, _ in pat)}: {why}"
        case Move(stm):
            yield from (f"{pad}{line}" for line in move_lines(stm))
        case Repeat(names, _, body):
            yield f"{pad}loop: {bases(names)}"
            yield from lines(body, most, depth + 1)
        case Choice(names, _, then, orelse):
            yield f"{pad}branch: {bases(names)}"
            yield from lines(then, most, depth + 1)
            yield f"{pad}or"
            yield from lines(orelse, most, depth + 1)
        case Whole():
            pass


def move_lines(stm: Stm) -> Iterator[str]:
    """What is sent from one worker to another, or written."""
    names = bases(p.name for p in stm.pat)
    match stm.exp:
        case Rearrange(_, array):
            yield f"all to all: {names} is {array.base} with another dimension outermost"
        case Reshape(_, array):
            yield f"reshape: {names} in blocks of rows, from the rows of {array.base} around them"
        case Update(array):
            yield f"update: {names} is {array.base}, written in the blocks that have the rows"
        case Scatter():
            yield f"scatter: {names}, values go to the blocks that have their rows"
        case _:
            pass


def kind_of(output: Mapped | Folded | Scanned) -> str:
    match output:
        case Mapped(name):
            return f"segmap^node: {name.base} in blocks of rows"
        case Folded(names, _, _, first):
            return f"{'seghist' if first else 'segred'}^node: {bases(names)}, blocks combined in a tree"
        case Scanned(names):
            return f"segscan^node: {bases(names)}, in two passes"


def operands(group: Group, most: int) -> Iterator[str]:
    """What a block is given of arrays."""
    for param, given in zip(group.task.prog.functions[-1].params, group.task.given):
        match given:
            case Part(name, 0, 0) if param.type.shape:
                yield f"reads its rows of {name.base}"
            case Part(name, below, above):
                yield f"reads rows {below:+} .. {above:+} around its own of {name.base}"
            case All(name) if param.type.shape:
                yield f"is sent all of {name.base}, read anywhere: not taken if that has more than {most} bytes"
            case _:
                pass


def bases(names: Iterable[Name]) -> str:
    return ", ".join(name.base for name in names)
