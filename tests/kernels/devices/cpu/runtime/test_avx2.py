"""What a vector keeps is moved to its front and stored: as the processor does it, and by the permutations of AVX2."""

from __future__ import annotations

import ctypes
import math
import mmap
from dataclasses import replace

import numpy as np
import pytest

from soac.ir import scalar
from soac.ir.types import Prim
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.cpu.runtime.avx2 import for_avx2, has_avx2_alone
from soac.kernels.lanes.kept_stores import keeping, keeping_counted
from soac.kernels.llvm.convert import convert
from soac.kernels.llvm.text import Code, Module, Vec

HERE = jit.host()
AVX2 = replace(HERE, cpu="x86-64-v3", features="+avx2,+bmi,+bmi2,+popcnt")
KINDS = [(8, 64), (8, 8), (8, 4), (16, 32), (16, 64), (16, 8), (32, 8), (32, 16), (64, 4), (64, 8), (64, 64)]
SOURCES = ["whole", "exactly", "counted", "many"]
START, STRIDE = 7, 3


def module(bits: int, lanes: int, source: str) -> str:
    """A function that stores what a word of bits keeps of a vector, or of numbers that count, side by side."""
    t, made = f"<{lanes} x i{bits}>", Module()
    if source in ("counted", "many"):
        name = keeping_counted(made, lanes, Prim(f"i{bits}"), STRIDE)
        call = f"call void @{name}(i{bits} {START}, i64 %mask, ptr %out, i1 {'true' if source == 'many' else 'false'})"
    else:
        name = keeping(made, lanes, bits, source == "exactly")
        call = f"call void @{name}({t} %x, i64 %mask, ptr %out)"
    return f"""{made.text()}
define void @keep(ptr %out, ptr %a, i64 %mask) {{
  %x = load {t}, ptr %a, align 1
  {call}
  ret void
}}
attributes #0 = {{ nounwind }}
"""


@pytest.mark.parametrize("target", [HERE, AVX2], ids=["as the processor has it", "AVX2"])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("bits", "lanes"), KINDS)
@pytest.mark.skipif(not HERE.triple.startswith("x86_64"), reason="AVX2 is of x86")
def test_what_is_kept_comes_first(target: jit.Host, bits: int, lanes: int, source: str) -> None:
    """What may overwrite more writes no more than a vector, and what may not, nothing behind what is kept."""
    code = jit.load_object(jit.compile_object((module(bits, lanes, source),), target), ("keep",))
    assert code is not None
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)(code.address("keep"))
    dtype, whole = np.dtype(f"u{bits // 8}"), (1 << lanes) - 1
    xs = (np.arange(1, lanes + 1) * 5).astype(dtype)
    values = (np.arange(lanes) * STRIDE + START).astype(dtype) if source in ("counted", "many") else xs
    draws = np.random.default_rng(lanes).integers(0, 1 << 63, 40).tolist()
    for mask in {
        0,
        1,
        whole,
        whole - 1,
        whole >> 1,
        *(draw & whole for draw in draws),
        *(k & whole for k in range(40)),
    }:
        got = np.full(2 * lanes, 99, dtype)
        run(int(got.ctypes.data), int(xs.ctypes.data), mask)
        kept = values[[mask >> lane & 1 == 1 for lane in range(lanes)]]
        assert np.array_equal(got[: len(kept)], kept)
        first = lanes if source in ("whole", "many") else len(kept)
        assert (got[first:] == 99).all()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("bits", "lanes"), KINDS)
def test_no_vector_is_moved_lane_by_lane(bits: int, lanes: int, source: str) -> None:
    assert "vector.compress" in module(bits, lanes, source)
    assert "@llvm.experimental.vector.compress" not in for_avx2(module(bits, lanes, source)).partition("define")[2]
    assert for_avx2("define void @f() { ret void }") == "define void @f() { ret void }"


def test_processors_that_have_permutations() -> None:
    assert has_avx2_alone(AVX2.triple, AVX2.features) == HERE.triple.startswith("x86_64")
    assert not has_avx2_alone("x86_64-unknown-linux-gnu", AVX2.features + ",+avx512f")
    assert not has_avx2_alone("aarch64-unknown-linux-gnu", AVX2.features)


def masked_copy(element: str, lanes: int, align: int) -> str:
    """A function that copies those elements of a vector that a word of bits names, with masks."""
    t, flags = f"<{lanes} x {LLVM.get(element, element)}>", f"<{lanes} x i1>"
    kind, steps = f"v{lanes}{element}", ", ".join(f"i32 {k}" for k in range(lanes))
    return f"""
declare {t} @llvm.masked.load.{kind}.p0(ptr, i32, {flags}, {t})
declare void @llvm.masked.store.{kind}.p0({t}, ptr, i32, {flags})
define void @copy(ptr %out, ptr %a, i64 %mask) {{
  %bits = bitcast i64 %mask to <64 x i1>
  %keep = shufflevector <64 x i1> %bits, <64 x i1> poison, <{lanes} x i32> <{steps}>
  %x = call {t} @llvm.masked.load.{kind}.p0(ptr %a, i32 {align}, {flags} %keep, {t} zeroinitializer)
  call void @llvm.masked.store.{kind}.p0({t} %x, ptr %out, i32 {align}, {flags} %keep)
  ret void
}}"""


LLVM = {"f32": "float", "f64": "double"}
ELEMENTS = {"i8": np.uint8, "i16": np.uint16, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}


@pytest.mark.parametrize("target", [HERE, AVX2], ids=["as the processor has it", "AVX2"])
@pytest.mark.parametrize(
    ("element", "lanes"),
    [("i8", 64), ("i8", 8), ("i16", 32), ("i32", 16), ("i64", 8), ("f32", 16), ("f64", 8), ("f64", 4), ("f64", 16)],
)
@pytest.mark.skipif(not HERE.triple.startswith("x86_64"), reason="AVX2 is of x86")
def test_masked_copies_touch_what_is_on(target: jit.Host, element: str, lanes: int) -> None:
    dtype = np.dtype(ELEMENTS[element])
    text = masked_copy(element, lanes, dtype.itemsize)
    code = jit.load_object(jit.compile_object((text,), target), ("copy",))
    assert code is not None
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)(code.address("copy"))
    xs, whole = np.arange(1, lanes + 1).astype(dtype), (1 << lanes) - 1
    fronts = [(1 << k) - 1 for k in range(lanes + 1)]
    for mask in (*fronts, *(whole ^ front for front in fronts), 0x5A0FF1C3E0F7A581 & whole):
        got = np.full(lanes, 99, dtype)
        run(int(got.ctypes.data), int(xs.ctypes.data), mask)
        on = np.array([mask >> lane & 1 == 1 for lane in range(lanes)])
        assert np.array_equal(got, np.where(on, xs, np.array(99, dtype)))


def test_masks_of_64_lanes_are_passed_in_registers() -> None:
    """Long modules are not inlined."""
    heads = [line for line in for_avx2(masked_copy("i8", 64, 1)).splitlines() if line.startswith("define internal")]
    assert any("<64 x i8> %on)" in head for head in heads)
    assert not any("<64 x i1>" in head for head in heads)


@pytest.mark.parametrize(("element", "lanes"), [("i8", 64), ("i8", 8), ("i16", 32)])
@pytest.mark.skipif(not HERE.triple.startswith("x86_64"), reason="AVX2 is of x86")
def test_masked_loads_read_no_other_page(element: str, lanes: int) -> None:
    """The last elements before a page that cannot be read, and those behind one."""
    dtype = np.dtype(ELEMENTS[element])
    code = jit.load_object(jit.compile_object((masked_copy(element, lanes, dtype.itemsize),), AVX2), ("copy",))
    assert code is not None
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)(code.address("copy"))
    room = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    here = np.frombuffer(room, np.uint8)
    start, libc = int(here.ctypes.data), ctypes.CDLL(None)
    page = (np.arange(mmap.PAGESIZE // dtype.itemsize) % 89).astype(dtype)
    here[mmap.PAGESIZE : 2 * mmap.PAGESIZE] = page.view(np.uint8)
    for closed in (start, start + 2 * mmap.PAGESIZE):
        assert libc.mprotect(ctypes.c_void_p(closed), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    for count in range(1, lanes + 1):
        first, low = (1 << count) - 1, (1 << lanes) - (1 << lanes - count)
        for mask, at, xs in ((first, len(page) - count, page[-count:]), (low, count - lanes, page[:count])):
            got, wanted = np.full(lanes, 99, dtype), np.full(lanes, 99, dtype)
            run(int(got.ctypes.data), start + mmap.PAGESIZE + at * dtype.itemsize, mask)
            wanted[:count] = xs
            assert np.array_equal(got, wanted if at > 0 else np.roll(wanted, lanes - count))


@pytest.mark.skipif(not HERE.triple.startswith("x86_64"), reason="AVX2 is of x86")
@pytest.mark.parametrize("first", [-2, 0, 2])
def test_a_vector_may_be_longer_than_an_array_of_the_stack(first: int) -> None:
    """Elements that were stored there one by one, and the vector around them."""
    flags = ", ".join(f"i1 {'true' if 0 <= first + k < 4 else 'false'}" for k in range(16))
    stores = "".join(
        f"""  %p{k} = getelementptr i8, ptr %few, i64 {k}
  %q{k} = getelementptr i8, ptr %a, i64 {k}
  %x{k} = load i8, ptr %q{k}
  store i8 %x{k}, ptr %p{k}
"""
        for k in range(4)
    )
    text = f"""
declare <16 x i8> @llvm.masked.load.v16i8.p0(ptr, i32, <16 x i1>, <16 x i8>)
define void @copy(ptr %out, ptr %a) {{
entry:
  %few = alloca [4 x i8]
{stores}  %at = getelementptr i8, ptr %few, i64 {first}
  %x = call <16 x i8> @llvm.masked.load.v16i8.p0(ptr %at, i32 1, <16 x i1> <{flags}>, <16 x i8> zeroinitializer)
  store <16 x i8> %x, ptr %out, align 1
  ret void
}}"""
    code = jit.load_object(jit.compile_object((text,), AVX2), ("copy",))
    assert code is not None
    xs, got = np.arange(5, 9, dtype=np.uint8), np.full(16, 99, np.uint8)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("copy"))(got.ctypes.data, xs.ctypes.data)
    assert got.tolist() == [int(xs[first + k]) if 0 <= first + k < 4 else 0 for k in range(16)]


def test_stores_of_whole_registers_have_no_mask() -> None:
    text = for_avx2(masked_copy("f32", 16, 4))
    assert text.count("store <8 x float>") == 1
    assert text.count("call void @soac.store.v16f32.4.one(<8 x float>") == 2
    assert "call void @llvm.masked.store.v16f32" not in text
    assert "@llvm.masked.load.v16f32" in text, "these are loads of one instruction"


def conversion(source: Prim, target: Prim, lanes: int) -> str:
    """A function that converts vectors of numbers, and lengthens what is shorter than 64 bits first."""
    code = Code(Module())
    v = Vec(code, lanes)
    x = code.op(f"load {v.type(source)}, ptr %a, align 1")
    longer = Prim.I64 if source is Prim.I32 else source
    code.do(f"store {v.type(target)} {convert(v, longer, target, convert(v, source, longer, x))}, ptr %out, align 1")
    body = f"define void @run(ptr %out, ptr %a) {{\n{code.text()}  ret void\n}}"
    return f"{code.module.text()}\n{body}\nattributes #0 = {{ nounwind }}\n"


EDGES = {
    Prim.F64: [
        0.0, -0.0, 0.99, -0.99, 1.5, -1.5, 2.0**51 - 0.5, 2.0**51, -(2.0**51), 2.0**53 + 2, -(2.0**62), 2.0**63,
        -(2.0**63), 1e300, -1e300, math.inf, -math.inf, math.nan, 5e-324, 4503599627370495.5,
    ],
    Prim.F32: [
        0.0, -0.5, 1.75, -8388607.5, 2.0**24 + 2, 2.0**51, -(2.0**52), 2.0**63, -(2.0**63), 3e38, math.inf, -math.inf,
        math.nan,
    ],
    Prim.I64: [
        0, 1, -1, 2**31, -(2**31), 2**32, -(2**32) - 1, 2**52, 2**53 + 1, -(2**53) - 1, 2**62 + 2**8, 2**63 - 1,
        -(2**63), 2**63 - 513, 1234567890123456789,
    ],
    Prim.I32: [0, 1, -1, 2**31 - 1, -(2**31)],
}  # fmt: skip


@pytest.mark.parametrize("target", [HERE, AVX2], ids=["as the processor has it", "AVX2"])
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize(
    ("source", "to"),
    [(Prim.F64, Prim.I64), (Prim.F32, Prim.I64), (Prim.I64, Prim.F64), (Prim.I64, Prim.F32), (Prim.I32, Prim.F64)],
)
@pytest.mark.skipif(not HERE.triple.startswith("x86_64"), reason="AVX2 is of x86")
def test_conversions_of_64_bits_are_exact(target: jit.Host, source: Prim, to: Prim, lanes: int) -> None:
    """Of vectors whose numbers are all near zero, and of vectors where one is not."""
    code = jit.load_object(jit.compile_object((conversion(source, to, lanes),), target), ("run",))
    assert code is not None
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("run"))
    own, other = (np.dtype(prim.value.replace("f", "float").replace("i", "int")) for prim in (source, to))
    for edge in EDGES[source]:
        for few in (1, lanes):
            xs = np.array([edge] * few + [k - 3 for k in range(lanes - few)]).astype(own)
            got = np.zeros(lanes, other)
            run(int(got.ctypes.data), int(xs.ctypes.data))
            expected = [scalar.convert(source, to, x) for x in xs.tolist()]
            np.testing.assert_array_equal(got, np.array(expected, other))


def test_integers_that_were_shorter_are_converted_as_these() -> None:
    assert "soac.of_i64" in for_avx2(conversion(Prim.I64, Prim.F64, 8))
    assert "soac.of_i64" not in for_avx2(conversion(Prim.I32, Prim.F64, 8))


def test_what_a_module_has_declared_is_not_declared_again() -> None:
    declared = "declare <8 x double> @llvm.trunc.v8f64(<8 x double>)"
    for text in (conversion(Prim.F64, Prim.I64, 8), f"{declared}\n{conversion(Prim.F64, Prim.I64, 8)}"):
        assert for_avx2(text).count(declared) == 1
        jit.verified(for_avx2(text))
