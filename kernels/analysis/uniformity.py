"""How values lie across the lanes: uniform, affine or varying, a fixpoint over the assignments of a kernel.

A variable differs between lanes if its value does, or if it is assigned under more varying control than it was declared
under. The mask of a group that is not full is not varying control. A variable that is declared beside a loop and not
read behind it is the loop's own: lanes that have left the loop do not care, so it needs no blending there and stays
uniform if its values are (loop counters).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Prim
from ..kernel_ir.nodes import (
    Assign,
    BlockReduce,
    BlockScan,
    Declare,
    For,
    KAligned,
    KConvert,
    KIf,
    KLambda,
    KLet,
    KLoad,
    KOp,
    KStm,
    KVar,
    KWhile,
    LoadMatrix,
    LoadRow,
    Operand,
    PeeledThreads,
    Rhs,
    RowScan,
    Space,
    TeamReduce,
    Threads,
    WarpTurns,
)  # fmt: skip
from ..kernel_ir.traverse import all_statements, children, names, operators, rhs_operands, used


@dataclass(frozen=True, slots=True)
class Uniform:
    """The same in all lanes; `number`: which, where that is known."""

    number: int | None = None


@dataclass(frozen=True, slots=True)
class Affine:
    """An integer that grows by `stride` from each lane to the next, modulo the width of its type; None: by some number
    that is not known, the same from each to the next."""

    stride: int | None


@dataclass(frozen=True, slots=True)
class Varying:
    """Anything in each lane."""


Across = Uniform | Affine | Varying
"""How a value varies across the lanes."""


def stride_of(x: Uniform | Affine) -> int | None:
    """The stride of what is uniform is 0."""
    return x.stride if isinstance(x, Affine) else 0


def of_operation(op: Op, prim: Prim, args: Sequence[Across]) -> Across:
    """Sums and differences of affine and uniform integers, products with uniform ones, and uniform choices of one
    stride are affine: all of it is modulo the width of the type, so wrapping does no harm."""
    if set(map(type, args)) <= {Uniform}:
        return UNIFORM
    match op, args:
        case _ if not prim.is_int:
            return Varying()
        case ((Op.ADD | Op.SUB), (Affine() | Uniform() as x, Affine() | Uniform() as y)):
            a, b = stride_of(x), stride_of(y)
            return Affine(None if a is None or b is None else a + b if op is Op.ADD else a - b)
        case Op.MUL, (Affine(stride), Uniform(number)) | (Uniform(number), Affine(stride)):
            return Affine(None if stride is None or number is None else stride * number)
        case Op.NEG, (Affine(stride),):
            return Affine(None if stride is None else -stride)
        case Op.SELECT, (Uniform(), Affine(int(stride)), Affine(int(other))) if stride == other:
            return Affine(stride)
        case _:
            return Varying()


def joined(x: Across, y: Across) -> Across:
    """What is one or the other."""
    if x == y:
        return x
    if isinstance(x, Uniform) and isinstance(y, Uniform):
        return Uniform()
    return VARYING if isinstance(x, Varying) or isinstance(y, Varying) else Affine(None)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the analysis found: how variables lie across the lanes (those it does not list are uniform), and which are
    assigned."""

    across: Mapping[str, Across]
    mutable: frozenset[str]

    def of(self, x: Operand) -> Across:
        return across(self.across, x)

    def varies(self, x: Operand) -> bool:
        return not isinstance(self.of(x), Uniform)

    @property
    def varying(self) -> frozenset[str]:
        """The variables that may differ between lanes."""
        return frozenset(name for name, found in self.across.items() if not isinstance(found, Uniform))


def loops_vary(stms: tuple[KStm, ...], facts: Facts) -> bool:
    """Whether lanes take different numbers of steps of a loop."""
    return any(isinstance(stm, For) and facts.varies(stm.bound) for stm in all_statements(stms))


def across(known: Mapping[str, Across], x: Operand) -> Across:
    """How an operand varies, where variables vary as `known` says."""
    if isinstance(x, KVar):
        return known.get(x.name, UNIFORM)
    return Uniform(int(x.value)) if x.prim.is_int else UNIFORM


UNIFORM, COUNTING, VARYING = Uniform(), Affine(1), Varying()


class Finder:
    """The state of the fixpoint. `depth` counts the varying constructs around the declaration of a variable."""

    def __init__(self, stms: tuple[KStm, ...]) -> None:
        self.stms = stms
        self.across: dict[str, Across] = {}
        self.mutable = frozenset(stm.var.name for stm in all_statements(stms) if isinstance(stm, Assign))
        self.dead: DeadAfter | None = None
        self.depth: dict[str, int] = {}
        self.changed = False

    def of(self, x: Operand) -> Across:
        return across(self.across, x)

    def varies(self, x: Operand) -> bool:
        return isinstance(x, KVar) and not isinstance(self.across.get(x.name, UNIFORM), Uniform)

    def put(self, variables: Iterable[KVar], found: Across) -> None:
        """What variables are, besides what they are in another copy of a loop."""
        for var in variables:
            before = self.across.get(var.name)
            if before is None:
                self.across[var.name] = found
            elif found != before and (after := joined(before, found)) != before:
                self.across[var.name] = after
                self.changed = True

    def dead_after(self, loop: KStm) -> frozenset[str]:
        """What a loop with lanes that leave it early has for itself."""
        if self.dead is None:
            self.dead = dead_after(self.stms)
        return self.dead[id(loop)]

    def assign(self, var: KVar, value: Operand, more_varying: bool) -> None:
        """A variable that is assigned is uniform, or anything. What was read of it before may change."""
        self.across.setdefault(var.name, UNIFORM)
        self.put((var,), VARYING if more_varying or self.varies(value) else UNIFORM)


def find_facts(stms: tuple[KStm, ...]) -> Facts:
    """The facts of the body of a kernel, or of a part of it."""
    finder = Finder(stms)
    finder.changed = True
    while finder.changed:
        finder.changed = False
        visit(finder, stms, 0)
    return Facts(finder.across, finder.mutable)


def rhs_across(f: Finder, rhs: Rhs) -> Across:
    """How a value varies: as its operands do, or as anything where it is read from memory of each lane alone."""
    match rhs:
        case KOp(op, prim, args):
            if not any(map(f.varies, args)):
                return UNIFORM
            return of_operation(op, prim, [f.of(a) for a in args]) if prim.is_int else VARYING
        case KConvert(_, target, arg):
            found = f.of(arg)
            return found if isinstance(found, Uniform) or target.is_int else VARYING
        case KLoad(array, index):
            return VARYING if array.space is Space.PRIVATE or f.varies(index) else UNIFORM
        case KAligned():
            return UNIFORM


def visit(f: Finder, stms: tuple[KStm, ...], depth: int) -> None:
    """One pass over a list; `depth`: how many varying constructs are around it."""
    for stm in stms:
        visit_stm(f, stm, depth)


def visit_stm(f: Finder, stm: KStm, depth: int) -> None:
    """One pass over a statement: how what it makes varies. Passes are repeated until nothing is new."""
    match stm:
        case KLet(var, rhs):
            f.put((var,), rhs_across(f, rhs))
        case Declare(var, init):
            f.depth[var.name] = depth
            if var.name in f.mutable:
                f.assign(var, init, False)
            else:
                f.put((var,), f.of(init))
        case Assign(var, value):
            f.assign(var, value, depth > f.depth.get(var.name, 0))
        case LoadRow(row, _, index):
            f.put(row, VARYING if f.varies(index) else UNIFORM)
        case LoadMatrix(row):
            f.put(row, VARYING)
        case KIf(cond, then, orelse):
            inside = depth + f.varies(cond)
            visit(f, then, inside)
            visit(f, orelse, inside)
        case For(_, bound, body):
            visit_loop(f, stm, f.varies(bound), (body,), depth)
        case KWhile(before, cond, body):
            visit_loop(f, stm, f.varies(cond), (before, body), depth)
        case Threads(index, _, _, body):
            f.put((index,), COUNTING)
            visit(f, body, depth)
        case PeeledThreads(index=index, body=body, middle=middle):
            f.put((index,), COUNTING)
            visit(f, (*body, *middle), depth)
        case TeamReduce(index=index, body=body, after=after) | WarpTurns(index=index, body=body, turn=after):
            f.put((index,), COUNTING)
            visit(f, (*body, *after), depth)
        case BlockReduce(_, index, _, _, body, _, op, _, _):
            f.put((index,), COUNTING)
            visit(f, body, depth)
            visit_lambda(f, op, depth)
        case (
            BlockScan(scanned=scanned, index=index, body=body, op=op, after=after)
            | RowScan(scanned=scanned, index=index, body=body, op=op, after=after)
        ):
            f.put((index,), COUNTING)
            f.put(scanned, VARYING)
            visit(f, body, depth)
            visit_lambda(f, op, depth)
            visit(f, after, depth)
        case _:
            pass


def visit_lambda(f: Finder, op: KLambda, depth: int) -> None:
    """The operands of an operator vary; what follows from them is found in its body."""
    f.put((*op.left, *op.right), VARYING)
    visit(f, op.body, depth)


def visit_loop(f: Finder, loop: KStm, varies: bool, bodies: tuple[tuple[KStm, ...], ...], depth: int) -> None:
    """The loop's own variables count as declared inside of it."""
    inside = depth + varies
    own = f.dead_after(loop) if varies and f.mutable else frozenset[str]()
    outside = {name: f.depth[name] for name in own if name in f.depth}
    for name in own:
        f.depth[name] = inside
    for body in bodies:
        visit(f, body, inside)
    f.depth |= outside


# ---- variables that die with a loop ------------------------------------------------------------------------------


DeadAfter = dict[int, frozenset[str]]
"""For each loop (by identity) the variables of its surroundings that are not read after it."""


def dead_after(stms: tuple[KStm, ...]) -> DeadAfter:
    """Of all loops in a list, at any depth."""
    dead: DeadAfter = {}
    find_dead(stms, dead)
    return dead


def find_dead(stms: tuple[KStm, ...], dead: DeadAfter) -> frozenset[str]:
    """Record for each loop the variables declared before it in the same list that are not read after it; gives the
    names that the list reads or assigns. A list is walked backwards, so that each statement is looked at once."""
    declared_at = {s.var.name: k for k, s in enumerate(stms) if isinstance(s, Declare)}
    used: set[str] = set()
    for position in range(len(stms) - 1, -1, -1):
        stm = stms[position]
        here = used_by(stm, dead)
        if isinstance(stm, (For, KWhile)):
            own = frozenset(n for n in here if declared_at.get(n, position) < position and n not in used)
            dead[id(stm)] = own & dead.get(id(stm), own)
        used |= here
    return frozenset(used)


def used_by(stm: KStm, dead: DeadAfter) -> frozenset[str]:
    """Names that a statement reads or assigns, whatever it contains included."""
    found = used(stm)
    for inner in children(stm):
        found |= find_dead(inner, dead)
    for op in operators(stm)[:1]:
        found |= names(*op.results) | find_dead(op.body, dead)
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
