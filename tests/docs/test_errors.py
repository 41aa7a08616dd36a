"""`docs/errors.md`: every code of the source has a page there with a remedy, and every example gives its code."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from soac.error_pages import FILE, address, pages
from soac.frontend.compile import compile_text
from soac.ir.errors import CompileError

ROOT = Path(__file__).parents[2]
PACKAGES = ("ir", "frontend", "flatten", "kernels", "autotune", "soac")
EXAMPLES = {
    code: found[1] for code, page in pages().items() if (found := re.search("```soac\n(.*?)```", page.text, re.DOTALL))
}


def codes_of_the_source() -> set[str]:
    texts = (path.read_text(encoding="utf-8") for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {code for text in texts for code in re.findall(r'"([EWRDTCS]\d{4})"', text)}


def test_every_code_has_its_page() -> None:
    assert codes_of_the_source() == set(pages())
    assert re.findall(r"^### (\w+)", FILE.read_text(encoding="utf-8"), re.MULTILINE) == list(pages())


def test_every_page_has_cause_and_remedy() -> None:
    for code, page in pages().items():
        cause, remedy, _ = page.text.partition("\n\nRemedy: ")
        assert len(cause) > 20 and remedy, code  # noqa: PT018


@pytest.mark.parametrize("code", EXAMPLES)
def test_examples_give_their_code(code: str) -> None:
    with pytest.raises(CompileError) as error:
        compile_text(EXAMPLES[code], "example.soac")
    assert code in {d.code for d in error.value.diagnostics}


def test_addresses_are_those_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    assert address("E0201").startswith("file:///")
    monkeypatch.setenv("SOAC_DOCS", "https://example.org/soac/")
    assert address("E0201") == "https://example.org/soac/errors/#e0201-unknown-name"
    if importlib.util.find_spec("markdown") is None:
        pytest.skip("the site's generator is not here: pip install 'soac[docs]'")
    from markdown import markdown

    headings = set(re.findall(r'<h3 id="([^"]+)"', markdown(FILE.read_text(encoding="utf-8"), extensions=["toc"])))
    assert headings == {page.anchor for page in pages().values()}
