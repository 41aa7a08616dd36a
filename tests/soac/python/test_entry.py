"""Entry points as functions of Python: what `help`, `inspect` and tab completion see, records, sums, `out`."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import rlcompleter
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import soac

TEXT = r"""
type point = {x: f32, y: f32}
type shape = #circle f32 | #rect f32 f32 | #none

-- | Moves points
--   by a <distance>.
entry move [n] (ps: [n]point) (d: {dx: f32, dy: f32}): [n]point = map (\p -> {x = p.x + d.dx, y = p.y + d.dy}) ps
entry area (s: shape): f32 = match s case #circle r -> 3 * r * r case #rect a b -> a * b case #none -> 0
entry areas [n] (ss: [n]shape): [n]f32 = map area ss
entry grow (s: shape) (class: f32): (shape, f32) =
  (match s case #circle r -> #circle (r * class) case #rect a b -> #rect a (b * class) case #none -> #none, class)
entry total [n] (xs: #some ([n]i64) | #no) (ys: [n]i64): i64 =
  match xs case #some xs -> reduce (+) 0 (map2 (*) xs ys) case #no -> reduce (+) 0 ys
entry rows [n] (rows: [n](i32, {a: bool, b: [2]f64})): [n]bool = map (\r -> r.1.a && r.0 > 0 && r.1.b[1] > 0) rows
entry firsts [n] (xs: [n](#pair ([2]i32) | #no)): [n]i32 = map (\x -> match x case #pair p -> p[0] case #no -> 0) xs
entry both [n] (xs: [n]i32) (k: i32): ([n]i32, i32) = (map (+ k) xs, k)
"""
ARRAY = np.array([1, 2], np.int32)


@pytest.fixture(scope="module")
def prog() -> soac.Program:
    return soac.compile(TEXT, "shapes.soac")


def test_the_package_shows_what_there_is() -> None:
    assert dir(soac) == sorted(soac.__all__)
    assert {"compile", "load", "function", "vmap", "autotune", "RunError", "SettingError"} <= set(dir(soac))
    shown = pydoc.plain(pydoc.render_doc(soac))
    assert all(f"{name}(" in shown for name in ("compile", "load", "function", "vmap"))
    assert issubclass(soac.SettingError, soac.SoacError)
    assert all(getattr(soac, name) is not None for name in soac.__all__)


def test_a_program_shows_what_there_is(prog: soac.Program) -> None:
    assert {"move", "area", "settings", "versions"} <= set(dir(prog))
    assert prog._ipython_key_completions_() == list(prog.entries)
    assert "\n  both(xs: [n]i32, k: i32) -> ([n]i32, i32)" in repr(prog)
    assert repr(prog.area) == "<soac entry area(s: #circle f32 | #none | #rect f32 f32) -> f32>"
    assert prog.both is prog["both"]
    assert list(prog) == list(prog.entries)
    assert "area" in prog
    assert prog in {prog}
    html = prog._repr_html_()
    assert "by a &lt;distance&gt;." in html
    assert "area(s: #circle" in html


def test_an_entry_is_a_function(prog: soac.Program) -> None:
    array = inspect.formatannotation(npt.NDArray[np.int32])
    assert str(inspect.signature(prog.both)) == f"(xs: {array}, k: numpy.int32) -> tuple[{array}, numpy.int32]"
    assert typing.get_type_hints(prog.area)["return"] is np.float32
    assert typing.get_type_hints(prog.move)["return"] is prog.types.point_array
    assert prog.move.__doc__ == "Moves points\nby a <distance>."
    assert prog.area.__doc__ == str(prog.area)
    assert (prog.move.__name__, callable(prog.move)) == ("move", True)
    assert "Moves points" in pydoc.plain(pydoc.render_doc(prog.move))
    assert "class" not in pydoc.plain(pydoc.render_doc(prog.area))


@pytest.mark.parametrize("typed, found", [("soac.Ent", "soac.Entry("), ("prog.bo", "prog.both(")])
def test_python_completes_names(prog: soac.Program, typed: str, found: str) -> None:
    assert rlcompleter.Completer({"soac": soac, "prog": prog}).complete(typed, 0) == found


def test_python_may_suggest_names(prog: soac.Program) -> None:
    """Tracebacks find the name that is near in what `dir` lists."""
    for of, name in ((soac, "compil"), (prog, "bot")):
        with pytest.raises(AttributeError) as caught:
            getattr(of, name)
        assert caught.value.obj is of
        assert caught.value.name == name


def test_an_array_without_dimensions_is_a_number(prog: soac.Program) -> None:
    assert prog.both(ARRAY, np.array(2))[1] == 2


def test_keywords(prog: soac.Program) -> None:
    assert prog.both(k=2, xs=ARRAY)[0].tolist() == [3, 4]
    assert prog.both(ARRAY, k=2)[1] == 2
    assert prog.grow("none", class_=2)[1] == 2
    for wrong in ({"k": 1, "xs": ARRAY, "z": 1}, {"k": 1}):
        with pytest.raises(soac.DataError, match="D0113"):
            prog.both(**wrong)
    with pytest.raises(soac.DataError, match=r"D0113.*no argument `xs` left"):
        prog.both(ARRAY, 1, xs=ARRAY)


@pytest.mark.parametrize("given", [
    [{"x": 1, "y": 2}, {"x": 3, "y": 4}],
    {"x": [1, 3], "y": np.array([2, 4], np.float32)},
    np.array([(1, 2), (3, 4)], [("y", "f4"), ("x", "f4")])[["y", "x"]].astype([("x", "f4"), ("y", "f4")]),
])  # fmt: skip
def test_records(prog: soac.Program, given: Any) -> None:
    moved = prog.move(given, {"dx": 1, "dy": 0})
    assert isinstance(moved, prog.types.point_array)
    assert (moved.x.tolist(), moved.y.tolist()) == ([2, 4], [2, 4])
    again = prog.move(moved, d=prog.types.dx_dy(1, 1))
    assert (again.x.tolist(), again.y.tolist()) == ([3, 5], [3, 5])
    assert prog.move([], {"dx": 1, "dy": 0}).x.shape == (0,)


def test_tuples_and_records_inside_of_each_other(prog: soac.Program) -> None:
    row = {"a": True, "b": [1, 2]}
    assert prog.rows([(1, row), (-1, row)]).tolist() == [True, False]
    assert prog.rows((np.array([1], np.int32), {"a": [True], "b": [[1, 0]]})).tolist() == [False]


def test_sums(prog: soac.Program) -> None:
    circle, rect = prog.types.circle, prog.types.rect
    assert [prog.area(s) for s in (circle(2), {"rect": (2, 3)}, "none", {"none": ()})] == [12, 6, 0, 0]
    match prog.grow(rect(1, 2), 3):
        case prog.types.rect(a, b), k:
            assert (a, b, k) == (1, 6, 3)
        case other:
            pytest.fail(f"{other}")
    assert prog.areas(["none", circle(1), {"rect": (2, 2)}]).tolist() == [0, 3, 4]
    assert prog.firsts([{"pair": [4, 5]}, "no"]).tolist() == [4, 0]
    assert prog.firsts(["no", "no"]).tolist() == [0, 0]
    assert prog.total("no", [1, 2]) == 3
    assert prog.total({"some": [3, 4]}, [1, 2]) == 11


@pytest.mark.parametrize(("entry", "args", "says"), [
    ("area", ("cirle",), "write {\"circle\": ..}"),
    ("area", ({"rect": 1},), "write"), ("area", ("circle",), "write"), ("area", (1.5,), "write"),
    ("move", ([{"x": 1}], {"dx": 1, "dy": 1}), "write a dict {\"x\": .., \"y\": ..}"),
    ("move", (5, {"dx": 1, "dy": 1}), "or a list of elements"), ("rows", ([(1,)],), "write a tuple of 2"),
])  # fmt: skip
def test_what_has_another_form_is_refused(prog: soac.Program, entry: str, args: tuple[Any, ...], says: str) -> None:
    with pytest.raises(soac.DataError, match=r"D0104.*argument 1") as caught:
        prog[entry](*args)
    assert says in caught.value.__notes__[0]


def test_a_wrong_part_names_the_argument(prog: soac.Program) -> None:
    with pytest.raises(soac.DataError, match=r"D0104.*argument 2"):
        prog.move([{"x": 1, "y": 1}], {"dx": "a", "dy": 1})
    with pytest.raises(soac.DataError, match="takes 1 argument, got 2"):
        prog.area("none", "none")


@pytest.mark.parametrize("k", [np.int32(2), np.int64(2), np.uint8(2)])
def test_scalars_of_numpy_of_the_right_kind(prog: soac.Program, k: Any) -> None:
    assert prog.both(ARRAY, k)[0].tolist() == [3, 4]
    assert prog.area({"circle": k}) == 12


@pytest.mark.parametrize("k", [np.int64(2**31), np.float32(2), np.True_, None])
def test_scalars_of_another_kind(prog: soac.Program, k: Any) -> None:
    with pytest.raises(soac.DataError, match=r"D0104.*argument 2"):
        prog.both(ARRAY, k)


def test_empty_lists_have_any_rank() -> None:
    assert soac.compile("entry main [n] (xss: [n][3]f32): i64 = n").main([]) == 0


def test_out(prog: soac.Program) -> None:
    out = np.zeros(2, np.int32)
    result, k = prog.both(ARRAY, 1, out=(out, None))
    assert result is out
    assert (out.tolist(), k) == ([2, 3], 1)
    moved = prog.types.point_array(np.zeros(1, np.float32), np.zeros(1, np.float32))
    assert prog.move([{"x": 1, "y": 1}], {"dx": 1, "dy": 1}, out=moved).y is moved.y
    own = np.array([1, 2], np.int32)
    assert prog.both(own, 1, out=(own, None))[0].tolist() == [2, 3]
    for wrong in (out, (out.astype(float), None), (np.zeros(3, np.int32), None), ("a", None)):
        with pytest.raises(soac.DataError, match="D0104"):
            prog.both(ARRAY, 1, out=wrong)
    out.flags.writeable = False
    with pytest.raises(soac.DataError, match="read-only"):
        prog.both(ARRAY, 1, out=(out, None))


@pytest.mark.parametrize("remade", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])  # noqa: S301
def test_results_and_entries_are_pickled(prog: soac.Program, remade: Callable[[Any], Any]) -> None:
    shape, _ = prog.grow({"circle": 2}, 2)
    assert remade(shape) == shape == prog.types.circle(4)
    assert remade(prog.area)(shape) == 48


def test_names_that_python_has_too() -> None:
    prog = soac.compile("entry f (lambda: {class: i32, x': i32, _a: i32}) (x': i32) (x_: i32) = lambda.class + x' - x_")
    assert prog.f.parameters == ["lambda_", "x_", "x__"]
    assert prog.f({"class": 1, "x'": 0, "_a": 0}, x_=3, x__=1) == 3
