"""Control in lanes: uniform control branches, varying control masks.

The body of a varying construct is skipped where no lane wants it, so code never runs with an empty mask and what is
uniform inside stays valid (scalar loads, checks). Loops over threads run full groups without a mask, then full
vectors, then the rest under one. `run` emits a list of statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...ir.errors import IRError
from ...ir.ops import Op
from ...ir.types import Const, Prim
from ..analysis.speculation import is_harmless
from ..kernel_ir.nodes import (
    Assign,
    BoundsCheck,
    Check,
    Declare,
    KIf,
    KLet,
    KLoad,
    KOp,
    KStm,
    KVar,
    KWhile,
    Operand,
    PeeledThreads,
    Store,
    Threads,
)
from ..llvm.convert import convert
from ..llvm.text import llvm_type, memory_type
from .index_comparisons import COUNTED, counted_lanes
from .last_lanes import last_lanes, more_than, most_alone
from .prefetch import LINE
from .repeated_ends import one_by_one, reaching_back
from .values import (
    ALL_ON,
    Counted,
    Lanes,
    Linear,
    Mask,
    Slot,
    Uniform,
    any_lane,
    chosen,
    complement,
    intersect,
    mask_of,
    operand,
    scalar,
    splat,
    steps,
    vectors,
)  # fmt: skip

Run = Callable[[Lanes, tuple[KStm, ...]], None]

BLENDED = 4
"""A body of at most this many harmless statements is computed in all lanes rather than branched around."""


# ---- mutable variables -------------------------------------------------------------------------------------------


def declare(e: Lanes, stm: Declare) -> None:
    """A variable: a name for its value if nothing assigns it, else stack slots, one for each group of lanes if it
    varies."""
    value = operand(e, stm.init)
    name, prim = stm.var.name, stm.var.prim
    if name not in e.facts.mutable:
        e.env[name] = value
        return
    varying = e.facts.varies(stm.var) and not e.alone
    slot_type = e.type(prim) if varying else llvm_type(prim)
    slot = Slot(prim, varying, tuple(e.code.slot(slot_type) for _ in range(e.unroll if varying else 1)), e.mask)
    e.env[name] = slot
    _store(e, slot, vectors(e, value) if varying else (scalar(e, value),))


def assign(e: Lanes, stm: Assign) -> None:
    """The variable := the value, in the lanes that are on; others keep what they have, unless they do not care."""
    slot, value = e.env[stm.var.name], operand(e, stm.value)
    assert isinstance(slot, Slot), f"{stm.var.name} is not mutable"
    if not slot.varying:
        assert isinstance(value, Uniform), f"{stm.var.name} varies after all"
        _store(e, slot, (value.text,))
        return
    texts = vectors(e, value)
    if e.mask is not None and e.mask is not slot.mask:
        old = tuple(e.code.op(f"load {e.type(slot.prim)}, ptr {p}") for p in slot.pointers)
        texts = chosen(e, e.mask, slot.prim, texts, old)
    _store(e, slot, texts)


def _store(e: Lanes, slot: Slot, texts: tuple[str, ...]) -> None:
    t = e.type(slot.prim) if slot.varying else llvm_type(slot.prim)
    for pointer, text in zip(slot.pointers, texts, strict=True):
        e.code.do(f"store {t} {text}, ptr {pointer}")


@contextmanager
def owning(e: Lanes, loop: KStm, mask: Mask) -> Iterator[None]:
    """Inside, lanes outside of `mask` do not care for the variables that die with the loop."""
    slots = [e.env.get(name) for name in e.dead_after[id(loop)]]
    owned = [(slot, slot.mask) for slot in slots if isinstance(slot, Slot)]
    for slot, _ in owned:
        slot.mask = mask
    with e.masked(mask):
        yield
    for slot, before in owned:
        slot.mask = before


# ---- if ----------------------------------------------------------------------------------------------------------


def conditional(e: Lanes, stm: KIf, run: Run) -> None:
    """A branch where the condition is uniform; else one side after the other under its mask, each skipped where no lane
    takes it."""
    cond = operand(e, stm.cond)
    if isinstance(cond, Uniform):
        _branch(e, stm, cond.text, run)
        return
    holds = vectors(e, cond)
    masks = intersect(e, e.mask, holds), intersect(e, e.mask, complement(e, holds)) if stm.orelse else ()
    for mask, body in zip(masks, (stm.then, stm.orelse), strict=True):
        if body:
            _under_mask(e, mask, body, run)


def _branch(e: Lanes, stm: KIf, cond: str, run: Run) -> None:
    code = e.code
    then, orelse, end = code.fresh("then"), code.fresh("else"), code.fresh("endif")
    code.branch(cond, then, orelse if stm.orelse else end)
    code.label(then)
    run(e, stm.then)
    code.jump(end)
    if stm.orelse:
        code.label(orelse)
        run(e, stm.orelse)
        code.jump(end)
    code.label(end)


def _under_mask(e: Lanes, mask: Mask, body: tuple[KStm, ...], run: Run) -> None:
    if len(body) <= BLENDED and all(is_harmless(stm) for stm in body):
        with e.masked(mask):
            run(e, body)
        return
    code = e.code
    some, end = code.fresh("some"), code.fresh("none")
    code.branch(any_lane(e, mask), some, end)
    code.label(some)
    outside, e.branched = e.branched, True
    with e.masked(mask):
        run(e, body)
    e.branched = outside
    code.jump(end)
    code.label(end)


# ---- loops -------------------------------------------------------------------------------------------------------


def while_loop(e: Lanes, stm: KWhile, run: Run) -> None:
    """`before`, the test, the body; where the condition varies, lanes leave one by one. Raises IRError where the
    analysis took a varying condition for uniform."""
    if e.facts.varies(stm.cond) and not e.alone:
        _varying_while(e, stm, run)
        return
    with e.code.loop("while", "do", "done") as test:
        run(e, stm.before)
        cond = operand(e, stm.cond)
        if not isinstance(cond, Uniform):
            raise IRError("lanes: the condition of a uniform loop varies")
        test(cond.text)
        run(e, stm.body)


def _varying_while(e: Lanes, stm: KWhile, run: Run) -> None:
    """Lanes leave one by one; the loop ends with the last, or where the last few go on in scalar code."""
    alone = most_alone(e, stm)
    code, t = e.code, e.vec.raw("i1")
    slots = [code.slot(t) for _ in range(e.unroll)]
    for slot, bits in zip(slots, e.mask or (ALL_ON,) * e.unroll, strict=True):
        code.do(f"store {t} {bits}, ptr {slot}")
    with code.loop("while", "do", "done") as test:
        entering = tuple(code.op(f"load {t}, ptr {slot}") for slot in slots)
        with owning(e, stm, entering):
            run(e, stm.before)
            staying = mask_of(e, operand(e, stm.cond))
        for slot, bits in zip(slots, staying, strict=True):
            code.do(f"store {t} {bits}, ptr {slot}")
        test(more_than(e, alone, staying) if alone else any_lane(e, staying))
        with owning(e, stm, staying):
            run(e, stm.body)
    if alone:
        left = tuple(code.op(f"load {t}, ptr {slot}") for slot in slots)
        last_lanes(e, stm, left, lambda: while_loop(e, stm, run))


# ---- threads -----------------------------------------------------------------------------------------------------


def thread_loop(
    e: Lanes,
    index: KVar,
    lo: Operand,
    hi: Operand,
    body: Callable[[], None],
    between: Callable[[], None],
    begins: str | None = None,
    copies: bool = False,
    walks: bool = False,
    again: bool = False,
    open_: Callable[[], str] | None = None,
) -> None:
    """`body` for each group of lanes: full groups with nothing masked, `between`, full vectors one by one, then the
    rest, one masked vector at a time. `begins`: how many come before the full groups, an i64 text. `copies`: masks
    cost less than another loop, and all that is left is masked. `walks`: each group goes over memory of its own, with
    lines that the next one shares, and more than a vector that is left is a masked group. `again`: threads may run
    twice, so that the last vector, or group of such, reaches back (`repeated_ends.py`). `open_`: whether another
    group is needed, an i1 text; the rest may be done without."""
    position, last = _thread_range(e, index, lo, hi)
    first = e.code.op(f"load {llvm_type(index.prim)}, ptr {position}")
    count = int(hi.value) - int(lo.value) if isinstance(lo, Const) and isinstance(hi, Const) else None
    count = e.lanes if e.begins.get(hi) == lo else count
    e.in_threads = True
    if begins is not None:
        count = None
        with _vector_by_vector(e):
            begin = e.code.op(f"add i64 {e.code.op(f'load i64, ptr {position}')}, {begins}")
            _groups(e, index, position, begin, body, masked=True)
            e.code.do(f"store i64 {begin}, ptr {position}")
    again = again and e.peeled and (count is None or (count > e.width and count % e.width > 0))
    if again and (walks or e.unroll == 1):
        reaching_back(e, index, position, (first, last), body)
    elif e.peeled and (count is None or count >= e.lanes):
        _groups(e, index, position, last, body, open_=open_)
    between()
    singles = e.unroll > 1 and e.peeled and not copies
    once = e.peeled and (singles or e.unroll == 1)
    if again and not walks and e.unroll > 1:
        with _vector_by_vector(e):
            reaching_back(e, index, position, (first, last), body)
    elif singles and (count is None or count % e.lanes >= e.width):
        if walks:
            _masked_group(e, index, position, last, body)
        else:
            with _vector_by_vector(e):
                _groups(e, index, position, last, body, open_=open_)
    if count is None or not (e.peeled and (count % (e.width if once else e.lanes) == 0 or (again and not walks))):
        with _vector_by_vector(e):
            _groups(e, index, position, last, body, masked=True, once=once or again, open_=open_)
    e.in_threads = False


def peeled_loop(
    e: Lanes,
    stm: PeeledThreads,
    body: Callable[[], None],
    middle: Callable[[], None],
    begins: str | None,
    again: bool = False,
) -> None:
    """`body` for one vector of lanes after the other, masked; after each the groups and vectors of the middle that
    begin there. `again`: as of `thread_loop`; the ends of a middle of a vector or more go one by one."""
    index, code = stm.index, e.code
    position, last = _thread_range(e, index, stm.lo, stm.hi)
    since, until = (scalar(e, operand(e, x)) for x in (stm.since, stm.until))
    lo = code.op(f"load i64, ptr {position}")
    e.in_threads = True
    again = again and begins is None and e.peeled
    if again:
        _middle_and_ends(e, index, position, (lo, since, until, last), body, middle)
    if begins is not None:
        with _vector_by_vector(e):
            begin = code.op(f"add i64 {lo}, {begins}")
            _groups(e, index, position, begin, body, masked=True)
            code.do(f"store i64 {begin}, ptr {position}")
    with code.loop("threads", "masked", "end") as test:
        i = code.op(f"load i64, ptr {position}")
        test(code.op(f"icmp slt i64 {i}, {last}"))
        with _vector_by_vector(e):
            e.env[index.name] = Linear(index.prim, i, 1, True)
            e.counted = _counted(e, lo, i)
            with e.masked((_before(e, i, last),)):
                body()
            e.counted = None
        code.do(f"store i64 {code.op(f'add i64 {i}, {e.width}')}, ptr {position}")
        if e.peeled and not again:
            at = code.op(f"load i64, ptr {position}")
            end = code.op(f"select i1 {code.op(f'icmp sge i64 {at}, {since}')}, i64 {until}, i64 {at}")
            if e.unroll > 1:
                _groups(e, index, position, end, middle)
            with _vector_by_vector(e):
                _groups(e, index, position, end, middle)
    e.in_threads = False


def _middle_and_ends(
    e: Lanes,
    index: KVar,
    position: str,
    bounds: tuple[str, str, str, str],
    body: Callable[[], None],
    middle: Callable[[], None],
) -> None:
    """The whole of a peeled loop, if its middle has a vector: groups and vectors of the middle, then what is before and
    behind it. `bounds`: where the loop begins, where its middle begins and ends, where it ends."""
    code, (lo, since, until, _) = e.code, bounds
    first = e.one.intrinsic("smax", Prim.I64, since, lo)
    long, end = code.fresh("middle"), code.fresh("short")
    code.branch(code.op(f"icmp sge i64 {code.op(f'sub i64 {until}, {first}')}, {e.width}"), long, end)
    code.label(long)
    code.do(f"store i64 {first}, ptr {position}")
    if e.unroll > 1:
        _groups(e, index, position, until, middle)
    with _vector_by_vector(e):
        reaching_back(e, index, position, (first, until), middle)
    one_by_one(e, index, position, bounds, body)
    code.jump(end)
    code.label(end)


def _counted(e: Lanes, lo: str, i: str) -> Counted:
    """The lanes from index `i` on of a peeled loop that begins at `lo`."""
    behind = splat(e, Prim.I32, e.one.cast("trunc", Prim.I64, Prim.I32, e.code.op(f"sub i64 {i}, {lo}")))
    return Counted(lo, e.vec.ins("add", Prim.I32, behind, steps(Prim.I32, 0, 1, e.width)), {i: 0})


def _before(e: Lanes, i: str, last: str) -> str:
    """The mask of the lanes of a peeled loop before its end."""
    if e.width == COUNTED:
        return counted_lanes(e, Op.LT, last, 0)
    return first_lanes(e, Prim.I64, e.code.op(f"sub i64 {last}, {i}"))


def only_copies(loop: Threads) -> bool:
    """Whether threads only load elements of 32 bits or more and store them, under masks that machines have."""
    loads = {s.var for s in loop.body if isinstance(s, KLet) and isinstance(s.rhs, KLoad)}
    return all(
        s.value in loads and s.array.prim.bytes >= 4
        if isinstance(s, Store)
        else isinstance(s, (KLet, Check, BoundsCheck))
        for s in loop.body
    )


def before_line(e: Lanes, stm: Threads | PeeledThreads) -> str | None:
    """How many threads, an i64 text, store elements before a line of the cache begins where the first of the others
    does, so that these write whole lines past the caches; None where no row of an array of `streams` is written. There
    are none in short rows."""
    known = {inner.var: inner.rhs for inner in stm.body if isinstance(inner, KLet)}
    for store in stm.body:
        match store:
            case Store(array, KVar() as at) if array in e.streams and e.peeled and e.mask is None:
                pass
            case _:
                continue
        match known.get(at):
            case KOp(Op.ADD, Prim.I64, (x, y)) if (
                stm.index in (x, y) and (row := y if x == stm.index else x) not in known
            ):
                first, lo, hi = (scalar(e, operand(e, o)) for o in (row, stm.lo, stm.hi))
            case _:
                continue
        code, element = e.code, memory_type(array.prim)
        start = code.op(f"getelementptr {element}, ptr {e.places[array].pointer}, i64 {first}")
        start = code.op(f"getelementptr {element}, ptr {start}, i64 {lo}")
        behind = code.op(f"sub i64 0, {code.op(f'ptrtoint ptr {start} to i64')}")
        before = code.op(f"udiv i64 {code.op(f'and i64 {behind}, {LINE - 1}')}, {array.prim.bytes}")
        long = code.op(f"icmp sge i64 {code.op(f'sub i64 {hi}, {lo}')}, {2 * e.lanes}")
        return code.op(f"select i1 {long}, i64 {before}, i64 0")
    return None


def _thread_range(e: Lanes, index: KVar, lo: Operand, hi: Operand) -> tuple[str, str]:
    """The slot that counts, from `lo` on, and the end."""
    first, last = operand(e, lo), operand(e, hi)
    assert isinstance(first, Uniform), "the bounds of a thread loop are uniform"
    assert isinstance(last, Uniform), "the bounds of a thread loop are uniform"
    t = llvm_type(index.prim)
    position = e.code.slot(t, 8)
    e.code.do(f"store {t} {first.text}, ptr {position}")
    return position, last.text


@contextmanager
def _vector_by_vector(e: Lanes) -> Iterator[None]:
    """Groups of a single vector."""
    unroll, e.unroll = e.unroll, 1
    yield
    e.unroll = unroll


def _groups(
    e: Lanes,
    index: KVar,
    position: str,
    last: str,
    body: Callable[[], None],
    masked: bool = False,
    once: bool = False,
    open_: Callable[[], str] | None = None,
) -> None:
    """`body` for full groups as long as there are some; with `masked`, for single vectors of what is left, of which
    there is but one with `once`. `open_` as in `thread_loop`."""
    prim, t, code = index.prim, llvm_type(index.prim), e.code
    labels = ("threads", "masked", "end") if masked else ("threads", "group", "rest")
    with code.loop(*labels, once=once) as test:
        i = code.op(f"load {t}, ptr {position}")
        if masked:
            wanted = e.one.ins("icmp slt" if prim.is_signed else "icmp ult", prim, i, last)
        else:
            wanted = e.one.ins("icmp sge", prim, code.op(f"sub {t} {last}, {i}"), str(e.lanes))
        test(wanted if open_ is None or once else code.op(f"and i1 {wanted}, {open_()}"))
        e.env[index.name] = Linear(prim, i, 1, True)
        left = code.op(f"sub {t} {last}, {i}") if masked else ""
        with e.masked((first_lanes(e, prim, left),) if masked else e.mask):
            e.rest = (e.mask, convert(e.one, prim, Prim.I64, left)) if once and e.mask is not None else None
            body()
            e.rest = None
        if not once:
            code.do(f"store {t} {code.op(f'add {t} {i}, {e.lanes}')}, ptr {position}")


def _masked_group(e: Lanes, index: KVar, position: str, last: str, body: Callable[[], None]) -> None:
    """`body` for what is left, if that is a vector or more."""
    prim, t, code = index.prim, llvm_type(index.prim), e.code
    with code.loop("threads", "several", "rest", once=True) as test:
        i = code.op(f"load {t}, ptr {position}")
        left = code.op(f"sub {t} {last}, {i}")
        test(e.one.ins("icmp sge", prim, left, str(e.width)))
        e.env[index.name] = Linear(prim, i, 1, True)
        behind = (code.op(f"sub {t} {left}, {j * e.width}") for j in range(e.unroll))
        counts = [e.one.intrinsic("smax", prim, count, "0") for count in behind]
        with e.masked(tuple(first_lanes(e, prim, count) for count in counts)):
            body()
        code.do(f"store {t} {last}, ptr {position}")


def first_lanes(e: Lanes, prim: Prim, count: str) -> str:
    """The mask of the first `count` lanes, counted in the width of what fills a vector, but in 32 bits at most: one
    comparison of one vector."""
    like = Prim.I8 if e.width >= 64 else Prim.I16 if e.width >= 32 else Prim.I32
    few = convert(e.one, prim, like, e.one.intrinsic("umin", prim, count, str(e.width)))
    return e.vec.ins("icmp slt", like, steps(like, 0, 1, e.width), splat(e, like, few))
