"""What both runners of host programs check outside of kernels, and the errors that a run ends with."""

from __future__ import annotations

from typing import Any

from ...ir.errors import Diagnostic, Label, Loc, RunError, run_error
from ...ir.types import Prim, Type
from .device import KernelFailure, OutOfMemory, bytes_text


def check_bounds(dims: tuple[Any, ...], shape: tuple[int, ...], loc: Loc) -> None:
    """R0101 unless every index and every non-empty slice is inside."""
    shown = "".join(f"[{n}]" for n in shape)
    for dim, width in zip(dims, shape, strict=True):
        if isinstance(dim, tuple):
            start, count, stride = dim
            last = start + (count - 1) * stride
            if count < 0 or (count > 0 and not (0 <= start < width and 0 <= last < width)):
                raise run_error(
                    "R0101", f"slice [{start}:+{count}*{stride}] out of bounds for array of shape {shown}", loc
                )
        elif not 0 <= dim < width:
            several = len(dims) > 1 and not any(isinstance(d, tuple) for d in dims)
            index = ", ".join(str(d) for d in dims) if several else str(dim)
            raise run_error("R0101", f"index [{index}] out of bounds for array of shape {shown}", loc)


def room_error(why: OutOfMemory, what: str, loc: Loc) -> RunError:
    """device out of memory: needs 12.0 GiB for `t`, free 3.1 GiB of 139.0 GiB"""
    sizes = f"{bytes_text(why.free)} of {bytes_text(why.total)}"
    text = f"device out of memory: needs {bytes_text(why.needs)} for {what}, free {sizes}"
    hint = "another version may need less: see `soac explain`, and choose it with --force or a tuning file"
    return RunError(Diagnostic("R0301", text, Label(loc, ""), hint=hint))


def show_scalar(value: Any) -> str:
    """A scalar as messages show it: `true`, `false`, or as Python writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def failure_error(failure: KernelFailure) -> RunError:
    """A failure inside a kernel as the same error that the host would give."""
    values = iter(failure.values)
    text = "".join(p if isinstance(p, str) else show_scalar(next(values)) for p in failure.site.parts)
    return run_error(failure.site.code, text, failure.site.loc)


def as_type(value: Any, type_: Type) -> Any:
    """A scalar argument as the Python value of its type."""
    if type_.prim is Prim.BOOL:
        return bool(value)
    return float(value) if type_.prim.is_float else int(value)
