"""What a newcomer to the Python interface gets wrong: an error of soac each time, whose hint is right when followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import soac

TEXT = """
-- | Scaled sum.
entry total [n] (xs: [n]f32) (k: f32): f32 = k * f32.sum xs
entry next (x: i64) = x + 1
entry rows [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss
entry first (p: {a: i32, b: f32}) = p.a
entry call (x: i32) = x
"""
GUARD = "rows.ys.suff_outer_0"
Use = Callable[[Any], Any]
BYTES: Any = b"x"
NONE: Any = None
FIVE: Any = 5


class Column:
    """An array of another library."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array([1.5, 2.5], dtype)


# what is done, the error's class, a part of the text or the hint, and what follows the hint
MISUSES: dict[str, tuple[Use, type[soac.SoacError], str, Use | None]] = {
    "overflow in a list": (lambda p: p.total([1e300], 1), soac.DataError, "does not fit f32",
                           lambda p: p.total([1e30], 1)),
    "overflow of a number": (lambda p: p.total([1], 1e300), soac.DataError, "argument 2", None),
    "too many threads": (lambda p: p.call("next", [1], threads=2000), soac.SettingError, "from 1 to 1024",
                         lambda p: p.call("next", [1], threads=1)),
    "no threads": (lambda p: p.call("next", [1], threads=0), soac.SettingError, "None for all cores",
                   lambda p: p.call("next", [1], threads=None)),
    "unknown threshold": (lambda p: p.call("rows", [[[1]]], thresholds={"rows.suff_outer_0": 1}), soac.SettingError,
                          f"did you mean `{GUARD}`", lambda p: p.call("rows", [[[1]]], thresholds={GUARD: 1})),
    "unknown guard": (lambda p: p.call("rows", [[[1]]], forced={"x": True}), soac.SettingError, f"there are: {GUARD}",
                      lambda p: p.call("rows", [[[1]]], forced={GUARD: True})),
    "threshold that is a text": (lambda p: p.call("rows", [[[1]]], thresholds={GUARD: "1"}), soac.SettingError,
                                 "an integer from 0 to 2^63-1",
                                 lambda p: p.call("rows", [[[1]]], thresholds={GUARD: 1})),
    "unknown version": (lambda p: p.settings(forced=[f"{GUARD}=ful"]).__enter__(), soac.SettingError,
                        "did you mean `full`",
                        lambda p: p.settings(forced=f"{GUARD}=full").__enter__()),
    "a number for all arguments": (lambda p: p.call("next", 5), soac.SettingError, "`[x]`",
                                   lambda p: p.call("next", [5])),
    "a number for all prepared arguments": (lambda p: p.prepare("next")(5), soac.SettingError, "`[x]`",
                                            lambda p: p.prepare("next")([5])),
    "an array for all prepared arguments": (lambda p: p.prepare("next")(np.array(5)), soac.SettingError, "`[x]`",
                                            lambda p: p.prepare("next")([np.array(5)])),
    "a number that forces": (lambda p: p.settings(forced=FIVE).__enter__(), soac.SettingError, "from guards to sides",
                             lambda p: p.settings(forced={GUARD: True}).__enter__()),
    "no arguments": (lambda p: p.trace("next", None), soac.SettingError, "`[x]`", lambda p: p.trace("next", [5])),
    "unknown entry": (lambda p: p["nxt"], soac.CompileError, "total, next, rows, first", lambda p: p["next"](1)),
    "missing argument": (lambda p: p.total([1]), soac.DataError, "takes 2 values ([n]f32, f32)", None),
    "unknown keyword": (lambda p: p.next(y=1), soac.DataError, "`x` is missing", lambda p: p.next(x=1)),
    "half a record": (lambda p: p.first({"a": 1}), soac.DataError, 'a dict {"a": .., "b": ..}',
                      lambda p: p.first({"a": 1, "b": 2})),
    "masked": (lambda p: p.total(np.ma.masked_array([1.0, 2], [False, True]), 1), soac.DataError, "`filled(..)`",
               lambda p: p.total(np.ma.masked_array([1.0, 2], [False, True], dtype=np.float32).filled(0), 1)),
    "ragged": (lambda p: p.rows([[1], [1, 2]]), soac.DataError, "the rows differ in length", None),
    "array of another type": (lambda p: p.total(np.arange(2), 1), soac.DataError, '`np.asarray(.., "float32")`',
                              lambda p: p.total(np.asarray(np.arange(2), "float32"), 1)),
    "array of another library": (lambda p: p.total(Column(), 1), soac.DataError, "expected []f32, got [2]f64",
                                 lambda p: p.total(np.asarray(Column(), "float32"), 1)),
    "derivative of a name": (lambda p: soac.vjp(p.total, "total"), soac.SettingError, "soac.vjp(prog.loss)",
                             lambda p: soac.vjp(p.total)([1], 2, 1)),
    "numbers for calls": (lambda p: soac.map(p, FIVE, "next"), soac.SettingError, "soac.map(prog, [(xs, 2)])",
                          lambda p: soac.map(p, [(5,)], "next")),
    "no number": (lambda p: p.next("5"), soac.DataError, "expected i64, got '5'", None),
    "place of another size": (lambda p: p.rows([[1]], out=np.zeros(2, np.float32)), soac.DataError, "float32[1]",
                              lambda p: p.rows([[1]], out=np.zeros(1, np.float32))),
    "other device": (lambda p: soac.compile(TEXT, device="gpu"), soac.SystemFault, "there are: `cpu`, `cuda`", None),
    "bytes": (lambda p: soac.compile(BYTES), soac.SettingError, "`soac.load` reads a file", None),
    "nothing": (lambda p: soac.load(NONE), soac.SettingError, "`soac.compile`", None),
    "no such file": (lambda p: soac.load("none.soac"), soac.CompileError, "No such file", None),
    "no entry to map": (lambda p: soac.vmap(FIVE), soac.SettingError, "soac.vmap(prog.main)",
                        lambda p: soac.vmap(p.next)(np.arange(3))),
    "axes": (lambda p: soac.vmap(p.total, in_axes=(0,)), soac.SettingError, "0 for each argument",
             lambda p: soac.vmap(p.total, in_axes=(0, None))(np.ones((2, 3), np.float32), 1)),
    "no documentation": (lambda p: soac.function(lambda x: x), soac.SettingError, 'r"""..."""', None),
    "data without entries": (lambda p: soac.autotune(p, []), soac.SettingError, "soac.autotune(prog.main", None),
    "no program": (lambda p: soac.map(FIVE, [[1]]), soac.SettingError, "soac.map(prog,",
                   lambda p: soac.map(p, [[1]], entry="next")),
}  # fmt: skip


@pytest.fixture(scope="module")
def program() -> soac.Program:
    with pytest.warns(UserWarning, match=r'write `prog\["call"\]`'):
        return soac.compile(TEXT)


@pytest.mark.parametrize("name", MISUSES)
def test_a_misuse_and_its_correction(program: soac.Program, name: str) -> None:
    wrong, kind, part, right = MISUSES[name]
    with pytest.raises(kind) as caught:
        wrong(program)
    assert part in "\n".join([str(caught.value), *caught.value.__notes__])
    assert caught.value.__notes__[-1] == f"more: soac errors {caught.value.diagnostics[0].code}"
    if right is not None:
        right(program)


def test_an_entry_with_the_name_of_a_method(program: soac.Program) -> None:
    assert program["call"](3) == 3
    assert program.call("call", [3]) == [3]
