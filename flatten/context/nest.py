"""The map-nest context Σ, and the state of flattening a function.

    Σ = ⟨x̄p ∈ ȳp⟩, ..., ⟨x̄1 ∈ ȳ1⟩

is kept in two parts: the *dimensions* `(i < n, j < m)` and, for every variable of the nest, where it comes from. That
is either an element of an array outside of the nest (`Elem`: `x = xss[i, j]`; its indices may be any of the nest's),
or a statement of the nest that no kernel has computed yet (`Deferred`). A deferred statement travels into the kernels
that use it; one that is too expensive to be computed again becomes an array over the nest first (G6).

Names are unique, so all variables of all nests of a function stand in the same two tables.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from ...ir.basic import is_iota
from ...ir.core import Attr, Body, Exp, FunDef, Lambda, Param, PrimOp, Replicate, Stm
from ...ir.errors import NOWHERE, Loc
from ...ir.machine import Machine, Mode
from ...ir.ops import Op, result_type
from ...ir.records import dataclass
from ...ir.thresholds import Threshold
from ...ir.traverse import add_types, names_in_types
from ...ir.types import Atom, Const, Name, Names, Prim, Type, Var, scalar
from ..aliasing.classes import overwritten_in
from .trace import Fired, Rule

Dim = tuple[Name, Atom]


@dataclass(frozen=True, slots=True)
class Nest:
    """`(i < n, j < m)`, outermost first; empty at the top level (Σ = •)."""

    dims: tuple[Dim, ...]

    @property
    def depth(self) -> int:
        return len(self.dims)

    @property
    def indices(self) -> tuple[Name, ...]:
        return tuple(name for name, _ in self.dims)

    @property
    def widths(self) -> tuple[Atom, ...]:
        return tuple(width for _, width in self.dims)

    def inside(self, *dims: Dim) -> Nest:
        """The nest with further dimensions innermost."""
        return Nest(self.dims + dims)

    def points(self, *inner: Atom) -> str:
        """`n × m × k`, as a trace shows it: the widths, and those of further dimensions."""
        return " × ".join(str(w.value) if isinstance(w, Const) else str(w) for w in (*self.widths, *inner))

    def outer(self, depth: int) -> Nest:
        """The `depth` outermost dimensions."""
        return Nest(self.dims[:depth])


TOP = Nest(())


@dataclass(frozen=True, slots=True)
class Elem:
    """`x = array[i, j, ..]`: the first dimensions of an array outside of the nest, at indices of the nest."""

    array: Name
    indices: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Deferred:
    """A statement at `depth` in a nest, not computed yet. `weight` is what computing it again costs, with all
    deferred statements it needs; `order` is its place in the program."""

    stm: Stm
    depth: int
    weight: int
    order: int


@dataclass(frozen=True, slots=True)
class Segments:
    """What is known of a width that varies over a nest with these `indices`
    (`flatten/versions/segment_descriptors.py`): the segments have `total` elements together; arrays over the points of
    the nest (`.._by_point`), over the flat data (`rows`), over the nest; the variables of the nest that are their
    elements; the assertions that were checked."""

    indices: tuple[Name, ...]
    points: Atom
    total: Atom
    starts_by_point: Name
    ends_by_point: Name
    rows: Name
    lengths: Name
    starts: Name
    ends: Name
    length: Name
    start: Name
    end: Name
    certs: frozenset[Name]


@dataclass(frozen=True, slots=True)
class Row:
    """`ys = array[start :+ w]`: an array of variant width, a segment of flat data."""

    array: Name
    segments: Segments


@dataclass(slots=True)
class Walked:
    """A body that is being walked: the place of the statement at hand, and what the body gives."""

    stms: tuple[Stm, ...]
    result: tuple[Atom, ...]
    place: int = 0


@dataclass(slots=True)
class Guards:
    """Naming of guards: the entry, the binding at hand, guards so far per binding (of the whole program, since two
    functions may share a name), the guards we are in, how many were made and dropped beyond the budget; and how many
    segment descriptors were made."""

    entry: str
    binding: str
    counts: dict[Threshold, int]
    path: tuple[tuple[str, bool], ...]
    made: int
    dropped: int
    segments: int = 0


@dataclass(frozen=True, slots=True)
class Lifted:
    """A function over a nest, of which these parameters vary."""

    name: Name
    fun: FunDef
    varies: tuple[bool, ...]


@dataclass(slots=True)
class Lifts:
    """The functions of the program, and those over nests: all of them, and those that are still to be made."""

    functions: Mapping[Name, FunDef] = field(default_factory=dict[Name, FunDef])
    made: dict[tuple[Name, tuple[bool, ...]], Lifted] = field(default_factory=dict)
    waiting: list[Lifted] = field(default_factory=list)


Walk = Callable[["Flow", Nest, tuple[Stm, ...], tuple[Atom, ...]], None]
WalkTop = Callable[["Flow", Body], None]


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for all of a function, or (`inside`) of the body of a version whose threads are inside a warp or
    block; and how the rules walk the bodies inside of a statement."""

    names: Names
    mode: Mode
    machine: Machine
    inside: bool
    walk: Walk
    walk_top: WalkTop
    lifts: Lifts = field(default_factory=Lifts)


@dataclass(slots=True)
class Known:
    """Facts about the nests at hand.

    `uses`: how many statements of its body use a name. `fresh`: arrays over nests that were made in the body at hand
    and that only elements of the nest stand for: the last of these to be used may have the array itself. `varying`:
    whether parallelism of varying width is flattened, `mixed` whether there is other parallelism beside it. For that,
    `coordinates` are the indices of nests around a flat one, `segments` the descriptors made, `rows` the arrays of
    varying width that are segments of flat data. `checked_rows`: the checks made of rows, and of assertions, that
    kernels without points do not look at, by the order of the deferred statement. `in_rounds`: whether there is a
    version in which one collective goes through the rounds of a loop around. `numbers`: arrays that number their
    elements. `unread`: what is computed before a nest, and means nothing where that has no point."""

    types: dict[Name, Type]
    consumed: set[Name]
    varying: bool
    mixed: bool = False
    in_rounds: bool = False
    elems: ChainMap[Name, Elem] = field(default_factory=lambda: ChainMap())
    deferred: dict[Name, Deferred] = field(default_factory=dict)
    coordinates: dict[Name, Deferred] = field(default_factory=dict)
    segments: ChainMap[tuple[Atom, tuple[Name, ...]], Segments] = field(default_factory=lambda: ChainMap())
    rows: ChainMap[Name, Row] = field(default_factory=lambda: ChainMap())
    checked_rows: ChainMap[int, Name] = field(default_factory=lambda: ChainMap())
    uses: dict[Name, int] = field(default_factory=dict)
    fresh: set[Name] = field(default_factory=set)
    lent: set[Name] = field(default_factory=set)
    replicates: dict[Name, Replicate] = field(default_factory=dict)
    numbers: set[Name] = field(default_factory=set)
    unread: set[Name] = field(default_factory=set)


@dataclass(slots=True)
class Output:
    """The flat statements so far, what is put on the next ones, the rules that fired and the guards that were made."""

    guards: Guards
    trail: list[Fired]
    stms: list[Stm] = field(default_factory=list)
    certs: tuple[Name, ...] = ()
    loc: Loc = NOWHERE
    walked: list[Walked] = field(default_factory=list)
    next_order: int = 0


@dataclass(frozen=True, slots=True)
class Flow:
    """Flattening of one function, or of the body of a version."""

    context: Context
    known: Known
    output: Output

    # ---- queries

    @property
    def has_segments_left(self) -> bool:
        """Whether there is budget left for descriptors of widths that vary."""
        return self.output.guards.segments < self.context.machine.max_segments

    def type_of(self, atom: Atom) -> Type:
        return self.known.types[atom.name] if isinstance(atom, Var) else scalar(atom.prim)

    def is_variant(self, name: Name) -> bool:
        """Whether a name is bound in the nest."""
        return name in self.known.elems or name in self.known.deferred or name in self.known.coordinates

    def is_invariant(self, atom: Atom) -> bool:
        return not (isinstance(atom, Var) and self.is_variant(atom.name))

    def relies_on_nest(self, stm: Stm) -> bool:
        """Whether the value of a statement relies on checks that the nest makes at each of its points."""
        return any(map(self.is_variant, stm.certs))

    def is_regular(self, types: Iterable[Type]) -> bool:
        """Whether the sizes are the same all over the nest."""
        return not any(self.is_variant(name) for name in names_in_types(types))

    # ---- emitting

    def note(self, rule: Rule, about: str) -> None:
        self.output.trail.append(Fired(rule, about))

    def fresh_param(self, base: str, type_: Type) -> Param:
        name = self.context.names.fresh(base)
        self.known.types[name] = type_
        return Param(name, type_)

    def emit(self, pat: tuple[Param, ...], exp: Exp, attrs: tuple[Attr, ...] = ()) -> None:
        """A statement of the flat program."""
        self.known.types.update((p.name, p.type) for p in pat)
        self.keep(Stm(pat, exp, self.output.certs, attrs, self.output.loc))

    def keep(self, stm: Stm) -> None:
        """A statement that is flat as it is."""
        if isinstance(stm.exp, Replicate):
            self.known.replicates[stm.pat[0].name] = stm.exp
        if is_iota(stm.exp):
            self.known.numbers.add(stm.pat[0].name)
        self.output.stms.append(stm)

    def emit_as(self, base: str, type_: Type, exp: Exp) -> Name:
        """A statement with one result under a fresh name."""
        param = self.fresh_param(base, type_)
        self.emit((param,), exp)
        return param.name

    def op(self, base: str, op: Op, *args: Atom) -> Var:
        """`op args`, of numbers or of truth values, under a fresh name."""
        exp, type_ = number_op(op, args)
        return Var(self.emit_as(base, type_, exp))

    def bind(self, nest: Nest, pat: tuple[Param, ...]) -> tuple[Param, ...]:
        """Arrays over the nest for the variables of a pattern; from here on these are elements of them."""
        if not nest.dims:
            return pat
        arrays = tuple(self.fresh_param(p.name.base, p.type.array_of(*nest.widths)) for p in pat)
        for param, array in zip(pat, arrays, strict=True):
            self.known.elems[param.name] = Elem(array.name, nest.indices)
            self.known.fresh.add(array.name)
        return arrays

    def learn(self, f: Lambda) -> Lambda:
        """A lambda whose types are known from here on, and what it overwrites: its names may be fresh ones."""
        self.known.types.update((p.name, p.type) for p in f.params)
        add_types(self.known.types, f.body)
        self.known.consumed |= overwritten_in(f.body)
        return f

    def again(self, pat: tuple[Param, ...]) -> tuple[Param, ...]:
        """A pattern of the same types under fresh names (no type uses a name of the pattern)."""
        return tuple(self.fresh_param(p.name.base, p.type) for p in pat)


def number_op(op: Op, args: tuple[Atom, ...]) -> tuple[PrimOp, Type]:
    """An operation on i64, or on truth values if it is of these, and the type of its result."""
    prim = Prim.BOOL if op in (Op.AND, Op.OR, Op.NOT) else Prim.I64
    return PrimOp(op, prim, args), scalar(result_type(op, prim))


def host_body(flow: Flow, work: Callable[[], tuple[Atom, ...]]) -> Body:
    """The flat statements that `work` emits as a body of their own (a branch, a loop). What becomes an array there is
    known as one only there; what was made outside may not be overwritten."""
    known, output = flow.known, flow.output
    stms, certs, fresh, lent = output.stms, output.certs, known.fresh, known.lent
    output.stms, output.certs, known.fresh, known.lent = [], (), set(), set()
    enter_scope(known)
    result = work()
    body = Body(tuple(output.stms), result)
    leave_scope(known)
    output.stms, output.certs, known.fresh, known.lent = stms, certs, fresh, lent
    return body


def enter_scope(known: Known) -> None:
    """From here on what becomes an array is known as one only until the scope is left."""
    known.elems, known.segments = known.elems.new_child(), known.segments.new_child()
    known.rows, known.checked_rows = known.rows.new_child(), known.checked_rows.new_child()


def leave_scope(known: Known) -> None:
    """Forgets what became an array since `enter_scope`."""
    known.elems, known.segments = known.elems.parents, known.segments.parents
    known.rows, known.checked_rows = known.rows.parents, known.checked_rows.parents
