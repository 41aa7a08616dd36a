"""`soac explain`: the version tree as people and programs read it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import soac
from soac.explain import decisions_of, versions_taken

from .conftest import Command

ROOT = Path(__file__).parent.parent.parent
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


# ---- structure ---------------------------------------------------------------------------------------------------


def test_matmul_has_two_versions(command: Command) -> None:
    entry = explained(command, MATMUL, "-e", "main")
    (guard,) = guards(entry["steps"])
    assert (guard["threshold"], guard["parallelism"], guard["set_by"]) == (SITE, "n*m", "default")
    assert guard["at"].endswith("matmul.soac:21:15")
    (site,) = entry["sites"]
    assert [version["name"] for version in site["versions"]] == ["outer", "full"]
    assert all(version["kernels"] for version in site["versions"])
    assert "taken" not in guard


def test_all_entries_are_shown(command: Command) -> None:
    shown = json.loads(command("explain", MATMUL, "--json").clean().out)
    assert [entry["name"] for entry in shown["entries"]] == ["main", "ints"]
    assert shown["ran"] is False


def test_locvolcalib_nests_guards_in_the_time_loop(command: Command) -> None:
    entry = explained(command, ROOT / "programs" / "locvolcalib.soac", "-e", "main")
    outermost, *inner = guards(entry["steps"])
    assert (outermost["parallelism"], outermost["under"]) == ("outer", [])
    assert {guard["parallelism"] for guard in inner} == {"outer*ny", "outer*nx"}
    assert all(guard["under"] == ["for k < nt - 1"] for guard in inner)
    assert [guard["threshold"] for guard in inner] == [step["threshold"] for step in guards(outermost["else"])]
    (site,) = entry["sites"]
    assert len(site["versions"]) == 5
    assert len(site["versions"][0]["kernels"]) < len(site["versions"][-1]["kernels"])


def test_icfp_has_five_versions(command: Command) -> None:
    entry = explained(command, ROOT / "programs" / "icfp.soac", "-e", "main")
    assert [guard["parallelism"] for guard in guards(entry["steps"])] == ["m", "m*m", "m*m"]
    (site,) = entry["sites"]
    assert [version["name"] for version in site["versions"]] == ["outer", "1", "2", "3", "full"]


@pytest.mark.parametrize("program", ["matmul", "locvolcalib", "icfp"])
def test_every_kernel_is_in_the_tree(command: Command, program: str) -> None:
    path = ROOT / "programs" / f"{program}.soac"
    entries = json.loads(command("explain", path, "--json").clean().out)["entries"]
    shown = [kernel for entry in entries for kernel in launched(entry["steps"])]
    assert sorted(shown) == sorted(kernel.name for kernel in soac.load(path).compiled.host.kernels)


def test_numbers_of_blocks_are_formulas(command: Command) -> None:
    out = command("explain", MATMUL, "-e", "main").clean().out
    (line,) = (line for line in out.splitlines() if "main_red_combine" in line)
    assert "[n*m blocks]" in line


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
    params = [word for k in (0, 1, 2) for word in ("--param", f"main.ys.suff_outer_{k}={100 if k == 0 else 1}")]
    entry = explained(command, program, "3", "[[1, 2], [3, 4]]", *params)
    taken = [[(t["side"], t["times"]) for t in guard["taken"]] for guard in guards(entry["steps"])]
    assert taken == [[("else", 1)], [("then", 1)], [("then", 3)]]
    assert {version["name"]: version["times"] for version in entry["sites"][0]["versions"]}["1"] == 1


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
