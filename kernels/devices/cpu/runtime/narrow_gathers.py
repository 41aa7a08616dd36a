"""Gathers of elements of less than 32 bits (`kernels/lanes/gathers.py`), for processors with AVX-512: the words
that hold them are gathered, and shifted. A word has the bytes of its element's page, so that it can be read wherever
an array ends.
"""

from __future__ import annotations

from functools import partial

from ....lanes.gathers import NARROW, masked_gather
from ....llvm.text import Code
from .other_bodies import with_bodies


def for_narrow_gathers(text: str, triple: str, features: str) -> str:
    """A module as it is before LLVM's passes, with gathers of words where a processor has fast ones."""
    words = triple.startswith("x86_64") and "+avx512f" in features.split(",")
    return with_bodies(text, NARROW, lambda width, bits, _: partial(_of_words, width, bits)) if words else text


def _of_words(width: int, bits: int, code: Code) -> str:
    ptrs, longs, words = (f"<{width} x {t}>" for t in ("ptr", "i64", "i32"))
    name = f"llvm.ptrmask.v{width}p0.v{width}i64"
    code.module.declare(name, ptrs, (ptrs, longs))
    starts = code.call(name, ptrs, ((ptrs, "%0"), (longs, "splat (i64 -4)")))
    found = masked_gather(code, "i32", 4, width, starts, "splat (i1 true)")
    at = code.op(f"trunc {longs} {code.op(f'ptrtoint {ptrs} %0 to {longs}')} to {words}")
    shift = code.op(f"shl {words} {code.op(f'and {words} {at}, splat (i32 3)')}, splat (i32 3)")
    return code.op(f"trunc {words} {code.op(f'lshr {words} {found}, {shift}')} to <{width} x i{bits}>")
