"""The page of `soac explain --html` in a browser: no script error, all parts there, clicks that mark lines.

Needs Playwright (`pip install -e '.[browser]'`) and Chromium, the system's or Playwright's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from soac.page.html import page_of
from tests.support.command_line import Command

ROOT = Path(__file__).parents[3]
MOST_BYTES = 1_000_000
SUMS = """-- ==
-- input { [[1f32, 2f32], [3f32, 4f32]] } output { [3f32, 7f32] }
def main [n][m] (xss: [n][m]f32): [n]f32 =
  map (\\xs -> reduce (+) 0 xs) xss
"""
EVIL = "</script><script>document.title = 'evil'</script><img src=x onerror=\"document.title = 'evil'\">"


@contextmanager
def shown(page: Path, scheme: str = "light") -> Iterator[Any]:
    """The page in a browser; no script may fail, and nothing may be fetched."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: the extra `browser`")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with playwright.sync_playwright() as running:
        try:
            browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        except playwright.Error as fault:
            pytest.skip(f"no Chromium: {str(fault).splitlines()[0]}")
        seen = browser.new_page(viewport={"width": 1500, "height": 900}, color_scheme=scheme)
        wrong: list[str] = []
        seen.on("pageerror", lambda error: wrong.append(str(error)))
        seen.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        seen.on("request", lambda request: None if request.url.startswith("file:") else wrong.append(request.url))
        seen.goto(page.as_uri())
        seen.wait_for_selector("body[data-ready=yes]", timeout=60_000)
        yield seen
        assert not wrong
        browser.close()


def parts_are_there(seen: Any) -> None:
    """Source, fused and flat; the version tree with paths; axes, accesses, work, schedules and code of a kernel."""
    assert seen.locator(".pane").count() == 3
    assert all(
        count > 3 for count in seen.evaluate("[...document.querySelectorAll('.lines')].map(l => l.children.length)")
    )
    assert seen.locator(".guard .side").count() >= 2
    assert seen.locator("#versions table tr").count() >= 2
    assert seen.locator("details.kernel").count() >= 1
    seen.locator("details.kernel", has_text="balance").first.evaluate("one => { one.open = true }")
    opened = seen.locator("details.kernel[open]", has_text="balance").first
    opened.locator("canvas").wait_for()
    assert opened.locator(".axis.space").count() >= 1
    assert opened.locator("h4").all_text_contents()[:3] == ["axes in space and time", "work, in statements", "accesses"]
    opened.locator("summary", has_text="generated code").click()
    assert "kernel" in opened.locator("pre").inner_text()
    assert seen.locator("#tuning").count() == 1
    assert seen.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def click_on(seen: Any, line: int) -> list[list[str]]:
    """The lines of the stages that a click on a line of the source marks most."""
    seen.locator(".pane").first.locator(".line").nth(line - 1).click()
    marked = "p => [...p.querySelectorAll('.line.all')].map(l => l.innerText)"
    return seen.evaluate(f"[...document.querySelectorAll('.pane')].map({marked})")[1:]


def test_a_small_page(command: Command, tmp_path: Path) -> None:
    (tmp_path / "sums.soac").write_text(SUMS)
    page = tmp_path / "sums.html"
    command("explain", tmp_path / "sums.soac", "--html", page, "--threads", "1").clean()
    with shown(page, "dark") as seen:
        parts_are_there(seen)
        fused, flat = click_on(seen, 4)
        assert any("redomap" in text or "reduce" in text for text in fused)
        assert any("segred" in text for text in flat)
        seen.locator(".pane").nth(2).locator(".line", has_text="segred").first.click()
        assert seen.locator(".pane").first.locator(".here").first.inner_text()
        assert "kernels of it" in seen.locator(".became").inner_text()


def test_what_a_program_says_is_text(tmp_path: Path) -> None:
    """Wherever a text of the program, of its data sets or of its tuning occurs."""
    kernel = {
        "name": EVIL, "entry": EVIL, "level": "block", "blocks": EVIL, "under": [EVIL], "at": [0, 1, 1, 1, 9],
        "axes": [{"name": EVIL, "where": "space", "unit": EVIL, "extent": EVIL, "depth": 0}], "bindings": [EVIL],
        "accesses": [{"array": EVIL, "index": EVIL, "space": "global", "writes": False}], "traced": None,
        "schedules": [], "threads": 2, "warp": 2, "code": {EVIL: EVIL},
    }  # fmt: skip
    one = {"label": EVIL, "args": [EVIL], "decisions": {}, "taken": {}, "times": {EVIL: 1.0}, "why": EVIL}
    run = {"phase": EVIL, "data": EVIL, "version": EVIL, "status": EVIL, "seconds": None}
    entry = {
        "name": EVIL, "signature": EVIL, "steps": [{"kind": "interpret", "why": EVIL, "under": [EVIL], "at": None}],
        "data": [one], "chart": None, "tuning": {"runs": [run], "more": 0, "chart": None},
    }  # fmt: skip
    report = {
        "program": EVIL, "device": EVIL, "machine": EVIL, "soac": "0", "threads": 2, "warp": 2, "notes": [EVIL],
        "sources": [{"file": EVIL, "lines": [EVIL]}], "stages": [{"name": EVIL, "lines": [[EVIL, [[0, 1, 1, 1, 9]]]]}],
        "entries": [entry], "kernels": [kernel],
    }  # fmt: skip
    page = tmp_path / "evil.html"
    page.write_text(page_of(report))
    assert page.read_text().count("<script") == 2
    with shown(page) as seen:
        assert seen.title() == f"{EVIL}: soac explain"
        assert seen.locator("main img, main script").count() == 0
        assert EVIL in seen.locator("details.kernel").first.inner_text()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(("program", "line"), [("matmul", 30), ("spmv", 28), ("locvolcalib", 60)])
def test_the_pages_of_programs(command: Command, tmp_path: Path, program: str, line: int, device: str) -> None:
    page = tmp_path / f"{program}.html"
    path = ROOT / "programs" / f"{program}.soac"
    command("explain", path, "-e", "main", "--device", device, "--html", page, "--seconds", "20").clean()
    assert page.stat().st_size < MOST_BYTES
    with shown(page) as seen:
        parts_are_there(seen)
        assert all(click_on(seen, line))
