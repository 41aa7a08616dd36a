"""The pictures of `docs/flattening-explained.md`: parts of the page that `soac explain --html` makes of its program.

    python scripts/pictures.py

Needs Playwright (`pip install -e '.[browser]'`) and Chromium, the system's or Playwright's own.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Locator, Page, sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
DATA = "-- ==\n-- random input { [2][6000]f32 }\n-- random input { [600][20]f32 }\n"
MARGIN = 12


def page_of(folder: Path) -> Path:
    """The page for a GPU, which need not be there."""
    text = (ROOT / "docs" / "flattening-explained.md").read_text(encoding="utf-8")
    program = text.partition('```soac title="sums.soac"\n')[2].partition("```")[0]
    (folder / "sums.soac").write_text(DATA + program, encoding="utf-8")
    command = [sys.executable, "-m", "soac", "explain", folder / "sums.soac", "--device", "cuda"]
    subprocess.run([*command, "--html", folder / "sums.html"], cwd=ROOT, check=True)
    return folder / "sums.html"


def stages(seen: Page) -> None:
    """What became of the sum of a row."""
    seen.locator(".pane").first.locator(".line", has_text="f32.sum").locator("span", has_text="f32.sum").click()
    seen.mouse.move(0, 0)
    keep(seen, "stages", seen.locator("#program .panes"))


def threads(seen: Page) -> None:
    """Two long rows, by a thread each and by many."""
    for name, k in (("row_a_thread", 0), ("threads_a_row", 2)):
        kernel = seen.locator("details.kernel").nth(k)
        kernel.evaluate("one => { one.open = true }")
        keep(seen, name, kernel.locator(".card", has_text="work, in statements").last)


def keep(seen: Page, name: str, part: Locator) -> None:
    part.scroll_into_view_if_needed()
    box = part.bounding_box()
    assert box
    x, y = max(0, box["x"] - MARGIN), max(0, box["y"] - MARGIN)
    clip = {"x": x, "y": y, "width": box["width"] + 2 * MARGIN, "height": box["height"] + 2 * MARGIN}
    seen.screenshot(path=PICTURES / f"explained_{name}.png", clip=clip)  # pyright: ignore[reportArgumentType]


def main() -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        page = page_of(Path(folder))
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        seen = browser.new_page(viewport={"width": 1100, "height": 2400})
        seen.goto(page.as_uri())
        seen.wait_for_selector("body[data-ready=yes]")
        stages(seen)
        threads(seen)
        browser.close()


if __name__ == "__main__":
    main()
