"""Indices of 32 bits: which they are, for which launches, and that launches that need more get more."""

from __future__ import annotations

from math import prod
from pathlib import Path
from random import Random

import numpy as np
import pytest

from benchmarks.kernel_counts import functions, lines_of
from soac.arguments import to_arguments
from soac.ir.machine import CUDA
from soac.ir.ops import Op
from soac.ir.polynomials import atom
from soac.ir.scalar import ScalarFailure, apply
from soac.ir.types import Const, Prim, i64
from soac.kernels.cuda_c import narrow_indices as narrowing
from soac.kernels.cuda_c.module import cuda_kernel, cuda_module
from soac.kernels.cuda_c.narrow_indices import LIMIT, Range, Ranges, fits, narrow_indices
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.cuda.host import launches
from soac.kernels.devices.cuda.nvrtc import NoCompiler, compile_cuda
from soac.kernels.kernel_ir.nodes import Kernel, KLet, KOp, KVar, Operand
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.pipeline import Compiled, compile_prog
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

SOURCE = """
entry places (n: i64) (m: i64): [n][m]i64 = tabulate n (\\i -> tabulate m (\\j -> i * 1000003 + (j + 1) % m))
entry sums [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss
"""


OPERATIONS = (Op.ADD, Op.SUB, Op.MUL, Op.QUOT, Op.DIV, Op.REM, Op.MOD, Op.MIN, Op.MAX)


def test_values_are_in_their_ranges() -> None:
    """Of random arithmetic over sizes and small numbers, of either sign."""
    for number in range(400):
        random, ranges = Random(number), Ranges()
        sizes = {name: random.choice((0, 1, 2, 5, 17)) for name in ("n", "m")}
        values: dict[str, int] = dict(sizes)
        ranges.known.update((name, Range(atom(name), True)) for name in sizes)
        for k in range(8):
            operands: list[Operand] = [KVar(name, Prim.I64) for name in values]
            args = tuple(random.choice((*operands[-3:], *operands, i64(random.randrange(-3, 8)))) for _ in range(2))
            op, made = random.choice(OPERATIONS), KVar(f"x{k}", Prim.I64)
            try:
                numbers = tuple(values[x.name] if isinstance(x, KVar) else int(x.value) for x in args)
                values[made.name] = int(apply(op, Prim.I64, numbers))
            except ScalarFailure:
                continue
            ranges.note(KLet(made, KOp(op, Prim.I64, args)))
            found = ranges.known.get(made.name)
            if found is not None:
                most = sum(factor * prod(sizes[name] for name in monomial) for monomial, factor in found.most)
                assert abs(values[made.name]) <= most, (number, op, numbers)
                assert not found.natural or values[made.name] >= 0, (number, op, numbers)


def test_squares_of_squares_have_no_range() -> None:
    """Which has twice as many factors each time; no index is that large."""
    ranges, x = Ranges({"n": Range(atom("n"), True)}), KVar("n", Prim.I64)
    for k in range(60):
        made = KVar(f"x{k}", Prim.I64)
        ranges.note(KLet(made, KOp(Op.MUL, Prim.I64, (x, x))))
        x = made
    assert "x2" in ranges.known
    assert x.name not in ranges.known


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_prog(SOURCE, "narrow.soac", machine=CUDA)


def kernels(compiled: Compiled, word: str) -> list[Kernel]:
    return [kernel for kernel in all_ready(compiled.host.kernels, CUDA_PASSES) if word in kernel.name]


def test_a_bound_is_the_largest_index(compiled: Compiled) -> None:
    """Of the elements of a matrix, and of the blocks that they take."""
    (kernel,) = kernels(compiled, "places")
    bound, n, m = narrow_indices(kernel).bound, 1 << 12, 1 << 15
    names = [var.name for var in kernel.scalars]
    blocks = n * m // 512
    assert fits(bound, dict(zip(names, (n, m), strict=True)), blocks)
    assert not fits(bound, dict(zip(names, (n, 8 * m), strict=True)), 8 * blocks)
    assert not fits(bound, dict(zip(names, (n, -1), strict=True)), blocks)
    assert not fits(bound, dict(zip(names, (1, 1), strict=True)), LIMIT)


def test_data_stay_what_they_are(compiled: Compiled) -> None:
    """A product that is stored may be large where its factors are indices; a remainder of a sum that wraps, too."""
    (kernel,) = kernels(compiled, "places")
    text = cuda_kernel(kernel).text
    assert "1000003ll" in text
    assert "(u32)" in text
    assert "i32" not in cuda_kernel(kernel, wide=True).text


def test_constants_of_32_bits_fit() -> None:
    """Quotients by a number that does not stay of 64 bits."""
    source = (Path(__file__).parents[2] / "regress" / "wide_constants_beside_indices.soac").read_text("utf-8")
    compiled = compile_prog(source, "wide.soac", machine=CUDA)
    made = [narrow_indices(kernel) for kernel in all_ready(compiled.host.kernels, CUDA_PASSES)]
    assert any(one.bound for one in made)
    for stm in (stm for one in made for stm in statements(one.kernel.body)):
        if isinstance(stm, KLet) and isinstance(stm.rhs, KOp) and stm.rhs.prim is Prim.I32:
            assert all(abs(x.value) < 1 << 31 for x in stm.rhs.args if isinstance(x, Const)), stm


@pytest.mark.parametrize("word", ["places", "sums"])
def test_machine_code_divides_in_line(compiled: Compiled, word: str) -> None:
    """No division of 64 bits, and fewer instructions of PTX."""
    for kernel in kernels(compiled, word):
        narrow, wide = (cuda_kernel(kernel, wide=wide) for wide in (False, True))
        if not narrow.bound:
            continue
        counts: list[int] = []
        for text in (narrow, wide):
            try:
                ptx = compile_cuda(cuda_module([text]), "compute_80").decode()
            except NoCompiler as why:
                pytest.skip(str(why))
            operations = [op for op, _, _ in lines_of(functions(ptx)[kernel.name]) if op]
            counts.append(len(operations))
            assert text is wide or not {"div.s64", "rem.s64", "call.uni"} & set(operations)
        assert counts[0] <= 0.95 * counts[1]


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
@pytest.mark.parametrize("compiled_host", [True, False], ids=["compiled", "python"])
def test_a_launch_takes_what_it_needs(compiled: Compiled, compiled_host: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a lower limit: small sizes take the narrow kernel, larger ones the wide one, and both are right."""
    for module in (narrowing, launches):
        monkeypatch.setattr(module, "LIMIT", 5000)
    driver = EmulatedDriver(compiled_host=compiled_host)
    program = CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(driver), 64)
    for n, m, wide in ((3, 5, False), (1, 1, False), (40, 65, True), (0, 7, True)):
        (found,), _ = program.run("places", [n, m], convert=to_arguments)
        i, j = np.ogrid[:n, :m]
        assert (np.asarray(found) == i * 1000003 + (j + 1) % max(m, 1)).all()
        xss = np.arange(n * m, dtype=np.int32).reshape(n, m)
        (sums,), _ = program.run("sums", [xss], convert=to_arguments)
        assert (np.asarray(sums) == xss.sum(axis=1)).all()
        assert any(key[3] for key in program.device.others) == wide
