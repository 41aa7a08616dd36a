"""Charts as SVG text: curves over positions or over a logarithmic axis, times on a logarithmic one; bars, trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from ..ir.errors import Diagnostic, SoacError
from ..output import write_out

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 40, 80
COLOURS = (
    "#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#7d53de", "#00a6a6",
    "#8d6a5b", "#5c677d", "#e377c2", "#9acd32", "#ff7f0e", "#17324d",
)  # fmt: skip
INK, GRID = "#222", "#ddd"
FONT = 'font-family="sans-serif"'


@dataclass(frozen=True, slots=True)
class Curve:
    """Points (x, y) that a line joins; the strong one is drawn thick, over the others. `spread`: from where to where
    each y is known to be, where that is shown."""

    name: str
    points: tuple[tuple[float, float], ...]
    is_strong: bool
    spread: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """`ticks`: what stands below the x axis at which x; with none the axis is logarithmic. `label` shows a power of ten
    on the y axis."""

    title: str
    x_title: str
    y_title: str
    curves: tuple[Curve, ...]
    ticks: tuple[tuple[float, str], ...]
    label: Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Bar:
    """A value with the interval it is known to be in; all are above 0."""

    label: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Box:
    """A node of a tree: lines of text, and below it other nodes, each with what stands at the line to it."""

    lines: tuple[str, ...]
    below: tuple[tuple[str, Box], ...]
    is_chosen: bool


def text(x: float, y: float, words: str, size: int = 12, anchor: str = "middle", more: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{INK}" {FONT} {more}>'
        f"{escape(words)}</text>"
    )


def line(x1: float, y1: float, x2: float, y2: float, colour: str = INK, width: float = 1.0) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def picture(width: float, height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
    view = f'viewBox="0 0 {width:.0f} {height:.0f}">'
    ground = f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>'
    return "\n".join([head + view, ground, *parts, "</svg>"]) + "\n"


def write(path: Path, drawn: str) -> None:
    """Writes a picture; raises `SoacError` S0201 where that is not possible, and for a file of another kind."""
    if path.suffix != ".svg":
        raise SoacError(Diagnostic("S0201", f"cannot write to `{path}`: pictures are SVG, in a file `.svg`"))
    write_out(path, drawn.encode())


# ---- charts -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scale:
    """From numbers to places on an axis."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool

    def __call__(self, value: float) -> float:
        low, high, at = (math.log(v) if self.is_log else v for v in (self.low, self.high, value))
        return self.start + (at - low) / ((high - low) or 1.0) * (self.end - self.start)


def chart(drawn: Chart) -> str:
    """The chart as a picture; points that are infinite (versions that fail) are left out."""
    curves = [(curve, [p for p in curve.points if math.isfinite(p[1]) and p[1] > 0]) for curve in drawn.curves]
    xs = [x for _, points in curves for x, _ in points] or [1.0]
    ys = [y for _, points in curves for _, y in points] or [1.0]
    ys += [y for curve, _ in curves for ends in curve.spread for y in ends]
    is_log = not drawn.ticks
    x = Scale(min(xs), max(xs), LEFT + 15, WIDTH - RIGHT - 15, is_log)
    marks = marks_between(min(ys), max(ys))
    y = Scale(marks[0], marks[-1], HEIGHT - BOTTOM, TOP, True)
    parts = [text((LEFT + WIDTH - RIGHT) / 2, 24, drawn.title, 15)]
    parts += _axes(drawn, x, y, sorted(set(xs)), marks)
    for number, (curve, points) in enumerate(sorted(curves, key=lambda item: item[0].is_strong)):
        parts += _curve(curve, points, x, y, number)
    return picture(WIDTH, HEIGHT, parts)


STEPS = (1.0, 1.1, 1.2, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)


def marks_between(low: float, high: float) -> list[float]:
    """Round numbers from at most `low` to at least `high`: powers of ten, finer ones where there is less than a decade
    between them."""
    steps = STEPS if high < 8 * low else (1.0,)
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    marks = [step * 10.0**decade for decade in decades for step in steps]
    first = max(k for k, mark in enumerate(marks) if mark <= low * 1.0001)
    last = min(k for k, mark in enumerate(marks) if mark >= high * 0.9999)
    return marks[first : max(last, first + 1) + 1]


def _axes(drawn: Chart, x: Scale, y: Scale, xs: Sequence[float], marks: Sequence[float]) -> Iterator[str]:
    for mark in marks:
        yield line(LEFT, y(mark), WIDTH - RIGHT, y(mark), GRID)
        yield text(LEFT - 8, y(mark) + 4, drawn.label(mark), 11, "end")
    yield line(LEFT, TOP, LEFT, HEIGHT - BOTTOM)
    yield line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM)
    for at, label in drawn.ticks or _powers(xs):
        turned = f'transform="rotate(-35 {x(at):.1f} {HEIGHT - BOTTOM + 14})"' if drawn.ticks else ""
        anchor = "end" if drawn.ticks else "middle"
        yield line(x(at), HEIGHT - BOTTOM, x(at), HEIGHT - BOTTOM + 4)
        yield text(x(at), HEIGHT - BOTTOM + 16, label, 10, anchor, turned)
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, drawn.x_title)
    yield text(16, (TOP + HEIGHT - BOTTOM) / 2, drawn.y_title, more=f'transform="rotate(-90 16 {HEIGHT / 2 - 20})"')


def _powers(xs: Sequence[float]) -> Iterator[tuple[float, str]]:
    """Powers of two within the axis, at most about ten."""
    low, high = math.floor(math.log2(max(xs[0], 1))), math.ceil(math.log2(max(xs[-1], 1)))
    step = max(1, (high - low) // 8)
    for power in range(low, high + 1, step):
        if xs[0] <= 2.0**power <= xs[-1]:
            yield 2.0**power, f"2^{power}"


def _curve(curve: Curve, points: Sequence[tuple[float, float]], x: Scale, y: Scale, number: int) -> Iterator[str]:
    colour = INK if curve.is_strong else COLOURS[number % len(COLOURS)]
    width = 3 if curve.is_strong else 1.6
    dash = 'stroke-dasharray="7 4"' if curve.is_strong else ""
    path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}" {dash}/>'
    for a, b in points:
        yield f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="{3 if curve.is_strong else 2.5}" fill="{colour}"/>'
    for (a, _), (low, high) in zip(curve.points, curve.spread):
        yield line(x(a), y(low), x(a), y(high), colour)
    at = TOP + 12 + 20 * number
    yield f'<line x1="{WIDTH - RIGHT + 12}" y1="{at}" x2="{WIDTH - RIGHT + 40}" y2="{at}" stroke="{colour}" ' + (
        f'stroke-width="{width}" {dash}/>'
    )
    yield text(WIDTH - RIGHT + 46, at + 4, curve.name[:22], 11, "start")


def ratio_label(ratio: float) -> str:
    return f"{ratio:.3g}×"


def seconds_label(seconds: float) -> str:
    """A time on an axis: `10 ms`."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if seconds >= scale * 0.999:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.0e} s"


# ---- bars -------------------------------------------------------------------------------------------------------

NAMES, BAR = 300, 20


def bars(groups: Mapping[str, Sequence[Bar]], x_title: str) -> str:
    """Horizontal bars on a logarithmic axis, a panel for each group, one below the other."""
    parts: list[str] = []
    top = 30
    for title, shown in groups.items():
        parts += _panel(title, shown, x_title, top)
        top += BAR * len(shown) + 80
    return picture(WIDTH, top, parts)


def _panel(title: str, shown: Sequence[Bar], x_title: str, top: int) -> Iterator[str]:
    bottom = top + BAR * len(shown) + 4
    marks = marks_between(min(bar.low for bar in shown), max(bar.high for bar in shown))
    x = Scale(marks[0], marks[-1], NAMES, WIDTH - 30, True)
    yield text(NAMES, top - 8, title, 14, "start")
    for mark in marks:
        yield line(x(mark), top, x(mark), bottom, GRID)
        yield text(x(mark), bottom + 14, f"{mark:g}", 10)
    for k, bar in enumerate(shown):
        at = top + BAR * k + 4
        yield f'<rect x="{NAMES}" y="{at}" width="{x(bar.value) - NAMES:.1f}" height="{BAR - 6}" fill="{COLOURS[0]}"/>'
        yield line(x(bar.low), at + BAR / 2 - 3, x(bar.high), at + BAR / 2 - 3, INK, 2)
        yield text(NAMES - 8, at + BAR / 2 + 1, bar.label[:44], 11, "end")
    yield text((NAMES + WIDTH - 30) / 2, bottom + 32, x_title)


# ---- trees ------------------------------------------------------------------------------------------------------

ROW, COLUMN, LINE = 96, 150, 15


def tree(title: str, root: Box) -> str:
    """A tree with its root on top; chosen nodes are filled, the ways to them thick."""
    ends = _ends(root)
    parts: list[str] = []
    _draw(root, 0, 0, parts)
    height = 50 + ROW * _depth(root) + 40
    width = max(COLUMN * ends, 300) + 20
    return picture(
        width, height, [text(width / 2, 24, title, 15), f'<g transform="translate(10 45)">{"".join(parts)}</g>']
    )


def _ends(box: Box) -> int:
    return sum(_ends(inner) for _, inner in box.below) or 1


def _depth(box: Box) -> int:
    return 1 + max((_depth(inner) for _, inner in box.below), default=0)


def _draw(box: Box, left: float, depth: int, parts: list[str]) -> float:
    """Draws a box over what is below it; where its middle is."""
    middles: list[float] = []
    at, lines = left, []
    for label, inner in box.below:
        middle = _draw(inner, at, depth + 1, parts)
        middles.append(middle)
        lines.append((label, middle, inner.is_chosen))
        at += COLUMN * _ends(inner)
    middle = (middles[0] + middles[-1]) / 2 if middles else left + COLUMN / 2
    top, bottom = depth * ROW, depth * ROW + LINE * len(box.lines) + 8
    ways = []
    for label, other, is_chosen in lines:
        ways.append(
            line(middle, bottom, other, (depth + 1) * ROW, INK if is_chosen else "#aaa", 2.5 if is_chosen else 1)
        )
        at = (bottom + (depth + 1) * ROW) / 2 + 4
        ways.append(
            text((middle + other) / 2, at, label, 11, more='stroke="white" stroke-width="4" paint-order="stroke"')
        )
    fill = "#dceefb" if box.is_chosen else "#f5f5f5"
    half = COLUMN / 2 - 6
    parts[:0] = ways
    parts.append(
        f'<rect x="{middle - half:.1f}" y="{top}" width="{2 * half:.1f}" height="{bottom - top}" rx="5" fill="{fill}" '
        f'stroke="{INK if box.is_chosen else "#aaa"}"/>'
    )
    parts += [text(middle, top + LINE * (k + 1), words[:26], 11) for k, words in enumerate(box.lines)]
    return middle
