"""The memory of a CPU: host programs read and write it themselves."""

from __future__ import annotations

from .....ir.types import Atom
from ...failures import RECORD
from ..runtime.functions import FUNCTIONS
from .arrays import constant, copy, spread
from .control import launch
from .frame import DATA, Array, Backend, Emitter, get, read_scalar, value, write_scalar


def pointer(h: Emitter, at: str) -> str:
    """ptr: an address that is held as an i64."""
    return h.code.op(f"inttoptr i64 {at} to ptr")


def fill(h: Emitter, target: Array, atom: Atom) -> None:
    """Every element of `target` becomes a scalar."""
    slot = h.code.slot("i64", 8)
    write_scalar(h, target.prim, value(h, atom), slot)
    copy(h, target, spread(h, target, h.code.op(f"ptrtoint ptr {slot} to i64"), ()))


def constants(h: Emitter, array: Array, data: bytes) -> None:
    """The elements of a dense array become those of `data`."""
    h.code.module.declare("llvm.memcpy.p0.p0.i64", "void", ("ptr", "ptr", "i64", "i1"))
    ends = ("ptr", pointer(h, get(h, array, DATA))), ("ptr", constant(h, data))
    h.code.call_void("llvm.memcpy.p0.p0.i64", (*ends, ("i64", str(len(data))), ("i1", "false")))


CPU = Backend(
    name="host",
    functions=FUNCTIONS,
    record=RECORD,
    read=lambda h, prim, at: read_scalar(h, prim, pointer(h, at)),
    write=lambda h, prim, text, at: write_scalar(h, prim, text, pointer(h, at)),
    fill=fill,
    constants=constants,
    launch=launch,
    end=lambda h: None,
)
