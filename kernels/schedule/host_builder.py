"""The builder of a host program: host statements, what kernels may see of the host, and launches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from math import prod
from typing import Protocol

from ...ir import core, scalar
from ...ir.core import Body, Param, Stm
from ...ir.errors import NOWHERE, Loc
from ...ir.machine import CUDA, ROUNDS, Machine
from ...ir.ops import Op, result_type
from ...ir.records import dataclass
from ...ir.thresholds import Threshold
from ...ir.traverse import free_in_stm, names_in_types
from ...ir.types import I64, Atom, Const, Name, Names, Prim, Type, Var, i64
from ..analysis.cost import GATHER, Tiled, cost
from ..analysis.uniformity import Facts, find_facts
from ..host_ir.copy_sizes import FAR_BYTES
from ..host_ir.launch_parameters import Kind, Side, size_kind, size_param
from ..host_ir.nodes import (
    HostBody,
    HostCall,
    HostExp,
    HostIf,
    HostLoop,
    HostStm,
    Interpret,
    Launch,
    Workers,
    launches,
    statements,
)
from ..kernel_ir import nodes as kir
from ..kernel_ir.dedup import Kernels
from ..passes.divide_warps import divide_warps
from ..passes.nontemporal_stores import streamed
from ..passes.tile_rows import tiled_accesses
from .array_values import view_of
from .kernel_builder import Builder, HostScope, InnerSchedules, NotLowerable, clean
from .shared_room import with_room

TRUE, FALSE = Const(Prim.BOOL, True), Const(Prim.BOOL, False)
MANIFEST_GAIN = 1.5  # how much cheaper a kernel must be for a copy of its input to pay
COPIED = 8.0  # a vector of such a copy, which goes in tiles, beside what the kernel reads


@dataclass(frozen=True, slots=True)
class Made:
    """A kernel with what it wants from the host. `layouts`: the order of dimensions in which it reads an array, if
    not the array's own. `facts`: how its variables lie across the lanes; `tiled`: what it accesses in tiles; `rival`:
    the kernel of another mapping, for as many blocks, which may be better."""

    kernel: kir.Kernel
    arrays: tuple[Name, ...]
    scalars: tuple[Name, ...]
    writes: tuple[bool, ...]
    layouts: tuple[tuple[int, ...] | None, ...]
    facts: Facts
    tiled: Tiled
    cost: float
    rival: Made | None = None


@dataclass(frozen=True, slots=True)
class Sigma:
    """A mapping of a segop's points to threads in words, what it costs at sizes that stand for large ones: sectors of
    global memory, bytes that copies of inputs move, for each array the sectors of a request of each of its accesses,
    and the value of a setting that takes it, if there is one."""

    mapping: str
    sectors: float
    copied: float
    each: tuple[tuple[str, float], ...]
    setting: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Considered:
    """A row of a table of schedules (`table.py`) that was looked at for a segop; of rows inside of a row, the nesting.
    `why_not`: why it is not taken; else `guard`, the condition of the host under which it is. `cost`: the estimate for
    a unit of work (`kernels/analysis/cost.py`), if one was made; the kernels that it launches; what a mapping is."""

    schedule: str
    nesting: int
    why_not: str | None
    guard: Atom | None
    cost: float | None
    kernels: tuple[str, ...]
    sigma: Sigma | None = None


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A statement of an entry that kernels or the interpreter run, in the version that the `side` of a guard leads to,
    and of a segop the schedules that were considered for it; `interpreted`: why it has no kernel."""

    entry: str
    stm: Stm
    side: Side | None
    considered: tuple[Considered, ...]
    interpreted: str | None


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter in a flat body: the scan that counts, the number of all that is kept, memory for it, and the scatter.
    `read`: those of the mapped results of the scan that others read, by their places among all results."""

    scan: Stm
    total: Stm
    scratch: tuple[Stm, ...]
    scatter: Stm
    read: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Follower:
    """A map or reduction in a flat body that reads a scan at its own point, and what it computes there: `taken` says by
    which names `body` has the results of the scan. `kept`: the results of the scan that others read, too."""

    scan: Stm
    map: Stm
    body: core.Body
    taken: Mapping[Name, int]
    kept: tuple[int, ...]


class BestMapping(Protocol):
    """The kernel that `build` makes, launched with the product of `blocks`, in the order of `dims` and
    with the copies of inputs that cost least."""

    def __call__(self, h: HostBuilder, blocks: tuple[Atom, ...], build: Callable[[], Made], dims: Dims, /) -> Made: ...


Dims = tuple[tuple[Name, Atom], ...]


@dataclass(slots=True)
class HostBuilder:
    """One entry point under construction; `types`, `views` and `iotas` describe every host name seen so far. `side`:
    the last side of a guard on the way to what is being built. `others`: how many kernels other entries had made
    before. `computed`: what scalars are; `order`: of the dimensions of a space, while mappings are tried; `mapped`: how
    a machine with many threads chooses these. `considered`: the schedules that were looked at for the present segop, at
    a `nesting` of tables; `observe` gets them. `filters` of the present body, by the first results of their scans, and
    `followers` of scans; `turned`: the only readers of results of scans, which rearrange or copy them; `replaced`: what
    stands for later statements, by their first results, where a schedule has done their work. `wanted`: the sides of
    guards that are lowered, None: all. `bounds`: what scalars are at most on the way to what is being built."""

    entry: str
    names: Names
    kernels: Kernels
    functions: tuple[core.FunDef, ...]
    machine: Machine
    inner: InnerSchedules
    types: dict[Name, Type] = field(default_factory=dict)
    views: dict[Name, core.Rearrange | core.Reshape | core.Index] = field(default_factory=dict)
    iotas: dict[Name, core.Iota] = field(default_factory=dict)
    out: list[HostStm] = field(default_factory=list)
    layouts: dict[Name, tuple[int, ...]] = field(default_factory=dict)
    side: Side | None = None
    others: int = 0
    considered: list[Considered] = field(default_factory=list[Considered])
    nesting: int = 0
    observe: Callable[[Scheduled], None] = lambda scheduled: None
    computed: dict[Name, HostExp] = field(default_factory=dict[Name, HostExp])
    order: tuple[int, ...] | None = None
    mapped: BestMapping | None = None
    filters: Mapping[Name, Filter] = field(default_factory=dict[Name, Filter])
    followers: Mapping[Name, Follower] = field(default_factory=dict[Name, Follower])
    turned: Mapping[Name, tuple[Stm, ...]] = field(default_factory=dict[Name, tuple[Stm, ...]])
    replaced: dict[Name, tuple[Stm, ...] | None] = field(default_factory=dict[Name, "tuple[Stm, ...] | None"])
    wanted: frozenset[Side] | None = None
    bounds: Mapping[Name, int] = field(default_factory=dict[Name, int])

    def bind(self, params: tuple[Param, ...]) -> None:
        for param in params:
            self.types[param.name] = param.type

    def emit(self, pat: tuple[Param, ...], exp: HostExp, loc: Loc) -> None:
        """A statement; of a branch whose condition is known, the one that runs."""
        self.bind(pat)
        if isinstance(exp, HostIf) and isinstance(exp.cond, Const):
            taken = exp.then if exp.cond == TRUE else exp.orelse
            self.out += taken.stms
            self.out += [HostStm((p,), core.Copied(a), loc) for p, a in zip(pat, taken.result, strict=True)]
            return
        if isinstance(exp, core.PrimOp | core.SizeParam | core.Copied):
            self.computed[pat[0].name] = exp
        self.out.append(HostStm(pat, exp, loc))

    def interpreted(self, stm: Stm, why: str) -> None:
        """Run by the interpreter, on what the statement uses and the sizes of that."""
        used = [n for n in free_in_stm(stm) if n in self.types]
        args = tuple(dict.fromkeys((*names_in_types(self.types[n] for n in used), *used)))
        params = tuple(Param(n, self.types[n]) for n in args)
        body = Body((stm,), tuple(Var(p.name) for p in stm.pat))
        fun = core.FunDef(self.names.fresh("interpreted"), params, (), stm.pat, body, None, (), stm.loc)
        callees = tuple(f for f in self.functions if f.entry is None)
        self.emit(stm.pat, Interpret(fun, callees, args, why), stm.loc)

    def note_view(self, stm: Stm) -> None:
        """Views and indices that kernels make again for themselves."""
        match stm.exp:
            case core.Iota():
                self.iotas[stm.pat[0].name] = stm.exp
            case core.Rearrange() | core.Index() if stm.pat[0].type.shape:
                self.views[stm.pat[0].name] = stm.exp
            case core.Reshape(_, array) if array not in self.views:
                self.views[stm.pat[0].name] = stm.exp
            case _:
                pass

    # ---- scalars and memory ---------------------------------------------------------------------------------------

    def op(self, op: Op, *args: Atom, base: str = "n") -> Atom:
        """`op` of i64 values, computed here where they are constants."""
        type_ = result_type(op, Prim.I64)
        if all(isinstance(a, Const) for a in args):
            values = tuple(a.value for a in args if isinstance(a, Const))
            return Const(type_, scalar.apply(op, Prim.I64, values))
        if op is Op.MUL and args[0] == i64(1):
            return args[1]
        name = self.names.fresh(base)
        self.emit((Param(name, Type(type_, ())),), core.PrimOp(op, Prim.I64, args), NOWHERE)
        return Var(name)

    def choice(self, cond: Atom, x: Atom, y: Atom, base: str) -> Atom:
        """`x` where `cond` holds, else `y`."""
        if x == y or isinstance(cond, Const):
            return x if x == y or cond == TRUE else y
        name, prim = self.names.fresh(base), x.prim if isinstance(x, Const) else self.types[x.name].prim
        self.emit((Param(name, Type(prim, ())),), core.PrimOp(Op.SELECT, prim, (cond, x, y)), NOWHERE)
        return Var(name)

    def product(self, atoms: tuple[Atom, ...]) -> Atom:
        total: Atom = i64(1)
        for atom in atoms:
            total = self.op(Op.MUL, total, atom)
        return total

    def ceil_div(self, x: Atom, size: Atom | int) -> Atom:
        """x / size, rounded up."""
        by = i64(size) if isinstance(size, int) else size
        return self.op(Op.QUOT, self.op(Op.ADD, x, self.op(Op.SUB, by, i64(1))), by)

    def share(self, count: Atom, least: int, most: int) -> Atom:
        """What each thread of the host has of `count`: a multiple of `least`, up to `most`. No result may depend on
        it."""
        workers = self.names.fresh("workers")
        self.emit((Param(workers, I64),), Workers(), NOWHERE)
        each = self.ceil_div(self.ceil_div(count, Var(workers)), least)
        each = self.op(Op.MIN, self.op(Op.MAX, each, i64(1)), i64(most // least))
        return self.op(Op.MUL, each, i64(least), base="share")

    def size(self, kind: Kind) -> Atom:
        """A size that may be set."""
        name = self.names.fresh(kind.value)
        self.emit((Param(name, I64),), size_param(self.entry, self.side, kind), NOWHERE)
        return Var(name)

    def launch_sizes(self, kernel: kir.Kernel, blocks: Atom) -> tuple[core.SizeParam, ...]:
        """How more than one block is laid on the threads of the machine; a warp is a block of its own size."""
        if blocks == i64(1):
            return ()
        of_gpu = (Kind.FACTOR,) if kernel.collective is core.Level.WARP else (Kind.FACTOR, Kind.BLOCK_SIZE)
        kinds = of_gpu if self.machine.name == CUDA.name else (Kind.TASKS,)
        return tuple(size_param(self.entry, self.side, kind) for kind in kinds)

    def loop_sizes(self, body: HostBody) -> tuple[core.SizeParam, ...]:
        """Of an innermost loop of a GPU's host program: how many of its turns come to the GPU together. A loop over
        batches of turns that one kernel does has few of its own."""
        inner = any(isinstance(stm.exp, HostLoop | HostCall) for stm in statements(body))
        of_batches = self.side is not None and self.side[1] and Threshold.of(self.side[0]).kind.startswith(ROUNDS)
        if self.machine.name != CUDA.name or inner or of_batches or not any(launches(body)):
            return ()
        return (size_param(self.entry, self.side, Kind.GRAPH_TURNS),)

    def scratch(self, base: str, type_: Type) -> Name:
        name = self.names.fresh(base)
        self.emit((Param(name, type_),), core.Scratch(type_), NOWHERE)
        return name

    def zeros(self, base: str, prim: Prim, count: Atom) -> Name:
        """An array of zeros, for counters and flags of one launch."""
        name = self.names.fresh(base)
        self.emit((Param(name, Type(prim, (count,))),), core.Replicate((count,), Const(prim, 0)), NOWHERE)
        return name

    @contextmanager
    def supposing(self, size: Atom, value: Atom) -> Iterator[None]:
        """What is built inside takes dimensions of this size to have that value."""
        before = self.types
        supposed = {n: Type(t.prim, tuple(value if d == size else d for d in t.shape)) for n, t in before.items()}
        self.types = supposed
        try:
            yield
        finally:
            made = {n: t for n, t in self.types.items() if n not in before}
            self.types = before | made

    def put_back(self, name: Name, array: Name, perm: tuple[int, ...], loc: Loc) -> None:
        """A result that a kernel has written with its dimensions rearranged, as it is to be."""
        view, back = self.names.again(name), tuple(perm.index(d) for d in range(len(perm)))
        self.emit((Param(view, self.types[name]),), core.Rearrange(back, array), loc)
        self.emit((Param(name, self.types[name]),), core.Copy(view), loc)

    # ---- kernels --------------------------------------------------------------------------------------------------

    def builder(self) -> Builder:
        """A kernel to be built, which reads its inputs in the layouts that are being tried."""
        scope = HostScope(self.types, self.views, self.iotas, dict(self.layouts))
        return Builder(scope, view_of, self.inner)

    def best_layout(
        self, depth: int, build: Callable[[], Made], blocks: tuple[Atom, ...] | None = None, dims: Dims = ()
    ) -> Made:
        """The kernel with each input read where it is, or from a copy with another dimension innermost where that
        makes the kernel clearly cheaper. An input whose rank is `depth` (loops around an access) is read once, and the
        copy counts as well. A machine with many threads counts sectors, and may change the order of `dims`."""
        if self.mapped is not None and blocks is not None:
            return self.mapped(self, blocks, build, dims)
        best = build()
        reads = (name for name, writes in zip(best.arrays, best.writes, strict=True) if not writes)
        once = depth if best.tiled else depth + 1
        names = [name for name in reads if 2 <= self.types[name].rank < once]
        if not names:
            return best
        least = cost(best.kernel.body, 1.0, best.tiled, best.facts)
        if best.cost <= MANIFEST_GAIN * least:
            return best
        of_copy = COPIED * (best.cost - least) / (GATHER - 1)
        for name in names:
            rank = self.types[name].rank
            copied = of_copy if rank == depth else 0.0
            for inner in range(rank - 1):
                perm = (*(d for d in range(rank) if d != inner), inner)
                made = self.built_with(name, perm, build)
                if made is not None and made.cost * MANIFEST_GAIN + copied < best.cost:
                    best = made
                    self.layouts[name] = perm
        self.layouts.clear()
        return best

    def built_with(self, name: Name, perm: tuple[int, ...], build: Callable[[], Made]) -> Made | None:
        before = self.layouts.get(name)
        self.layouts[name] = perm
        try:
            return build()
        except NotLowerable:
            return None
        finally:
            if before is None:
                del self.layouts[name]
            else:
                self.layouts[name] = before

    def stored(self, name: Name, perm: tuple[int, ...] | None, writes: bool, loc: Loc) -> Name:
        """An array as the kernel wants it: as it is, or a copy with its dimensions rearranged, or memory for one."""
        if perm is None:
            return name
        type_ = self.types[name]
        moved = Type(type_.prim, tuple(type_.shape[d] for d in perm))
        if writes:
            return self.scratch(name.base, moved)
        view, copy = self.names.again(name), self.names.again(name)
        self.emit((Param(view, moved),), core.Rearrange(perm, name), loc)
        self.emit((Param(copy, moved),), core.Copy(view), loc)
        return copy

    def finish(self, b: Builder, base: str) -> Made:
        """The kernel that `b` has built."""
        body = (*b.prologue, *b.stms)
        body = with_room(b, body) if self.machine.name == CUDA.name else body
        name = f"{clean(self.entry)}_{clean(base)}_{len(self.kernels.made)}"
        kernel = kir.Kernel(
            name,
            b.block,
            tuple(b.arrays.values()),
            tuple(b.scalars.values()),
            body,
            tuple(b.sites),
            b.collective,
            lengths=tuple(self.small(b)),
        )
        layouts = tuple(b.scope.layouts.get(n) for n in b.arrays)
        writes = tuple(a in b.outputs for a in b.arrays.values())
        divided = divide_warps(kernel)
        facts = find_facts(divided.body)
        tiled = frozenset() if self.machine.name == CUDA.name else tiled_accesses(divided, facts)
        estimate = cost(divided.body, GATHER, tiled, facts)
        return Made(kernel, tuple(b.arrays), tuple(b.scalars), writes, layouts, facts, tiled, estimate)

    def small(self, b: Builder) -> Iterator[tuple[kir.KArray, int]]:
        """The inputs of a kernel that are small, of a known size."""
        for name, array in b.arrays.items():
            sizes = [int(n.value) for n in self.types[name].shape if isinstance(n, Const)]
            if array not in b.outputs and len(sizes) == self.types[name].rank and 0 < prod(sizes) <= kir.SMALL:
                yield array, prod(sizes)

    def launch(self, made: Made, blocks: Atom, units: Atom, work: float, loc: Loc, threads: int | None = None) -> None:
        """Launch a kernel, or its rival; `threads`: of a block, unless that is set."""
        if made.rival is not None:
            ways = replace(made, rival=None), made.rival
            alternatives(
                self, (), [lambda _, w=w: self.launch(w, blocks, units, work, loc, threads) for w in ways], loc
            )
            return
        stem = made.kernel.name.rpartition("_")[0]  # others may have been launched since it was finished
        kernel = replace(made.kernel, name=f"{stem}_{len(self.kernels.made)}")
        if self.machine.name == CUDA.name and loc.line > 0:
            kernel = replace(kernel, body=(kir.Note(loc.here), *kernel.body))
        scalars: tuple[Atom, ...] = tuple(Var(s) for s in made.scalars)
        if (far := self.far(made)) is not None:
            kernel, scalars = replace(kernel, scalars=(*kernel.scalars, kir.FAR)), (*scalars, far)
        kernel = self.kernels.shared(kernel)
        stored = tuple(zip(made.arrays, made.layouts, made.writes, strict=True))
        arrays = tuple(self.stored(name, perm, writes, loc) for name, perm, writes in stored)
        sizes = self.launch_sizes(kernel, blocks)
        if threads is not None:
            block = Kind.BLOCK_SIZE
            sizes = tuple(replace(s, default=threads) if size_kind(s.name) is block else s for s in sizes)
        self.emit((), Launch(kernel.name, blocks, arrays, scalars, made.writes, units, work, sizes), loc)
        for array, (name, perm, writes) in zip(arrays, stored, strict=True):
            if perm is not None and writes:
                self.put_back(name, array, perm, loc)

    def far(self, made: Made) -> Atom | None:
        """Are results, which caches need not hold, too large for them? None where they never are."""
        arrays = streamed(made.kernel) if self.machine.name != CUDA.name else frozenset[kir.KArray]()
        names = [name for name, array in zip(made.arrays, made.kernel.arrays, strict=True) if array in arrays]
        total: Atom = i64(0)
        for type_ in (self.types[name] for name in names):
            total = self.op(Op.ADD, total, self.op(Op.MUL, self.product(type_.shape), i64(type_.prim.bytes)))
        far = self.op(Op.LE, i64(FAR_BYTES), total, base="far")
        return None if far == FALSE else far


def either(
    h: HostBuilder,
    pat: tuple[Param, ...],
    cond: Atom,
    then: Callable[[tuple[Param, ...]], None],
    orelse: Callable[[tuple[Param, ...]], None],
    loc: Loc,
) -> None:
    """`let pat = if cond then .. else ..`; decided here where the sizes are known. Either binds a pattern."""
    if isinstance(cond, Const):
        (then if cond.value else orelse)(pat)
        return
    saved, bodies = h.out, list[HostBody]()
    for emit in (then, orelse):
        h.out, own = [], tuple(Param(h.names.again(p.name), p.type) for p in pat)
        emit(own)
        bodies.append(HostBody(tuple(h.out), tuple(Var(p.name) for p in own)))
    h.out = saved
    h.emit(pat, HostIf(cond, *bodies), loc)


def alternatives(
    h: HostBuilder, pat: tuple[Param, ...], ways: Sequence[Callable[[tuple[Param, ...]], None]], loc: Loc
) -> None:
    """The only way to emit a segop, or the one of two that the setting `mapping` says. Either binds a pattern."""
    first, *others = ways
    if others:
        either(h, pat, h.op(Op.LE, h.size(Kind.MAPPING), i64(1), base="counted"), first, others[0], loc)
    else:
        first(pat)
