"""The collective check: every statement of a kernel stands where enough of the right threads execute it.

The walk carries the collective tiling ω of the statement (`collectives.py`): the whole block at the top, one thread
inside a `Threads` loop or a collective's body. What is demanded:

    loop of warps, block reduce, block scan, shared memory          the block
    fence, thread loop                                              the block, or a warp in a loop of warps
    memory, in a loop of warps                                      the thread
    teams, turns of warps, waiting, looking back                    the block
    private memory, and the use of what a thread computed           the thread
    asynchronous copies                                             the thread
    registers of indices                                            the block makes them, loops over just these use them
    products of matrices                                            the block, or a warp in a loop of warps, with
                                                                    fragments that lie as the instruction takes them
    shared memory of constant size                                  48 KiB
    an operator                                                     scalars alone, no memory and no collective

Control flow above a thread loop is uniform by construction, since nothing of a thread can be named there: so barriers
cannot diverge. In a loop of warps branches may differ between warps, loops may not. A variable of the block
is not assigned by threads: each would have its own idea of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from ...ir import machine as machines
from ...ir.core import Level
from ...ir.errors import IRError, Loc
from ...ir.machine import CUDA, Machine
from ...ir.records import dataclass
from ...ir.types import Const
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import spreads
from ..kernel_ir.fragments import LANES, Role, layout_of
from ..kernel_ir.nodes import KArray, Kernel, KStm, KVar, Operand, Space
from ..kernel_ir.shared_stack import is_static
from ..kernel_ir.show import operand, show_stm
from ..kernel_ir.traverse import (
    bound,
    bound_inside,
    children,
    loaded_arrays,
    operands,
    operands_inside,
    operators,
    statements,
    stored_arrays,
)
from .collectives import BLOCK, THREAD, WARP, Cluster, Tiling, Unit, matches, over_threads, unit_type, whole

Stms = tuple[KStm, ...]

Collective = kir.BlockReduce | kir.BlockScan | kir.RowScan | kir.TeamReduce | kir.WarpTurns

UNITS = {Level.THREAD: THREAD, Level.WARP: WARP, Level.BLOCK: BLOCK}


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A statement, the collective that executes it, the collective that it wants, the loop or collective whose body it
    stands in (None: the kernel's own), and the place of the source noted last before it."""

    kernel: str
    statement: str
    why: str
    found: str
    expected: str
    loop: str | None
    loc: Loc | None = None

    def __str__(self) -> str:
        where = f", in the body of `{self.loop}`" if self.loop else ""
        return f"{self.kernel}: `{self.statement}`: {self.why}; found {self.found}, expected {self.expected}{where}"


def check_kernels(kernels: Iterable[Kernel], machine: Machine) -> None:
    """Raises IRError where a statement of the kernels of a machine is misplaced."""
    if found := misplaced(kernels, machine):
        raise IRError("\n".join(map(str, found)))


def misplaced(kernels: Iterable[Kernel], machine: Machine) -> tuple[Misplaced, ...]:
    """All that is misplaced in the kernels of a machine. On a CPU the arrays of a block are memory like any other."""
    most_shared = machines.BLOCK.bytes if machine.name == CUDA.name else None
    return tuple(found for kernel in kernels for found in check_collectives(kernel, most_shared=most_shared))


def check_collectives(
    kernel: Kernel,
    threads: int = 64,
    most_shared: int | None = machines.BLOCK.bytes,
    exact: bool = False,
) -> tuple[Misplaced, ...]:
    """All that is misplaced in a kernel whose blocks have `threads` threads, or which a warp executes; `most_shared`:
    bytes that a block's arrays of constant size may take together; `exact`: no unit takes two indices of a loop."""
    warp = machines.WARP.threads
    threads = warp if kernel.collective is Level.WARP else threads
    walk = Walk(kernel.name, Cluster(1, threads), exact)
    scope = Scope(whole(walk.cluster), None)
    if threads % warp:
        part = f"box ({warp}): a warp, {warp} threads"
        walk.report(scope, f"block of {threads} threads", "the last warp is not full", part)
    for var in (kernel.block, kir.GROUP, *kernel.scalars):
        walk.bind(scope, var, False)
    for array in kernel.arrays:
        scope.arrays.add(array)
    walk.stms(scope, kernel.body)
    shared = sum(static_bytes(stm) for stm in statements(kernel.body) if isinstance(stm, kir.Alloc))
    if most_shared is not None and shared > most_shared:
        walk.report(scope, kernel.name, f"{shared} bytes of shared memory in its text", f"{most_shared} at most")
    return tuple(walk.found)


def static_bytes(stm: kir.Alloc) -> int:
    """Bytes of an array in shared memory of constant size; 0 for any other."""
    if stm.array.space is not Space.SHARED or not is_static(stm):
        return 0
    assert isinstance(stm.count, Const)
    return int(stm.count.value) * stm.array.prim.bytes


# ---- scopes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Home:
    """Where a variable lives: the loop whose threads each have their own (None: the block), and may it change."""

    loop: str | None
    mutable: bool


@dataclass(slots=True)
class Scope:
    """A statement list: ω of its statements, the loop that made it, what is visible. In an operator (`is_operator`)
    only scalars are. `indices`: n in a thread loop or a reduction over 0..n; in a loop of warps, where n is a constant,
    of their threads. `unit`: what executes the body of the loop of warps around it, if there is one, else the block."""

    tiling: Tiling
    loop: str | None
    variables: dict[str, Home] = field(default_factory=dict)
    arrays: set[KArray] = field(default_factory=set)
    is_operator: bool = False
    indices: Operand | int | None = None
    unit: Unit = BLOCK

    def inner(self) -> Scope:
        return replace(self, variables=dict(self.variables), arrays=set(self.arrays))


def indices_of(stm: kir.Threads | kir.BlockReduce) -> Operand | int | None:
    """n, where it goes over 0..n."""
    if not isinstance(stm.lo, Const) or stm.lo.value != 0:
        return None
    return int(stm.hi.value) if isinstance(stm.hi, Const) else stm.hi


def collective_text(tiling: Tiling) -> str:
    """What executes a statement, for a message: the type of its collective and how many threads."""
    return f"{tiling.type}: {threads_text(tiling.count)}"


def unit_text(unit: Unit, cluster: Cluster) -> str:
    """A unit for a message: its type on this cluster, its name, how many threads it has."""
    type_ = unit_type(unit, cluster, agnostic=False)
    return f"{type_}: a {unit.name}, {threads_text(type_.threads)}"


def threads_text(count: int | None) -> str:
    """`one thread`, `32 threads`; None for any number of them."""
    return "one thread" if count == 1 else f"{count} threads"


def touched_arrays(stm: KStm) -> tuple[KArray, ...]:
    """The arrays whose elements a statement itself reads, writes or waits for."""
    match stm:
        case kir.KLet(_, kir.KAligned(array)) | kir.WaitFor(_, array):
            return (array,)
        case _:
            return (*loaded_arrays(stm), *stored_arrays(stm))


OF_THE_BLOCK: Mapping[type, str] = {
    kir.Distribute: "registers of indices are the block's to distribute",
    kir.Shuffle: "a shuffle needs all threads of its warps",
    kir.BlockReduce: "a reduction of the block needs all its threads",
    kir.BlockScan: "a scan of the block needs all its threads",
    kir.RowScan: "a scan of the block needs all its threads",
    kir.WaitFor: "all threads of the block wait together",
    kir.LookBack: "all threads of the block look back together",
    kir.TeamReduce: "teams subdivide the whole block",
    kir.WarpTurns: "turns of warps subdivide the whole block",
}
"""Why statements are executed by the whole block."""

NOT_IN_OPERATORS: Mapping[type, str] = {
    kir.For: "an operator does not loop",
    kir.KWhile: "an operator does not loop",
    kir.CommitCopies: "an operator touches no memory",
    kir.WaitCopies: "an operator touches no memory",
    kir.Check: "an operator cannot fail",
    kir.BoundsCheck: "an operator cannot fail",
}
"""Why statements do not stand in an operator; memory is left to `Walk.access`."""


# ---- the walk ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Walk:
    """`homes`: every variable seen, also those that are no longer visible."""

    kernel: str
    cluster: Cluster
    exact: bool = False
    loc: Loc | None = None
    found: list[Misplaced] = field(default_factory=list)
    homes: dict[str, Home] = field(default_factory=dict)
    private: dict[KArray, str | None] = field(default_factory=dict)
    distributed: dict[KArray, Operand | int] = field(default_factory=dict)
    roles: dict[KArray, Role | None] = field(default_factory=dict)

    def report(self, scope: Scope, statement: str, why: str, expected: str) -> None:
        found = collective_text(scope.tiling)
        self.found.append(Misplaced(self.kernel, statement, why, found, expected, scope.loop, self.loc))

    def want(self, scope: Scope, stm: KStm, unit: Unit, why: str) -> bool:
        """Report a statement that does not stand at the scope of `unit`."""
        good = matches(scope.tiling, unit, self.cluster) and not scope.is_operator
        if not good:
            self.report(scope, show_stm(stm), why, unit_text(unit, self.cluster))
        return good

    def bind(self, scope: Scope, var: KVar, mutable: bool) -> None:
        home = Home(scope.loop, mutable)
        scope.variables[var.name] = home
        self.homes[var.name] = home

    def stms(self, scope: Scope, stms: Stms) -> None:
        for stm in stms:
            self.stm(scope, stm)

    def stm(self, scope: Scope, stm: KStm) -> None:
        for used in operands(stm):
            self.use(scope, stm, used)
        if (why := OF_THE_BLOCK.get(type(stm))) is not None:
            self.want(scope, stm, BLOCK, why)
        if scope.is_operator and type(stm) in NOT_IN_OPERATORS:
            self.report(scope, show_stm(stm), NOT_IN_OPERATORS[type(stm)], "straight code on scalars")
        match stm:
            case kir.Assign(var, _):
                self.assign(scope, stm, var)
            case kir.Alloc(array, _):
                self.alloc(scope, stm, array)
            case kir.KIf(_, then, orelse):
                self.stms(scope.inner(), then)
                self.stms(scope.inner(), orelse)
            case kir.For() | kir.KWhile():
                self.repeated(scope, stm)
            case kir.Threads():
                self.units(scope, stm)
            case kir.Distribute(array, threads, _, _, length):
                self.distributed[array] = threads if length is None else length
                self.roles[array] = stm.role
                scope.arrays.add(array)
            case kir.Shuffle():
                self.shuffle(scope, stm)
            case kir.LoadMatrix(array=array):
                self.want(scope, stm, THREAD, "each thread of a warp names a row of a matrix")
                if array.space is not kir.Space.SHARED:
                    self.report(scope, show_stm(stm), "matrices are loaded from elsewhere", "shared memory")
                self.access(scope, stm, array)
                self.results(scope, stm)
            case kir.Mma():
                self.multiply(scope, stm)
            case kir.Fence():
                self.want(scope, stm, scope.unit, f"a barrier that not all threads of the {scope.unit.name} reach")
            case kir.BlockReduce() | kir.BlockScan() | kir.RowScan() | kir.TeamReduce() | kir.WarpTurns():
                self.collective(scope, stm)
            case kir.AsyncCopy(target, _, source):
                self.want(scope, stm, THREAD, "each element is copied by one thread")
                self.copy(scope, stm, target, source)
            case kir.Note(what):
                self.loc = what if isinstance(what, Loc) else self.loc
            case _:
                for array in touched_arrays(stm):
                    self.access(scope, stm, array)
                self.results(scope, stm)

    def results(self, scope: Scope, stm: KStm) -> None:
        """The operator of a statement (its step, a special case, is left out), and what the statement makes."""
        for op in operators(stm)[:1]:
            self.operator(scope, stm, op)
        for var in bound(stm):
            self.bind(scope, var, isinstance(stm, kir.Declare))

    def shuffle(self, scope: Scope, stm: kir.Shuffle) -> None:
        """From registers to others that as many indices have."""
        target, source = (self.distributed.get(array) for array in (stm.target, stm.source))
        if target is None or target != source:
            self.report(scope, show_stm(stm), "a shuffle is from registers to others", "registers of one size")

    # ---- variables and memory -------------------------------------------------------------------------------------

    def use(self, scope: Scope, stm: KStm, operand: Operand) -> None:
        """A value is used where all threads that execute the statement have it."""
        if isinstance(operand, Const) or operand.name in scope.variables:
            return
        home = self.homes.get(operand.name)
        if home is not None and home.loop is not None and home.loop != scope.loop:
            why = f"{operand.name} differs between the threads of `{home.loop}`"
        else:
            why = f"{operand.name} is not defined here"
        self.report(scope, show_stm(stm), why, unit_text(THREAD, self.cluster))

    def assign(self, scope: Scope, stm: KStm, var: KVar) -> None:
        home = scope.variables.get(var.name)
        if home is None:
            self.use(scope, stm, var)
        elif not home.mutable:
            self.report(scope, show_stm(stm), f"{var.name} cannot change", "a declared variable")
        elif home.loop != scope.loop:
            why = f"{var.name} belongs to the block, and each thread would change it"
            self.report(scope, show_stm(stm), why, unit_text(BLOCK, self.cluster))

    def access(self, scope: Scope, stm: KStm, array: KArray) -> None:
        if scope.unit is WARP:
            self.want(scope, stm, THREAD, "in a loop of warps an element is accessed by one thread")
        if scope.is_operator:
            self.report(scope, show_stm(stm), "an operator touches no memory", "straight code on scalars")
        elif array in self.distributed and scope.indices != self.distributed[array]:
            length = self.distributed[array]
            text = length if isinstance(length, int) else operand(length)
            why = f"{array.name} belongs to the indices of loops over 0..{text}"
            self.report(scope, show_stm(stm), why, "such a loop")
        elif array in scope.arrays:
            return
        elif array in self.private and self.private[array] != scope.loop:
            why = f"{array.name} is private to the threads of `{self.private[array]}`"
            self.report(scope, show_stm(stm), why, unit_text(THREAD, self.cluster))
        else:
            self.report(scope, show_stm(stm), f"{array.name} is not allocated here", "an array in scope")

    def alloc(self, scope: Scope, stm: KStm, array: KArray) -> None:
        match array.space:
            case Space.SHARED:
                self.want(scope, stm, BLOCK, "shared memory belongs to the whole block")
            case Space.PRIVATE:
                self.want(scope, stm, THREAD, "private memory belongs to one thread")
                self.private[array] = scope.loop
            case Space.REGISTERS:
                self.report(scope, show_stm(stm), "registers are distributed, not allocated", "indices for them")
            case Space.GLOBAL:
                self.report(scope, show_stm(stm), "global memory is the host's", "the host")
        scope.arrays.add(array)

    # ---- threads and collectives ----------------------------------------------------------------------------------

    def units(self, scope: Scope, stm: kir.Threads) -> None:
        """A loop over threads, warps or blocks."""
        unit = UNITS[stm.unit]
        outer = scope.unit if unit is THREAD else BLOCK
        good = self.want(scope, stm, outer, f"a {unit.name} loop subdivides the whole {outer.name}")
        inner = self.threads(scope, stm, stm.index, unit)
        zero = isinstance(stm.lo, Const) and stm.lo.value == 0
        count = int(stm.hi.value) if zero and isinstance(stm.hi, Const) else None
        most = (scope.tiling.count or 0) // (unit_type(unit, self.cluster, agnostic=False).threads or 1)
        if good and count is None and (self.exact or unit is not THREAD or outer is WARP):
            self.report(scope, show_stm(stm), "such a loop goes from 0 to a constant", f"at most {most} {unit.name}s")
        elif good and count is not None and count > most and (self.exact or outer is WARP):
            self.report(scope, show_stm(stm), f"not enough threads for {count} {unit.name}s", f"at most {most}")
        if unit is THREAD:
            inner.indices = indices_of(stm) if outer is BLOCK else None
        elif unit is WARP:
            inner.unit = WARP
            inner.indices = count * LANES if count is not None else None
        self.stms(inner, stm.body)

    def repeated(self, scope: Scope, stm: kir.For | kir.KWhile) -> None:
        self.same_in_warps(scope, stm)
        inner = scope.inner()
        for var in bound_inside(stm):
            self.bind(inner, var, False)
        if isinstance(stm, kir.KWhile):
            self.stms(inner, stm.before)
            self.use(inner, stm, stm.cond)
        self.stms(inner, stm.body)

    def same_in_warps(self, scope: Scope, stm: kir.For | kir.KWhile) -> None:
        """A loop that the warps of a loop of warps execute has a bound that none of them has computed."""
        if scope.unit is not WARP or matches(scope.tiling, THREAD, self.cluster) or not spreads(stm):
            return
        known = not isinstance(stm, kir.KWhile) and (isinstance(stm.bound, Const) or self.is_blocks(stm.bound))
        if not known:
            self.report(scope, show_stm(stm), "the warps may not agree on how often", unit_text(BLOCK, self.cluster))

    def is_blocks(self, var: KVar) -> bool:
        home = self.homes.get(var.name)
        return home is not None and home.loop is None

    def threads(self, scope: Scope, stm: KStm, index: KVar, unit: Unit = THREAD) -> Scope:
        """The scope of a body that is executed by each thread of the block or warp, or by each of other units."""
        inner = scope.inner()
        if matches(scope.tiling, scope.unit, self.cluster):
            parts = unit_type(scope.unit, self.cluster, agnostic=False), unit_type(unit, self.cluster, agnostic=False)
            count = (parts[0].threads or 1) // (parts[1].threads or 1)
            inner.tiling = over_threads(scope.tiling, index.name, unit, count, self.cluster)
        inner.loop = show_stm(stm).rstrip(" {")
        self.bind(inner, index, False)
        return inner

    def collective(self, scope: Scope, stm: Collective) -> None:
        """Each thread executes the first list; its values are combined, and what that makes is for the second list. Of
        teams that list is executed once for each, without the index."""
        inner = later = self.threads(scope, stm, stm.index)
        made: tuple[KVar, ...] = ()
        match stm:
            case kir.BlockScan() | kir.RowScan():
                made = stm.scanned
            case kir.TeamReduce():
                self.bind(inner, stm.segment, False)
                made, later = stm.outs, inner.inner()
                del later.variables[stm.index.name]
            case kir.WarpTurns():
                self.bind(inner, stm.warp, False)
            case kir.BlockReduce():
                inner.indices = indices_of(stm) if stm.commutative else None
        body, *after = children(stm)
        self.stms(inner, body)
        for value in operands_inside(stm):
            self.use(inner, stm, value)
        self.results(scope, stm)
        for var in made:
            self.bind(later, var, False)
        for stms in after:
            self.stms(later, stms)

    def copy(self, scope: Scope, stm: KStm, target: KArray, source: KArray) -> None:
        if (target.space, source.space) != (Space.SHARED, Space.GLOBAL):
            self.report(scope, show_stm(stm), "a copy of this kind cannot be asynchronous", "global to shared")
        self.access(scope, stm, target)
        self.access(scope, stm, source)

    def multiply(self, scope: Scope, stm: kir.Mma) -> None:
        """Whole warps, whose fragments lie as the instruction takes them."""
        text, warp = show_stm(stm), unit_text(WARP, self.cluster)
        if not matches(scope.tiling, scope.unit, self.cluster) or scope.is_operator:
            self.report(scope, text, "matrices are multiplied by all threads of a warp", warp)
        for array, role in ((stm.sum, Role.SUM), (stm.left, Role.LEFT), (stm.right, Role.RIGHT)):
            threads, wanted = self.distributed.get(array, 0), layout_of(role, stm.left.prim)
            mine = self.roles.get(array)
            found = layout_of(mine, array.prim) if mine is not None else None
            if not isinstance(threads, int) or threads % LANES or not threads:
                self.report(scope, text, f"{array.name} belongs to {threads} threads, not to whole warps", warp)
            elif scope.unit is WARP and scope.indices not in (None, threads):
                self.report(scope, text, f"{array.name} belongs to {threads} threads, the loop has others", warp)
            elif found is None or found != wanted:
                why = f"{array.name} is {f'stored as {found}' if found else 'in no matrix'}"
                self.report(scope, text, why, f"{wanted}: the {role.value} of the product")

    def operator(self, scope: Scope, stm: KStm, op: kir.KLambda) -> None:
        inner = self.threads(scope, stm, KVar("", kir.Prim.I64))
        inner.loop = f"{inner.loop} (operator)"
        inner.is_operator = True
        for var in (*op.left, *op.right):
            self.bind(inner, var, False)
        self.stms(inner, op.body)
        for result in op.results:
            self.use(inner, stm, result)
