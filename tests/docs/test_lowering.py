"""The tables of schedules in `docs/lowering.md` have the rows of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from soac.ir.machine import CPU, CUDA, Machine
from soac.kernels.lower import schedules_of
from tests.kernels.schedule.test_table import paths_of

TEXT = (Path(__file__).parents[2] / "docs" / "lowering.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("machine", (CPU, CUDA), ids=lambda machine: machine.name)
def test_the_table_lists_the_rows_in_order(machine: Machine) -> None:
    (section,) = re.findall(rf"^\| {machine.name}: segop \|.*\n\|---\|---\|---\|\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    listed = re.findall(r"^\| (\w*) \| ([^|]+) \| [^|]+ \|$", section, re.MULTILINE)
    tables = schedules_of(machine).tables
    rows = [(kind.__name__.lower(), path) for kind, table in tables.items() for path in paths_of(table)]
    assert listed == rows
