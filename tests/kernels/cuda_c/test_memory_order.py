"""CUDA C as the order of memory asks for it: what compilers may not move, what the threads of a warp may read,
and for whom they wait."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from soac.ir.core import Level
from soac.ir.machine import CUDA
from soac.ir.types import Prim, i64
from soac.kernels.cuda_c.module import cuda_kernel
from soac.kernels.kernel_ir.nodes import Alloc, Atomic, KArray, Kernel, LookBack, Publish, Space, WaitFor
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.pipeline import compile_prog
from tests.support.gpu_programs import compiled

COMMON = re.compile(r"(?:publish|wait_for|atomic\w+|atomic_update)\((?:\(\w+ \*\))?&(\w+)\[")
PARAMETER = re.compile(r"\*(__restrict__ )?(\w+)[,)]")


def shows_others(kernel: Kernel) -> bool:
    """Whether its blocks tell each other something."""
    stms = list(statements(kernel.body))
    updates = any(isinstance(s, Atomic) and s.array.space is Space.GLOBAL for s in stms)
    return updates or any(isinstance(s, (Publish, WaitFor, LookBack)) for s in stms)


KERNELS = all_ready(filter(shows_others, compiled().host.kernels), CUDA_PASSES)
TEXTS = {kernel.name: cuda_kernel(kernel).text for kernel in KERNELS}


@pytest.mark.parametrize("name", TEXTS)
def test_what_other_blocks_write_may_have_other_names(name: str) -> None:
    """`__restrict__` says that nothing else writes an array, and lets accesses pass those that order them."""
    alone = {array: bool(restrict) for restrict, array in PARAMETER.findall(TEXTS[name])}
    common = set(COMMON.findall(TEXTS[name])) & alone.keys()
    assert common
    assert not any(alone[array] for array in common)
    assert any(alone.values())


def test_the_words_of_a_chain_may_have_other_names_too() -> None:
    (text,) = (text for name, text in TEXTS.items() if name.startswith("prefixes_") and "TOTAL" in text)
    alone = {array: bool(restrict) for restrict, array in PARAMETER.findall(text)}
    assert {array for array, is_alone in alone.items() if is_alone} == {"xs", "scan"}
    assert {"words", "begun"} <= alone.keys()
    assert "flags" not in alone


WARPS = """entry main [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\\xs -> let ys = scan (+) 0 xs in map2 (+) (scan f32.max f32.lowest (reverse ys)) (reverse ys)) xss
"""


def test_a_warp_is_a_block_of_its_own_among_others() -> None:
    """It never waits for those beside it, and shares no memory with them."""
    kernels = compile_prog(WARPS, "warps.soac", machine=CUDA).host.kernels
    (kernel,) = (k for k in kernels if k.collective is Level.WARP)
    made = cuda_kernel(kernel)
    assert (made.threads, made.together) == (32, 4)
    assert "__launch_bounds__(128)" in made.text
    assert "__syncwarp();" in made.text
    assert not re.search(r"__syncthreads|threadIdx\.x|\[warp_id\(\)\] = |blockIdx", made.text)
    for line in made.text.splitlines():
        assert "__shared__" not in line or re.search(r"_all\w*\[4\]", line), line
    large = replace(kernel, body=(Alloc(KArray("large", Prim.I64, Space.SHARED), i64(1 << 10)), *kernel.body))
    assert cuda_kernel(large).together == 2
