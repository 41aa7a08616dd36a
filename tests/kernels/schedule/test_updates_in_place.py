"""Updates inside of kernels by maps that are made in the part that they overwrite."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.interpret import interpret
from soac.ir.version_tree import combinations, sites
from soac.kernels.kernel_ir.nodes import Alloc
from soac.kernels.kernel_ir.show import show_kernel
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.tracer.run import TraceSettings, trace_program

PARTS = {
    "block": (
        "let m = n - (k + 1) let row = a[k, k+1:] :> [m]i32 in "
        "a with [k+1:, k+1:] = map (\\r -> map2 (\\x u -> x - u * 3) r row) (a[k+1:, k+1:] :> [m][m]i32)",
        0,
    ),
    "row by another": (
        "if k == 0 then a else a with [k] = map2 (\\x y -> x * 2 + y) a[k] a[k - 1]",
        0,
    ),
    "column by another": (
        "let m = n - (k + 1) in a with [k+1:, k] = map2 (+) (a[k+1:, k] :> [m]i32) (a[k, k+1:] :> [m]i32)",
        1,  # the part is checked behind the map
    ),
    "row by any": ("let p = (k * 7 + 3) % n in a with [k] = map2 (\\x y -> x * 2 + y) a[k] a[p]", 1),
    "backwards": ("a with [k] = map2 (\\x y -> x * 2 + y) a[k] (reverse a[k])", 1),
    "turned": ("a with [:, :] = map2 (map2 (\\x y -> x * 2 + y)) a (transpose a)", 1),
    "neighbours": (
        "let m = n - 1 in a with [k, 1:] = map2 (\\x y -> x * 2 + y) (a[k, 1:] :> [m]i32) (a[k, :m] :> [m]i32)",
        1,
    ),
    "its first": ("a with [k] = map (\\x -> x + a[k, 0]) a[k]", 0),  # read before
    "repeated": ("a with [:, :] = map2 (map2 (\\x y -> x * 2 + y)) a (replicate n a[k])", 1),
    "used again": (
        "let row = map (* 2) a[k] let a = a with [k] = row in a with [0] = map2 (+) a[0] row",
        2,
    ),
}
"""A round of a loop over the rows of each matrix, and how many arrays it makes beside the matrix."""


def made_by_lanes(program: soac.Program) -> int:
    """How many arrays the kernel with a lane for each point makes beside its results."""
    (by_lanes,) = [kernel for kernel in program.compiled.host.kernels if kernel.name == "main_ys_1"]
    return sum(isinstance(stm, Alloc) for stm in statements(by_lanes.body))


@pytest.mark.parametrize("name", PARTS)
def test_updates(name: str) -> None:
    step, made = PARTS[name]
    text = (
        "entry main [b][n] (as: [b][n][n]i32): [b][n][n]i32 = "
        f"#[sequential_inner] map (\\a -> loop a = copy a for k < n do {step}) as"
    )
    program = soac.compile(text)
    assert made_by_lanes(program) == made
    for b, n in ((1, 1), (2, 3), (3, 17), (9, 8)):
        args = [np.random.default_rng(n).integers(-9, 9, (b, n, n), dtype=np.int32)]
        (expected,), _ = interpret(program.compiled.core, "main", [args[0].copy()])
        np.testing.assert_array_equal(program.call("main", args)[0], expected)
        assert trace_program(program.compiled, "main", args, {}, TraceSettings(threads=8, warp=4)).is_clean


CARRIED = {
    "own": ("(map2 (\\x y -> x * 2 + y + z) a r, c, z + r[0])", 0),
    "its first": ("let s = a[0] in (map2 (\\x y -> x * s + y) a r, c, z + s)", 0),
    "two": ("(map2 (-) a r, map3 (\\x y u -> x * z + y * u) c a r, z + 1)", 0),
    "crosswise": ("(map3 (\\x y u -> x * 2 + y - u) a c r, map2 (\\x y -> x - y * z) a c, z + 1)", 0),
    "exchanged": ("(map2 (\\x y -> x - y * z) c r, map2 (\\x y -> x * 2 + y) a r, z + r[0])", 0),
    "neighbours": ("(map2 (\\i y -> a[i32.max 0 (i - 1)] * 2 + y) (map i32.i64 (iota m)) r, c, z + r[0])", 1),
    "backwards": ("(map2 (\\x y -> x * 2 + y) (reverse a) r, c, z + r[0])", 1),
    "used later": ("let ys = map2 (\\x y -> x * 2 + y) a r in (ys, c, z + ys[0] * a[0])", 1),
    "both": ("let ys = map2 (\\x y -> x * 2 + y) a r in (ys, a, z + r[0])", 2),
    "twice": ("let ys = map2 (\\x y -> x * 2 + y) a r in (ys, ys, z + r[0])", 2),
}
"""A round of a loop over the rows of a matrix, and how many arrays lanes make beside the results."""


@pytest.mark.parametrize("name", CARRIED)
def test_what_loops_carry(name: str) -> None:
    step, made = CARRIED[name]
    text = (
        "entry main [b][n][m] (rss: [b][n][m]i32): ([b][m]i32, [b][m]i32, [b]i32) = unzip3 (#[sequential_inner] map "
        f"(\\rs -> loop (a, c, z) = (rs[0], rs[1], 1) for k < n do let r = rs[k] in {step}) rss)"
    )
    program = soac.compile(text)
    assert made_by_lanes(program) == made
    for b, n, m in ((1, 2, 1), (2, 3, 17), (9, 8, 40), (40, 4, 3), (0, 2, 5)):
        args = [np.random.default_rng(n).integers(-9, 9, (b, n, m), dtype=np.int32)]
        expected, _ = interpret(program.compiled.core, "main", args)
        for one, other in zip(program.call("main", args), expected, strict=True):
            np.testing.assert_array_equal(one, other)


TWO = {
    "both": ("map2 (map2 (\\x y -> (x + y * 3, y - x * k))) a c", 0),
    "one of them turned": ("map3 (map3 (\\x y z -> (x + y * 3, y - x * z))) a c (transpose c)", 1),
    "both turned": ("map4 (map4 (\\x y z w -> (x + z * 3, y - x * w))) a c (transpose a) (transpose c)", 2),
}
"""Maps that overwrite two matrices, and how many of these are made apart."""


@pytest.mark.parametrize("name", TWO)
def test_two_arrays(name: str) -> None:
    step, made = TWO[name]
    head = "entry main [b][n] (as: [b][n][n]i64) (cs: [b][n][n]i64): ([b][n][n]i64, [b][n][n]i64) = "
    program = soac.compile(
        f"{head} #[sequential_inner] unzip (map2 (\\a c -> loop (a, c) = (copy a, copy c) for k < n do "
        f"let (x, y) = unzip (map unzip ({step})) in (a with [:, :] = x, c with [:, :] = y)) as cs)"
    )
    assert made_by_lanes(program) == made
    for b, n in ((1, 1), (3, 17)):
        args = [np.random.default_rng(n + k).integers(-9, 9, (b, n, n)) for k in range(2)]
        expected, _ = interpret(program.compiled.core, "main", [arg.copy() for arg in args])
        for version in combinations(sites(program.compiled.flat)):
            for got, one in zip(program.trace("main", args, forced=version)[0], expected, strict=True):
                np.testing.assert_array_equal(got, one)


ROUNDS = {
    "own elements": ("let s = a[0, 0] let a[:, :] = map (map (\\x -> x - s * 2)) a in a", True),
    "a part": ("let a[k:, :] = map (map2 (\\y x -> x - y * 2) (iota n)) a[k:, :] in a", True),
    "below a row": ("let a[k+1:, :] = map (map2 (\\u x -> x - u * 2) a[k]) a[k+1:, :] in a", True),
    "turned": ("let a[:, :] = map2 (map2 (\\x y -> x - y * 2)) a (transpose a) in a", False),
    "a row that is changed": ("let a[:, :] = map (map2 (\\u x -> x - u * 2) a[k]) a in a", False),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_rounds_of_a_collective(name: str) -> None:
    """Where its threads see of the array only what they overwrite, or what is not in the part."""
    text, is_in_place = ROUNDS[name]
    program = soac.compile(f"entry main [n] (a: [n][n]i64): [n][n]i64 = loop a = copy a for k < n do {text}")
    kernel = next(k for k in map(show_kernel, program.compiled.host.kernels) if "for j" in k)
    assert ("new shared" not in kernel) == is_in_place
    a = np.random.default_rng(1).integers(-3, 4, (5, 5))
    sides = ({"main.a.suff_rounds_0": side} for side in (True, False))
    got, other = (program.trace("main", [a.copy()], forced=side)[0][0] for side in sides)
    np.testing.assert_array_equal(got, other)
