"""How many memory sectors a kernel's accesses cost, predicted without running it (SEEDS row H).

An access function f' gives the index of an access from the block, the lane and the sequential indices. It is evaluated
for all lanes of a block at once: what is computed from sizes and indices is known, what is loaded is not. A request of
a warp to global memory costs its distinct 32-byte sectors, one to shared memory the turns of its fullest bank, as the
tracer counts them (`kernels/tracer/memory.py`); an access through a loaded index costs a sector for each lane. Arrays
on the stacks of threads are in global memory, too, and where their words lie is known as far as their sizes are.

`predict` evaluates every block and every iteration, or a sample: the first and the last ones, which count for
themselves, since what is begun or ended there is not done in between (a pipelined loop copies nothing in its last
iteration), and some between them, which count for all the others. For quasi-affine indices a sample is right up to
alignment; it is not called exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import chain, pairwise

import numpy as np

from ...ir.machine import WARP
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Const, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import Who, solo, writer
from ..kernel_ir.nodes import KArray, Kernel, KStm, Operand, Space
from ..kernel_ir.shared_stack import UNIT, is_on_own_stack, place_of, word_bytes
from ..kernel_ir.traverse import statements
from .lane_values import Value, choice, value_of
from .memory_model import BANKS, SECTOR, WORD

UNKNOWN_TRIPS = 8
"""How often a loop runs of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Sample:
    """How much is evaluated: blocks, rounds of a thread loop, iterations of a sequential loop, and those of all loops
    around a statement together: further inside it is one of each loop."""

    blocks: int = 1 << 62
    rounds: int = 1 << 62
    iterations: int = 1 << 62
    together: int = 1 << 62


EVERYTHING = Sample()
SOME = Sample(blocks=2, rounds=2, iterations=3, together=27)


@dataclass(slots=True)
class Predicted:
    """What one access site costs: requests of warps, their sectors (or turns of a bank), threads that take part.
    `exact`: nothing unknown had a part in it, and nothing was left out. `of_block`: it is outside of threads, once for
    a block."""

    statement: KStm
    array: KArray
    requests: float = 0.0
    units: float = 0.0
    lanes: float = 0.0
    exact: bool = True
    of_block: bool = False


@np.errstate(over="ignore")  # integers wrap around, as those of the kernel do
def predict(
    kernel: Kernel,
    scalars: Sequence[Value],
    blocks: int,
    threads: int,
    warp: int = WARP.threads,
    sample: Sample = EVERYTHING,
) -> tuple[Predicted, ...]:
    """The access sites of a launch, in the order of the text; `scalars` as the kernel takes them."""
    e = Evaluation(threads, warp, sample, word_bytes(kernel.body), own_arrays(kernel))
    e.env.update((var.name, value) for var, value in zip(kernel.scalars, scalars, strict=True))
    for block in sampled(e, blocks, sample.blocks):
        e.env[kernel.block.name] = e.block = block
        run(e, kernel.body, Who.EVERY)
    return tuple(e.sites.values())


def global_sectors(sites: Sequence[Predicted]) -> float:
    """Sectors of global memory over all sites."""
    return sum(site.units for site in sites if site.array.space is not Space.SHARED)


def own_arrays(kernel: Kernel) -> frozenset[str]:
    """The arrays that are on the stacks of threads."""
    stms = statements(kernel.body)
    return frozenset(stm.array.name for stm in stms if isinstance(stm, kir.Alloc) and is_on_own_stack(stm))


def spread(count: int, most: int) -> Iterator[tuple[int, float]]:
    """At most `most` of 0 .. count-1, and how many each stands for: the ends for themselves, those between them for
    all the rest, which is the first one's if there are none."""
    if count <= most:
        yield from ((k, 1.0) for k in range(count))
        return
    yield 0, {1: float(count), 2: count - 1.0}.get(most, 1.0)
    yield from ((k * (count - 1) // (most - 1), (count - 2) / (most - 2)) for k in range(1, most - 1))
    if most > 1:
        yield count - 1, 1.0


# ---- requests ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Running:
    """The lanes that run under a mask; where those of each warp begin among them, and the last ones end."""

    mask: np.ndarray
    lanes: np.ndarray
    cuts: list[int]


@dataclass(frozen=True, slots=True)
class Access:
    """One of a round of threads: the first and the last unit, of all lanes that run or of each; how many such there
    are."""

    running: Running
    first: int | np.ndarray
    last: int | np.ndarray
    weight: float


@dataclass(slots=True)
class Evaluation:
    """Values of variables, the lanes that run (None: outside of threads), and what was counted. `weight`: how many
    executions the present one stands for; `left_out`: whether there are such; `guessed`: whether it is known to happen.
    Where blocks take numbers one after the other, each has that of another one, and all together have the same:
    `block`. `iterations`: how many of the loops around are evaluated. `own`: the arrays on the stacks of threads, whose
    words have `word` bytes; `starts`: their first bytes; `top`: the first byte that is free; `lanes`: each thread's
    number in its warp."""

    threads: int
    warp: int
    sample: Sample
    word: int = 1
    own: frozenset[str] = frozenset()
    starts: dict[str, Value] = field(default_factory=dict)
    top: Value = 0
    lanes: np.ndarray = field(init=False)
    env: dict[str, Value] = field(default_factory=dict)
    sites: dict[int, Predicted] = field(default_factory=dict)
    turns: dict[int, list[Access]] = field(default_factory=dict)
    mask: np.ndarray | None = None
    running: Running | None = None
    block: int = 0
    weight: float = 1.0
    left_out: bool = False
    guessed: bool = False
    iterations: int = 1

    def __post_init__(self) -> None:
        self.lanes = np.arange(self.threads) % self.warp

    def get(self, operand: Operand) -> Value:
        return operand.value if isinstance(operand, Const) else self.env.get(operand.name)

    def site(self, stm: KStm, array: KArray) -> Predicted:
        return self.sites.setdefault(id(stm), Predicted(stm, array))


def sampled(e: Evaluation, count: int, most: int) -> Iterator[int]:
    """The values of an index that are evaluated, each with its weight."""
    before = e.weight, e.left_out
    e.left_out = e.left_out or count > most
    for k, others in spread(count, most):
        e.weight = before[0] * others
        yield k
    e.weight, e.left_out = before


def note(e: Evaluation, stm: KStm, array: KArray, index: Value, who: Who, width: int = 1) -> None:
    """An access happens at `index`, of `width` elements."""
    if array.space in (Space.PRIVATE, Space.REGISTERS) and array.name not in e.own:
        return
    site = e.site(stm, array)
    if array.name in e.own:
        index = own_place(e, site, index)
    site.exact = site.exact and not (e.guessed or e.left_out) and index is not None
    if e.mask is None:
        site.of_block = True
        warps = -(-e.threads // e.warp) if who is Who.EVERY else 1
        site.requests += warps * e.weight
        site.units += warps * e.weight
        site.lanes += warps * e.weight
        return
    running = lanes_of(e, e.mask)
    site.lanes += len(running.lanes) * e.weight
    grain = WORD if array.space is Space.SHARED else SECTOR
    size = 1 if index is None or array.name in e.own else array.prim.bytes
    if index is None:
        at = running.lanes * grain
    else:
        at = index[running.lanes].astype(np.int64) if isinstance(index, np.ndarray) else int(index)
    first = at * size // grain
    last = first if width == 1 else (at + width - 1) * size // grain
    e.turns.setdefault(id(stm), []).append(Access(running, first, last, e.weight))


def lanes_of(e: Evaluation, mask: np.ndarray) -> Running:
    """Those that run; known as long as they are the same."""
    if e.running is None or e.running.mask is not mask:
        lanes = np.flatnonzero(mask)
        cuts = [*range(0, e.threads, e.warp), e.threads]
        if len(lanes) < e.threads:
            cuts = np.unique(np.searchsorted(lanes, cuts)).tolist()
        e.running = Running(mask, lanes, cuts)
    return e.running


def own_place(e: Evaluation, site: Predicted, index: Value) -> Value:
    """Where each lane's element of an array on its stack is in the memory of its warp, in bytes. An array that begins
    who knows where is taken to begin at the same byte in all of them."""
    start = e.starts[site.array.name]
    site.exact = site.exact and start is not None
    if index is None:
        return None
    byte = (0 if start is None else start) + np.asarray(index) * site.array.prim.bytes
    return place_of(byte, e.lanes, e.word)


def taken(e: Evaluation, array: KArray, count: Value) -> None:
    """An array of that many elements on the stack of each thread."""
    e.starts[array.name] = e.top
    if e.top is None or count is None:
        e.top = None
        return
    size = np.maximum(np.asarray(count) * array.prim.bytes, 1)
    e.top = np.asarray(e.top) + -(-size // UNIT) * UNIT


def close(e: Evaluation) -> None:
    """A round of threads is over: its requests are counted."""
    for key, accesses in e.turns.items():
        site = e.sites[key]
        for weight, units in requests_of(e, accesses):
            site.requests += weight
            site.units += weight * (turns_of(units) if site.array.space is Space.SHARED else len(units))
    e.turns.clear()


def turns_of(units: set[int]) -> int:
    """Of the fullest bank."""
    if len({unit % BANKS for unit in units}) == len(units):
        return 1
    return max(Counter(unit % BANKS for unit in units).values())


def requests_of(e: Evaluation, accesses: list[Access]) -> Iterable[tuple[float, set[int]]]:
    """For each request its weight, that of its first access, and its distinct units. What lanes of a warp access as
    their first is one, as their second is one, and so on."""
    if all(access.running.mask is accesses[0].running.mask for access in accesses):
        return [(access.weight, set(units)) for access in accesses for units in units_of(access)]
    found, taken = dict[tuple[int, int], tuple[float, set[int]]](), [0] * e.threads
    for access in accesses:
        alone = replace(access, running=replace(access.running, cuts=[*range(len(access.running.lanes) + 1)]))
        for lane, units in zip(access.running.lanes.tolist(), units_of(alone), strict=True):
            found.setdefault((taken[lane], lane // e.warp), (access.weight, set()))[1].update(units)
            taken[lane] += 1
    return found.values()


def units_of(access: Access) -> Iterator[Iterable[int]]:
    """Those of each warp."""
    first, last, cuts = access.first, access.last, access.running.cuts
    if isinstance(first, int) or isinstance(last, int):
        yield from (range(int(first), int(last) + 1) for _ in cuts[1:])
        return
    firsts, lasts = first.tolist(), last.tolist()
    for k, end in pairwise(cuts):
        if last is first:
            yield firsts[k:end]
        else:
            yield chain.from_iterable(range(x, y + 1) for x, y in zip(firsts[k:end], lasts[k:end]))


# ---- statements --------------------------------------------------------------------------------------------------


def run(e: Evaluation, stms: tuple[KStm, ...], who: Who) -> None:
    """Evaluate a list, which gives back what it takes of stacks; what only the first thread executes (`solo`) counts as
    its own."""
    top = e.top
    for stm in stms:
        step(e, stm, Who.LEADER if who is Who.EVERY and solo(stm) else who)
    e.top = top


def step(e: Evaluation, stm: KStm, who: Who) -> None:
    """Evaluate a statement: its accesses are noted, what it binds is known or None. Fences, checks and allocations of a
    block's arrays do nothing."""
    match stm:
        case kir.Alloc(array, count) if array.name in e.own:
            taken(e, array, e.get(count))
        case kir.KLet(var, kir.KLoad(array, index)):
            note(e, stm, array, e.get(index), who)
            e.env[var.name] = None
        case kir.KLet(var, rhs):
            e.env[var.name] = value_of(e.get, rhs)
        case kir.Declare(var, value):
            e.env[var.name] = e.get(value)
        case kir.Assign(var, value):
            assign(e, var.name, e.get(value))
        case kir.Store(array, index, _):
            note(e, stm, array, e.get(index), writer(who))
        case kir.Atomic(op, _, array, index, value, out):
            note(e, stm, array, e.get(index), writer(who))
            if out is not None:
                counts = who is Who.EVERY and op is Op.ADD and value == i64(1)
                e.env[out.name] = e.block if counts else None
        case kir.TeamReduce():
            teams(e, stm)
        case kir.LoadRow(row, array, index):
            note(e, stm, array, e.get(index), who, len(row))
            e.env.update((var.name, None) for var in row)
        case kir.LoadMatrix(row):
            e.env.update((var.name, None) for var in row)
        case kir.StoreRow(array, index, row):
            note(e, stm, array, e.get(index), writer(who), len(row))
        case kir.AsyncCopy(source=source, start=start, count=count):
            note(e, stm, source, e.get(start), who, count)
        case kir.KIf(cond, then, orelse):
            branch(e, e.get(cond), then, orelse, who)
        case kir.For(index, bound, body):
            counted(e, index, e.get(bound), body, who)
        case kir.KWhile(before, cond, body):
            repeated(e, before, cond, body, who)
        case kir.Threads(index, lo, hi, body):
            in_turn(e, index, lo, hi, lambda: run(e, body, Who.EACH))
        case kir.BlockReduce():
            in_turn(e, stm.index, stm.lo, stm.hi, lambda: combined(e, stm.body, stm.op))
            e.env.update((out.name, None) for out in stm.outs)
        case kir.BlockScan():
            in_turn(e, stm.index, stm.lo, stm.hi, lambda: scanned(e, stm))
            e.env.update((out.name, None) for out in stm.carry_out)
        case _:
            pass


def assign(e: Evaluation, name: str, value: Value) -> None:
    """The value in the lanes that run, the old one in the others; unknown where one of them is, or where a guess would
    change it."""
    old = e.env.get(name)
    if e.guessed or e.mask is None or e.mask.all():
        same = old is not None and value is not None and np.array_equal(old, value)
        e.env[name] = value if not e.guessed or same else None
    elif old is None or value is None:
        e.env[name] = None
    else:
        e.env[name] = choice(e.mask, value, old)


def combined(e: Evaluation, body: tuple[KStm, ...], op: kir.KLambda) -> None:
    """A body, then its operator, on operands of which nothing is known."""
    run(e, body, Who.EACH)
    e.env.update((var.name, None) for var in (*op.left, *op.right))
    run(e, op.body, Who.EACH)


def scanned(e: Evaluation, stm: kir.BlockScan) -> None:
    """A scan's body and operator, then `after`, in which the scanned values are unknown."""
    combined(e, stm.body, stm.op)
    e.env.update((var.name, None) for var in stm.scanned)
    run(e, stm.after, Who.EACH)


def in_turn(e: Evaluation, index: kir.KVar, lo: Operand, hi: Operand, body: Callable[[], None]) -> None:
    """`body` for all lanes of a round, then for those of the next."""
    first, end = e.get(lo), e.get(hi)
    before = e.guessed
    if not isinstance(first, int) or not isinstance(end, int):
        e.guessed = True
        first = first if isinstance(first, int) else 0
        end = end if isinstance(end, int) else first + e.threads
    lanes = np.arange(e.threads)
    for number in sampled(e, max(0, -(-(end - first) // e.threads)), e.sample.rounds):
        e.env[index.name] = at = first + number * e.threads + lanes
        e.mask = at < end
        body()
        close(e)
    e.mask = None
    e.guessed = before


def teams(e: Evaluation, stm: kir.TeamReduce) -> None:
    """Rounds of segments, in each of them rounds of elements, then what the first thread of a team does."""
    known = [x for x in map(e.get, (stm.team, stm.lo, stm.hi, stm.width)) if isinstance(x, int)]
    if len(known) < 4:
        return
    team, first, end, width = known
    size = min(team, e.warp, e.threads)
    lanes = np.arange(e.threads)
    for number in sampled(e, max(0, -(-(end - first) // (e.threads // size))), e.sample.rounds):
        segment = first + number * (e.threads // size) + lanes // size
        e.env[stm.segment.name] = segment
        for k in sampled(e, -(-width // size), e.sample.iterations):
            e.env[stm.index.name] = at = k * size + lanes % size
            e.mask = (segment < end) & (at < width)
            combined(e, stm.body, stm.op)
            close(e)
        e.env.update((out.name, None) for out in stm.outs)
        e.mask = (segment < end) & (lanes % size == 0)
        run(e, stm.after, Who.EACH)
        close(e)
    e.mask = None


def branch(e: Evaluation, cond: Value, then: tuple[KStm, ...], orelse: tuple[KStm, ...], who: Who) -> None:
    """One side, or, where the lanes do not agree, each with its lanes; both if nothing is known."""
    if cond is None:
        guessing(e, lambda: (run(e, then, who), run(e, orelse, who)))
    elif not isinstance(cond, np.ndarray):
        run(e, then if cond else orelse, who)
    else:
        masked(e, cond, lambda: run(e, then, who))
        masked(e, ~cond, lambda: run(e, orelse, who))


def masked(e: Evaluation, lanes: np.ndarray, body: Callable[[], None]) -> None:
    """`body` with those of the present lanes that are also in `lanes` (bool); not at all where there are none."""
    before = e.mask
    assert before is not None
    e.mask = before & lanes
    if e.mask.any():
        body()
    e.mask = before


def guessing(e: Evaluation, body: Callable[[], object]) -> None:
    """`body` where it is not known whether or how often it runs: what is counted is not exact."""
    before, e.guessed = e.guessed, True
    body()
    e.guessed = before


def counted(e: Evaluation, index: kir.KVar, bound: Value, body: tuple[KStm, ...], who: Who) -> None:
    """Iterations up to the bound, or a sample of them; lanes with a bound of their own stop there. An unknown bound
    counts as `UNKNOWN_TRIPS` iterations."""
    if bound is None:
        guessing(e, lambda: counted(e, index, UNKNOWN_TRIPS, body, who))
        return
    active = bound if e.mask is None or not isinstance(bound, np.ndarray) else bound[e.mask]
    count, around = int(np.max(active, initial=0)), e.iterations
    most = min(e.sample.iterations, max(1, e.sample.together // around))
    e.iterations = around * max(1, min(count, most))
    for i in sampled(e, count, most):
        e.env[index.name] = i
        if isinstance(bound, np.ndarray):
            masked(e, i < bound, lambda: run(e, body, who))
        else:
            run(e, body, who)
    e.iterations = around


def repeated(e: Evaluation, before: tuple[KStm, ...], cond: Operand, body: tuple[KStm, ...], who: Who) -> None:
    """As long as the condition is known; from there on as a loop of which nothing is known."""
    run(e, before, who)
    for _ in range(e.sample.iterations):
        going = e.get(cond)
        if going is None or isinstance(going, np.ndarray):
            break
        if not going:
            return
        run(e, body, who)
        run(e, before, who)
    weight, e.weight = e.weight, e.weight * UNKNOWN_TRIPS
    guessing(e, lambda: (run(e, body, who), run(e, before, who)))
    e.weight = weight
