"""Kernel IR as text, for people (`soac dev --emit=kernels`)."""

from __future__ import annotations

from ...ir.core import Level
from ...ir.types import Const, Prim
from . import nodes as kir
from .nodes import Kernel, KStm, KVar, Operand, Rhs


def show_kernel(kernel: Kernel) -> str:
    """A kernel: its arrays and scalars, then its body."""
    arrays = ", ".join(f"{a.name}: [{a.prim.value}]" for a in kernel.arrays)
    scalars = ", ".join(f"{s.name}: {s.prim.value}" for s in kernel.scalars)
    unit = "warp " if kernel.collective is Level.WARP else ""
    head = f"kernel {unit}{kernel.name}({kernel.block.name}; {arrays}; {scalars})"
    return "\n".join([head + " {", *_stms(kernel.body, 1), "}"])


def operand(o: Operand) -> str:
    match o:
        case KVar(name, _):
            return name
        case Const(Prim.I64, value):
            return str(value)
        case Const(Prim.BOOL, value):
            return str(value).lower()
        case Const(prim, value):
            return f"{value}{prim.value}"


def _operands(os: tuple[Operand, ...]) -> str:
    return ", ".join(operand(o) for o in os)


def _vars(vs: tuple[KVar, ...]) -> str:
    return ", ".join(f"{v.name}: {v.prim.value}" for v in vs)


def _rhs(rhs: Rhs) -> str:
    match rhs:
        case kir.KOp(op, prim, args):
            return f"{op.value}_{prim.value} {' '.join(operand(a) for a in args)}"
        case kir.KConvert(source, target, arg):
            return operand(arg) if source is target else f"{source.value}_to_{target.value} {operand(arg)}"
        case kir.KLoad(array, index):
            return f"{array.name}[{operand(index)}]"
        case kir.KAligned(array, index, count):
            return f"aligned_{count} {array.name}[{operand(index)}]"


def _stms(stms: tuple[KStm, ...], depth: int) -> list[str]:
    return [line for stm in stms for line in _stm(stm, depth)]


def _stm(stm: KStm, depth: int) -> list[str]:
    pad = "  " * depth
    match stm:
        case kir.KLet(var, rhs):
            return [f"{pad}let {var.name}: {var.prim.value} = {_rhs(rhs)}"]
        case kir.Declare(var, init):
            return [f"{pad}var {var.name}: {var.prim.value} = {operand(init)}"]
        case kir.Assign(var, value):
            return [f"{pad}{var.name} := {operand(value)}"]
        case kir.Store(array, index, value):
            return [f"{pad}{array.name}[{operand(index)}] := {operand(value)}"]
        case kir.Alloc(array, count):
            return [f"{pad}{array.name} = new {array.space.value} {array.prim.value}[{operand(count)}]"]
        case kir.Check(ok, site, values):
            return [f"{pad}check {operand(ok)} else #{site}({_operands(values)})"]
        case kir.BoundsCheck(index, size, site, values):
            return [f"{pad}check 0 <= {operand(index)} < {operand(size)} else #{site}({_operands(values)})"]
        case kir.KIf(cond, then, orelse):
            lines = [f"{pad}if {operand(cond)} {{", *_stms(then, depth + 1)]
            return [*lines, *([f"{pad}}} else {{", *_stms(orelse, depth + 1)] if orelse else []), pad + "}"]
        case kir.For(index, bound, body):
            return [f"{pad}for {index.name} < {operand(bound)} {{", *_stms(body, depth + 1), pad + "}"]
        case kir.KWhile(before, cond, body):
            test = _stms(before, depth + 1)
            return [f"{pad}while {operand(cond)} {{", *test, *_stms(body, depth + 1), pad + "}"]
        case kir.Threads(index, lo, hi, body):
            head = f"{pad}threads {index.name} in {operand(lo)}..{operand(hi)} {{"
            return [head, *_stms(body, depth + 1), pad + "}"]
        case kir.BlockReduce(outs, index, lo, hi, body, values, op, neutral, commutative):
            how = "commutative" if commutative else "ordered"
            over = f"over {index.name} in {operand(lo)}..{operand(hi)} {{"
            head = f"{pad}reduce {how} ({_vars(outs)}) from ({_operands(neutral)}) {over}"
            return [head, *_stms(body, depth + 1), f"{pad}  values {_operands(values)}", *_lambda(op, depth), pad + "}"]
        case kir.BlockScan(scanned, outs, index, lo, hi, body, values, op, carry, neutral, after):
            over = f"over {index.name} in {operand(lo)}..{operand(hi)} {{"
            start = f"from ({_operands(carry)}) neutral ({_operands(neutral)})"
            head = f"{pad}scan ({_vars(scanned)}) carry ({_vars(outs)}) {start} {over}"
            values_line = f"{pad}  values {_operands(values)}"
            lines = [head, *_stms(body, depth + 1), values_line, *_lambda(op, depth), f"{pad}  after"]
            return [*lines, *_stms(after, depth + 1), pad + "}"]
        case kir.Atomic(op, prim, array, index, value, out, order):
            to = f"let {out.name}: {out.prim.value} = " if out is not None else ""
            how = f" ({order.value})" if order is not kir.Order.RELAXED else ""
            return [f"{pad}{to}atomic {op.value}_{prim.value} {array.name}[{operand(index)}] {operand(value)}{how}"]
        case kir.Fence():
            return [f"{pad}fence"]
        case kir.LoadTile(tile, array, start, row, pitch, count):
            return [f"{pad}load {tile.name}[0 .. {operand(count)}] := {array.name}[{_row(start, row, pitch)} ..]"]
        case kir.StoreTile(array, start, row, pitch, count, tile):
            return [f"{pad}store {array.name}[{_row(start, row, pitch)} ..] := {tile.name}[0 .. {operand(count)}]"]
        case kir.RowScan(scanned, index, count, width, body, values, op, neutral, after):
            head = f"{pad}scan ({_vars(scanned)}) in rows of {operand(width)} neutral ({_operands(neutral)})"
            head += f" over {index.name} in 0..{operand(count)} {{"
            lines = [head, *_stms(body, depth + 1), f"{pad}  values {_operands(values)}"]
            return [*lines, *_lambda(op, depth), f"{pad}  after", *_stms(after, depth + 1), pad + "}"]
        case _:
            return [pad + line for line in _for_threads(stm)]


def _for_threads(stm: kir.ForThreads) -> list[str]:
    """What machines with threads have; not yet indented."""
    match stm:
        case kir.Publish(array, index, value):
            return [f"publish {array.name}[{operand(index)}] {operand(value)}"]
        case kir.WaitFor(out, array, index, least):
            return [f"let {out.name}: {out.prim.value} = wait {array.name}[{operand(index)}] >= {operand(least)}"]
        case kir.LookBack(outs, flags, sums, totals, tile, first, op, neutral):
            arrays = ", ".join(a.name for a in (*sums, *totals))
            over = f"{flags.name} ({arrays}) over {operand(first)}..{operand(tile)} {{"
            return [f"look_back ({_vars(outs)}) from ({_operands(neutral)}) along {over}", *_lambda(op, 0), "}"]
        case kir.TeamReduce():
            return _teams(stm)
        case kir.WarpTurns(warp, index, lo, hi, body, key, turn):
            head = f"warp {warp.name} threads {index.name} in {operand(lo)}..{operand(hi)} {{"
            return [head, *_stms(body, 1), f"turns by {operand(key)}", *_stms(turn, 1), "}"]
        case kir.AsyncCopy(target, at, source, start, count):
            to, end = (f"{target.name}[{operand(at)}", "]" if count == 1 else f" :+ {count}]")
            return [f"{to}{end} := later {source.name}[{operand(start)}{end}"]
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
            return [f"-- {what if isinstance(what, str) else f'{what.file}:{what.line}'}"]


def _row(start: kir.Operand, row: kir.KVar, pitch: kir.Operand) -> str:
    return f"{operand(start)} + {row.name}*{operand(pitch)}"


def _teams(stm: kir.TeamReduce) -> list[str]:
    how = "commutative" if stm.commutative else "ordered"
    head = f"teams of {operand(stm.team)} {stm.segment.name} in {operand(stm.lo)}..{operand(stm.hi)}"
    over = f"reduce {how} ({_vars(stm.outs)}) from ({_operands(stm.neutral)}) over {stm.index.name}"
    lines = [f"{head} {over} < {operand(stm.width)} {{", *_stms(stm.body, 1), f"  values {_operands(stm.values)}"]
    return [*lines, *_lambda(stm.op, 0), "  after", *_stms(stm.after, 1), "}"]


def _lambda(op: kir.KLambda, depth: int) -> list[str]:
    pad = "  " * (depth + 1)
    head = f"{pad}op ({_vars(op.left)}) ({_vars(op.right)}) {{"
    return [head, *_stms(op.body, depth + 2), f"{pad}  {_operands(op.results)}", pad + "}"]
