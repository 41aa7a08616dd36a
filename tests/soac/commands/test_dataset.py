"""`soac dataset` and `soac benchcmp`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from soac.data.dataset_types import Bounds, bounds_of, convert, drawn_of, generate, read_as, wanted_of
from soac.data.read_write import Format, random_value, read_values, write_values
from soac.ir.errors import DataError
from soac.ir.types import Prim
from tests.support.command_line import Command

# ---- generate -----------------------------------------------------------------------------------------------------


def test_generate_is_what_random_inputs_are(command: Command) -> None:
    text = command("dataset", "-g", "[2][3]f32", "-g", "i8", "--generate=[4]bool", "--seed", 7).clean().out
    made = read_values(text.encode(), "out")
    source = np.random.PCG64(7)
    drawn = [random_value(source, *one) for one in ((Prim.F32, (2, 3)), (Prim.I8, ()), (Prim.BOOL, (4,)))]
    assert [(a.dtype, a.tolist()) for a in made] == [(b.dtype, b.tolist()) for b in drawn]
    assert command("dataset", "generate", "-g", "[2][3]f32", "-g", "i8", "-g", "[4]bool", "--seed=7").out == text
    assert command("dataset", "-g", "[2][3]f32", "-g", "i8", "-g", "[4]bool").out != text


def test_generate_takes_values(command: Command) -> None:
    outcome = command("dataset", "-g", "[0][2]f64", "-g", "[1, 2]", "-g", "-3i8", "-g", "true").clean()
    assert outcome.out.splitlines() == ["empty([0][2]f64)", "[1i32, 2i32]", "-3i8", "true"]


def test_generate_formats(command: Command, tmp_path: Path) -> None:
    command("dataset", "-b", "-g", "[3]i64", "-o", "a.bin").clean()
    command("dataset", "-g", "[3]i64", "--npy", "-o", "a.npy").clean()
    assert (tmp_path / "a.bin").read_bytes().startswith(b"b\x02\x01 i64")
    assert np.load(tmp_path / "a.npy").tolist() == read_values((tmp_path / "a.bin").read_bytes(), "a")[0].tolist()
    outcome = command("dataset", "-g", "i64", "-g", "i64", "--npy")
    assert outcome.code == 1
    assert "a .npy file holds one value" in outcome.err


def test_bounds() -> None:
    known = {Prim.I32: Bounds(-3, 4), Prim.F32: Bounds(10.0, 11.0), Prim.U64: Bounds(2**64 - 2, 2**64 - 1)}
    ints, floats, words, bytes_ = generate(["[1000]i32", "[1000]f32", "[1000]u64", "[1000]i8"], 1, known)
    assert set(np.asarray(ints).tolist()) == set(range(-3, 5))
    assert floats.dtype == np.float32
    assert 10.0 <= float(np.min(floats)) <= float(np.max(floats)) <= 11.0
    assert set(np.asarray(words).tolist()) == {2**64 - 2, 2**64 - 1}
    assert int(np.min(bytes_)) < -100
    assert bounds_of("i64=-9223372036854775808:9223372036854775807") is not None
    (whole,) = generate(["[3]i64"], 5, {Prim.I64: Bounds(-(2**63), 2**63 - 1)})
    assert len(set(np.asarray(whole).tolist())) == 3


@pytest.mark.parametrize("word", ["i32", "i32=1", "i32=3:1", "u8=0:256", "i32=0.5:1", "bool=0:1", "f32=0:inf", "x=0:1"])
def test_wrong_bounds(command: Command, word: str) -> None:
    assert bounds_of(word) is None
    assert command("dataset", "-g", "i32", "--bounds", word).code == 2


@pytest.mark.parametrize(("args", "code", "said"), [
    (["-g", "[2]float"], 2, "neither a type with sizes, as `[10]f32`, nor a value"),
    (["-g", "[]f32"], 2, "neither a type"),
    (["-g", "[1000000][1000000]i32"], 1, "D0112"),
    (["-g", "i32", "--seed", "-1"], 2, "--seed"),
    (["-g", "i32", "-o", "none/a"], 1, "S0201"),
    (["missing"], 2, "does not exist"),
    (["generate"], 2, "-g"),
])  # fmt: skip
def test_wrong_usage(command: Command, args: list[str], code: int, said: str) -> None:
    outcome = command("dataset", *args)
    assert outcome.code == code
    assert said in outcome.err


# ---- convert ------------------------------------------------------------------------------------------------------


def test_convert_formats(command: Command, tmp_path: Path) -> None:
    values = [np.arange(6, dtype=np.float32).reshape(2, 3), np.int8(-1)]
    (tmp_path / "a.gz").write_bytes(gzip.compress(write_values(values, Format.TEXT)))
    command("dataset", "a.gz", "--to", "binary", "-o", "a.bin").clean()
    assert (tmp_path / "a.bin").read_bytes() == write_values(values, Format.BINARY)
    assert command("dataset", "convert", "a.bin", "--text").clean().out.encode() == write_values(values, Format.TEXT)
    assert command("dataset", "-", stdin=b"[1, 2] -- more\n3").clean().out == "[1i32, 2i32]\n3i32\n"


@pytest.mark.parametrize(("data", "types", "out"), [
    (b"[1, 2]", ["[]i64"], "[1i64, 2i64]\n"),
    (b"[3000000000]", ["[1]i64"], "[3000000000i64]\n"),
    (b"[1i32] [2i64]", ["[]f32"], "[1.0f32]\n[2.0f32]\n"),
    (b"1.0f64 true", ["i8", "u64"], "1i8\n1u64\n"),
    (b"0.1f64", ["f32"], "0.1f32\n"),
    (b"[0, 1]", ["[]bool"], "[false, true]\n"),
    (b"-128i32 255i64", ["i8", "u8"], "-128i8\n255u8\n"),
    (b"f64.nan -f64.inf", ["f16"], "f16.nan\n-f16.inf\n"),
])  # fmt: skip
def test_convert_types(command: Command, data: bytes, types: list[str], out: str) -> None:
    assert command("dataset", "-", *[f"--as={word}" for word in types], stdin=data).clean().out == out


@pytest.mark.parametrize(("data", "types", "said"), [
    (b"[1, 300]", ["[]u8"], "300i32 at [1] has no value in u8"),
    (b"-1", ["u64"], "-1i32 has no value in u64"),
    (b"18446744073709551615u64", ["i64"], "has no value in i64"),
    (b"0.5", ["i32"], "0.5f64 has no value in i32"),
    (b"9223372036854775808f64", ["i64"], "has no value in i64"),
    (b"f32.nan", ["i32"], "has no value in i32"),
    (b"1e10f64", ["f16"], "has no value in f16"),
    (b"2", ["bool"], "2i32 has no value in bool"),
    (b"[1]", ["i32"], "[1]i32 cannot become i32"),
    (b"[1]", ["[2]i64"], "[1]i64 cannot become [2]i64"),
    (b"1 2 3", ["i64", "i64"], "has 3 values, there are 2 types"),
    (b"[1, 2", ["[]i64"], "D0101"),
])  # fmt: skip
def test_wrong_conversions(command: Command, data: bytes, types: list[str], said: str) -> None:
    outcome = command("dataset", "-", *[f"--as={word}" for word in types], stdin=data)
    assert outcome.code == 1
    assert said in outcome.err


def test_types_in_words() -> None:
    assert str(drawn_of("[10] [2_0]f32")) == "[10][20]f32"
    assert str(wanted_of("[][3]i64")) == "[][3]i64"
    assert [drawn_of("[]f32"), drawn_of("f31"), wanted_of("[x]i32")] == [None, None, None]
    assert wanted_of("i32 ") == wanted_of("i32")
    with pytest.raises(DataError):
        read_as(b"[[1]]", "a", [w for w in [wanted_of("[]i32")] if w])
    same = np.array([1, 2], np.int32)
    wanted = wanted_of("[]i32")
    assert wanted is not None
    assert convert(same, wanted, "a") is same


# ---- compare ------------------------------------------------------------------------------------------------------


def test_compare(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("[1.0, 2.0] 3i32")
    (tmp_path / "b").write_bytes(write_values([np.array([1.0, 2.01]), np.int32(3)], Format.BINARY))
    outcome = command("dataset", "compare", "a", "b")
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out == "value 0: at [1] expected 2.01f64, got 2.0f64 (1 of 2 elements differ)\n"
    command("dataset", "compare", "a", "b", "--tolerance", "0.01").clean()
    command("dataset", "compare", "a", "a", "--tolerance", "0").clean()
    (tmp_path / "c").write_text("[1.0, 2.0]")
    assert command("dataset", "compare", "a", "c").out == "expected 1 value, got 2 values\n"
    assert command("dataset", "compare", "a", "c").code == 1


# ---- benchcmp -----------------------------------------------------------------------------------------------------

BEFORE = {"a.soac": {"main x": [2.0, 2.0, 2.2], "main y": [1.0, 1.1, 1.2], "gone": [1.0]}}
AFTER = {"a.soac": {"main x": [1.0, 1.0, 1.1], "main y": [1.1, 1.2, 1.15]}, "b.soac": {"main z": [0.0]}}


def test_benchcmp(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(BEFORE))
    (tmp_path / "b.json").write_text(json.dumps(AFTER))
    lines = command("benchcmp", "a.json", "b.json", "--fail-over=50").clean().out.splitlines()
    assert lines[0] == "a.soac:"
    assert lines[1].split() == ["main", "x", "2", "s", "1", "s", "2.00x"]
    assert lines[2].split()[-1] == "~0.96x"
    assert lines[3:5] == ["only in a.json: a.soac, gone", "only in b.json: b.soac, main z"]
    assert lines[5].startswith("geometric mean over 2 data sets: 1.41 times")
    assert command("benchcmp", "b.json", "a.json", "--fail-over=50").code == 1


def test_benchcmp_of_what_bench_writes(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("-- ==\n-- input { 1 }\ndef main (x: i32): i32 = x\n")
    command("bench", "a.soac", "--runs", "2", "--json", "a.json").clean()
    assert "1.00x" in command("benchcmp", "a.json", "a.json").clean().out


@pytest.mark.parametrize(
    "text", ["", "[]", '{"a": []}', '{"a": {"b": []}}', '{"a": {"b": [-1]}}', '{"a": {"b": [NaN]}}']
)
def test_benchcmp_of_something_else(command: Command, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    outcome = command("benchcmp", "a.json", "a.json")
    assert outcome.code == 1
    assert "D0114" in outcome.err
