"""What only machines with threads have, traced: flags between blocks, teams, turns of warps, asynchronous copies, rows.

A look-back may find any tile of the chain published as a sum or as a total; here the last one that counts as a total is
chosen by the number of the tile, so that sums and totals are both read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ...ir import scalar
from ...ir.machine import WARP
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import Who, writer
from ..kernel_ir.fragments import INSTRUCTIONS, LANES, Place, Role, multiplied, place
from ..kernel_ir.nodes import KArray, KStm, Operand
from ..kernel_ir.tile_words import elements, packed, unpacked
from .closures import Step, Traced, close, noting, operator, reader, site_of, steps
from .memory import Memory, Site, checked_index, zero
from .visibility import Track


def for_threads(t: Traced, stm: KStm, who: Who) -> Step:
    """The step of a statement that lanes have no form for."""
    match stm:
        case kir.Publish(array, index, value):
            return publish(t, stm, array, index, value, writer(who))
        case kir.WaitFor():
            return wait_for(t, stm)
        case kir.LookBack():
            return look_back(t, stm)
        case kir.TeamReduce():
            return team_reduce(t, stm)
        case kir.WarpTurns():
            return warp_turns(t, stm)
        case kir.AsyncCopy():
            return async_copy(t, stm, who)
        case kir.CommitCopies():
            return by_each(t, who, t.machine.commit)
        case kir.WaitCopies(latest):
            return by_each(t, who, lambda thread: t.machine.wait(thread, latest))
        case kir.LoadMatrix():
            return load_matrix(t, stm, who)
        case kir.LoadRow():
            return load_row(t, stm, who)
        case kir.StoreRow():
            return store_row(t, stm, writer(who))
        case kir.Distribute(array, threads, count):
            return distribute(t, array, threads, count)
        case kir.Shuffle():
            return shuffle(t, stm)
        case kir.Mma():
            return multiply(t, stm)
        case _:  # a note says nothing
            return lambda: None


def executing(t: Traced, who: Who) -> range:
    """The threads that execute a statement now."""
    return range(t.machine.threads) if who is Who.EVERY else range(t.thread, t.thread + 1)


def by_each(t: Traced, who: Who, act: Callable[[int], None]) -> Step:
    """`act` for each thread that executes the statement, in ascending order."""

    def step() -> None:
        for thread in executing(t, who):
            act(thread)

    return step


# ---- accesses ----------------------------------------------------------------------------------------------------


def read(t: Traced, site: Site, array: KArray, index: int, thread: int) -> Any:
    """Element `index`, read by `thread`."""
    memory = t.memory[array.name]
    if not checked_index(t.machine, memory, index, thread, site.place):
        return zero(array)
    t.machine.read(memory.track or memory.defined, index, thread, site.place)
    return memory.values[index]


def write(t: Traced, site: Site, array: KArray, index: int, value: Any) -> None:
    """Element `index` := value, by the present thread; out of bounds nothing is written."""
    memory = t.memory[array.name]
    if checked_index(t.machine, memory, index, t.thread, site.place):
        t.machine.write(memory.track or memory.defined, index, t.thread, site.place)
        memory.values[index] = value


def load_row(t: Traced, stm: kir.LoadRow, who: Who) -> Step:
    """One request for all elements."""
    site, at = site_of(t, stm, stm.array), reader(t.env, stm.index)
    note = noting_row(t, site, who, len(stm.vars))

    def step() -> None:
        start = at()
        note(start)
        for k, var in enumerate(stm.vars):
            for thread in executing(t, who):
                t.env[var.name] = read(t, site, stm.array, start + k, thread)

    return step


def load_matrix(t: Traced, stm: kir.LoadMatrix, who: Who) -> Step:
    """Each thread its own elements; what the rows are that it names, the emulator shows."""
    site, at = site_of(t, stm, stm.array), reader(t.env, stm.index)
    offsets, note = [reader(t.env, offset) for offset in stm.offsets], noting(t, site, who)

    def step() -> None:
        start = at()
        for var, offset in zip(stm.vars, offsets, strict=True):
            note(start + offset())
            for thread in executing(t, who):
                t.env[var.name] = read(t, site, stm.array, start + offset(), thread)

    return step


def store_row(t: Traced, stm: kir.StoreRow, who: Who) -> Step:
    """Element after element; one request for all."""
    site, at, gets = site_of(t, stm, stm.array), reader(t.env, stm.index), [reader(t.env, v) for v in stm.values]
    note = noting_row(t, site, who, len(gets))

    def step() -> None:
        start = at()
        note(start)
        for k, get in enumerate(gets):
            write(t, site, stm.array, start + k, get())

    return step


def noting_row(t: Traced, site: Site, who: Who, count: int) -> Any:
    """A row is one request: its elements belong to the same turn of the thread."""
    note = noting(t, site, who)
    if who is not Who.EACH:
        return note

    def each(start: int) -> None:
        turn = site.turn
        for k in range(count):
            site.turn = turn
            note(start + k)
        site.lanes -= count - 1

    return each


def async_copy(t: Traced, stm: kir.AsyncCopy, who: Who) -> Step:
    """`count` elements from array to array, unseen until they are waited for. Reports a row that does not begin at a
    multiple of `count`, on either side, as out of bounds."""
    to, source = site_of(t, stm, stm.target), site_of(t, stm, stm.source)
    at, start = reader(t.env, stm.at), reader(t.env, stm.start)
    note_to, note_from = noting_row(t, to, who, stm.count), noting_row(t, source, who, stm.count)

    def one(i: int, k: int) -> None:
        target, origin, machine = t.memory[stm.target.name], t.memory[stm.source.name], t.machine
        good = checked_index(machine, target, i, t.thread, to.place)
        if not (checked_index(machine, origin, k, t.thread, source.place) and good):
            return
        machine.copy(origin.track or origin.defined, k, target.track or target.defined, i, t.thread, to.place)
        target.values[i] = origin.values[k]

    def step() -> None:
        i, k = at(), start()
        if i % stm.count or k % stm.count:
            t.machine.out_of_bounds(t.memory[stm.target.name].defined, i, t.thread, to.place)
        note_to(i)
        note_from(k)
        for part in range(stm.count):
            one(i + part, k + part)

    return step


def distribute(t: Traced, array: KArray, threads: int, count: int) -> Step:
    """No thread can meet another there; what has not been written is known."""

    def step() -> None:
        t.distributed[array.name] = count
        size = threads * count
        t.memory[array.name] = Memory(array, [zero(array)] * size, Track(array.name, bytearray(size)), None)

    return step


def shuffle(t: Traced, stm: kir.Shuffle) -> Step:
    """All threads read, then all of them write."""
    source, get = site_of(t, stm, stm.source), reader(t.env, stm.by)
    partner = scalar.meaning(stm.op, stm.prim)

    def step() -> None:
        origin, memory, by = t.memory[stm.source.name], t.memory[stm.target.name], get()
        values: list[Any] = []
        for thread in range(len(origin.values)):
            other = partner(thread, by)
            here = other if other // WARP.threads == thread // WARP.threads else thread
            if origin.defined.defined is not None and not origin.defined.defined[here]:
                t.machine.read(origin.defined, here, thread, source.place)
            values.append(origin.values[here])
        for thread, value in enumerate(values):
            if memory.defined.defined is not None:
                memory.defined.defined[thread] = 1
            memory.values[thread] = value

    return step


def multiply(t: Traced, stm: kir.Mma) -> Step:
    """The product of each warp, from the elements that its lanes hold."""
    site, instruction = site_of(t, stm, stm.sum), INSTRUCTIONS[stm.left.prim]
    starts = [reader(t.env, at) for at in (stm.to, stm.at, stm.start)]

    def places(array: KArray, role: Role, start: int, warp: int) -> dict[Place, int]:
        """Where the elements of a matrix are, by row and column."""
        layout, count = instruction.layouts[role], t.distributed[array.name]
        found = itertools.product(range(LANES), range(layout.count))
        return {place(layout, lane, k): (warp * LANES + lane) * count + start + k for lane, k in found}

    def step() -> None:
        to, left_at, right_at = (get() for get in starts)
        sums, lefts, rights = (t.memory[a.name] for a in (stm.sum, stm.left, stm.right))
        for warp in range(len(sums.values) // t.distributed[stm.sum.name] // LANES):
            total = places(stm.sum, Role.SUM, to, warp)
            left, right = places(stm.left, Role.LEFT, left_at, warp), places(stm.right, Role.RIGHT, right_at, warp)
            for memory, there in ((sums, total), (lefts, left), (rights, right)):
                for at in there.values():
                    t.machine.read(memory.track or memory.defined, at, warp * LANES % t.machine.threads, site.place)
            for (row, column), at in total.items():
                for k in range(instruction.depth):
                    x, y = lefts.values[left[row, k]], rights.values[right[k, column]]
                    sums.values[at] = multiplied(instruction, x, y, sums.values[at])

    return step


# ---- flags between blocks ----------------------------------------------------------------------------------------


def publish(t: Traced, stm: KStm, array: KArray, index: Operand, value: Operand, who: Who) -> Step:
    """A release: the flag gets its value, and speaks of all that its thread sees."""
    site, at, get = site_of(t, stm, array), reader(t.env, index), reader(t.env, value)
    note = noting(t, site, who)

    def step() -> None:
        memory, i = t.memory[array.name], at()
        if checked_index(t.machine, memory, i, t.thread, site.place):
            note(i)
            memory.values[i] = get()
            t.machine.publish(memory.track or memory.defined, i, t.thread, site.place, memory.values[i])

    return step


def flag_at(t: Traced, site: Site, flags: KArray, index: int, least: int, thread: int) -> int:
    """The flag, acquired by `thread`; it is reported where the blocks before did not bring it to `least`."""
    memory = t.memory[flags.name]
    if not checked_index(t.machine, memory, index, thread, site.place):
        return least
    t.machine.acquire(memory.track or memory.defined, index, thread, least)
    if memory.values[index] < least:
        t.machine.stuck(memory.defined, index, thread, site.place)
    return max(least, memory.values[index])


def wait_for(t: Traced, stm: kir.WaitFor) -> Step:
    """An acquire by the first thread and a fence of all: blocks run in order, so the flag must be there already, else
    it is reported."""
    site, at, least = site_of(t, stm, stm.array), reader(t.env, stm.index), reader(t.env, stm.least)

    def step() -> None:
        site.note_uniform(1)
        t.env[stm.out.name] = flag_at(t, site, stm.array, at(), least(), 0)
        t.machine.fence(t.machine.everyone)

    return step


def look_back(t: Traced, stm: kir.LookBack) -> Step:
    """Blocks run in order, so that the tile before has posted its total, else it is reported."""
    site, prims = site_of(t, stm, stm.words), [v.prim for v in stm.outs]
    tile, first, combine = reader(t.env, stm.tile), reader(t.env, stm.first), operator(t, stm.op)
    neutral, own = ([reader(t.env, x) for x in xs] for xs in (stm.neutral, stm.own))
    size = elements(prims)

    def posted(k: int) -> list[Any]:
        memory = t.memory[stm.words.name]
        status, values = unpacked(memory.values[k * size : (k + 1) * size], prims)
        if status != kir.TOTAL:
            t.machine.stuck(memory.defined, k * size, 0, site.place)
        return values

    def step() -> None:
        k, memory = tile(), t.memory[stm.words.name]
        if not all(checked_index(t.machine, memory, i, 0, site.place) for i in (k * size, (k + 1) * size - 1)):
            return
        before = posted(k - 1) if k > first() else [n() for n in neutral]
        words = packed(kir.TOTAL, combine(before, [x() for x in own]), prims)
        site.note_uniform(2)
        for i, word in enumerate(words, k * size):
            memory.values[i] = word
            t.machine.publish(memory.track or memory.defined, i, 0, site.place, word)
        t.machine.fence(t.machine.everyone)
        t.env.update(zip([v.name for v in stm.outs], before))

    return step


# ---- teams and turns ---------------------------------------------------------------------------------------------


def team_reduce(t: Traced, stm: kir.TeamReduce) -> Step:
    """Rounds of as many segments as there are teams; in each, rounds of as many elements as a team has threads."""
    env, first_site = t.env, len(t.sites)
    team, lo, hi, width = (reader(env, x) for x in (stm.team, stm.lo, stm.hi, stm.width))
    neutral, values = [reader(env, n) for n in stm.neutral], [reader(env, v) for v in stm.values]
    body, combine, after = steps(t, stm.body, Who.EACH), operator(t, stm.op), steps(t, stm.after, Who.EACH)
    sites = t.sites[first_site:]

    def turn(thread: int, act: Step) -> None:
        t.thread = thread
        for site in sites:
            site.turn = 0
        act()

    def round_of(segments: range, size: int) -> None:
        totals = [[n() for n in neutral] for _ in segments]
        for start in range(0, width(), size):
            for number, segment in enumerate(segments):
                for i in range(start, min(start + size, width())):
                    env[stm.segment.name], env[stm.index.name] = segment, i
                    turn(number * size + i - start, body)
                    totals[number] = combine(totals[number], [v() for v in values])
            close(sites)
        for number, segment in enumerate(segments):
            env[stm.segment.name] = segment
            env.update(zip([v.name for v in stm.outs], totals[number]))
            turn(number * size, after)
        close(sites)

    def step() -> None:
        size = min(team(), t.machine.warp, t.machine.threads)  # a machine of smaller warps has smaller teams
        teams = t.machine.threads // size
        for start in range(lo(), hi(), teams):
            round_of(range(start, min(start + teams, hi())), size)
        t.thread = 0

    return step


def warp_turns(t: Traced, stm: kir.WarpTurns) -> Step:
    """A thread's turn comes right after its body; the warp meets before each turn."""
    env, machine, first_site = t.env, t.machine, len(t.sites)
    lo, hi, key = reader(env, stm.lo), reader(env, stm.hi), reader(env, stm.key)
    body, taken = steps(t, stm.body, Who.EACH), steps(t, stm.turn, Who.EACH)
    sites = t.sites[first_site:]

    def one(thread: int, index: int) -> None:
        t.thread = thread
        for site in sites:
            site.turn = 0
        env[stm.index.name], env[stm.warp.name] = index, thread // machine.warp
        body()
        if key() >= 0:
            machine.fence(machine.warp_of(thread))
            taken()

    def step() -> None:
        start = lo()
        for index in range(start, hi()):
            if (index - start) % machine.threads == 0:
                close(sites)
            one((index - start) % machine.threads, index)
        close(sites)
        t.thread = 0

    return step
