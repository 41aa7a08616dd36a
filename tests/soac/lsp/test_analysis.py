"""What editors ask of a program, without a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from soac.lsp.analysis import Analysis, analyse, definition_at, hints_of, hover_at
from soac.lsp.complete import complete
from soac.lsp.folder import Folder, folder_at
from soac.lsp.rename import CannotRename, applied, rename
from tests.support.by_hand import text_of

FILE = Path("main.soac").resolve()
TEXT = """-- Twice every element.
def doubled [n] (xs: [n]i32) = map (* 2) xs

entry main [n] (ys: [n]i32): i32 =
  let zs = doubled ys
  in i32.sum zs
"""


def analysed(text: str) -> Analysis:
    diagnostics, analysis = analyse(text, "main.soac")
    assert analysis is not None
    assert diagnostics == []
    return analysis


def test_answers() -> None:
    analysis = analysed(TEXT)
    hover = hover_at(analysis, 5, 14)
    assert hover is not None
    assert "[n]i32" in str(hover)
    assert "Twice every element." in str(hover)
    place = definition_at(analysis, 5, 14)
    assert place is not None
    assert (place.line, place.col) == (2, 5)
    assert any("[n]i32" in str(hint) for hint in hints_of(analysis))
    names = {name.text for name in complete(analysis, "  let zs = dou", 5)}
    assert {"doubled", "reduce", "i32", "f64"} <= names
    assert {"sqrt", "maximum", "t"} <= {name.text for name in complete(analysis, "  let zs = f32.", 5)}


def test_renaming_keeps_the_meaning() -> None:
    folder = Folder({FILE: TEXT})
    assert applied(folder.texts, rename(folder, FILE, 5, 8, "twice")) == {FILE: TEXT.replace("zs", "twice")}
    assert applied(folder.texts, rename(folder, FILE, 2, 6, "twice")) == {FILE: TEXT.replace("doubled", "twice")}


def test_renaming_in_a_kernel_by_hand() -> None:
    """What the parser has put in, to type the kernel and for its words, is not renamed."""
    text = text_of("stencil")
    line = next(number for number, text in enumerate(text.splitlines(), 1) if "def smooth_halo" in text)
    head, tail = text.split("#[")
    folder = Folder({FILE: text})
    kernel, rest = tail.split("entry")
    renamed = applied(folder.texts, rename(folder, FILE, line, len("def smooth_halo [n] (x"), "zs"))
    assert renamed == {FILE: f"{head}#[{kernel.replace('xs', 'zs')}entry{rest}"}


def test_renaming_what_a_kernel_implements() -> None:
    """From its definition, and from the attribute."""
    text = text_of("stencil")
    lines = text.splitlines()
    folder = Folder({FILE: text})
    for number, line in enumerate(lines, 1):
        if "def smooth [" in line or "implements(smooth)" in line:
            renamed = applied(folder.texts, rename(folder, FILE, number, line.index("smooth") + 1, "soft"))
            assert renamed == {FILE: text.replace("smooth_halo", "?").replace("smooth ", "soft ").replace(
                "(smooth)", "(soft)").replace("?", "smooth_halo").replace("warp soft", "warp smooth")}  # fmt: skip


@pytest.mark.parametrize(("text", "codes"), [("def f = (", "E01"), ("def f (x: i32) = x + true", "E02")])
def test_errors_are_diagnostics(text: str, codes: str) -> None:
    diagnostics, _ = analyse(text, "main.soac")
    assert diagnostics[0].code.startswith(codes)


def test_renaming_in_all_files(tmp_path: Path) -> None:
    """From a file that is imported, and from one that imports it; other things of that name stay."""
    library, one, two, other = (tmp_path / name for name in ("lib/vec.soac", "one.soac", "two.soac", "other.soac"))
    texts = {
        library: "type vec = [3]f32\ndef dot (a: vec) (b: vec) = f32.sum (map2 (*) a b)\n",
        one: 'import "lib/vec"\nentry main (a: vec) = dot a a\n',
        two: 'module v = import "lib/vec"\nentry two (a: v.vec) = let dot = v.dot a a in dot\n',
        other: "def dot (x: i32) = x\nentry main = dot 1\n",
    }
    (tmp_path / "lib").mkdir()
    for file, text in texts.items():
        file.write_text("" if file == library else text)  # the editor has another text of the library than the disk
    folder = folder_at([tmp_path], {library: texts[library]})

    for file, col in ((library, 5), (one, texts[one].index("dot") - 16), (two, texts[two].index("v.dot") - 25)):
        after = {**texts, **applied(texts, rename(folder, file, 2, col, "inner"))}
        assert after[library] == texts[library].replace("dot", "inner")
        assert after[one] == texts[one].replace("dot", "inner")
        assert after[two] == texts[two].replace("v.dot", "v.inner")
        assert after[other] == texts[other]
    changed = applied(texts, rename(folder, library, 1, 6, "point"))
    assert [changed[file].count("point") for file in (library, one, two)] == [3, 1, 1]
    with pytest.raises(CannotRename, match="taken"):
        rename(folder, library, 2, 5, "a")
    with pytest.raises(CannotRename, match=r"`two.soac` is wrong"):
        rename(Folder({**folder.texts, two: 'import "lib/vec"\nentry ='}), library, 2, 5, "inner")
