#!/usr/bin/env python3
"""Writes `docs/builtins.md`, every function of the library with type, cost and example, from the prelude's comments.

-- | What it does. Cost: what it costs.
-- > EXP = VALUES
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from soac.frontend.library import prelude_text  # noqa: E402
from soac.frontend.source.numeric_modules import members  # noqa: E402
from soac.frontend.typing.show import Shower  # noqa: E402
from soac.frontend.typing.unify import Solver  # noqa: E402
from soac.ir.types import Prim  # noqa: E402

PAGE = ROOT / "docs" / "builtins.md"
ENTRY = re.compile(
    r"^-- \| (?P<text>.*?) Cost: (?P<cost>.*)\.\n-- > (?P<exp>.*) = (?P<values>\S.*)\n(?:#\[.*\]\n)?"
    r"def (?P<name>\([^)]*\)|[\w']+)(?P<type>[^=]*?) =",
    re.MULTILINE,
)
SECTION = re.compile(r"^-- ---- (?P<title>.*?) -{5,}$", re.MULTILINE)

HEAD = """# Built-in functions

Written by `scripts/builtins_page.py` from the prelude; the tests evaluate every example. A cost is work, and span (the
longest chain of what depends on each other) where there is one to speak of; `f`, `op` and `p` stand for the cost of one
call of that argument. What costs 0 is a matter of types or of how memory is read. The [language reference](language.md)
says when a program fails.

"""

NUMERIC = """## numeric modules

The module of each type has these members; `u.t x` converts. What they mean is in the
[language reference](language.md#numeric-modules), with examples. A member costs 1, a reduction of an array as `reduce`.

| member | type, in one of the modules | modules |
|---|---|---|
"""


@dataclass(frozen=True)
class Builtin:
    """A function as the prelude describes it; `at`: where."""

    at: int
    name: str
    type: str
    text: str
    cost: str
    exp: str
    values: str


def builtins() -> list[Builtin]:
    return [
        Builtin(m.start(), m["name"], _tidy(m["type"]), m["text"], m["cost"], m["exp"], m["values"])
        for m in ENTRY.finditer(prelude_text())
    ]


def _tidy(type: str) -> str:
    return re.sub(r"\] \[", "][", " ".join(type.split())).replace(" :", ":")


def page() -> str:
    sections = [(m.start(), m["title"]) for m in SECTION.finditer(prelude_text())]
    parts, known = [HEAD], builtins()
    for (start, title), end in zip(sections, [*(at for at, _ in sections[1:]), len(prelude_text())]):
        here = [one for one in known if start < one.at < end]
        if here:
            parts += [f"## {title}\n\n", *map(_entry, here)]
    return "".join([*parts, NUMERIC, *_numeric()])


def _entry(one: Builtin) -> str:
    shown = f"{one.name} {one.type}" if one.type else one.name
    return f"**`{shown}`**\n\n{one.text} Cost: {one.cost}.\n\n    {one.exp}  -- gives {one.values}\n\n"


def _numeric() -> list[str]:
    found: dict[str, dict[Prim, str]] = {}
    for prim in Prim:
        for name, ty in members(prim).items():
            found.setdefault(name, {})[prim] = Shower(Solver(0)).type(ty)
    rows: list[str] = []
    for name, types in found.items():
        prim, shown = next(iter(types.items()))
        word = name.replace("|", "\\|")
        rows.append(f"| `{word}` | `{prim.value}.{word}: {shown}` | {_listed(list(types))} |\n")
    return rows


def _listed(prims: list[Prim]) -> str:
    everything = list(Prim)
    numbers = [prim for prim in everything if prim is not Prim.BOOL]
    for name, those in (("all", everything), ("numbers", numbers)):
        if prims == those:
            return name
    return " ".join(prim.value for prim in prims)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
