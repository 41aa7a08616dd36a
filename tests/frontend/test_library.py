"""A program gets the part of the library that it reaches, and is what it is behind all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from soac.frontend import library
from soac.frontend.compile import _compiled, compile_text, own_modules
from soac.frontend.parsing.desugar_unzipped import plain_calls
from soac.frontend.source.declarations import ValDec
from soac.frontend.source.text import Reach
from soac.ir.errors import CompileError
from soac.ir.show import show

PROGRAMS = sorted((Path(__file__).parents[2] / "programs").glob("*.soac"))[::4]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_core_is_the_same(path: Path) -> None:
    own, asked = plain_calls(own_modules(path.read_text(), str(path), Reach.PROJECT))
    names = library.reached([*(module.text for module in own), *asked])
    assert names < library.declarations().keys()
    found, again = (_compiled(own, Reach.PROJECT, known) for known in (library.part(names), library.known_prelude()))
    assert show(found.prog) == show(again.prog)
    assert (found.warnings, found.interface, found.texts) == (again.warnings, again.interface, again.texts)


def test_every_declaration_is_found() -> None:
    decs = library.known_prelude().module.decs
    names = [name.strip("()") for name in library.declarations()]
    assert names == [getattr(dec, "name") for dec in decs]  # noqa: B009
    for dec, (start, end) in zip(decs, library.declarations().values(), strict=True):
        lines = range(library.prelude_text().count("\n", 0, start) + 1, library.prelude_text().count("\n", 0, end) + 1)
        assert dec.loc.line in lines


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def main (x: i32): i32 = x", set[str]()),
        ("def main (xs: []i32) = xs ++ map (+ 1) xs", {"(++)", "map"}),
        ("def main (xs: []i32) = and xs", {"and", "reduce"}),
        ("def main n = jmp2 n", {"jmp2", "jmp", "jvp", "jvp2", "map"}),
        ("module m (r: real) = {}", {"real", "numeric", "from_prim"}),
    ],
)
def test_what_a_text_reaches(text: str, names: set[str]) -> None:
    found = library.reached([text])
    assert found >= names
    assert not found & {"flatmap", "partition2", "float", "map2", "(|>)"}


def test_combinators_that_are_not_written_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them the library would be inferred a second time, all of it."""
    monkeypatch.setattr(library, "_held", library._Held())
    compile_text("def main (xs: []i32) (ys: []i32) = let (a, b) = map (\\x y -> (x, y)) xs ys in (b, a)", "p.soac")
    assert library._held.whole is None
    assert {"map2", "unzip2"} <= library._held.names
    assert not library._held.names & {"map3", "unzip3"}


def test_programs_share_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that reaches no more than those before gets their part; the parts of a process are few."""
    monkeypatch.setattr(library, "_held", library._Held())
    monkeypatch.setattr(library, "MOST_PARTS", 3)
    first = library.library_for(["def main (xs: []i32) = and xs"])
    assert library.library_for(["def main (xs: []bool) = reduce (&&) true xs"]) is first
    second = library.library_for(["def main (xs: []i32) = head xs"])
    assert {dec.name for dec in second.module.decs if isinstance(dec, ValDec)} >= {"and", "head"}
    assert library.library_for(["def main (xs: []i32) = last xs"]) is not second
    assert library.library_for(["def main (xs: []i32) = tail xs"]) is library.known_prelude()
    assert library.library_for(["def main (xs: []i32) = and xs"]) is library.known_prelude()


def test_ids_of_programs_follow() -> None:
    assert library.known_prelude().module.next_id < library.FIRST_ID


def test_a_file_that_is_imported_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(library, "_held", library._Held())
    (tmp_path / "other.soac").write_text("def first (xs: []i32) = head xs")
    compile_text('import "other" def main (xs: []i32) = first xs', str(tmp_path / "root.soac"))
    assert library._held.whole is None
    assert "head" in library._held.names


def test_hints_name_what_is_not_reached() -> None:
    """A misspelt name is explained by all of the library, also in a process that has inferred a part."""
    code = (
        "from soac.frontend.compile import compile_text\n"
        "compile_text('def main [n] (xs: [n]i32): i32 = reduce (+) 0 xs', 't.soac')\n"
        "try: compile_text('def main [n] (xs: [n]i32) = partitoin2 xs', 't.soac')\n"
        "except Exception as error: print(error.diagnostics)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    with pytest.raises(CompileError) as raised:
        compile_text("def main [n] (xs: [n]i32) = partitoin2 xs", "t.soac")
    assert "`partition2`" in done.stdout
    assert done.stdout.strip() == str(raised.value.diagnostics)
