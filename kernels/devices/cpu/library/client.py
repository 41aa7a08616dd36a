"""Programs in shared libraries, called from Python: this file goes into wheels as it is, and needs NumPy alone.

Arrays have the types of the entry; Python numbers and lists take them. What an entry gives is its result, or a tuple.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

DTYPES: Mapping[str, np.dtype[Any]] = {
    "bool": np.dtype(np.bool_),
    **{f"{kind[0]}{bits}": np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"f{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    "bf16": np.dtype(np.uint16),
}
"""A bf16, which NumPy does not have, is its bits."""

ARGUMENTS: Mapping[str, type[Any]] = {
    "bool": ctypes.c_bool,
    "f16": ctypes.c_uint16,
    "bf16": ctypes.c_uint16,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
    **{f"i{bits}": getattr(ctypes, f"c_int{bits}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
}
"""Scalars as they are given; a half is its bits."""


class ProgramError(Exception):
    """What a call failed with. `place`: file, line and column in the source, None where there is none; `values`: those
    that the message shows."""

    def __init__(
        self,
        code: str,
        message: str,
        place: tuple[str, int, int] | None,
        calls: str,
        values: Sequence[bool | int | float],
    ) -> None:
        where = "" if place is None else f"{place[0]}:{place[1]}:{place[2]}: "
        super().__init__(
            f"{where}error[{code}]: {message}" + (calls and "".join(f"\ncalled at {c}" for c in calls.split("\n")))
        )
        self.code, self.message, self.place, self.values = code, message, place, tuple(values)


class _Config(ctypes.Structure):
    _fields_ = (("threads", ctypes.c_int64), ("target", ctypes.c_char_p), ("keep", ctypes.c_int64))


class _Failure(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_char_p), ("message", ctypes.c_char_p), ("file", ctypes.c_char_p), ("line", ctypes.c_int64),
        ("column", ctypes.c_int64), ("calls", ctypes.c_char_p), ("kinds", ctypes.c_char_p),
        ("values", ctypes.POINTER(ctypes.c_uint64)),
    )  # fmt: skip


class _Memory:
    """The memory of a result, which is given back with the last array that shows it."""

    def __init__(self, shown: Mapping[str, Any], give_back: Callable[[], object]) -> None:
        self.__array_interface__ = dict(shown)
        self._give_back = give_back

    def __del__(self) -> None:
        self._give_back()


class Library:
    """A program in a folder with its manifest and shared library, in a context of its own. `target`: one of the
    manifest's; by default the best that this processor runs."""

    def __init__(self, folder: Path, threads: int = 0, target: str | None = None) -> None:
        self.manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        self._name: str = self.manifest["name"]
        self._code = ctypes.CDLL(os.fspath(folder / f"lib{self._name}.so"))
        for name, result in (
            ("context_new", ctypes.c_void_p),
            ("context_target", ctypes.c_char_p),
            ("failure", ctypes.POINTER(_Failure)),
        ):
            self._function(name).restype = result
        config = _Config(threads, None if target is None else target.encode(), 0)
        self._context = ctypes.c_void_p(self._function("context_new")(ctypes.byref(config)))
        if not self._context:
            raise MemoryError("no memory for a context")
        if self._function("failure")(self._context):
            self._fail()

    @property
    def target(self) -> str:
        """The processor that the code which runs is for."""
        return self._function("context_target")(self._context).decode()

    def call(self, entry: str, *args: Any) -> Any:
        """The result of an entry, or a tuple of its results. Raises ProgramError; TypeError, ValueError, OverflowError
        for arguments of other types."""
        described = self.manifest["entries"][entry]
        params, wanted = described["parameters"], described["results"]
        if len(args) != len(params):
            raise TypeError(f"`{entry}` takes {len(params)} values ({described['signature']}), got {len(args)}")
        given = [_argument(param, arg) for param, arg in zip(params, args)]
        results = [_room(result) for result in wanted]
        self._check(getattr(self._code, described["symbol"])(
            self._context, *map(ctypes.byref, results), *(value for value, _ in given)
        ))  # fmt: skip
        shown = tuple(self._shown(result, room) for result, room in zip(wanted, results))
        return shown[0] if len(shown) == 1 else shown

    @property
    def settings(self) -> dict[str, int]:
        """Thresholds, sizes and numbers of threads, as calls run with them."""
        return {setting["name"]: self.get(setting["name"]) for setting in self.manifest["settings"]}

    def get(self, name: str) -> int:
        """What a setting is."""
        value = ctypes.c_int64()
        self._check(self._function("get")(self._context, name.encode(), ctypes.byref(value)))
        return value.value

    def set(self, name: str, value: int) -> None:
        """What the next calls run with."""
        self._check(self._function("set")(self._context, name.encode(), ctypes.c_int64(value)))

    def load_tuning(self, path: str | os.PathLike[str]) -> None:
        """The settings of a tuning file."""
        self._check(self._function("load_tuning")(self._context, os.fsencode(path)))

    def __del__(self) -> None:
        if getattr(self, "_context", None):
            self._function("context_free")(self._context)

    def _function(self, name: str) -> Any:
        return getattr(self._code, f"{self._name}_{name}")

    def _check(self, status: int) -> None:
        if status:
            self._fail()

    def _fail(self) -> None:
        """Raise the failure of the context."""
        one = self._function("failure")(self._context).contents
        place = None if one.file is None else (one.file.decode(), one.line, one.column)
        values = [_value(kind, one.values[k]) for k, kind in enumerate(one.kinds.decode())] if one.values else []
        raise ProgramError(one.code.decode(), one.message.decode(), place, (one.calls or b"").decode(), values)

    def _shown(self, result: Mapping[str, Any], room: Any) -> Any:
        """A result as NumPy has it."""
        dtype = DTYPES[result["type"]]
        if not result["rank"]:
            return np.frombuffer(bytes(room), dtype, 1)[0]
        owner, release = ctypes.c_void_p(room.owner), self._function("release")
        shown = {"version": 3, "data": (room.data, False), "shape": tuple(room.shape), "typestr": dtype.str}
        return np.asarray(_Memory(shown, lambda: release(owner)))


def _argument(param: Mapping[str, Any], value: Any) -> tuple[Any, object]:
    """A value as its entry takes it, and what must live until then."""
    dtype, rank = DTYPES[param["type"]], param["rank"]
    if isinstance(value, np.ndarray | np.generic) and value.dtype != dtype:
        raise TypeError(f"`{param['name']}`: expected {dtype}, got {value.dtype}")
    array = np.ascontiguousarray(value, dtype) if rank else np.asarray(value, dtype)
    if array.ndim != rank:
        raise ValueError(f"`{param['name']}`: expected {rank} dimensions, got {array.ndim}")
    if not rank:
        return ARGUMENTS[param["type"]].from_buffer_copy(array.tobytes()), None
    made = _array(rank)(array.ctypes.data, array.shape, None)
    return ctypes.byref(made), (array, made)


def _room(result: Mapping[str, Any]) -> Any:
    """Where a result goes."""
    return _array(result["rank"])() if result["rank"] else ARGUMENTS[result["type"]]()


def _array(rank: int) -> type[Any]:
    """The struct of an array."""
    fields = (("data", ctypes.c_void_p), ("shape", ctypes.c_int64 * rank), ("owner", ctypes.c_void_p))
    return type("Array", (ctypes.Structure,), {"_fields_": fields})


def _value(kind: str, word: int) -> bool | int | float:
    """A value of a failure by its kind."""
    match kind:
        case "b":
            return bool(word)
        case "f":
            return struct.unpack("<d", struct.pack("<Q", word))[0]
        case "u":
            return word
        case _:
            return word - (1 << 64) if word >> 63 else word
