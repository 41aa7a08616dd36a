"""What a cluster does for an entry: steps in order, each a task or some tasks for each block of rows.

    Whole       statements as one task; on scalars that the client has, on the client
    Group       segmap, segred, segscan and seghist at level `node`, of statements over one width: a task for each block
    Move        a slice, concatenation, update, reshape, transposition or scatter: rows stay, are cut, or go elsewhere
    Repeat      a sequential loop, whose arrays stay on the workers
    Choice      a branch

A task is a program of its own, compiled where it runs like any other, and says what its parameters are given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..ir.core import Loop, Param, Prog, Stm
from ..ir.types import Atom, Name, Type


@dataclass(frozen=True, slots=True)
class All:
    """A scalar, or an array whole: small operands are broadcast."""

    name: Name


@dataclass(frozen=True, slots=True)
class Part:
    """The rows `lo + below .. hi + above` of an array, as far as there are such, for the block of rows `lo .. hi`:
    its own, or those of its neighbours too."""

    name: Name
    below: int
    above: int


@dataclass(frozen=True, slots=True)
class First:
    """The number of the first row of the block, or of a part."""

    of: Part | None


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows the block has, or a part."""

    of: Part | None


@dataclass(frozen=True, slots=True)
class Local:
    """What the step itself gives at this position: partial results, carries."""

    position: int


Given = All | Part | First | Count | Local


@dataclass(frozen=True, slots=True)
class Task:
    """A program with one entry, and what its parameters are given."""

    prog: Prog
    given: tuple[Given, ...]


@dataclass(frozen=True, slots=True)
class Mapped:
    """`name` is the array of the blocks' results at this position."""

    name: Name
    position: int


@dataclass(frozen=True, slots=True)
class Folded:
    """`names` are the blocks' results from this position on, combined in a fixed tree: `combine` gives one value of
    each for a number of them. `first`: what a histogram adds to comes before all of them."""

    names: tuple[Name, ...]
    position: int
    combine: Task
    first: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Scanned:
    """`names` are scanned in each block; `carries` scans their last rows, `carry` combines one with the next block."""

    names: tuple[Name, ...]
    position: int
    carries: Task
    carry: Task


Output = Mapped | Folded | Scanned


@dataclass(frozen=True, slots=True)
class Whole:
    """Statements in one task; `pat`: what they give. `scalar`: they use and give scalars alone. `why` they have no
    version in blocks."""

    task: Task
    pat: tuple[tuple[Name, Type], ...]
    scalar: bool
    why: str


@dataclass(frozen=True, slots=True)
class Group:
    """Statements over `width` rows, in blocks where the guard `threshold` is taken, else in one block. `work`: chains
    of widths and trip counts, the product of one of which the guard compares."""

    threshold: str
    width: Atom
    task: Task
    outputs: tuple[Output, ...]
    stms: tuple[Stm, ...]
    work: tuple[tuple[Atom, ...], ...]


@dataclass(frozen=True, slots=True)
class Move:
    """A statement that computes nothing of its own: rows stay where they are, or go elsewhere (`moves.py`)."""

    stm: Stm


@dataclass(frozen=True, slots=True)
class Block:
    """Steps in order, each with the names whose last use it is; what they give."""

    steps: tuple[tuple[Step, tuple[Name, ...]], ...]
    result: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop with its steps; `whole`: the same as one task, for where no group in it is worth the cluster."""

    names: tuple[Name, ...]
    loop: Loop
    body: Block
    whole: Whole


@dataclass(frozen=True, slots=True)
class Choice:
    """A branch with the steps of its sides; `whole` as for a loop."""

    names: tuple[Name, ...]
    cond: Atom
    then: Block
    orelse: Block
    whole: Whole


Step = Whole | Group | Move | Repeat | Choice


@dataclass(frozen=True, slots=True)
class Plan:
    """An entry as a cluster runs it. `whole`: all of it as one task."""

    params: tuple[tuple[Name, Type], ...]
    block: Block
    results: tuple[tuple[Name, Type], ...]
    whole: Whole


def groups(block: Block) -> Iterator[Group]:
    """All groups of a block, those in loops and branches too."""
    for step, _ in block.steps:
        match step:
            case Group():
                yield step
            case Repeat():
                yield from groups(step.body)
            case Choice():
                yield from groups(step.then)
                yield from groups(step.orelse)
            case _:
                pass


def has_own_steps(block: Block) -> bool:
    """Whether a block has steps for which arrays stay on the workers."""
    return any(not isinstance(step, Whole) for step, _ in block.steps)


def broadcast(task: Task) -> Iterator[Param]:
    """The parameters of a task that are given arrays whole."""
    for param, given in zip(task.prog.functions[-1].params, task.given):
        if isinstance(given, All) and param.type.shape:
            yield param
