"""The tutorial and its neighbours are true: their files are written, their commands run, and they print what is shown.

A fenced block with a title is a file; a `console` block has commands after `$`, and what they print on both streams, in
which `...` stands for any text, or as a line for any lines. The site is built with every link checked.
"""

from __future__ import annotations

import importlib.util
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "```console" in page.read_text(encoding="utf-8")]
PROGRAMS = [page for page in sorted(DOCS.rglob("*.md")) if '```soac title="' in page.read_text(encoding="utf-8")]


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with what it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def pattern(shown: str) -> str:
    lines = [
        ".*\n" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in shown.splitlines()
    ]
    return "".join(lines).replace(".*\n", "(?s:.*)")


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which `soac` and `python` are those of this process."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, words in (("soac", f"{sys.executable} -m soac"), ("python", sys.executable)):
        (folder / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (folder / name).chmod(stat.S_IRWXU)
    paths = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    return {**os.environ, **paths, "COLUMNS": "120", "XDG_DATA_HOME": str(tmp_path)}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page: Path, tmp_path: Path, shell: dict[str, str]) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for kind, title, text in FENCE.findall(page.read_text(encoding="utf-8")):
        if title:
            (folder / title).parent.mkdir(exist_ok=True)
            (folder / title).write_text(text, encoding="utf-8")
        for command, shown in commands(text) if kind == "console" else ():
            words = ["bash", "-c", command]
            run = subprocess.run(
                words, cwd=folder, env=shell, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
            )
            assert re.fullmatch(pattern(shown), run.stdout), f"$ {command}\n{run.stdout}"


@pytest.mark.slow
@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.stem)
def test_programs_are_formatted(page: Path, tmp_path: Path, shell: dict[str, str]) -> None:
    for kind, title, text in FENCE.findall(page.read_text(encoding="utf-8")):
        if kind == "soac" and title:
            (tmp_path / title).write_text(text, encoding="utf-8")
    run = subprocess.run(["soac", "fmt", "--check", tmp_path], env=shell, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "")


def test_pages_are_in_the_navigation() -> None:
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert listed == {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}


@pytest.mark.slow
def test_the_site_is_built_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    if importlib.util.find_spec("material") is None:
        pytest.skip("mkdocs-material is not here: pip install 'soac[docs]'")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path / "site")]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "site" / "tutorial" / "index.html").is_file()
