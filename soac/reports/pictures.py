"""Pictures of times, drawn with Matplotlib: an optional package, asked for only when there is something to draw."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..ir.errors import NOWHERE, Diagnostic, Label, SoacError, SystemFault

GET_MATPLOTLIB = "`pip install 'matplotlib>=3.8'`"


@dataclass(frozen=True, slots=True)
class Bar:
    """A value with the interval it is known to lie in."""

    label: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """A curve by its points; `low` and `high` a band around it, empty for none."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def draw_bars(path: Path, groups: Mapping[str, Sequence[Bar]], x_label: str) -> None:
    """Horizontal bars on a logarithmic axis, a panel for each group, one above the other."""
    rows = [max(1, len(bars)) for bars in groups.values()]
    figure, panels = _figure(len(groups), 9.0, [1.0 + 0.28 * count for count in rows], rows)
    for panel, (title, bars) in zip(panels, groups.items()):
        places = range(len(bars))
        errors = [[max(0.0, bar.value - bar.low) for bar in bars], [max(0.0, bar.high - bar.value) for bar in bars]]
        panel.barh(places, [bar.value for bar in bars], xerr=errors, color="tab:blue", ecolor="black", capsize=2)
        panel.set_yticks(places, [bar.label for bar in bars])
        panel.invert_yaxis()
        panel.set_xscale("log")
        panel.set_title(title, loc="left")
        panel.set_xlabel(x_label)
    _save(figure, path)


def draw_lines(path: Path, panels_of: Mapping[str, Sequence[Line]], x_label: str, y_label: str) -> None:
    """Curves on logarithmic axes, a panel for each group, one above the other."""
    figure, panels = _figure(len(panels_of), 7.0, [3.6] * len(panels_of), [1] * len(panels_of))
    for panel, (title, lines) in zip(panels, panels_of.items()):
        for line in lines:
            (drawn,) = panel.plot(line.x, line.y, marker="o", markersize=3, label=line.label)
            if line.low:
                panel.fill_between(line.x, line.low, line.high, color=drawn.get_color(), alpha=0.2)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_title(title, loc="left")
        panel.set_xlabel(x_label)
        panel.set_ylabel(y_label)
        panel.grid(True, which="major", alpha=0.3)
        panel.legend(fontsize="small")
    _save(figure, path)


def require_matplotlib() -> Any:
    """The module `matplotlib.figure`; raises `SystemFault` S0102 where Matplotlib is missing. It needs no display."""
    try:
        return importlib.import_module("matplotlib.figure")
    except ImportError as missing:
        text = f"drawing needs Matplotlib: {missing}"
        raise SystemFault(Diagnostic("S0102", text, Label(NOWHERE, ""), hint=GET_MATPLOTLIB)) from None


def _figure(count: int, width: float, heights: Sequence[float], ratios: Sequence[int]) -> tuple[Any, Any]:
    """A figure with panels one above the other."""
    figure = require_matplotlib().Figure(figsize=(width, sum(heights)), layout="constrained")
    panels = figure.subplots(count, 1, squeeze=False, gridspec_kw={"height_ratios": ratios})
    return figure, panels[:, 0]


def _save(figure: Any, path: Path) -> None:
    """Writes the figure in the format of the file's ending; raises `SoacError` S0201."""
    try:
        figure.savefig(path)
    except (OSError, ValueError) as fault:
        raise SoacError(Diagnostic("S0201", f"cannot write `{path}`: {fault}", Label(NOWHERE, ""))) from None
