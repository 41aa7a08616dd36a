"""Elements that only kernels use: copied where they were read, loaded by the kernels, the same values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from soac.arguments import to_arguments
from soac.ir import core
from soac.ir.interpret import interpret
from soac.ir.machine import CUDA
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.device import on_host
from soac.kernels.host_ir.nodes import HostBody, HostIf, HostLoop, HostStm
from soac.pipeline import compile_prog
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

SOURCE = """
entry pivots [n] (a: *[n][n]f32): *[n][n]f32 =
  loop a for k < n do
    let p = a[k, k]
    let fs = map (/ p) a[:, k]
    in a with [:, k] = fs
entry sizes [n] (xs: [n]i64): [n]i64 = map (\\x -> reduce (+) 0 (map (* x) (iota xs[0]))) xs
entry checked [n] (xs: [n]f32) (k: i64): [n]f32 = let y = xs[k] in map (* y) xs
"""


def elements(body: HostBody) -> Iterator[HostStm]:
    """The statements by which the host reads an element."""
    for stm in body.stms:
        match stm.exp:
            case core.Index() if not stm.pat[0].type.shape:
                yield stm
            case HostIf(_, then, orelse):
                yield from (*elements(then), *elements(orelse))
            case HostLoop(_, _, _, inner):
                yield from elements(inner)
            case _:
                pass


def test_what_the_host_reads() -> None:
    """Nothing in `pivots`, whose element is written meanwhile; the message of a failure keeps its index."""
    compiled = compile_prog(SOURCE, "elements.soac", machine=CUDA)
    read = {fun.entry.name: len(list(elements(fun.body))) for fun in compiled.host.functions}
    assert read["pivots"] == 0
    assert read["checked"] == 1
    names = [kernel.name for kernel in compiled.host.kernels]
    assert len(names) == len(set(names))


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
@pytest.mark.parametrize("compiled_host", [True, False])
def test_values(compiled_host: bool) -> None:
    compiled = compile_prog(SOURCE, "elements.soac", machine=CUDA)
    gpu = emulated_gpu(EmulatedDriver(compiled_host=compiled_host))
    program = CudaExecutable.build(compiled.host, compiled.core.functions, gpu, 64)
    for entry, args in (
        ("pivots", [np.arange(1, 17, dtype=np.float32).reshape(4, 4) + np.eye(4, dtype=np.float32)]),
        ("sizes", [np.array([5, 2, 9])]),
        ("checked", [np.arange(5, dtype=np.float32), np.int64(3)]),
    ):
        found = on_host(program.run(entry, args, convert=to_arguments)[0])
        wanted, _ = interpret(compiled.core, entry, args)
        assert [v.tobytes() for v in found] == [np.asarray(v).tobytes() for v in wanted]
