"""Inputs that are almost right, through every reader: a value, or a refusal that can be shown.

`python -m tests.support.fuzz` is the same for a million of them, in processes with limits. What it has found is below.
"""

from __future__ import annotations

import io
import struct
import sys
import time
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from soac import program_cache
from soac.data.dataset_types import bounds_of, read_as, wanted_of
from soac.data.read_write import read_values
from soac.data.value import ValueType
from soac.frontend.compile import compile_text
from soac.frontend.source.text import Reach
from soac.ir.errors import CompileError, DataError, IRError
from soac.ir.parse import parse_exp
from soac.ir.types import Prim
from soac.kernels.devices import disk_cache as disk
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.testing.scripts import MAX_DEPTH, read_script
from tests.support.fuzz.__main__ import input_of
from tests.support.fuzz.readers import READERS, script_fault

SAMPLE = 1200  # inputs, shared by weight


@pytest.mark.parametrize("name", READERS)
def test_a_sample_of_inputs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader, weights = READERS[name], sum(reader.weight for reader in READERS.values())
    for number in range(max(4, SAMPLE * reader.weight // weights)):
        reader.read(input_of(reader, 1, number))


def test_a_zip_whose_directory_points_before_the_file() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", b"")
    data = bytearray(file.getvalue())
    data[-6:-2] = struct.pack("<I", 5)
    with pytest.raises(DataError, match="D0105"):
        read_values(bytes(data), "a.npz")


def test_no_elements_of_a_shape_that_wider_ones_cannot_have() -> None:
    data = b"b\2\2  u8" + struct.pack("<qq", 2**62, 0)
    with pytest.raises(DataError, match="D0104"):
        read_values(data, "a.bin", [ValueType(Prim.F64, 2)])
    with pytest.raises(DataError, match="D0106"):
        read_as(data, "a.bin", [wanted] if (wanted := wanted_of("[][]f64")) else [])


def test_a_cache_entry_that_is_nested_deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its digest is right: it was not written by soac."""
    monkeypatch.setenv("SOAC_CACHE_DIR", str(tmp_path))
    body = b"[" * 100_000
    disk.put(jit.user_cache(), program_cache.key("", "a.soac", Reach.PROJECT), sha256(body).digest() + body)
    assert program_cache.find("", "a.soac", Reach.PROJECT, lambda: pytest.fail("compiled")) is None


def test_bounds_that_are_no_floats() -> None:
    assert bounds_of(f"i64=0:{'9' * 400}") is None
    assert bounds_of("u64=0:18446744073709551615") is not None
    assert bounds_of("u64=0:18446744073709551616") is None


def test_a_deep_script_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a program from the cache is read with the recursion limit of Python."""
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(1000)
        with pytest.raises(CompileError, match="nested deeper"):
            read_script("(" * (MAX_DEPTH + 1), script_fault)
    finally:
        sys.setrecursionlimit(max(before, sys.getrecursionlimit()))


@pytest.mark.parametrize("text", ['assert true ("a\n")', "sqrt_f32 1i32_to_f32", f"iota {'9' * 5000}"])
def test_texts_of_the_core_that_are_wrong(text: str) -> None:
    with pytest.raises(IRError, match="expected"):
        parse_exp(text)


def test_a_long_operator_is_read_at_once() -> None:
    """Its level was found by leaving out its last character again and again."""
    begin = time.process_time()
    with pytest.raises(CompileError, match="E0201"):
        compile_text(f"def main (x: i32) = x {'*' * 400_000} x", "a.soac")
    assert time.process_time() - begin < 3


def test_a_level_of_kernels_that_is_none() -> None:
    with pytest.raises(IRError, match="level"):
        parse_kernel("kernel main_0 warps(block; ; ) { }")
