"""A library as a wheel for Python: the shared library, its manifest, and a typed function for each entry. It needs
NumPy alone."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping
from importlib.resources import files

from ..ir.errors import Diagnostic, SystemFault
from ..kernels.devices.cpu import library
from ..kernels.devices.cpu.library.client import DTYPES
from ..kernels.devices.cpu.library.interface import Entry, Interface, Value, distinct
from ..python.forms import python_name

CLIENT = "client.py"
"""The module that calls libraries, which goes into wheels as it is."""

NEEDS = "Requires-Python: >=3.11\nRequires-Dist: numpy>=1.26\n"
EPOCH = (1980, 1, 1, 0, 0, 0)


def wheel(interface: Interface, version: str, machine: str, manifest: str, shared: bytes) -> dict[str, bytes]:
    """The wheel by the name of its file."""
    name, tag = interface.name, f"py3-none-linux_{machine}"
    inside = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{NEEDS}"
    contents = {
        f"{name}/__init__.py": package(interface).encode(),
        f"{name}/_client.py": (files(library) / CLIENT).read_bytes(),
        f"{name}/py.typed": b"",
        f"{name}/manifest.json": manifest.encode(),
        f"{name}/lib{name}.so": shared,
        f"{inside}/METADATA": metadata.encode(),
        f"{inside}/WHEEL": f"Wheel-Version: 1.0\nGenerator: soac\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    }
    record = f"{inside}/RECORD"
    contents[record] = "".join(
        [*(f"{one},{hashed(data)}\n" for one, data in contents.items()), f"{record},,\n"]
    ).encode()
    return {f"{name}-{version}-{tag}.whl": packed(contents)}


def hashed(data: bytes) -> str:
    """The digest and size of a file, as a wheel has them."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={digest},{len(data)}"


def packed(contents: Mapping[str, bytes]) -> bytes:
    """The archive: it names no time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            info = zipfile.ZipInfo(name, EPOCH)
            info.external_attr, info.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return out.getvalue()


def require_linked(shared: bytes | str) -> bytes:
    """The shared library that a wheel holds; raises `SystemFault` S0101 where there is a reason instead."""
    if isinstance(shared, bytes):
        return shared
    text = f"a wheel needs the shared library: {shared}"
    raise SystemFault(Diagnostic("S0101", text, hint="install a C compiler, which brings a linker"))


# ---- the package -------------------------------------------------------------------------------------------------


def package(interface: Interface) -> str:
    """The text of `__init__.py`."""
    names = distinct(("library", *(python_name(entry.name) for entry in interface.entries)))
    functions = (function(name, entry) for name, entry in zip(names[1:], interface.entries, strict=True))
    return "\n\n".join((HEAD.replace("NAME", interface.name), *functions))


HEAD = '''\
"""The entry points of NAME as functions; `library` has its settings: thresholds, sizes, numbers of threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ._client import Library, ProgramError

library = Library(Path(__file__).parent)
'''


def function(name: str, entry: Entry) -> str:
    """An entry as a function, typed."""
    params = distinct(python_name(value.name) for value in entry.params)
    listed = ", ".join(f"{param}: {type_of(value)}" for param, value in zip(params, entry.params))
    results = ", ".join(map(type_of, entry.results))
    result = results if len(entry.results) == 1 else f"tuple[{results or '()'}]"
    args = ", ".join((repr(entry.name), *params))
    doc = entry.signature.replace("\\", "\\\\").replace('"', '\\"')
    return f'def {name}({listed}) -> {result}:\n    """{doc}"""\n    return library.call({args})\n'


def type_of(value: Value) -> str:
    """A type as annotations say it."""
    scalar = f"np.{DTYPES[value.prim.value].type.__name__}"
    return f"NDArray[{scalar}]" if value.rank else scalar
