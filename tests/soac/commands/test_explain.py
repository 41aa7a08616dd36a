"""`soac explain`: the version tree as people and programs read it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import soac
from soac.kernels.devices.cuda import libcuda
from soac.kernels.devices.cuda.libcuda import Found, NoDriver
from soac.reports.explain import decisions_of, versions_taken
from tests.support.command_line import Command

ROOT = Path(__file__).parents[3]
MATMUL = ROOT / "programs" / "matmul.soac"
MATRICES = ("[[1f32, 2f32], [3f32, 4f32], [5f32, 6f32]]", "[[1f32], [2f32]]")  # n = 3, p = 2, m = 1
SITE = "main.ys.suff_outer_0"


def explained(command: Command, program: Path, *args: object) -> dict[str, Any]:
    """The one entry that `soac explain --json` shows."""
    (entry,) = json.loads(command("explain", program, "--json", *args).clean().out)["entries"]
    return entry


def guards(steps: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for step in steps:
        if step["kind"] == "guard":
            yield step
            yield from guards(step["then"])
            yield from guards(step["else"])


def launched(steps: list[dict[str, Any]]) -> Iterator[str]:
    for step in steps:
        if step["kind"] == "launch":
            yield step["kernel"]
        elif step["kind"] == "guard":
            yield from launched([*step["then"], *step["else"]])


# ---- devices -----------------------------------------------------------------------------------------------------


def test_a_device_that_is_missing_is_needed_for_data_only(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The versions are those that the program has there, with that device's thresholds."""

    def no_gpus() -> tuple[Found, ...]:
        raise NoDriver("no NVIDIA driver")

    monkeypatch.setattr(libcuda, "gpus", no_gpus)
    (guard,) = guards(explained(command, MATMUL, "-e", "main", "--device", "cuda")["steps"])
    assert (guard["threshold"], guard["value"], guard["set_by"]) == (SITE, 1 << 15, "default")
    set_by_hand = explained(command, MATMUL, "-e", "main", "--device", "cuda", f"--param={SITE}=7")
    assert [(one["value"], one["set_by"]) for one in guards(set_by_hand["steps"])] == [(7, "--param")]
    assert command("explain", MATMUL, "-e", "mian", "--device", "cuda").err.count("error[E0001]") == 1
    outcome = command("explain", MATMUL, "--device", "cuda", *MATRICES)
    assert (outcome.code, "S0101" in outcome.err) == (3, True)


# ---- structure ---------------------------------------------------------------------------------------------------


def test_matmul_has_two_versions(command: Command) -> None:
    entry = explained(command, MATMUL, "-e", "main")
    (guard,) = guards(entry["steps"])
    assert (guard["threshold"], guard["parallelism"], guard["set_by"]) == (SITE, "n*m", "default")
    line = (
        MATMUL.read_text().splitlines().index("def main [n][p][m] (xss: [n][p]f32) (yss: [p][m]f32): [n][m]f32 =") + 2
    )
    assert guard["at"].endswith(f"matmul.soac:{line}:15")
    (site,) = entry["sites"]
    assert [version["name"] for version in site["versions"]] == ["outer", "full"]
    assert all(version["kernels"] for version in site["versions"])
    assert "taken" not in guard


def test_all_entries_are_shown(command: Command) -> None:
    shown = json.loads(command("explain", MATMUL, "--json").clean().out)
    assert [entry["name"] for entry in shown["entries"]] == ["main", "ints", "matrices"]
    assert shown["ran"] is False


def test_locvolcalib_nests_guards_in_the_time_loop(command: Command) -> None:
    entry = explained(command, ROOT / "programs" / "locvolcalib.soac", "-e", "main")
    outermost, inside, *inner = guards(entry["steps"])
    assert (outermost["parallelism"], outermost["under"]) == ("outer", [])
    assert (inside["parallelism"], inside["fits"]) == ("min(ny, nx)", "nx*ny <= 16384")
    steps = guards(inside["else"])
    assert [(g["parallelism"], g["fits"] is None) for g in inner if "outer" in g["threshold"]] == [
        ("outer*ny", True), ("outer*nx", True)
    ]  # fmt: skip
    assert {guard["parallelism"] for guard in inner if guard["fits"]} == {"nx", "ny"}
    assert all(guard["under"] == ["for k < nt - 1"] for guard in steps if "outer" in guard["threshold"])
    (site,) = entry["sites"]
    names = [version["name"] for version in site["versions"]]
    assert names[:2] + names[-1:] == ["outer", "block", "full"]
    assert len(site["versions"][0]["kernels"]) < len(site["versions"][-1]["kernels"])


def test_icfp_has_versions_by_name(command: Command) -> None:
    entry = explained(command, ROOT / "programs" / "icfp.soac", "-e", "main")
    found = [(guard["parallelism"], guard["fits"]) for guard in guards(entry["steps"])]
    assert found[:2] == [("m*262144//(if m < 8 then 262145 else 1)", None), ("m", "m <= 16384")]
    rest = [tuple(text and re.sub(r"_\d+", "", text) for text in guard) for guard in found[2:]]
    balance = "max((m*m + elements)*3//((longest + 1)*2), if elements < 16384 then elements else 0)"
    mean = "if longest <= longest then elements//max(m*m, 1) else 0"
    fits = "max(m, longest) <= 16384 & longest*4 <= 1048576"
    assert rest[0] == rest[2] == (balance, None)
    assert [rest[1], rest[3]] == [(mean, fits), ("m*m", None)]
    (site,) = entry["sites"]
    names = [version["name"] for version in site["versions"]]
    assert names[:2] + names[-1:] == ["outer", "block", "full"]
    assert names[2:-1] == [str(k) for k in range(2, len(names) - 1)]


def test_a_version_that_does_not_fit(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text(
        "def main [n][m] (xss: [n][m]i32): [n][m]i32 =\n"
        "  let yss = map (\\xs -> let s = reduce (+) 0 xs in scan (+) s xs) xss in yss\n"
    )
    force = ("--force", "main.yss.suff_outer_0=block")
    data = "[[" + "1, " * 70000 + "1]]"
    (tmp_path / "wide").write_text(data)
    out = command("explain", "a.soac", "wide", *force).clean().out
    assert "guard main.yss.suff_intra_0 <= m and m <= 16384" in out
    assert "> no:  taken once: it does not fit, Par 70001" in out
    assert "`main.yss.suff_intra_0` does not fit: 70001" in command("run", "a.soac", "wide", *force).clean().err
    entry = explained(command, tmp_path / "a.soac", "[[1, 2]]", *force)
    assert [v["times"] for v in entry["sites"][0]["versions"]] == [0, 1, 0]


@pytest.mark.parametrize("program", ["matmul", "locvolcalib", "icfp"])
def test_every_kernel_is_in_the_tree(command: Command, program: str) -> None:
    path = ROOT / "programs" / f"{program}.soac"
    entries = json.loads(command("explain", path, "--json").clean().out)["entries"]
    shown = {kernel for entry in entries for kernel in launched(entry["steps"])}
    assert shown == {kernel.name for kernel in soac.load(path).compiled.host.kernels}


def test_numbers_of_blocks_are_formulas(command: Command) -> None:
    out = command("explain", MATMUL, "-e", "main").clean().out
    lines = [line for line in out.splitlines() if "main_ys_combine" in line]
    assert lines
    assert all("[n*m blocks]" in line for line in lines)


def test_kernels_stand_below_the_conditions_around_them(command: Command) -> None:
    lines = command("explain", MATMUL, "-e", "main").clean().out.splitlines()
    one = next(k for k, line in enumerate(lines) if line.strip() == "if m == 1:")
    then, orelse, other = lines[one + 1 : one + 4]
    begin = " " * lines[one].index("if")
    assert then.startswith(f"{begin}  main_ys_")
    assert orelse == f"{begin}else:"
    assert other.startswith(f"{begin}  main_ys_narrow_")
    assert not [line for line in lines if "blocks]" in line and not line.endswith("blocks]")]


# ---- settings ----------------------------------------------------------------------------------------------------


def test_who_set_a_threshold(command: Command, tmp_path: Path) -> None:
    (tmp_path / "t.tuning").write_text(f"{SITE}=77\n")
    tuned = ("--tuning", "t.tuning", "-e", "main")
    assert "threshold 77 (tuning file)" in command("explain", MATMUL, *tuned).clean().out
    assert "threshold 5 (--param)" in command("explain", MATMUL, *tuned, "--param", f"{SITE}=5").clean().out
    assert "`--force` takes no" in command("explain", MATMUL, *tuned, "--force", f"{SITE}=full").clean().out


# ---- with data ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "side", "why"), [(3, "yes", "Par 3 >= threshold 3"), (4, "no", "Par 3 < threshold 4")]
)
def test_what_a_run_took_and_why(command: Command, threshold: int, side: str, why: str) -> None:
    out = command("explain", MATMUL, *MATRICES, "--param", f"{SITE}={threshold}").clean().out
    assert "ran on the data given" in out
    assert f"> {side}:  taken once: {why}\n" in out
    assert "entry ints" not in out


def test_forced_runs_say_so(command: Command) -> None:
    entry = explained(command, MATMUL, *MATRICES, "--force", f"{SITE}=full")
    (guard,) = guards(entry["steps"])
    assert guard["forced"] is False
    assert guard["taken"] == [{"side": "else", "times": 1, "least": 3, "most": 3}]
    assert [version["times"] for version in entry["sites"][0]["versions"]] == [0, 1]


def test_guards_in_loops_are_counted(command: Command) -> None:
    program = ROOT / "programs" / "icfp.soac"
    settings = ("suff_even_0=100", "suff_intra_0=100", "suff_even_1=1", "suff_outer_0=1")
    params = [word for setting in settings for word in ("--param", f"main.ys.{setting}")]
    entry = explained(command, program, "3", "[[1, 2], [3, 4]]", *params)
    taken = [[(t["side"], t["times"]) for t in guard["taken"]] for guard in guards(entry["steps"])]
    assert taken == [[("else", 1)], [("else", 1)], [("then", 1)], [], [], [("then", 3)]]
    assert {version["name"]: version["times"] for version in entry["sites"][0]["versions"]}["2"] == 1


def test_a_program_that_fails_is_not_run_without_data(command: Command, tmp_path: Path) -> None:
    (tmp_path / "fails.soac").write_text("entry main (n: i64): i64 = n / 0\n")
    assert "one version, no guards" in command("explain", "fails.soac").clean().out
    assert "R0102" in command("explain", "fails.soac", "1").err


def test_decisions_are_summed_up() -> None:
    trace = [("s", 2, False), ("s.in", 9, True), ("s.in", 5, True), ("s", 40, True)]
    (inner,) = decisions_of(trace)["s.in"]
    assert (inner.times, inner.least, inner.most) == (2, 5, 9)
    taken = versions_taken(trace, {"s": ["s", "s.in"]})["s"]
    assert taken == {frozenset({("s", False), ("s.in", True)}): 1, frozenset({("s", True)}): 1}


# ---- errors ------------------------------------------------------------------------------------------------------


def test_unknown_entries_are_refused(command: Command) -> None:
    for data in ((), MATRICES):
        outcome = command("explain", MATMUL, "-e", "mian", *data)
        assert (outcome.code, outcome.out) == (1, "")
        assert "no entry point `mian`" in outcome.err
        assert "did you mean `main`?" in outcome.err
