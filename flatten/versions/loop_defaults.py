"""Which version is the default where the points of a nest are few, and have loops with parallelism inside.

    map (\\x → loop z̄ for i < n do let ys = map f (.. : [m]t) in e) xs        p points

Flattened, every round of the loop is a launch for each of its SOACs, and a pass over the arrays of all points. In the
thread of a point it is neither, and where there are caches the lanes of a core go through the SOACs all the same; but
of the threads no more than p have work. So the guard compares the threads of the host with those that the points are
worth: the more, the sooner a round is over.

    if t ≤ p · (ROUND / m) then segmap Σ e else G(Σ, e)        m: the most that a SOAC of a point goes through; 1 for
                                                               p ≥ POINTS, where nests without loops are in threads too

A point whose threads are inside a collective is a core's turn, and no other core has a part of it: that is the default
where 1 ≤ p · (ROUND / m).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...ir.core import Body, ForLoop, Hist, If, Loop, Scatter, Screma
from ...ir.machine import EVEN
from ...ir.ops import Op
from ...ir.traverse import bodies, bound_in_body
from ...ir.types import Atom, i64
from ..context.nest import Flow, Nest
from .guards import Version, both, parallelism_of, product_of
from .intra import Widths, folded, is_known
from .parallelism import holds_wide, is_sequential
from .width_bounds import bounds_in

POINTS = 8
"""From this number of points on these are in threads, however long their rounds are."""

ROUND = 1 << 18
"""Elements of the rounds of all threads that are over before threads are woken: 2^14 for each of 16. On one thread
factorisations of 64 to 512 rows took 1.3 to 6 times as long flattened."""


def with_loops(flow: Flow, nest: Nest, body: Body, version: Version) -> Version:
    """The version that runs the body in the threads of the nest, guarded by what its loops hold."""
    if not keeps_rounds(flow, body):
        return version
    return replace(version, kind=EVEN, par=lambda: _worth(flow, nest, _most(flow, body)))


def in_turns(flow: Flow, nest: Nest, body: Body, version: Version) -> Version:
    """The version with a core's turn for each point, by default unless these are few and take long."""
    if not flow.context.machine.keeps_rows or None in (paths := _most(flow, body)):
        return version
    pays = flow.op("pays", Op.LE, i64(1), _worth(flow, nest, paths))
    return replace(version, pays=both(flow, version.pays, pays))


def keeps_rounds(flow: Flow, body: Body) -> bool:
    """Whether a thread is worth having the loops of a body, on a machine with caches, though its points are few: loops
    of maps and reductions. Scans and histograms have better kernels of their own."""
    if not flow.context.machine.keeps_rows:
        return False
    loops = [loop.body for loop in _loops(body)]
    return any(map(holds_wide, loops)) and not any(map(_scans, loops))


def _loops(body: Body) -> Iterator[Loop]:
    """The loops of a body, in its branches too."""
    for stm in body.stms:
        match stm.exp:
            case Loop() as loop if not is_sequential(stm):
                yield loop
            case If() as branch:
                yield from (loop for own in bodies(branch) for loop in _loops(own))
            case _:
                pass


def _scans(body: Body) -> bool:
    """Whether rounds have a scan or a histogram."""
    for stm in body.stms:
        match stm.exp:
            case Hist() | Screma(scans=(_, *_)):
                return True
            case Loop() | If() if any(map(_scans, bodies(stm.exp))):
                return True
            case _:
                pass
    return False


def _most(flow: Flow, body: Body) -> tuple[Widths | None, ...]:
    """The widths that bound those of the SOACs of a body, each once; None where a width has no bound."""
    local = set(bound_in_body(body))
    bounds = bounds_in(flow, body, lambda a: is_known(flow, a, local))
    return tuple(dict.fromkeys(bounds.most_of_all(path) for path in dict.fromkeys(_paths(body))))


def _worth(flow: Flow, nest: Nest, paths: tuple[Widths | None, ...]) -> Atom:
    """p · (ROUND / m); where a width has no bound, m is more than that."""
    points, most = parallelism_of(flow, nest), i64(ROUND + 1)
    if None not in paths:
        most = folded(flow, Op.MAX, (i64(1), *(product_of(flow, path) for path in paths if path is not None)))
    few = flow.op("few", Op.LT, points, i64(POINTS))
    worth = flow.op("worth", Op.QUOT, i64(ROUND), flow.op("most", Op.SELECT, few, most, i64(1)))
    return flow.op("par", Op.MUL, points, worth)


def _paths(body: Body) -> Iterator[Widths]:
    """The widths of each SOAC, with those of the SOACs and loops in its points."""
    for stm in body.stms:
        match stm.exp:
            case Screma(width) | Hist(width) | Scatter(width):
                yield from ((width, *inner) for own in bodies(stm.exp) for inner in _in_points(own))
            case Loop() | If():
                yield from (path for own in bodies(stm.exp) for path in _paths(own))
            case _:
                pass


def _in_points(body: Body) -> Iterator[Widths]:
    """The widths of the SOACs and loops of a thread, outermost first, for each that has none inside."""
    yield ()
    for stm in body.stms:
        match stm.exp:
            case Screma(width) | Hist(width) | Scatter(width) | Loop(form=ForLoop(_, width)):
                own: Widths = (width,)
            case _:
                own = ()
        yield from ((*own, *path) for inner in bodies(stm.exp) for path in _in_points(inner))
