"""The builder of one kernel: its statements, captured arrays and scalars, failure sites, index arithmetic.

What a kernel needs from the host is captured on first use: a scalar becomes a kernel scalar; an array that the host
made by a view (rearrange, slice, reshape) is made again inside the kernel from the array it is a view of, so that
what is contiguous stays visible; every other array is dense and row-major, and becomes a kernel array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import field
from enum import Enum
from functools import cache, reduce
from typing import Any, Protocol

from ...ir import core
from ...ir.errors import Loc
from ...ir.ops import Op, result_type
from ...ir.records import dataclass
from ...ir.types import Atom, Const, Name, Prim, Type, Var, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KArray, KLet, KOp, KStm, KVar, Operand, Space
from ..kernel_ir.shared_stack import STATIC_BYTES


class NotLowerable(Exception):
    """This statement has no kernel form (yet): the host interprets it instead."""


@dataclass(frozen=True, slots=True)
class ArrayRef:
    """A strided view of kernel memory: element (i, j, ..) is `mem[offset + i*strides[0] + j*strides[1] + ..]`.
    `row_major`: the strides are those of the shape."""

    mem: KArray
    offset: Operand
    shape: tuple[Operand, ...]
    strides: tuple[Operand, ...]
    row_major: bool


@dataclass(frozen=True, slots=True)
class IotaRef:
    """`start + i*step`: an array that is never stored. `exact`: its elements are indices, which do not overflow."""

    prim: Prim
    count: Operand
    start: Operand
    step: Operand
    exact: bool = False


@dataclass(frozen=True, slots=True)
class ReplicateRef:
    """One value (scalar, or the array of the inner dimensions) at every index of the outer `shape`."""

    shape: tuple[Operand, ...]
    value: Value


ArrayValue = ArrayRef | IotaRef | ReplicateRef
Value = Operand | ArrayValue


@dataclass(frozen=True, slots=True)
class HostScope:
    """What the kernel's surroundings know: types of host names, the definition of each host view and each `iota`, and
    the arrays that this kernel reads from a copy with the dimensions in another order (outermost first)."""

    types: dict[Name, Type]
    views: dict[Name, core.Rearrange | core.Reshape | core.Index]
    iotas: dict[Name, core.Iota]
    layouts: dict[Name, tuple[int, ...]]


ZERO, ONE = i64(0), i64(1)


def is_const(operand: Operand, value: int) -> bool:
    """Whether an operand is a constant of this value."""
    return isinstance(operand, Const) and operand.value == value


class Mode(Enum):
    """Who executes the code: one thread, or a block as a whole; and where arrays made by it live."""

    THREAD = "thread"
    BLOCK = "block"

    @property
    def space(self) -> Space:
        return Space.PRIVATE if self is Mode.THREAD else Space.SHARED


class GenSoac(Protocol):
    """Emits a SOAC inside of a kernel; gives the values of the statement's pattern."""

    def __call__(self, b: Builder, stm: core.Stm, mode: Mode, /) -> tuple[Value, ...]: ...


class GenPoints(Protocol):
    """Emits a map of threads inside of a block; gives the arrays of the statement's pattern."""

    def __call__(self, b: Builder, stm: core.Stm, exp: core.SegMap, /) -> tuple[Value, ...]: ...


@dataclass(frozen=True, slots=True)
class InnerSchedules:
    """How a machine runs what is inside of a kernel: SOACs, and maps of threads where a block has many (else None)."""

    soac: GenSoac
    points: GenPoints | None


@dataclass(slots=True)
class Builder:
    """Kernel under construction. `env` maps core names to values; `stms` is the list being filled.

    `destinations`: names of arrays that end as results of the kernel, with the place of the result, taken by the
    statement that makes the array; `outputs`: the global arrays that the kernel fills; `inside`: indices and widths
    that they are known to be inside of; `own`: arrays of a block of which each thread has the elements of its indices
    (`own_elements.py`); `most`: what variables are at most, as far as that is known, which is a size that an array
    can have in shared memory; `defined`: the statements behind names; `parts`: where arrays are made that
    overwrite a part of another one (`updates_in_place.py`); `noted`: the place of the source noted last."""

    scope: HostScope
    view_of: Callable[[Builder, core.Exp], ArrayValue]
    inner: InnerSchedules
    block: KVar = KVar("block", Prim.I64)
    env: dict[Name, Value] = field(default_factory=dict)
    stms: list[KStm] = field(default_factory=list)
    prologue: list[KStm] = field(default_factory=list)
    arrays: dict[Name, KArray] = field(default_factory=dict)
    scalars: dict[Name, KVar] = field(default_factory=dict)
    sites: dict[kir.FailureSite, int] = field(default_factory=dict)
    destinations: dict[Name, ArrayRef] = field(default_factory=dict)
    used_destinations: set[Name] = field(default_factory=set)
    outputs: set[KArray] = field(default_factory=set)
    inside: set[tuple[Operand, Operand]] = field(default_factory=set)
    own: frozenset[Name] = frozenset()
    most: dict[KVar, int] = field(default_factory=dict)
    defined: dict[Name, core.Stm] = field(default_factory=dict)
    parts: dict[Name, ArrayRef] = field(default_factory=dict)
    collective: core.Level = core.Level.BLOCK
    counter: int = 0
    noted: tuple[str, int] | None = None

    # ---- names and statements -------------------------------------------------------------------------------------

    def fresh(self, base: str, prim: Prim) -> KVar:
        self.counter += 1
        return KVar(f"{clean(base)}_{self.counter}", prim)

    def index(self, name: Name) -> KVar:
        """A fresh variable that an index of the source is from now on."""
        index = self.fresh(name.base, Prim.I64)
        self.env[name] = index
        return index

    def emit(self, stm: KStm) -> None:
        self.stms.append(stm)

    @property
    def has_threads(self) -> bool:
        """Is the kernel for a machine with many threads?"""
        return self.inner.points is not None

    def note(self, loc: Loc) -> None:
        """What follows is from this line of the source."""
        if self.has_threads and loc.line > 0 and (loc.file, loc.line) != self.noted:
            self.noted = loc.file, loc.line
            self.emit(kir.Note(loc.here))

    def say(self, how: str) -> None:
        """How the kernel does its work, for readers of its text."""
        if self.has_threads:
            self.emit(kir.Note(how))

    def let(self, base: str, prim: Prim, rhs: kir.Rhs) -> KVar:
        var = self.fresh(base, prim)
        self.emit(KLet(var, rhs))
        return var

    def declare(self, base: str, init: Operand) -> KVar:
        """A mutable variable."""
        var = self.fresh(base, init.prim)
        self.emit(kir.Declare(var, init))
        return var

    def assign(self, variables: Iterable[KVar], values: Iterable[Operand]) -> None:
        """`variable := value`, one after the other."""
        for var, value in zip(variables, values, strict=True):
            self.emit(kir.Assign(var, value))

    @contextmanager
    def nested(self) -> Iterator[list[KStm]]:
        """Collects the statements emitted inside into a list of their own."""
        saved, self.stms = self.stms, []
        try:
            yield self.stms
        finally:
            self.stms = saved

    @contextmanager
    def loop(self, index: KVar, bound: Operand, unroll: int = 1) -> Iterator[KVar]:
        """`for index < bound` with the statements emitted inside."""
        with self.nested() as body:
            yield index
        self.emit(kir.For(index, bound, tuple(body), unroll))

    @contextmanager
    def loops(self, indices: Iterable[KVar], bounds: Iterable[Operand]) -> Iterator[None]:
        """`for i < n { for j < m { .. } }` with the statements emitted inside."""
        with ExitStack() as nest:
            for index, bound in zip(indices, bounds, strict=True):
                nest.enter_context(self.loop(index, bound))
            yield

    @contextmanager
    def threads(
        self, index: KVar, lo: Operand, hi: Operand, row: int = 1, unit: core.Level = core.Level.THREAD
    ) -> Iterator[KVar]:
        """`threads index in lo..hi` with the statements emitted inside."""
        with self.nested() as body:
            yield index
        self.emit(kir.Threads(index, lo, hi, tuple(body), row, unit))

    @contextmanager
    def when(self, cond: Operand) -> Iterator[None]:
        """`if cond` with the statements emitted inside."""
        with self.nested() as body:
            yield
        self.emit(kir.KIf(cond, tuple(body), ()))

    @contextmanager
    def in_prologue(self) -> Iterator[None]:
        """Statements emitted inside go to the start of the kernel, where everything sees them."""
        saved, self.stms = self.stms, self.prologue
        try:
            yield
        finally:
            self.stms = saved

    def snapshot(self) -> tuple[Any, ...]:
        """The state, to return to after a trial."""
        return (
            dict(self.env), list(self.stms), list(self.prologue), dict(self.arrays), dict(self.scalars),
            dict(self.sites), dict(self.destinations), set(self.used_destinations), set(self.outputs), set(self.inside),
            self.counter,
        )  # fmt: skip

    def restore(self, saved: tuple[Any, ...]) -> None:
        env, stms, prologue, arrays, scalars, sites, destinations, used, outputs, inside, counter = saved
        self.env, self.arrays, self.scalars, self.sites = env, arrays, scalars, sites
        self.stms[:], self.prologue[:] = stms, prologue
        self.destinations, self.used_destinations, self.outputs = destinations, used, outputs
        self.inside, self.counter = inside, counter

    # ---- scalar arithmetic ----------------------------------------------------------------------------------------

    def op(self, op: Op, prim: Prim, *args: Operand, base: str = "t") -> Operand:
        var = self.let(base, result_type(op, prim), KOp(op, prim, args))
        if op is Op.MIN and prim is Prim.I64:
            self.most.update((var, int(arg.value)) for arg in args if isinstance(arg, Const))
        return var

    def add(self, x: Operand, y: Operand, base: str = "t") -> Operand:
        """i64 sum; constants are folded."""
        if is_const(x, 0):
            return y
        if is_const(y, 0):
            return x
        if isinstance(x, Const) and isinstance(y, Const):
            return i64(int(x.value) + int(y.value))
        return self.exact(Op.ADD, x, y, base)

    def mul(self, x: Operand, y: Operand, base: str = "t") -> Operand:
        """i64 product; constants are folded."""
        if is_const(x, 1):
            return y
        if is_const(y, 1):
            return x
        if is_const(x, 0) or is_const(y, 0):
            return ZERO
        if isinstance(x, Const) and isinstance(y, Const):
            return i64(int(x.value) * int(y.value))
        return self.exact(Op.MUL, x, y, base)

    def product(self, factors: Iterable[Operand], base: str = "t") -> Operand:
        """i64 product of all, 1 for none."""
        return reduce(lambda total, factor: self.mul(total, factor, base), factors, ONE)

    def sub(self, x: Operand, y: Operand, base: str = "t") -> Operand:
        if is_const(y, 0):
            return x
        if isinstance(x, Const) and isinstance(y, Const):
            return i64(int(x.value) - int(y.value))
        return self.exact(Op.SUB, x, y, base)

    def exact(self, op: Op, x: Operand, y: Operand, base: str) -> Operand:
        """Index arithmetic, which does not overflow."""
        return self.let(base, Prim.I64, KOp(op, Prim.I64, (x, y), True))

    def wrapping(self, op: Op, x: Operand, y: Operand) -> Operand:
        """Arithmetic on numbers of the user's; constants are folded where that is plain."""
        neutral = 1 if op is Op.MUL else 0
        if is_const(y, neutral):
            return x
        if is_const(x, neutral) and op is not Op.SUB:
            return y
        if isinstance(x, Const) and isinstance(y, Const) and max(abs(int(x.value)), abs(int(y.value))) < 1 << 31:
            folded = {Op.ADD: int.__add__, Op.SUB: int.__sub__, Op.MUL: int.__mul__}[op]
            return i64(folded(int(x.value), int(y.value)))
        return self.op(op, Prim.I64, x, y)

    def minimum(self, x: Operand, y: Operand, base: str = "t") -> Operand:
        return self.op(Op.MIN, Prim.I64, x, y, base=base)

    def copy(self, value: Operand) -> Operand:
        """The value a mutable variable has now, immutable."""
        if isinstance(value, Const):
            return value
        return self.let("v", value.prim, kir.KConvert(value.prim, value.prim, value))

    # ---- captures -------------------------------------------------------------------------------------------------

    def atom(self, atom: Atom) -> Value:
        return atom if isinstance(atom, Const) else self.lookup(atom.name)

    def operand(self, atom: Atom) -> Operand:
        """The value of a scalar atom."""
        value = self.atom(atom)
        assert isinstance(value, (KVar, Const)), f"{atom} is an array"
        return value

    def lookup(self, name: Name) -> Value:
        value = self.env.get(name)
        if value is None:
            value = self.capture(name)
            self.env[name] = value
        return value

    def array(self, name: Name) -> ArrayValue:
        value = self.lookup(name)
        assert isinstance(value, (ArrayRef, IotaRef, ReplicateRef)), f"{name} is a scalar"
        return value

    def input(self, name: Name) -> ArrayValue:
        """An array of which elements are read one by one: indices that the host could count are counted here."""
        iota = self.scope.iotas.get(name)
        if iota is None:
            return self.array(name)
        return IotaRef(iota.prim, self.operand(iota.count), self.operand(iota.start), self.operand(iota.step))

    def capture(self, name: Name) -> Value:
        if name not in self.scope.types:
            raise NotLowerable(f"{name} is not visible to the kernel")
        type_ = self.scope.types[name]
        if not type_.shape:
            var = self.fresh(name.base, type_.prim)
            self.scalars[name] = var
            return var
        with self.in_prologue():
            view = self.scope.views.get(name)
            if view is not None:
                return self.view_of(self, view)
            self.counter += 1
            mem = KArray(f"{clean(name.base)}_{self.counter}", type_.prim, Space.GLOBAL)
            self.arrays[name] = mem
            return self.laid_out(mem, tuple(self.operand(d) for d in type_.shape), self.scope.layouts.get(name))

    # ---- memory ---------------------------------------------------------------------------------------------------

    def strides(self, shape: tuple[Operand, ...]) -> tuple[Operand, ...]:
        """Row-major strides of a shape."""
        strides: list[Operand] = [ONE]
        for width in reversed(shape[1:]):
            strides.append(self.mul(width, strides[-1]))
        return tuple(reversed(strides)) if shape else ()

    def dense(self, mem: KArray, shape: tuple[Operand, ...]) -> ArrayRef:
        return ArrayRef(mem, ZERO, shape, self.strides(shape), True)

    def laid_out(self, mem: KArray, shape: tuple[Operand, ...], perm: tuple[int, ...] | None) -> ArrayRef:
        """Dense memory whose dimensions are stored in the order `perm`."""
        if perm is None:
            return self.dense(mem, shape)
        stored = self.strides(tuple(shape[d] for d in perm))
        return ArrayRef(mem, ZERO, shape, tuple(stored[perm.index(d)] for d in range(len(shape))), False)

    def alloc(self, base: str, prim: Prim, shape: tuple[Operand, ...], space: Space) -> ArrayRef:
        count = self.product(shape)
        if space is Space.SHARED and isinstance(count, KVar) and self.has_threads:
            most = self.most.get(count)
            count = i64(most) if most is not None and 0 < most * prim.bytes <= STATIC_BYTES else count
        self.counter += 1
        mem = KArray(f"{clean(base)}_{self.counter}", prim, space)
        self.emit(kir.Alloc(mem, count))
        return self.dense(mem, shape)

    def registers(self, base: str, type_: Type) -> ArrayRef:
        """An array in one dimension whose elements are with the threads of their indices."""
        (width,) = type_.shape
        assert isinstance(width, Const)
        self.counter += 1
        mem = KArray(f"{clean(base)}_{self.counter}", type_.prim, Space.REGISTERS)
        self.emit(kir.Distribute(mem, int(width.value), 1))
        return ArrayRef(mem, ZERO, (width,), (ZERO,), False)

    def address(self, ref: ArrayRef, indices: tuple[Operand, ...]) -> Operand:
        """Flat element index of a full index."""
        flat = ref.offset
        for index, stride in zip(indices, ref.strides, strict=True):
            flat = self.add(flat, self.mul(index, stride))
        return flat

    def element(self, array: Value, indices: tuple[Operand, ...]) -> Value:
        """`array` at a prefix of its dimensions: a scalar, or the array of what is left. No bounds check."""
        if not indices:
            return array
        match array:
            case ArrayRef(mem, offset, shape, strides, row_major):
                k = len(indices)
                for index, stride in zip(indices, strides, strict=False):
                    offset = self.add(offset, self.mul(index, stride))
                if k == len(shape):
                    return self.let("x", mem.prim, kir.KLoad(mem, offset))
                return ArrayRef(mem, offset, shape[k:], strides[k:], row_major)
            case IotaRef(_, _, start, step, True):
                return self.add(start, self.mul(indices[0], step))
            case IotaRef(prim, _, start, step):
                return self.iota_element(prim, start, step, indices[0])
            case ReplicateRef(shape, value):
                k = len(shape)
                if len(indices) < k:
                    return ReplicateRef(shape[len(indices) :], value)
                return self.element(value, indices[k:])
            case _:
                raise AssertionError("a scalar is not indexed")

    def iota_element(self, prim: Prim, start: Operand, step: Operand, index: Operand) -> Operand:
        """`start + index * step`, which may wrap."""
        if prim is Prim.I64:
            return self.wrapping(Op.ADD, start, self.wrapping(Op.MUL, index, step))
        index = self.let("i", prim, kir.KConvert(Prim.I64, prim, index))
        scaled = index if is_const(step, 1) else self.op(Op.MUL, prim, index, step)
        return scaled if is_const(start, 0) else self.op(Op.ADD, prim, start, scaled)

    # ---- failures -------------------------------------------------------------------------------------------------

    def site(self, code: str, loc: Loc, parts: tuple[str | Prim, ...]) -> int:
        site = kir.FailureSite(code, loc, parts)
        return self.sites.setdefault(site, len(self.sites))

    def is_inside(self, index: Operand, width: Operand) -> bool:
        """Whether 0 <= index < width is known."""
        if isinstance(index, Const) and isinstance(width, Const):
            return 0 <= int(index.value) < int(width.value)
        return (index, width) in self.inside

    def check_index(self, indices: tuple[Operand, ...], shape: tuple[Operand, ...], loc: Loc) -> None:
        """R0101 unless 0 <= index < width in every dimension."""
        if all(self.is_inside(i, n) for i, n in zip(indices, shape, strict=True)):
            return
        site = self.site("R0101", loc, index_message(len(indices), len(shape)))
        for index, width in zip(indices, shape, strict=True):
            if not self.is_inside(index, width):
                self.emit(kir.BoundsCheck(index, width, site, (*indices, *shape)))


def index_message(indices: int, rank: int) -> tuple[str | Prim, ...]:
    """The parts of `index [1, 4] out of bounds for array of shape [2][3]`."""
    return "index [", *(Prim.I64, ", ") * (indices - 1), Prim.I64, *beyond(rank)


def beyond(rank: int) -> tuple[str | Prim, ...]:
    """The end of the message."""
    return "] out of bounds for array of shape ", *("[", Prim.I64, "]") * rank


@cache
def clean(base: str) -> str:
    """A source name as an identifier of generated code."""
    letters = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in base)[:20]
    return letters or "x"


def scalar(value: Value) -> Operand:
    """A value that is known to be a scalar."""
    assert isinstance(value, (KVar, Const)), "an array"
    return value


def variables(atoms: tuple[Atom, ...]) -> tuple[Name, ...]:
    """The names among atoms, in order."""
    return tuple(a.name for a in atoms if isinstance(a, Var))
