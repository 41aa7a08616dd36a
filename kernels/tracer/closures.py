"""Kernel IR as Python closures that run one thread after the other and tell the visibility machine what they do.

The threads of a block take the indices of a thread loop in turn: index lo + k is thread k mod t's. All threads of a
round are run, then those of the next; a collective combines in ascending order. What is uniform runs once, in the
name of all threads or of the first (`kernels/kernel_ir/execution.py`). What a list takes from the block's stack it
gives back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...ir import scalar
from ...ir.errors import NOWHERE, Loc
from ...ir.types import Const
from ..devices.device import KernelFailure
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import Who, solo, writer, written_arrays
from ..kernel_ir.nodes import Kernel, KStm, Operand, Space
from ..kernel_ir.shared_stack import is_on_block_stack, is_on_own_stack
from ..kernel_ir.show import show_stm
from ..kernel_ir.traverse import statements
from .memory import Memory, OwnStack, Site, Stack, checked_index, new_site, zero
from .visibility import Machine, Track

Step = Callable[[], None]
Get = Callable[[], Any]


ForThreadsStep = Callable[["Traced", KStm, Who], Step]


@dataclass(slots=True)
class Traced:
    """A kernel as code, and what the running of it is about to change. `drop`: numbers of executed fences that do
    nothing; `thread` is the thread that runs, `index` the number of its index in the loop; `for_threads` makes the
    steps that only machines with threads have; `distributed`: how many elements of an array belong to an index.
    `places` are statements by their numbers, `sources` what they come from, `here` the last place that was noted."""

    kernel: Kernel
    machine: Machine
    drop: frozenset[int]
    for_threads: ForThreadsStep
    env: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Memory] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    sources: list[Loc] = field(default_factory=list)
    here: Loc = NOWHERE
    body: Step = lambda: None
    thread: int = 0
    index: int = 0
    work: list[int] = field(default_factory=list)
    fences: int = 0
    shared: dict[str, Track] = field(default_factory=dict)
    shared_bytes: dict[str, int] = field(default_factory=dict)
    distributed: dict[str, int] = field(default_factory=dict)
    stack: Stack = field(default_factory=lambda: Stack(0))
    own: OwnStack = field(default_factory=OwnStack)
    written: frozenset[kir.KArray] = frozenset()

    @property
    def warps(self) -> int:
        return -(-self.machine.threads // self.machine.warp)

    def fence(self) -> None:
        """A fence of the program; some are left out to see whether they are needed."""
        if self.fences not in self.drop:
            self.machine.fence(self.machine.everyone)
        self.fences += 1


def traced(kernel: Kernel, machine: Machine, drop: frozenset[int], for_threads: ForThreadsStep) -> Traced:
    """The kernel made ready to run on `machine`."""
    t = Traced(kernel, machine, drop, for_threads, work=[0] * machine.threads, written=written_arrays(kernel))
    t.own = OwnStack.of(kernel)
    machine.publishes = any(orders_blocks(s) for s in statements(kernel.body))
    t.body = steps(t, kernel.body, Who.EVERY)
    return t


def orders_blocks(stm: KStm) -> bool:
    """Is it a flag between blocks?"""
    if isinstance(stm, kir.Atomic):
        return stm.order is not kir.Order.RELAXED
    return isinstance(stm, (kir.Publish, kir.WaitFor, kir.LookBack))


def run_block(t: Traced, block: int) -> None:
    """One block. Raises KernelFailure where a check fails."""
    t.env[t.kernel.block.name] = block
    t.machine.block = block
    t.thread = 0
    t.shared.clear()
    t.shared_bytes.clear()
    t.stack = Stack(t.machine.everyone)
    t.work[:] = [0] * t.machine.threads
    t.body()
    t.machine.end_block()


# ---- statements --------------------------------------------------------------------------------------------------


def steps(t: Traced, stms: tuple[KStm, ...], who: Who) -> Step:
    """A statement list; in a thread's code its length counts as the thread's work."""
    done = tuple(step(t, s, Who.LEADER if who is Who.EVERY and solo(s) else who) for s in stms)
    count, taken = len(done), sum(map(is_on_block_stack, stms))
    if taken:
        done = (*done, lambda: t.stack.give_back(taken))
    if any(map(is_on_own_stack, stms)):
        done = t.own.scope(done)
    if who is Who.EVERY:

        def uniform() -> None:
            for one in done:
                one()

        return uniform

    def threaded() -> None:
        t.work[t.thread] += count
        for one in done:
            one()

    return threaded


def step(t: Traced, stm: KStm, who: Who) -> Step:
    """What a statement does when `who` executes it; statements that lanes have no form for are made by
    `t.for_threads`."""
    env = t.env
    if isinstance(stm, kir.Note) and isinstance(stm.what, Loc):
        t.here = stm.what
    match stm:
        case kir.KLet(var, kir.KLoad(array, index)):
            return assigning(env, var.name, load(t, stm, array, index, who))
        case kir.KLet(var, rhs):
            return assigning(env, var.name, value_of(env, rhs))
        case kir.Declare(var, value) | kir.Assign(var, value):
            return assigning(env, var.name, reader(env, value))
        case kir.Store():
            return store(t, stm, writer(who))
        case kir.Atomic():
            return atomic(t, stm, writer(who), who is Who.EVERY)
        case kir.Alloc(array, count):
            return alloc(t, stm, reader(env, count))
        case kir.Check(ok, site, values):
            return check(t, reader(env, ok), site, values)
        case kir.BoundsCheck(index, size, site, values):
            at, end = reader(env, index), reader(env, size)
            return check(t, lambda: 0 <= at() < end(), site, values)
        case kir.KIf(cond, then, orelse):
            return branch(reader(env, cond), steps(t, then, who), steps(t, orelse, who))
        case kir.For(index, bound, body):
            return counted(env, index.name, reader(env, bound), steps(t, body, who))
        case kir.KWhile(before, cond, body):
            return repeated(steps(t, before, who), reader(env, cond), steps(t, body, who))
        case kir.Threads(index, lo, hi, body) | kir.PeeledThreads(index, lo, hi, body=body):
            return in_turn(t, index, lo, hi, lambda: steps(t, body, Who.EACH))
        case kir.BlockReduce():
            return reduce(t, stm)
        case kir.BlockScan():
            return scan(t, stm)
        case kir.Fence():
            return t.fence
        case _:
            return t.for_threads(t, stm, who)


def assigning(env: dict[str, Any], name: str, get: Get) -> Step:
    """`name := get()`, for bindings, declarations and assignments alike."""

    def step() -> None:
        env[name] = get()

    return step


def branch(cond: Get, then: Step, orelse: Step) -> Step:
    """`if`: the condition is read when the step runs."""
    return lambda: then() if cond() else orelse()


def counted(env: dict[str, Any], index: str, bound: Get, body: Step) -> Step:
    """`for index < bound`; the bound is read once."""

    def step() -> None:
        for i in range(bound()):
            env[index] = i
            body()

    return step


def repeated(before: Step, cond: Get, body: Step) -> Step:
    """`while (before; cond) body`."""

    def step() -> None:
        before()
        while cond():
            body()
            before()

    return step


def check(t: Traced, ok: Get, site: int, values: tuple[Operand, ...]) -> Step:
    """Raises KernelFailure with the site and the values of its message unless `ok`."""
    shown = tuple(reader(t.env, v) for v in values)

    def step() -> None:
        if not ok():
            raise KernelFailure(t.kernel.sites[site], tuple(v() for v in shown))

    return step


# ---- scalars -----------------------------------------------------------------------------------------------------


def reader(env: dict[str, Any], x: Operand) -> Get:
    """Gives the value that an operand has at the time; that of a constant is fixed."""
    if isinstance(x, Const):
        value = x.value
        return lambda: value
    name = x.name
    return lambda: env[name]


def value_of(env: dict[str, Any], rhs: kir.Rhs) -> Get:
    """Gives the value of a right-hand side that is no access, by the meaning of `ir/scalar.py`. Arrays are taken to
    begin at a sector."""
    match rhs:
        case kir.KConvert(source, target, arg):
            get, convert = reader(env, arg), scalar.conversion(source, target)
            return get if source is target else lambda: convert(get())
        case kir.KOp(op, prim, args):
            meaning, gets = scalar.meaning(op, prim), [reader(env, a) for a in args]
            if len(gets) == 2:
                x, y = gets
                return lambda: meaning(x(), y())
            return lambda: meaning(*[get() for get in gets])
        case kir.KAligned(_, index, count):  # arrays are taken to begin at a sector
            at = reader(env, index)
            return lambda: at() % count == 0
        case kir.KLoad():
            raise AssertionError("loads are accesses")


# ---- accesses ----------------------------------------------------------------------------------------------------


def place_of(t: Traced, stm: KStm) -> int:
    """The number of a place in the text of the kernel."""
    t.places.append(show_stm(stm))
    t.sources.append(t.here)
    return len(t.places) - 1


def site_of(t: Traced, stm: KStm, array: kir.KArray) -> Site:
    """A new access site for a statement, registered with `t` so that it is counted."""
    site = new_site(place_of(t, stm), array)
    t.sites.append(site)
    return site


def place_in(t: Traced, array: kir.KArray, index: Operand) -> Get:
    """The element of an array; of a distributed one in that of the present index. One beyond that is in no array."""
    at = reader(t.env, index)
    if array.space is not Space.REGISTERS:
        return at

    def place() -> int:
        count = t.distributed[array.name]
        return t.index * count + at() if 0 <= at() < count else -1

    return place


def load(t: Traced, stm: KStm, array: kir.KArray, index: Operand, who: Who) -> Get:
    """Gives the element read; 0 where the index is out of bounds. Every thread reads where `who` is EVERY. An array
    without a history is only looked up for elements without a value."""
    site, at, machine = site_of(t, stm, array), place_in(t, array, index), t.machine
    nothing, note = zero(array), noting(t, site, who)
    everyone, name = range(machine.threads), array.name

    def get() -> Any:
        memory, i, thread = t.memory[name], at(), t.thread
        if not checked_index(machine, memory, i, thread, site.place):
            return nothing
        note(i)
        track = memory.track
        if track is None:
            defined = memory.defined.defined
            if defined is not None and not defined[i]:
                machine.read(memory.defined, i, thread, site.place)
        elif who is Who.EVERY:
            for one in everyone:
                machine.read(track, i, one, site.place)
        else:
            machine.read(track, i, thread, site.place)
        return memory.values[i]

    return get


def store(t: Traced, stm: kir.Store, who: Who) -> Step:
    """`array[index] := value`, none where the index is out of bounds. Where it `repeats`, an equal value may be written
    beside it."""
    site, at, machine = site_of(t, stm, stm.array), place_in(t, stm.array, stm.index), t.machine
    get, note, name = reader(t.env, stm.value), noting(t, site, who), stm.array.name

    def step() -> None:
        memory, i, thread = t.memory[name], at(), t.thread
        if not checked_index(machine, memory, i, thread, site.place):
            return
        note(i)
        value = get()
        if memory.track is None:
            if memory.defined.defined is not None:
                memory.defined.defined[i] = 1
        elif stm.repeats:
            machine.write_again(memory.track, i, thread, site.place, value)
        else:
            machine.write(memory.track, i, thread, site.place)
        memory.values[i] = value
        machine.plain_value(memory.defined, i, memory.values[i])

    return step


def atomic(t: Traced, stm: kir.Atomic, who: Who, meets: bool) -> Step:
    """If the block `meets` there, all threads have the old value."""
    site, at, get, machine = site_of(t, stm, stm.array), reader(t.env, stm.index), reader(t.env, stm.value), t.machine
    note, meaning, name = noting(t, site, who), scalar.meaning(stm.op, stm.prim), stm.array.name

    def step() -> None:
        memory, i, thread = t.memory[name], at(), t.thread
        if not checked_index(machine, memory, i, thread, site.place):
            return
        note(i)
        if memory.track is not None:
            machine.atomic(memory.track, i, thread, site.place)
        if stm.order in (kir.Order.RELEASE, kir.Order.BOTH):
            machine.release(memory.defined, i, thread, meaning(memory.values[i], get()))
        if stm.order in (kir.Order.ACQUIRE, kir.Order.BOTH):
            machine.acquire_all(memory.defined, i, thread)
        old = memory.values[i]
        memory.values[i] = meaning(old, get())
        if stm.out is not None:
            t.env[stm.out.name] = old
            if meets:
                machine.fence(machine.everyone)

    return step


def noting(t: Traced, site: Site, who: Who) -> Callable[[int], None]:
    """How an access is counted at its site."""
    warp, own, name = t.machine.warp, t.own, site.array.name
    if site.array in own.arrays:
        return lambda index: site.note(own.place(t.memory[name], index, t.thread % warp), t.thread // warp)
    if site.array.space in (Space.PRIVATE, Space.REGISTERS):
        return lambda index: None
    if who is Who.EACH:
        return lambda index: site.note(index, t.thread // warp)
    warps = t.warps if who is Who.EVERY else 1
    return lambda index: site.note_uniform(warps)


def alloc(t: Traced, stm: kir.Alloc, count: Get) -> Step:
    """New memory holds nothing; shared memory that is allocated again keeps its history: it is the same memory."""
    array, nothing, on_stack = stm.array, zero(stm.array), is_on_block_stack(stm)

    def step() -> None:
        size = max(0, count())
        track = Track(array.name, bytearray(size))
        if on_stack:
            t.stack.take(array, size, track)
        elif array.space is Space.SHARED:
            track.locations = t.shared.setdefault(array.name, track).locations
        if array.space is Space.SHARED:
            t.shared_bytes[array.name] = max(t.shared_bytes.get(array.name, 0), size * array.prim.bytes)
        start = t.own.take(array.prim.bytes, size) if array in t.own.arrays else 0
        history = track if array.space is Space.SHARED else None
        t.memory[array.name] = Memory(array, [nothing] * size, track, history, start)

    return step


# ---- threads and collectives -------------------------------------------------------------------------------------


def in_turn(t: Traced, index: kir.KVar, lo: Operand, hi: Operand, make: Callable[[], Step]) -> Step:
    """`body` for each index, by the threads in turn."""
    first_site = len(t.sites)
    body = make()
    sites = t.sites[first_site:]
    first, end, env, count = reader(t.env, lo), reader(t.env, hi), t.env, t.machine.threads

    def step() -> None:
        start = first()
        for i in range(start, end()):
            t.thread, t.index = (i - start) % count, i - start
            if t.thread == 0:
                close(sites)
            for site in sites:
                site.turn = 0
            env[index.name] = i
            body()
        close(sites)
        t.thread = 0

    return step


def close(sites: list[Site]) -> None:
    """A round of threads is over: its requests are counted."""
    for site in sites:
        site.close()


def operator(t: Traced, op: kir.KLambda) -> Callable[[list[Any], list[Any]], list[Any]]:
    """An operator on lists of values, one for each component; run as a thread's code."""
    env, body = t.env, steps(t, op.body, Who.EACH)
    left, right = [v.name for v in op.left], [v.name for v in op.right]
    results = [reader(env, r) for r in op.results]

    def combine(x: list[Any], y: list[Any]) -> list[Any]:
        env.update(zip(left, x))
        env.update(zip(right, y))
        body()
        return [r() for r in results]

    return combine


def reduce(t: Traced, stm: kir.BlockReduce) -> Step:
    """A reduction in ascending order; a fence of all threads before its results are there."""
    env = t.env
    neutral, values = [reader(env, n) for n in stm.neutral], [reader(env, v) for v in stm.values]
    total: list[Any] = []

    def make() -> Step:
        body, combine = steps(t, stm.body, Who.EACH), operator(t, stm.op)

        def turn() -> None:
            body()
            total[:] = combine(total, [v() for v in values])

        return turn

    loop = in_turn(t, stm.index, stm.lo, stm.hi, make)

    def step() -> None:
        total[:] = [n() for n in neutral]
        loop()
        t.machine.fence(t.machine.everyone)
        env.update(zip([v.name for v in stm.outs], total))

    return step


def scan(t: Traced, stm: kir.BlockScan) -> Step:
    """What `after` does is not yet visible to others at the end: its records are kept aside."""
    env, machine = t.env, t.machine
    carry, values = [reader(env, c) for c in stm.carry], [reader(env, v) for v in stm.values]
    scanned = [v.name for v in stm.scanned]
    total: list[Any] = []
    aside: list[Any] = []

    def make() -> Step:
        body, combine, after = steps(t, stm.body, Who.EACH), operator(t, stm.op), steps(t, stm.after, Who.EACH)

        def turn() -> None:
            body()
            total[:] = combine(total, [v() for v in values])
            env.update(zip(scanned, total))
            before, machine.live = machine.live, []
            after()
            aside.extend(machine.live)
            machine.live = before

        return turn

    loop = in_turn(t, stm.index, stm.lo, stm.hi, make)

    def step() -> None:
        total[:] = [c() for c in carry]
        loop()
        machine.fence(machine.everyone)
        machine.live += aside
        aside.clear()
        env.update(zip([v.name for v in stm.carry_out], total))

    return step
