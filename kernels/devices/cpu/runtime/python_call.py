"""Calls of native host programs from Python without Python (`python_call.ll`): what they read, and their builtin.

What a call in Python touches of memory costs a hundred microseconds and more where other work has filled the caches. So
an entry has a builtin function; its `self` names a `Head`. Arrays and scalars of exactly the types of the entry suit,
and numbers of Python, where floats are f64 or f32; what else there is, and every message, is the business of the
callers (`devices/cpu/executable.py`).
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Sequence
from ctypes import c_int64, c_void_p
from typing import Any

import numpy as np

INTERPRETER = (
    "PyCapsule_GetPointer", "PyCapsule_New", "PyErr_CheckSignals", "PyErr_Clear", "PyErr_Occurred",
    "PyEval_RestoreThread", "PyEval_SaveThread", "PyList_New", "PyList_SetItem", "PyLong_AsLongLong",
    "PyLong_FromLongLong", "PyThread_get_thread_ident", "Py_DecRef", "Py_IncRef",
)  # fmt: skip
"""What the runtime calls of the interpreter."""


class Argument(ctypes.Structure):
    """The type object of a scalar or the dtype of an array; the rank; where its words are. Of a scalar the type of
    Python that suits too, if one does (`plain`): a float for f64, and for f32 with the range -1 to -1; an integer from
    `least` to `most`, a truth value."""

    _fields_ = (
        ("type", c_void_p), ("rank", c_int64), ("place", c_void_p),
        ("plain", c_void_p), ("least", c_int64), ("most", c_int64),
    )  # fmt: skip


class Result(ctypes.Structure):
    """Where a scalar or a descriptor is; the rank; the dtype; bytes of an element."""

    _fields_ = (("place", c_void_p), ("rank", c_int64), ("descr", c_void_p), ("element", c_int64))


class Table(ctypes.Structure):
    """Rows in memory: where the first is, and how many there are."""

    _fields_ = (("rows", c_void_p), ("count", c_int64))


class Head(ctypes.Structure):
    """What a call reads. `turn`: a word that is 1 while a call is under way; `workers`: the number of those that the
    pool has, of which a launch uses up to `helpers`."""

    _fields_ = (
        ("turn", c_void_p), ("code", c_void_p), ("state", c_void_p), ("workers", c_void_p), ("helpers", c_int64),
        ("arguments", Table), ("results", Table),
    )  # fmt: skip


STRUCTS: tuple[type[ctypes.Structure], ...] = (Argument, Result, Table, Head)
"""Those that the assembler has under the same names."""


def rows_of(row: type[ctypes.Structure], listed: Sequence[tuple[int, ...]]) -> ctypes.Array[Any]:
    """The rows of a table, which must outlive it."""
    return (row * len(listed))(*(row(*values) for values in listed))


def table(rows: ctypes.Array[Any]) -> Table:
    """A table of rows, which must outlive it."""
    return Table(ctypes.addressof(rows), len(rows))


ABI_VERSIONS = (0x1000009, 0x2000000)
"""Versions of NumPy's binary interface under which objects are laid out as the assembler says: NumPy 1 and 2."""


def numpy_table() -> int:
    """The address of NumPy's C interface. Raises ImportError for one that is not known."""
    package = "numpy.core" if np.__version__.startswith("1.") else "numpy._core"
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, (ctypes.py_object, ctypes.c_char_p)
    found = pointer(importlib.import_module(f"{package}._multiarray_umath")._ARRAY_API, None)
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(c_void_p.from_address(found).value or 0)()
    if version not in ABI_VERSIONS:
        raise ImportError(f"NumPy {np.__version__} has the binary interface {version:#x}, which soac does not know")
    return found


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("code", c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


FASTCALL = 0x80  # METH_FASTCALL
_METHODS: dict[int, _Method] = {}  # a definition must outlive its functions


def builtin(code: int, head: Head) -> Any:
    """The function at the address `code` with a head, which must outlive it, as a builtin of Python."""
    method = _METHODS.setdefault(code, _Method(b"call", code, FASTCALL, None))
    capsule, function = ctypes.pythonapi.PyCapsule_New, ctypes.pythonapi.PyCFunction_NewEx
    capsule.restype, capsule.argtypes = ctypes.py_object, (c_void_p, ctypes.c_char_p, c_void_p)
    function.restype, function.argtypes = ctypes.py_object, (c_void_p, ctypes.py_object, c_void_p)
    return function(ctypes.addressof(method), capsule(ctypes.addressof(head), None, None), None)
