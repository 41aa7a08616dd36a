"""What is changed: every mutant of a source text, a change of one place each.

Besides the usual kinds (comparisons, conditions, arithmetic, numbers, statements left out) there are those that faults
of a compiler have had: a predicate that answers the opposite, a guard dropped, a range or slice one short, operations
exchanged, a permutation for its inverse, operands swapped, a case or an element left out. Types, docstrings, texts,
assertions and what is raised are left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

EXCHANGED_OPS = ("ADD SUB", "MIN MAX", "LT LE", "GT GE", "EQ NE", "AND OR", "MUL ADD", "DIV REM", "SHL SHR")
OTHER_OP = {a: b for pair in EXCHANGED_OPS for a, b in (pair.split(), pair.split()[::-1])} | {"MUL": "ADD"}
OTHER_COMPARISON: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
OTHER_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.FloorDiv: "*",
    ast.Mod: "//",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.LShift: ">>",
    ast.RShift: "<<",
}
OTHER_FUNCTION = {"min": "max", "max": "min", "any": "all", "all": "any", "reversed": "", "sorted": "list"}
PAIRS = ("left right", "low high", "old new", "first second", "then orelse", "before after", "start stop")
ALIKE = tuple(set(pair.split()) for pair in PAIRS)
PREDICATE = re.compile(r"_*(is|are|has|can|may|must|same|shares?|overlaps?|touches|alike)(_|$)")


@dataclass(frozen=True, slots=True)
class Mutant:
    """`source[start:end]` becomes `new`; offsets are of bytes. `first` and `last`: the lines of its statement."""

    file: str
    kind: str
    start: int
    end: int
    new: str
    first: int
    last: int
    name: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


def mutants_of(file: str, text: str) -> list[Mutant]:
    """In the order of the text."""
    digest = sha256(text.encode()).hexdigest()
    found: dict[str, Mutant] = {}
    for change in _Changes(text.encode()).of(ast.parse(text)):
        name = sha256(f"{digest} {change.start} {change.end} {change.new}".encode()).hexdigest()[:12]
        lines = change.statement.lineno, change.statement.end_lineno or 0
        found[name] = Mutant(file, change.kind, change.start, change.end, change.new, *lines, name)
    return sorted(found.values(), key=lambda mutant: (mutant.start, mutant.end, mutant.new))


def differs(mutant: Mutant, source: bytes) -> bool:
    """Whether the mutant is another program that can be compiled."""
    try:
        return ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


# ---- the kinds ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Change:
    kind: str
    start: int
    end: int
    new: str
    statement: ast.stmt


class _Changes:
    """The changes of a tree, and where its nodes are in the text."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))

    def place(self, node: ast.expr | ast.stmt | ast.pattern) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.place(node)
        return self.source[start:end].decode()

    def of(self, tree: ast.Module) -> Iterator[_Change]:
        for statement in tree.body:
            yield from self.of_statement(statement, "")

    def of_statement(self, stm: ast.stmt, gives: str) -> Iterator[_Change]:
        """`gives`: the type that the function around it returns."""
        for kind, node, new in self.at_statement(stm, gives):
            yield _Change(kind, *self.place(node), new, stm)
        match stm:
            case ast.FunctionDef(body=body, returns=returns):
                for inner in body:
                    yield from self.of_statement(inner, self.text(returns) if returns is not None else "")
                return
            case ast.Assert() | ast.Raise() | ast.Import() | ast.ImportFrom():
                return
            case ast.Expr(ast.Constant(str())):
                return
            case _:
                pass
        if _is_for_types(stm):
            return
        for part in _parts(stm):
            if isinstance(part, ast.stmt):
                yield from self.of_statement(part, gives)
            elif isinstance(part, ast.match_case):
                yield from self.of_case(part, stm)
                for inner in part.body:
                    yield from self.of_statement(inner, gives)
            else:
                yield from self.of_expression(part, _line_of(part, stm))

    def of_case(self, case: ast.match_case, stm: ast.stmt) -> Iterator[_Change]:
        _, end = self.place(case.pattern)
        inside = ast.Pass(lineno=case.pattern.lineno, end_lineno=case.body[0].lineno)
        if case.guard is None:
            refuted = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
            if not refuted:
                yield _Change("case left out", end, end, " if False", inside)
        else:
            first, last = self.place(case.guard)
            yield _Change("case left out", first, last, "False", inside)
            yield _Change("guard dropped", first, last, "True", inside)
            yield from self.of_expression(case.guard, inside)

    def at_statement(self, stm: ast.stmt, gives: str) -> Iterator[tuple[str, ast.stmt | ast.expr, str]]:
        match stm:
            case ast.If(test=test) | ast.While(test=test) if not _is_for_types(stm):
                yield "guard dropped", test, "False"
                if isinstance(stm, ast.If):
                    yield "guard dropped", test, "True"
            case ast.Return(ast.expr() as value) if gives == "bool":
                yield "answer inverted", value, f"not ({self.text(value)})"
            case ast.Return(ast.expr() as value) if gives.endswith("| None") and not _is_none(value):
                yield "does not apply", value, "None"
            case ast.Expr(ast.Call()) | ast.AugAssign():
                yield "statement left out", stm, "pass"
            case ast.Break():
                yield "loop", stm, "continue"
            case ast.Continue():
                yield "loop", stm, "break"
            case _:
                pass

    def of_expression(self, node: ast.expr, stm: ast.stmt) -> Iterator[_Change]:
        for kind, at, new in self.at_expression(node):
            yield _Change(kind, *self.place(at), new, stm)
        for part in _parts(node):
            if isinstance(part, ast.expr):
                yield from self.of_expression(part, _line_of(part, stm))

    def at_expression(self, node: ast.expr) -> Iterator[tuple[str, ast.expr, str]]:
        text = self.text
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if new := OTHER_COMPARISON.get(type(op)):
                yield "comparison", node, f"{text(left)} {new} {text(right)}"
                if isinstance(right, ast.Tuple):
                    yield from self.fewer(right, right.elts)
            case ast.BoolOp(op=op, values=values):
                word, other = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                yield "and, or", node, "(" + f" {other} ".join(f"({text(v)})" for v in values) + ")"
                for k in range(len(values)):
                    kept = [f"({text(v)})" for j, v in enumerate(values) if j != k]
                    yield "condition dropped", node, "(" + f" {word} ".join(kept) + ")"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield "answer inverted", node, f"({text(operand)})"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                yield "arithmetic", node, text(operand)
            case ast.IfExp(body=body, orelse=orelse):
                yield "guard dropped", node, f"({text(body)})"
                yield "guard dropped", node, f"({text(orelse)})"
            case ast.BinOp(left=left, op=op, right=right) if new := OTHER_ARITHMETIC.get(type(op)):
                yield "arithmetic", node, f"{text(left)} {new} {text(right)}"
            case ast.Constant(bool() as value):
                yield "constant", node, str(not value)
            case ast.Constant(int() as value):
                yield "constant", node, f"{value + 1}"
                if value:
                    yield "constant", node, f"{value - 1}"
            case ast.Attribute(value=ast.Name("Op"), attr=name) if name in OTHER_OP:
                yield "operation", node, f"Op.{OTHER_OP[name]}"
            case ast.Subscript(slice=ast.Slice() as part):
                yield from self.short_slice(part)
            case ast.List(elts=parts, ctx=ast.Load()) | ast.Set(elts=parts):
                yield from self.fewer(node, parts)
            case ast.Tuple(elts=parts, ctx=ast.Load()) if any(isinstance(part, ast.Starred) for part in parts):
                yield from self.fewer(node, parts)
            case ast.Call():
                yield from self.other_call(node)
            case _:
                pass
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name.endswith("perm") and isinstance(getattr(node, "ctx", None), ast.Load):
            yield "inverse permutation", node, f"tuple(({text(node)}).index(_k) for _k in range(len({text(node)})))"
        if isinstance(node, ast.Attribute) and PREDICATE.match(name):
            yield "answer inverted", node, f"(not {text(node)})"

    def short_slice(self, part: ast.Slice) -> Iterator[tuple[str, ast.expr, str]]:
        if part.upper is not None and not isinstance(part.upper, ast.Constant):
            yield "one short", part.upper, f"{self.text(part.upper)} - 1"
        if part.lower is not None and not isinstance(part.lower, ast.Constant):
            yield "one short", part.lower, f"{self.text(part.lower)} + 1"
        if part.step is not None:
            yield "order", part.step, "1"

    def fewer(self, node: ast.expr, parts: list[ast.expr]) -> Iterator[tuple[str, ast.expr, str]]:
        """A list, tuple or set with an element left out."""
        mark = {ast.List: "[]", ast.Set: "{}"}.get(type(node), "()")
        if isinstance(node, ast.Set) and len(parts) == 1:
            return
        for k in range(len(parts)):
            kept = "".join(f"{self.text(p)}, " for j, p in enumerate(parts) if j != k)
            yield "element left out", node, f"{mark[0]}{kept.strip()}{mark[1]}"

    def other_call(self, node: ast.Call) -> Iterator[tuple[str, ast.expr, str]]:
        text, arguments = self.text, [a for a in node.args if not isinstance(a, ast.Starred)]
        name = text(node.func).rpartition(".")[2]
        if PREDICATE.match(name):
            yield "answer inverted", node, f"(not {text(node)})"
        if name == "range" and arguments:
            last = arguments[min(len(arguments), 2) - 1]
            yield "one short", last, f"{text(last)} - 1"
        if name in OTHER_FUNCTION:
            yield "order" if name in ("reversed", "sorted") else "operation", node.func, OTHER_FUNCTION[name]
        if name not in ("isinstance", "zip", "range") and len(arguments) > 1:
            first, second = arguments[:2]
            if isinstance(first, ast.Name) and isinstance(second, ast.Name) and _are_alike(first.id, second.id):
                start, end = text(first), text(second)
                swapped = text(node).replace(f"{start}, {end}", f"{end}, {start}", 1)
                if swapped != text(node):
                    yield "operands swapped", node, swapped


def _parts(node: ast.AST) -> Iterator[ast.stmt | ast.expr | ast.match_case]:
    """What is below a node, but for types, decorators and texts."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "type_comment"):
            continue
        for one in value if isinstance(value, list) else (value,):
            if isinstance(one, ast.stmt | ast.expr | ast.match_case):
                if not isinstance(one, ast.JoinedStr):
                    yield one
            elif isinstance(one, ast.comprehension | ast.keyword | ast.arguments | ast.withitem | ast.ExceptHandler):
                yield from _parts(one)


def _line_of(part: ast.expr, stm: ast.stmt) -> ast.stmt:
    """A statement in which others are counts with the lines of its head only."""
    if hasattr(stm, "body"):
        return ast.Pass(lineno=part.lineno, end_lineno=part.end_lineno)
    return stm


def _are_alike(x: str, y: str) -> bool:
    """Whether two names seem to stand for the same kind of thing: x and y, lo and hi, before and after."""
    return max(len(x), len(y)) <= 2 or {x, y} in ALIKE


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _is_for_types(stm: ast.stmt) -> bool:
    """What only a checker of types runs, or aliases of types."""
    match stm:
        case ast.If(test=ast.Name("TYPE_CHECKING")):
            return True
        case ast.Assign(value=ast.BinOp(op=ast.BitOr()) | ast.Subscript()):
            return stm.col_offset == 0
        case _:
            return False
