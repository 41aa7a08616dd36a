"""Taking times, and drawing them."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from soac.ir.errors import SoacError
from soac.reports.svg import Bar, bars, write
from soac.reports.timing import Effort, Times, geometric_mean, race, seconds_text, warm_up


def test_interval_of_few_times_is_their_range() -> None:
    times = Times((3.0, 1.0, 2.0))
    assert (times.median, times.least, times.interval) == (2.0, 1.0, (1.0, 3.0))


def test_interval_by_order_statistics() -> None:
    """Of 20 times, the 6th smallest and the 6th largest enclose the median with 95.9 %."""
    times = Times(tuple(float(i) for i in range(1, 21)))
    assert times.interval == (6.0, 15.0)
    assert times.spread == pytest.approx(4.5 / 10.5)


def test_times_have_three_digits() -> None:
    given = (0.0, 5e-10, 1.234e-6, 9.9951e-7, 9.994e-7, 0.9996e-3, 0.01234, 0.99949, 1.0, 999.6, 12345.0, math.inf)
    assert [seconds_text(seconds) for seconds in given] == [
        "0 ns", "0.5 ns", "1.23 µs", "1 µs", "999 ns", "1 ms", "12.3 ms", "999 ms", "1 s", "1000 s", "12345 s", "fails",
    ]  # fmt: skip


def test_runs_take_turns() -> None:
    """Each once in a round, in more than one order."""
    called: list[str] = []
    effort = Effort(rounds=9, seconds=0, spread=1, most_rounds=9, most_seconds=1)
    found = race({name: lambda name=name: called.append(name) for name in "ab"}, effort)
    assert [len(times.seconds) for times in found.values()] == [9, 9]
    rounds = ["".join(called[-18:][k : k + 2]) for k in range(0, 18, 2)]
    assert set(rounds) == {"ab", "ba"}


def ticking(ticks: list[float]) -> itertools.cycle[float]:
    """A clock that shows 0 and the next duration in turn."""
    return itertools.cycle([shown for tick in ticks for shown in (0.0, tick)])


def test_race_goes_on_until_the_median_is_known() -> None:
    """Times that swing by half need all rounds; equal ones stop early."""
    effort = Effort(rounds=2, seconds=0, spread=0.02, most_rounds=40, most_seconds=10)
    swinging, equal = ticking([1.0, 2.0]), ticking([1.0])
    assert len(race({"a": lambda: None}, effort, lambda: next(swinging))["a"].seconds) == 40
    assert len(race({"a": lambda: None}, effort, lambda: next(equal))["a"].seconds) == 2


def test_warm_up_ends() -> None:
    calls = itertools.count()
    warm_up(lambda: next(calls))
    assert 2 <= next(calls) <= 5


def test_geometric_mean() -> None:
    assert geometric_mean([0.5, 2.0, 8.0]) == pytest.approx(2.0)


def test_bars_stand_in_proportion(tmp_path: Path) -> None:
    """On a logarithmic axis from 1 to 100, 10 is half way."""
    groups = {"a.soac": [Bar("<small>", 1.0, 1.0, 1.0)], "b.soac": [Bar("x", 10, 1, 100), Bar("y", 100, 90, 100)]}
    write(tmp_path / "bars.svg", bars(groups, "ms"))
    drawn = ElementTree.parse(tmp_path / "bars.svg").getroot()
    _, small, x, y = (float(r.get("width", "")) for r in drawn.iter("{http://www.w3.org/2000/svg}rect"))
    assert (small, x) == (0.0, pytest.approx(y / 2))
    assert {"a.soac", "b.soac", "<small>", "x", "y", "ms"} <= {t.text for t in drawn.iter() if t.text}


def test_a_picture_of_an_unknown_kind(tmp_path: Path) -> None:
    with pytest.raises(SoacError, match="pictures are SVG") as error:
        write(tmp_path / "bars.png", bars({"a": [Bar("x", 1, 1, 1)]}, "ms"))
    assert error.value.diagnostics[0].code == "S0201"
