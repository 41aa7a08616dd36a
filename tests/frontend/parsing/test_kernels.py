"""`fully par` blocks: words that are names elsewhere, and what is refused."""

from __future__ import annotations

import pytest

from soac.frontend.compile import compile_text
from soac.ir.errors import CompileError

KERNEL = """
def twice [n] (xs: [n]i32): [n]i32 = map (* 2) xs
#[implements(twice)]
def kernel [n] (xs: [n]i32) (ys: *[n]i32) = {}
def main [n] (xs: [n]i32) = twice xs
"""


def test_words_of_kernels_are_names_elsewhere() -> None:
    compile_text(
        "def main (par: i32) (shared: i32) (fence: i32) (thread: i32) = par + shared + fence + thread", "a.soac"
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("fully seq i < n in thread { }", "expected `par`, found `seq`"),
        ("fully par i < n in wave { }", "expected `thread` or `warp` or `block`, found `wave`"),
        ("fully par i < n in block { }", "how many threads"),
        ("fully par i < n in warp 32 { }", "how many threads"),
        ("fully par i < n in thread { barrier; }", "expected `fence` or `commit`, found `barrier`"),
        ("fully par i < n in block 64 { local s: [4]i32; }", "reserved word"),
        ("fully par i < n in block 64 { global s: [4]i32; }", "expected `shared` or `registers`"),
        ("fully par i < n in block 64 { shared s: [4](i32, i32); }", "elements that are numbers"),
        ("fully par i < n in block 64 { shared s: [n]i32; }", "known when the program is compiled"),
        ("fully par i < n in block 64 { reduce s = 1 for t < 64 in thread; }", "a neutral element and a value"),
        ("fully par i < n in thread { fence 1; }", "expected `wait`, found `fence`"),
        ("fully par i < n in thread { swap ys[i] = (+) 1; }", "expected `atomic` or `copy`, found `swap`"),
        ("fully par i < n in thread { shuffle zs = ys; }", "`shuffle` takes registers"),
        ("fully par i < n in thread { atomic ys[i] = 1; }", "an operator and a value"),
        ("fully par i < n in thread { atomic ys[i] = (*) 1; }", "the operator of an atomic update"),
        ("fully par i < n in thread { copy ys[i] = 1; }", "an element of an array"),
        ("fully par i < n in thread { ys[i] = 1.5f32; }", "f32"),
        ("fully par i < n in thread { ys[i] = xs; }", "expected `i32`"),
        ("fully par i < n in thread { ys[i] = 1i32 }", "expected"),
    ],
)
def test_what_is_refused(body: str, said: str) -> None:
    with pytest.raises(CompileError, match=said):
        compile_text(KERNEL.replace("{}", body), "a.soac")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("(ys: *[n]i32)", "(ys: *[n]f32)", "f32"),
        ("(ys: *[n]i32)", "(ys: [n]i32)", "for the results"),
        ("(xs: [n]i32) (ys", "(xs: [n]i32) (k: i64) (ys", "twice"),
        ("implements(twice)", "implements(thrice)", "thrice"),
    ],
)
def test_a_kernel_takes_and_gives_what_its_function_does(old: str, new: str, said: str) -> None:
    head, tail = KERNEL.replace("{}", "fully par i < n in thread { ys[i] = xs[i]; }").split("#[")
    with pytest.raises(CompileError, match=said):
        compile_text(head + "#[" + tail.replace(old, new, 1), "a.soac")
