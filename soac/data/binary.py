"""Values in bytes: the binary format, `.npy` and `.npz`, and gzip around any of them.

Binary: `b`, version 2, rank, four characters of type (`" f32"`), a little-endian i64 for each dimension, then the
elements, row by row, little-endian. Sizes are compared with what is there before anything is allocated.
"""

from __future__ import annotations

import io
import struct
import tokenize
import zipfile
import zlib

import numpy as np
from numpy.lib import format as npy

from ..ir.errors import DataError
from ..ir.scalar import DTYPES, prim_of
from ..ir.types import Prim
from .text import MAX_RANK
from .value import Value, bytes_of, data_error, is_shape, type_of

VERSION = 2
NPY_MAGIC = b"\x93NUMPY"
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"

_TYPES = {prim.value.rjust(4).encode(): prim for prim in Prim}
_HEADER = 7


# ---- the binary format


def is_binary(data: bytes, pos: int) -> bool:
    """A `b` with a version behind it; before a letter, a blank or the end of a line it is text (and a fault)."""
    return data[pos : pos + 1] == b"b" and pos + 1 < len(data) and data[pos + 1] < 32 and data[pos + 1] not in b"\r\n"


def read_binary_value(data: bytes, pos: int, name: str, limit: int) -> tuple[Value, int]:
    """The value whose `b` is at `pos`, and where it ends."""

    def fault(code: str, message: str, at: int) -> Exception:
        return data_error(code, f"{message}, at byte {at} of `{name}`")

    if len(data) - pos < _HEADER:
        raise fault("D0105", "the header of a binary value is cut off", pos)
    version, rank, tag = data[pos + 1], data[pos + 2], data[pos + 3 : pos + 7]
    if version != VERSION:
        raise fault("D0109", f"version {version} of the binary format; only {VERSION} is known", pos + 1)
    if rank > MAX_RANK:
        raise fault("D0107", f"{rank} dimensions; at most {MAX_RANK} are possible", pos + 2)
    prim = _TYPES.get(tag)
    if prim is None:
        raise fault("D0108", f"`{tag.decode('latin-1')!s}` is not a type of values", pos + 3)
    body = pos + _HEADER + 8 * rank
    if len(data) < body:
        raise fault("D0105", "the header of a binary value is cut off", pos)
    dims = struct.unpack_from(f"<{rank}q", data, pos + _HEADER)
    size = bytes_of(prim, dims)
    if size > limit or not is_shape(prim, dims):
        shown = "".join(f"[{n}]" for n in dims)
        raise fault("D0106", f"a value of type {shown}{prim.value} is over the limit of {limit} bytes", pos + _HEADER)
    if len(data) - body < size:
        raise fault("D0105", f"{size} bytes of elements are announced, {len(data) - body} are there", body)
    stored = np.dtype(np.uint8) if prim is Prim.BOOL else DTYPES[prim].newbyteorder("<")
    flat = np.frombuffer(data, stored, size // prim.bytes, body)
    if prim is Prim.BOOL and (flat > 1).any():
        at = int((flat > 1).argmax())
        raise fault("D0110", f"{flat[at]} is not a bool (0 or 1)", body + at)
    array = flat.astype(DTYPES[prim]).reshape(dims)
    return (array[()] if rank == 0 else array), body + size


def write_binary(value: Value) -> bytes:
    """A value in the binary format."""
    array = np.asarray(value)
    tag = type_of(value).prim.value.rjust(4).encode()
    header = b"b" + bytes([VERSION, array.ndim]) + tag + struct.pack(f"<{array.ndim}q", *array.shape)
    return header + array.astype(array.dtype.newbyteorder("<")).tobytes()


# ---- NumPy's files


_BROKEN = (ValueError, SyntaxError, TypeError, KeyError, RecursionError, MemoryError, struct.error, tokenize.TokenError)
"""What NumPy raises for headers that are none: it reads them as Python literals."""


def read_npy(data: bytes, name: str, limit: int) -> Value:
    """The array of a `.npy` file, in the machine's byte order and row by row; objects are refused."""
    file = io.BytesIO(data)
    try:
        version = npy.read_magic(file)
        reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_columns, dtype = reader(file)
        if not all(type(size) is int for size in shape):  # `False` is an integer for NumPy
            raise ValueError(f"{shape} is no shape")
    except _BROKEN as bad:
        raise data_error("D0109", f"`{name}` has a broken .npy header: {bad}") from None
    if dtype.hasobject:
        raise data_error("D0111", f"`{name}` holds pickled Python objects, which are never read")
    prim = prim_of(dtype.newbyteorder("="))
    if prim is None:
        raise data_error("D0108", f"`{name}` holds elements of type {dtype}, which the language does not have")
    size, at = bytes_of(prim, shape), file.tell()
    if size > limit or not is_shape(prim, shape):
        raise _over_limit(f"`{name}` declares {size} bytes", limit)
    if len(data) - at < size:
        raise data_error("D0105", f"`{name}` announces {size} bytes of elements, {len(data) - at} are there")
    flat = np.frombuffer(data, dtype, size // prim.bytes, at).astype(DTYPES[prim])
    array = flat.reshape(shape, order="F" if by_columns else "C")
    return array[()] if array.ndim == 0 else np.ascontiguousarray(array)


def write_npy(value: Value) -> bytes:
    """A value as a `.npy` file."""
    if type_of(value).prim is Prim.BF16:
        raise data_error("D0108", "a .npy file has no elements of type bf16", hint="write text or the binary format")
    file = io.BytesIO()
    npy.write_array(file, np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value), allow_pickle=False)
    return file.getvalue()


_BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError)


def read_npz(data: bytes, name: str, limit: int) -> list[Value]:
    """The arrays of a `.npz` file, in the order in which they were stored."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
            declared = sum(m.file_size for m in members)
            if declared > limit:
                raise _over_limit(f"`{name}` declares {declared} bytes", limit)
            return [read_npy(_member(archive, m), f"{name}:{m.filename}", limit) for m in members]
    except _BROKEN_ZIP as bad:
        raise data_error("D0105", f"`{name}` is a damaged .npz file: {bad}") from None


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """No more bytes than the archive declares, whatever the packed data turn into."""
    with archive.open(member) as file:
        return file.read(member.file_size)


def _over_limit(what: str, limit: int) -> DataError:
    return data_error("D0112", f"{what}, over the limit of {limit} (`--max-input`)")


# ---- gzip


def gunzip(data: bytes, name: str, limit: int) -> bytes:
    """The unpacked contents (of all parts, one after another), unless they are larger than the limit."""
    parts, size = [], 0
    while data:
        unpack = zlib.decompressobj(wbits=31)
        try:
            part = unpack.decompress(data, limit - size + 1)
        except zlib.error as bad:
            raise data_error("D0105", f"`{name}` is damaged gzip data: {bad}") from None
        parts.append(part)
        size += len(part)
        if size > limit:
            raise _over_limit(f"`{name}` unpacks to too many bytes", limit)
        if not unpack.eof:
            raise data_error("D0105", f"`{name}` is damaged gzip data: it ends too early")
        data = unpack.unused_data.lstrip(b"\0")
    return b"".join(parts)
