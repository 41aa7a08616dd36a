"""Kernels by hand (`ir/by_hand.py`) as kernels and launches: what the user has said, statement by statement.

    fully par b < n in block 128 { .. }    n blocks (or warps) execute the body; in thread: the points b, 256 to a block
    par t < 32 in thread { .. }            `threads t in 0..32`; in warp: `threads t in 0..32 of warps`
    shared, registers                      an array of the block's; on a CPU registers are memory of the block too
    reduce, scan                           collectives of the block

Expressions are those of any kernel (`statements.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from ...ir import core
from ...ir.by_hand import ALL, ATOMIC, COLLECTIVE, COMMIT, FENCE, LATER, SHUFFLE, WAIT, attr_of
from ...ir.core import Body, Fix, FunDef, Stm
from ...ir.errors import CompileError, Diagnostic, Label, Loc
from ...ir.machine import BLOCK, WARP
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import Renaming, rewrite_body
from ...ir.types import Atom, Const, Name, Prim, Var, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KArray, Space
from .host_builder import HostBuilder, Made
from .kernel_builder import ONE, ZERO, ArrayRef, Builder, Mode, Operand
from .soacs import spread
from .space import output
from .statements import check_dims, gen_stm

LEVELS = {level.value: level for level in core.Level}


@dataclass(frozen=True, slots=True)
class Grid:
    """The launch of a kernel: statements of the host before it, what executes its body, of how many threads, and the
    loop over these."""

    before: tuple[Stm, ...]
    unit: core.Level
    threads: int
    index: Name
    count: Atom
    body: Body
    loc: Loc


def grid_of(kernel: FunDef, body: Body) -> Grid:
    """The launch that a kernel's body ends in."""
    *before, last = body.stms or (None,)
    found = [attr for attr in last.attrs if attr.name in LEVELS] if last is not None else []
    if last is None or not found or not isinstance(last.exp, core.Loop) or any(not stm.pat for stm in before if stm):
        raise fault("a kernel by hand is one `fully par` block, after the numbers that it needs", kernel.loc)
    assert isinstance(last.exp.form, core.ForLoop)
    stms = tuple(stm for stm in before if stm is not None)
    threads = int(found[0].args[0].name)
    if threads > BLOCK.most:
        raise fault(f"a block has at most {BLOCK.most} threads", last.loc)
    return Grid(stms, LEVELS[found[0].name], threads, last.exp.form.index, last.exp.form.bound, last.exp.body, last.loc)


def fault(message: str, loc: Loc, text: str = "") -> CompileError:
    """E0232 at a place of the kernel."""
    return CompileError(Diagnostic("E0232", message, Label(loc, text)))


def launch_by_hand(
    h: HostBuilder, stm: Stm, args: tuple[Atom, ...], kernel: FunDef, lower: Callable[[HostBuilder, Stm], None]
) -> None:
    """The launch of a kernel that binds the pattern of a call; `lower`: emits a statement of the host."""
    place: dict[Name, Atom] = dict(zip((p.name for p in kernel.params), args))  # constants may follow
    place |= {p.name: Var(mine.name) for p, mine in zip(kernel.results, stm.pat, strict=True)}

    def bind(name: Name) -> Name:
        fresh = h.names.again(name)
        place[name] = Var(fresh)
        return fresh

    body = rewrite_body(kernel.body, Renaming(lambda name: place.get(name) or Var(name), bind, lambda name: name))
    grid = grid_of(kernel, body)
    for before in grid.before:
        lower(h, before)
    for param in stm.pat:
        h.emit((param,), core.Scratch(param.type), stm.loc)
    made = build(h, grid, kernel.name.base, tuple(p.name for p in stm.pat))
    blocks, threads = grid.count, grid.threads
    if grid.unit is core.Level.THREAD:
        blocks, threads = h.ceil_div(grid.count, BLOCK.threads), BLOCK.threads
    units = h.product((grid.count, i64(grid.threads)))
    h.launch(made, h.op(Op.MAX, i64(0), blocks), units, made.cost, stm.loc, threads)


def build(h: HostBuilder, grid: Grid, base: str, results: tuple[Name, ...]) -> Made:
    """The kernel of a grid, whose results are arrays of the host."""
    b = h.builder()
    b.collective = core.Level.WARP if grid.unit is core.Level.WARP else core.Level.BLOCK
    for name in results:
        output(b, name)
    count = b.operand(grid.count)
    if grid.unit is core.Level.THREAD:
        lo = b.mul(b.block, i64(BLOCK.threads), "lo")
        hi = b.minimum(count, b.add(lo, i64(BLOCK.threads)), "hi")
        inner(Walk(b, Mode.BLOCK, {}, None), grid.index, (lo, hi), count, grid.body, core.Level.THREAD)
    else:
        b.env[grid.index] = b.block
        b.inside.add((b.block, count))
        statements(Walk(b, Mode.BLOCK, {}, None), grid.body)
    return h.finish(b, base)


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a statement stands: who executes it, the arrays of registers, the index of the thread loop, the elements
    that are to be shuffled, and those that are to be copied later."""

    b: Builder
    mode: Mode
    registers: dict[Name, str]
    index: Name | None
    shuffled: dict[Name, Name] = field(default_factory=dict[Name, Name])
    later: dict[Name, tuple[KArray, Operand]] = field(default_factory=dict[Name, tuple[KArray, Operand]])


def inner(w: Walk, index: Name, ends: tuple[Operand, Operand], count: Operand, body: Body, unit: core.Level) -> None:
    """A loop whose indices are executed at once, by a unit each."""
    b, var = w.b, w.b.fresh(index.base, Prim.I64)
    b.env[index] = var
    b.inside.add((var, count))
    mode = Mode.THREAD if unit is core.Level.THREAD else w.mode
    with b.threads(var, *ends, unit=unit):
        statements(replace(w, mode=mode, index=index), body)


def statements(w: Walk, body: Body) -> None:
    """The statements of a body, with their places."""
    for stm in body.stms:
        w.b.note(stm.loc)
        statement(w, stm)


def statement(w: Walk, stm: Stm) -> None:
    """A statement of a kernel."""
    b = w.b
    for array in used_registers(w, stm.exp) if not attr_of(stm, SHUFFLE) else ():
        require_own_index(w, array, stm)
    match stm.exp:
        case core.Copied() if stm.attrs and not stm.pat:
            word(b, stm.attrs[0])
        case core.Index(array, dims, _) if attr_of(stm, LATER):
            w.later[stm.pat[0].name] = element(b, array, dims, stm)
        case core.Scratch(type_) if stm.attrs:
            new_array(w, stm.pat[0].name, type_, stm.attrs[0].name)
        case core.Loop((), (), core.ForLoop(index, bound, _), body):
            count, attr = b.operand(bound), attr_of(stm, ALL)
            if attr is not None:
                inner(w, index, (ZERO, count), count, body, LEVELS[attr.args[0].name])
                return
            var = b.index(index)
            b.inside.add((var, count))
            with b.loop(var, count):
                statements(w, body)
        case core.If(cond, then, orelse) if not stm.pat:
            sides: list[tuple[kir.KStm, ...]] = []
            for side in (then, orelse):
                with b.nested() as stms:
                    statements(w, side)
                sides.append(tuple(stms))
            b.emit(kir.KIf(b.operand(cond), *sides))
        case core.Index(array, dims, _) if attr_of(stm, SHUFFLE):
            w.shuffled[stm.pat[0].name] = array
            check_dims(b, dims, (i64(WARP.threads),), stm)
        case core.Update(array, dims, Var(value)) if (op := attr_of(stm, SHUFFLE)) is not None:
            (by,) = (b.operand(dim.index) for dim in dims if isinstance(dim, Fix))
            shuffle(w, array, w.shuffled.pop(value), Op(op.args[0].name), by, stm.loc)
        case core.Update(array, dims, value) if not stm.pat:
            mem, at = element(b, array, dims, stm)
            if mem.space is Space.GLOBAL and mem not in b.outputs:
                raise fault(f"a kernel writes its results, and `{array.base}` is not one of them", stm.loc)
            if attr_of(stm, LATER) and isinstance(value, Var):
                copy_later(w, mem, at, *w.later.pop(value.name), stm.loc)
            elif (op := attr_of(stm, ATOMIC)) is not None:
                if array in w.registers:
                    raise fault(f"`{array.base}` is in registers, which no other thread updates", stm.loc)
                b.emit(kir.Atomic(Op(op.args[0].name), mem.prim, mem, at, b.operand(value)))
            else:
                b.emit(kir.Store(mem, at, b.operand(value)))
        case core.Screma() if attr_of(stm, COLLECTIVE):
            b.env.update(zip((p.name for p in stm.pat), spread(b, stm, stm.exp), strict=True))
        case _:
            gen_stm(b, stm, w.mode)


def word(b: Builder, attr: core.Attr) -> None:
    """A statement of one word. Copies of a CPU are made at once."""
    match attr.name:
        case name if name == FENCE:
            b.emit(kir.Fence())
        case name if name == COMMIT and b.has_threads:
            b.emit(kir.CommitCopies())
        case name if name == WAIT and b.has_threads:
            b.emit(kir.WaitCopies(int(attr.args[0].name)))
        case _:
            pass


def element(b: Builder, array: Name, dims: tuple[core.DimIndex, ...], stm: Stm) -> tuple[KArray, Operand]:
    """Where an element is, which is checked."""
    ref = b.array(array)
    assert isinstance(ref, ArrayRef), "arrays of a kernel are memory"
    check_dims(b, dims, ref.shape, stm)
    at = tuple(b.operand(dim.index) for dim in dims if isinstance(dim, Fix))
    return ref.mem, b.address(ref, at)


def copy_later(w: Walk, mem: KArray, at: Operand, source: KArray, start: Operand, loc: Loc) -> None:
    """A copy from the memory of the device to that of the block, of which a thread waits for the end."""
    if mem.space is not Space.SHARED or source.space is not Space.GLOBAL or source in w.b.outputs:
        raise fault("`copy` copies from a parameter of the kernel to a `shared` array", loc)
    if w.b.has_threads:
        w.b.emit(kir.AsyncCopy(mem, at, source, start))
        return
    var = w.b.fresh("x", mem.prim)
    w.b.emit(kir.KLet(var, kir.KLoad(source, start)))
    w.b.emit(kir.Store(mem, at, var))


def shuffle(w: Walk, target: Name, source: Name, op: Op, by: Operand, loc: Loc) -> None:
    """An element of each thread from another one of its warp. Registers of a CPU are memory of the block."""
    b, to, origin = w.b, w.b.array(target), w.b.array(source)
    assert isinstance(to, ArrayRef), "arrays of a kernel are memory"
    assert isinstance(origin, ArrayRef), "arrays of a kernel are memory"
    (count,) = to.shape
    whole = isinstance(count, Const) and int(count.value) % WARP.threads == 0
    if source not in w.registers or not whole or to.mem.prim.bytes not in (4, 8):
        raise fault("a shuffle is of registers of whole warps, with elements of 4 or 8 bytes", loc)
    if b.has_threads:
        b.emit(kir.Shuffle(to.mem, origin.mem, op, Prim.I64, by))
        return
    with b.threads(b.fresh("t", Prim.I64), ZERO, count) as var:
        other = b.op(op, Prim.I64, var, by)
        apart = b.op(Op.AND, Prim.I64, b.op(Op.XOR, Prim.I64, var, other), i64(-WARP.threads))
        chosen = b.op(Op.SELECT, Prim.I64, b.op(Op.EQ, Prim.I64, apart, ZERO), other, var)
        value = b.fresh("x", to.mem.prim)
        b.emit(kir.KLet(value, kir.KLoad(origin.mem, b.address(origin, (chosen,)))))
        b.emit(kir.Store(to.mem, b.address(to, (var,)), value))


# ---- memory --------------------------------------------------------------------------------------------------------


def new_array(w: Walk, name: Name, type_: core.Type, space: str) -> None:
    """An array of the block. Registers are those of the thread whose index is the first one."""
    b, shape = w.b, tuple(int(size.value) for size in type_.shape if isinstance(size, Const))
    own: tuple[Operand, ...] = tuple(map(i64, shape))
    if space == "registers":
        w.registers[name] = name.base
    if space != "registers" or not b.has_threads:
        b.env[name] = b.alloc(name.base, type_.prim, own, Space.SHARED)
        return
    count = 1
    for size in shape[1:]:
        count *= size
    array = KArray(b.fresh(name.base, type_.prim).name, type_.prim, Space.REGISTERS)
    b.emit(kir.Distribute(array, shape[0], count))
    inner_strides = b.strides((ONE, *own[1:]))[1:]
    b.env[name] = ArrayRef(array, ZERO, own, (ZERO, *inner_strides), False)


def used_registers(w: Walk, exp: core.Exp) -> tuple[tuple[Name, tuple[core.DimIndex, ...]], ...]:
    """The arrays of registers that an expression uses, and how it indexes them."""
    if not w.registers:
        return ()
    match exp:
        case core.Index(array, dims, _) | core.Update(array, dims, _, _):
            return ((array, dims),) if array in w.registers else ()
        case _:
            return ()


def require_own_index(w: Walk, used: tuple[Name, tuple[core.DimIndex, ...]], stm: Stm) -> None:
    """Registers are distributed over the threads: each has those of its own index."""
    array, dims = used
    own = w.index is not None and isinstance(dims[0], Fix) and dims[0].index == Var(w.index)
    if not own or w.mode is not Mode.THREAD:
        mine = f"`{w.index.base}`" if w.index is not None and w.mode is Mode.THREAD else "that of a `par` over threads"
        raise fault(f"`{array.base}` is in the registers of threads", stm.loc, f"the first index is not {mine}")
