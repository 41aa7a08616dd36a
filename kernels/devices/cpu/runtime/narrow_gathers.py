"""Gathers of elements of less than 32 bits (`kernels/lanes/narrow_gathers.py`), for processors with AVX-512: the words
that hold them are gathered, and shifted. A word has the bytes of its element's page, so that it can be read wherever
an array ends.
"""

from __future__ import annotations

import re

from ....lanes.narrow_gathers import NARROW, masked_gather
from ....llvm.text import Code, Module

FUNCTION = re.compile(
    rf"^define internal <(\d+) x i(\d+)> @({re.escape(NARROW)}v\d+i\d+)\(.*?^}}\n", re.MULTILINE | re.DOTALL
)


def for_narrow_gathers(text: str, triple: str, features: str) -> str:
    """A module as it is before LLVM's passes, with gathers of words where a processor has fast ones."""
    words = triple.startswith("x86_64") and "+avx512f" in features.split(",")
    if NARROW not in text or not words:
        return text
    module = Module()

    def function(found: re.Match[str]) -> str:
        width, bits, name = int(found[1]), int(found[2]), found[3]
        params = (f"<{width} x ptr>", f"<{width} x i1>")
        t = f"<{width} x i{bits}>"
        module.function(name, t, params, lambda code: _of_words(code, width, bits), " alwaysinline")
        return ""

    text = FUNCTION.sub(function, text) + "\n".join(module.functions.values())
    return text + "\n".join(line for line in module.declarations.values() if line not in text) + "\n"


def _of_words(code: Code, width: int, bits: int) -> str:
    ptrs, longs, words = (f"<{width} x {t}>" for t in ("ptr", "i64", "i32"))
    name = f"llvm.ptrmask.v{width}p0.v{width}i64"
    code.module.declare(name, ptrs, (ptrs, longs))
    starts = code.call(name, ptrs, ((ptrs, "%0"), (longs, "splat (i64 -4)")))
    found = masked_gather(code, "i32", 4, width, starts, "%1")
    at = code.op(f"trunc {longs} {code.op(f'ptrtoint {ptrs} %0 to {longs}')} to {words}")
    shift = code.op(f"shl {words} {code.op(f'and {words} {at}, splat (i32 3)')}, splat (i32 3)")
    return code.op(f"trunc {words} {code.op(f'lshr {words} {found}, {shift}')} to <{width} x i{bits}>")
