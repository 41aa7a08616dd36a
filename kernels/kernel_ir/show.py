r"""Kernel IR as text that `parse.py` reads back: `soac dev --emit=kernels`, `--after`, and goldens.

    kernel sums_0(block; out: [f32], xs_1: [f32]; n_2: i64) lanes 16 x 4 peeled {
      let lo_3: i64 = mul_i64! block 256i64
      threads i_4 in lo_3..n_2 { .. }
    }

Types stand where variables are made; an index without one is i64, as is a bare number. `add_i64!` does not overflow
(`KOp.exact`); `let x: T = y` is a copy. What is left out has its default value.
"""

from __future__ import annotations

import json

from ...ir.core import Level
from ...ir.errors import Loc
from ...ir.show import show_const
from ...ir.types import Const, Prim
from . import nodes as kir
from .nodes import FailureSite, Kernel, KLambda, KStm, KVar, Operand, Rhs

Lines = list[str]


def show_kernel(kernel: Kernel) -> str:
    """A kernel: its arrays and scalars, its body, the places where it can fail."""
    arrays = ", ".join(f"{a.name}: [{a.prim.value}]" for a in kernel.arrays)
    unit = "" if kernel.collective is Level.BLOCK else f"{kernel.collective.value} "
    head = f"kernel {unit}{kernel.name}({kernel.block.name}; {arrays}; {_vars(kernel.scalars)}){_shape(kernel)}"
    sites = ["sites {", *(f"  #{k} {_site(site)}" for k, site in enumerate(kernel.sites)), "}"] if kernel.sites else []
    return "\n".join([head + " {", *_stms(kernel.body), "}", *sites])


def show_stm(stm: KStm) -> str:
    """The first line of a statement."""
    return _stm(stm)[0]


def _shape(kernel: Kernel) -> str:
    """What passes have chosen for the printer of lanes."""
    text, lanes = "", kernel.lanes
    if lanes is not None:
        text = f" lanes {lanes.width} x {lanes.unroll}" + _flags(peeled=lanes.peeled, singles=lanes.singles)
    return text + (f" streams ({', '.join(a.name for a in kernel.streams)})" if kernel.streams else "")


def _site(site: FailureSite) -> str:
    parts = (part.value if isinstance(part, Prim) else json.dumps(part) for part in site.parts)
    return " ".join([site.code, _loc(site.loc), *parts])


def _loc(loc: Loc) -> str:
    return f"{json.dumps(loc.file)} {loc.line}:{loc.col}..{loc.end_line}:{loc.end_col}"


def _flags(**flags: bool) -> str:
    return "".join(f" {name}" for name, holds in flags.items() if holds)


# ---- operands and right-hand sides -------------------------------------------------------------------------------


def operand(o: Operand) -> str:
    match o:
        case KVar(name, _):
            return name
        case Const(Prim.I64, value):
            return str(value)
        case _:
            return show_const(o)


def _operands(os: tuple[Operand, ...]) -> str:
    return ", ".join(map(operand, os))


def _vars(vs: tuple[KVar, ...]) -> str:
    return ", ".join(f"{v.name}: {v.prim.value}" for v in vs)


def _index(v: KVar) -> str:
    return v.name if v.prim is Prim.I64 else f"{v.name}: {v.prim.value}"


def _rhs(rhs: Rhs) -> str:
    match rhs:
        case kir.KOp(op, prim, args, exact):
            return " ".join([f"{op.value}_{prim.value}{'!' if exact else ''}", *map(operand, args)])
        case kir.KConvert(source, target, arg):
            return operand(arg) if source is target else f"{source.value}_to_{target.value} {operand(arg)}"
        case kir.KLoad(array, index):
            return f"{array.name}[{operand(index)}]"
        case kir.KAligned(array, index, count):
            return f"aligned {count} {array.name}[{operand(index)}]"


# ---- statements --------------------------------------------------------------------------------------------------


def _stms(stms: tuple[KStm, ...]) -> Lines:
    """The lines of a list, one step further in."""
    return [f"  {line}" for stm in stms for line in _stm(stm)]


def _block(head: str, *parts: tuple[KStm, ...] | Lines) -> Lines:
    """`head { parts }`; parts are statement lists, or lines."""
    lines: Lines = []
    for part in parts:
        lines += [f"  {line}" for line in part] if isinstance(part, list) else _stms(part)
    return [head + " {", *lines, "}"]


def _stm(stm: KStm) -> Lines:
    match stm:
        case kir.KLet(var, rhs):
            return [f"let {var.name}: {var.prim.value} = {_rhs(rhs)}"]
        case kir.Declare(var, init):
            return [f"var {var.name}: {var.prim.value} = {operand(init)}"]
        case kir.Assign(var, value):
            return [f"{var.name} := {operand(value)}"]
        case kir.Store(array, index, value, repeats):
            return [f"{array.name}[{operand(index)}] := {operand(value)}{_flags(repeats=repeats)}"]
        case kir.Alloc(array, count, align):
            made = f"{array.name} = new {array.space.value} {array.prim.value}[{operand(count)}]"
            return [made + (f" align {align}" if align > 1 else "")]
        case kir.Check(ok, site, values):
            return [f"check {operand(ok)} else #{site}({_operands(values)})"]
        case kir.BoundsCheck(index, size, site, values):
            return [f"check 0 <= {operand(index)} < {operand(size)} else #{site}({_operands(values)})"]
        case kir.KIf(cond, then, orelse):
            lines = _block(f"if {operand(cond)}", then)
            return [*lines[:-1], *_block("} else", orelse)] if orelse else lines
        case kir.For(index, bound, body, unroll):
            how = f" unroll {unroll}" if unroll > 1 else ""
            return _block(f"for {_index(index)} < {operand(bound)}{how}", body)
        case kir.KWhile(before, cond, body):
            return [*_block("while", before)[:-1], *_block(f"}} {operand(cond)}", body)]
        case kir.Threads(index, lo, hi, body, row):
            how = f" by {row}" if row > 1 else ""
            return _block(f"threads {_range(index, lo, hi)}{how}", body)
        case kir.BlockReduce():
            how = ("commutative" if stm.commutative else "ordered") + _flags(long=stm.is_long, full=stm.full)
            over = f"from ({_operands(stm.neutral)}) over {_range(stm.index, stm.lo, stm.hi)}"
            step = _lambda("step", stm.step) if stm.step is not None else []
            parts = stm.body, [f"values {_operands(stm.values)}"], _lambda("op", stm.op), step
            return _block(f"reduce {how} ({_vars(stm.outs)}) {over}", *parts)
        case kir.BlockScan():
            start = f"from ({_operands(stm.carry)}) neutral ({_operands(stm.neutral)}){_flags(long=stm.is_long)}"
            over = f"carry ({_vars(stm.carry_out)}) {start} over {_range(stm.index, stm.lo, stm.hi)}"
            return _block(f"scan ({_vars(stm.scanned)}) {over}", *_collective(stm))
        case kir.RowScan():
            how = f"in rows of {operand(stm.width)} neutral ({_operands(stm.neutral)})"
            over = f"over {_index(stm.index)} < {operand(stm.count)}"
            return _block(f"scan ({_vars(stm.scanned)}) {how} {over}", *_collective(stm))
        case kir.Fence():
            return ["fence"]
        case kir.LoadTile(tile, array, start, row, pitch, count):
            return [f"load {tile.name}[0..{operand(count)}] := {array.name}[{_row(start, row, pitch)} ..]"]
        case kir.StoreTile(array, start, row, pitch, count, tile):
            return [f"store {array.name}[{_row(start, row, pitch)} ..] := {tile.name}[0..{operand(count)}]"]
        case _:
            return _for_threads(stm)


def _for_threads(stm: kir.ForThreads | kir.Atomic) -> Lines:
    """Flags, atomic updates, and what machines with threads have."""
    match stm:
        case kir.Atomic(op, prim, array, index, value, out, order):
            to = f"let {_vars((out,))} = " if out is not None else ""
            how = f" {order.name.lower()}" if order is not kir.Order.RELAXED else ""
            return [f"{to}atomic {op.value}_{prim.value} {array.name}[{operand(index)}] {operand(value)}{how}"]
        case kir.Publish(array, index, value):
            return [f"publish {array.name}[{operand(index)}] {operand(value)}"]
        case kir.WaitFor(out, array, index, least):
            return [f"let {_vars((out,))} = wait {array.name}[{operand(index)}] >= {operand(least)}"]
        case kir.LookBack(outs, flags, sums, totals, tile, first, op, neutral):
            arrays = " ".join(f"({', '.join(a.name for a in part)})" for part in (sums, totals))
            over = f"along {flags.name} {arrays} over {operand(first)}..{operand(tile)}"
            return _block(f"look_back ({_vars(outs)}) from ({_operands(neutral)}) {over}", _lambda("op", op))
        case kir.TeamReduce():
            how = "commutative" if stm.commutative else "ordered"
            head = (
                f"teams of {operand(stm.team)} {_range(stm.segment, stm.lo, stm.hi)} reduce {how} ({_vars(stm.outs)})"
            )
            over = f"from ({_operands(stm.neutral)}) over {_index(stm.index)} < {operand(stm.width)}"
            return _block(f"{head} {over}", *_collective(stm))
        case kir.WarpTurns(warp, index, lo, hi, body, key, turn):
            parts = body, [f"turns by {operand(key)}"], turn
            return _block(f"warp {_index(warp)} threads {_range(index, lo, hi)}", *parts)
        case kir.AsyncCopy(target, at, source, start, count):
            how = f" of {count}" if count > 1 else ""
            return [f"{target.name}[{operand(at)}] := later {source.name}[{operand(start)}]{how}"]
        case kir.Distribute(array, threads, count):
            return [f"{array.name} = new {array.space.value} {array.prim.value}[{threads}][{count}]"]
        case kir.CommitCopies():
            return ["commit copies"]
        case kir.WaitCopies(latest):
            return [f"wait for copies but {latest}"]
        case kir.LoadRow(vs, array, index):
            return [f"let ({_vars(vs)}) = {array.name}[{operand(index)} ..]"]
        case kir.StoreRow(array, index, values):
            return [f"{array.name}[{operand(index)} ..] := ({_operands(values)})"]
        case kir.Note(what):
            return [f"note {json.dumps(what) if isinstance(what, str) else _loc(what)}"]


def _range(index: KVar, lo: Operand, hi: Operand) -> str:
    return f"{_index(index)} in {operand(lo)}..{operand(hi)}"


def _row(start: Operand, row: KVar, pitch: Operand) -> str:
    return f"{operand(start)} + {row.name}*{operand(pitch)}"


def _collective(stm: kir.BlockScan | kir.RowScan | kir.TeamReduce) -> tuple[tuple[KStm, ...] | Lines, ...]:
    return stm.body, [f"values {_operands(stm.values)}"], _lambda("op", stm.op), ["after"], stm.after


def _lambda(word: str, op: KLambda) -> Lines:
    return _block(f"{word} ({_vars(op.left)}) ({_vars(op.right)})", op.body, [_operands(op.results)])
