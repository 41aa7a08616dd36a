"""Inputs that are almost right, through every reader: a value, or a refusal that can be shown.

`python -m tests.support.fuzz` is the same for a million of them, in processes with limits. What it has found is below.
"""

from __future__ import annotations

import io
import struct
import sys
import time
import zipfile
from pathlib import Path

import pytest

from soac.data.dataset_types import bounds_of
from soac.data.read_write import read_values
from soac.frontend.compile import compile_text
from soac.ir.errors import CompileError, DataError, IRError
from soac.ir.parse import parse_exp
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
