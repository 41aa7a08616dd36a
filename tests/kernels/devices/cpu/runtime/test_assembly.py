"""The runtime's LLVM modules: each is valid by itself; what they read of Python, NumPy and this package lies where they
say."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator

import llvmlite.binding as llvm
import numpy as np
import pytest

from soac.ir.scalar import DTYPES
from soac.ir.types import Prim
from soac.kernels.devices.cpu.runtime import assembly, jit, python_call
from soac.kernels.devices.cpu.runtime.assembly import FOLDER, MODULES, PYTHON, module

TRIPLES = ("x86_64-unknown-linux-gnu", "aarch64-apple-darwin")
Offsets = dict[str, int]


def test_every_file_is_a_module() -> None:
    found = {file.name.removesuffix(".ll") for file in FOLDER.iterdir() if file.name.endswith(".ll")}
    assert found == {*MODULES, "thread_pool"}


@pytest.mark.parametrize("triple", TRIPLES)
@pytest.mark.parametrize("name", [*MODULES, "thread_pool"])
def test_modules_are_valid(name: str, triple: str) -> None:
    text = module(name, triple)
    assert "$" not in text
    llvm.parse_assembly(text).verify()


def test_structs_are_the_same_everywhere() -> None:
    """A struct of several modules, and of Python."""
    seen: dict[str, str] = {}
    for name in MODULES:
        for line in re.findall(r"^%\w+ = type .*$", (FOLDER / f"{name}.ll").read_text(), re.MULTILINE):
            assert seen.setdefault(line.split()[0], line) == line
    for struct in python_call.STRUCTS:
        _, _, names = seen[f"%{struct.__name__}"].partition("  ; ")
        assert names.split() == [field[0] for field in struct._fields_]
        assert offsets("python_call" if struct is not python_call.Result else "python_results", struct.__name__) == {
            field[0]: getattr(struct, field[0]).offset for field in struct._fields_
        }


def offsets(name: str, struct: str) -> Offsets:
    """Where the fields of a struct of a module are, in bytes."""
    text = module(name, jit.host().triple)
    parsed, data = llvm.parse_assembly(text), jit.target_machine(jit.host()).target_data
    type_ = parsed.get_struct_type(struct)
    return {
        field.partition(".")[2]: data.get_element_offset(type_, number)
        for field, number in assembly.fields(text)
        if field.startswith(f"{struct}.")
    }


def word(at: int) -> int:
    return ctypes.c_int64.from_address(at).value


@pytest.mark.parametrize("array", [np.zeros((3, 4), np.float32), np.arange(12).reshape(3, 4)[:, ::2], np.ones(5, bool)])
def test_arrays_are_laid_out_so(array: np.ndarray) -> None:
    at = {field: id(array) + offset for field, offset in offsets("python_call", "PyArrayObject").items()}
    head = offsets("python_call", "PyObject")
    assert word(at["object"] + head["type"]) == id(np.ndarray)
    assert word(at["data"]) == array.ctypes.data
    assert ctypes.c_int32.from_address(at["nd"]).value == array.ndim
    assert words(word(at["dimensions"]), array.ndim) == array.shape
    assert words(word(at["strides"]), array.ndim) == array.strides
    assert word(at["descr"]) == id(array.dtype)
    assert (word(at["base"]) == id(array.base)) == (array.base is not None)
    flags = ctypes.c_int32.from_address(at["flags"]).value
    assert (flags & PYTHON["NPY_ARRAY_CARRAY"] == PYTHON["NPY_ARRAY_CARRAY"]) == array.flags.carray


def words(at: int, count: int) -> tuple[int, ...]:
    return tuple((ctypes.c_int64 * count).from_address(at))


def scalars() -> Iterator[np.generic]:
    for prim, dtype in DTYPES.items():
        yield dtype.type(prim is not Prim.BOOL and 113)


@pytest.mark.parametrize("scalar", list(scalars()), ids=lambda s: type(s).__name__)
def test_scalars_are_laid_out_so(scalar: np.generic) -> None:
    at = id(scalar) + offsets("python_call", "PyScalarObject")["value"]
    assert ctypes.string_at(at, scalar.dtype.itemsize) == scalar.tobytes()
    assert at + 8 <= id(scalar) + type(scalar).__basicsize__  # a word is read


def test_an_unknown_numpy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    python_call.numpy_table()
    monkeypatch.setattr(python_call, "ABI_VERSIONS", (0x3000000,))
    with pytest.raises(ImportError, match="binary interface"):
        python_call.numpy_table()
