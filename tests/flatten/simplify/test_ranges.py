"""What bounds say of an index or a comparison holds for all numbers that fit what is known: every form of index against
every size, width and condition, by enumeration."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soac.flatten.aliasing.classes import Sharing
from soac.flatten.simplify import bounds
from soac.flatten.simplify.env import Env, FrameKind
from soac.ir.core import Fix, Param, PrimOp, Slice, Stm
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op, result_type
from soac.ir.types import BOOL, I64, Atom, Const, Name, Names, Prim, Type, Var, i64, scalar

N, C, J = (Name(base, k) for k, base in enumerate("nij"))
XS, T = Name("xs", 8), Name("t", 9)
MOST = 2**63 - 1

OPERATORS: dict[type[ast.AST], Op] = {
    ast.Add: Op.ADD, ast.Sub: Op.SUB, ast.Mult: Op.MUL, ast.FloorDiv: Op.DIV, ast.Mod: Op.MOD,
    ast.And: Op.AND, ast.Or: Op.OR, ast.Not: Op.NOT,
    ast.Lt: Op.LT, ast.LtE: Op.LE, ast.Gt: Op.GT, ast.GtE: Op.GE, ast.Eq: Op.EQ, ast.NotEq: Op.NE,
}  # fmt: skip
CALLS = {"min": Op.MIN, "max": Op.MAX}

WIDTHS = ("n", "n + 1", "n - 1", "3", "n // 2", "(n - 1) // 2", "(n + 1) // 2", "n // 3", "n // 2 + 1")
SIZES = ("n", "n + 1", "n - 1", "n + 2", "n * 2", "n * 2 + 1", "n // 2", "3")
INDICES = (
    "i", "i + 1", "i - 1", "i + 2", "n - 1 - i", "n - i", "n - 2 - i", "i // 2", "i % n", "(i + 1) % n", "i % 3",
    "j", "j + 1", "j - 1", "n - 1 - j", "j % n", "j // 2", "min(i, n - 1)", "min(j, n - 1)", "min(max(j, 0), i)",
    "max(i, j)", "i * 2", "i * 2 + 1", "i * 2 - 1", "i * 2 + 2", "j * 2 + 1", "0", "2", "3", "-1", "n - 1", "n",
)  # fmt: skip
FACTS = (
    "", "i < 2", "i != 0", "i >= 1", "j < n", "j >= 0 and j < n", "j >= 0 and j <= n", "0 <= j and j + 1 < n",
    "not (j < 0 or j >= n)", "j > 0 and not (j > n)", "j == i", "j >= 0 and j <= i", "i + 1 < n", "i < j and j <= n",
    "1 <= j and j < i", "j == n", "j < 3 and not (j < 1)", "i + 2 <= n and j == 1",
)  # fmt: skip
COMPARED = ("i", "i + 1", "i + 2", "i - 1", "j", "j + 1", "n", "n + 1", "n - 1", "0", "1",
            "i * 2", "i * 2 + 1", "i * 2 + 2", "i * 2 + 3", "i * 2 - 1", "i * 3 + 3", "n * 2")  # fmt: skip
KNOWN = {
    ("i", "n", "n", ""),
    ("i + 1", "n + 1", "n", ""),
    ("n - 1 - i", "n", "n", ""),
    ("i // 2", "n", "n", ""),
    ("i % n", "n", "n", ""),
    ("j % n", "n", "n", ""),
    ("min(max(j, 0), i)", "n", "n", ""),
    ("i * 2 + 1", "n * 2", "n", ""),
    ("i * 2", "n * 2 + 1", "n + 1", ""),
    ("2", "3", "3", ""),
    ("i + 1", "n", "n - 1", ""),
    ("j", "n", "n", "j >= 0 and j < n"),
    ("j", "n", "n", "not (j < 0 or j >= n)"),
    ("i - 1", "n", "n", "i != 0"),
    ("n - 1 - j", "n", "n", "j >= 0 and j < n"),
    ("j - 1", "n", "n", "j > 0 and not (j > n)"),
    ("i", "3", "n", "i < 2"),
}
"""Some of what must be proved: (index, size, width, condition)."""
DECIDED = {
    ("0 <= i", "n", ""),
    ("i + 1 <= n", "n", ""),
    ("n > i", "n", ""),
    ("n >= i + 1", "n", ""),
    ("j < n", "n", "j >= 0 and j < n"),
    ("0 <= i * 2", "n // 2", ""),
    ("i * 2 <= i * 2 + 2", "n // 2", ""),
    ("i * 2 + 2 <= n", "n // 2", ""),
    ("i * 3 + 3 <= n", "n // 3", ""),
}
EDGES = (-(2**63), -2, -1, 0, 1, 2, 3, 4, 6, MOST - 2, MOST - 1, MOST)
MEANING: dict[Op, Callable[..., Any]] = {
    Op.ADD: np.add, Op.SUB: np.subtract, Op.MUL: np.multiply, Op.DIV: np.floor_divide, Op.MOD: np.mod,
    Op.MIN: np.minimum, Op.MAX: np.maximum, Op.AND: np.logical_and, Op.OR: np.logical_or, Op.NOT: np.logical_not,
    Op.LT: np.less, Op.LE: np.less_equal, Op.GT: np.greater, Op.GE: np.greater_equal, Op.EQ: np.equal,
    Op.NE: np.not_equal,
}  # fmt: skip


class Known:
    """An environment in which i counts up to a width and a condition holds, and numbers that fit it."""

    def __init__(self, width: str, fact: str) -> None:
        self.names, self.atoms, self.numbers = Names(100), dict[str, Atom](), dict[Name, np.ndarray]()
        self.env = Env(self.names, Sharing(), {}, lambda stm: None)
        self.env.open(FrameKind.ROOT, runs=True)
        self.env.bind((Param(N, I64), Param(XS, Type(Prim.I32, (Var(N),)))))
        self.env.bind(Param(name, I64) for name in (C, J))
        self.env.ranges[C] = bounds.counting(self.atom(width), self.env)
        cases = np.array(list(itertools.product([e for e in EDGES if e >= 0], EDGES, EDGES)), np.int64)
        n, i, j = cases.T
        self.numbers = {N: n, C: i, J: j}
        size, fits = self.size(width)
        i = np.where(i > 6, size - (MOST - i) - 1, i)  # the last ones
        self.numbers[C] = i
        self.numbers[J] = np.select([j == 4, j == 6], [n - 1, i + 1], j)
        fits &= (i >= 0) & (i < size)
        if fact:
            bounds.assume(self.atom(fact), True, self.env)
            fits &= self.value(self.atom(fact))
        self.numbers = {name: numbers[fits] for name, numbers in self.numbers.items()}

    def atom(self, text: str) -> Atom:
        """What a text stands for; equal ones are computed once."""
        if text not in self.atoms:
            self.atoms[text] = self.of(ast.parse(text, mode="eval").body)
        return self.atoms[text]

    def of(self, tree: ast.expr) -> Atom:
        match tree:
            case ast.Constant(int() as value):
                return i64(value)
            case ast.UnaryOp(ast.USub(), ast.Constant(int() as value)):
                return i64(-value)
            case ast.Name(name):
                return Var({"n": N, "i": C, "j": J}[name])
            case ast.BinOp(x, op, y) | ast.Compare(x, [op], [y]) | ast.BoolOp(op, [x, y]):
                return self.made(OPERATORS[type(op)], x, y)
            case ast.UnaryOp(op, x):
                return self.made(OPERATORS[type(op)], x)
            case ast.Call(ast.Name(name), [x, y]):
                return self.made(CALLS[name], x, y)
            case _:
                raise AssertionError(ast.dump(tree))

    def made(self, op: Op, *args: ast.expr) -> Atom:
        prim = Prim.BOOL if op in (Op.AND, Op.OR, Op.NOT) else Prim.I64
        exp = PrimOp(op, prim, tuple(self.atom(ast.unparse(arg)) for arg in args))
        param = Param(self.names.fresh("t"), scalar(result_type(op, prim)))
        self.env.place(Stm((param,), exp, (), (), NOWHERE), 0)
        return Var(param.name)

    def value(self, atom: Atom, dtype: type = np.int64) -> Any:
        """For all numbers; i64 wraps."""
        if isinstance(atom, Const):
            return np.asarray(atom.value, dtype)
        exp = self.env.definition(atom)
        if exp is None:
            return self.numbers[atom.name].astype(dtype)
        assert isinstance(exp, PrimOp)
        return MEANING[exp.op](*(self.value(arg, dtype) for arg in exp.args))

    def size(self, text: str) -> tuple[Any, Any]:
        """A size, and where there may be an array of it: it is not negative, and has not wrapped."""
        value, nearly = (self.value(self.atom(text), dtype) for dtype in (np.int64, np.float64))
        return value, (value >= 0) & (np.abs(value - nearly) < 2.0**62)

    def array(self, size: str) -> Name:
        """An array of this size."""
        name = self.names.fresh("ys")
        self.env.types[name] = Type(Prim.I32, (self.atom(size),))
        return name


CONTEXTS = [*((width, "") for width in WIDTHS[2:]), *itertools.product(WIDTHS[:2], FACTS)]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what wraps, and division by zero


@pytest.fixture(scope="module")
def contexts() -> list[Known]:
    return [Known(width, fact) for width, fact in CONTEXTS]


def test_an_index_that_is_known_to_be_in_bounds_is(contexts: list[Known]) -> None:
    proved: set[tuple[str, ...]] = set()
    for known, (width, fact) in zip(contexts, CONTEXTS, strict=True):
        for size in SIZES:
            array, (end, exists) = known.array(size), known.size(size)
            for text in INDICES:
                index = known.atom(text)
                if bounds.in_bounds(array, (Fix(index),), known.env):
                    at, fails = known.value(index), "% n" in text and known.numbers[N] == 0
                    assert np.all(~exists | fails | ((at >= 0) & (at < end))), (text, size, width, fact)
                    proved.add((text, size, width, fact))
    assert proved >= KNOWN


@pytest.mark.whole
def test_a_comparison_that_is_decided_holds(contexts: list[Known]) -> None:
    decided: set[tuple[str, ...]] = set()
    for known, (width, fact) in zip(contexts, CONTEXTS, strict=True):
        for x, y in itertools.permutations(COMPARED, 2):
            for op, sign in ((Op.LT, "<"), (Op.LE, "<="), (Op.GT, ">"), (Op.GE, ">=")):
                pair = known.atom(x), known.atom(y)
                test = Stm((Param(T, BOOL),), PrimOp(op, Prim.I64, pair), (), (), NOWHERE)
                if bounds.decide_comparison(test, known.env) is not None:
                    assert np.all(MEANING[op](*map(known.value, pair))), (x, sign, y, width, fact)
                    decided.add((f"{x} {sign} {y}", width, fact))
    assert decided >= DECIDED


@pytest.mark.parametrize("width", WIDTHS)
def test_an_index_in_a_map_that_has_rows(width: str) -> None:
    known = Known(width, "")
    known.env.open(FrameKind.LAMBDA, runs=False, width=known.atom(width))
    for size, k in itertools.product(SIZES, range(-1, 5)):
        array, (end, exists) = known.array(size), known.size(size)
        if bounds.in_bounds_at(array, (Fix(i64(k)),), known.env.here, known.env):
            assert np.all(~exists | ((k >= 0) & (k < end))), (size, k)
        else:
            assert (size, k) != (width, 0)


def test_a_constant_slice_is_in_bounds() -> None:
    known = Known("n", "")
    for size, start, count, stride in itertools.product(range(4), range(-1, 4), range(-1, 4), range(-3, 4)):
        array, slice_ = known.array(str(size)), Slice(i64(start), i64(count), i64(stride))
        places = [start + k * stride for k in range(count)]
        holds = count >= 0 and all(0 <= place < size for place in places)
        found = bounds.in_bounds(array, (slice_,), known.env)
        assert holds if found else not holds or (start, stride) == (0, 1), (size, start, count, stride)


@pytest.mark.parametrize("size", SIZES)
def test_a_slice_of_all(size: str) -> None:
    known = Known("n", "")
    array = known.array(size)
    found = {
        count for count in SIZES if bounds.in_bounds(array, (Slice(i64(0), known.atom(count), i64(1)),), known.env)
    }
    assert found == {size}
