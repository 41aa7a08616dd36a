"""What a user, another program or the machine may do to a run: damaged and endless inputs, full disks, Ctrl-C."""

from __future__ import annotations

import hashlib
import io
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from soac import cli, program_cache
from soac.data import files
from soac.frontend.source.text import Reach
from soac.ir.errors import DataError
from soac.kernels.devices import disk_cache
from soac.kernels.devices.cpu.runtime import jit
from tests.support.command_line import Command

ROOT = Path(__file__).parents[3]
SUM = "def main [n] (xs: [n]i32): i32 = reduce (+) 0 xs\n"
NPY = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118)


def npy(header: str) -> bytes:
    return NPY + header.ljust(117).encode() + b"\n" + bytes(64)


@pytest.mark.parametrize(
    "data",
    [
        npy("{'descr': '<i4', 'fortran_order': False, 'shape': (3,"),
        npy("{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }\x00'''"),
        npy("(" * 110),
        npy("{'descr': '<i4', 'fortran_order': False, 'shape': (0, 4611686018427387904), }"),
        npy("{'descr': '<i4', 'fortran_order': False, 'shape': (0, -3), }"),
        npy("{'descr': '<i4', 'fortran_order': False, 'shape': (False, 4), }"),
    ],
    ids=["cut", "token", "nested", "no addresses", "negative", "a bool"],
)
def test_damaged_npy(command: Command, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(data)
    outcome = command("dataset", "convert", "a.npy", "--text")
    assert (outcome.code, "error[D01" in outcome.err) == (1, True), outcome.err


@pytest.mark.parametrize("dims", [(0, 2**62), (2**32, 2**32, 0)])
def test_an_empty_array_without_addresses(command: Command, tmp_path: Path, dims: tuple[int, ...]) -> None:
    (tmp_path / "a.bin").write_bytes(b"b\x02" + bytes([len(dims)]) + b" i32" + struct.pack(f"<{len(dims)}q", *dims))
    (tmp_path / "a.in").write_text("empty(" + "".join(f"[{n}]" for n in dims) + "i32)")
    for name in ("a.bin", "a.in"):
        outcome = command("dataset", "convert", name, "--text")
        assert (outcome.code, "error[D0106]" in outcome.err) == (1, True), outcome.err


def test_an_endless_file_is_refused(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_STREAMED", 1 << 22)
    (tmp_path / "a.soac").write_text("-- ==\n-- input @/dev/zero\n-- output { 0 }\n" + SUM)
    tested = command("test", "a.soac")
    assert "D0112" in tested.out + tested.err
    assert "D0112" in command("dataset", "convert", "/dev/zero", "--text").err
    (tmp_path / "large.in").write_bytes(b"1" * 100)
    with pytest.raises(DataError, match="D0112"):
        files.read_file(tmp_path / "large.in", 99)


def test_an_endless_stream_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_STREAMED", 1000)
    with pytest.raises(DataError, match="D0112"):
        files.read_stream(io.BytesIO(bytes(1001)), "<stdin>", 1 << 40)
    assert files.read_stream(io.BytesIO(bytes(1000)), "<stdin>", 1 << 40) == bytes(1000)


def test_one_end_is_enough_on_a_terminal() -> None:
    keyboard, terminal = os.openpty()
    os.write(keyboard, b"5\n\x04")
    with open(terminal, "rb") as stream:
        assert files.read_stream(stream, "<stdin>", 1 << 20) == b"5\n"
    os.close(keyboard)


def test_an_import_does_not_leave_by_a_linked_directory(command: Command, tmp_path: Path) -> None:
    (tmp_path / "project" / "inner").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    for folder in ("out", "project/inner"):
        (tmp_path / folder / "s.soac").write_text("def answer = 42\n")
    (tmp_path / "project" / "d").symlink_to("../out")
    (tmp_path / "project" / "e").symlink_to("inner")
    for folder, code in (("d", 1), ("e", 0)):
        (tmp_path / "project" / "a.soac").write_text(f'import "{folder}/s"\ndef main = answer\n')
        outcome = command("check", "project/a.soac")
        assert (outcome.code, "E0207" in outcome.err) == (code, code == 1), outcome.err


BODIES = (b'["c","Stored"]', b'["c","Stored",', b"[]", b'["c","Stored",1,2,3]', b'["e","Op","NOT_THERE"]')
DEEP = b"[" * 1_000_000


@pytest.mark.parametrize("entry", [*BODIES, *(hashlib.sha256(body).digest() + body for body in BODIES), DEEP])
def test_a_cache_entry_of_another_kind_is_a_miss(entry: bytes) -> None:
    """Whether its digest is right or not; what is too deep to be read has none."""
    key = program_cache.key(SUM, "a.soac", Reach.PROJECT)
    disk_cache.put(jit.user_cache(), key, entry)
    assert program_cache.find(SUM, "a.soac", Reach.PROJECT, pytest.fail) is None


def test_the_cache_knows_the_compiler_by_its_own_files() -> None:
    """And not by what else is in the folder that it is installed in."""
    before = disk_cache.compiler.__wrapped__()
    stray = ROOT / "stray.tmp"
    try:
        stray.write_text("")
        assert disk_cache.compiler.__wrapped__() == before
    finally:
        stray.unlink()


def shell(*args: str, cwd: Path, **options: object) -> subprocess.Popen[bytes]:
    """Without bytecode, of which CPython would leave half a file where files are limited."""
    env = {**os.environ, "PYTHONPATH": f"{cwd}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "soac", *args]
    return subprocess.Popen(command, cwd=cwd, env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, **options)  # type: ignore[call-overload]


def heed_interrupts() -> None:
    """Also where the tests run in the background of a shell, which ignores Ctrl-C there."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def limited() -> None:
    """No file may grow beyond 16 KiB, as if the disk were full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))


def test_autotune_without_room_for_its_study(tmp_path: Path) -> None:
    text = "-- ==\n-- random input { [30][40]i32 }\n"
    program = "def main [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce (+) 0 xs) xss\n"
    (tmp_path / "a.soac").write_text(text + program)
    process = shell("autotune", "a.soac", cwd=tmp_path, preexec_fn=limited)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err.decode()
    assert b"error[T020" in err
    assert b"internal compiler error" not in err
    assert not list(tmp_path.glob("soac-ice-*"))


def test_ctrl_c_while_modules_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text(
        "import sys, time\nsys.stdout.write('loading')\nsys.stdout.flush()\ntime.sleep(60)\n"
    )
    process = shell("--version", cwd=tmp_path, preexec_fn=heed_interrupts)
    assert process.stdout is not None
    assert process.stdout.read(7) == b"loading"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"soac: interrupted\n")


def test_a_sidecar_that_is_endless_says_nothing(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(SUM)
    (tmp_path / "a.soac.tuning").write_text("main.red.suff_outer_0=1\n")
    (tmp_path / ".soac").mkdir()
    (tmp_path / ".soac" / "a.soac.tuning.json").symlink_to("/dev/zero")
    assert "internal" not in command("run", "a.soac", json.dumps([1, 2])).err


def test_numpy_still_reads_what_it_wrote(command: Command, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.int32).reshape(2, 3))
    assert "[[0i32, 1i32, 2i32]" in command("dataset", "convert", "a.npy", "--text").clean().out


def test_an_interrupt_while_the_pool_of_threads_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module is known by then, and has no functions."""
    monkeypatch.setitem(sys.modules, f"soac{cli.POOL}", ModuleType("half"))
    code = cli.Code()
    code.ended.set()
    cli._interrupt(code)
