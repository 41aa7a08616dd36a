"""All programs of futhark-benchmarks, each in a process of its own; the tables of what they give."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from ..run import environment
from .report import line, page

SUITE = "FUTHARK_BENCHMARKS"
RESULTS = Path(__file__).parents[1] / "results"
HAS_ENTRY = re.compile(r"^(entry |-- ==$|(let|def) main\b)", re.MULTILINE)


def main() -> None:
    options = parse_options()
    found: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "device": llvm.get_host_cpu_name(),
        "tuner_s": options.tune,
        "programs": {},
    }
    path = options.json or RESULTS / f"{found['date']}-{found['device']}-futhark.json"
    if options.programs and path.exists():
        found["programs"] = json.loads(path.read_text(encoding="utf-8"))["programs"]
    for file in programs_of(options.suite, options.programs):
        name = str(file.relative_to(options.suite))
        found["programs"][name] = measured(file, options)
        print(line(name, found["programs"][name]), flush=True)
        found["programs"] = dict(sorted(found["programs"].items()))
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.update:
        options.update.write_text(with_table(options.update.read_text(encoding="utf-8"), found), encoding="utf-8")
    print(page(found))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.futhark", description=__doc__)
    parser.add_argument("programs", nargs="*", help="parts of their names, to replace what the file has; default: all")
    parser.add_argument("--suite", type=Path, help=f"where the repository is checked out; default: ${SUITE}")
    parser.add_argument("--tune", type=float, default=0.0, metavar="SECONDS", help="tune each program for so long")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds that a program may take without tuning")
    parser.add_argument("--json", type=Path, help="write here instead of benchmarks/results")
    parser.add_argument("--update", type=Path, help="replace the table in this Markdown file")
    options = parser.parse_args()
    options.suite = options.suite or Path(os.environ.get(SUITE, ""))
    if not (options.suite / "accelerate").is_dir():
        parser.error(f"futhark-benchmarks is not there: name it by --suite or ${SUITE}")
    return options


def programs_of(suite: Path, wanted: list[str]) -> Iterator[Path]:
    """Files with a test block or an entry point, those of libraries left out."""
    for file in sorted(suite.glob("**/*.fut")):
        name = str(file.relative_to(suite))
        is_wanted = not wanted or any(part in name for part in wanted)
        if is_wanted and "/lib/" not in name and HAS_ENTRY.search(file.read_text(encoding="utf-8")):
            yield file


def measured(file: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What the process of a program says: `refused`, or `compiled` and `sets`; `ended`: why it broke off."""
    words = [sys.executable, "-m", "benchmarks.futhark.program", str(file), str(options.tune)]
    limit = options.timeout + 5 * options.tune + 60 * bool(options.tune)
    try:
        ran = subprocess.run(words, capture_output=True, text=True, env=environment("cpu", 1), timeout=limit)
        text, ended = ran.stdout, None if ran.returncode == 0 else last_line(ran.stderr)
    except subprocess.TimeoutExpired as fault:
        text, ended = (fault.stdout or b"").decode(), f"not done after {limit:g} s"
    lines = [json.loads(one) for one in text.splitlines() if one.startswith("{")]
    found: dict[str, Any] = {"sets": [one["set"] for one in lines if "set" in one]}
    for one in lines:
        found |= {key: value for key, value in one.items() if key != "set"}
    return found | ({"ended": ended} if ended else {})


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


def with_table(text: str, found: dict[str, Any]) -> str:
    before, _, rest = text.partition("<!-- table -->")
    _, _, after = rest.partition("<!-- end of table -->")
    return f"{before}<!-- table -->\n{page(found)}\n<!-- end of table -->{after}"
