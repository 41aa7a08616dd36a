"""What nothing uses goes, and what types and certificates alone name stays."""

from __future__ import annotations

import pytest

from soac.flatten.simplify.dead_code import remove_dead
from soac.ir.check import Stage, check
from soac.ir.parse import parse_prog
from soac.ir.show import show

HEAD = "next_name 100 consts { let (c_1: i64) = add_i64 2i64 3i64 let (d_2: i64) = add_i64 4i64 5i64 }"
MAIN = f"{HEAD} fun main_0 (n_3: i64, xs_4: [n_3]i32, x_5: i32) : (r_6: i32) ="

CASES = {
    "a constant in no type": (f"{MAIN} {{ in (x_5) }}", ("c_1", "d_2"), ()),
    "a constant in the type of a parameter": (
        f"{HEAD} fun main_0 (a_3: [c_1]i32, x_5: i32) : (r_6: i32) = {{ in (x_5) }}",
        ("d_2",), ("c_1: i64) =",),
    ),
    "a constant in the type of a result": (
        f"{HEAD} fun main_0 (x_5: i32) : (r_6: [c_1]i32) = {{ let (a_7: [c_1]i32) = scratch [c_1]i32 in (a_7) }}",
        ("d_2",), ("c_1: i64) =",),
    ),
    "a size of an array that is used": (
        f"{MAIN} {{ let (k_7: i64) = add_i64 n_3 1i64 let (l_8: i64) = add_i64 n_3 2i64"
        " let (a_9: [k_7]i32) = scratch [k_7]i32"
        " let (b_10: [l_8]i32) = scratch [l_8]i32 let (y_11: i32) = a_9[0i64] in (y_11) }",
        ("l_8", "b_10"), ("k_7: i64) =",),
    ),
    "a statement that one relies on": (
        f"{MAIN} {{ let (b_7: bool) = lt_i64 0i64 n_3 let (e_8: bool) = assert b_7 \"R0101\" (\"no element\")"
        " let (f_9: bool) = assert b_7 \"R0101\" (\"of nothing\") #{e_8} let (y_10: i32) = xs_4[0i64] in (y_10) }",
        ("f_9",), ("e_8",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_dead(name: str) -> None:
    text, gone, kept = CASES[name]
    made = remove_dead(prog := parse_prog(text))
    check(prog, Stage.CORE)
    check(made, Stage.CORE)
    assert not any(part in show(made) for part in gone)
    assert all(part in show(made) for part in kept)
