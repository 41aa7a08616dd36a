"""Which reductions fetch ahead: those that go once through what is their block's own."""

from __future__ import annotations

import pytest

from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.lanes.module import emit
from soac.kernels.lanes.prefetch import ROWS_AHEAD
from soac.kernels.passes.pipeline import CPU_PASSES, all_ready
from soac.pipeline import compile_prog

OWN = "entry main [n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> f32.sum (map (\\x -> x * x) xs)) xss"
SHARED = "entry main [n][m] (ys: [n]f32) (xs: [m]f32): [n]f32 = map (\\y -> f32.sum (map (\\x -> x * y) xs)) ys"
SEVERAL = "entry main [n] (xs: [n]f32) (ys: [n]f32): f32 = f32.sum (map2 (*) xs ys)"
ALONE = "entry main [n] (xs: [n]f32): f32 = f32.sum xs"


def fetches(text: str, name: str) -> bool:
    """Does a kernel of this name with a reduction of the whole block fetch ahead? Those that move tiles do it there."""
    kernels = [k for k in compile_prog(text, "<text>").host.kernels if k.name.startswith(name)]
    texts = [emit(all_ready((k,), CPU_PASSES)) for k in kernels if any(isinstance(s, kir.BlockReduce) for s in k.body)]
    assert texts
    return any("call void @llvm.prefetch" in text for text in texts)


@pytest.mark.parametrize(("text", "name"), [(OWN, "main_ys"), (OWN, "main_add"), (ALONE, "main_add")])
def test_what_is_a_blocks_own_is_fetched(text: str, name: str) -> None:
    assert fetches(text, name)


def test_what_all_blocks_read_stays_in_the_cache() -> None:
    assert not fetches(SHARED, "main_ys")


def test_several_arrays_are_not_fetched() -> None:
    assert not fetches(SEVERAL, "main_add")


ROWS = """entry main [n][r][m] (xsss: [n][r][m]f32): [n][m]f32 =
  map (\\xss -> loop ys = xss[0] for i < r - 1 do
    map2 (\\j x -> x + ys[i64.max 0 (j - 1)] * ys[j]) (iota m) xss[i + 1]) xsss"""
AGAIN = ROWS.replace("xss[i + 1]", "xss[0]")


@pytest.mark.parametrize(("text", "fetched"), [(ROWS, True), (AGAIN, False)])
def test_rows_that_a_loop_of_a_block_reads(text: str, fetched: bool) -> None:
    """Where each iteration reads another one."""
    kernels = [k for k in compile_prog(text, "<text>").host.kernels if any(isinstance(s, kir.For) for s in k.body)]
    texts = [emit(all_ready((k,), CPU_PASSES)) for k in kernels]
    assert texts
    assert any(f"i64 {ROWS_AHEAD}\n" in text and "call void @llvm.prefetch" in text for text in texts) == fetched
