"""The structures of DLPack, and capsules of them: arrays that libraries hand to each other where they lie.

    producer: capsule("dltensor_versioned") ──▶ consumer: renames it to "used_..", calls `deleter` when it has done

Source: dlpack.h, the Python specification of DLPack. The structure without a version is what consumers get that do not
say that they know the other.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, ClassVar

from ....ir.records import dataclass
from ....ir.types import Prim

CPU, CUDA, CUDA_MANAGED = 1, 2, 13
"""Kinds of devices."""
VERSION = (1, 0)
READ_ONLY, COPIED = 1, 2
"""Flags of a tensor."""


class DLTensor(ctypes.Structure):
    """Strides count elements."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    """`DLManagedTensor`."""

    _fields_: ClassVar = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedVersioned(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    _fields_: ClassVar = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


OLD, NEW = b"dltensor", b"dltensor_versioned"
USED = {OLD: b"used_dltensor", NEW: b"used_dltensor_versioned"}
_CODES = {"i": 0, "u": 1, "f": 2, "bf": 4}
_BOOL = 6

_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _python))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _python))


@dataclass(frozen=True, slots=True)
class Tensor:
    """What a tensor says: where it is, strides in elements."""

    address: int
    device: tuple[int, int]
    prim: Prim
    shape: tuple[int, ...]
    strides: tuple[int, ...]


# ---- producing ---------------------------------------------------------------------------------------------------

lent: dict[int, tuple[object, ...]] = {}
"""By its address, a tensor that a consumer has or may still take: the structure with what it points to, and the owner
of the memory."""


@Deleter
def _forget(address: int | None) -> None:
    lent.pop(address or 0, None)


@Deleter
def _forget_unused(capsule: int | None) -> None:
    """The destructor of a capsule, whose tensor is still ours if it has not been taken."""
    for name in (OLD, NEW):
        if capsule is not None and _valid(capsule, name):
            lent.pop(_pointer(capsule, name) or 0, None)


def produced(tensor: Tensor, owner: object, versioned: bool, flags: int) -> object:
    """A capsule of the tensor; `owner` lives as long as somebody has it."""
    rank = len(tensor.shape)
    sizes = (ctypes.c_int64 * max(1, rank))(*tensor.shape)
    strides = (ctypes.c_int64 * max(1, rank))(*tensor.strides)
    inner = DLTensor(
        tensor.address or None, *tensor.device, rank, *_code(tensor.prim), 1, sizes, strides, 0
    )  # fmt: skip
    deleter = ctypes.cast(_forget, ctypes.c_void_p)
    held = ManagedVersioned(*VERSION, None, deleter, flags, inner) if versioned else Managed(inner, None, deleter)
    address = ctypes.addressof(held)
    lent[address] = (held, sizes, strides, owner)
    return _python.PyCapsule_New(address, NEW if versioned else OLD, ctypes.cast(_forget_unused, ctypes.c_void_p))


def _code(prim: Prim) -> tuple[int, int]:
    return (_BOOL if prim is Prim.BOOL else _CODES[prim.value.rstrip("0123456789")]), prim.bits


# ---- consuming ---------------------------------------------------------------------------------------------------


class Borrowed:
    """Memory of a producer, given back when nothing refers to it any more."""

    __slots__ = ("address", "capsule", "give_back")

    def __init__(self, capsule: object, address: int, give_back: Callable[[int], Any] | None) -> None:
        self.capsule = capsule
        self.address = address
        self.give_back = give_back

    def __del__(self) -> None:
        if self.give_back is not None:
            self.give_back(self.address)


def consumed(capsule: object) -> tuple[Tensor, Borrowed]:
    """The tensor of a capsule, which is used up. Raises BufferError."""
    name = next((name for name in (NEW, OLD) if _python.PyCapsule_IsValid(capsule, name)), None)
    if name is None:
        raise BufferError("not a capsule of DLPack, or one that has been used")
    address = _python.PyCapsule_GetPointer(capsule, name)
    managed = (ManagedVersioned if name == NEW else Managed).from_address(address)
    _python.PyCapsule_SetName(capsule, USED[name])
    owner = Borrowed(capsule, address, Deleter(managed.deleter) if managed.deleter else None)
    if isinstance(managed, ManagedVersioned) and managed.major != VERSION[0]:
        raise BufferError(f"a tensor of DLPack {managed.major}.{managed.minor}")
    return _tensor(managed.tensor), owner


def _tensor(t: DLTensor) -> Tensor:
    prim = _prim(t.code, t.bits)
    if prim is None or t.lanes != 1:
        raise BufferError(f"elements of a type that the language does not have (code {t.code}, {t.bits} bits)")
    shape = tuple(t.shape[k] for k in range(t.ndim))
    strides = tuple(t.strides[k] for k in range(t.ndim)) if t.strides else dense(shape)
    return Tensor((t.data or 0) + t.byte_offset, (t.device_type, t.device_id), prim, shape, strides)


def _prim(code: int, bits: int) -> Prim | None:
    if code == _BOOL:
        return Prim.BOOL if bits == 8 else None
    letter = next((letter for letter, known in _CODES.items() if known == code), "")
    return next((prim for prim in Prim if prim is not Prim.BOOL and prim.value == f"{letter}{bits}"), None)


def dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a row-major array, in elements."""
    strides, step = list[int](), 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
