"""Runs a plan: the client keeps scalars and handles, decides guards, and submits tasks; arrays are on the workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ..ir.core import ForLoop, Loop
from ..ir.scalar import DTYPES
from ..ir.types import Atom, Const, Name, Type, Var
from . import worker
from .arrays import Piece, Pieces, bounds_of, pieces_of
from .engine import Engine, Handle
from .moves import move
from .plan import (
    All,
    Block,
    Choice,
    Count,
    First,
    Folded,
    Group,
    Local,
    Mapped,
    Move,
    Part,
    Plan,
    Repeat,
    Scanned,
    Step,
    Task,
    Whole,
    broadcast,
    groups,
)
from .worker import Settings

FAN = 8
"""How many partial results one task combines."""
BROADCAST = 1 << 28
"""The most bytes of an array that goes to every block."""
UNKNOWN = 2**62

Value = Any
"""A scalar here (of NumPy), a scalar on a worker (a handle), or the pieces of an array."""


@dataclass(frozen=True, slots=True)
class Guards:
    """How the guards of groups decide: `forced` by name, else `values`, else `default`, compared with the work, which
    is negative where more than `broadcast` bytes would go to every block."""

    values: Mapping[str, int]
    forced: Mapping[str, bool]
    default: int
    broadcast: int

    def taken(self, threshold: str, work: int) -> bool:
        return work >= 0 and self.forced.get(threshold, self.values.get(threshold, self.default) <= work)


@dataclass(slots=True)
class Runner:
    """One run of a plan. `reached`: the guards that were decided, as of a run on a device."""

    engine: Engine
    guards: Guards
    blocks: int
    settings: Settings
    programs: dict[int, tuple[str, Handle]]
    env: dict[Name, Value] = field(default_factory=dict)
    reached: list[tuple[str, int, bool]] = field(default_factory=list)

    def run(self, plan: Plan, args: Sequence[Value]) -> list[Value]:
        """The results of the entry: scalars here, pieces of arrays."""
        self.env.update((name, arg) for (name, _), arg in zip(plan.params, args, strict=True))
        if not (self.is_worth((plan.block,)) or self.is_large(plan.whole.task)):
            self.whole(plan.whole)
            return [self.env[name] for name, _ in plan.results]
        self.block(plan.block)
        results = [self.atom(atom) for atom in plan.block.result]
        self.env.update((name, value) for (name, _), value in zip(plan.results, results))
        return results

    # ---- values -----------------------------------------------------------------------------------------------------

    def atom(self, atom: Atom) -> Value:
        return self.env[atom.name] if isinstance(atom, Var) else DTYPES[atom.prim].type(atom.value)

    def known(self, atom: Atom) -> Any:
        """A scalar as a Python value; waits for it."""
        if isinstance(atom, Const):
            return atom.value
        value = self.env[atom.name]
        if self.engine.is_handle(value):
            (value,) = self.engine.values([value])
            self.env[atom.name] = value
        return value.item()

    def shape(self, t: Type) -> tuple[int, ...]:
        return tuple(int(self.known(size)) for size in t.shape)

    # ---- tasks ------------------------------------------------------------------------------------------------------

    def submit(self, task: Task, lo: int, hi: int, local: Sequence[Any] = ()) -> Handle:
        """The task for the block of rows `lo .. hi`."""
        return self.engine.submit(
            self.engine.run, self.program(task)[1], self.given(task, lo, hi, local), self.settings
        )

    def program(self, task: Task) -> tuple[str, Handle]:
        """The program of a task as text, here and on the workers."""
        found = self.programs.get(id(task))
        if found is None:
            text = worker.text_of(task.prog)
            found = self.programs[id(task)] = text, self.engine.submit(worker.same, text)
        return found

    def given(self, task: Task, lo: int, hi: int, local: Sequence[Any]) -> list[Any]:
        args: list[Any] = []
        for given in task.given:
            match given:
                case All(name):
                    value = self.env[name]
                    args.append(value.handles(self.engine) if isinstance(value, Pieces) else value)
                case Part(name):
                    start, stop = self.bounds(given, lo, hi)
                    args.append(self.env[name].part(start, stop).handles(self.engine))
                case First(of):
                    args.append(np.int64(lo if of is None else self.bounds(of, lo, hi)[0]))
                case Count(of):
                    start, stop = (lo, hi) if of is None else self.bounds(of, lo, hi)
                    args.append(np.int64(stop - start))
                case Local(position):
                    args.append(local[position])
        return args

    def bounds(self, part: Part, lo: int, hi: int) -> tuple[int, int]:
        """The rows of a part, as far as there are such."""
        rows = self.env[part.name].rows
        start = min(max(lo + part.below, 0), rows)
        return start, max(start, min(hi + part.above, rows))

    def picked(self, handle: Handle, count: int) -> list[Handle]:
        """The results of a task that gives `count` of them."""
        return [handle] if count == 1 else [self.engine.submit(worker.pick, handle, k) for k in range(count)]

    # ---- steps ------------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        for step, dead in block.steps:
            self.step(step)
            for name in dead:
                self.env.pop(name, None)

    def step(self, step: Step) -> None:
        env = self.env
        match step:
            case Whole():
                self.whole(step)
            case Group():
                self.group(step)
            case Move(stm):
                env.update(zip((p.name for p in stm.pat), move(self, stm), strict=True))
            case Repeat():
                self.repeat(step)
            case Choice(names, cond, then, orelse, whole):
                if self.is_worth((then, orelse)) or self.is_spread(whole.task):
                    side = then if self.known(cond) else orelse
                    self.block(side)
                    env.update(zip(names, [self.atom(atom) for atom in side.result]))
                else:
                    self.whole(whole)

    def whole(self, step: Whole) -> None:
        """Statements as one task: scalars that are here stay here."""
        if not step.pat:
            return
        args = self.given(step.task, 0, 0, ())
        text, handle = self.program(step.task)
        if step.scalar and not any(map(self.engine.is_handle, args)):
            found = self.engine.run(text, args, self.settings)
            results = [found] if len(step.pat) == 1 else list(found)
        else:
            results = self.picked(self.engine.submit(self.engine.run, handle, args, self.settings), len(step.pat))
        self.env.update((name, value) for (name, t), value in zip(step.pat, results) if not t.shape)
        self.env.update((name, self.in_one_piece(value, t)) for (name, t), value in zip(step.pat, results) if t.shape)

    def decide(self, group: Group, is_reached: bool = True) -> bool:
        """Whether a group is run in blocks; one of a size that is not known yet is taken to be large."""
        work = max(prod(self.size(atom) or UNKNOWN for atom in chain) for chain in group.work)
        fits = not self.is_large(group.task)
        taken = self.guards.taken(group.threshold, work if fits else -work)
        if is_reached:
            self.reached.append((group.threshold, work if fits else -work, taken))
        return taken

    def size(self, atom: Atom) -> int:
        """A size that is known here, at least 1; 0 for one that is not."""
        value = atom.value if isinstance(atom, Const) else self.env.get(atom.name)
        return 0 if value is None or self.engine.is_handle(value) else max(int(value), 1)

    def size_of(self, t: Type) -> int:
        """The bytes of an array, 0 if a size is not known."""
        return prod(map(self.size, t.shape)) * np.dtype(DTYPES[t.prim]).itemsize

    def is_worth(self, blocks: Sequence[Block]) -> bool:
        return any(self.decide(group, False) for block in blocks for group in groups(block))

    def is_large(self, task: Task) -> bool:
        """Whether a task would be given an array that is too large for that."""
        return any(self.size_of(param.type) > self.guards.broadcast for param in broadcast(task))

    def is_spread(self, task: Task) -> bool:
        """Whether a task would be given all of an array that is in blocks."""
        given = (self.env.get(given.name) for given in task.given if isinstance(given, All))
        return any(isinstance(value, Pieces) and len(value.pieces) > 1 for value in given)

    def group(self, step: Group) -> None:
        count = int(self.known(step.width))
        bounds = bounds_of(count, self.blocks if self.decide(step) else 1)
        parts = list(pairwise(bounds))
        results = len(step.task.prog.functions[-1].results)
        if not results:
            return
        done = [self.picked(self.submit(step.task, lo, hi), results) for lo, hi in parts]
        for output in step.outputs:
            match output:
                case Mapped(name, k):
                    self.env[name] = pieces_of([block[k] for block in done], parts)
                case Folded(names, k, combine, first):
                    partial = [block[k : k + len(names)] for block in done]
                    before = [[self.env[xs].handles(self.engine) for xs in first]] if first else []
                    self.fold(names, combine, [*map(self.joined, before), *partial])
                case Scanned(names, k):
                    self.scan(output, parts, [block[k : k + len(names)] for block in done])

    def joined(self, arrays: list[list[Handle]]) -> list[Handle]:
        """Each array as one value."""
        return [xs[0] if len(xs) == 1 else self.engine.submit(worker.value_of, xs) for xs in arrays]

    def fold(self, names: Sequence[Name], combine: Task, partial: list[list[Handle]]) -> None:
        """Combines partial results in a tree whose shape follows from their number alone."""
        while len(partial) > 1:
            chunks = [partial[k : k + FAN] for k in range(0, len(partial), FAN)]
            partial = [
                chunk[0]
                if len(chunk) == 1
                else self.picked(self.submit(combine, 0, len(chunk), list(map(tuple, zip(*chunk)))), len(names))
                for chunk in chunks
            ]
        for name, value, result in zip(names, partial[0], combine.prog.functions[-1].results):
            self.env[name] = self.in_one_piece(value, result.type)

    def in_one_piece(self, value: Handle, t: Type) -> Value:
        """A result of a task; of an array, whose size the task was given, the one piece."""
        if not t.shape:
            return value
        rows = int(self.known(t.shape[0]))
        return Pieces((Piece(value, 0, rows, rows),))

    def scan(self, step: Scanned, parts: list[tuple[int, int]], scanned: list[list[Handle]]) -> None:
        """The second pass: the last rows of blocks are scanned, and go to the blocks after them."""
        count = len(step.names)
        if len(parts) > 1:
            columns = [
                [self.engine.submit(worker.cut, xs, hi - lo - 1, hi - lo) for xs, (lo, hi) in zip(column, parts)]
                for column in zip(*scanned)
            ]
            carries = self.picked(self.submit(step.carries, 0, len(parts), columns), count)
            rows = [[self.engine.submit(worker.cut, xs, k, k + 1) for xs in carries] for k in range(len(parts) - 1)]
            scanned[1:] = [
                self.picked(self.submit(step.carry, lo, hi, [*row, *block]), count)
                for row, block, (lo, hi) in zip(rows, scanned[1:], parts[1:])
            ]
        for name, column in zip(step.names, zip(*scanned)):
            self.env[name] = pieces_of(list(column), parts)

    def repeat(self, step: Repeat) -> None:
        loop, env = step.loop, self.env
        if not (self.is_worth((step.body,)) or self.is_large(step.whole.task)):
            self.whole(step.whole)
            return
        values = [self.atom(atom) for atom in loop.inits]
        bound = int(self.known(loop.form.bound)) if isinstance(loop.form, ForLoop) else None
        turn = 0
        while self.goes_on(loop, values, turn, bound):
            self.block(step.body)
            values = [self.atom(atom) for atom in step.body.result]
            turn += 1
        env.update(zip(step.names, values))

    def goes_on(self, loop: Loop, values: Sequence[Value], turn: int, bound: int | None) -> bool:
        """Gives the parameters of a loop their values, and whether there is another turn."""
        self.env.update((param.name, value) for param, value in zip(loop.params, values))
        if isinstance(loop.form, ForLoop):
            assert bound is not None
            self.env[loop.form.index] = DTYPES[loop.form.prim].type(turn if turn < bound else 0)
            return turn < bound
        return bool(self.known(Var(loop.form.cond)))
