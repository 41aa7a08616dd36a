"""`docs/errors.md`: every code of the source has its place there, and every example gives its code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from soac.frontend.compile import compile_text
from soac.ir.errors import CompileError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
PACKAGES = ("ir", "frontend", "flatten", "kernels", "autotune", "soac")
EXAMPLES = re.findall(r"^### (E\d{4}) [^\n]*\n\n[^#]*?```soac\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)


def codes_of_the_source() -> set[str]:
    texts = (path.read_text(encoding="utf-8") for package in PACKAGES for path in (ROOT / package).glob("*.py"))
    return {code for text in texts for code in re.findall(r'"([EWRDTCS]\d{4})"', text)}


def codes_of_the_page() -> set[str]:
    """Codes that the page names, those inside ranges such as `D0101 – D0103` too."""
    found = set(re.findall(r"\b[EWRDTCS]\d{4}\b", PAGE))
    for letter, first, last in re.findall(r"\b([EWRDTCS])(\d{4}) – [EWRDTCS](\d{4})", PAGE):
        found |= {f"{letter}{number:04}" for number in range(int(first), int(last) + 1)}
    return found


def test_every_code_is_explained() -> None:
    assert codes_of_the_source() <= codes_of_the_page()


@pytest.mark.parametrize(("code", "text"), EXAMPLES, ids=[code for code, _ in EXAMPLES])
def test_examples_give_their_code(code: str, text: str) -> None:
    with pytest.raises(CompileError) as error:
        compile_text(text, "example.soac")
    assert code in {d.code for d in error.value.diagnostics}
