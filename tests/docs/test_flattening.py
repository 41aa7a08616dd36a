"""The guide to flattening is true: its formulas stand in the code, its functions and tests exist, its rules fire."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from soac.flatten.context.trace import Rule
from soac.flatten.flatten import flatten_traced
from soac.flatten.fusion.driver import fuse
from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.core import Prog
from soac.ir.interpret import Thresholds, interpret
from soac.ir.machine import CUDA, Mode
from soac.ir.version_tree import combinations, sites

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "flattening.md").read_text(encoding="utf-8")
TESTS = "\n".join(
    path.read_text(encoding="utf-8")
    for folder in ("flatten", "property", "support/property")
    for path in (ROOT / "tests" / folder).rglob("*.py")
)
SECTION = re.compile(r"^### ([\w -]+): [^\n]*\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
FORMULA = re.compile(r"^    (.*(?:⟶|=).*)$", re.MULTILINE)
PLACE = re.compile(r"^`(\w+)` in `(flatten/[\w/]+\.py)` · ((?:.+\n)+)", re.MULTILINE)
EXAMPLE = re.compile(r"^```\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Described:
    """What the guide says of a rule."""

    rule: str
    formulas: tuple[str, ...]
    function: str
    file: str
    tests: tuple[str, ...]
    example: str | None


def described(found: re.Match[str]) -> Described:
    body = found[2]
    place = PLACE.search(body)
    assert place, found[1]
    tests = re.findall(r'"([^"]*)"|`(test_\w+)`', place[3])
    example = EXAMPLE.search(body)
    return Described(
        found[1],
        tuple(FORMULA.findall(body)),
        place[1],
        place[2],
        tuple(case or test for case, test in tests),
        example[1] if example else None,
    )


ALL = [described(found) for found in SECTION.finditer(TEXT)]
each_rule = pytest.mark.parametrize("one", ALL, ids=lambda one: one.rule)


def test_every_rule_is_there() -> None:
    assert sorted(one.rule for one in ALL) == sorted(rule.value for rule in Rule)


@each_rule
def test_formulas_and_functions_stand_in_the_code(one: Described) -> None:
    code = (ROOT / one.file).read_text(encoding="utf-8")
    assert re.search(rf"^def {one.function}\(", code, re.MULTILINE)
    for formula in one.formulas:
        assert " ".join(formula.split()) in " ".join(code.split())


@each_rule
def test_tests_exist(one: Described) -> None:
    assert one.tests
    for name in one.tests:
        assert f"def {name}(" in TESTS or f'    "{name}": (' in TESTS, name


def compiled(exp: str) -> Prog:
    text = f"""
    entry main [n][m][k] (xss: [n][m]i32) (ys: [n]i32) (xsss: [n][m][k]i32) (c: bool) =
      let result = {exp} in result
    """
    return simplify(fuse(simplify(inline(compile_text(text, "example.soac")))))


@pytest.mark.quick
@pytest.mark.parametrize("one", [one for one in ALL if one.example], ids=lambda one: one.rule)
def test_rule_fires_and_keeps_the_meaning(one: Described) -> None:
    assert one.example
    prog = compiled(one.example)
    numbers = np.random.default_rng(1)
    args = [*(numbers.integers(-3, 9, shape).astype(np.int32) for shape in ((3, 4), (3,), (3, 4, 2))), np.bool_(True)]
    expected, _ = interpret(prog, "main", args)
    fired = set()
    for mode in Mode:
        done = flatten_traced(prog, mode, CUDA)
        fired |= {step.rule.value for step in done.trail}
        for version in combinations(sites(done.prog)):
            found, _ = interpret(done.prog, "main", args, Thresholds(forced=version))
            for x, y in zip(expected, found, strict=True):
                np.testing.assert_array_equal(x, y)
    assert one.rule in fired


def test_fusion_rules_are_there() -> None:
    files = ("rules.py", "loops.py", "gather.py", "kept.py", "late_rows.py", "parts.py", "divided_rows.py", "sink.py")
    code = "".join((ROOT / "flatten" / "fusion" / file).read_text(encoding="utf-8") for file in files)
    rows = re.findall(r"^\| (F-\w+) \| `(.*?)` \| `(\w+)` \| (.*) \|$", TEXT, re.MULTILINE)
    assert sorted(row[0] for row in rows) == sorted(re.findall(r"\[(F-\w+)\]", code))
    for name, formula, function, goldens in rows:
        assert f"def {function}(" in code
        assert " ".join(f"{formula} [{name}]".split()) in " ".join(code.split())
        for golden in re.findall(r"`([\w.]+)`", goldens):
            assert (ROOT / "tests" / "flatten" / "golden" / "fuse" / golden).is_file()


def test_rules_in_place_are_there() -> None:
    code = (ROOT / "flatten" / "memory" / "in_place.py").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (P-\w+) \| `.*?`.* \| (.*) \|$", TEXT, re.MULTILINE)
    assert sorted(row[0] for row in rows) == sorted(set(re.findall(r"\[(P-\w+)\]", code)))
    shown = {golden for _, goldens in rows for golden in re.findall(r"`([\w.]+)`", goldens)}
    shown |= set(re.findall(r"`(\w+_stays\.ir|row_from_the_one_above\.ir)`", TEXT))
    folder = ROOT / "tests" / "flatten" / "golden" / "inplace"
    assert {path.name for path in folder.glob("*.ir")} <= shown
