"""The map of packages in the developer's guide is that of the code, and the places it names are there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.test_layers import LAYERS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "developing.md").read_text(encoding="utf-8")


def test_the_map_lists_every_package_in_order() -> None:
    listed = re.findall(r"^\| `(?!tests/)([\w/]+)/` \|", TEXT, re.MULTILINE)
    assert listed == [package.replace(".", "/") for row in LAYERS for package in row]


def test_the_files_it_names_are_there() -> None:
    named = re.findall(r"`((?:ir|frontend|flatten|kernels|autotune|soac|tests|scripts)/[\w/.]+\.\w+)`", TEXT)
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_functions_it_names_are_there() -> None:
    named = re.findall(r"`(\w+)`(?:, `\w+`)*(?: in | \()`([\w/.]+/[\w.]+\.(?:py|ll))`", TEXT)
    assert len(named) > 15
    for name, file in named:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"(?:^(?:def |class )?|@){name}\b", text, re.MULTILINE), name
