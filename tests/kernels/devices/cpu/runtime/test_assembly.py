"""The runtime's LLVM modules: each is valid by itself; what they read of Python, NumPy and this package is at
the places that they say."""

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


STRUCTURED = """%Cell = type { i64, ptr }  ; value other

define i64 @twice(i64 %x) {
  %y = mul i64 %x, 2
  ret i64 %y
}

define void @put(ptr %function, ptr %cell) {
  ret void if icmp eq ptr %cell, null || icmp eq ptr %function, null
  store ptr %function, ptr %cell->Cell.other
}

; The values of %count cells that are not 7, twice, by way of a function in a cell, until one is negative.
define i64 @sum(ptr %cells, i64 %count, ptr %function) {
  %holder = alloca %Cell, align 8
  call void @put(ptr %function, ptr (getelementptr i8, ptr %holder, i64 (sub i64 (add i64 5, 7), 12)))
  for %k < %count, i64 %sum = 0 then %more {
    %value = load i64, ptr %cells[%k]
    goto %negative if icmp slt i64 %value, 0
  look:
    %is_seven = icmp eq i64 %value, 7
    goto %skip if %is_seven
  add:
    %by = call i64 *%holder->Cell.other(i64 %value)
  skip:
    %plus = phi i64 [ 0, %look ], [ %by, %add ]
    %more = add i64 %sum, %plus
  }
  ret i64 %sum
negative:
  for %j < 3 {
    for %i < 2 {
      goto %odd unless icmp ne i64 %j, 2 && icmp sge i64 %j, 0
      ret i64 7 if icmp sgt i64 %j, 2 || icmp slt i64 %i, 0
    }
  }
  ret i64 -1
odd:
  ret i64 (sub i64 -2, %sum)
}
"""


@pytest.mark.parametrize("values", [(), (1,), (1, 7, 3), (7, 7), (4, 5, -1, 9)])
def test_branches_loops_and_called_places(values: tuple[int, ...]) -> None:
    text = assembly.filled(STRUCTURED, {})
    assert "goto" not in text
    code = jit.load_source(jit.source_of(text, jit.Effort.AS_WRITTEN), ("sum", "twice"))
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(code.address("sum"))
    cells = (ctypes.c_int64 * len(values))(*values)
    before = values[: values.index(-1)] if -1 in values else values
    total = sum(2 * value for value in before if value != 7)
    assert function(ctypes.addressof(cells), len(values), code.address("twice")) == (
        -2 - total if -1 in values else total
    )


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
