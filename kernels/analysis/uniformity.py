"""What varies over the lanes: a fixpoint over the assignments of a kernel.

A variable varies if its value does, or if it is assigned under more varying control than it was declared under. The
mask of a group that is not full is not varying control. A variable that is declared beside a loop and not read behind
it is the loop's own: lanes that have left the loop do not care, so it needs no blending there and stays uniform if its
values are (loop counters).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..kernel_ir.nodes import (
    Alloc,
    Assign,
    Atomic,
    BlockReduce,
    BlockScan,
    BoundsCheck,
    Check,
    Declare,
    Fence,
    For,
    KAligned,
    KConvert,
    Kernel,
    KIf,
    KLambda,
    KLet,
    KLoad,
    KOp,
    KStm,
    KVar,
    KWhile,
    LoadRow,
    Operand,
    Publish,
    Rhs,
    RowScan,
    Space,
    Store,
    Threads,
    WaitFor,
)  # fmt: skip
from ..kernel_ir.traverse import children, names, operators, rhs_operands, used


@dataclass(frozen=True, slots=True)
class Facts:
    """What the analysis found: variables that vary over the lanes, variables that are assigned, and for each loop (by
    identity) the variables of its surroundings that are not read after it."""

    varying: frozenset[str]
    mutable: frozenset[str]
    dead_after: dict[int, frozenset[str]]


class Finder:
    """The state of the fixpoint. `depth` counts the varying constructs around the declaration of a variable."""

    def __init__(self) -> None:
        self.varying: set[str] = set()
        self.mutable: set[str] = set()
        self.dead_after: dict[int, frozenset[str]] = {}
        self.depth: dict[str, int] = {}

    def varies(self, x: Operand) -> bool:
        return isinstance(x, KVar) and x.name in self.varying

    def mark(self, variables: Iterable[KVar]) -> None:
        self.varying.update(v.name for v in variables)


def find_facts(kernel: Kernel) -> Facts:
    """The facts of a kernel."""
    finder = Finder()
    find_dead(kernel.body, finder)
    while True:
        known = len(finder.varying)
        visit(finder, kernel.body, 0)
        if len(finder.varying) == known:
            return Facts(frozenset(finder.varying), frozenset(finder.mutable), finder.dead_after)


def rhs_varies(f: Finder, rhs: Rhs) -> bool:
    """Whether a value differs between lanes: an operand does, or it is read from memory that each lane has for
    itself."""
    match rhs:
        case KOp(_, _, args):
            return any(f.varies(a) for a in args)
        case KConvert(_, _, arg):
            return f.varies(arg)
        case KLoad(array, index):
            return array.space is Space.PRIVATE or f.varies(index)
        case KAligned():
            return False


def visit(f: Finder, stms: tuple[KStm, ...], depth: int) -> None:
    """One pass over a list; `depth`: how many varying constructs are around it."""
    for stm in stms:
        visit_stm(f, stm, depth)


def visit_stm(f: Finder, stm: KStm, depth: int) -> None:
    """One pass over a statement: mark what varies by it. Passes are repeated until nothing is new."""
    match stm:
        case KLet(var, rhs):
            if rhs_varies(f, rhs):
                f.varying.add(var.name)
        case Declare(var, init):
            f.depth[var.name] = depth
            if f.varies(init):
                f.varying.add(var.name)
        case Assign(var, value):
            f.mutable.add(var.name)
            if f.varies(value) or depth > f.depth.get(var.name, 0):
                f.varying.add(var.name)
        case LoadRow(row, _, index):
            if f.varies(index):
                f.mark(row)
        case KIf(cond, then, orelse):
            inside = depth + f.varies(cond)
            visit(f, then, inside)
            visit(f, orelse, inside)
        case For(index, bound, body):
            visit_loop(f, stm, f.varies(bound), (body,), depth)
        case KWhile(before, cond, body):
            visit_loop(f, stm, f.varies(cond), (before, body), depth)
        case Threads(index, _, _, body):
            f.varying.add(index.name)
            visit(f, body, depth)
        case BlockReduce(_, index, _, _, body, _, op, _, _):
            f.varying.add(index.name)
            visit(f, body, depth)
            visit_lambda(f, op, depth)
        case BlockScan(scanned, _, index, _, _, body, _, op, _, _, after):
            f.mark((index, *scanned))
            visit(f, body, depth)
            visit_lambda(f, op, depth)
            visit(f, after, depth)
        case RowScan():
            f.mark((stm.index, *stm.scanned))
            visit(f, stm.body, depth)
            visit_lambda(f, stm.op, depth)
            visit(f, stm.after, depth)
        case Store() | Alloc() | Check() | BoundsCheck() | Atomic() | Fence() | Publish() | WaitFor():
            pass
        case _:  # what only machines with threads have: the emitter refuses it
            pass


def visit_lambda(f: Finder, op: KLambda, depth: int) -> None:
    """The operands of an operator vary; what follows from them is found in its body."""
    f.mark((*op.left, *op.right))
    visit(f, op.body, depth)


def visit_loop(f: Finder, loop: KStm, varies: bool, bodies: tuple[tuple[KStm, ...], ...], depth: int) -> None:
    """The loop's own variables count as declared inside of it."""
    inside = depth + varies
    saved = dict(f.depth)
    if varies:
        for name in f.dead_after[id(loop)]:
            f.depth[name] = inside
    for body in bodies:
        visit(f, body, inside)
    f.depth |= {name: d for name, d in saved.items() if name in f.depth}


# ---- variables that die with a loop ------------------------------------------------------------------------------


def find_dead(stms: tuple[KStm, ...], f: Finder) -> frozenset[str]:
    """Record for each loop the variables declared before it in the same list that are not read after it; gives the
    names that the list reads or assigns. A list is walked backwards, so that each statement is looked at once."""
    declared_at = {s.var.name: k for k, s in enumerate(stms) if isinstance(s, Declare)}
    used: set[str] = set()
    for position in range(len(stms) - 1, -1, -1):
        stm = stms[position]
        here = used_by(stm, f)
        if isinstance(stm, (For, KWhile)):
            dead = frozenset(n for n in here if declared_at.get(n, position) < position and n not in used)
            f.dead_after[id(stm)] = dead & f.dead_after.get(id(stm), dead)
        used |= here
    return frozenset(used)


def used_by(stm: KStm, f: Finder) -> frozenset[str]:
    """Names that a statement reads or assigns, whatever it contains included."""
    found = used(stm)
    for inner in children(stm):
        found |= find_dead(inner, f)
    for op in operators(stm)[:1]:
        found |= names(*op.results) | find_dead(op.body, f)
    return found


# ---- what depends on memory --------------------------------------------------------------------------------------


def loaded_names(stms: Iterable[KStm]) -> frozenset[str]:
    """Variables that are loaded."""
    return frozenset(stm.var.name for stm in stms if isinstance(stm, KLet) and isinstance(stm.rhs, KLoad))


def depending(stms: Iterable[KStm], first: Iterable[str]) -> frozenset[str]:
    """These names, and all whose values depend on them, in whatever order loops make them."""
    stms, found, known = tuple(stms), set(first), -1
    while known < len(found):
        known = len(found)
        for stm in stms:
            match stm:
                case KLet(var, rhs) if not found.isdisjoint(names(*rhs_operands(rhs))):
                    found.add(var.name)
                case Declare(var, KVar(name)) | Assign(var, KVar(name)) if name in found:
                    found.add(var.name)
                case _:
                    pass
    return frozenset(found)
