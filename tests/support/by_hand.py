"""The worked kernels by hand of `examples/by_hand`, alone and as one program."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from soac.ir.machine import CPU, CUDA, Machine
from soac.pipeline import Compiled, compile_prog

FOLDER = Path(__file__).parents[2] / "examples" / "by_hand"
NAMES = ("block_sum", "product", "stencil", "histogram", "pipeline", "butterfly")


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.soac").read_text(encoding="utf-8")


def changed(name: str, old: str, new: str) -> str:
    """An example with a fault planted in it, where `old` stands first."""
    text = text_of(name)
    assert old in text, f"{name}: {old}"
    return text.replace(old, new, 1)


@cache
def compiled(machine: Machine) -> Compiled:
    """All of them, each as an entry: `run_product`."""
    text = "\n".join(text_of(name).replace("entry main", f"entry run_{name}") for name in NAMES)
    return compile_prog(text, "by_hand.soac", machine=machine, checked=True)


def on_cpu() -> Compiled:
    return compiled(CPU)


def on_gpu() -> Compiled:
    return compiled(CUDA)


def arguments(name: str, *sizes: int) -> list[np.ndarray]:
    """Small whole numbers, whose sums are exact: an array of these sizes, or for a product two."""
    rng = np.random.default_rng(1)
    shapes = [(sizes[0], sizes[2]), (sizes[2], sizes[1])] if name == "product" else [sizes]
    return [rng.integers(0, 9, shape).astype(np.int32 if name == "histogram" else np.float32) for shape in shapes]


CALLS = [
    ("block_sum", 0, 5), ("block_sum", 1, 0), ("block_sum", 3, 127), ("block_sum", 4, 300),
    ("product", 1, 1, 1), ("product", 16, 16, 16), ("product", 17, 33, 40), ("product", 5, 0, 3), ("product", 2, 3, 0),
    ("stencil", 0), ("stencil", 1), ("stencil", 255), ("stencil", 300),
    ("histogram", 0, 3), ("histogram", 2, 0), ("histogram", 3, 129), ("histogram", 2, 700),
    ("pipeline", 0, 3), ("pipeline", 2, 0), ("pipeline", 3, 127), ("pipeline", 2, 129), ("pipeline", 1, 600),
    ("butterfly", 0, 3), ("butterfly", 5, 0), ("butterfly", 5, 31), ("butterfly", 3, 100),
]  # fmt: skip
"""Names, and sizes around those of the kernels."""
