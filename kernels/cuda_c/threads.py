"""Flags between blocks, teams, turns of warps, asynchronous copies, rows and atomic updates in CUDA C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ...ir.errors import IRError
from ...ir.machine import WARP
from ...ir.ops import Op
from ...ir.types import Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import Who
from ..kernel_ir.nodes import KLet, KStm, KVar
from ..kernel_ir.traverse import assigned, defined, names_in, statements
from .collectives import warp_reduce
from .inline_expressions import bare, is_arithmetic
from .look_back import look_back
from .operator import Names, Operator, assign, declared, define, operator, own_value, step, take_in, texts
from .ops import c_type, expression, operand
from .text import (
    Printer,
    apart_if,
    barrier,
    by,
    declare,
    declare_shared,
    fails,
    stack_scope,
    statements_text,
    words_in,
)


def for_threads(p: Printer, stm: KStm, who: Who) -> None:
    """A statement that lanes have no form for."""
    match stm:
        case kir.Publish(array, index, value):
            by(p, who, f"publish(&{array.name}[{operand(index)}], {operand(value)});")
        case kir.WaitFor():
            wait_for(p, stm)
        case kir.LookBack():
            look_back(p, stm)
        case kir.TeamReduce():
            team_reduce(p, stm)
        case kir.WarpTurns():
            warp_turns(p, stm)
        case kir.AsyncCopy(target, at, source, start, count):
            wide = f"<{count}>" if count > 1 else ""
            p.line(f"copy_later{wide}(&{target.name}[{bare(at)}], &{source.name}[{bare(start)}]);")
        case kir.Distribute():
            distribute(p, stm)
        case kir.Shuffle():
            shuffle(p, stm)
        case kir.LoadMatrix():
            load_matrix(p, stm)
        case kir.Mma():
            multiply(p, stm)
        case kir.CommitCopies():
            p.line("commit_copies();")
        case kir.WaitCopies(latest):
            p.line(f"wait_for_copies<{latest}>();")
        case kir.LoadRow():
            load_row(p, stm)
        case kir.StoreRow(array, index, values):
            row = f"{{{{{', '.join(map(bare, values))}}}}}"
            by(p, who, f"store_row<{len(values)}>(&{array.name}[{operand(index)}], {row});")
        case _:
            assert isinstance(stm, kir.Note)
            p.note(stm.what)


def load_row(p: Printer, stm: kir.LoadRow) -> None:
    """Several neighbours in one access, then a variable for each."""
    row = p.fresh("row")
    p.line(f"const auto {row} = load_row<{len(stm.vars)}>(&{stm.array.name}[{operand(stm.index)}]);")
    for k, var in enumerate(stm.vars):
        kind = "" if var.name in p.declared else f"const {c_type(var.prim)} "
        p.line(f"{kind}{var.name} = {row}.at[{k}];")


def distribute(p: Printer, stm: kir.Distribute) -> None:
    """An array of each thread; where threads take several indices, one for each (`cuda_text.in_rounds`)."""
    rounds = -(-stm.threads // p.threads)
    name, t = stm.array.name, c_type(stm.array.prim)
    if rounds == 1:
        p.line(f"{t} {name}[{stm.count}];")
        return
    p.distributed[name] = p.fresh(f"{name}_of")
    p.rounds[name] = stm.threads
    p.line(f"{t} {p.distributed[name]}[{rounds}][{stm.count}];")


def shuffle(p: Printer, stm: kir.Shuffle) -> None:
    """The element of another thread of the warp. Raises IRError where threads have several."""
    if stm.source.name in p.distributed or stm.target.name in p.distributed:
        raise IRError("a shuffle of registers that threads have several of")
    sign = {Op.ADD: "+", Op.SUB: "-", Op.XOR: "^"}[stm.op]
    from_, own = p.fresh("from"), f"{p.me} % {WARP.threads}"
    p.line(f"const i64 {from_} = {own} {sign} {operand(stm.by)};")
    inside = f"0 <= {from_} && {from_} < {WARP.threads}"
    p.line(f"{stm.target.name}[0] = value_at({stm.source.name}[0], {inside} ? (int){from_} : {own});")


def load_matrix(p: Printer, stm: kir.LoadMatrix) -> None:
    """Registers by one instruction, then a variable for each."""
    held, t, across = p.fresh("matrix"), c_type(stm.array.prim), "true" if stm.across else "false"
    p.line(f"{t} {held}[{len(stm.vars)}];")
    p.line(f"load_matrices<{across}>({held}, &{stm.array.name}[{bare(stm.row)}]);")
    for k, var in enumerate(stm.vars):
        p.line(f"const {t} {var.name} = {held}[{k}];")


def multiply(p: Printer, stm: kir.Mma) -> None:
    """The product of the thread's warp; of each of its warps where it has several indices."""
    arrays = tuple(dict.fromkeys((stm.sum.name, stm.left.name, stm.right.name)))
    places = ((stm.sum, stm.to), (stm.left, stm.at), (stm.right, stm.start))
    call = f"mma({', '.join(f'&{array.name}[{bare(at)}]' for array, at in places)});"
    held = [name for name in arrays if name in p.distributed]
    if not held:
        p.line(call)
        return
    p.line("#pragma unroll")
    threads = p.rounds[held[0]]
    with p.index("round") as k, p.block(f"for (i32 {k} = 0; {k} < {-(-threads // p.threads)}; {k}++)"):
        for name in held:
            p.line(f"auto &{name} = {p.distributed[name]}[{k}];")
        p.line(call if threads % p.threads == 0 else f"if ({k} * {p.threads} + {p.me} < {threads}) {call}")


# ---- atomic updates ----------------------------------------------------------------------------------------------

HARDWARE = {
    Op.ADD: "atomicAdd", Op.MIN: "atomicMin", Op.MAX: "atomicMax", Op.AND: "atomicAnd", Op.OR: "atomicOr",
    Op.XOR: "atomicXor",
}  # fmt: skip
WORDS = (Prim.I32, Prim.U32, Prim.I64, Prim.U64)


def atomic(p: Printer, stm: kir.Atomic, who: Who) -> None:
    """The hardware's where it has the operation at the type, else compare and swap; a float's order would show."""
    place, fence = f"&{stm.array.name}[{operand(stm.index)}]", _order_fence(stm.array)
    before = f"{fence} " if stm.order in (kir.Order.RELEASE, kir.Order.BOTH) else ""
    after = f" {fence}" if stm.order in (kir.Order.ACQUIRE, kir.Order.BOTH) else ""
    update = _update(stm, place)
    if stm.out is None:
        by(p, who, f"{before}{update};{after}" if not (before or after) else f"{{ {before}{update};{after} }}")
        return
    p.line(f"{c_type(stm.out.prim)} {stm.out.name};")
    by(p, who, f"{{ {before}{stm.out.name} = {update};{after} }}")
    if who is Who.EVERY:
        broadcast(p, stm.out)


def _order_fence(array: kir.KArray) -> str:
    return "__threadfence();" if array.space is kir.Space.GLOBAL else "__threadfence_block();"


def _update(stm: kir.Atomic, place: str) -> str:
    t, x = c_type(stm.prim), operand(stm.value)
    if stm.op in HARDWARE and stm.prim in WORDS:
        is_sum = stm.op in (Op.ADD, Op.AND, Op.OR, Op.XOR)
        word = {Prim.I64: "u64", Prim.I32: "u32"}.get(stm.prim, t) if is_sum else t
        return f"({t}){HARDWARE[stm.op]}(({word} *){place}, ({word}){x})"
    update = f"[&]({t} old) -> {t} {{ return {expression(stm.op, stm.prim, ('old', x))}; }}"
    return f"atomic_update({place}, {update})"


def broadcast(p: Printer, var: KVar) -> None:
    """The first thread's value to all."""
    place = p.fresh(var.name)
    declare_shared(p, c_type(var.prim), place)
    p.line(f"if ({p.me} == 0) {place} = {var.name};")
    barrier(p)
    p.line(f"{var.name} = {place};")
    barrier(p)


# ---- flags between blocks ----------------------------------------------------------------------------------------


def wait_for(p: Printer, stm: kir.WaitFor) -> None:
    """The first thread waits until the flag is at least `least`, then all have its value. A failure of another block
    ends the wait, and with it the block."""
    p.line(f"i32 {stm.out.name};")
    place = f"&{stm.array.name}[{operand(stm.index)}]"
    with p.block("if (threadIdx.x == 0)"):
        p.line(f"{stm.out.name} = wait_for({place}, {operand(stm.least)}, failures);")
        p.line(f"if ({stm.out.name} == FAILED) failed = true;")
    broadcast(p, stm.out)


# ---- teams -------------------------------------------------------------------------------------------------------


AHEAD = 4
"""Elements of a segment that a thread of a team loads at once."""
MOST_COPIED = 24


def team_reduce(p: Printer, stm: kir.TeamReduce) -> None:
    """All threads of a warp take part in its shuffles, whether their segments are there or not."""
    kind = c_type(stm.segment.prim)
    with p.block(""):
        op = operator(p, stm.op)
        team, member, first = p.fresh("team"), p.fresh("member"), p.fresh("first")
        p.line(f"const i32 {team} = (i32){operand(stm.team)}, {member} = {p.me} & ({team} - 1);")
        step = f"{first} += {p.threads} / {team}"
        p.loose = p.loose or (p.torn and fails(p, (stm,)))
        if stm.commutative and is_short(stm.body) and not fails(p, (stm,)):
            with p.block(f"if ({operand(stm.width)} <= {team})"):
                _several_segments(p, stm, op, team, member)
            p.line("else")
            p.line("#pragma unroll 1")
        with p.block(f"for ({kind} {first} = {operand(stm.lo)}; {first} < {operand(stm.hi)}; {step})"):
            p.line(f"const {kind} {stm.segment.name} = {first} + {p.me} / {team};")
            of_segment, rest = split_at_segment(stm)
            statements_text(p, of_segment, Who.EACH)
            stm = replace(stm, body=rest)
            how = _team_any_order if stm.commutative else _team_in_order
            _store_total(p, stm, member, how(p, stm, op, team, member))


def split_at_segment(stm: kir.TeamReduce) -> tuple[tuple[KStm, ...], tuple[KStm, ...]]:
    """What of the body is the same for all elements of a segment, as far as no check stands before it, and the rest.
    The compiler leaves divisions in the loop over elements: not every iteration comes to them. What reads memory stays:
    the segment may be none, and arrays of the body have their elements there."""
    before, rest, inside = list[KStm](), list[KStm](), {stm.index.name, *assigned(stm.body)}
    for k, one in enumerate(stm.body):
        if isinstance(one, kir.Check | kir.BoundsCheck):
            return tuple(before), (*rest, *stm.body[k:])
        reads = any("[" in name for name in names_in(one))  # loads stand in operands, as text
        if isinstance(one, KLet) and is_arithmetic(one) and not reads and inside.isdisjoint(words_in(one.rhs)):
            before.append(one)
        else:
            rest.append(one)
            inside |= defined((one,))
    return tuple(before), tuple(rest)


def _store_total(p: Printer, stm: kir.TeamReduce, member: str, total: Names) -> None:
    """The first thread of a team has its segment's total."""
    with apart_if(p, f"{member} == 0 && {stm.segment.name} < {operand(stm.hi)}", stm.after):
        define(p, stm.outs, total)
        statements_text(p, stm.after, Who.EACH)


def _several_segments(p: Printer, stm: kir.TeamReduce, op: Operator, team: str, member: str) -> None:
    """Where a thread has at most one element of a segment: loads for `AHEAD` segments under way at once."""
    first, hi, k = p.fresh("first"), operand(stm.hi), p.fresh("k")
    accs = tuple(p.fresh("acc") for _ in op.types)
    acc, each = tuple(f"{name}[{k}]" for name in accs), f"{p.threads} / {team}"
    kind = c_type(stm.segment.prim)
    segment = f"const {kind} {stm.segment.name} = {first} + {k} * ({each}) + {p.me} / {team};"

    @contextmanager
    def for_each() -> Iterator[None]:
        p.line("#pragma unroll")
        with p.block(f"for (i32 {k} = 0; {k} < {AHEAD}; {k}++)"):
            yield

    p.line("#pragma unroll 1")
    with p.block(f"for ({kind} {first} = {operand(stm.lo)}; {first} < {hi}; {first} += {AHEAD} * ({each}))"):
        for t, name in zip(op.types, accs, strict=True):
            p.line(f"{t} {name}[{AHEAD}];")
        with for_each():
            p.line(segment)
            p.line(f"const {c_type(stm.index.prim)} {stm.index.name} = {member};")
            assign(p, acc, texts(stm.neutral))
            inside = f"{stm.segment.name} < {hi} && {stm.index.name} < {operand(stm.width)}"
            with apart_if(p, inside, stm.body), stack_scope(p, stm.body):
                take_in(p, stm.op, acc, stm.body, stm.values)
        with p.index("d") as d, p.block(f"for (i32 {d} = 1; {d} < {team}; {d} *= 2)"), for_each():
            step(p, op, acc, acc, tuple(f"value_below({v}, {d})" for v in acc))
        with for_each():
            p.line(segment)
            _store_total(p, stm, member, acc)


def _team_any_order(p: Printer, stm: kir.TeamReduce, op: Operator, team: str, member: str) -> Names:
    """Each thread folds its elements, then the threads combine. Loops of a constant number of elements, which may not
    be there, have as many loads under way."""
    acc, i, hi = declared(p, op.types, "acc", stm.neutral), stm.index.name, operand(stm.width)
    first, number, kind = p.fresh("first"), p.fresh("k"), c_type(stm.index.prim)
    ahead = AHEAD if is_short(stm.body) else 1
    there = f"{stm.segment.name} < {operand(stm.hi)} && {first} < {hi}"
    with p.block(f"for ({kind} {first} = {member}; {there}; {first} += {ahead} * {team})"):
        p.line("#pragma unroll")
        with p.block(f"for (i32 {number} = 0; {number} < {ahead}; {number}++)"):
            p.line(f"const {kind} {i} = {first} + {number} * {team};")
            with apart_if(p, f"{i} < {hi}", stm.body), stack_scope(p, stm.body):
                take_in(p, stm.op, acc, stm.body, stm.values)
    warp_reduce(p, op, acc, team)
    return acc


def is_short(stms: tuple[KStm, ...]) -> bool:
    """Whether statements are worth being there several times: a few, without loops or memory of their own."""
    found = list(statements(stms))
    return len(found) <= MOST_COPIED and not any(isinstance(s, kir.For | kir.KWhile | kir.Alloc) for s in found)


def _team_in_order(p: Printer, stm: kir.TeamReduce, op: Operator, team: str, member: str) -> Names:
    """As many elements at once as there are threads; the total so far stands left of them."""
    total, first = declared(p, op.types, "total", stm.neutral), p.fresh("first")
    kind = c_type(stm.index.prim)
    with p.block(f"for ({kind} {first} = 0; {first} < {operand(stm.width)}; {first} += {team})"):
        p.line(f"const {kind} {stm.index.name} = {first} + {member};")
        inside = f"{stm.segment.name} < {operand(stm.hi)} && {stm.index.name} < {operand(stm.width)}"
        mine = own_value(p, op, stm, inside)
        warp_reduce(p, op, mine, team)
        step(p, op, total, total, mine)
    return total


# ---- turns of warps ----------------------------------------------------------------------------------------------


def warp_turns(p: Printer, stm: kir.WarpTurns) -> None:
    """Lanes with the same key go one after the other; others at once."""
    first, key, place, number = p.fresh("first"), p.fresh("key"), p.fresh("place"), p.fresh("turn")
    i, hi = stm.index.name, operand(stm.hi)
    kind = c_type(stm.index.prim)
    p.line(f"const {c_type(stm.warp.prim)} {stm.warp.name} = warp_id();")
    p.loose = p.loose or (p.torn and fails(p, (stm,)))
    with p.block(f"for ({kind} {first} = {operand(stm.lo)}; {first} < {hi}; {first} += {p.threads})"):
        p.line(f"const {kind} {i} = {first} + threadIdx.x;")
        p.line(f"i64 {key} = -1;")
        declare(p, stm.body, set(words_in(stm.turn)))
        with stack_scope(p, stm.body):
            with apart_if(p, f"{i} < {hi}", stm.body):
                p.run(p, stm.body, Who.EACH)
                p.line(f"{key} = {operand(stm.key)};")
            p.line(f"const i32 {place} = turn_of({key});")
            p.line("__syncwarp();")
            more = f"__any_sync(WHOLE_WARP, {key} >= 0 && {place} >= {number})"
            with p.block(f"for (i32 {number} = 0; {more}; {number}++)"):
                with apart_if(p, f"{key} >= 0 && {place} == {number}", stm.turn):
                    statements_text(p, stm.turn, Who.EACH)
                p.line("__syncwarp();")
