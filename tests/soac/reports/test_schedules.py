"""`soac explain --schedules`: how each segop is run, as people and programs read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Command

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parent / "golden"
SHOWN = {
    "schedules-cpu.txt": ("cpu",),
    "schedules-cuda.txt": ("cuda",),
    "schedules-one-entry.txt": ("cpu", "-e", "sums"),
}
PROGRAM = """\
entry sums [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss

entry products [n][m][p] (xss: [n][p]f32) (yss: [p][m]f32): [n][m]f32 =
  map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss

entry counts [n] (is: [n]i64): [256]i32 = reduce_by_index (replicate 256 0) (+) 0 is (replicate n 1)
"""


@pytest.fixture(autouse=True)
def program(command: Command) -> None:
    """In the present directory, an empty one."""
    Path("main.soac").write_text(PROGRAM)


@pytest.mark.parametrize("name", SHOWN)
def test_text(name: str, command: Command, update: bool) -> None:
    device, *options = SHOWN[name]
    out = command("explain", "--schedules", "--device", device, "main.soac", *options).clean().out
    if update:
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / name).write_text(out, encoding="utf-8")
    assert out == (GOLDEN / name).read_text(encoding="utf-8")


def of_json(command: Command, *args: str) -> list[dict[str, Any]]:
    return json.loads(command("explain", "--schedules", "--json", "main.soac", *args).clean().out)["segops"]


def test_json_has_what_the_text_says(command: Command) -> None:
    (outer, inner) = of_json(command, "-e", "sums")
    assert (outer["segop"], outer["space"], outer["guard"]["taken"]) == ("segmap", ["n"], True)
    assert (inner["segop"], inner["space"], inner["guard"]["taken"]) == ("segred", ["n", "m"], False)
    schedules = {one["name"]: one for one in outer["schedules"]}
    spread, lanes = schedules["block a point"], schedules["lanes"]
    assert (spread["taken"], lanes["taken"], lanes["if"]) == (True, True, None)
    assert "extra_cost(n, m)" in spread["if"]
    assert spread["kernels"] != lanes["kernels"]
    left_out = outer["schedules"][0]
    assert (left_out["taken"], left_out["why_not"], left_out["cost"]) == (False, "its points are threads", None)


def test_the_tuning_and_forced_versions_do_not_matter(command: Command) -> None:
    """All versions are shown."""
    assert of_json(command, "--param", "sums.ys.suff_outer_0=7") == of_json(command)


def test_nothing_is_run(command: Command) -> None:
    assert "takes no data" in command("explain", "--schedules", "main.soac", "[[1f32]]").err


def test_an_unknown_entry_is_refused(command: Command) -> None:
    outcome = command("explain", "--schedules", "main.soac", "-e", "sum")
    assert (outcome.code, outcome.out) == (1, "")
    assert "did you mean `sums`?" in outcome.err
