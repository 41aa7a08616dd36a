"""The visibility-record machine: small parallel programs with exactly known numbers of hazards.

Each program is run thread by thread on the machine; `drop` leaves out fences by their number.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from soac.kernels.tracer.visibility import Access, Hazard, Kind, Machine, Missing, Track

NONE: frozenset[int] = frozenset()


class Fences:
    """Counts the fences that are executed, and leaves out those of `drop`."""

    def __init__(self, machine: Machine, drop: frozenset[int] = NONE) -> None:
        self.machine, self.drop, self.number = machine, drop, 0

    def __call__(self, threads: int | None = None) -> None:
        if self.number not in self.drop:
            self.machine.fence(self.machine.everyone if threads is None else threads)
        self.number += 1


def machine(threads: int, warp: int = 32) -> Machine:
    return Machine(threads, warp)


def found(m: Machine) -> dict[str, int]:
    return {kind.name: n for kind, n in m.counts.items() if n}


# ---- tiled redomap: map (\x -> redomap (+) (\y -> y + x) 0 xs) xs --------------------------------------------------


def tiled(n: int, t: int, raw: bool = True, war: bool = True, peel: bool = False) -> tuple[int, dict[str, int]]:
    """Fences executed, hazards. `raw`, `war`: the fence after the copy, after the use; `peel`: not after the last."""
    m = machine(t)
    fence, tile = Fences(m), Track("ys", bytearray(t))
    tiles = -(-n // t)
    for k in range(tiles):
        here = min(t, n - k * t)
        for thread in range(here):
            m.write(tile, thread, thread, 0)
        if raw:
            fence()
        for thread in range(t):
            for j in range(here):
                m.read(tile, j, thread, 1)
        if war and not (peel and k == tiles - 1):
            fence()
    return fence.number, found(m)


def test_tiled_redomap_needs_both_fences() -> None:
    assert tiled(40, 8) == (10, {})
    assert tiled(40, 8, peel=True) == (9, {})
    assert tiled(40, 8, raw=False)[1] == {"RAW": 280}
    assert tiled(40, 8, war=False)[1] == {"WAR": 224}
    both = tiled(40, 8, raw=False, war=False)[1]
    assert sum(both.values()) == 504
    assert both == {"RAW": 280, "WAR": 224}


@pytest.mark.parametrize("n", [0, 1, 5, 7, 8, 9, 26, 37])
def test_tiled_redomap_is_clean_at_every_size(n: int) -> None:
    assert tiled(n, 8)[1] == {}


# ---- tree reduction, scans, histogram ------------------------------------------------------------------------------


def tree_reduction(t: int, drop: frozenset[int] = NONE) -> tuple[int, dict[str, int]]:
    """Sum in shared memory by halving, then every thread reads the total."""
    m = machine(t)
    fence, s = Fences(m, drop), Track("s", bytearray(t))
    for thread in range(t):
        m.write(s, thread, thread, 0)
    fence()
    half = t // 2
    while half:
        for thread in range(half):
            m.read(s, thread, thread, 1)
            m.read(s, thread + half, thread, 2)
            m.write(s, thread, thread, 3)
        half //= 2
        fence()
    for thread in range(t):
        m.read(s, 0, thread, 4)
    return fence.number, found(m)


def test_tree_reduction_needs_each_of_its_fences() -> None:
    assert tree_reduction(16) == (5, {})
    dropped = [tree_reduction(16, frozenset({k}))[1] for k in range(5)]
    assert dropped == [{"RAW": n} for n in (8, 4, 2, 1, 15)]


def hillis_steele(t: int, between: bool, double: bool) -> tuple[int, dict[str, int]]:
    """Inclusive scan in log t steps; `between`: a fence between the reads and the writes of a step."""
    m = machine(t)
    fence, buffers, now, distance = Fences(m), [Track("a", bytearray(t)), Track("b", bytearray(t))], 0, 1
    for thread in range(t):
        m.write(buffers[0], thread, thread, 0)
    fence()
    while distance < t:
        for thread in range(t):
            m.read(buffers[now], thread, thread, 1)
            if thread >= distance:
                m.read(buffers[now], thread - distance, thread, 2)
        if between:
            fence()
        now = 1 - now if double else now
        for thread in range(t):
            m.write(buffers[now], thread, thread, 3)
        fence()
        distance *= 2
    return fence.number, found(m)


def test_hillis_steele_scan() -> None:
    assert hillis_steele(8, between=True, double=False) == (7, {})
    assert hillis_steele(8, between=False, double=False) == (4, {"WAR": 17})


def test_double_buffering_halves_the_fences() -> None:
    assert hillis_steele(8, between=False, double=True) == (4, {})


def test_histogram_needs_atomics() -> None:
    def histogram(update: Callable[[Machine, Track, int], None]) -> dict[str, int]:
        m, bins = machine(16), Track("bins", None)
        for thread in range(16):
            update(m, bins, thread)
        return found(m)

    assert histogram(lambda m, bins, t: m.atomic(bins, t % 3, t, 0)) == {}
    assert histogram(lambda m, bins, t: m.write(bins, t % 3, t, 0)) == {"WAW": 13}


def test_atomics_order_nothing_else() -> None:
    m, bins = machine(4), Track("bins", bytearray(1))
    m.atomic(bins, 0, 0, 0)
    m.atomic(bins, 0, 1, 0)
    m.read(bins, 0, 0, 1)
    assert found(m) == {"UNINIT": 1, "RAW": 1}


# ---- scopes --------------------------------------------------------------------------------------------------------


def neighbours(scope: str) -> dict[str, int]:
    """Each thread of two warps reads what its right neighbour, or that of the next warp, wrote."""
    m, a = machine(8, warp=4), Track("a", bytearray(8))
    for thread in range(8):
        m.write(a, thread, thread, 0)
    if scope == "warp":
        for first in (0, 4):
            m.fence(m.warp_of(first))
    elif scope == "block":
        m.fence(m.everyone)
    for thread in range(8):
        m.read(a, (thread + 1) % 8, thread, 1)
    return found(m)


def test_a_fence_narrowed_to_the_warp_leaves_the_edges() -> None:
    assert neighbours("block") == {}
    assert neighbours("warp") == {"RAW": 2}
    assert neighbours("none") == {"RAW": 8}


def test_a_fence_of_a_warp_suffices_inside_it() -> None:
    m, a = machine(8, warp=4), Track("a", bytearray(8))
    for thread in range(4):
        m.write(a, thread, thread, 0)
    m.fence(m.warp_of(2))
    for thread in range(4):
        m.read(a, 3 - thread, thread, 1)
    assert found(m) == {}


def test_visibility_is_passed_on() -> None:
    """Warp by warp: who sees a write spreads it with the next fence."""
    m, a = machine(8, warp=4), Track("a", bytearray(1))
    m.write(a, 0, 0, 0)
    m.fence(0b00001111)
    m.fence(0b00011000)
    m.read(a, 0, 4, 1)
    assert found(m) == {}
    m.read(a, 0, 5, 1)
    assert found(m) == {"RAW": 1}


def test_a_hazard_names_both_sides_and_what_is_missing() -> None:
    m, a = machine(8, warp=4), Track("a", bytearray(4))
    m.write(a, 2, 1, 10)
    m.read(a, 2, 3, 11)
    m.read(a, 2, 6, 12)
    m.end_block()
    m.write(a, 2, 1, 13)
    raw_warp = Hazard(Kind.RAW, "a", 2, Access(0, 1, 10), Access(0, 3, 11), Missing.WARP)
    raw_block = Hazard(Kind.RAW, "a", 2, Access(0, 1, 10), Access(0, 6, 12), Missing.BLOCK)
    assert m.hazards[:2] == [raw_warp, raw_block]
    assert {(h.kind, h.missing) for h in m.hazards[2:]} == {(Kind.WAR, Missing.GRID), (Kind.WAW, Missing.GRID)}


def test_blocks_are_unordered_whatever_is_fenced() -> None:
    m, a = machine(4), Track("a", None)
    m.write(a, 0, 0, 0)
    m.fence(m.everyone)
    m.end_block()
    m.fence(m.everyone)
    m.read(a, 0, 0, 1)
    assert found(m) == {"RAW": 1}


def test_uninitialised_and_out_of_bounds() -> None:
    m, a = machine(4), Track("a", bytearray(2))
    m.read(a, 0, 0, 0)
    m.write(a, 0, 0, 1)
    m.read(a, 0, 0, 2)
    m.out_of_bounds(a, 2, 0, 3)
    assert found(m) == {"UNINIT": 1, "BOUNDS": 1}


def test_hazards_are_counted_beyond_those_that_are_kept() -> None:
    m, a = machine(2), Track("a", None)
    for place in range(5000):
        m.write(a, 0, place % 2, place)
    assert m.counts[Kind.WAW] == 4999
    assert len(m.hazards) == 1000


# ---- asynchronous copies -------------------------------------------------------------------------------------------


def pipeline(tiles: int, latest: int = 1, waits: bool = True, war: bool = True, buffers: int = 2) -> dict[str, int]:
    """Tiles copied asynchronously into two buffers, one ahead of the one that is used."""
    t = 4
    m, source = machine(t), Track("xs", None)
    tile = Track("tile", bytearray(buffers * t))

    def fetch(k: int) -> None:
        for thread in range(t):
            if k < tiles:
                m.copy(source, k * t + thread, tile, k % buffers * t + thread, thread, 0)
            m.commit(thread)

    fetch(0)
    for k in range(tiles):
        fetch(k + 1)
        if waits:
            for thread in range(t):
                m.wait(thread, latest)
        m.fence(m.everyone)
        for thread in range(t):
            for j in range(t):
                m.read(tile, k % buffers * t + j, thread, 1)
        if war:
            m.fence(m.everyone)
    return found(m)


def test_a_pipeline_of_asynchronous_copies() -> None:
    assert pipeline(5) == {}
    assert pipeline(1) == {}


def test_a_fence_does_not_wait_for_copies() -> None:
    assert pipeline(5, waits=False).keys() == {"RAW", "WAW"}


def test_waiting_for_one_group_fewer() -> None:
    assert pipeline(5, latest=2)["RAW"] == 5 * 4 * 4


def test_a_pipeline_needs_its_second_fence() -> None:
    assert pipeline(5, war=False).keys() == {"WAR"}


def test_one_buffer_does_not_double() -> None:
    assert "RAW" in pipeline(5, buffers=1)


def test_the_copying_thread_must_wait_too() -> None:
    m, a, b = machine(2), Track("a", None), Track("b", bytearray(1))
    m.copy(a, 0, b, 0, 0, 0)
    m.commit(0)
    m.read(b, 0, 0, 1)
    assert [h.missing for h in m.hazards] == [Missing.WAIT]
    m.wait(0, 0)
    m.read(b, 0, 0, 2)
    assert m.counts[Kind.RAW] == 1


def test_the_source_of_a_copy_is_read_until_it_is_waited_for() -> None:
    m, a, b = machine(2), Track("a", None), Track("b", bytearray(1))
    m.copy(a, 0, b, 0, 0, 0)
    m.commit(0)
    m.read(a, 0, 0, 1)
    m.write(a, 0, 0, 2)
    assert found(m) == {"WAR": 1}


# ---- scatters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "hazards"),
    [([7, 7, 7], {}), ([7, 7, 8], {"WAW": 2}), ([0.0, -0.0], {"WAW": 1}), ([float("nan")] * 2, {}), ([1, True], {})],
)
def test_a_scatter_may_write_a_value_again(values: list, hazards: dict[str, int]) -> None:
    m, dest = machine(4), Track("dest", None)
    for thread, value in enumerate(values):
        m.write_again(dest, 0, thread, 0, value)
    assert found(m) == hazards


def test_a_plain_write_of_that_value_is_a_race() -> None:
    m, dest = machine(4), Track("dest", None)
    m.write_again(dest, 0, 0, 0, 7)
    m.write(dest, 0, 1, 1)
    m.write_again(dest, 0, 2, 0, 7)
    assert found(m) == {"WAW": 2}


def test_a_reader_must_see_all_that_wrote() -> None:
    m, dest = machine(64), Track("dest", None)
    m.write_again(dest, 0, 40, 0, 7)
    m.write_again(dest, 0, 0, 0, 7)
    m.fence(m.warp_of(0))
    m.read(dest, 0, 1, 1)
    assert found(m) == {"RAW": 1}
    m.fence(m.everyone)
    m.read(dest, 0, 1, 1)
    assert found(m) == {"RAW": 1}


def test_blocks_may_write_a_value_again() -> None:
    m, dest = machine(4), Track("dest", None)
    for value in (7, 7, 8):
        m.write_again(dest, 0, 0, 0, value)
        m.end_block()
    assert found(m) == {"WAW": 2}
