"""One walk settles what it can see; another one follows where something changed behind it."""

from __future__ import annotations

import pytest

from soac.flatten.inline import inline
from soac.flatten.simplify import driver
from soac.frontend.compile import compile_text
from soac.ir.core import If, Prog
from soac.ir.traverse import all_exps

NESTED = "entry main (c: bool) (d: bool) (x: i64): i64 = if c then (if d then x + 1 else x) else x"
DEAD = "entry main (c: bool) (i: i64) (n: i64): i64 = if c then (iota 10)[i64.max 0 (i64.min 9 i)] else n"
ROWS = "entry main [n] (xs: [n]i64): [n]i64 = map (\\i -> xs[i] + 1) (iota n)"


def walks(prog: Prog, monkeypatch: pytest.MonkeyPatch) -> tuple[Prog, int]:
    """The simplified program, and how many walks it took."""
    before, seen = driver._round, list[Prog]()

    def counted(prog: Prog) -> tuple[Prog, bool]:
        seen.append(prog)
        return before(prog)

    monkeypatch.setattr(driver, "_round", counted)
    return driver.simplify(prog), len(seen)


@pytest.mark.parametrize("text", [NESTED, DEAD])
def test_one_walk_selects_cheap_branches(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prog, count = walks(inline(compile_text(text, "branches.soac")), monkeypatch)
    assert not any(isinstance(exp, If) for fun in prog.functions for exp in all_exps(fun.body))
    assert count == 1


def test_a_row_for_a_lambda_takes_another_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    prog = inline(compile_text(ROWS, "rows.soac"))
    assert walks(prog, monkeypatch)[1] > 1
