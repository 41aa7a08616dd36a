"""Which conditions of the compiler have been true, false, and at their bounds: `install()` before it is imported.

Each operand of `and`, `or` and `not`, each test, guard and element of `any` and `all` counts when it is true and when
it is false, a comparison of order when both sides are equal, a statement when it runs. A mutant that drops a condition
or moves a bound shows in a program that reaches that outcome and in no other.
"""

from __future__ import annotations

import ast
import builtins
from contextlib import suppress
from operator import ge, gt, le, lt
from typing import Any

from tests.support.mutation.record import load_changed

HELD, ORDERED, RAN = "__condition_held__", "__order_held__", "__statements_that_ran__"
ORDERS: dict[type[ast.cmpop], str] = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
FUNCTIONS = {"lt": lt, "le": le, "gt": gt, "ge": ge}


class Outcomes:
    """A byte for each outcome of a place; `places`: where each is."""

    def __init__(self) -> None:
        self.reached = bytearray(1 << 19)
        self.places: list[str] = []

    def held(self, at: int, value: Any) -> Any:
        with suppress(ValueError):
            self.reached[at + bool(value)] = 1
        return value

    def ordered(self, at: int, name: str, x: Any, y: Any) -> Any:
        with suppress(ValueError):
            if x == y:
                self.reached[at + 2] = 1
        return self.held(at, FUNCTIONS[name](x, y))

    def taken(self) -> set[int]:
        """What was reached since the last time."""
        found, at = set[int](), self.reached.find(1)
        while at >= 0:
            found.add(at)
            self.reached[at] = 0
            at = self.reached.find(1, at)
        return found

    def place(self, file: str, node: Any, *outcomes: str) -> int:
        self.places += [f"{file}:{node.lineno}:{node.col_offset} {outcome}" for outcome in outcomes]
        return len(self.places) - len(outcomes)


class _Marked(ast.NodeTransformer):
    def __init__(self, file: str, outcomes: Outcomes) -> None:
        self.file, self.outcomes = file, outcomes

    def condition(self, node: Any) -> Any:
        """A condition whose parts are conditions is known by these."""
        match node:
            case ast.BoolOp():
                node.values = [self.condition(value) for value in node.values]
            case ast.UnaryOp(op=ast.Not()):
                node.operand = self.condition(node.operand)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in ORDERS:
                at = self.outcomes.place(self.file, node, "false", "true", "equal")
                given = [ast.Constant(at), ast.Constant(ORDERS[type(op)]), self.visit(left), self.visit(right)]
                return ast.copy_location(ast.Call(ast.Name(ORDERED, ast.Load()), given, []), node)
            case _:
                at = self.outcomes.place(self.file, node, "false", "true")
                given = [ast.Constant(at), self.generic_visit(node)]
                return ast.copy_location(ast.Call(ast.Name(HELD, ast.Load()), given, []), node)
        return node

    def tested(self, node: Any) -> Any:
        node.test = self.condition(node.test)
        for name in ("body", "orelse"):
            part = getattr(node, name)
            setattr(node, name, [self.visit(one) for one in part] if isinstance(part, list) else self.visit(part))
        return node

    visit_If = visit_While = visit_IfExp = tested
    visit_BoolOp = condition

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        return self.condition(node) if isinstance(node.op, ast.Not) else self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        return self.condition(node) if len(node.ops) == 1 and type(node.ops[0]) in ORDERS else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        node = self.generic_visit(node)  # type: ignore[assignment]
        match node:
            case ast.Call(func=ast.Name("any" | "all"), args=[ast.GeneratorExp() as each]):
                if not isinstance(each.elt, ast.BoolOp | ast.UnaryOp):
                    each.elt = self.held(each.elt)
            case _:
                pass
        return node

    def held(self, node: ast.expr) -> ast.expr:
        at = self.outcomes.place(self.file, node, "false", "true")
        return ast.copy_location(ast.Call(ast.Name(HELD, ast.Load()), [ast.Constant(at), node], []), node)

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        node.iter = self.visit(node.iter)
        node.ifs = [self.condition(one) for one in node.ifs]
        return node

    def visit_match_case(self, node: ast.match_case) -> Any:
        node.guard = self.condition(node.guard) if node.guard is not None else None
        node.body = [self.visit(one) for one in node.body]
        return node

    def marked(self, stms: list[ast.stmt]) -> list[ast.stmt]:
        """Where a list of statements begins to run."""
        at = self.outcomes.place(self.file, stms[0], "runs")
        (own,) = ast.parse(f"{RAN}[{at}] = 1").body
        return [ast.copy_location(own, stms[0]), *stms]


def install() -> Outcomes:
    outcomes = Outcomes()
    for name, value in ((HELD, outcomes.held), (ORDERED, outcomes.ordered), (RAN, outcomes.reached)):
        setattr(builtins, name, value)

    def change(file: str, tree: Any) -> None:
        marked = _Marked(file, outcomes)
        marked.visit(tree)
        for node in list(ast.walk(tree)):
            if isinstance(node, ast.If | ast.While | ast.For | ast.match_case | ast.FunctionDef):
                node.body = marked.marked(node.body)
                if getattr(node, "orelse", []):
                    node.orelse = marked.marked(node.orelse)  # type: ignore[union-attr]

    load_changed(change)
    return outcomes
