"""The promises of SECURITY.md, one after another; each names its tests."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from soac.frontend.compile import compile_text
from soac.frontend.source.text import Reach
from soac.ir.errors import CompileError, IRError
from soac.kernels.devices import disk_cache
from soac.kernels.devices.cpu.runtime import jit
from soac.page.html import page_of
from soac.pipeline import Emit, compile_prog
from soac.reports import svg
from soac.stages import show_stage
from soac.tuning.charts import page

ROOT = Path(__file__).parents[2]


def test_every_promise_has_its_test() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    promises = re.split(r"^[0-9]+\. ", text, flags=re.MULTILINE)[1:]
    sources = "".join((ROOT / "tests" / file).read_text() for file in ("soac/test_security.py", "test_layers.py"))
    assert len(promises) == 7
    for promise in promises:
        tests = re.findall(r"`(test_\w+)`", promise)
        files = re.findall(r"`(tests/[\w/]+\.py)`", promise)
        assert tests or files, promise
        assert all(f"def {test}(" in sources for test in tests), promise
        assert all((ROOT / file).is_file() for file in files), promise


HOOKED = """
import os, sys
seen = []
def hook(event, args):
    if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR):
        seen.append(f"writes {args[0]}")
    if event.startswith(("subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "socket.")):
        seen.append(event)
from soac.cli import run_cli
sys.dont_write_bytecode = True
sys.addaudithook(hook)
for words in (["check", "a.soac"], ["explain", "a.soac"], ["dev", "a.soac", "--emit=llvm"]):
    assert run_cli(words) == 0, words
cache = os.environ["SOAC_CACHE_DIR"]
print([one for one in seen if not one.startswith(f"writes {cache}") and not one.endswith("/dev/null")], file=sys.stderr)
"""


def test_compiling_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(
        "-- ==\n-- input @a.in\n-- script input { f 1 }\ndef main (x: i64) = 10 / (x * 0)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "SOAC_CACHE_DIR": str(tmp_path / "cache")}
    found = subprocess.run([sys.executable, "-c", HOOKED], cwd=tmp_path, env=env, text=True, capture_output=True)
    assert found.stderr.splitlines()[-1:] == ["[]"], found.stderr


BOMBS = (
    "def main = 2i64 ** 2i64 ** 40i64",
    "def main = i64.sum (iota 1000000000000)",
    "def main = loop x = 1i64 for i < 1000000000000 do x * 3",
    "def main = length (replicate (1 << 60) (replicate (1 << 60) 1i32))",
    "def main = (1i64 << 1000000000) + (3i64 ** 1000000000)",
    "def main = let f x = (x, x) let g x = f (f (f (f x))) in (g (g (g 1i32))).0",
)


@pytest.mark.parametrize("text", BOMBS)
def test_constants_that_are_too_large_to_compute(text: str) -> None:
    begin = time.process_time()
    with contextlib.suppress(CompileError):
        compile_prog(text, "a.soac")
    assert time.process_time() - begin < 5


OUTSIDE = (
    "../s",
    "/etc/passwd",
    "inner/../../s",
    "linked/s",
    "linked",
    "./../project/../s",
    "~/s",
    "inner/../linked/s",
)


@pytest.mark.parametrize("path", OUTSIDE)
def test_imports_stay_inside(tmp_path: Path, path: str) -> None:
    project = tmp_path / "project"
    (project / "inner").mkdir(parents=True)
    (tmp_path / "s.soac").write_text("def answer = 42\n")
    (project / "linked").symlink_to("..")
    (project / "linked.soac").symlink_to("../s.soac")
    with pytest.raises(CompileError, match="E0207"):
        compile_text(f'import "{path}"\ndef main = answer', str(project / "a.soac"))


EVIL = 'q"\n%x = call i8 @evil() */ ??/ evil(); <script>evil'
PROGRAM = """
type evil_record = { evil_field: i32 }
def evil_function' [evil_size] (evil_array: [evil_size]i32) (i: i64): evil_record =
  { evil_field = assert (i < 7) evil_array[i] }
entry evil_entry [n] (xs: [n]i32): [n]i32 = map (\\i -> (evil_function' xs i).evil_field) (iota n)
"""


@pytest.mark.parametrize("stage", [Emit.LLVM, Emit.CUDA])
def test_names_in_generated_code(stage: Emit) -> None:
    """What is left of the author's words are parts of identifiers, and a path in a comment."""
    text = show_stage(compile_prog(PROGRAM, EVIL), stage)
    assert "evil" in text
    assert not [part for part in ("@evil", "evil()", "<script>", "*/ ", "??/", "evil_function'") if part in text]


def test_names_in_html() -> None:
    tree = svg.tree(EVIL, svg.Box((EVIL,), ((EVIL, svg.Box((EVIL,), (), True)),), False))
    shown = page(EVIL, {EVIL: ((), (EVIL,), {"a.svg": tree})})
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    report = page_of({"program": EVIL, "notes": [EVIL]})
    assert EVIL not in report
    assert report.count("<script") == 2


def test_caches_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory or a file that others can write, or put something else in the place of, is not read."""
    for folder in ("mine", "open", "above/mine", "linked"):
        (tmp_path / folder).mkdir(parents=True, mode=0o700)
        disk_cache.put(disk_cache.Cache(tmp_path / folder), "k", b"code")
        assert disk_cache.get(disk_cache.Cache(tmp_path / folder), "k") == b"code"
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "above").chmod(0o777)
    disk_cache._is_reached_safely.cache_clear()  # pyright: ignore[reportPrivateUsage]
    (tmp_path / "linked" / "k.soacobj").rename(tmp_path / "linked" / "j.soacobj")
    (tmp_path / "linked" / "k.soacobj").symlink_to("j.soacobj")
    (tmp_path / "mine" / "k.soacobj").chmod(0o666)
    with pytest.warns(RuntimeWarning, match="cannot read"):
        assert disk_cache.get(disk_cache.Cache(tmp_path / "linked"), "k") is None
    for folder in ("mine", "open", "above/mine"):
        assert disk_cache.get(disk_cache.Cache(tmp_path / folder), "k") is None, folder
    (tmp_path / "mine" / "k.soacobj").chmod(0o600)
    assert disk_cache.get(disk_cache.Cache(tmp_path / "mine"), "k") == b"code"
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert disk_cache.get(disk_cache.Cache(tmp_path / "mine"), "k") is None


def test_code_that_calls_others_is_refused() -> None:
    text = "declare i32 @system(ptr)\ndefine i32 @f(ptr %x) {\n  %r = call i32 @system(ptr %x)\n  ret i32 %r\n}\n"
    with pytest.raises(IRError, match="system"):
        jit.load_text(text, ("f",), disk_cache.Cache(None))


def test_reach_is_part_of_the_key() -> None:
    """A program that was compiled with `#[unsafe]` is not found where that is ignored."""
    from soac import program_cache

    keys = {program_cache.key("def main = 1", "a.soac", reach) for reach in Reach}
    assert len(keys) == len(Reach)
