"""What a program is made of: counts of constructs by where they stand.

A construct is named by its path from the function down, `If/True/SegMap`, `Loop/SegMap`; the sides of a branch are
parts of the path. Counts are by path suffix: `SegMap` counts all segmaps, `Loop/SegMap` those directly in a loop. A
path that begins with `/` starts at the top. Goldens and `structure` test blocks are stated with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..ir.core import Body, Exp, If, Prog, Screma
from ..ir.traverse import scoped_bodies

Path = tuple[str, ...]


def structure(prog: Prog) -> dict[str, int]:
    """How often each path suffix occurs in `prog`."""
    found: Counter[str] = Counter()
    for body in prog.bodies:
        for path in _paths(body):
            found.update("/".join(path[k:]) for k in range(len(path)))
            found["/" + "/".join(path)] += 1
    return dict(found)


def _paths(top: Body) -> Iterator[Path]:
    pending: list[tuple[Path, Body]] = [((), top)]
    while pending:
        prefix, body = pending.pop()
        for stm in body.stms:
            here = (*prefix, kind_of(stm.exp))
            yield here
            pending.extend(_inside(here, stm.exp))


def _inside(here: Path, exp: Exp) -> list[tuple[Path, Body]]:
    match exp:
        case If(_, then, orelse):
            return [((*here, "True"), then), ((*here, "False"), orelse)]
        case _:
            return [(here, body) for _, body in scoped_bodies(exp)]


def kind_of(exp: Exp) -> str:
    """The name of a construct in a path: that of its node; a Screma by its form."""
    match exp:
        case Screma(_, _, _, (), ()):
            return "Map"
        case Screma(_, _, _, (), _):
            return "Redomap"
        case Screma(_, _, _, _, ()):
            return "Scanomap"
        case _:
            return type(exp).__name__
