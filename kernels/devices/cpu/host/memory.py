"""The memory of a CPU: host programs read and write it themselves."""

from __future__ import annotations

import numpy as np

from .....ir.scalar import DTYPES
from .....ir.types import Atom, Const
from ...failures import RECORD
from ..runtime.functions import FUNCTIONS
from .arrays import constant, copy, spread
from .control import launch
from .frame import DATA, Array, Backend, Emitter, call, get, read_scalar, size, stride, value, write_scalar


def pointer(h: Emitter, at: str) -> str:
    """ptr: an address that is held as an i64."""
    return h.code.op(f"inttoptr i64 {at} to ptr")


FEW = 256
"""Bytes that are filled where they are, without a launch."""


def fill(h: Emitter, target: Array, atom: Atom) -> None:
    """Every element of `target` becomes a scalar; a constant in a few bytes of a buffer at once."""
    if not (target.dense and isinstance(atom, Const)):
        fill_all(h, target, atom)
        return
    code, few, many, done = h.code, *map(h.code.fresh, ("few", "many", "filled"))
    bytes_ = code.op(f"mul i64 {size(h, target, 0)}, {stride(h, target, 0)}")
    pattern = np.array([atom.value], DTYPES[target.prim]).tobytes() * (8 // target.prim.bytes)
    code.branch(code.op(f"icmp ule i64 {bytes_}, {FEW}"), few, many)
    code.label(few)
    call(h, "soac_host_set", get(h, target, DATA), bytes_, str(int.from_bytes(pattern, "little", signed=True)))
    code.jump(done)
    code.label(many)
    fill_all(h, target, atom)
    code.jump(done)
    code.label(done)


def fill_all(h: Emitter, target: Array, atom: Atom) -> None:
    """Every element of `target` becomes a scalar, which is spread by a copy."""
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
    is_here=True,
    functions=FUNCTIONS,
    record=RECORD,
    read=lambda h, prim, at: read_scalar(h, prim, pointer(h, at)),
    write=lambda h, prim, text, at: write_scalar(h, prim, text, pointer(h, at)),
    fill=fill,
    constants=constants,
    launch=launch,
    end=lambda h: None,
)
