"""Rules for literals: a view of a small array that is written out, an update of one, or a choice of some, is a literal
again.

Its elements are then values like others, which a thread has in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ...ir.core import ArrayLit, Body, Concat, Fix, If, Index, Param, Rearrange, Replicate, Reshape, Slice, Stm, Update
from ...ir.types import Atom, Name, Type, Var, i64
from .env import Env, known_i64
from .views import is_whole

MOST, BRANCHES = 64, 16
"""Elements of a literal that these rules make, of views and updates and of branches."""


def view_of_literal(stm: Stm, env: Env) -> Stm | None:
    """transpose [[a, b], [c, d]]  ⟶  [[a, c], [b, d]];  reshape, slices and concat the same        [S-ViewLiteral]"""
    match stm.exp:
        case Reshape(_, array):
            grid = _grid(array, env)
            made = None if grid is None else _built(grid, stm.pat[0].type, env)
        case Rearrange(perm, array):
            made = _rearranged(perm, array, stm.pat[0].type, env)
        case Index(array, (Slice() as taken, *rest), _):
            sizes = env.types[array].shape[1:]
            whole = all(is_whole(dim, size) for dim, size in zip(rest, sizes, strict=True))
            made = _sliced(taken, array, env) if whole else None
        case Concat(arrays):
            parts = [_elements(array, env) for array in arrays]
            made = [x for part in parts for x in part or ()] if None not in parts else None
        case _:
            return None
    return None if made is None or len(made) > MOST else _literal(stm, made)


def update_of_literal(stm: Stm, env: Env) -> Stm | None:
    """[x, y, z] with [1] <- v  ⟶  [x, v, z], in a thread        [S-UpdateLiteral]"""
    match stm.exp:
        case Update(array, (Fix(index), *rest), value) if not rest and (k := known_i64(index)) is not None:
            elements = _elements(array, env) if env.in_thread else None
        case _:
            return None
    if elements is None or not 0 <= k < len(elements) or not _are_values(value, env):
        return None
    return _literal(stm, [*elements[:k], value, *elements[k + 1 :]])


def literals_of_branches(stm: Stm, env: Env) -> list[Stm] | None:
    """xs = if c then [a, b] else [d, e]  ⟶  (x, y) = if c then (a, b) else (d, e);  xs = [x, y]        [S-IfLiteral]

    In a thread one of the branches may give any array, whose elements are read there."""
    match stm.exp:
        case If(cond, then, orelse):
            results = [*zip(stm.pat, zip(then.result, orelse.result, strict=True), strict=True)]
        case _:
            return None
    chosen = [_written(param.type, arrays, env) for param, arrays in results]
    if not any(chosen):
        return None
    pat, sides, literals = list[Param](), [(list(b.stms), list[Atom]()) for b in (then, orelse)], list[Stm]()
    for (param, arrays), count in zip(results, chosen, strict=True):
        parts = [Param(env.names.fresh("x"), param.type.row()) for _ in range(count)] or [param]
        pat += parts
        for array, (stms, result) in zip(arrays, sides, strict=True):
            result += _read(array, parts, stms, env) if count else [array]
        if count:
            literals.append(_literal(replace(stm, pat=(param,)), [Var(part.name) for part in parts]))
    then, orelse = (Body(tuple(stms), tuple(result)) for stms, result in sides)
    return [replace(stm, pat=tuple(pat), exp=If(cond, then, orelse)), *literals]


def _written(t: Type, arrays: Sequence[Atom], env: Env) -> int:
    """The number of elements that branches give one by one; 0 where they give an array."""
    count = known_i64(t.shape[0]) if t.shape else None
    written = [isinstance(array, Var) and _elements(array.name, env) is not None for array in arrays]
    fits = all(written) or (any(written) and env.in_thread and all(_are_values(array, env) for array in arrays))
    return count if count is not None and count <= BRANCHES and fits else 0


def _read(array: Atom, parts: Sequence[Param], stms: list[Stm], env: Env) -> Sequence[Atom]:
    """The elements of an array at the end of a branch."""
    assert isinstance(array, Var), "only variables are arrays"
    elements = _elements(array.name, env)
    if elements is not None:
        return elements
    read = [Param(env.names.fresh("x"), part.type) for part in parts]
    stms += [Stm((p,), Index(array.name, (Fix(i64(k)),), True), (), (), env.loc) for k, p in enumerate(read)]
    return [Var(p.name) for p in read]


def _literal(stm: Stm, elements: Sequence[Atom]) -> Stm:
    return replace(stm, exp=ArrayLit(tuple(elements), stm.pat[0].type.row()))


def _are_values(x: Atom, env: Env) -> bool:
    """Whether an element may be read later than here."""
    return not (isinstance(x, Var) and env.types[x.name].shape and env.sharing.consumed(x.name))


def _elements(array: Name, env: Env) -> Sequence[Atom] | None:
    """Those of a literal, or in a thread of a replicate."""
    match env.definition(Var(array)):
        case ArrayLit(elements):
            pass
        case Replicate((count,), value) if (n := known_i64(count)) is not None and n <= MOST and env.in_thread:
            elements = (value,) * n
        case _:
            return None
    return elements if len(elements) <= MOST and all(_are_values(x, env) for x in elements) else None


def _grid(array: Name, env: Env) -> list[Atom] | None:
    """The scalars of a literal of literals, in row-major order."""
    elements = _elements(array, env)
    if elements is None or env.types[array].rank == 1:
        return None if elements is None else list(elements)
    rows = [_grid(x.name, env) for x in elements if isinstance(x, Var)]
    return None if None in rows else [x for row in rows for x in row or ()]


def _built(grid: Sequence[Atom], t: Type, env: Env) -> list[Atom] | None:
    """The rows of an array of this type with these scalars."""
    sizes = [known_i64(size) for size in t.shape]
    if len(grid) > MOST or None in sizes or prod(size or 0 for size in sizes) != len(grid):
        return None
    if t.rank == 1:
        return list(grid)
    step = len(grid) // max(1, sizes[0] or 0)
    rows: list[Atom] = []
    for k in range(sizes[0] or 0):
        row = _built(grid[k * step : (k + 1) * step], t.row(), env)
        assert row is not None
        rows.append(env.emit("row", ArrayLit(tuple(row), t.row().row()), t.row()))
    return rows


def _rearranged(perm: tuple[int, ...], array: Name, t: Type, env: Env) -> list[Atom] | None:
    grid = _grid(array, env)
    sizes = [known_i64(size) for size in env.types[array].shape]
    if grid is None or None in sizes or prod(size or 0 for size in sizes) != len(grid):
        return None
    strides = [prod(size or 0 for size in sizes[k + 1 :]) for k in range(len(sizes))]
    places = [0]
    for k in perm:
        places = [place + i * strides[k] for place in places for i in range(sizes[k] or 0)]
    return _built([grid[place] for place in places], t, env)


def _sliced(taken: Slice, array: Name, env: Env) -> list[Atom] | None:
    elements = _elements(array, env)
    start, count, stride = (known_i64(x) for x in (taken.start, taken.count, taken.stride))
    if elements is None or start is None or count is None or stride is None:
        return None
    places = range(start, start + count * stride, stride) if count > 0 and stride else ()
    return [elements[k] for k in places] if all(0 <= k < len(elements) for k in places) else None
