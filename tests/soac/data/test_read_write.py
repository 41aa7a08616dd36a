"""Values in files: round trips, faults with their places, random values, comparison."""

from __future__ import annotations

import gzip
import io
import struct
import time
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from soac.data.read_write import (
    Format,
    ValueType,
    compare_values,
    random_value,
    read_values,
    shape_text,
    type_of,
    write_value,
    write_values,
)  # fmt: skip
from soac.data.value import Value
from soac.ir.errors import DataError, Diagnostic
from soac.ir.scalar import DTYPES
from soac.ir.types import Prim
from tests.support.prims import PRIMS


def read(text: str | bytes, *expect: ValueType) -> list:
    data = text.encode() if isinstance(text, str) else text
    return read_values(data, "d.in", expect or None)


def fault(text: str | bytes, *expect: ValueType, **options: Any) -> Diagnostic:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(DataError) as caught:
        read_values(data, "d.in", expect or None, **options)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def same_bits(a: np.ndarray | np.generic, b: np.ndarray | np.generic) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "f":
        nans = np.isnan(a)
        return bool(np.array_equal(nans, np.isnan(b)) and a[~nans].tobytes() == b[~nans].tobytes())
    return a.tobytes() == b.tobytes()


# ---- round trips

VALUES = st.sampled_from(list(DTYPES.values())).flatmap(
    lambda dtype: st.one_of(
        hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)),
        hnp.arrays(dtype, st.tuples(st.integers(60, 90), st.integers(1, 3))),
    )
)


@settings(max_examples=150, deadline=None)
@given(VALUES, st.sampled_from(Format))
def test_what_is_written_is_read_back(array: np.ndarray, form: Format) -> None:
    value = array[()] if array.ndim == 0 else array
    data = write_value(value, form)
    for packed in (data, gzip.compress(data)):
        (back,) = read_values(packed, "d.in", (type_of(value),))
        assert same_bits(value, back)
        assert isinstance(back, np.ndarray if array.ndim else np.generic)


@settings(max_examples=50, deadline=None)
@given(st.lists(VALUES, max_size=4), st.lists(st.booleans(), min_size=4, max_size=4))
def test_text_and_binary_mix(arrays: list[np.ndarray], binary: list[bool]) -> None:
    values = [a[()] if a.ndim == 0 else a for a in arrays]
    forms = [Format.BINARY if b else Format.TEXT for b in binary]
    data = b"\n".join(write_value(v, f) for v, f in zip(values, forms, strict=False))
    assert all(same_bits(a, b) for a, b in zip(values, read_values(data, "d.in"), strict=True))


@settings(max_examples=100, deadline=None)
@given(VALUES.filter(lambda a: a.size > 0), st.booleans())
def test_the_fast_way_agrees_with_the_slow(array: np.ndarray, with_suffix: bool) -> None:
    """Blanks make even a small array go the fast way."""
    text = write_value(array[()] if array.ndim == 0 else array, Format.TEXT).decode()
    prim = type_of(array).prim
    plain = text if with_suffix or "nan" in text or "inf" in text else text.replace(prim.value, "")
    expect = ValueType(prim, array.ndim)
    (small,) = read(plain, expect)
    (padded,) = read(plain.replace("[", "[" + " " * 300, 1), expect)
    assert same_bits(small, padded)


@given(st.text('[],-+.e0123456789 if3264nan\n"b', max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_text_gives_values_or_a_diagnostic(text: str) -> None:
    outcomes = []
    for source in (text, text + " " * 300):
        try:
            outcomes.append([shape_text(v) for v in read(source)])
        except DataError as error:
            outcomes.append([d.code for d in error.diagnostics])
    assert outcomes[0] == outcomes[1]


@given(st.binary(max_size=40))
@settings(max_examples=200, deadline=None)
def test_any_bytes_give_values_or_a_diagnostic(data: bytes) -> None:
    codes = set()
    for source in (
        data,
        b"b\x02" + data,
        b"b\x02\x01 i32" + data,
        b"\x93NUMPY" + data,
        b"\x1f\x8b" + data,
        b"PK\x03\x04" + data,
    ):
        try:
            read_values(source, "d.in", limit=1 << 20)
        except DataError as error:
            codes.add(error.diagnostics[0].code[:3])
    assert codes <= {"D01"}


# ---- reading text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 2i8 3u8", [np.int32(1), np.int8(2), np.uint8(3)]),
        ("3.5 1e3 2f32 -1e-2f16", [np.float64(3.5), np.float64(1000), np.float32(2), np.float16(-0.01)]),
        ("true false", [np.True_, np.False_]),
        ("f32.nan -f64.inf f16.inf", [np.float32("nan"), np.float64("-inf"), np.float16("inf")]),
        ("0xff 0b101u16 0xFFFF_FFFFu32 1_000", [np.int32(255), np.uint16(5), np.uint32(2**32 - 1), np.int32(1000)]),
        ("0x80i8 -0x7fi8 0b1111_1111i8", [np.int8(-128), np.int8(-127), np.int8(-1)]),
        ("-128i8 -9223372036854775808i64", [np.int8(-128), np.int64(-(2**63))]),
        ("[[1, 2], [3, 4]]", [np.array([[1, 2], [3, 4]], np.int32)]),
        ("[1i64, 2]", [np.array([1, 2], np.int64)]),
        ("[1.5, 2]", [np.array([1.5, 2])]),
        ("[true, false]", [np.array([True, False])]),
        ("empty([0][2]i32) empty ( [3] [0] bool )", [np.empty((0, 2), np.int32), np.empty((3, 0), bool)]),
        ('"a\\n\\"\u00e4"', [np.frombuffer("a\n\"\u00e4".encode(), np.uint8)]),
        ("-- comment [1\n[1, -- two ]\n 2] --end", [np.array([1, 2], np.int32)]),
        ("\ufeff1", [np.int32(1)]),
        ("", []),
    ],
)  # fmt: skip
def test_text(text: str, expected: list) -> None:
    values = read(text)
    assert len(values) == len(expected)
    assert all(same_bits(a, b) for a, b in zip(values, expected, strict=True))


def test_unsuffixed_numbers_take_the_expected_type() -> None:
    f32, i64s, f16s = ValueType(Prim.F32, 0), ValueType(Prim.I64, 1), ValueType(Prim.F16, 2)
    values = read("1 [2, 3] [[0.1, 2]]", f32, i64s, f16s)
    assert [shape_text(v) for v in values] == ["f32", "[2]i64", "[1][2]f16"]
    assert shape_text(read("[]", i64s)[0]) == "[0]i64"
    assert shape_text(read("[[], []]", f16s)[0]) == "[2][0]f16"


@pytest.mark.parametrize(
    ("text", "code", "message", "line", "col"),
    [
        ("[1, 2", "D0101", "the data ends inside an array", 1, 1),
        ("[1, [2", "D0103", "an array among scalars", 1, 5),
        ("1 x", "D0101", "expected a value, found `x`", 1, 3),
        ("1x", "D0101", "expected a value, found `1x`", 1, 1),
        ("[1 2]", "D0101", "expected `,` or `]`, found `2`", 1, 4),
        ("[,]", "D0101", "expected a value, found `,`", 1, 2),
        ("[]", "D0101", "an empty array does not show its type", 1, 1),
        ('"abc', "D0101", "this string does not end on its line", 1, 1),
        ("1.5i32", "D0101", "`1.5i32` is a decimal number with an integer suffix", 1, 1),
        ("9" * 500, "D0101", "this number has 500 digits; the limit is 400", 1, 1),
        ("[1, 2.0]", "D0102", "the array began with i32, this element is a decimal", 1, 5),
        ("[1i32,\n 2i64]", "D0102", "the array began with i32, this element is i64", 2, 2),
        ("[true, 1]", "D0102", "the array began with bool, this element is a number", 1, 8),
        ("[[1],[2,3]]", "D0103", "row 2 has 2 elements, the first has 1", 1, 6),
        ("[[1,2],[3]]", "D0103", "row 2 has 1 element, the first has 2", 1, 8),
        ("[[1, 2], 3]", "D0103", "a scalar among arrays", 1, 10),
        ("[[], 1]", "D0103", "a scalar among arrays", 1, 6),
        ("[[], [[1]]]", "D0103", "row 2 has 1 element, the first has 0", 1, 6),
        ("empty([2]i32)", "D0103", "an empty array has at least one dimension of size 0", 1, 7),
        ("empty([0]int)", "D0108", "`int` is not a type of values", 1, 10),
        ("[1, 3000000000]", "D0104", "`3000000000` does not fit i32 (-2147483648..2147483647)", 1, 5),
        ("-1e300f32", "D0104", "`-1e300f32` does not fit f32 (at most 3.40282347e+38)", 1, 1),
        ("[1f16, 65520f16]", "D0104", "`65520f16` does not fit f16 (at most 65504)", 1, 8),
        ("1e999999999", "D0104", "`1e999999999` does not fit f64 (at most 1.79769313e+308)", 1, 1),
        ("[" * 100_000, "D0107", "more than 64 dimensions", 1, 65),
    ],
)
def test_faults_in_text(text: str, code: str, message: str, line: int, col: int) -> None:
    diagnostic = fault(text)
    assert (diagnostic.code, diagnostic.message) == (code, message)
    assert (diagnostic.primary.loc.line, diagnostic.primary.loc.col) == (line, col)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("255i8", -1),
        ("-1u8", 255),
        ("-4u64", 2**64 - 4),
        ("18446744073709551615i64", -1),
        ("0x1_ffi8", -1),
        ("[0i8, 300i8, -129i8]", [0, 44, 127]),
        ("[0u16," + "70000u16," * 200 + "1u16]", [0, *[4464] * 200, 1]),
    ],
)
def test_integers_with_a_suffix_wrap(text: str, value: int | list[int]) -> None:
    (found,) = read(text)
    assert found.tolist() == value


@pytest.mark.parametrize(
    "wrong", ["[1,2],[3]", "[1,2.5],[3,4]", "[1 2],[3,4]", "[1,2][3,4]", "[1,2],3", "[1,99999999999],[3,4]"]
)
def test_faults_in_large_arrays_are_those_of_small_ones(wrong: str) -> None:
    small, large = fault(f"[{wrong}]"), fault("[" + "[5,6]," * 2000 + f"{wrong}]")
    assert small.code == large.code


@pytest.mark.parametrize("number", ["1e39", "1" + "0" * 399])
def test_floats_are_rounded_but_do_not_overflow(number: str) -> None:
    """Element by element and, in a large array, by NumPy; an infinity that is written is one."""
    for rest in ("", ", 0.5" * 400):
        diagnostic = fault(f"[0.1, {number}{rest}]", ValueType(Prim.F32, 1))
        assert (diagnostic.code, diagnostic.primary.loc.col) == ("D0104", 7)
        (kept,) = read(f"[0.1, -f32.inf{rest}]", ValueType(Prim.F32, 1))
        assert kept[:2].tolist() == [np.float32(0.1), -np.inf]


def test_first_line_and_columns_in_characters() -> None:
    loc = fault('-- \u00e4\u00f6\n"\u00e4" x', first_line=10).primary.loc
    assert (loc.line, loc.col) == (11, 5)


# ---- the expected types


@pytest.mark.parametrize(("text", "want", "hint"), [
    ("[1i64, 2]", "[]i32", "without the suffix `i64` it is read as []i32"),
    ("1.5f64", "f32", "without the suffix `f64` it is read as f32"),
    ("1i32", "f32", "without the suffix `i32` it is read as f32"),
    ("[1.5, 2]", "[]i32", "1.5f64 has no value in i32; a parameter of type []f64 takes it"),
    ("1f32", "i32", "write `1i32`"),
    ("1000000000000i64", "i32", "1000000000000i64 has no value in i32; a parameter of type i64 takes it"),
    ("[0, 1]", "[]bool", "write `[false, true]`"),
    ("true", "f32", "write `1.0f32`"),
    ('"u8"', "[]i32", "a file is converted by `soac dataset FILE --as []i32`"),
    ("empty([0]i64)", "[]i32", "a file is converted by `soac dataset FILE --as []i32`"),
    (write_value(np.arange(3), Format.BINARY), "[]i32", "a file is converted by `soac dataset FILE --as []i32`"),
    (write_value(np.arange(3), Format.NPY), "[]i32", "a file is converted by `soac dataset FILE --as []i32`"),
    ("[[1]]", "[]i32", None),
    ("1", "[]i32", None),
    ("3000000000", "i32", None),
    ("[1, 3000000000]", "[]i32", None),
    ("300", "u8", None),
    ("3000000000", None, "write `3000000000i64`"),
    ("[1i32, 3000000000]", None, "give the first element the suffix `i64`"),
    ("9" * 20, None, None),
])  # fmt: skip
def test_hints_lead_to_what_is_accepted(text: str | bytes, want: str | None, hint: str | None) -> None:
    expect = () if want is None else (ValueType(Prim(want.lstrip("[]")), want.count("[")),)
    assert fault(text, *expect).hint == hint


def test_wrong_type() -> None:
    diagnostic = fault("1i32 [1i64, 2, 3]", ValueType(Prim.I32, 0), ValueType(Prim.I32, 1))
    assert (diagnostic.code, diagnostic.message) == ("D0104", "expected [3]i32, got [3]i64")
    assert fault("[1]", ValueType(Prim.I32, 2)).message == "expected [][]i32, got [1]i32"
    assert fault("1.5", ValueType(Prim.I32, 0)).message == "expected i32, got f64"
    assert (
        fault(write_value(np.zeros(3), Format.NPY), ValueType(Prim.F32, 1)).message
        == "`d.in`: expected [3]f32, got [3]f64"
    )


def test_wrong_number() -> None:
    with pytest.raises(DataError) as caught:
        read_values(b"1 2 [3]", "d.in", (ValueType(Prim.I32, 0),) * 2, entry="main")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("D0113", "`main` takes 2 values, `d.in` has 3")
    assert diagnostic.hint == "expected i32, i32; found i32, i32, [1]i32"


# ---- binary


def header(rank: int, tag: bytes, *dims: int, version: int = 2) -> bytes:
    return b"b" + bytes([version, rank]) + tag + struct.pack(f"<{len(dims)}q", *dims)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (header(1, b" i32", 3), "D0105"),
        (header(1, b" i32"), "D0105"),
        (b"b\x02", "D0105"),
        (header(1, b" i32", 2**60), "D0106"),
        (header(2, b" i32", 2**40, 2**40), "D0106"),
        (header(1, b" i32", -1), "D0106"),
        (header(255, b" i32"), "D0107"),
        (header(0, b" x32"), "D0108"),
        (header(0, b" i32", version=9), "D0109"),
        (header(0, b"bool") + b"\x07", "D0110"),
    ],
)
def test_faults_in_binary(data: bytes, code: str) -> None:
    assert fault(data).code == code


def test_binary_by_hand() -> None:
    (value,) = read(header(2, b" f32", 1, 2) + struct.pack("<2f", 1.5, -2.0))
    assert same_bits(value, np.array([[1.5, -2.0]], np.float32))
    assert value.flags.writeable


# ---- .npy, .npz, gzip


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def test_npy_is_brought_into_order() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    for stored in (array, array.astype(">i4"), np.asfortranarray(array), array.astype(">i4").T.copy().T):
        (value,) = read(npy(stored))
        assert same_bits(value, array)
        assert value.flags.c_contiguous
        assert value.dtype.isnative


def test_npy_faults() -> None:
    assert fault(npy(np.array([{}], object))).code == "D0111"
    assert fault(npy(np.zeros(2, complex))).code == "D0108"
    assert fault(npy(np.zeros(100))[:-1]).code == "D0105"
    assert fault(b"\x93NUMPY\x01\x00").code == "D0109"
    assert fault(npy(np.zeros(1000)), limit=100).code == "D0112"


def test_npz() -> None:
    file = io.BytesIO()
    np.savez_compressed(file, np.arange(3, dtype=np.int32), np.float64(2))
    assert [shape_text(v) for v in read(file.getvalue())] == ["[3]i32", "f64"]
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", npy(np.zeros(1 << 18)))
    assert fault(bomb.getvalue(), limit=1 << 20).code == "D0112"
    assert fault(file.getvalue()[:-30]).code == "D0105"


def test_gzip() -> None:
    assert read(gzip.compress(b"1 ") + gzip.compress(b"2")) == [1, 2]
    assert fault(gzip.compress(b" " * 10_000_000), limit=1_000_000).code == "D0112"
    assert fault(gzip.compress(b"[1, 2, 3]")[:-9]).code == "D0105"


# ---- writing


def test_written_text() -> None:
    values = [np.int8(-1), np.array([[1.5, np.nan]], np.float32), np.array([True]), np.empty((2, 0), np.float16)]
    assert write_values(values, Format.TEXT) == b"-1i8\n[[1.5f32, f32.nan]]\n[true]\nempty([2][0]f16)\n"
    with pytest.raises(DataError):
        write_values(values, Format.NPY)


def test_large_arrays_are_fast() -> None:
    array = np.arange(300_000, dtype=np.float32).reshape(-1, 3) / 7
    text = write_value(array, Format.TEXT)
    start = time.process_time()
    (back,) = read(text)
    assert time.process_time() - start < 2
    assert same_bits(array, back)


# ---- random values and comparison


def random_values(types: Sequence[tuple[Prim, tuple[int, ...]]], seed: int = 0) -> list[Value]:
    source = np.random.PCG64(seed)
    return [random_value(source, prim, shape) for prim, shape in types]


def test_random_values_repeat() -> None:
    types = [(prim, (1000,)) for prim in PRIMS] + [(Prim.F32, ()), (Prim.I32, (2, 0))]
    first, again, other = random_values(types), random_values(types), random_values(types, seed=1)
    assert all(same_bits(a, b) for a, b in zip(first, again, strict=True))
    assert not all(same_bits(a, b) for a, b in zip(first, other, strict=True))
    for (prim, shape), value in zip(types, first, strict=True):
        assert (type_of(value).prim, value.shape) == (prim, shape)
        if prim.is_float and shape:
            assert 0 <= float(np.min(value)) <= float(np.max(value)) < 1
    numbers = dict(zip(Prim, first, strict=False))
    assert numbers[Prim.I32].min() < -(2**30)
    assert numbers[Prim.I32].max() > 2**30
    assert numbers[Prim.U64].max() > 2**63
    assert random_values([(Prim.I64, (2,))])[0].tolist() == [-6696874842932477345, 4976686463289251617]


@pytest.mark.parametrize(
    ("actual", "expected", "difference"),
    [
        (np.int32(1), np.int32(1), None),
        (np.int32(1), np.int32(2), "expected 2i32, got 1i32"),
        (np.int32(1), np.int64(1), "expected i64, got i32"),
        (np.zeros(2), np.zeros(3), "expected [3]f64, got [2]f64"),
        (np.float32(1.001), np.float32(1), None),
        (np.float32(1.003), np.float32(1), "expected 1.0f32, got 1.003f32"),
        (np.float64(1001), np.float64(1000), None),
        (np.float64(0.0015), np.float64(0), None),
        (np.float64("nan"), np.float64("nan"), None),
        (np.float64("inf"), np.float64("inf"), None),
        (np.float64("inf"), np.float64(1e308), "expected 1e+308f64, got f64.inf"),
        (np.array([[1], [3]]), np.array([[1], [5]]), "at [1, 0] expected 5i64, got 3i64 (1 of 2 elements differ)"),
        (np.array([True, False]), np.array([True, True]), "at [1] expected true, got false (1 of 2 elements differ)"),
        (np.empty((0, 2)), np.empty((0, 2)), None),
    ],
)  # fmt: skip
def test_compare(actual: np.generic, expected: np.generic, difference: str | None) -> None:
    assert compare_values(actual, expected) == difference
