"""The conformance corpus: small programs, one for each feature, with what they must give.

    FEATURE/*.fut        programs with `-- ==` blocks; a case may ask for values or for a failure
    rejected/*/*.fut     programs that must not compile: `-- error: REGEX`
    *.err                beside a program: the whole texts of its messages

A program is compiled once. Every case is run by the interpreter on the program as the front end left it, by the
interpreter on the flat program, and by the device; the last two on every version, or, where there are more than `MOST`
combinations, on as many as take each side of each guard ($SOAC_CONFORMANCE=all: on all). All of them must give
the values that the program states, which were found without this compiler, and must fail alike.

The `.err` texts are written by `pytest --update`; what changes is then read by a person.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from soac.api import Program, compile
from soac.arguments import Argument
from soac.data.read_write import compare_values
from soac.frontend.source.diagnostics import render
from soac.ir.errors import CompileError, RunError
from soac.ir.interpret import Prepared, Thresholds, prepare
from soac.ir.version_tree import Sides
from soac.testing.blocks import AutoOutput, Fails, Output, parse_tests
from soac.testing.datasets import DataSet, arguments_of, data_sets, values_of
from soac.versions import runs_of
from tests.conformance.known import KNOWN

AT_NIGHT = 0.3
"""Seconds from which on a program is left to `scripts/nightly`."""
pytestmark = pytest.mark.whole(below=AT_NIGHT)

HERE = Path(__file__).parent


def _programs(rejected: bool) -> list[object]:
    """The programs of the corpus, those with a known fault marked as such."""
    paths = sorted(p for p in HERE.rglob("*.fut") if ("rejected" in p.relative_to(HERE).parts) == rejected)
    return [_program(path) for path in paths if path.parent.name != "library"]


def _program(path: Path) -> object:
    name = str(path.relative_to(HERE).with_suffix(""))
    marks = [pytest.mark.xfail(reason=KNOWN[name], strict=True)] if name in KNOWN else []
    return pytest.param(path, id=name, marks=marks)


# ---- programs that are accepted -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subject:
    """A program in the three forms that must agree."""

    path: Path
    device: Program
    core: Prepared
    flat: Prepared


CORE = "core"
MOST = 16
Run = Callable[[], Sequence[Argument]]


@pytest.mark.parametrize("path", _programs(rejected=False))
def test_accepted(path: Path, monkeypatch: pytest.MonkeyPatch, update: bool) -> None:
    monkeypatch.chdir(path.parent)
    text = path.read_text(encoding="utf-8")
    program = compile(text, path.name)
    subject = Subject(path, program, prepare(program.compiled.core), prepare(program.compiled.flat))
    sets = list(data_sets(parse_tests(text, str(path))))
    assert sets, "the program has no case"
    faults, messages = [], []
    for one in sets:
        found, message = _checked(subject, one)
        faults += [f"{one.entry} {one.label} {fault}" for fault in found]
        messages += [f"{one.entry} {one.label}: {message}\n"] if message else []
    assert not faults, "\n".join(faults)
    _compare_with_golden(path, "".join(messages), update)


def _checked(subject: Subject, one: DataSet) -> tuple[Sequence[str], str]:
    """What is wrong with a case on any version; the text of its failure, if it fails."""
    fun = subject.device.function(one.entry)
    try:
        args = arguments_of(one, fun, subject.path)
    except RunError as refused:
        fault = _fault(subject, one, str(refused), str(refused))
        return ([] if fault is None else [f"at the entry: {fault}"], str(refused))
    faults, failures = [], []
    reference: Sequence[Argument] | str = ""
    for name, run in _runs(subject, one, args):
        outcome = _outcome(run)
        if isinstance(outcome, str):
            failures.append(outcome)
        reference = outcome if name == CORE else reference
        fault = _fault(subject, one, outcome, reference)
        if fault is not None:
            faults.append(f"on {name}: {fault}")
    core, *others = failures or [""]
    if len(set(others)) > 1 or any(_code_of(other) != _code_of(core) for other in others):
        faults.append(f"fails in several ways: {sorted(set(failures))}")
    return faults, others[-1] if others else ""


def _code_of(failure: str) -> str:
    """Code and line: what passes rewrite may look at an array in another way, but fails in the same place."""
    found = re.search(r":(\d+):\d+: error\[(\w+)\]", failure)
    assert found is not None
    return f"{found[2]} in line {found[1]}"


def _runs(subject: Subject, one: DataSet, args: Sequence[Argument]) -> Iterator[tuple[str, Run]]:
    """Every way to run a case: by name, something that gives the results."""
    yield CORE, lambda: subject.core.run(one.entry, args, Thresholds())[0]
    for forced in _sides(runs_of(subject.device.compiled.flat, one.entry)):
        version = " ".join(f"{guard}={side}" for guard, side in forced.items())
        yield f"flat {version}", lambda sides=forced: subject.flat.run(one.entry, args, Thresholds(forced=sides))[0]
        yield f"device {version}", lambda sides=forced: subject.device.call(one.entry, args, forced=sides)
    yield "device", lambda: subject.device.call(one.entry, args)


def _sides(runs: Sequence[Sides]) -> Iterator[Sides]:
    """All of few runs, else those that take a side of a guard that none before has taken."""
    left = {side for run in runs for side in run.items()}
    few = len(runs) <= MOST or os.environ.get("SOAC_CONFORMANCE") == "all"
    for run in runs:
        if few or not left.isdisjoint(run.items()):
            yield run
        left.difference_update(run.items())


def _outcome(run: Run) -> Sequence[Argument] | str:
    """The results, or the text of the failure."""
    try:
        with np.errstate(all="ignore"):
            return run()
    except RunError as failure:
        return str(failure)


def _fault(
    subject: Subject, one: DataSet, outcome: Sequence[Argument] | str, reference: Sequence[Argument] | str
) -> str | None:
    """What is wrong with an outcome, if anything; `reference` is that of the interpreter on core."""
    match one.case.expected:
        case Fails(pattern):
            if not isinstance(outcome, str):
                return "runs, but should fail"
            found = re.search(pattern.regex, outcome, re.DOTALL)
            return None if found else f"no match for `{pattern.regex}`: {outcome}"
        case Output(values, _):
            if isinstance(outcome, str):
                return outcome
            fun = subject.device.function(one.entry)
            assert fun.entry is not None
            types = [fun.results[k].type for result in fun.entry.results for k in result.components]
            expected = values_of(values, types, subject.path, one.entry)
            return _difference(outcome, expected)
        case AutoOutput():
            if isinstance(outcome, str) or isinstance(reference, str):
                return str(outcome)
            return _difference(outcome, reference)
        case other:
            return f"the case states no result ({type(other).__name__})"


def _difference(got: Sequence[Argument], expected: Sequence[Argument]) -> str | None:
    if len(got) != len(expected):
        return f"{len(got)} results instead of {len(expected)}"
    differences = map(compare_values, got, expected)
    return next((f"result {k}: {text}" for k, text in enumerate(differences) if text), None)


# ---- programs that are not ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", _programs(rejected=True))
def test_rejected(path: Path, monkeypatch: pytest.MonkeyPatch, update: bool) -> None:
    monkeypatch.chdir(path.parent)
    text = path.read_text(encoding="utf-8")
    (block,) = parse_tests(text, str(path))
    assert block.compile_error is not None
    with pytest.raises(CompileError) as caught:
        compile(text, path.name)
    shown = "".join(render(d, lambda file: text if file == path.name else None) for d in caught.value.diagnostics)
    assert re.search(block.compile_error.regex, shown, re.DOTALL), shown
    _compare_with_golden(path, shown, update)


def _compare_with_golden(path: Path, messages: str, update: bool) -> None:
    """The texts of all messages of a program, where it has any, stand beside it."""
    golden = path.with_suffix(".err")
    if update and messages:
        golden.write_text(messages, encoding="utf-8")
    assert messages == (golden.read_text(encoding="utf-8") if golden.exists() else "")


# ---- what covers what ---------------------------------------------------------------------------------------------


def test_the_table_names_programs_that_are_there() -> None:
    named = re.findall(r"`([a-z]+(?:/[a-z0-9_]+)+)`", (HERE / "README.md").read_text(encoding="utf-8"))
    assert len(named) > 100
    root = HERE.parent.parent
    assert [n for n in named if not ((HERE / f"{n}.fut").is_file() or (root / n).exists())] == []
