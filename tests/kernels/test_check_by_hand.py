"""Faults planted in the worked kernels by hand: each is refused with a message at its place."""

from __future__ import annotations

import pytest

from soac.ir.errors import CompileError
from soac.pipeline import compile_prog
from tests.support.by_hand import NAMES, changed, text_of

FAULTS = {
    "block_sum, missing fence": ("    fence;\n    for step", "    for step", "E0231", "part[t] = part[t]"),
    "block_sum, wrong unit": ("par t < 64 in thread", "par t < 64 in warp", "E0230", "par t < 64 in warp"),
    "block_sum, incomplete collective": (
        "par t < 1 in thread { ys[b] = part[t]; }",
        "par t < 64 in thread {\n      reduce total = (+) 0 part[u] for u < 64 in thread;\n      ys[b] = total; }",
        "E0230",
        "reduce total",
    ),
    "product, missing fence": ("      fence;\n    }\n    par t", "    }\n    par t", "E0231", "ta[i, j] ="),
    "product, wrong unit": ("in block 256", "in block 128", "E0230", "par t < 256 in thread { acc[t] = 0; }"),
    "product, incomplete collective": ("then { c[row", "then {\n fence;\n c[row", "E0230", "fence;"),
    "stencil, missing fence": ("      fence;\n", "", "E0231", "if first + t < n"),
    "stencil, wrong unit": ("par w < 8 in warp", "par w < 8 in thread", "E0230", "par t < 32 in thread"),
    "stencil, incomplete collective": ("if t < 2 then {", "if t < 2 then {\nfence;\n", "E0230", "fence;"),
    "stencil, too many warps": ("par w < 8 in warp", "par w < 9 in warp", "E0230", "par w < 9 in warp"),
    "stencil, memory of a warp": (
        "      fence;\n", "      fence;\n      let x = near[w, 0];\n", "E0230", "let x = near[w, 0]",
    ),
    "histogram, missing fence": ("    fence;\n    par t < 64 in thread { ys", "    par t < 64 in thread { ys", "E0231",
                                 "ys[b, t] = bins[t]"),
    "histogram, plain update": (
        "atomic bins[i64.i32 xs[b, i] % 64] = (+) 1", "bins[i64.i32 xs[b, i] % 64] = 1", "E0231", "bins[i64.i32",
    ),
    "histogram, operator of no order": ("= (+) 1", "= (-) 1", "E0232", "atomic bins"),
    "butterfly, one thread": (
        "for step < 5", "par t < 32 in thread { shuffle lone = acc ^ 1; }\n    for step < 5", "E0230", "shuffle lone",
    ),
    "butterfly, shared memory": ("registers acc", "shared acc", "E0232", "shuffle other"),
    "butterfly, other registers": ("acc[t] + other[t]", "acc[t] + acc[t ^ 16]", "E0232", "acc[t ^ 16]"),
    "pipeline, missing wait": ("      wait 1;\n", "", "E0231", "acc[t] = acc[t]"),
    "pipeline, missing commit": ("      commit;\n", "", "E0231", "acc[t] = acc[t]"),
    "pipeline, missing fence": ("      fence;\n    }\n    shared", "    }\n    shared", "E0231", "copy part[(k + 1)"),
    "pipeline, copy within the block": ("= xs[b, next]", "= part[0, t]", "E0232", "copy part[(k + 1)"),
}  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_refused(name: str) -> None:
    old, new, code, shown = FAULTS[name]
    text = changed(name.partition(",")[0], old, new)
    with pytest.raises(CompileError) as error:
        compile_prog(text, "k.soac")
    (found,) = error.value.diagnostics
    assert found.code == code
    assert shown in text.splitlines()[found.primary.loc.line - 1], found


def test_both_places_are_the_statements() -> None:
    """Not what stands before them in their lines."""
    text = changed("stencil", "      fence;\n", "")
    with pytest.raises(CompileError) as error:
        compile_prog(text, "k.soac")
    (found,) = error.value.diagnostics
    lines = text.splitlines()
    shown = [lines[x.loc.line - 1][x.loc.col - 1 : x.loc.end_col - 1] for x in (found.primary, *found.others)]
    assert sorted(shown) == ["near[w, t]", "near[w, t] = xs[i64.max 0 (i64.min (n - 1) (first + t - 1))]"]


def test_a_size_that_the_function_chooses() -> None:
    text = """
def inner [n] (xs: [n]f32): [n-2]f32 = map (\\i -> xs[i+1]) (iota (n - 2))
#[implements(inner)]
def k [n] (xs: [n]f32) (ys: *[n-2]f32) = fully par i < n - 2 in thread { ys[i] = xs[i+1]; }
entry main [n] (xs: [n]f32) = inner xs
"""
    with pytest.raises(CompileError, match=r"the function chooses the size `.*` of its result"):
        compile_prog(text, "k.soac")


@pytest.mark.parametrize("name", [name for name in NAMES if "fence;" in text_of(name)])
def test_fences_are_placed_where_that_is_asked_for(name: str) -> None:
    text = "\n".join(line for line in text_of(name).splitlines() if line.strip() != "fence;")
    with pytest.raises(CompileError, match="a fence is missing"):
        compile_prog(text, "k.soac")
    assert compile_prog(text.replace("#[implements", "#[place_fences]\n#[implements"), "k.soac")
