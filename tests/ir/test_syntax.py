"""The table of expressions: each has a row, and each of its fields that holds names or operands has a kind."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

from soac.ir import core
from soac.ir.syntax import FIELDS, OTHERS, SYNTAX

PLAIN = {"Op", "Prim", "bool", "int", "str"}
"""Types of fields that may go without a kind: all that is in them stays when names change."""


def test_each_expression_has_one_row() -> None:
    nodes = [form.node for form in (*SYNTAX, *OTHERS)]
    assert len(nodes) == len(set(nodes))
    assert set(nodes) == set(get_args(core.Exp))


def test_fields_that_hold_names_have_a_kind() -> None:
    for node, found in FIELDS.items():
        types = {f.name: f.type for f in fields(node)}
        without = {name for name, kind in found if not kind and types[name] not in PLAIN}
        assert without == ({"inits"} if node is core.Loop else set()), node
