"""CUDA C as it is read: names and places of the source, indices where they are used, rows of elements."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from soac.ir.machine import CUDA
from soac.ir.types import Prim
from soac.kernels.cuda_c.module import cuda_kernel
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import Kernel, KVar
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.kernels.passes.straighten_indices import straighten_indices
from soac.kernels.passes.vectorise_accesses import rows_of
from soac.pipeline import compile_prog
from tests.support.block_kernels import OUT, N, kernel, threads

ROOT = Path(__file__).parents[3]
SUMS = """entry main [n][m] (xss: [n][m]f32): [n]f32 =
  map (\\xs -> reduce (+) 0 (map (\\x ->
    let y = x - 1
    in y * y) xs)) xss
"""
BLOCKS = """// sums.soac:2
// a block for each chunk of a segment
extern "C" __global__ void __launch_bounds__(256)
sums(u64 *failures, const u64 *before, i64 blocks, Memory memory, const f32 *__restrict__ xss,
    f32 *__restrict__ partial, i64 chunks, i64 length, i64 n, i64 m) {
  if (has_failed(before)) return;
  const i64 block = blockIdx.x;
  const i64 segment = quot(block, chunks);
  const i64 lo = rem(block, chunks) * length;
  const i64 hi = least(m, lo + length);
  f32 red;
  {
    f32 acc = 0.0f;
    for (i64 i = lo + threadIdx.x; i < hi; i += 256) {
      // sums.soac:3
      const f32 y = xss[segment * m + i] - 1.0f;
      // sums.soac:4
      acc = fmaf(y, y, acc);
    }
"""
PRODUCT = """entry main [n][p][m] (xss: [n][p]f32) (yss: [p][m]f32): [n][m]f32 =
  map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss
"""
STEP = """      {
        const i64 thread = threadIdx.x;
        const i64 ty = thread / 16;
        const i64 tx = thread % 16;
        #pragma unroll 8
        for (i64 k = 0; k < 8; k++) {
          f32 xss_k[8];
          #pragma unroll 8
          for (i64 a = 0; a < 8; a++) {
            xss_k[a] = xss_tile[here * 1056 + k * 132 + (a / 4 * 64 + ty * 4 + a % 4)];
          }
          f32 yss_k[8];
          #pragma unroll 8
          for (i64 a = 0; a < 8; a++) {
            yss_k[a] = yss_tile[here * 1056 + k * 132 + (a / 4 * 64 + tx * 4 + a % 4)];
          }
          #pragma unroll 8
          for (i64 a = 0; a < 8; a++) {
            #pragma unroll 8
            for (i64 b = 0; b < 8; b++) {
              const i64 c = a * 8 + b;
              accs[c] = fmaf(xss_k[a], yss_k[b], accs[c]);
            }
          }
        }
      }
    }
"""


def kernels(text: str, file: str = "sums.soac") -> dict[str, Kernel]:
    made = compile_prog(text, file, machine=CUDA).host.kernels
    return {kernel.name: kernel for kernel in all_ready(made, CUDA_PASSES)}


def of_chunks(file: str) -> str:
    """The kernel of one block for a chunk of a row."""
    (kernel,) = (k for k in kernels(SUMS, file).values() if {"length", "chunks"} <= {s.name[:6] for s in k.scalars})
    return cuda_kernel(replace(kernel, name="sums")).text


def test_a_segmented_reduction_reads_like_one() -> None:
    assert of_chunks("sums.soac").startswith(BLOCKS)


def test_elements_made_for_an_element_are_read_after_it() -> None:
    """What is the same for all elements of a segment stands before them, but not what reads memory."""
    path = ROOT / "tests" / "regress" / "choice_in_a_team.soac"
    source = path.read_text().replace("abcdef", "abcdefghijklmnopqrst").replace("iota 6", "iota 20")
    texts = [cuda_kernel(k).text for k in kernels(source, path.name).values()]
    read = [text for text in texts if "team" in text and "i32 chosen[20];" in text]
    assert read
    assert all(text.index("i32 chosen[20];") < text.index("chosen[0") for text in read)


def test_a_choice_of_narrow_indices_is_wide_where_it_is_used() -> None:
    path = ROOT / "tests" / "regress" / "choice_of_indices.soac"
    (kernel,) = kernels(path.read_text(), path.name).values()
    text = cuda_kernel(kernel).text
    chosen = re.findall(r"mul_high\(\(i64\)\w+, \(\w+ == 0\) \? (\w+) : (\w+)\)", text)
    assert chosen
    assert all(f"const i64 {name} = " in text for pair in chosen for name in pair)


def test_a_tiled_product_reads_like_one() -> None:
    """A step: what a thread needs of K elements of the rows of both tiles, and its 8 x 8 products."""
    tiled = next(text for k in kernels(PRODUCT, "product.soac").values() if "_tile" in (text := cuda_kernel(k).text))
    assert STEP in tiled


def test_a_name_is_taken_where_it_can_be_seen() -> None:
    """Loops beside each other have the same name, one inside of another has its own."""
    i1, i2, i3, t = (KVar(f"i_{number}", Prim.I64) for number in (1, 2, 3, 4))
    inner = kir.For(i3, N, (kir.Store(OUT, i2, i3),))
    shown = cuda_kernel(kernel(threads(t, N, kir.For(i1, N, (kir.Store(OUT, i1, t),)), kir.For(i2, N, (inner,))))).text
    assert re.findall(r"for \(i64 (\w+) = 0", shown) == ["i2", "i2", "i3"]
    assert "out[i2] = i;" in shown
    assert "out[i2] = i3;" in shown


def test_names_of_c_are_no_names_of_variables() -> None:
    names = ("int", "add", "lane_id", "failures", "asm", "sqrtf", "threadIdx", "bitor", "main", "f32_")
    params = " ".join(f"({name}: i32)" for name in names)
    text = f"entry main [n] (xs: [n]i32) {params}: [n]i32 = map (\\x -> x + {' + '.join(names)}) xs"
    (kernel,) = kernels(text).values()
    shown = cuda_kernel(kernel).text
    for word in ("int", "asm", "failures", "add", "lane_id", "threadIdx", "bitor"):
        assert f"i32 {word}," not in shown
        assert f"i32 {word}2" in shown


def test_a_file_name_cannot_leave_its_comment() -> None:
    text = of_chunks("a\\\n*/ #error .soac")
    assert "\\" not in text
    assert "#" not in text
    assert text.startswith("// a__")


def test_operators_of_one_another_keep_their_parentheses() -> None:
    text = "map (\\x -> (x | 3) & (x ^ 5) & (if x > 2 then x * 3 else 7) + (x & 1 | 2) * 2) xs"
    shown = cuda_kernel(only(text, "(xs: [n]i32)", "[n]i32")).text
    assert "(i32)((i32)(x | 3) & (i32)(x ^ 5))" in shown
    assert "(i32)((i32)(x & 1) | 2)" in shown
    assert "add((x > 2) ? v : 7, " in shown


# ---- rows ----------------------------------------------------------------------------------------------------------


def only(body: str, params: str = "(xs: [n]f32) (ys: [n]f32)", result: str = "[n]f32") -> Kernel:
    (kernel,) = kernels(f"entry main [n] {params}: {result} = {body}").values()
    return kernel


def has_rows(kernel: Kernel) -> bool:
    return any(isinstance(stm, kir.StoreRow) for stm in statements(kernel.body))


@pytest.mark.parametrize(
    ("kernel", "width"),
    [
        (only("map2 (+) xs ys"), 4),
        (only("map2 (\\x y -> x + f32.f64 y) xs ys", "(xs: [n]f32) (ys: [n]f64)"), 2),
        (only("map (\\x -> x + 1) xs", "(xs: [n]i8)", "[n]i8"), 4),
        (only("map (map (\\x -> x + 1)) xss", "[m] (xss: [n][m]f32)", "[n][m]f32"), 4),
        (only("map (\\x -> x + a[0]) xs", "[k] (a: [k]f32) (xs: [n]f32)"), 4),
        (only("map (\\i -> xs[i + 1]) (iota n)", "(xs: [n]f32)"), None),
        (only("map2 (+) xs (reverse ys)"), None),
        (only("map (\\i -> xs[i * 2 % n]) (iota n)", "(xs: [n]f32)"), None),
        (only("map2 (\\b x -> map (+ b) x) bs xss", "[m] (bs: [n]f32) (xss: [n][m]f32)", "[n][m]f32"), None),
        (only("map (\\x -> loop y = x for _i < 99 do y * x) xs", "(xs: [n]f32)"), None),
    ],
    ids=[
        "two",
        "of the widest",
        "bytes",
        "two dimensions",
        "a check",
        "checked first",
        "backwards",
        "a gather",
        "by rows",
        "a loop",
    ],
)
def test_rows_where_neighbours_are_accessed(kernel: Kernel, width: int | None) -> None:
    assert has_rows(kernel) == (width is not None)
    for stm in statements(kernel.body):
        if isinstance(stm, kir.StoreRow):
            assert len(stm.values) == width


def test_an_index_over_two_dimensions_is_the_thread_s() -> None:
    """Both, before rows are made: p / m * m + p % m is p."""
    kernel = only("map (map (\\x -> x * f32.i64 n)) xss", "[m] (xss: [n][m]f32)", "[n][m]f32")
    divisions = (kir.Op.QUOT, kir.Op.REM)
    loops = [stm for stm in statements(kernel.body) if isinstance(stm, kir.Threads)]
    inside = [stm for loop in loops for stm in loop.body if isinstance(stm, kir.KLet) and isinstance(stm.rhs, kir.KOp)]
    assert loops
    assert not any(stm.rhs.op in divisions for stm in inside if isinstance(stm.rhs, kir.KOp))
    assert straighten_indices(kernel) == kernel
    assert rows_of(kernel) is None


def test_a_product_that_is_summed_and_stored_has_its_name() -> None:
    """What is stored is an expression on the spot, which mentions the product too."""
    path = ROOT / "tests" / "regress" / "product_summed_and_stored.soac"
    compiled = compile_prog(path.read_text(encoding="utf-8"), str(path), machine=CUDA)
    texts = [cuda_kernel(kernel).text for kernel in all_ready(compiled.host.kernels, CUDA_PASSES)]
    stored = [(text, name) for text in texts for name in re.findall(r"= (v\w*) \* -1", text)]
    assert len(stored) >= 3
    assert all(f"f32 {name} = " in text for text, name in stored)
