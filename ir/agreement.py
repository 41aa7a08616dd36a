"""Whether types agree: what the checker asks of operands, lambdas and patterns."""

from __future__ import annotations

from collections.abc import Sequence

from . import scalar
from .core import Stm
from .errors import IRError
from .show import show_stm, show_type
from .types import Const, Prim, Type, Var
from .types import scalar as scalar_type


class IllFormed(IRError):
    """What is wrong; the statement is added where it is known."""

    def inside(self, stm: Stm) -> IRError:
        """The same of a statement, as far as that is short."""
        lines = show_stm(stm).splitlines()
        return IRError("\n".join([f"{self}, in", *lines[:12], *["..."] * (len(lines) > 12)]))


def const_type(const: Const) -> Type:
    """The type of a constant whose value is one of that type, rounded to it."""
    right = bool if const.prim is Prim.BOOL else float if const.prim.is_float else int
    if type(const.value) is not right or scalar.constant(const.prim, const.value) != const:
        raise IllFormed(f"the constant {const.value!r} is no {const.prim.value}")
    return scalar_type(const.prim)


def agrees(a: Type, b: Type) -> bool:
    """Whether the types can be equal: scalar type and rank, and sizes where both are constants."""
    if a.prim is not b.prim or len(a.shape) != len(b.shape):
        return False
    if not a.shape:
        return True
    pairs = zip(a.shape, b.shape)
    return all(x == y or isinstance(x, Var) or isinstance(y, Var) for x, y in pairs)


def require_types(found: Sequence[Type], wanted: Sequence[Type], what: str) -> None:
    """As many types as wanted, each of which can be equal to its counterpart."""
    if len(found) != len(wanted):
        raise IllFormed(f"{what}: {len(found)} where {len(wanted)} are needed")
    for k, (a, b) in enumerate(zip(found, wanted)):
        if not agrees(a, b):
            raise IllFormed(f"{what} {k} should be {show_type(b)}, is {show_type(a)}")
