"""The commands, as a user calls them."""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import soac
from soac import cli, pipeline
from soac.ir.core import Prog
from soac.ir.parse import parse_prog
from soac.ir.show import same, without_locations
from soac.kernels.devices.cuda.nvrtc import NoCompiler, nvrtc
from tests.support.command_line import Command

ROOT = Path(__file__).parents[3]
MATMUL = ROOT / "programs" / "matmul.soac"
SUMROWS = ROOT / "programs" / "sumrows.soac"
ROWS = """
-- ==
-- entry: main
-- input { [[1, 2], [3, 4]] } output { [3, 7] }
-- "wide" random input { [4][5000]i32 }
-- "tall" random input { [5000][4]i32 }
def main [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss
"""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.soac"
    path.write_text(ROWS)
    return path


@pytest.fixture
def site(rows: Path) -> str:
    """The guard site of the program `rows`."""
    prog = soac.load(rows)
    _, ((threshold, _, _),) = prog.trace("main", [np.ones((2, 2), np.int32)])
    return threshold


def shell(*args: str, cwd: Path = ROOT) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "soac", *args], env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
    )  # fmt: skip


# ---- run ----------------------------------------------------------------------------------------------------------


def test_run_with_arguments(command: Command) -> None:
    outcome = command("run", MATMUL, "[[1f32, 2f32, 3f32], [3f32, 4f32, 5f32]]", "[[1, 2], [3, 4], [5, 6]]").clean()
    assert outcome.out == "[[22.0f32, 28.0f32], [40.0f32, 52.0f32]]\n"


def test_run_reads_stdin(command: Command) -> None:
    data = b"-- comments are fine\n[[1, 2]] [[3], [4]]"
    assert command("run", MATMUL, "-e", "ints", stdin=data).clean().out == "[[11i32]]\n"


def test_run_reads_files_and_writes_binary(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.in").write_text("[[1, 2]]")
    np.save(tmp_path / "b.npy", np.array([[3], [4]], np.int32))
    outcome = command("run", MATMUL, "-e", "ints", "a.in", "b.npy", "-b").clean()
    assert outcome.out.encode() == b"b\x02\x02 i32" + b"\x01" + bytes(7) + b"\x01" + bytes(7) + b"\x0b\0\0\0"


def test_run_takes_negative_numbers(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("def main (x: f32) (y: i32) (z: f32): f32 = x + f32.i32 y + z")
    assert command("run", "a.soac", "-5e1", "-3", "-f32.inf").clean().out == "-f32.inf\n"


def test_force_and_param_choose_the_version(command: Command, rows: Path, site: str) -> None:
    """`--force GUARD=VERSION` takes a version by name, and by number as it always did."""
    assert "--force GUARD=VERSION" in command("run", "--help").clean().out
    forced = (f"--force={site}={version}" for version in ("outer", "full", "0", "1"))
    for option in (*forced, f"--param={site}=0", "--no-tuning"):
        assert command("run", rows, "[[1, 2], [3, 4]]", option).clean().out == "[3i32, 7i32]\n"
    outcome = command("run", rows, "[[1]]", f"--force={site}=inner")
    assert outcome.code == 2
    assert f"unknown version of `{site}` `inner`" in outcome.err
    assert "there are: outer, full" in outcome.err


# ---- check, dev, compile ------------------------------------------------------------------------------------------


def test_check_runs_nothing(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("def main (x: i32): i32 = x / 0")
    assert command("check", "a.soac").clean().out == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.soac"]


@pytest.mark.parametrize("stage", ["core", "fused", "flat"])
def test_dev_shows_what_parses_back(command: Command, stage: str) -> None:
    text = command("dev", MATMUL, f"--emit={stage}").clean().out
    compiled = soac.load(MATMUL).compiled
    assert same(parse_prog(text), without_locations(getattr(compiled, stage)))


@pytest.mark.parametrize(("stage", "words"), [
    ("core", ["map", "rearrange (1, 0)"]),
    ("fused", ["redomap"]),
    ("flat", ["segred^thread", "segmap^thread", "suff_outer_0", "guard"]),
    ("kernels", ["kernel ", "threads"]),
    ("host", ["launch ", "if "]),
    ("llvm", ["define ", "<16 x float>"]),
])  # fmt: skip
def test_dev_shows_what_a_reader_of_the_paper_knows(command: Command, stage: str, words: list[str]) -> None:
    text = command("dev", MATMUL, f"--emit={stage}").clean().out
    assert [word for word in words if word not in text] == []


def test_dev_after_every_pass(command: Command) -> None:
    for name in pipeline.PASSES:
        assert command("dev", MATMUL, f"--after={name}", "--check").clean().out


def test_dev_modes(command: Command) -> None:
    full = command("dev", MATMUL, "--flatten=full").clean().out
    outer = command("dev", MATMUL, "--flatten=outer").clean().out
    assert "guard" not in full + outer
    assert "segred" in full
    assert "segred" not in outer
    assert "GR" in command("dev", MATMUL, "--trace-rules").clean().out.upper()


def test_compile_writes_artefacts_and_manifest(command: Command, tmp_path: Path) -> None:
    command("compile", MATMUL, "-o", "out").clean()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert {"main", "ints"} <= set(manifest["entries"])
    assert manifest["entries"]["main"]["sites"]
    assert {p["name"] for p in manifest["entries"]["main"]["parameters"]} == {"xss", "yss"}
    for name in manifest["files"].values():
        assert (tmp_path / "out" / name).stat().st_size > 0


def test_compile_for_a_gpu_that_is_not_there(command: Command, tmp_path: Path) -> None:
    outcome = command("compile", "--device", "cuda", "--arch", "sm_90", MATMUL, SUMROWS)
    try:
        nvrtc()
    except NoCompiler:
        assert outcome.code == 3
        assert "S0101" in outcome.err
        assert "pip install" in outcome.err
        pytest.skip("NVRTC is not installed")
    assert outcome.clean().out.split() == [str(Path("soac-out", name)) for name in ("matmul", "sumrows")]
    for name in ("matmul", "sumrows"):
        assert (tmp_path / "soac-out" / name / "kernels.cubin").read_bytes().startswith(b"\x7fELF")
        assert "__global__" in (tmp_path / "soac-out" / name / "kernels.cu").read_text()


def test_compile_into_a_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    assert command("compile", MATMUL, "-o", "out").code == 2
    outcome = command("compile", MATMUL, "-o", "out/below")
    assert outcome.code == 1
    assert "S0201" in outcome.err


@pytest.mark.parametrize("stage", ["kernels", "host"])
def test_dev_shows_constants_as_the_language_does(command: Command, stage: str) -> None:
    """A whole reduction combines its partial sums in one block: a launch over a constant."""
    text = command("dev", MATMUL.parent / "dotprod.soac", f"--emit={stage}").clean().out
    assert "Const(" not in text
    assert "Name(" not in text


# ---- test, bench, autotune ----------------------------------------------------------------------------------------


def test_test_reports(command: Command, rows: Path) -> None:
    assert "3 passed" in command("test", rows).clean().out
    assert "6 passed" in command("test", "--all-versions", rows).clean().out
    rows.write_text(ROWS.replace("[3, 7]", "[3, 8]"))
    outcome = command("test", rows)
    assert outcome.code == 1
    assert "expected 8i32, got 7i32" in outcome.err


def test_test_of_an_expected_compile_error(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("-- ==\n-- error: unknown name\ndef main = lenght")
    command("test", "a.soac").clean()
    (tmp_path / "a.soac").write_text("-- ==\n-- error: unknown name\ndef main = 1")
    assert command("test", "a.soac").code == 1


def test_autotune_keeps_the_defaults_where_they_are_faster(
    command: Command, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soac.tuning.report.NOISE", 0.0)
    outcome = command("autotune", rows, "--runs", "2", "--trials", "0", "--fresh").clean()
    assert "the defaults are kept" in outcome.out
    assert (tmp_path / "rows.soac.tuning").read_text() == ""


def test_autotune_writes_what_bench_uses(
    command: Command, rows: Path, site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soac.tuning.report.NOISE", math.inf)  # on a busy machine anything may seem slower
    outcome = command("autotune", rows, "--runs", "2", "--trials", "0", "--fresh").clean()
    assert "wrote" in outcome.out
    (line,) = (tmp_path / "rows.soac.tuning").read_text().splitlines()
    assert line.startswith(f"{site}=")
    assert "timed runs of versions (at most" in outcome.out
    report = json.loads((tmp_path / ".soac" / "rows.soac.tuning.json").read_text())
    assert report["device"] == "cpu"
    assert set(report["entries"]["main"]["thresholds"]) == {site}
    again = command("autotune", rows, "--runs", "2", "--trials", "0").clean().out
    assert again == outcome.out  # every run is stored
    assert command("autotune", rows, "--simulate", "--trials", "0").clean().out + f"wrote {rows}.tuning\n" == again
    command("bench", rows, "--runs", "2", "--json", "times.json").clean()
    times = json.loads((tmp_path / "times.json").read_text())
    assert {len(seen) >= 2 for seen in times[str(rows)].values()} == {True}
    (tmp_path / "rows.soac.tuning").write_text("nonsense=1\n")
    assert "T0102" in command("bench", rows).err


@pytest.mark.parametrize(
    "spelling", ["{}/rows.soac", "../rows.soac", "../sub/../rows.soac", "../link/rows.soac", "r.soac"]
)
def test_a_study_is_found_from_everywhere(
    command: Command, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    command("autotune", "rows.soac", "--runs", "1", "--trials", "0").clean()
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "sub" / "r.soac").symlink_to(rows)
    monkeypatch.chdir(tmp_path / "sub")
    command("autotune", spelling.format(tmp_path), "--simulate", "--trials", "0").clean()
    assert [path.name for path in (tmp_path / "sub").iterdir()] == ["r.soac"]


def test_bench_shows_digits_of_brief_times(command: Command, rows: Path) -> None:
    """A call takes some microseconds, of which milliseconds show one digit at most."""
    out = command("bench", rows, "--runs", "2", "--most-seconds", "0.1").clean().out
    assert re.search(
        r"main \[\[1, 2\], \[3, 4\]\] +[0-9.]+ (ns|µs|ms)  \([0-9.]+ (ns|µs|ms) to [0-9.]+ (ns|µs|ms), \d+ runs\)", out
    )


def test_bench_writes_times_as_soon_as_they_are_there(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(
        "-- ==\n-- input { [1] 0i64 }\n-- input { [1] 5i64 }\ndef main [n] (xs: [n]i32) (i: i64): i32 = xs[i]"
    )
    outcome = command("bench", "a.soac", "--runs", "2", "--most-seconds", "0.1", "--json", "times.json")
    assert "index [5] out of bounds" in outcome.err
    assert list(json.loads((tmp_path / "times.json").read_text())["a.soac"]) == ["main [1] 0i64"]


def test_bench_without_data_sets_says_so(command: Command, rows: Path, tmp_path: Path) -> None:
    """What is left out by a tag is none, nor that of another entry point."""
    for text in (ROWS[ROWS.index("def main") :], "-- ==\n-- nobench input { 1 }\ndef main (x: i32): i32 = x"):
        (tmp_path / "a.soac").write_text(text)
        expected = "a.soac:\n  nothing to time: no test block has an input for an entry point\n"
        assert command("bench", "a.soac").clean().out == expected
    assert "no test block has an input for `other`" in command("bench", rows, "-e", "other").clean().out


TWO = """
-- ==
-- entry: main other
-- random input { [30][40]i32 }
def main [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce (+) 0 xs) xss
entry other [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce i32.max 0 xs) xss
"""


def test_autotune_of_one_entry_keeps_the_others(command: Command, tmp_path: Path) -> None:
    (tmp_path / "two.soac").write_text(TWO)
    file = tmp_path / "two.soac.tuning"
    file.write_text("main.ys.suff_outer_0=7\nother.ys.suff_outer_0=9\n")
    command("autotune", "two.soac", "-e", "other", "--runs", "1", "--trials", "0", "--fresh").clean()
    assert "main.ys.suff_outer_0=7\n" in file.read_text()
    assert "other.ys.suff_outer_0=9\n" not in file.read_text()  # found anew, or left out where nothing was won


def test_autotune_beside_a_file_of_another_device(command: Command, tmp_path: Path) -> None:
    (tmp_path / "two.soac").write_text(TWO)
    (tmp_path / "two.soac.tuning").write_text("")
    (tmp_path / ".soac").mkdir()
    (tmp_path / ".soac" / "two.soac.tuning.json").write_text('{"device": "cuda", "described": "a GPU"}')
    assert "T0103" in command("run", "two.soac", "[[1, 2]]").err
    outcome = command(
        "autotune", "two.soac", "--runs", "1", "--trials", "0", "--html", "report.html", "--plot", "plots"
    )
    assert "wrote two.soac.cpu.tuning" in outcome.clean().out
    assert (tmp_path / "two.soac.tuning").read_text() == ""
    assert command("run", "two.soac", "[[1, 2]]").clean().out == "[3i32]\n"
    assert "<svg" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "plots" / "main.times.svg").exists()


def finished_trials(database: Path) -> int:
    """How many runs a study holds by now."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as study:
            return study.execute("select count(*) from trials where state = 'COMPLETE'").fetchone()[0]
    except sqlite3.OperationalError:  # not there yet, or without its tables
        return 0


def test_autotune_interrupted_keeps_the_best_so_far(tmp_path: Path) -> None:
    """And goes on where it was: what was timed is in the study."""
    many = "".join(f"-- random input {{ [{n}00][4000]i32 }}\n" for n in range(1, 17))
    (tmp_path / "two.soac").write_text(TWO.replace("-- random input { [30][40]i32 }\n", many))
    process = shell("autotune", "two.soac", "--runs", "1000", "-e", "main", cwd=tmp_path)
    deadline = time.monotonic() + 120
    while finished_trials(tmp_path / ".soac" / "two.soac.tuning.db") < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err.strip()) == (130, b"soac: interrupted")
    assert not (tmp_path / "two.soac.tuning").exists()
    assert "main.ys.suff_outer_0=" in (tmp_path / "two.soac.tuning.partial").read_text()


def test_what_an_interrupt_stops_is_there() -> None:
    """The module is named by a string, since an interrupt must not load it."""
    assert hasattr(importlib.import_module(cli.POOL, "soac"), "request_stop")


def test_autotune_within_a_budget(command: Command, tmp_path: Path) -> None:
    (tmp_path / "two.soac").write_text(TWO)
    outcome = command("autotune", "two.soac", "--timeout", "0.000001")
    assert (outcome.code, "T0202" in outcome.err) == (1, True)
    assert command("autotune", "two.soac", "--simulate").err.count("error[T0205]") == 1


SLOW = """-- ==
-- "small" input { 10i32 [[1i32, 2i32]] }
-- "large" input { 2000000000i32 [[1i32, 2i32]] }
def main [n][m] (k: i32) (xss: [n][m]i32): [n]i32 =
  loop ss = replicate n 1 for i < k do let t = i32.sum ss in map (\\xs -> i32.sum (map (* (t + i)) xs) % 10) xss
"""


def test_autotune_ends_when_its_time_is_over(command: Command, tmp_path: Path) -> None:
    """Within a run too; what was found of the other data set is written."""
    (tmp_path / "slow.soac").write_text(SLOW)
    start = time.monotonic()
    outcome = command("autotune", "slow.soac", "--timeout", "10", "--runs", "1", "--trials", "0")
    assert outcome.code == 0, outcome.err
    assert time.monotonic() - start < 20
    assert "the time was over before every version was timed" in outcome.out
    assert "main." in (tmp_path / "slow.soac.tuning").read_text()


def test_autotune_without_time_for_one_entry(command: Command, tmp_path: Path) -> None:
    """The others are tuned and written, here from stored times; a warning names the one that keeps its settings."""
    (tmp_path / "two.soac").write_text(TWO)
    command("autotune", "two.soac", "-e", "main", "--runs", "1", "--trials", "0").clean()
    outcome = command("autotune", "two.soac", "--timeout", "0.000001")
    assert (outcome.code, outcome.err.count("T0207")) == (0, 1)
    assert "warning[T0207]: no time was left to run `other`" in outcome.err
    assert "--timeout" in outcome.err
    written = json.loads((tmp_path / ".soac" / "two.soac.tuning.json").read_text())
    assert list(written["entries"]) == ["main"]
    assert "other." not in (tmp_path / "two.soac.tuning").read_text()


def test_autotune_simulates_sizes_too(command: Command, tmp_path: Path) -> None:
    text = "-- ==\n-- random input { [9000]i32 }\n"
    text += "def main [n] (xs: [n]i32): i32 = let c = i64.min n (#[param(CHUNK)] 8)\n"
    text += "  in i32.sum (map i32.sum (unflatten (take (n / c * c) xs :> [(n / c) * c]i32)))\n"
    text += "     + i32.sum (drop (n / c * c) xs)\n"
    (tmp_path / "chunk.soac").write_text(text)
    outcome = command("autotune", "chunk.soac", "--runs", "1", "--threads", "1", "--trials", "9").clean()
    trials = re.search(r"(\d+) trials of sizes", outcome.out)
    assert trials is not None
    assert int(trials[1]) >= 11  # of the parameter, and of the length of chunks
    again = command("autotune", "chunk.soac", "--simulate", "--threads", "1", "--trials", "9").clean().out
    assert again + "wrote chunk.soac.tuning\n" == outcome.out


def test_autotune_without_data(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(ROWS[ROWS.index("def main") :])
    outcome = command("autotune", "a.soac")
    assert outcome.code == 1
    assert "T0201" in outcome.err


# ---- the process ----------------------------------------------------------------------------------------------------


def test_help_is_fast() -> None:
    best = 9.0
    for _ in range(8):
        start = time.perf_counter()
        assert b"autotune" in shell("--help").communicate()[0]
        best = min(best, time.perf_counter() - start)
    assert best < 0.3


def test_devices_and_doctor(command: Command) -> None:
    assert "cpu" in command("devices").clean().out
    assert "llvmlite" in command("doctor").clean().out


def test_interrupted(tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("def main (x: i32): i32 = loop x while x != 1 do x + 2")
    process = shell("run", "a.soac", "2", cwd=tmp_path)
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err.strip()) == (130, b"soac: interrupted")


def test_closed_pipe(tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("def main (n: i64): []i64 = iota n")
    process = shell("run", "a.soac", "300000", cwd=tmp_path)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=20) == 0


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_no_output(tmp_path: Path, closed: str) -> None:
    """Streams that are closed when the command begins."""
    path = tmp_path / "f.soac"
    path.write_text("entry main (x: i32): i32 = x + 1\n")
    command = f"{shlex.quote(sys.executable)} -m soac run {shlex.quote(str(path))} 1i32 {closed}"
    assert subprocess.run(["/bin/sh", "-c", command], timeout=60, check=False).returncode == 0


def test_pipe_closed_within_a_command(tmp_path: Path) -> None:
    """A command that goes on printing after its reader has left, as in `soac bench f.soac | head -1`."""
    cases = "".join(f"-- input {{ {n} }}\n" for n in range(20))
    (tmp_path / "a.soac").write_text(f"-- ==\n{cases}def main (x: i32): i32 = x")
    process = shell("bench", "a.soac", "--runs", "2", cwd=tmp_path)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == b""


def test_cache_that_cannot_be_used_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.soac").write_text("def main (x: i32): []i32 = map (+ x) [1, 2]")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SOAC_CACHE_DIR", str(tmp_path / "file" / "cache"))
    out, err = shell("run", "a.soac", "1", cwd=tmp_path).communicate(timeout=60)
    assert out == b"[2i32, 3i32]\n"
    assert err.startswith(b"soac: warning: soac cache: ")
    assert err.count(b"\n") == 1


def test_bug_of_the_compiler(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that fails is named, and the program before it kept."""

    def broken(prog: Prog) -> Prog:
        raise AssertionError("impossible")

    passes = tuple((name, broken if name == "fuse" else run) for name, run in pipeline.CORE_PASSES)
    monkeypatch.setattr(pipeline, "CORE_PASSES", passes)
    (tmp_path / "a.soac").write_text("def main [n] (xs: [n]i32): i32 = reduce (+) 0 xs")
    outcome = command("run", "a.soac", "[1]")
    assert outcome.code == 70
    assert "internal compiler error in pass `fuse`: impossible" in outcome.err
    assert "Traceback" not in outcome.err
    (bundle,) = tmp_path.glob("soac-ice-*")
    assert {p.name for p in bundle.iterdir()} >= {"a.soac", "before-fuse.soir", "log.txt", "versions.json"}
    assert "reduce" in (bundle / "before-fuse.soir").read_text()


def test_interrupted_in_a_kernel(tmp_path: Path) -> None:
    """A launch with many blocks, long enough to be hit: the workers stop between ranges of blocks."""
    body = "loop x = i32.i64 i for _j < k do x * x + 1"
    text = f"def main (n: i64) (k: i32): i32 = reduce (+) 0 (map (\\i -> {body}) (iota n))"
    (tmp_path / "a.soac").write_text(text)
    process = shell("run", "a.soac", "100000000", "100000", cwd=tmp_path)
    time.sleep(4)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err.strip()) == (130, b"soac: interrupted")
