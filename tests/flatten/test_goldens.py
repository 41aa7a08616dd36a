"""The worked goldens: structure of the flat program, and its value on every forced version."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from soac.flatten.flatten import flatten_traced
from soac.flatten.fusion.driver import fuse
from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Prog
from soac.ir.interpret import Thresholds, interpret
from soac.ir.machine import BLOCK, CUDA, THREAD, Machine, Mode
from soac.ir.show import show
from soac.ir.version_tree import combinations, sites
from soac.testing.structure import structure


def fused(text: str) -> Prog:
    return simplify(fuse(simplify(inline(compile_text(text, "golden.soac")))))


BLOCKS = Machine("blocks", (THREAD, BLOCK), 64, 32, None, None)


def flat(text: str, mode: Mode = Mode.INCREMENTAL, machine: Machine = CUDA) -> Prog:
    prog = simplify(flatten_traced(fused(text), mode, machine).prog)
    check(prog, Stage.FLAT)
    return prog


def counts(prog: Prog, *paths: str) -> tuple[int, ...]:
    found = structure(prog)
    return tuple(found.get(path, 0) for path in paths)


def kinds_of_versions(prog: Prog) -> list[str]:
    """Of the only site: the guard that each version passes, by its kind, from the least parallel version on."""
    (site,) = sites(prog)
    return [next((_kind(name) for name, side in version.items() if side), "full") for version in site.versions]


def _kind(threshold: str) -> str:
    return threshold.rpartition(".")[2].rpartition("_")[0]


def assert_value(prog: Prog, args: Sequence, *expected: object) -> None:
    """The results on every version of every site."""
    arrays = [np.array(arg, np.int32) if isinstance(arg, list) else arg for arg in args]
    for version in combinations(sites(prog)):
        results, path = interpret(prog, "main", arrays, Thresholds(forced=version))
        assert {name for name, _, _ in path} <= set(version)
        for result, value in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, np.array(value))


SUMROWS = """
def increment [n][m] (a: [n][m]i32) : [n][m]i32 = map (\\r -> map (+2) r) a
def sum [m] (a: [m]i32) : i32 = reduce (+) 0 a
entry main [n][m] (a: [n][m]i32) : [n]i32 = let ys = map sum (increment a) in ys
"""


def test_sumrows() -> None:
    """4.1: rows in one thread each, or a segmented reduction."""
    prog = flat(SUMROWS)
    assert counts(prog, "/If/True/SegMap", "/If/False/SegRed", "SegMap", "SegRed", "If") == (1, 1, 1, 1, 1)
    assert counts(prog, "/If/True/SegMap/Redomap") == (1,)
    assert [site.thresholds for site in sites(prog)] == [("main.ys.suff_outer_0",)]
    assert_value(prog, [[[1, 2], [3, 4]]], [7, 11])


def test_sumrows_on_every_level() -> None:
    """4.1, the full rule: also a row to a warp and to a block, whose threads reduce it."""
    prog = flat(SUMROWS, Mode.EVERY)
    assert kinds_of_versions(prog) == ["suff_outer", "suff_intra_warp", "suff_intra", "full"]
    warp, block = "/If/False/If/True/SegMap/SegRed", "/If/False/If/False/If/True/SegMap/SegRed"
    assert counts(prog, warp, block, "/If/False/If/False/If/False/SegRed") == (1, 1, 1)
    assert counts(prog, "SegMap/Redomap", "If") == (1, 3)
    text = show(prog)
    assert all(op in text for op in ("segmap^warp", "segmap^block", "segred^thread (i_"))
    assert_value(prog, [[[1, 2], [3, 4]]], [7, 11])


DISTRIBUTION = """
entry main [n][m] (xss: [n][m]i32) : [n][m]i32 =
  map (\\xs -> let y = reduce (+) 0 xs in map (+y) xs) xss
"""


def test_distribution_in_full() -> None:
    """4.2: G6 gives a segmented reduction and a map over both dimensions."""
    prog = flat(DISTRIBUTION, Mode.FULL)
    assert counts(prog, "/SegRed", "/SegMap", "SegRed", "SegMap", "If") == (1, 1, 1, 1, 0)
    assert "segmap^thread (i_" in show(prog)
    assert_value(prog, [[[1, 2], [3, 4]]], [[4, 5], [10, 11]])


def test_distribution_incremental() -> None:
    """4.2: beside it a version with a row in each thread, and one with the row in a block, which is read once."""
    prog = flat(DISTRIBUTION)
    assert kinds_of_versions(prog) == ["suff_outer", "suff_intra_warp", "suff_intra", "full"]
    block, full = "/If/False/If/False/If/True/SegMap", "/If/False/If/False/If/False"
    assert counts(prog, "/If/True/SegMap", f"{full}/SegRed", f"{full}/SegMap") == (1, 1, 1)
    assert counts(prog, block, f"{block}/SegRed", f"{block}/SegMap") == (1, 1, 1)
    assert_value(prog, [[[1, 2], [3, 4]]], [[4, 5], [10, 11]])


def test_a_version_that_does_not_fit_is_not_taken() -> None:
    """A warp takes 256 elements of a row, a block 1024; a forced version that does not fit gives way to the next."""
    prog = flat(DISTRIBUTION)
    version = {"main.ys.suff_outer_0": False, "main.ys.suff_intra_warp_0": True, "main.ys.suff_intra_0": True}
    taken = {256: [True], 257: [False, True], 1024: [False, True], 1025: [False, False]}
    for width, sides in taken.items():
        data = np.ones((1, width), np.int32)
        results, path = interpret(prog, "main", [data], Thresholds(forced=version))
        assert [side for _, _, side in path[1:]] == sides
        assert all(par == (width if side else -width) for _, par, side in path[1:])
        np.testing.assert_array_equal(results[0], data + width)


MATMUL = """
entry main [n][m][p] (xss: [n][p]i32) (yss: [p][m]i32) : [n][m]i32 =
  let zss = map (\\xs -> map (\\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose yss)) xss in zss
"""


def test_matmul() -> None:
    """4.3, the minimum: two versions, guarded by n*m."""
    prog = flat(MATMUL)
    assert counts(prog, "/If/True/SegMap", "/If/False/SegRed", "If", "SegMap", "SegRed") == (1, 1, 1, 1, 1)
    assert counts(prog, "/If/True/SegMap/Redomap") == (1,)
    xss, yss = [[1, 2, 3], [3, 4, 5]], [[1, 2], [3, 4], [5, 6]]
    assert_value(prog, [xss, yss], [[22, 28], [40, 52]])
    _, path = interpret(
        prog, "main", [np.array(xss, np.int32), np.array(yss, np.int32)], Thresholds({"main.zss.suff_outer_0": 4})
    )
    assert path == (("main.zss.suff_outer_0", 4, True),)


def test_matmul_in_full_rule() -> None:
    """4.3, the full rule: five versions on a machine with blocks, from a row to a thread to one product to a thread."""
    prog = flat(MATMUL, Mode.EVERY, BLOCKS)
    outer, inner = "/If/False/If/False", "/If/False/If/False/If/False"
    assert kinds_of_versions(prog) == ["suff_outer", "suff_intra", "suff_outer", "suff_intra", "full"]
    assert counts(prog, "/If/True/SegMap/Map/Redomap", "/If/False/If/True/SegMap/SegMap/Redomap") == (1, 1)
    assert counts(prog, f"{outer}/If/True/SegMap/Redomap", f"{inner}/If/True/SegMap/SegRed") == (1, 1)
    assert counts(prog, f"{inner}/If/False/SegRed", "If") == (1, 4)
    assert_value(prog, [[[1, 2, 3], [3, 4, 5]], [[1, 2], [3, 4], [5, 6]]], [[22, 28], [40, 52]])


ICFP = """
entry main [m] (pss: [m][m]i32) (n: i32) : ([m][m][m]i32, [m][m]i32) =
  unzip (map (\\(ps: [m]i32) ->
    let ass = map (\\(p: i32): [m]i32 ->
      let cs = scan (+) 0 (map i32.i64 (iota (i64.i32 p)))
      let r = reduce (+) 0 cs
      in map (+r) ps) ps
    let bs = loop ws=ps for i < n do
      map2 (\\as w ->
        let d = reduce (+) 0 as
        let e = d + w
        in 2 * e) ass ws
    in (ass, bs)) pss)
"""
PSS = [[1, 2, 3], [3, 2, 1], [4, 5, 6]]
ASSS = [
    [[1, 2, 3], [2, 3, 4], [5, 6, 7]],
    [[7, 6, 5], [4, 3, 2], [3, 2, 1]],
    [[14, 15, 16], [24, 25, 26], [39, 40, 41]],
]
BSS = [[92, 142, 276], [276, 142, 92], [662, 1090, 1728]]


def test_icfp_in_full() -> None:
    """4.4: three segmaps and a segred; the reduction is hoisted out of the loop; no array in any thread."""
    prog = flat(ICFP, Mode.FULL)
    assert counts(prog, "SegMap", "SegRed", "Loop/SegMap", "If", "/SegRed") == (3, 1, 1, 0, 1)
    assert counts(prog, "SegMap/Loop", "Scanomap", "Redomap", "SegMap/Iota") == (1, 0, 0, 0)
    assert_value(prog, [PSS, np.int32(3)], ASSS, BSS)


def test_icfp_incremental() -> None:
    """4.4: with versions, every version agrees."""
    prog = flat(ICFP)
    assert len(combinations(sites(prog))) > 1
    assert_value(prog, [PSS, np.int32(3)], ASSS, BSS)
    assert_value(prog, [PSS, np.int32(0)], ASSS, PSS)


def test_icfp_trace() -> None:
    """The steps of the walk-through, in the order in which they are reached; the letters are those of the guide."""
    trail = flatten_traced(fused(ICFP), Mode.FULL, CUDA).trail
    said = [re.sub(r"_\d+", "", str(fired)) for fired in trail]
    steps = iter(said)
    for step in (
        "G2: ys, ys",  # (b) distribute the map
        "stays in the thread: cs",  # (g) a width that varies
        "G6: r",  # (f) what the inner map needs
        "G1: r over m × m",
        "G1: ys over m × m × m",
        "map-loop: bs",  # (c)
        "Gr redomap: d over m × m × m",  # (e)
        "G1: ys over m × m",
        "skip scalars: e, mul",  # (d)
        "sequentialise: r",  # (h)
    ):
        assert step in steps, "\n".join(said)


THREE_SCANS = """
entry main [n][m][p] (xsss: [n][m][p]i32) : [n][m][p]i32 =
  map (map (\\xs ->
    let bs = scan (+) 0 xs
    let cs = scan i32.max i32.lowest bs
    in scan (\\a b -> (a * b) % 7) 1 cs)) xsss
"""


def test_three_scans() -> None:
    """4.5: one thread, one warp or one block to a row, or three kernels; the perfect outer map adds no version."""
    prog = flat(THREE_SCANS)
    assert kinds_of_versions(prog) == ["suff_outer", "suff_intra_warp", "suff_intra", "full"]
    warp, block, full = "/If/False/If/True", "/If/False/If/False/If/True", "/If/False/If/False/If/False"
    assert counts(prog, "/If/True/SegMap", f"{full}/SegScan", "If", "SegMap") == (1, 3, 3, 3)
    assert counts(prog, f"{warp}/SegMap/SegScan", f"{block}/SegMap/SegScan", f"{block}/SegMap") == (3, 3, 1)
    assert [site.thresholds[0] for site in sites(prog)] == ["main.ys.suff_outer_0"]
    data = np.arange(24, dtype=np.int32).reshape(2, 3, 4) % 5
    summed = np.maximum.accumulate(np.cumsum(data, axis=2), axis=2)
    expected = np.stack([summed[..., 0], *(summed[..., 0] * 0 for _ in range(3))], axis=2)
    for k in range(1, 4):
        expected[..., k] = expected[..., k - 1] * summed[..., k] % 7
    assert_value(prog, [data], expected)


def test_rearrange_in_nest() -> None:
    """4.8: map transpose is a rearrange, and no segop."""
    text = "entry main [a][b][c] (y: [a][b][c]i32) : [a][c][b]i32 = map transpose y"
    for mode in Mode:
        prog = flat(text, mode)
        found = structure(prog)
        assert not any(kind in path for path in found for kind in ("Seg", "Map"))
        assert "rearrange (0, 2, 1)" in show(prog)
        data = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
        assert_value(prog, [data], data.transpose(0, 2, 1))


INTERCHANGE = """
entry main [m][k] (xss: [m][k]i32) (n: i32) : ([m][k]i32, [m]i32) =
  unzip (map (\\xs -> loop (xs', j) = (xs, 0) for i < n do (map (+j) xs', j + i)) xss)
"""


@pytest.mark.parametrize("mode", [Mode.FULL, Mode.INCREMENTAL])
def test_interchange(mode: Mode) -> None:
    """4.8: the loop goes outside, with one segmap for the rows and one for the counters."""
    prog = flat(INTERCHANGE, mode)
    assert counts(prog, "/Loop/SegMap", "SegMap", "If") == (2, 2, 0)
    assert_value(prog, [[[1, 2], [3, 4], [5, 6]], np.int32(4)], [[5, 6], [7, 8], [9, 10]], [6, 6, 6])


def test_no_interchange_with_a_variant_trip_count() -> None:
    """4.8: then the loop stays in the thread."""
    text = """
    entry main [m][k] (xss: [m][k]i32) (ns: [m]i32) : [m][k]i32 =
      map2 (\\xs n -> loop xs for i < n do map (+i) xs) xss ns
    """
    prog = flat(text)
    assert counts(prog, "/SegMap", "SegMap/Loop", "/Loop", "If") == (1, 1, 0, 0)
    assert_value(prog, [[[1, 2], [3, 4]], [3, 0]], [[4, 5], [3, 4]])


def test_a_collective_does_a_loop_of_its_own_together() -> None:
    """The trip count varies over the nest, but not over the threads of a warp or block."""
    text = """
    entry main [m][k] (xss: [m][k]i32) (ns: [m]i32) : [m][k]i32 =
      map2 (\\xs n -> loop xs for i < n do scan (+) 0 (map (+i) xs)) xss ns
    """
    together = ("/If/True/SegMap/Loop/SegScan", "/If/False/If/True/SegMap/Loop/SegScan")
    prog = flat(text)
    assert counts(prog, *together, "/If/False/If/False/SegMap/Loop", "/Loop") == (1, 1, 1, 0)
    assert_value(prog, [[[1, 2], [3, 4]], [2, 0]], [[2, 6], [3, 4]])
    assert counts(flat(text, Mode.FULL), "/SegMap/Loop", "If") == (1, 0)


def test_triple_scalar_nest() -> None:
    """4.8: three nested maps of scalar code are one segmap, and there is no guard."""
    text = "entry main [a][b][c] (y: [a][b][c]i32) : [a][b][c]i32 = map (map (map (\\x -> x * x + 1))) y"
    for mode in (Mode.FULL, Mode.OUTER, Mode.INCREMENTAL):
        prog = flat(text, mode)
        assert counts(prog, "SegMap", "/SegMap", "If") == (1, 1, 0)
        data = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
        assert_value(prog, [data], data * data + 1)


def test_redomap_under_map() -> None:
    """4.8: a redomap in a map is one segmented reduction."""
    prog = flat(SUMROWS, Mode.FULL)
    assert counts(prog, "SegRed", "SegMap") == (1, 0)


def test_outermost_only() -> None:
    prog = flat(MATMUL, Mode.OUTER)
    assert counts(prog, "/SegMap", "SegMap", "SegRed", "If") == (1, 1, 0, 0)


ATTRIBUTES = {
    "#[sequential_inner]": (1, 0, 0),
    "#[flattening(no_outer)]": (0, 1, 0),
    "#[flattening(only_inner)]": (0, 1, 0),
    "#[sequential]": (1, 0, 0),
    "#[sequential_outer]": (0, 1, 0),
}


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_attributes(attribute: str) -> None:
    text = f"entry main [n][m] (a: [n][m]i32) : [n]i32 = {attribute} map (\\r -> reduce (+) 0 r) a"
    prog = flat(text)
    assert counts(prog, "SegMap", "SegRed", "If") == ATTRIBUTES[attribute]
    assert_value(prog, [[[1, 2], [3, 4]]], [3, 7])


LEVEL_ATTRIBUTES = {
    "#[sequential_inner]": None,
    "#[flattening(only_inner)]": None,
    "#[flattening(only_intra)]": None,
    "#[flattening(no_intra)]": ["suff_outer", "full"],
    "#[flattening(no_outer)]": ["suff_intra_warp", "suff_intra", "full"],
    "#[flattening(no_outer)] #[flattening(no_intra)]": None,
}


@pytest.mark.parametrize("attribute", LEVEL_ATTRIBUTES)
def test_attributes_of_levels(attribute: str) -> None:
    """They leave some of the versions of 4.2, or one without a guard; that in a block then runs at any size."""
    prog = flat(DISTRIBUTION.replace("map (\\xs ->", f"{attribute} map (\\xs ->"))
    wanted = LEVEL_ATTRIBUTES[attribute]
    if wanted is None:
        assert counts(prog, "If") == (0,)
        assert ("segmap^block" in show(prog)) == ("only_intra" in attribute)
        assert_value(prog, [np.ones((1, 1025), np.int32).tolist()], [[1026] * 1025])
    else:
        assert kinds_of_versions(prog) == wanted
    assert_value(prog, [[[1, 2], [3, 4]]], [[4, 5], [10, 11]])


def test_names_of_thresholds_are_stable() -> None:
    """An edit of another binding renames nothing."""
    other = "let zs = map (\\r -> reduce (+) 0 (map (*ys[0]) r)) a in map2 (+) ys zs"
    more = SUMROWS.replace("in ys", other)
    before = {name for site in sites(flat(SUMROWS)) for name in site.thresholds}
    after = {name for site in sites(flat(more)) for name in site.thresholds}
    assert before <= after
    assert len(after) == 2


def test_budget() -> None:
    """Too many versions are dropped, with a warning; the value is the same."""
    steps = "".join(f"  let y{k + 1} = map (\\r -> reduce (+) 0 (map (* y{k}[0]) r)) a\n" for k in range(70))
    text = f"entry main [n][m] (a: [n][m]i32) (y0: [n]i32) : [n]i32 =\n{steps}  in y70"
    done = flatten_traced(fused(text), Mode.INCREMENTAL, CUDA)
    assert len(sites(done.prog)) == 63
    (warning,) = done.warnings
    assert warning.code == "W0302"
    assert "pruned to 64 versions of `main`, 7 dropped" in warning.message


def test_budget_of_levels() -> None:
    """Versions inside a level are dropped first: three guards for each of 21 bindings are all that fit."""
    steps = "".join(
        f"  let y{k + 1} = map (\\r -> let s = reduce (+) 0 r in reduce i32.max s (map (* y{k}[0]) r)) a\n"
        for k in range(25)
    )
    text = f"entry main [n][m] (a: [n][m]i32) (y0: [n]i32) : [n]i32 =\n{steps}  in y25"
    done = flatten_traced(fused(text), Mode.INCREMENTAL, CUDA)
    assert [len(site.thresholds) for site in sites(done.prog)] == [3] * 21
    (warning,) = done.warnings
    assert "pruned to 64 versions of `main`, 12 dropped" in warning.message
