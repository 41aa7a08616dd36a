"""Reductions of the rows of a large matrix and of its columns, in one pass over it.

    ys = segmap (i < n) { g(redomap m op f(a[i, ..])) };  zs = segmap (j < m) { redomap n op' f'(ys, a[.., j]) }

    ⟶   block = chunk of rows:
          for each R rows i: y = g(reduce op (threads j { f(a[i, j]) })), R times; ys[i] = y, R times
                             threads j { sums[j] op'= f'(y, a[i, j]), R times }

A large matrix comes from memory once: its rows wait in the nearer caches to be read a second time. A product with a
matrix and one with its transposed, of another vector or of what the first gives; margins of a table; gradients of
linear models. The sums of the columns are those of `streamed_rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import replace

from ....ir import core
from ....ir.core import Body, Fix, If, Index, Param, PrimOp, SegMap, Stm
from ....ir.ops import Op, can_fail
from ....ir.records import dataclass
from ....ir.rename import substitute_exp
from ....ir.traverse import all_exps, free_in_body, free_in_stm
from ....ir.types import Atom, Const, Name, Type, Var, i64
from ...host_ir.launch_parameters import Kind
from ..host_builder import HostBuilder, either
from ..kernel_builder import Builder, NotLowerable, Operand, Value
from ..queries import may_wait
from ..table import Segop, in_memory, run
from .rows_side_by_side import is_large, matrix_of_rows, rows_together
from .segmap import POINTS, points_of, tall_reduction_of
from .segred import WORK, Chunked, combine
from .streamed_rows import BLOCKS, LEAST_ROWS, streamed_kernel

MOST_COLUMNS = 1 << 13
"""A cache is to hold some rows until they are read again."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements of a body, `first` before `second`: one reduces the rows of a matrix and one its columns."""

    first: Stm
    second: Stm
    matrix: Name
    rows_first: bool


def pairs_in(stms: tuple[Stm, ...], guards: Container[Name]) -> Mapping[Name, Pair]:
    """The pairs among the statements of a body, by the first results of their second ones; `guards`: conditions, of
    which the side that holds for large sizes counts."""
    found: dict[Name, Pair] = {}
    taken: set[int] = set()
    maps = {k: exp for k, stm in enumerate(stms) if (exp := outermost(stm, guards)) is not None}
    rows = {k: name for k, exp in maps.items() if (name := matrix_of_rows(exp)) is not None}
    for k, matrix in rows.items():
        for j, exp in maps.items():
            first, second = sorted((k, j))
            if k in taken or j in taken or j in rows or matrix not in free_in_body(exp.body):
                continue
            if may_wait(stms[first], stms[first + 1 : second]):
                taken |= {k, j}
                found[stms[second].pat[0].name] = Pair(stms[first], stms[second], matrix, k == first)
    return found


def outermost(stm: Stm, guards: Container[Name]) -> SegMap | None:
    """The map over one dimension that a statement is, at once or for large sizes."""
    match stm.exp:
        case If(Var(cond), Body((Stm(pat=pat, exp=SegMap() as exp),), result)) if cond in guards:
            whole = result == tuple(Var(p.name) for p in pat)
        case SegMap() as exp:
            whole = True
        case _:
            return None
    plain = exp.level is core.Level.THREAD and len(exp.space.dims) == 1 and not any(t.shape for t in exp.ret)
    return exp if whole and plain and not any(map(_fails, all_exps(exp.body))) else None


def _fails(exp: core.Exp) -> bool:
    """A failure would be found before or after those of other statements."""
    match exp:
        case PrimOp(op, prim, (*_, last)):
            return can_fail(op, prim) and not (isinstance(last, Const) and last.value > 0)
        case Index(_, _, safe):
            return not safe
        case _:
            return False


# ---- one pass ------------------------------------------------------------------------------------------------------


def run_pair(h: HostBuilder, pair: Pair, guards: Container[Name], apart: Callable[[Stm, Stm], None]) -> None:
    """Emits both in one pass where the matrix is large, else each for itself, by `apart`, which gets a statement with
    other results and the statement. Raises NotLowerable."""
    first, second = pair.first, pair.second

    def named(pat: tuple[Param, ...]) -> tuple[Stm, Stm]:
        """The statements with other names of their results."""
        mine, others = pat[: len(first.pat)], pat[len(first.pat) :]
        renamed: dict[Name, Atom] = {p.name: Var(q.name) for p, q in zip(first.pat, mine, strict=True)}
        return replace(first, pat=mine), replace(second, pat=others, exp=substitute_exp(second.exp, renamed))

    def together(pat: tuple[Param, ...]) -> None:
        one, other = named(pat)
        _one_pass(h, *((one, other) if pair.rows_first else (other, one)), pair.matrix, guards)

    def separate(pat: tuple[Param, ...]) -> None:
        for renamed, stm in zip(named(pat), (first, second), strict=True):
            apart(renamed, stm)

    either(h, (*first.pat, *second.pat), _fit(h, h.types[pair.matrix]), together, separate, second.loc)


def _fit(h: HostBuilder, matrix: Type) -> Atom:
    """bool: must the matrix come from memory for each pass, and do some rows of it fit a cache?"""
    columns = matrix.shape[-1]
    width = h.choice(is_large(h, matrix), columns, i64(MOST_COLUMNS + 1), "width")
    return h.op(Op.LE, width, i64(MOST_COLUMNS), base="one_pass")


def _one_pass(h: HostBuilder, of_rows: Stm, of_columns: Stm, matrix: Name, guards: Container[Name]) -> None:
    """A block for each chunk of rows, and what combines the sums of the columns."""
    row_map, column_map = outermost(of_rows, guards), outermost(of_columns, guards)
    assert row_map is not None
    assert column_map is not None
    rows = in_memory(Segop(h, of_rows, row_map, of_rows.pat[0].name.base, []))
    columns = Segop(h, of_columns, column_map, of_columns.pat[0].name.base, [])
    found = tall_reduction_of(columns)
    if isinstance(found, str):
        raise NotLowerable(found)
    height, width = h.types[matrix].shape
    reduction, taken = found.exp, _taken(found.exp, rows)
    if reduction.space.widths != (width, height) or row_map.space.widths != (height,):
        raise NotLowerable("not all rows and columns")
    if found.rest is not None and not set(free_in_body(found.rest.body)).isdisjoint(name for name, _ in rows.outs):
        raise NotLowerable("what follows reads the rows' results")
    pat = found.pat or of_columns.pat
    types = [Type(p.type.prim, ()) for p in pat]
    length = h.op(Op.MAX, h.ceil_div(height, BLOCKS), i64(LEAST_ROWS))
    length = h.op(Op.MIN, length, h.size(Kind.CHUNK), base="length")
    chunks = h.ceil_div(height, length)
    partial = [h.scratch("partial", t.array_of(width, chunks)) for t in types]
    kept = tuple(stm for stm in reduction.body.stms if stm.pat[0].name not in taken)
    exp = replace(reduction, body=replace(reduction.body, stms=kept))

    def given(b: Builder, numbers: list[Operand]) -> list[dict[Name, Value]]:
        found = rows_together(b, rows, (), numbers)
        return [{name: values[k] for name, k in taken.items()} for values in found]

    made = streamed_kernel(h, exp, partial, length, width, rows.base, given)
    h.launch(made, chunks, h.product((height, width)), WORK, of_columns.loc)
    combine(Chunked(h, of_columns, reduction, columns.base, [], chunks, length, partial, types), pat)
    if found.rest is not None:
        run(points_of(replace(columns, exp=found.rest)), POINTS)


def _taken(exp: core.SegRed, rows: Segop[SegMap]) -> dict[Name, int]:
    """The elements of the rows' results that the reduction reads, each at the row that it is of. Raises NotLowerable
    where it reads others."""
    places, along = {name: k for k, (name, _) in enumerate(rows.outs)}, Fix(Var(exp.space.indices[-1]))
    taken = {
        stm.pat[0].name: places[stm.exp.array]
        for stm in exp.body.stms
        if isinstance(stm.exp, Index) and stm.exp.array in places and stm.exp.dims == (along,)
    }
    if any(name in places for stm in exp.body.stms if stm.pat[0].name not in taken for name in free_in_stm(stm)):
        raise NotLowerable("reads results of other rows")
    return taken
