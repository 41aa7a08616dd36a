"""The smaller and the larger of two floats: with comparisons and with `vrange` what `ir/scalar.py` says."""

from __future__ import annotations

import ctypes
import math
from dataclasses import replace

import numpy as np
import pytest

from soac.ir.ops import Op
from soac.ir.scalar import apply
from soac.ir.types import Prim
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.cpu.runtime.extrema import MARK, by_range, has_range, written_out
from soac.kernels.llvm.text import literal

VALUES = (0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 3.0e38, 1e-45)
HERE = jit.host()
PLAIN = replace(HERE, features=HERE.features.replace("+avx512dq", "-avx512dq"))


def module(type_: str, mangled: str) -> str:
    """Functions of x and y, vectors in memory, which store the smaller and the larger of them."""
    lines = [f"declare {type_} @llvm.{kind}imumnum.{mangled}({type_}, {type_})" for kind in ("min", "max")]
    for kind in ("min", "max"):
        lines += [
            f"define void @{kind}(ptr %out, ptr %a, ptr %b) {{",
            f"  %x = load {type_}, ptr %a, align 8",
            f"  %y = load {type_}, ptr %b, align 8",
            f"  %r = call {type_} @llvm.{kind}imumnum.{mangled}({type_} %x, {type_} %y)",
            f"  store {type_} %r, ptr %out, align 8",
            "  ret void",
            "}",
        ]
    return "\n".join(lines)


@pytest.mark.parametrize("target", [PLAIN, HERE], ids=["comparisons", "as the processor has it"])
@pytest.mark.parametrize(
    ("prim", "lanes"), [(Prim.F32, 0), (Prim.F32, 4), (Prim.F32, 16), (Prim.F64, 0), (Prim.F64, 8)]
)
def test_extrema_are_those_of_the_language(target: jit.Host, prim: Prim, lanes: int) -> None:
    element, short = ("float", "f32") if prim is Prim.F32 else ("double", "f64")
    text = module(f"<{lanes} x {element}>", f"v{lanes}{short}") if lanes else module(element, short)
    code = jit.load_object(jit.compile_object((text,), target), ("min", "max"))
    assert code is not None
    pairs = [(x, y) for x in VALUES for y in VALUES]
    n = max(lanes, 1)
    pairs += pairs[: -len(pairs) % n]
    dtype = np.float32 if prim is Prim.F32 else np.float64
    xs, ys = (np.array(side, dtype) for side in zip(*pairs, strict=True))
    for op in (Op.MIN, Op.MAX):
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address(op.value))
        got = np.empty_like(xs)
        for k in range(0, len(xs), n):
            run(*(int(array[k:].ctypes.data) for array in (got, xs, ys)))
        wanted = [apply(op, prim, (float(x), float(y))) for x, y in zip(xs, ys, strict=True)]
        assert [f"{float(x)}" for x in got] == [f"{float(x)}" for x in wanted]


@pytest.mark.parametrize("target", [PLAIN, HERE], ids=["comparisons", "as the processor has it"])
@pytest.mark.parametrize(("prim", "lanes"), [(Prim.F32, 0), (Prim.F32, 16), (Prim.F64, 8)])
@pytest.mark.parametrize("first", [True, False])
def test_extrema_with_a_constant(target: jit.Host, prim: Prim, lanes: int, first: bool) -> None:
    element, short = ("float", "f32") if prim is Prim.F32 else ("double", "f64")
    dtype, n = np.float32 if prim is Prim.F32 else np.float64, max(lanes, 1)
    type_ = f"<{lanes} x {element}>" if lanes else element
    xs = np.array([*VALUES, *[0] * (-len(VALUES) % n)], dtype)
    for limit in map(float, np.array(VALUES, dtype)):
        text, constant = module(type_, f"v{lanes}{short}" if lanes else short), literal(prim, limit)
        constant = f"splat ({element} {constant})" if lanes else constant
        text = text.replace(
            f"{type_} %x, {type_} %y)",
            f"{type_} {constant}, {type_} %y)" if first else f"{type_} %x, {type_} {constant})",
        )
        code = jit.load_object(jit.compile_object((text,), target), ("min", "max"))
        assert code is not None
        for op in (Op.MIN, Op.MAX):
            run, got = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address(op.value)), np.empty_like(xs)
            for k in range(0, len(xs), n):
                run(*(int(array[k:].ctypes.data) for array in (got, xs, xs)))
            wanted = [apply(op, prim, (limit, float(x)) if first else (float(x), limit)) for x in xs]
            assert [f"{float(x)}" for x in got] == [f"{float(x)}" for x in wanted]


def test_a_constant_takes_one_comparison() -> None:
    """Not a zero that is behind the other one, nor what is no number."""
    text = "  %a = call double @llvm.maximumnum.f64(double %x, double {})"
    for limit, short in ((1.5, True), (math.inf, True), (0.0, True), (-0.0, False), (math.nan, False)):
        found = written_out(text.format(literal(Prim.F64, limit)))
        assert (found.count("\n") == 1) == short
        if limit == 0:
            assert (written_out(text.replace("max", "min").format(literal(Prim.F64, limit))).count("\n") == 1) != short


def test_vrange_is_used_for_widths_of_registers_alone() -> None:
    text = "  %a = call <32 x float> @llvm.maximumnum.v32f32(<32 x float> %x, <32 x float> %y)"
    assert by_range(text).strip() == text.strip()
    assert MARK not in by_range(text.replace("32 x", "16 x").replace("v32f32", "v16f32"))
    assert has_range("+avx512dq,+avx512vl,-sse4a")
    assert not has_range("+avx512dq,-avx512vl")


@pytest.mark.skipif(not HERE.triple.startswith("x86_64"), reason="other processors have an instruction")
def test_scalar_code_branches_for_zeros_and_what_is_no_number() -> None:
    machine = jit.target_machine(PLAIN)
    found = str(machine.emit_assembly(jit.optimised((module("double", "f64"),), machine, PLAIN)))
    hot, _, rare = found.partition("je\t")
    assert "maxsd" not in rare.partition("ret")[0]
    assert "blend" not in hot
    assert "unord" in rare
    assert "!prof" not in written_out("  %a = call <4 x float> @llvm.minimumnum.v4f32(<4 x float> %x, <4 x float> %y)")
