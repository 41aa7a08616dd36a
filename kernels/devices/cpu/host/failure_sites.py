"""Where native host programs can fail: a site says what values it records, and what error they make.

The errors are those of the Python runner (`devices/host_runner.py`): the same functions make them, from the recorded
values.
"""

from __future__ import annotations

from collections.abc import Callable

from .....ir import scalar
from .....ir.errors import IRError, Loc, RunError, run_error
from .....ir.ops import Op, operand_types
from .....ir.records import dataclass
from .....ir.recursion import too_many_calls
from .....ir.scalar import DTYPES
from .....ir.types import Prim
from ...device import Scalar
from ...host_memory import no_room
from ...run_errors import check_bounds, show_scalar


@dataclass(frozen=True, slots=True)
class ScalarSite:
    """An operation without a value: its operands."""

    op: Op
    prim: Prim
    loc: Loc


@dataclass(frozen=True, slots=True)
class AssertionSite:
    """`assert c code parts`: the values of the holes."""

    code: str
    parts: tuple[str | Prim, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class BoundsSite:
    """A place outside of its array: for each dimension the index, or start, count and stride; then the sizes."""

    slices: tuple[bool, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class MemorySite:
    """An array that cannot be had: its sizes; `what` it was for, in words."""

    prim: Prim
    rank: int
    loc: Loc
    what: str = ""


@dataclass(frozen=True, slots=True)
class DepthSite:
    """A function of which too many calls are open: how many."""

    function: str
    loc: Loc


Site = ScalarSite | AssertionSite | BoundsSite | MemorySite | DepthSite
Values = tuple[Scalar, ...]


def recorded(site: Site) -> tuple[Prim, ...]:
    """The types of the values that a site records."""
    match site:
        case ScalarSite(op, prim):
            return operand_types(op, prim)
        case AssertionSite(_, parts):
            return tuple(p for p in parts if isinstance(p, Prim))
        case BoundsSite(slices):
            return (Prim.I64,) * sum(4 if is_slice else 2 for is_slice in slices)
        case MemorySite(_, rank):
            return (Prim.I64,) * rank
        case DepthSite():
            return (Prim.I64,)


def error_of(site: Site, values: Values) -> Exception:
    """A RunError, or a MemoryError for the whole call."""
    match site:
        case ScalarSite(op, prim, loc):
            return scalar_error(op, prim, loc, values)
        case AssertionSite(code, parts, loc):
            left = iter(values)
            return run_error(code, "".join(p if isinstance(p, str) else show_scalar(next(left)) for p in parts), loc)
        case BoundsSite(slices, loc):
            left = iter(values)
            place = tuple((next(left), next(left), next(left)) if is_slice else next(left) for is_slice in slices)
            shape = tuple(int(n) for n in left)
            return raised(lambda: check_bounds(place, shape, loc))
        case MemorySite(prim, _, loc):
            return no_room(tuple(int(n) for n in values), DTYPES[prim])
        case DepthSite(function, loc):
            return too_many_calls(function, int(values[0]), loc)


def scalar_error(op: Op, prim: Prim, loc: Loc, values: Values) -> RunError:
    """The error of an operation on recorded operands, which it is applied to again. Raises IRError where that has a
    value."""
    try:
        scalar.apply(op, prim, values)
    except scalar.ScalarFailure as failure:
        return run_error(failure.code, failure.text, loc)
    raise IRError(f"{op.value}_{prim.value} failed on {values}")


def raised(action: Callable[[], object]) -> RunError:
    """The error that `action` raises."""
    try:
        action()
    except RunError as error:
        return error
    raise IRError("a check failed that holds")
