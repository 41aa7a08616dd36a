"""`soac bench --profile`: every launch is in the table and in the trace, with its line."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from soac.cli import cli

TEXT = """-- ==
-- random input { [30][20]f32 }
def main [n][m] (xss: [n][m]f32): [n]f32 =
  let sums = map f32.sum xss
  in #[flattening(no_intra)] loop sums for i < 3 do
       scan (+) 0 sums
"""


def test_profile(tmp_path: Path) -> None:
    file, trace = tmp_path / "a.soac", tmp_path / "trace.json"
    file.write_text(TEXT)
    words = ["bench", "--runs", "2", "--most-seconds", "0.01", "--profile", str(trace), str(file)]
    run = CliRunner().invoke(cli, words)
    assert run.exit_code == 0, run.output
    assert f"{file}:4:" in run.output
    assert "let sums = map f32.sum xss" in run.output
    assert "host" in run.output

    events = json.loads(trace.read_text())["traceEvents"]
    (whole,) = [event for event in events if event.get("cat") == "host"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    lines = [event["args"]["at"].removeprefix(f"{file}:").split(":")[0] for event in kernels]
    assert lines[0] == "4"
    assert len([line for line in lines if line == "6"]) % 3 == 0
    assert "6" in lines
    assert all(event["ts"] >= 0 and event["ts"] + event["dur"] <= whole["dur"] for event in kernels)

    assert CliRunner().invoke(cli, ["bench", "--profile", "x", "--device", "cuda", str(file)]).exit_code == 2
