"""The documentation site and a notebook in a browser without a window, as their readers use them."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PROGRAM = "-- | Twice each element.\nentry doubled [n] (xs: [n]i32): [n]i32 = map (2 *) xs"
CELLS = ["%load_ext soac", f"%%soac prog\n{PROGRAM}", "doubled([1, 2, 3])", "prog", "doubled([1.5])", "prog.dou"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install 'soac[browser]'")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is on this machine")
    with sync.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """An empty page; what fails in it, or asks for more than this machine has, fails the test."""
    made = browser.new_page(viewport={"width": 1280, "height": 900})
    made.set_default_timeout(120_000)
    faults: list[str] = []

    def refuse(route: Any) -> None:
        faults.append(f"asks for {route.request.url}")
        route.abort()

    made.route(re.compile(r"^https?://(?!127\.0\.0\.1)"), refuse)
    made.on("pageerror", lambda error: faults.append(str(error)))
    yield made
    made.close()
    assert faults == []


# ---- the site ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("material", reason="no MkDocs Material: pip install 'soac[docs]'")
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_a_reader_finds_the_way(page: Any, site: str) -> None:
    page.goto(site)
    page.get_by_role("link", name="tutorial", exact=True).first.click()
    page.wait_for_url("**/tutorial/")
    assert page.locator("h1").inner_text().startswith("Tutorial")
    assert page.locator("code", has_text="soac run double.soac").count() > 0

    page.locator("input[name=query]").click()
    page.keyboard.type("histogram")
    page.locator(".md-search-result__item a").first.click()
    page.wait_for_url(re.compile(r"/(?!tutorial)[\w-]+/"))
    assert "histogram" in page.locator("article").inner_text()


def test_a_message_leads_to_its_place(page: Any, site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from soac.error_pages import address

    monkeypatch.setenv("SOAC_DOCS", site)
    page.goto(address("E0221"))
    heading = page.locator("h3", has_text="E0221").element_handle()
    page.wait_for_function("one => Math.abs(one.getBoundingClientRect().top) < 300", arg=heading)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_whole(page: Any, site: str, scheme: str) -> None:
    """Pictures are there, and nothing but code and tables, which scroll, is wider than a phone."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(site)
    addresses = page.eval_on_selector_all(".md-nav--primary a.md-nav__link", "all => all.map(one => one.href)")
    pages = sorted({address.partition("#")[0] for address in addresses})
    assert len(pages) > 20
    for address in pages:
        page.goto(address)
        images = page.eval_on_selector_all("article img", "all => all.map(one => [one.src, one.naturalWidth])")
        assert all(width > 0 for _, width in images), images
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, address
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", colour)[:3])) > 380) == (scheme == "light")


# ---- a notebook -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a notebook with the cells, served by JupyterLab."""
    pytest.importorskip("jupyterlab", reason="no JupyterLab: pip install 'soac[browser]'")
    folder = tmp_path_factory.mktemp("notebook")
    cells = [{"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "id": f"c{k}",
              "source": text} for k, text in enumerate(CELLS)]  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    book = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "book.ipynb").write_text(json.dumps(book), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--IdentityProvider.token="]
    places = {name: str(folder / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *words, f"--ServerApp.root_dir={folder}"],
        env={**os.environ, **places, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(f"http://127.0.0.1:{port}/api/status")
        yield f"http://127.0.0.1:{port}/doc/tree/book.ipynb"
    finally:
        server.terminate()
        server.wait(30)


def wait_for(address: str) -> None:
    for _ in range(240):
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
        else:
            return
    raise AssertionError(f"no answer from {address}")


def test_cells_are_programs(page: Any, notebook: str) -> None:
    page.goto(notebook)
    cells = page.locator(".jp-Notebook .jp-CodeCell")

    def execute(number: int) -> str:
        """What a cell shows; the first one is tried until the kernel listens."""
        cell = cells.nth(number)
        for _ in range(20):
            cell.locator(".cm-content").click()
            page.keyboard.press("Shift+Enter")
            page.wait_for_timeout(3000 if number == 0 else 200)
            if cell.locator(".jp-InputPrompt").inner_text() != "[ ]:":
                break
        page.wait_for_function(
            "at => /[0-9]/.test(document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')[at].innerText)", arg=number
        )
        return "\n".join(cell.locator(".jp-OutputArea-output").all_inner_texts())

    shown = [execute(number) for number in range(len(CELLS) - 1)]
    assert "array([2, 4, 6], dtype=int32)" in shown[2]
    assert "cell-1.soac on cpu" in shown[3]
    assert "doubled(xs: [n]i32) -> [n]i32" in shown[3]
    assert all(part in shown[4] for part in ("D0104", "soac errors D0104")), shown[4]

    cells.nth(5).locator(".cm-content").click()
    page.keyboard.press("End")
    for _ in range(30):  # JupyterLab drops a completion that takes the kernel more than a second, as the first one may
        page.keyboard.press("Tab")
        page.wait_for_timeout(2000)
        if "prog.doubled" in cells.nth(5).inner_text():
            return
    raise AssertionError("Tab completes nothing")
