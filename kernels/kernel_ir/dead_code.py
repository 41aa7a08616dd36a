"""What nothing uses: values of arithmetic."""

from __future__ import annotations

from .nodes import KConvert, KLet, KOp, KStm
from .traverse import children, variables_in, with_children


def needed(stms: tuple[KStm, ...], used: set[str]) -> tuple[KStm, ...]:
    """Without values of arithmetic that nothing after them uses (a division there fails no program). `used`: what is
    used after the list; what the list uses joins it."""
    kept: list[KStm] = []
    for stm in reversed(stms):
        if isinstance(stm, KLet) and isinstance(stm.rhs, KOp | KConvert) and stm.var.name not in used:
            continue
        lists = children(stm)
        used |= variables_in(with_children(stm, ((),) * len(lists)))
        kept.append(with_children(stm, [needed(inner, used) for inner in lists[::-1]][::-1]))
    return tuple(reversed(kept))
