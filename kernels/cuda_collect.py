"""Collectives of a block in CUDA C: shuffles within warps, shared memory between them.

Operators become lambdas `op(x.., y.., out..)`. Every thread takes part with the neutral element where it has no value,
so all lanes are live. Order: a commutative reduction lets each thread take every `THREADS`-th element; any other, and
a scan, goes through tiles of `THREADS` elements, one for each thread, in which lanes combine with those behind (before)
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from . import kir
from .cuda_ops import c_type, operand
from .cuda_text import Printer, barrier, declare, names_in, stack_scope, statements_text
from .fma import contracted_step
from .kir import KLambda, KVar, Operand
from .scope import Who

WARP = 32
Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator as a lambda of the kernel: its name, and the types of its components."""

    name: str
    types: Names

    def apply(self, left: Names, right: Names, outs: Names) -> str:
        return f"{self.name}({', '.join((*left, *right, *outs))});"


def operator(p: Printer, op: KLambda) -> Operator:
    """`auto op = [&](T x, T y, T &out) { .. };`"""
    name, types = p.fresh("op"), tuple(c_type(v.prim) for v in op.left)
    outs = tuple(p.fresh("out") for _ in types)
    params = [f"{c_type(v.prim)} {v.name}" for v in (*op.left, *op.right)]
    params += [f"{t} &{out}" for t, out in zip(types, outs, strict=True)]
    with lambda_block(p, f"auto {name} = [&]({', '.join(params)})"):
        p.run(p, op.body, Who.EACH)
        for out, result in zip(outs, op.results, strict=True):
            p.line(f"{out} = {operand(result)};")
    return Operator(name, types)


@contextmanager
def lambda_block(p: Printer, head: str) -> Iterator[None]:
    with p.block(head):
        yield
    p.lines[-1] += ";"


def declared(p: Printer, types: Names, base: str, values: tuple[Operand, ...] | None = None) -> Names:
    """Variables, one for each component."""
    names = tuple(p.fresh(base) for _ in types)
    inits = [f" = {operand(v)}" for v in values] if values is not None else [""] * len(types)
    for t, name, init in zip(types, names, inits, strict=True):
        p.line(f"{t} {name}{init};")
    return names


def assign(p: Printer, names: Names, values: Names) -> None:
    for name, value in zip(names, values, strict=True):
        p.line(f"{name} = {value};")


def texts(values: tuple[Operand, ...]) -> Names:
    return tuple(operand(v) for v in values)


# ---- reductions --------------------------------------------------------------------------------------------------


def block_reduce(p: Printer, stm: kir.BlockReduce) -> None:
    for out in stm.outs:
        p.line(f"{c_type(out.prim)} {out.name};")
    with p.block(""):
        op = operator(p, stm.op)
        total = any_order(p, stm, op) if stm.commutative else in_order(p, stm, op)
        assign(p, tuple(o.name for o in stm.outs), total)


def any_order(p: Printer, stm: kir.BlockReduce, op: Operator) -> Names:
    """Each thread folds its elements, then the threads combine."""
    acc = declared(p, op.types, "acc", stm.neutral)
    index = stm.index.name
    step = f"i64 {index} = {operand(stm.lo)} + threadIdx.x; {index} < {operand(stm.hi)}; {index} += {p.threads}"
    with p.block(f"for ({step})"):
        statements_text(p, stm.body, Who.EACH)
        fold = contracted_step(stm.op, stm.body, stm.values)
        for left, name in zip(fold.left, acc, strict=True):
            p.line(f"const {c_type(left.prim)} {left.name} = {name};")
        for right, value in zip(fold.right, stm.values, strict=True):
            p.line(f"const {c_type(right.prim)} {right.name} = {operand(value)};")
        p.run(p, fold.body, Who.EACH)
        assign(p, acc, texts(fold.results))
    return combined(p, op, acc, texts(stm.neutral))


def in_order(p: Printer, stm: kir.BlockReduce, op: Operator) -> Names:
    """Tiles one after the other; the total so far stands left of the next tile."""
    total = declared(p, op.types, "total", stm.neutral)
    with tiles(p, stm.index, stm.lo, stm.hi):
        value = tile_values(p, stm.index, stm.hi, stm.body, stm.values, stm.neutral, op)
        tile = combined(p, op, value, texts(stm.neutral))
        next_total = declared(p, op.types, "next")
        p.line(op.apply(total, tile, next_total))
        assign(p, total, next_total)
    return total


@contextmanager
def tiles(p: Printer, index: KVar, lo: Operand, hi: Operand) -> Iterator[None]:
    first = p.fresh("first")
    with p.block(f"for (i64 {first} = {operand(lo)}; {first} < {operand(hi)}; {first} += {p.threads})"):
        p.line(f"const i64 {index.name} = {first} + threadIdx.x;")
        yield


def tile_values(
    p: Printer,
    index: KVar,
    hi: Operand,
    body: tuple[kir.KStm, ...],
    values: tuple[Operand, ...],
    neutral: tuple[Operand, ...],
    op: Operator,
) -> Names:
    """A thread's element of the tile, or the neutral element."""
    mine = declared(p, op.types, "value", neutral)
    with p.block(f"if ({index.name} < {operand(hi)})"):
        statements_text(p, body, Who.EACH)
        assign(p, mine, texts(values))
    return mine


def combined(p: Printer, op: Operator, value: Names, neutral: Names) -> Names:
    """All threads' values, in order, in every thread."""
    partial = shared(p, op, p.threads // WARP)
    warp_reduce(p, op, value)
    with p.block("if (lane_id() == 0)"):
        assign(p, tuple(f"{s}[warp_id()]" for s in partial), value)
    barrier(p)
    with p.block("if (warp_id() == 0)"):
        loaded = tuple(
            f"lane_id() < {p.threads // WARP} ? {s}[lane_id()] : {ne}" for s, ne in zip(partial, neutral, strict=True)
        )
        assign(p, value, loaded)
        warp_reduce(p, op, value)
        with p.block("if (lane_id() == 0)"):
            assign(p, tuple(f"{s}[0]" for s in partial), value)
    barrier(p)
    total = declared(p, op.types, "all")
    assign(p, total, tuple(f"{s}[0]" for s in partial))
    barrier(p)
    return total


def shared(p: Printer, op: Operator, size: int) -> Names:
    names = tuple(p.fresh("partial") for _ in op.types)
    for t, name in zip(op.types, names, strict=True):
        p.line(f"__shared__ {t} {name}[{size}];")
    return names


def warp_reduce(p: Printer, op: Operator, value: Names) -> None:
    """Lane 0 ends with all lanes' values in order: lane l holds those of l to l + 2d - 1 after distance d."""
    d = p.fresh("d")
    with p.block(f"for (i32 {d} = 1; {d} < {WARP}; {d} *= 2)"):
        behind, both = exchanged(p, op, value, "value_below", d), declared(p, op.types, "both")
        p.line(op.apply(value, behind, both))
        assign(p, value, both)


def exchanged(p: Printer, op: Operator, value: Names, how: str, distance: str) -> Names:
    names = declared(p, op.types, "other")
    assign(p, names, tuple(f"{how}({v}, {distance})" for v in value))
    return names


# ---- scans -------------------------------------------------------------------------------------------------------


def block_scan(p: Printer, stm: kir.BlockScan) -> None:
    """Tiles one after the other, each scanned by warps, its warps' totals, and what came before."""
    for out in stm.carry_out:
        p.line(f"{c_type(out.prim)} {out.name};")
    with p.block(""):
        op = operator(p, stm.op)
        carry = declared(p, op.types, "carry", stm.carry)
        totals = shared(p, op, p.threads // WARP)
        first = p.fresh("first")
        index = stm.index.name
        with p.block(f"for (i64 {first} = {operand(stm.lo)}; {first} < {operand(stm.hi)}; {first} += {p.threads})"):
            p.line(f"const i64 {index} = {first} + threadIdx.x;")
            _scan_tile(p, stm, op, carry, totals)
        assign(p, tuple(o.name for o in stm.carry_out), carry)


def _scan_tile(p: Printer, stm: kir.BlockScan, op: Operator, carry: Names, totals: Names) -> None:
    has = f"if ({stm.index.name} < {operand(stm.hi)})"
    mine = declared(p, op.types, "value", stm.neutral)
    declare(p, stm.body, set(names_in(stm.after)))
    with stack_scope(p, stm.body):
        with p.block(has):
            p.run(p, stm.body, Who.EACH)
            assign(p, mine, texts(stm.values))
        result = _scanned(p, op, mine, carry, totals)
        with p.block(has):
            for var, value in zip(stm.scanned, result, strict=True):
                p.line(f"const {c_type(var.prim)} {var.name} = {value};")
            statements_text(p, stm.after, Who.EACH)
    barrier(p)


def _scanned(p: Printer, op: Operator, mine: Names, carry: Names, totals: Names) -> Names:
    """`mine` scanned over the tile, behind `carry`, which moves on to the next tile."""
    warp_scan(p, op, mine)
    with p.block(f"if (lane_id() == {WARP - 1})"):
        assign(p, tuple(f"{t}[warp_id()]" for t in totals), mine)
    barrier(p)
    before = declared(p, op.types, "before")
    assign(p, before, carry)
    w = p.fresh("w")
    with p.block(f"for (i32 {w} = 0; {w} < {p.threads // WARP}; {w}++)"):
        with p.block(f"if ({w} == warp_id())"):
            assign(p, before, carry)
        nexts = declared(p, op.types, "next")
        p.line(op.apply(carry, tuple(f"{t}[{w}]" for t in totals), nexts))
        assign(p, carry, nexts)
    result = declared(p, op.types, "result")
    p.line(op.apply(before, mine, result))
    return result


def warp_scan(p: Printer, op: Operator, value: Names) -> None:
    """Inclusive, within each warp (Hillis and Steele)."""
    d = p.fresh("d")
    with p.block(f"for (i32 {d} = 1; {d} < {WARP}; {d} *= 2)"):
        above, both = exchanged(p, op, value, "value_above", d), declared(p, op.types, "both")
        p.line(op.apply(above, value, both))
        with p.block(f"if (lane_id() >= {d})"):
            assign(p, value, both)
