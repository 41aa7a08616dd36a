"""After a change of the sources the emulator's check runs again what is compiled to something else."""

from __future__ import annotations

from dataclasses import replace

from soac.kernels.schedule.cuda import segred
from tests.support.emulator.checks import check
from tests.support.emulator.subjects import ROOT, compiled_with, of_file

DOTPROD = ROOT / "programs" / "dotprod.soac"


def test_what_is_compiled_to_the_same_is_not_run_again() -> None:
    subject = of_file(DOTPROD)
    first = check(subject)
    assert first.made_of
    assert not first.faults
    assert check(of_file(DOTPROD), earlier=first) is first
    assert check(replace(subject, calls=subject.calls[1:]), earlier=first) is not first
    with compiled_with(((segred, "LEAST_CHUNK", 2 * segred.LEAST_CHUNK),)):
        assert check(replace(subject, compiled=subject.compile()), earlier=first) is not first


def test_faults_are_looked_for_again() -> None:
    subject = of_file(DOTPROD)
    first = check(subject)
    first.faults.append("a wrong value")
    assert not check(subject, earlier=first).faults


def test_kernels_that_another_program_has_reached_must_still_be() -> None:
    subject = of_file(DOTPROD)
    forms = check(subject).forms
    later = check(subject, forms)
    assert later.others == forms
    assert check(subject, forms, later) is later
    assert check(subject, forms[1:], later) is not later
