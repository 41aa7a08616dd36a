"""Types that are written often."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.types import Prim
from .types import TFun, TPrim, TRecord, Ty

PRIMS = {prim: TPrim(prim) for prim in Prim}
BOOL, I64, U8 = PRIMS[Prim.BOOL], PRIMS[Prim.I64], PRIMS[Prim.U8]
UNIT = TRecord(())


def field_key(name: str) -> tuple[int, int, str]:
    """Order of the fields of a record: numbers by value, then names."""
    return (0, int(name), "") if name.isdigit() else (1, 0, name)


def record(fields: Iterable[tuple[str, Ty]]) -> TRecord:
    return TRecord(tuple(sorted(fields, key=lambda field: field_key(field[0]))))


def tuple_of(elems: Iterable[Ty]) -> TRecord:
    return TRecord(tuple([(str(i), t) for i, t in enumerate(elems)]))


def arrow(dom: Ty, cod: Ty) -> TFun:
    """A function type without names or ownership."""
    return TFun(None, dom, cod, consumes=False, fresh=False, exists=())
