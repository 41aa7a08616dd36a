"""Libraries of programs, used from C++: values, versions, failures, settings; and what is refused."""

from __future__ import annotations

import json
import math
import platform
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soac.api import load
from soac.autotune.tuning import SettingError
from soac.ir.errors import CompileError, RunError
from soac.ir.interpret import interpret
from soac.kernels.devices.cpu.library import client as client_module
from soac.kernels.host_ir.nodes import HostBody, HostStm, Interpret
from soac.library.build import Order, build_library, library_name, library_version, require_native, targets_of
from soac.pipeline import Compiled, compile_prog
from soac.testing.blocks import Fails
from soac.testing.datasets import inputs_of
from soac.versions import runs_of
from tests.support.command_line import Command
from tests.support.library_clients import FIVE, INFINITY, Failed, built, client, run, same_bits, targets_here
from tests.support.programs import PROGRAMS, opened, sets_of
from tests.support.rust_clients import RUSTC, rust_client

SMALL = Path(__file__).with_name("small.soac")
HERE, OTHER = ("aarch64", "x86-64-v2") if platform.machine() == "aarch64" else ("x86-64-v3", "aarch64")
pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler"),
    pytest.mark.skipif(sys.platform != "linux", reason="libraries are for Linux"),
]
Library = tuple[Path, dict[str, Any], Compiled]
Client = Callable[[Path, Mapping[str, Any]], Path]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("small")
    compiled, manifest = built(SMALL, folder, [HERE])
    return client(folder, manifest), manifest, compiled


XS = np.arange(-3, 9, dtype=np.int32)
VALUES: dict[str, tuple[Any, ...]] = {
    "sums": (np.arange(12_000, dtype=np.int32).reshape(40, 300),),
    "pick": (XS, np.array([3, 0, 11])),
    "divide": (np.int32(-7), np.int32(2)),
    "twice": (np.linspace(0, 1, 7),),
    "scaled": (np.array([1, -2, 3], np.int32), np.float32(2.5)),
    "half": (np.array([0.1, 2], np.float16), np.float16(0.3), np.bool_(True)),
    "room": (np.int64(0),),
    "sorted": (XS[::-1] % 7,),
    "sum_of": (XS, np.int64(7)),
}
FAILURES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "in a kernel": ("pick", (XS, np.array([0, 12]))),
    "of the host": ("divide", (np.int32(1), np.int32(0))),
    "of a power": ("power", (np.int32(-9), np.int32(-2))),
    "of memory": ("room", (np.int64(1 << 60),)),
    "of a size": ("room", (np.int64(-5),)),
    "of recursion": ("sum_of", (XS, np.int64(9))),
    "in a call": ("sum_of", (XS, np.int64(12))),
}


@pytest.mark.whole
def test_values_and_failures_are_those_of_python(small: Library) -> None:
    """On both versions, on one thread and two; a failure has code, message, place and values."""
    program, manifest, compiled = small
    python = load(SMALL)
    for entry, args in VALUES.items():
        wanted, _ = interpret(compiled.core, entry, args)
        for sides in runs_of(compiled.flat, entry):
            for threads in (1, 2):
                settings = {name: 0 if side else INFINITY for name, side in sides.items()}
                got = run(program, manifest, entry, args, settings, threads)
                assert isinstance(got, list)
                assert same_bits(got, wanted), entry
    for what, (entry, args) in FAILURES.items():
        with pytest.raises(RunError) as error:
            python.call(entry, args)
        (said,) = error.value.diagnostics
        loc = said.primary.loc
        got = run(program, manifest, entry, args, {})
        assert isinstance(got, Failed), what
        assert (got.code, got.message) == (said.code, said.message)
        column = got.place[2] if said.code == "R0301" else loc.col  # Python names the entry, which has no memory
        assert got.place == (loc.file, loc.line, column), what
    got = run(program, manifest, *FAILURES["in a kernel"], {})
    assert isinstance(got, Failed)
    assert (got.kinds, got.values) == ("ii", (12, 12))
    got = run(program, manifest, "divide", (np.int32(6), np.int32(3)), {"sums.threads": 1})
    assert got == [2]


def test_settings_come_from_tuning_files(small: Library, tmp_path: Path) -> None:
    program, manifest, _ = small
    name = next(s["name"] for s in manifest["settings"] if "suff_" in s["name"])
    tuning, args = tmp_path / "some.tuning", VALUES["sums"]
    tuning.write_text(f"another.name=3\n\n{name}=77\n")
    assert isinstance(run(program, manifest, "sums", args, {}, tuning=str(tuning)), list)
    for text, line in ((f"{name}=1\n{name} =7\n", 2), ("x\n", 1), (f"{name}=-1\n", 1), (f"{name}=1{'0' * 19}\n", 1)):
        tuning.write_text(text)
        got = run(program, manifest, "sums", args, {}, tuning=str(tuning))
        assert isinstance(got, Failed)
        assert (got.code, got.place) == ("T0101", (str(tuning), line, 0))
    got = run(program, manifest, "sums", args, {}, tuning=str(tmp_path / "none"))
    assert isinstance(got, Failed)
    assert got.code == "T0105"
    for settings, target in (({"no.such": 1}, ""), ({name: -1}, ""), ({}, OTHER)):
        got = run(program, manifest, "sums", args, settings, target=target)
        assert isinstance(got, Failed)
        assert got.code == ("S0101" if target else "C0101")


def test_the_module_of_wheels(small: Library) -> None:
    """Values, errors in the words of `soac`, settings."""
    program, manifest, compiled = small
    library = client_module.Library(program.parent, threads=3)
    for entry, args in VALUES.items():
        wanted, _ = interpret(compiled.core, entry, args)
        got = library.call(entry, *args)
        assert same_bits(got if isinstance(got, tuple) else (got,), wanted), entry
    for entry, place in (("called", -1), ("sum_of", 12), ("sum_of", 11)):
        with pytest.raises(RunError) as error:
            load(SMALL).call(entry, (XS, np.int64(place)))
        with pytest.raises(client_module.ProgramError) as same:
            library.call(entry, XS, place)
        assert str(same.value) == str(error.value)
        assert "called at" in str(same.value)
    assert library.settings == {s["name"]: s["default"] for s in manifest["settings"]}
    with pytest.raises(client_module.ProgramError, match="C0101"):
        library.set("no.such", 1)
    for wrong in ([XS], [XS[None], 1], [XS.astype(np.int64), 1], [XS, 2**70]):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            library.call("called", *wrong)


@pytest.mark.slow
@pytest.mark.parametrize("linked", ["static", "shared"])
def test_of_several_targets_one_is_chosen(tmp_path: Path, linked: str) -> None:
    """The best by default, another one by name: all give the same bits."""
    _, manifest = built(SMALL, tmp_path, [])
    program = client(tmp_path, manifest, linked)
    for entry, args in VALUES.items():
        wanted = load(SMALL).call(entry, args)
        for target in ("", *targets_here(program, manifest)):
            got = run(program, manifest, entry, args, {}, target=target)
            assert isinstance(got, list), got
            assert same_bits(got, wanted), (entry, target)


MOST_ITERATIONS = 20_000
"""The product of the numbers that an entry takes: what the interpreter still does."""


@pytest.mark.slow
@pytest.mark.parametrize("made", [client, rust_client])
@pytest.mark.parametrize("stem", FIVE)
def test_programs_give_the_same_on_every_version(stem: str, made: Client, tmp_path: Path) -> None:
    """From C++ and from Rust: the interpreter's values, and the bits of the same version in Python, on all data sets
    that are small; the targets take turns."""
    if made is rust_client and RUSTC is None:
        pytest.skip("no Rust compiler")
    path = next(p for p in PROGRAMS if p.stem == stem)
    compiled, manifest = built(path, tmp_path, [])
    program, session = made(tmp_path, manifest), opened(path)
    turns, runs, got = cycle(targets_here(program, manifest)), 0, list[Any]()
    for one in sets_of(path):
        if isinstance(one.case.expected, Fails) or "notest" in one.case.tags:
            continue
        args = inputs_of(one, session.program, path)
        if math.prod(int(a) for a in args if isinstance(a, np.integer)) > MOST_ITERATIONS:
            continue
        for sides in runs_of(compiled.flat, one.entry):
            settings = {name: 0 if side else INFINITY for name, side in sides.items()}
            for threads in (1, 2):
                wanted, _ = session.program.trace(one.entry, args, forced=sides)
                done = run(program, manifest, one.entry, args, settings, threads, next(turns))
                assert isinstance(done, list), done
                got = done
                assert same_bits(got, wanted), (one.entry, sides)
                runs += 1
        wanted, _ = interpret(compiled.core, one.entry, args)
        for value, exact in zip(got, wanted, strict=True):
            assert np.allclose(value, exact, rtol=1e-3, atol=1e-5, equal_nan=True)
    assert runs


def test_what_is_refused() -> None:
    with pytest.raises(SettingError, match="cannot be called"):
        library_name("soac")
    with pytest.raises(SettingError, match="is no version"):
        library_version("../1")
    with pytest.raises(SettingError, match="one machine"):
        targets_of(["aarch64", "x86-64-v3"])
    with pytest.raises(SettingError, match="no target `z80`"):
        targets_of(["z80"])
    assert [t.name for t in targets_of(["x86-64-v2", "x86-64-v4", "x86-64-v2"])] == ["x86-64-v4", "x86-64-v2"]


def test_entries_that_need_python_are_named() -> None:
    compiled = compile_prog("entry f (x: i32): i32 = x", "f.soac")
    (fun,), (core,) = compiled.host.functions, compiled.core.functions
    statement = HostStm((), Interpret(core, (), (), "no kernel for it"), core.loc)
    slow = replace(fun, body=HostBody((statement,), fun.body.result))
    with pytest.raises(CompileError, match="`f` cannot be in a library: no kernel for it") as error:
        require_native(replace(compiled, host=replace(compiled.host, functions=(slow,))))
    assert error.value.diagnostics[0].primary.loc == core.loc


def test_command(command: Command, tmp_path: Path) -> None:
    """Names of the source become names of C; the manifest has the digests; no GPU is a processor."""
    program = tmp_path / "one-more'.soac"
    program.write_text("entry main' (x: i32) (int: i64) = x + i32.i64 int\n")
    done = command("build", program, "-o", tmp_path / "out", "--arch", HERE).clean()
    assert "libone_more_.so" in done.out
    header = (tmp_path / "out" / "one_more_.h").read_text()
    assert "int one_more__entry_main_(one_more__context *context, int32_t *result, int32_t x, int64_t int_);" in header
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    data = (tmp_path / "out" / "libone_more_.a").read_bytes()
    assert manifest["files"]["libone_more_.a"] == sha256(data).hexdigest()
    assert manifest["entries"]["main'"]["parameters"][1] == {"name": "int_", "type": "i64", "rank": 0}
    refused = command("build", program, "-o", tmp_path / "out", "--target", "cuda", "--arch", HERE)
    assert (refused.code, "S0101" in refused.err or f"no GPU `{HERE}`" in refused.err) == (refused.code, True)
    assert refused.code


@pytest.mark.slow
def test_of_another_machine(tmp_path: Path) -> None:
    """Where there is no linker for it, there is a static library, and why there is no other."""
    compiled = compile_prog(SMALL.read_text(), "small.soac")
    made = build_library(compiled, Order("small", "1", targets_of([OTHER]), {}, "", False), tmp_path)
    assert ("libsmall.so" in made.files) != bool(made.why_static)
    assert "libsmall.a" in made.files


@pytest.mark.slow
def test_wheel_runs_with_numpy_alone(tmp_path: Path) -> None:
    """Installed in an environment that has NumPy and nothing else."""
    built(SMALL, tmp_path, ["native"], with_wheel=True)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    installed = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs"):
        if (installed / name).exists():
            (packages / name).symlink_to(installed / name)
    python = str(tmp_path / "env" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", str(wheel)], check=True)
    done = subprocess.run([python, "-I", "-c", WITH_WHEEL], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


WITH_WHEEL = """
import numpy as np, small
xs = np.arange(-3, 9, dtype=np.int32)
assert small.sums([[1, 2], [3, 4]]).tolist() == [3, 7]
ys, zs = small.twice(np.ones((3, 2))[:, 0])
zs[0] = 7
assert (ys.tolist(), zs.tolist()) == ([2, 2, 2], [7, 2, 2])
hs, h, no = small.half(np.array([0.5], np.float16), 2, True)
assert (hs.dtype, hs.tolist(), h, h.dtype, no) == (np.float16, [1.0], 3.0, np.float16, False)
try:
    small.pick(xs, [0, 12])
    raise SystemExit("no failure")
except small.ProgramError as error:
    assert (error.code, error.values, error.place[1:]) == ("R0101", (12, 12), (6, 56)), error
for wrong in (xs.astype(np.int64), xs[None]):
    try:
        small.pick(wrong, [0])
        raise SystemExit("no failure")
    except (TypeError, ValueError):
        pass
name = next(iter(small.library.settings))
small.library.set(name, 5)
assert small.library.get(name) == 5 and small.library.target == "native"
assert small.pick.__annotations__["return"] == "NDArray[np.int32]"
try:
    import llvmlite
    raise SystemExit("not alone")
except ImportError:
    pass
"""
