"""Shapes of the rules of fusion and tiling."""

from __future__ import annotations

from soac.ir import core
from soac.ir.types import BOOL, Var, i64
from tests.support.property.generate import Inputs, hist_of
from tests.support.property.make import I32, Block
from tests.support.property.operators import scalar_operator
from tests.support.property.parts import (
    branching,
    gathered,
    gone,
    indices,
    looping,
    mapped_ints,
    named,
    number,
    operate,
    outside,
    rows,
    scanned_rows,
    scattered,
)
from tests.support.property.shapes_flat import discard, with_map


def mapped_once(b: Block) -> Inputs:
    """What a map gives, for one reader or for several."""
    made = mapped_ints(b, rows(b, 1), (number(b),))
    if b.maker.chance(60):
        gone(b, made)
    return made


def with_map_map(b: Block) -> None:
    operate(b, mapped_once(b), (number(b),), mapped=1)


def with_map_reduce(b: Block) -> None:
    operate(b, mapped_once(b), (number(b),), reds=(scalar_operator(b),))


def with_map_scan(b: Block) -> None:
    operate(b, mapped_once(b), (number(b),), scans=(scalar_operator(b),))


def with_redomap_map(b: Block) -> None:
    op = scalar_operator(b)
    scans, reds = ((op,), ()) if b.maker.chance(50) else ((), (op,))
    made = operate(b, rows(b, 1), (number(b),), scans, reds, mapped=1)
    operate(b, named(made[-1:], b), (number(b),), reds=(scalar_operator(b),) if reds else (), mapped=1)


def with_map_scatter(b: Block) -> None:
    made = mapped_ints(b, rows(b, 1), (number(b),))
    gone(b, made)
    scattered(b, *made[0])


def with_map_hist(b: Block) -> None:
    made = mapped_ints(b, rows(b, 1), (number(b),))
    gone(b, made)
    hist_of(b, made, made[0][1].shape[0])


def with_neighbours(b: Block) -> None:
    given = rows(b, 1)
    operate(b, given, (number(b),), mapped=1)
    operate(b, given, (number(b),), reds=(scalar_operator(b),) if b.maker.chance(50) else (), mapped=1)


def with_gathered(b: Block) -> None:
    made = mapped_ints(b, rows(b, 1), (number(b),))
    gone(b, made)
    gathered(b, *made[0])


def with_loop_of_map(b: Block) -> None:
    """A loop whose body is a map of what it carries."""
    m = b.maker
    ((name, t),) = rows(b, 1)
    beside = indices(b, t.shape[0]) if m.chance(50) else ()

    def work(inner: Block) -> tuple[Var, ...]:
        return tuple(Var(made) for made, _ in mapped_ints(inner, ((inner.params[1], t), *beside), (number(b),)))

    looping(b, (t,), (Var(name),), m.pick((i64(3), *m.sizes)), work)


def with_through_rearrange(b: Block) -> None:
    ((name, t),) = rows(b, 3)
    made = scanned_rows(b, name, t)
    view = core.Type(t.prim, (t.shape[0], t.shape[2], t.shape[1]))
    turned_ = b.let("tr", view, core.Rearrange((0, 2, 1), made.name))
    gone(b, named((made,), b))
    operate(b, named((turned_,), b), mapped=1, work=lambda inner: discard(named((summed(inner),), inner)))


def summed(b: Block) -> Var:
    (name,) = b.params
    ((_, t),) = named((Var(name),), b)
    total = b.total(name, t)
    assert isinstance(total, Var)
    return total


def with_sink(b: Block) -> None:
    made = mapped_ints(b, rows(b, 1), (number(b),))
    gone(b, made)
    sides = [lambda inner: discard(named(operate(inner, made, reds=(scalar_operator(inner),)), inner)), with_map]
    if b.maker.chance(50):
        sides.reverse()
    branching(b, outside(b, BOOL), (I32,), *sides)


def with_sums_of_shared_rows(b: Block) -> None:
    """All pairs of two arrays: neighbours read the same row."""
    m = b.maker
    ((ys, t),) = rows(b, 1)
    ((zs, _),) = given = indices(b, m.pick((t.shape[0], *m.sizes)))
    del zs

    def work(inner: Block) -> None:
        operate(inner, ((ys, t),), (number(inner),), reds=(scalar_operator(inner),))

    operate(b, given, mapped=1, work=work)
