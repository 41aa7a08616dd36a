"""Each rule by itself: it fires where it should, and the program means the same on every version.

The programs are nests in source; `FIRES` names the rules that full flattening must use.
"""

from __future__ import annotations

import numpy as np
import pytest

from soac.flatten.context.trace import Rule
from soac.flatten.flatten import Flattened, flatten_traced
from soac.flatten.fusion.driver import fuse
from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import PrimOp, Prog
from soac.ir.interpret import Thresholds, interpret
from soac.ir.machine import CUDA, Mode
from soac.ir.ops import Op
from soac.ir.parse import parse_prog
from soac.ir.traverse import all_exps
from soac.ir.types import Prim, Type, Var
from soac.ir.version_tree import combinations, sites
from soac.testing.structure import structure

RULES = {
    "map of a map": ("[n][m]i32", "map (map (+ 1)) xss", {Rule.G2, Rule.G1}),
    "reduce": ("[n]i32", "map (reduce (+) 0) xss", {Rule.GR_RED}),
    "scan": ("[n][m]i32", "map (scan (+) 0) xss", {Rule.GR_SCAN}),
    "scan and reduce": (
        "([n][m]i32, [n]i32)",
        "unzip (map (\\xs -> (scan (+) 0 xs, reduce i32.max 0 xs)) xss)",
        {Rule.GR_SCAN, Rule.GR_RED},
    ),
    "distribution": ("[n][m]i32", "map (\\xs -> let y = reduce (+) 0 xs in map (* y) xs) xss", {Rule.GR_RED, Rule.G1}),
    "expensive scalars once": (
        "[n][m]i32",
        "map2 (\\xs y -> let z = loop z = y for i < 5 do z * z + i in map (* z) xs) xss ys",
        {Rule.G6},
    ),
    "scatter": ("[n][m]i32", "map2 (\\xs y -> scatter (copy xs) (iota 2) [7, y]) xss ys", set()),
    "large scatter": (
        "[n][m]i32",
        "map (\\xs -> scatter (copy xs) (map (\\i -> m - i) (iota m)) xs) xss",
        {Rule.GR_SCATTER},
    ),
    "scatter two deep": (
        "[n][m][k]i32",
        "map (map (\\r -> scatter (copy r) (map (\\i -> k - i) (iota k)) r)) xsss",
        {Rule.GR_SCATTER},
    ),
    "chain whose operators do not commute": (
        "[n]i32",
        """map (\\y -> let xs = map (\\i -> i32.i64 i * y - 2) (iota (i64.i32 (i32.abs y)))
                    let first a b = if a == 0 then b else a
                    in reduce first 0 (map (\\c -> c % 3) (scan first 0 xs))) ys""",
        {Rule.SEQUENTIALISE},
    ),
    "hist": (
        "[n][m]i32",
        "map (\\xs -> hist (+) 0 m (map (\\x -> i64.i32 x % m) xs) xs) xss",
        {Rule.GR_HIST},
    ),
    "hist of rows": (
        "[n][m]i32",
        """map (\\xs -> map (\\r -> reduce (+) 0 r)
                         (hist (map2 (+)) (replicate k 0) m (map (\\x -> i64.i32 x % m) xs)
                               (map (\\x -> replicate k x) xs))) xss""",
        {Rule.HIST_ROWS, Rule.SPLIT},
    ),
    "transpose": ("[n][k][m]i32", "map transpose xsss", set()),
    "rotated dimensions": ("[n][k][m]i32", "map (\\a -> transpose (map (map (+ 1)) a)) xsss", {Rule.REARRANGE}),
    "reshape": ("[n]i32", "map (\\a -> reduce (+) 0 (flatten a)) xsss", {Rule.RESHAPE}),
    "reversed": ("[n][m]i32", "map (\\xs -> scan (+) 0 (reverse xs)) xss", {Rule.GR_SCAN}),
    "concat": ("[n][]i32", "map (\\xs -> scan (+) 0 (xs ++ scan (+) 0 xs)) xss", {Rule.CONCAT}),
    "concat of three": (
        "[n][]i32",
        "map (\\xs -> scan (+) 0 (concat xs (concat (scan (+) 0 xs) xs))) xss",
        {Rule.CONCAT},
    ),
    "column sums": ("[m]i32", "reduce (map2 (+)) (replicate m 0) xss", {Rule.IRWIM}),
    "column sums of computed rows": (
        "[m]i32",
        "reduce (map2 (+)) (replicate m 0) (map2 (\\xs y -> map (* y) xs) xss ys)",
        {Rule.IRWIM},
    ),
    "column scans": ("[n][m]i32", "scan (map2 i32.max) (replicate m 0) xss", {Rule.ISWIM}),
    "column sums in a nest": (
        "[n][k]i32",
        "map (\\a -> reduce (map2 (+)) (replicate k 0) a) xsss",
        {Rule.IRWIM},
    ),
    "plane sums": (
        "[m][k]i32",
        "reduce (map2 (map2 (+))) (replicate m (replicate k 0)) xsss",
        {Rule.IRWIM},
    ),
    "column sums of branches": (
        "[m]i32",
        "reduce (map2 (+)) (replicate m 0) (map2 (\\xs y -> if y > 1 then xs else replicate m y) xss ys)",
        {Rule.IRWIM},
    ),
    "column sums of two maps over other arrays": (
        "([m]i32, [m]i32)",
        "let (as, bs) = unzip (map2 (\\xs y -> (map (* 2) xs, map (\\j -> ys[j % n] * y) (iota m))) xss ys)"
        " in (reduce (map2 (+)) (replicate m 0) as, reduce (map2 i32.max) (replicate m (-100)) bs)",
        {Rule.SPLIT, Rule.IRWIM},
    ),
    "sums of rows and of scalars": (
        "([m]i32, i32)",
        "reduce (\\(as, a) (bs, b) -> (map2 (+) as bs, a + b)) (replicate m 0, 0) (zip xss ys)",
        {Rule.GR_RED},
    ),
    "sums by column beside sums": (
        "([m]i32, i32)",
        "let zs = map (+ 1) ys in (reduce (map2 (+)) (replicate m 0) (map (map (* 2)) xss), reduce (+) 0 zs)",
        {Rule.IRWIM, Rule.GR_RED},
    ),
    "scans of computed columns": (
        "[n][m]i32",
        "scan (map2 (+)) (replicate m 0) (map2 (\\xs y -> map (* y) xs) xss ys)",
        {Rule.ISWIM},
    ),
    "reduction of reductions": ("i32", "reduce i32.max 0 (map (reduce (+) 0) xss)", {Rule.SPLIT, Rule.GR_RED}),
    "loop of invariant length": (
        "[n][m]i32",
        "map (\\xs -> loop xs for i < 3 do map (+ i) (scan (+) 0 xs)) xss",
        {Rule.MAP_LOOP, Rule.GR_SCAN},
    ),
    "loop of variant length": (
        "[n][m]i32",
        "map2 (\\xs y -> loop xs for _i < y do scan (+) 0 xs) xss ys",
        {Rule.G1},
    ),
    "branch of invariant condition": (
        "[n][m]i32",
        "map (\\xs -> if c then scan (+) 0 xs else map (+ 1) xs) xss",
        {Rule.MAP_IF, Rule.GR_SCAN},
    ),
    "branch of variant condition": (
        "[n][m]i32",
        "map2 (\\xs y -> if y > 1 then scan (+) 0 xs else map (+ 1) xs) xss ys",
        {Rule.G1},
    ),
    "row of variant size": (
        "[n]i32",
        "map (\\y -> let is = iota (i64.i32 (i32.abs y)) in reduce (+) 0 (scan (+) 0 (map i32.i64 is))) ys",
        {Rule.SEQUENTIALISE},
    ),
    "variant and regular side by side": (
        "[n][m]i32",
        "map2 (\\xs y -> let s = reduce (+) 0 (map i32.i64 (iota (i64.i32 (i32.abs y)))) in scan (+) s xs) xss ys",
        {Rule.IRREGULAR},
    ),
    "operator that varies": (
        "[n][m]i32",
        "map2 (\\xs y -> let s = reduce i32.max y (map i32.i64 (iota (i64.i32 (i32.abs y)))) in map (+ s) xs) xss ys",
        {Rule.IRREGULAR},
    ),
    "filter in a nest": ("[n]i32", "map (\\xs -> reduce (+) 0 (filter (> 2) xs)) xss", set()),
    "iota from a variable": (
        "[n][m]i32",
        "map (\\y -> scan (+) 0 (map (\\i -> i32.i64 i + y) (iota m))) ys",
        {Rule.GR_SCAN},
    ),
    "reduction over indices that vary": (
        "[n]i32",
        "map (\\y -> i32.sum (map (\\i -> i32.sum (map (+ (i * y)) ys)) (map (\\j -> y + i32.i64 j) (iota m)))) ys",
        {Rule.SPLIT},
    ),
    "row sums of other rows": (
        "[m]i32",
        "reduce (map2 (+)) (replicate m 0) (map2 (\\xs y -> let s = i32.sum (map (* y) ys) in map (+ s) xs) xss ys)",
        {Rule.GR_RED},
    ),
    "replicate in a nest": ("[n][k]i32", "map (\\y -> replicate k y) ys", {Rule.G2, Rule.G1}),
    "elements of a filled row replaced": (
        "[n][]i32",
        "map (\\y -> replicate (m + 2) y with [i64.i32 (y % 2)] = 7 with [m] = y * y) ys",
        {Rule.G2, Rule.UPDATE},
    ),
    "elements of a row of known size replaced": (
        "[n][9]i32",
        "map (\\y -> replicate 9 y with [i64.i32 (y % 9)] = 7 with [8] = y * y) ys",
        {Rule.UPDATE},
    ),
    "an element of a short row replaced": ("[n][8]i32", "map (\\y -> replicate 8 y with [7] = 1) ys", {Rule.G1}),
    "an element replaced by another": (
        "[n][]i64",
        "map (\\y -> let is = iota (m + 2) with [m] = i64.i32 y in is with [i64.i32 (y % 2)] = is[m]) ys",
        {Rule.UPDATE},
    ),
    "update in a nest": (
        "[n][m]i32",
        "map2 (\\xs y -> let zs = scan (+) 0 xs in if m > 0 then copy zs with [0] = y else zs) xss ys",
        set(),
    ),
    "branch of writes": (
        "[n][m]i32",
        "map2 (\\xs y -> let zs = scan (+) 0 xs in if y > 3 && m > 0 then copy zs with [0] = y else zs) xss ys",
        {Rule.BRANCH_WRITE},
    ),
    "captured array": ("[n][m]i32", "map (\\y -> map (\\i -> if i < n then ys[i] + y else 0) (iota m)) ys", {Rule.G1}),
}


def compiled(result: str, body: str) -> Prog:
    text = f"""
    entry main [n][m][k] (xss: [n][m]i32) (ys: [n]i32) (xsss: [n][m][k]i32) (c: bool) : {result} =
      let result = {body} in result
    """
    prog = compile_text(text, "rules.soac")
    return simplify(fuse(simplify(inline(prog))))


def arguments(n: int, m: int, k: int, seed: int) -> list:
    numbers = np.random.default_rng(seed)
    shapes = ((n, m), (n,), (n, m, k))
    return [*(numbers.integers(-3, 9, shape).astype(np.int32) for shape in shapes), np.bool_(seed % 2)]


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    result, body, fires = RULES[name]
    prog = compiled(result, body)
    done = {mode: flatten_traced(prog, mode, CUDA) for mode in Mode}
    assert fires <= {fired.rule for fired in done[Mode.FULL].trail}
    for mode, flattened in done.items():
        check(flattened.prog, Stage.FLAT)
        assert_same_meaning(prog, flattened, mode)


@pytest.mark.parametrize(
    ("over_rows", "is_flat"),
    [
        ("i32.sum (map (* y) is)", True),
        ("i32.sum (reduce (map2 (+)) (replicate m 0) (map (\\i -> replicate m (y + i)) is))", True),
        ("(reduce (\\a b -> [a[0] * b[0], a[1] + a[0] * b[1]]) [1, 0] (map (\\i -> [i, y]) is))[1]", False),
        ("i32.sum (scan (map2 (+)) (replicate m 0) (map (\\i -> replicate m (y + i)) is))[0]", True),
        ("i32.sum (flatten (scan (map2 (map2 (+))) (replicate m (replicate k 0))"
         " (map (\\i -> replicate m (replicate k (y + i))) is))[0])", False),
    ],
)  # fmt: skip
def test_operators_over_rows_of_varying_length(over_rows: str, is_flat: bool) -> None:
    """Flattened are those on scalars and those that go row by row, in scans on rows of scalars."""
    varying = "map i32.i64 (iota (i64.i32 (i32.abs y % 4 + 1)))"
    prog = compiled("[n]i32", f"map (\\y -> let is = {varying} in {over_rows}) ys")
    fired = flatten_traced(prog, Mode.INCREMENTAL, CUDA).trail
    assert any(one.rule is Rule.BALANCE for one in fired) is is_flat


@pytest.mark.parametrize(
    ("operator", "is_flat"), [("map2 i32.max", True), ("\\a b -> scan (+) 0 (map2 (-) a b)", False)]
)
def test_reductions_side_by_side_of_rows_of_varying_size(operator: str, is_flat: bool) -> None:
    """Both are flattened, or a thread does both."""
    rows = "map (\\x -> map (\\j -> i32.i64 j + x) (iota k)) ys"
    sums = f"i32.sum (reduce (map2 (+)) none rows) + i32.sum (reduce ({operator}) none rows)"
    size = "i64.i32 (i32.abs y % 4 + 1)"
    prog = compiled("[n]i32", f"map (\\y -> let k = {size} let rows = {rows} let none = replicate k 0 in {sums}) ys")
    fired = flatten_traced(prog, Mode.INCREMENTAL, CUDA).trail
    assert any(one.rule is Rule.FLAT_RED for one in fired) is is_flat


def assert_same_meaning(prog: Prog, flattened: Flattened, mode: Mode) -> None:
    for seed, shape in enumerate([(3, 4, 2), (1, 1, 1), (0, 3, 2), (2, 0, 1)]):
        args = arguments(*shape, seed)
        expected, _ = interpret(prog, "main", args)
        for flat in (flattened.prog, simplify(flattened.prog)):
            for version in combinations(sites(flat)):
                found, _ = interpret(flat, "main", args, Thresholds(forced=version))
                for x, y in zip(expected, found, strict=True):
                    np.testing.assert_array_equal(x, y, err_msg=f"{mode} {version} {shape}")


def test_a_map_is_computed_once_where_its_rows_are_reduced_by_columns() -> None:
    body = "reduce (map2 (+)) (replicate m 0) (map2 (\\xs y -> map (* y) xs) xss ys)"
    flat = flatten_traced(compiled("[m]i32", body), Mode.FULL, CUDA).prog
    products = [exp for fun in flat.functions for exp in all_exps(fun.body) if isinstance(exp, PrimOp)]
    assert [exp.prim for exp in products if exp.op is Op.MUL] == [Prim.I32]


def test_every_soac_is_in_a_segop() -> None:
    """After flattening SOACs are left in the bodies of segops only."""
    for result, body, _ in RULES.values():
        for mode in Mode:
            found = structure(flatten_traced(compiled(result, body), mode, CUDA).prog)
            top = {path for path in found if path.startswith("/") and "Seg" not in path}
            assert not {path for path in top if path.split("/")[-1] in {"Map", "Redomap", "Scanomap", "Screma", "Hist"}}


def test_guards_compare_the_whole_nest() -> None:
    """Par(Σ') is the product of the widths, and the guard holds from the threshold on."""
    body = "map (map (\\x -> reduce (+) 0 (map (* x) ys))) xss"
    prog = flatten_traced(compiled("[n][m]i32", body), Mode.INCREMENTAL, CUDA).prog
    args = arguments(3, 4, 1, 0)
    (site,) = sites(prog)
    assert site.name == "main.result.suff_outer_0"
    for threshold, taken in ((11, True), (12, True), (13, False)):
        _, path = interpret(prog, "main", args, Thresholds({site.name: threshold}))
        assert path == ((site.name, 12, taken),)


def test_versions_are_linear_in_siblings() -> None:
    """Nests side by side have a guard each; their versions do not multiply."""
    body = "\n".join(f"let r{k} = map (\\xs -> reduce (+) {k} (map (* r{k - 1}[0]) xs)) xss" for k in range(1, 9))
    text = f"""
    entry main [n][m] (xss: [n][m]i32) (r0: [n]i32) : [n]i32 =
      {body}
      in r8
    """
    prog = simplify(fuse(simplify(inline(compile_text(text, "siblings.soac")))))
    flat = flatten_traced(prog, Mode.INCREMENTAL, CUDA).prog
    assert structure(flat)["If"] == 8
    assert len(sites(flat)) == 8


def test_types_of_kernels_are_closed() -> None:
    """No size of a result depends on the nest: arrays over nests are regular."""
    for result, body, _ in RULES.values():
        prog = flatten_traced(compiled(result, body), Mode.FULL, CUDA).prog
        for fun in prog.functions:
            bound = {p.name for p in fun.params} | {p.name for stm in fun.body.stms for p in stm.pat}
            for stm in fun.body.stms:
                assert all(isinstance(p.type, Type) and p.type.prim in Prim for p in stm.pat)
                sizes = {s.name for p in stm.pat for s in p.type.shape if isinstance(s, Var)}
                assert sizes <= bound | {p.name for c in prog.consts for p in c.pat}


def test_rearrange_in_a_nest_takes_the_right_dimensions() -> None:
    """The permutation of the rule is not its own inverse here."""
    prog = parse_prog("""next_name 20
    fun main_0 (a_1: i64, b_2: i64, c_3: i64, d_4: i64, x_5: [a_1][b_2][c_3][d_4]i32)
      : (r_6: [a_1][c_3][d_4][b_2]i32)
      entry "main" sizes 4 ("x": "" 1) : ("" (0)) = {
      let (y_7: [a_1][c_3][d_4][b_2]i32) =
        map a_1 (x_5) \\(r_8: [b_2][c_3][d_4]i32) : ([c_3][d_4][b_2]i32) -> {
          let (t_9: [c_3][d_4][b_2]i32) = rearrange (1, 2, 0) r_8
          in (t_9)
        }
      in (y_7)
    }""")
    flat = flatten_traced(prog, Mode.FULL, CUDA).prog
    check(flat, Stage.FLAT)
    data = np.arange(120, dtype=np.int32).reshape(2, 3, 4, 5)
    (found,), _ = interpret(flat, "main", [data])
    np.testing.assert_array_equal(found, data.transpose(0, 2, 3, 1))


def test_index_arrays_that_vary_are_not_made() -> None:
    """An element of an iota of the nest is computed where it is used, step and start included."""
    prog = parse_prog("""next_name 20
    fun main_0 (n_1: i64, m_2: i64, ys_3: [n_1]i32, zs_4: [m_2]i32) : (r_5: [n_1][m_2]i32)
      entry "main" sizes 2 ("ys": "" 1, "zs": "" 1) : ("" (0)) = {
      let (y_6: [n_1][m_2]i32) =
        map n_1 (ys_3) \\(y_7: i32) : ([m_2]i32) -> {
          let (is_8: [m_2]i32) = iota_i32 m_2 from y_7 by -3i32
          let (w_9: [m_2]i32) =
            map m_2 (is_8, zs_4) \\(i_10: i32, z_11: i32) : (i32) -> {
              let (p_12: i32) = mul_i32 i_10 z_11
              in (p_12)
            }
          in (w_9)
        }
      in (y_6)
    }""")
    done = flatten_traced(prog, Mode.FULL, CUDA)
    assert Rule.IOTA in {fired.rule for fired in done.trail}
    assert "SegMap/Iota" not in structure(done.prog)
    ys, zs = np.array([5, -1], np.int32), np.array([1, 2, 3, 4], np.int32)
    (found,), _ = interpret(done.prog, "main", [ys, zs])
    np.testing.assert_array_equal(found, (ys[:, None] - 3 * np.arange(4)) * zs)
