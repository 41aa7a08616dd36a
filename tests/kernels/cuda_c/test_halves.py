"""Halves on a GPU: instructions of their own, counted in PTX."""

from __future__ import annotations

import re

import pytest

from soac.ir.machine import CUDA
from soac.kernels.cuda_c.module import cuda_kernel, cuda_module
from soac.kernels.devices.cuda.nvrtc import NoCompiler, compile_cuda
from soac.pipeline import compile_prog

PRODUCT = """
entry main [n][p][m] (xss: [n][p]f16) (yss: [p][m]f16): [n][m]f16 =
  map (\\xs -> map (\\ys -> f16.sum (map2 (*) xs ys)) (transpose yss)) xss
"""


def test_a_product_of_f16_takes_one_instruction_for_a_multiply_add() -> None:
    (kernel, *_) = compile_prog(PRODUCT, "product.soac", machine=CUDA).host.kernels
    try:
        ptx = compile_cuda(cuda_module([cuda_kernel(kernel)]), "compute_90").decode()
    except NoCompiler as missing:
        pytest.skip(str(missing))
    blocks = re.split(r"\n\$\w+:", ptx)
    inner = max(blocks, key=lambda block: block.count("fma.rn.f16"))
    count = len(re.findall(r"^\s+(?:@\S+\s+)?[a-z][\w.]*\s[^\n]*;$", inner, re.MULTILINE))
    assert inner.count("fma.rn.f16") >= 64
    assert count <= 1.2 * inner.count("fma.rn.f16")
