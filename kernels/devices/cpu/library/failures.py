"""Failure sites as a library shows them: a code, a place, a text with holes for the recorded values."""

from __future__ import annotations

from .....ir.errors import NOWHERE, IRError, Loc
from .....ir.ops import Op
from .....ir.records import dataclass
from .....ir.types import Prim
from ....kernel_ir.nodes import FailureSite
from ..host.failure_sites import AssertionSite, BoundsSite, DepthSite, MemorySite, ScalarSite, Site, recorded

NEXT, SKIP = "\1", "\2"
"""Holes (`failures.ll`): for the next value, and for one that is not shown."""

SIGNED, UNSIGNED, TRUTH, FLOAT = "i", "u", "b", "f"


@dataclass(frozen=True, slots=True)
class Shown:
    """`kinds`: of each value."""

    code: str
    text: str
    loc: Loc = NOWHERE
    kinds: str = ""


def of_host(site: Site) -> Shown:
    """A site of the host program, in the words of its runners (`run_errors.py`)."""
    kinds = "".join(map(kind, recorded(site)))
    match site:
        case ScalarSite(op, prim, loc):
            return Shown("R0102", refused(op), loc, kinds)
        case AssertionSite(code, parts, loc):
            return Shown(code, joined(parts), loc, kinds)
        case BoundsSite(slices, loc):
            return Shown("R0101", outside(slices), loc, kinds)
        case MemorySite(prim, rank, loc):
            text = f"out of memory: no room for an array {f'[{NEXT}]' * rank}{prim.value}"
            return Shown("R0301", text, loc, kinds)
        case DepthSite(function, loc):
            return Shown("R0107", f"recursion of `{function}` is deeper than {NEXT} calls", loc, kinds)


def of_kernel(site: FailureSite) -> Shown:
    """A site of a kernel."""
    kinds = "".join(kind(part) for part in site.parts if isinstance(part, Prim))
    return Shown(site.code, joined(site.parts), site.loc, kinds)


def joined(parts: tuple[str | Prim, ...]) -> str:
    """A text with holes."""
    return "".join(part if isinstance(part, str) else NEXT for part in parts)


def kind(prim: Prim) -> str:
    """How a recorded value is shown."""
    match prim:
        case Prim.BOOL:
            return TRUTH
        case Prim.U64:
            return UNSIGNED
        case _:
            return FLOAT if prim.is_float else SIGNED


def refused(op: Op) -> str:
    """What an operation on integers refuses: its second operand."""
    match op:
        case Op.POW:
            return f"negative exponent {SKIP}{NEXT}"
        case Op.DIV | Op.MOD | Op.QUOT | Op.REM:
            return "division by zero"
        case _:
            raise IRError(f"{op.value} does not fail")


def outside(slices: tuple[bool, ...]) -> str:
    """An index, or a slice, out of the bounds of an array."""
    dims = (f"{NEXT}:+{NEXT}*{NEXT}" if is_slice else NEXT for is_slice in slices)
    what = "slice" if any(slices) else "index"
    return f"{what} [{', '.join(dims)}] out of bounds for array of shape {f'[{NEXT}]' * len(slices)}"
