"""Kernels by hand that are verified, and those that are not: what is set, and what is tuned."""

from __future__ import annotations

from pathlib import Path

import pytest

import soac
from soac.autotune.tuning import INFINITY
from soac.by_hand import note, noted, tunable, verified, with_kernels
from soac.frontend.source.text import Reach
from soac.ir.version_tree import Branch, Site
from soac.session import planned
from soac.settings import Settings
from soac.testing import by_hand, run
from soac.testing.outcomes import Status
from tests.support.by_hand import text_of
from tests.support.command_line import caller

SETTINGS = Settings("cpu", 1, None, use_tuning=True, params=(), forces=(), reach=Reach.PROJECT)
GUARD = "main.smooth.by_hand_smooth_halo_0"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "stencil.soac"
    path.write_text(text_of("stencil"), encoding="utf-8")
    return path


def chosen(path: Path) -> dict[str, int]:
    return dict(planned(path, SETTINGS).thresholds)


def test_only_what_is_verified_is_taken(program: Path) -> None:
    prog = soac.load(program)
    xs = [float(i) for i in range(1000)]
    assert prog.trace("main", [xs])[1] == ((GUARD, 1000, False),)
    program.with_name("stencil.soac.tuning").write_text(f"{GUARD}=0\n")
    assert chosen(program) == {}
    note(program, "smooth_halo", prog.facts.by_hand["smooth_halo"])
    assert chosen(program) == {GUARD: 0}
    assert soac.load(program, tuning=True).trace("main", [xs])[1] == ((GUARD, 1000, True),)
    assert soac.load(program).trace("main", [xs])[1] == ((GUARD, 1000, False),)
    text = program.read_text(encoding="utf-8")
    program.write_text(text.replace("t + 31", "t + 30"), encoding="utf-8")
    assert chosen(program) == {}
    program.write_text(text + "\n-- said behind it\ndef other = 1i32\n", encoding="utf-8")
    assert chosen(program) == {GUARD: 0}


def test_the_default_is_that_of_the_device() -> None:
    """On a CPU tuning alone takes kernels by hand."""
    known = frozenset({"smooth_halo"})
    assert with_kernels({}, [GUARD], known, "cuda", None) == {GUARD: 1 << 15}
    assert with_kernels({}, [GUARD], known, "cpu", None) == {GUARD: INFINITY}
    assert with_kernels({GUARD: 7}, [GUARD], known, "cpu", None) == {GUARD: 7}
    assert with_kernels({GUARD: 7, "main.tasks": 2}, [GUARD], frozenset(), "cuda", None) == {"main.tasks": 2}


def test_notes_are_kept_by_name(program: Path) -> None:
    note(program, "a", "1")
    note(program, "b", "2")
    note(program, "a", None)
    assert noted(program) == {"b": "2"}
    assert verified(program, {"a": "1", "b": "2", "c": "3"}) == {"b"}


def test_unverified_versions_are_not_tuned() -> None:
    inner = Branch(("main.ys.suff_outer_0",), (), ())
    site = Site("main", Branch(("main.ys.by_hand_k_0",), (), (inner,)))
    assert tunable((site,), frozenset()) == (Site("main", inner),)
    assert tunable((site,), frozenset({"k"})) == (site,)


def test_tests_verify(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`soac test` notes what agrees, and forgets what does not; a message says where the kernel is."""
    monkeypatch.setattr(by_hand, "SECONDS", 1.0)
    outcomes = list(run.test_program(program, SETTINGS, False))
    assert [one.status for one in outcomes] == [Status.PASSED] * 3
    assert "smooth_halo" in noted(program)
    assert "(verified)" in caller(monkeypatch)("explain", program).out
    program.write_text(program.read_text(encoding="utf-8").replace("t + 31", "t + 30"), encoding="utf-8")
    (wrong,) = (one for one in run.test_program(program, SETTINGS, False) if one.name == "kernel smooth_halo")
    assert f"{program}:7:1: for n = " in (wrong.fault or "")
    assert noted(program) == {}
    assert "(not verified)" in caller(monkeypatch)("explain", program).out
