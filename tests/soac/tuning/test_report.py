"""What the user sees: the table, what is said of data sets, and the pictures."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from soac.autotune.measure import Record
from soac.autotune.model import Guard, Side
from soac.autotune.observe import Piece, Status
from soac.autotune.search import Problem, Tuned
from soac.autotune.solve import solve, weights_of
from soac.ir.version_tree import Branch, Site
from soac.reports.svg import HEIGHT, Chart, Curve, chart, marks_between, seconds_label
from soac.tuning.charts import fixed_versions, page, pictures
from soac.tuning.report import lines_of, noise_of, remarks, rows_of, version_text

INSIDE = Branch(("main.ys.suff_intra_0",), (), ())
SITE = Site("main", Branch(("main.ys.suff_outer_0",), (), (INSIDE,)))
LABELS = ("few rows", "some <rows>", "many rows")


def case(par: int, outer: float, block: float, full: float) -> Side:
    inside = Guard(("main.ys.suff_intra_0",), (32,), Side(block, ()), Side(full, ()))
    return Side(0.001, (Guard(("main.ys.suff_outer_0",), (par,), Side(outer, ()), Side(0.0, (inside,))),))


def tuned_of(*cases: Side) -> tuple[Problem, Tuned]:
    solution = solve(cases, weights_of(cases))
    alone = tuple(solve([one], [1.0]).cost.seconds for one in cases)
    after = tuple(solve([one], [1.0]).cost.seconds for one in cases)
    return Problem((SITE.tree,), LABELS[: len(cases)], {}), Tuned(cases, solution, after, (0.5,) * len(cases), alone)


THREE = (case(2, 0.9, 0.1, 0.3), case(40, 0.3, 0.3, 0.2), case(5000, 0.01, 0.3, 0.2))


def record(seconds: float) -> Record:
    piece = Piece(seconds, 1, Status.ENDED, {})
    return Record(Status.ENDED, (seconds * 0.9, seconds, seconds * 1.1), piece, (), None, "")


def test_the_table_names_times_and_versions() -> None:
    problem, tuned = tuned_of(*THREE)
    rows = rows_of(problem, tuned, [], [record(0.1), None, record(0.011)], [SITE])
    assert [row.version for row in rows] == ["block", "block", "outer"]
    assert (rows[0].after, rows[0].low, rows[0].high) == (0.1, pytest.approx(0.09), pytest.approx(0.11))
    lines = list(lines_of("main", rows, tuned, {"main.threads": 2}))
    assert "5.00×" in lines[1]
    assert "main.threads=2" in lines[-3]
    assert lines[-1].startswith("  main.ys.suff_outer_0=")


def test_a_loop_that_takes_two_leaves_shows_both() -> None:
    (first,), (second,) = case(2, 1.0, 1.0, 1.0).guards, case(5000, 1.0, 1.0, 1.0).guards
    both = Side(0.0, (first, second))
    assert version_text(both, {"main.ys.suff_outer_0": 100, "main.ys.suff_intra_0": 64}, [SITE]) == "outer/full"


def test_data_sets_that_are_not_served_are_named() -> None:
    alike = case(8, 0.1, 0.9, 0.9), case(8, 0.9, 0.1, 0.5)
    problem, tuned = tuned_of(*alike)
    rows = rows_of(problem, tuned, [], [None, None], [SITE])
    assert any(line.startswith("not separable: `") for line in remarks(problem, rows, tuned, []))


def test_data_sets_that_are_not_monotone_are_named() -> None:
    problem, tuned = tuned_of(case(2, 0.01, 0.9, 0.9), case(40, 0.9, 0.1, 0.1))
    rows = rows_of(problem, tuned, [], [None, None], [SITE])
    said = list(remarks(problem, rows, tuned, []))
    assert any(line.startswith("not monotone: `main.ys.suff_outer_0` is better taken for `few rows`") for line in said)


def test_times_that_do_not_add_up_are_named() -> None:
    problem, tuned = tuned_of(*THREE)
    rows = rows_of(problem, tuned, [], [record(0.4), None, None], [SITE])
    assert any(line.startswith("not additive: `few rows`") for line in remarks(problem, rows, tuned, []))


def test_noise_is_the_spread_of_the_middle_half() -> None:
    assert noise_of([1.0]) == 0.02
    assert noise_of([1.0, 1.1, 1.2, 1.3, 1.4]) == pytest.approx(0.25)


# ---- pictures -----------------------------------------------------------------------------------------------------


def words_of(drawn: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(drawn).iter() if node.tag.endswith("text")]


def test_spread_is_drawn_and_fits() -> None:
    curve = Curve("a", ((10.0, 1.0), (100.0, 2.0)), False, ((0.5, 1.5), (2.0, 40.0)))
    drawn = ElementTree.fromstring(chart(Chart("t", "n", "time", (curve,), (), seconds_label)))
    lines = [e.attrib for e in drawn.iter("{http://www.w3.org/2000/svg}line")]
    upright = [(float(at["y1"]), float(at["y2"])) for at in lines if at["x1"] == at["x2"]]
    assert all(0 < y < HEIGHT for ends in upright for y in ends)
    assert len([1 for low, high in upright if low > high]) == 2


def test_the_pictures_show_versions_and_ways() -> None:
    problem, tuned = tuned_of(*THREE)
    rows = rows_of(problem, tuned, [], [None] * 3, [SITE])
    drawn = pictures("main", problem, tuned, rows, [SITE])
    assert list(drawn) == ["main.times.svg", "main.ys.suff_outer_0.parallelism.svg", "main.ys.suff_outer_0.tree.svg"]
    assert {"outer", "block", "full", "tuned", "some <rows>"} <= set(words_of(drawn["main.times.svg"]))
    tree = words_of(drawn["main.ys.suff_outer_0.tree.svg"])
    threshold = tuned.solution.thresholds["main.ys.suff_outer_0"]
    assert f"ys.suff_outer_0 = {threshold}" in tree
    assert tree[tree.index("outer") + 1] == "· many rows"
    report = page("Tuning", {"main": (rows, ["3 runs"], drawn)})
    assert report.count("<svg") == 3
    assert "some &lt;rows&gt;" in report


def test_fixed_versions_have_the_names_of_versions() -> None:
    assert [name for name, _ in fixed_versions([SITE])] == ["outer", "block", "full"]


def test_a_version_that_fails_is_left_out_of_its_curve() -> None:
    curve = Curve("full", ((0.0, 1.0), (1.0, math.inf)), False)
    ticks = ((0.0, "a"), (1.0, "b"))
    assert chart(Chart("t", "x", "y", (curve,), ticks, seconds_label)).count("<circle") == 1


def test_marks_are_round_numbers_around_the_points() -> None:
    assert marks_between(0.0003, 0.2) == pytest.approx([1e-4, 1e-3, 1e-2, 1e-1, 1.0])
    assert marks_between(1.0, 1.4) == pytest.approx([1.0, 1.1, 1.2, 1.3, 1.5])
    assert [seconds_label(mark) for mark in (1e-5, 0.002, 3.0)] == ["10 µs", "2 ms", "3 s"]
