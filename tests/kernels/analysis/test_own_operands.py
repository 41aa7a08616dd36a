"""An operand may be overwritten if each point reads of it what it is about to write, and reads it before."""

from __future__ import annotations

import pytest

from soac.kernels.analysis.own_operands import own_operands
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.kernel_ir.show import show_kernel

HEAD = "kernel k(block; ys: [f64], xs: [f64], zs: [f64], is: [i64]; n: i64) {\n  threads i in 0..n {\n"
ROW = "let t: i64 = mul_i64! block n\nlet p: i64 = add_i64! t i\n"

OWN = {
    "each point its own": "let x: f64 = xs[i]\nys[i] := x",
    "computed in two ways": f"{ROW}let x: f64 = xs[p]\nlet q: i64 = add_i64! i t\nys[q] := x",
    "under a condition": "var v: f64 = 0.0f64\n"
    "let c: bool = lt_i64 i 3\nif c {\nlet x: f64 = xs[i]\nv := x\n}\nys[i] := v",
    "several times": "let x: f64 = xs[i]\nlet y: f64 = xs[i]\nlet z: f64 = add_f64 x y\nys[i] := z",
    "beside others": "let j: i64 = add_i64 i 1\n"
    "let x: f64 = xs[i]\nlet z: f64 = zs[j]\nlet v: f64 = mul_f64 x z\nys[i] := v",
}
OTHERS = {
    "a neighbour": "let j: i64 = add_i64 i 1\nlet x: f64 = xs[j]\nys[i] := x",
    "a neighbour too": "let j: i64 = add_i64 i 1\n"
    "let w: f64 = xs[i]\nlet x: f64 = xs[j]\nlet v: f64 = add_f64 w x\nys[i] := v",
    "its place in another row": f"{ROW}let x: f64 = xs[i]\nys[p] := x",
    "read after the store": "ys[i] := 0.0f64\nlet x: f64 = xs[i]\nzs[i] := x",
    "stored twice": "let x: f64 = xs[i]\nys[i] := x\nys[i] := 0.0f64",
    "the result is read": "let y: f64 = ys[i]\nlet x: f64 = xs[i]\nlet v: f64 = add_f64 x y\nys[i] := v",
    "of another type": "let x: i64 = is[i]\nlet v: f64 = i64_to_f64 x\nys[i] := v",
    "an index that changes": "var j: i64 = i\nlet x: f64 = xs[j]\nj := 0\nys[j] := x",
    "read in a loop": "var v: f64 = 0.0f64\nfor j < n {\nlet x: f64 = xs[j]\nv := x\n}\nys[i] := v",
}


def pairs(lines: str) -> set[tuple[str, str]]:
    kernel = parse_kernel(HEAD + lines + "\n  }\n}")
    return {(result.name, operand.name) for result, operand in own_operands(kernel)}


@pytest.mark.parametrize("lines", OWN.values(), ids=OWN)
def test_may_be_overwritten(lines: str) -> None:
    assert pairs(lines) == {("ys", "xs")}


@pytest.mark.parametrize("lines", OTHERS.values(), ids=OTHERS)
def test_must_be_kept(lines: str) -> None:
    assert ("ys", "xs") not in pairs(lines)
    assert ("ys", "is") not in pairs(lines)


def test_pairs_are_part_of_the_text() -> None:
    text = HEAD.replace("{\n", "over (ys xs) {\n", 1) + OWN["each point its own"] + "\n  }\n}"
    kernel = parse_kernel(text)
    assert kernel.over == own_operands(kernel)
    assert parse_kernel(show_kernel(kernel)) == kernel
