"""Rows of which some elements are stored (`kernels/lanes/partial_rows.py`), for processors that store some bytes of a
register: AVX-512 for bytes and words. A row for each lane, from a table in memory, since vectors give single elements
more slowly.
"""

from __future__ import annotations

from functools import partial

from ....lanes.partial_rows import SOME
from ....llvm.text import Code
from .other_bodies import with_bodies


def for_partial_rows(text: str, triple: str, features: str) -> str:
    """A module as it is before LLVM's passes, with rows stored at once where a processor can."""
    stores = triple.startswith("x86_64") and {"+avx512bw", "+avx512vl"} <= set(features.split(","))
    return with_bodies(text, SOME, lambda width, bits, _: partial(_rows, width, bits)) if stores else text


def _rows(width: int, bits: int, code: Code) -> str:
    """A store for each lane. What is loaded is `volatile`, so that it is loaded, and not taken out of a register."""
    tables = [code.slot(f"<{width} x {t}>", 64) for t in ("i64", "i64", "i8")]
    for number, (table, t) in enumerate(zip(tables, ("i64", "i64", "i8"), strict=True), 1):
        code.do(f"store volatile <{width} x {t}> %{number}, ptr {table}")
    count = 128 // bits
    row, flags = f"<{count} x i{bits}>", f"<{count} x i1>"
    for lane in range(width):
        at, word, keep = (
            code.op(f"load volatile {t}, ptr {code.op(f'getelementptr {t}, ptr {table}, i64 {lane}')}")
            for table, t in zip(tables, ("i64", "i64", "i8"), strict=True)
        )
        elements = code.op(f"bitcast i128 {code.op(f'zext i64 {word} to i128')} to {row}")
        bit = keep if count == 8 else code.op(f"zext i8 {keep} to i{count}")
        to = code.op(f"getelementptr i{bits}, ptr %0, i64 {at}")
        mask = code.op(f"bitcast i{count} {bit} to {flags}")
        code.masked_store(f"i{bits}", bits // 8, count, elements, to, mask)
    return ""
