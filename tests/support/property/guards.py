"""What holds of the guards of a flat program, whatever it computes.

    if t ≤ par then v1 else v2        t names nothing else, v1 and v2 differ, and par is Par of a segop in v1

Which version runs changes no value, so that wrong guards show here only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from soac.ir.core import Body, GuardCmp, If, PrimOp, Prog, SegOp, Stm
from soac.ir.interpret import Trace
from soac.ir.machine import CUDA, THREAD
from soac.ir.ops import Op
from soac.ir.show import show_body
from soac.ir.traverse import bodies, bound_in_body
from soac.ir.types import Atom, Const, Name, Var

Product = tuple[int, Counter[Name]]
"""A product of sizes: its constant, and its variables."""


class Broken(AssertionError):
    """A program for which the law does not hold."""


def assert_sound(prog: Prog) -> None:
    """Raises `Broken` if a guard is not as it should be."""
    wholes = (Body(prog.consts, ()), *(fun.body for fun in prog.functions))
    made = {p.name: stm for whole in wholes for stm in _statements(whole) for p in stm.pat}
    names = [stm.exp.threshold for stm in made.values() if isinstance(stm.exp, GuardCmp)]
    if len(names) != len(set(names)):
        raise Broken(f"two guards of one name among {names}")
    for whole in wholes:
        for stm in _statements(whole):
            _assert_guarded(stm, made)


def assert_fits(trace: Trace) -> None:
    """Raises `Broken` if the guard of a version inside a level counts more threads than a collective has."""
    for threshold, par, _ in trace:
        kind = threshold.rpartition(".")[2].rstrip("0123456789").removesuffix("_")
        for row in CUDA.higher:
            if row.guard == kind and par > row.most:
                raise Broken(f"{threshold}: {par} threads do not fit")


def _statements(body: Body) -> Iterator[Stm]:
    """The statements of the host, those in its loops and branches included."""
    for stm in body.stms:
        yield stm
        if not isinstance(stm.exp, SegOp):
            for inner in bodies(stm.exp):
                yield from _statements(inner)


def _assert_guarded(stm: Stm, made: dict[Name, Stm]) -> None:
    match stm.exp:
        case If(Var(cond), then, orelse) if cond in made and isinstance(guard := made[cond].exp, GuardCmp):
            pass
        case _:
            return
    if _kinds(then) == _kinds(orelse) and _form(then) == _form(orelse):
        raise Broken(f"both sides of {guard.threshold} are the same:\n{show_body(then)}")
    kind = guard.threshold.rpartition(".")[2]
    if re.fullmatch(rf"{THREAD.guard}_\d+", kind) and not _counts_points(guard, then, made):
        raise Broken(f"{guard.threshold} counts the points of no segop in\n{show_body(then)}")


def _kinds(body: Body) -> list[type]:
    return [type(stm.exp) for stm in body.stms]


def _form(body: Body) -> str:
    """The body as text, what it binds numbered in order."""
    order = {str(name): f"v{k}" for k, name in enumerate(bound_in_body(body))}
    return re.sub(r"\b\w+_\d+\b", lambda found: order.get(found[0], found[0]), show_body(body))


def _counts_points(guard: GuardCmp, body: Body, made: dict[Name, Stm]) -> bool:
    par = _product((_rows(guard.par, made),), made)
    spaces = (stm.exp.space.widths for stm in _statements(body) if isinstance(stm.exp, SegOp))
    return any(_product(widths, made) == par for widths in spaces)


def _rows(par: Atom, made: dict[Name, Stm]) -> Atom:
    """What a guard counts that also asks how the rows vary: `max (if skew <= s then rows else 0) ..`."""
    match made.get(par.name) if isinstance(par, Var) else None:
        case Stm(exp=PrimOp(Op.MAX, _, (Var(even), _))) if even in made:
            pass
        case _:
            return par
    match made[even].exp:
        case PrimOp(Op.SELECT, _, (_, rows, _)):
            return rows
        case _:
            return par


def _product(atoms: tuple[Atom, ...], made: dict[Name, Stm]) -> Product:
    """The product of atoms, seen through the statements that multiply."""
    known, sizes = 1, Counter()
    for atom in atoms:
        if isinstance(atom, Const):
            known *= int(atom.value)
            continue
        match made.get(atom.name):
            case Stm(exp=PrimOp(Op.MUL, _, (left, right))):
                factor, more = _product((left, right), made)
                known, sizes = known * factor, sizes + more
            case _:
                sizes[atom.name] += 1
    return known, sizes
