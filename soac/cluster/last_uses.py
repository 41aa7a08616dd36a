"""Which steps of a plan anything depends on, and after which of them a value is not used any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..ir.core import ForLoop
from ..ir.traverse import free_in_stm, names_in_types
from ..ir.types import Atom, Name, Var
from .plan import (
    All,
    Block,
    Choice,
    Count,
    First,
    Folded,
    Group,
    Mapped,
    Move,
    Part,
    Repeat,
    Scanned,
    Step,
    Task,
    Whole,
)


def with_last_uses(steps: Sequence[Step], result: Sequence[Atom]) -> tuple[tuple[Step, tuple[Name, ...]], ...]:
    """The steps that something depends on, each with the names that are not used after it and were bound here."""
    live = {atom.name for atom in result if isinstance(atom, Var)}
    here = {name for step in steps for name in bound_by(step)}
    kept: list[tuple[Step, tuple[Name, ...]]] = []
    for step in reversed(steps):
        bound = set(bound_by(step))
        if bound and live.isdisjoint(bound):
            continue
        used = dict.fromkeys(needs(step))
        dead = tuple(name for name in (*used, *bound) if name not in live and name in here)
        kept.append((step, dead))
        live.update(used)
    return tuple(reversed(kept))


def bound_by(step: Step) -> tuple[Name, ...]:
    """What a step binds."""
    match step:
        case Whole(_, pat):
            return tuple(name for name, _ in pat)
        case Group(outputs=outputs):
            return tuple(name for out in outputs for name in ((out.name,) if isinstance(out, Mapped) else out.names))
        case Repeat(names) | Choice(names):
            return names
        case Move(stm):
            return tuple(p.name for p in stm.pat)


def needs(step: Step) -> Iterator[Name]:
    """What a step uses of what there is, those inside of it included."""
    match step:
        case Whole(task, pat):
            yield from given_names(task)
            yield from names_in_types(t for _, t in pat)
        case Group(_, width, task, outputs, _, work):
            yield from names_of((width, *(atom for chain in work for atom in chain)))
            yield from given_names(task)
            for out in outputs:
                match out:
                    case Folded(_, _, combine, first):
                        yield from (*given_names(combine), *first)
                    case Scanned(_, _, carries, carry):
                        yield from (*given_names(carries), *given_names(carry))
                    case Mapped():
                        pass
        case Move(stm):
            yield from (*free_in_stm(stm), *names_in_types(p.type for p in stm.pat))
        case Repeat(_, loop, body, whole):
            bound = (loop.form.bound,) if isinstance(loop.form, ForLoop) else ()
            yield from (*names_of((*loop.inits, *bound)), *inner_needs(body), *needs(whole))
        case Choice(_, cond, then, orelse, whole):
            yield from (*names_of((cond,)), *inner_needs(then), *inner_needs(orelse), *needs(whole))


def inner_needs(block: Block) -> Iterator[Name]:
    """What the steps of a block use, and its result."""
    for step, _ in block.steps:
        yield from needs(step)
    yield from names_of(block.result)


def given_names(task: Task) -> Iterator[Name]:
    """The values of the host program that a task is given."""
    for given in task.given:
        match given:
            case All(name) | Part(name):
                yield name
            case First(Part(name)) | Count(Part(name)):
                yield name
            case _:
                pass


def names_of(atoms: Iterable[Atom]) -> Iterator[Name]:
    return (atom.name for atom in atoms if isinstance(atom, Var))
