"""Kernels by hand compared with what they implement."""

from __future__ import annotations

import pytest

from soac.frontend.compile import compile_text
from soac.ir.by_hand import versions_by_hand
from soac.testing import by_hand
from soac.testing.by_hand import unlike
from tests.support.by_hand import changed, text_of

WRONG = {
    "block_sum": ("64 >> step", "32 >> step"),
    "product": ("tb[q, t % T]", "tb[t % T, q]"),
    "stencil": ("first + t + 31", "first + t + 30"),
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_hand, "SECONDS", 1.0)


def said_of(text: str) -> str | None:
    core = compile_text(text, "k.soac")
    return unlike(core, next(iter(versions_by_hand(core))), 0)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_results_are_found(name: str) -> None:
    said = said_of(changed(name, *WRONG[name]))
    assert said is not None
    assert "expected" in said


def test_what_is_right_passes() -> None:
    assert said_of(text_of("stencil")) is None


ARGMAX = """
def best (a: (f32, i64)) (b: (f32, i64)): (f32, i64) = if a.0 > b.0 || (a.0 == b.0 && a.1 <= b.1) then a else b
def top [n][m] (xs: [n][m]f32): ([n]f32, [n]i64) =
  unzip (map (\\r -> reduce best (f32.lowest, i64.highest) (zip r (iota m))) xs)
#[implements(top)]
def top_warp [n][m] (xs: [n][m]f32) (vs: *[n]f32) (is: *[n]i64) =
  fully par b < n in warp {
    registers v: [32]f32;
    registers i: [32]i64;
    par t < 32 in thread {
      let (p, q) = loop best_of = (f32.lowest, i64.highest) for k < (m - t + 31) / 32 do
        best best_of (xs[b, t + 32 * k], t + 32 * k);
      v[t] = p;
      i[t] = q;
    }
    for s < 5 do {
      shuffle v2 = v ^ (16 >> s);
      shuffle i2 = i ^ (8 >> s);
      par t < 32 in thread { let (p, q) = best (v[t], i[t]) (v2[t], i2[t]); v[t] = p; i[t] = q; }
    }
    par t < 32 in thread { if t == 0 then { vs[b] = v[t]; is[b] = i[t]; } }
  }
entry main [n][m] (xs: [n][m]f32) = top xs
"""


def test_elements_differ_however_many_there_are() -> None:
    """Where eight numbers are repeated, the first of them has the answer, and what is of later ones goes unnoticed."""
    assert said_of(ARGMAX) is not None
    assert said_of(ARGMAX.replace("(8 >> s)", "(16 >> s)")) is None


GATHER = """
def gather [n][m] (xs: [n]f32) (is: [m]i64): [m]f32 = map (\\i -> xs[i] * 2) is
#[implements(gather)]
def k [n][m] (xs: [n]f32) (is: [m]i64) (ys: *[m]f32) = fully par i < m in thread { ys[i] = xs[is[i]] + xs[is[i]]; }
entry main [n][m] (xs: [n]f32) (is: [m]i64) = gather xs is
"""


def test_arrays_of_indices_are_drawn() -> None:
    """Of any integers the function fails: a kernel was only compared where there are no elements."""
    assert said_of(GATHER) is None
    assert said_of(GATHER.replace("+ xs[is[i]]; }", "+ 1; }")) is not None
    never = GATHER.replace("= map", "= let zero = m - m in map").replace("xs[i] * 2", "f32.i64 (i / zero)")
    assert "no input" in (said_of(never) or "")


@pytest.mark.parametrize("name", ["sums_tree", "sums_collective"])
def test_kernels_of_a_function_are_compared_one_by_one(name: str) -> None:
    core = compile_text(changed("block_sum", *WRONG["block_sum"]), "k.soac")
    (version,) = (one for one in versions_by_hand(core) if one.name == name)
    assert (unlike(core, version, 0) is None) == (name == "sums_collective")


def test_races_are_found() -> None:
    """All threads of a warp write one element."""
    text = ARGMAX.replace("(8 >> s)", "(16 >> s)").replace(
        "if t == 0 then { vs[b] = v[t]; is[b] = i[t]; }", "vs[b] = v[t];"
    )
    said = said_of(text)
    assert said is not None
    assert "write after write" in said
    line = next(k for k, one in enumerate(text.splitlines(), 1) if "vs[b] = v[t]" in one)
    assert f"(k.soac:{line}:" in said


def test_a_kernel_out_of_bounds_is_found() -> None:
    said = said_of(changed("stencil", "if first + t < n then", "if true then"))
    assert said is not None
    assert "out of bounds" in said
