"""The traversal kit of kernel IR: its table is complete, and what follows from it fits together."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import chain

import pytest

from soac.ir.show import same
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KStm, KVar, Operand
from soac.kernels.kernel_ir.traverse import (
    ROLES,
    Renamed,
    bound,
    bound_inside,
    children,
    map_mentions,
    map_operands,
    mentions,
    names_in,
    operands,
    operands_inside,
    operators,
    rewritten,
    statements,
    variables_in,
    with_children,
)
from tests.kernels.kernel_ir.test_text import STATEMENTS

KINDS = kir.KStm.__args__
EXAMPLES = [pytest.param(stm, id=f"{name} {type(stm).__name__}") for name, stms in STATEMENTS.items() for stm in stms]
SPOKEN_OF = ("Operand", "KVar", "KStm", "KLambda", "Rhs")
ASSIGNED = {(kir.Assign, "var")}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_field_has_one_role(kind: type) -> None:
    """Operands, variables, lists and operators stand in the table once, and it names no other field."""
    roles = ROLES[kind]
    listed = [*roles.reads, *roles.reads_inside, *roles.binds, *roles.binds_inside, *roles.lists, *roles.operators]
    wanted = {f.name for f in fields(kind) if any(word in str(f.type) for word in SPOKEN_OF)}
    assert sorted(listed) == sorted(wanted - {name for other, name in ASSIGNED if other is kind})
    arrays = {f.name for f in fields(kind) if "KArray" in str(f.type)}
    assert {*roles.loads, *roles.stores} <= arrays


@pytest.mark.parametrize("stm", EXAMPLES)
def test_what_is_taken_apart_fits_together(stm: KStm) -> None:
    assert same(with_children(stm, children(stm)), stm)
    assert same(map_operands(stm, lambda x: x), stm)
    assert same(map_mentions(stm, lambda x: x), stm)
    alone = (stm,)
    assert rewritten(alone, lambda _: None) is alone
    assert rewritten((stm,), lambda _: ()) == ()


@pytest.mark.parametrize("stm", EXAMPLES)
def test_a_copy_has_names_of_its_own(stm: KStm) -> None:
    """What a statement makes is called otherwise, wherever it is used; all else is as it was."""
    copy = Renamed(".c", {}).statement(stm)
    inside = [*statements((stm,)), *statements(chain(*(op.body for op in operators(stm))))]
    made = {var.name for s in inside for var in (*bound(s), *bound_inside(s))}
    made |= {var.name for op in operators(stm) for var in (*op.left, *op.right)}
    assert list(names_in(copy)) == [f"{name}.c" if name in made else name for name in names_in(stm)]


@pytest.mark.parametrize("stm", EXAMPLES)
def test_operands_are_mentioned(stm: KStm) -> None:
    read = {x.name for x in (*operands(stm), *operands_inside(stm)) if isinstance(x, KVar)}
    assert read <= variables_in(stm)
    assert variables_in(stm) <= set(names_in(stm))
    assert all(isinstance(one, KVar | kir.KArray) for one in mentions(stm))


def test_operands_are_replaced_where_they_are_read() -> None:
    x, y, z = (KVar(name, kir.Prim.I64) for name in "xyz")

    def read(operand: Operand) -> Operand:
        return y if operand == x else operand

    loop = kir.For(z, x, (kir.Assign(x, x),))
    assert map_operands(loop, read) == replace(loop, bound=y)
    assert map_operands(kir.Assign(x, x), read) == kir.Assign(x, y)
