"""Loops that end when a flag has settled (`analysis/settled.py`), in lanes: when none needs another round."""

from __future__ import annotations

from ..analysis.settled import is_costly, settling
from ..kernel_ir.nodes import For, KVar
from .values import Lanes, Mask, Uniform, any_lane, complement, intersect, operand, vectors

FEW = 16
"""Rounds that are not worth a test each: those of a tile, which LLVM unrolls."""


def flag_tested(e: Lanes, stm: For) -> tuple[KVar, bool] | None:
    """The flag that ends a loop where it has settled. A loop of a few rounds is done to its end, and so is one that
    LLVM may make vectors of."""
    if e.interval(stm.bound)[1] <= FEW or (flag := settling(stm)) is None:
        return None
    on_lanes = e.facts.varies(flag[0]) and not e.alone
    return flag if on_lanes or is_costly(stm) else None


def open_lanes(e: Lanes, flag: KVar, settled: bool) -> Mask:
    """The lanes whose flag may still change."""
    holds = vectors(e, operand(e, flag))
    return complement(e, holds) if settled else holds


def any_open(e: Lanes, flag: KVar, settled: bool) -> str:
    """i1: is there a lane whose flag may still change?"""
    value = operand(e, flag)
    if isinstance(value, Uniform):
        return e.code.op(f"xor i1 {value.text}, {str(settled).lower()}")
    return any_lane(e, intersect(e, e.mask, open_lanes(e, flag, settled)))
