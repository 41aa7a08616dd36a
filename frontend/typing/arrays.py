"""Arrays and records: literals, indexing, slices, ranges, projection and `with`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir.errors import CompileError, Label, Loc
from ..source import syntax as s
from ..source.atoms import FieldStep, Lit, RangeEnd, StringLit
from ..source.types import I64, U8, Size, SizeConst, SizeVar, TArray, TRecord, TVar, Ty, arrow, record, tuple_of
from .constraints import INTS, SIGNED, needs_field, needs_prim
from .errors import bound_twice, fault, unknown
from .size_expressions import binds_names, size_of
from .sizes import SizeClash
from .state import Work
from .unify import Clash

UNKNOWN_INDEX = "an index (a signed integer)"


# ---- literals -------------------------------------------------------------------------------------------------------


def infer_string(work: Work, exp: StringLit) -> Ty:
    """The UTF-8 bytes of a string."""
    return work.record(exp.id, TArray(SizeConst(len(exp.value.encode("utf-8", "surrogatepass"))), U8))


def infer_tuple(work: Work, exp: s.Tuple) -> Ty:
    return work.record(exp.id, tuple_of([work.exp(e) for e in exp.elems]))


def infer_record(work: Work, exp: s.Record) -> Ty:
    first: dict[str, Loc] = {}
    for name, value in exp.fields:
        if name in first:
            raise bound_twice("field", name, value.loc, first[name])
        first[name] = value.loc
    return work.record(exp.id, record([(name, work.exp(value)) for name, value in exp.fields]))


def infer_array(work: Work, exp: s.Array) -> Ty:
    """`[a, b, c]`: elements of one type, arrays of one size."""
    if not exp.elems:
        return work.record(exp.id, TArray(SizeConst(0), _element(work, work.solver.unknown(), exp.loc)))
    first = work.exp(exp.elems[0])
    for at, elem in enumerate(exp.elems[1:], 2):
        ty = work.exp(elem)
        try:
            work.solver.unify(first, ty)
        except SizeClash as clash:
            raise _ragged(work, exp, at, first, ty, clash) from None
        except Clash as clash:
            label = Label(exp.elems[0].loc, f"the first one is `{work.show(first)}`")
            raise work.mismatch(first, ty, clash, elem.loc, f"element {at} of an array", [label]) from None
    return work.record(exp.id, TArray(SizeConst(len(exp.elems)), _element(work, first, exp.loc)))


def _element(work: Work, ty: Ty, loc: Loc) -> Ty:
    work.pending.data_only.append((ty, loc, "element of an array"))
    work.pending.one_shape.append((ty, loc, "element of an array"))
    return ty


def _ragged(work: Work, exp: s.Array, at: int, first: Ty, ty: Ty, clash: SizeClash) -> CompileError:
    """E0204 where constants differ, E0203 otherwise."""
    match clash.left, clash.right:
        case SizeConst(n), SizeConst(m):
            text = f"row {at} has {_count(m)}, row 1 has {n}"
            if not (_outer(work, first) == n and _outer(work, ty) == m):
                text = f"row {at} is `{work.show(ty)}`, row 1 is `{work.show(first)}`"
            label = Label(exp.elems[0].loc, f"row 1 is `{work.show(first)}`")
            return fault("E0204", f"ragged array literal: {text}", exp.elems[at - 1].loc, "of another size", [label])
        case _:
            label = Label(exp.elems[0].loc, f"the first one is `{work.show(first)}`")
            return work.size_mismatch(first, ty, clash, exp.elems[at - 1].loc, f"element {at} of an array", [label])


def _count(n: int) -> str:
    return f"{n} element{'s' * (n != 1)}"


def _outer(work: Work, ty: Ty) -> int | None:
    found = work.solver.resolve(ty)
    size = work.solver.size(found.size) if isinstance(found, TArray) else None
    return size.value if isinstance(size, SizeConst) else None


# ---- indexing -------------------------------------------------------------------------------------------------------


Sliced = Callable[[s.SliceIndex, Size], Size]
"""The size of a slice of a dimension."""


def infer_index(work: Work, exp: s.Index) -> Ty:
    def sliced(index: s.SliceIndex, size: Size) -> Size:
        return _slice(work, index, size, exp.loc, exp.id)

    return work.record(exp.id, indexed(work, work.exp(exp.array), exp.indices, exp.array.loc, sliced))


def indexed(work: Work, array: Ty, indices: tuple[s.DimIndex, ...], loc: Loc, sliced: Sliced) -> Ty:
    """The type of `xs[i, a:b]`: a point drops a dimension, a slice keeps it with another size."""
    kept: list[Size] = []
    ty = array
    for at, index in enumerate(indices):
        size, ty = _row(work, array, ty, at, loc)
        match index:
            case s.Point(index=point):
                work.ask(work.exp(point), needs_prim(SIGNED, point.loc, UNKNOWN_INDEX))
            case s.SliceIndex():
                kept.append(sliced(index, size))
    for size in reversed(kept):
        ty = TArray(size, ty)
    return ty


def _row(work: Work, array: Ty, ty: Ty, at: int, loc: Loc) -> tuple[Size, Ty]:
    ty = work.solver.resolve(ty)
    match ty:
        case TArray(size, elem):
            return size, elem
        case TVar("", _):
            found = TArray(work.solver.unknown_size(), work.solver.unknown())
            work.expect(ty, found, loc, "indexing")
            return found.size, found.elem
        case _:
            shown = work.show(array)
            text = (
                f"cannot index `{shown}`"
                if at == 0
                else f"more than {at} ind{'ices' if at > 1 else 'ex'} into `{shown}`"
            )
            raise fault("E0202", text, loc, f"this is `{shown}`")


def _slice(work: Work, index: s.SliceIndex, size: Size, loc: Loc, node: int) -> Size:
    """The size of a slice where it reads like one:

    xs[:] and xs[::-1] : [n]      xs[:j] : [j]      xs[i:j] : [j - i]      xs[i:] : [n - i]      xs[i:j:-1] : [i - j]
    """
    _check_bounds(work, index)
    start, end, stride = index.start, index.end, index.stride
    by_one = stride is None or _is(stride, 1)
    if any(part is not None and binds_names(part) for part in (start, end, stride)):
        return work.exists(node, loc, "the size of this slice is computed here")
    first, last = (None if part is None else size_of(work, part) for part in (start, end))
    if by_one and (start is None or _is(start, 0)):
        return size if last is None else last
    if by_one and first is not None:
        return minus(work, size if last is None else last, first)
    if stride is not None and _is(stride, -1) and (start is None) == (end is None):
        return size if first is None or last is None else minus(work, first, last)
    return work.exists(node, loc, "the size of this slice is computed here")


def _check_bounds(work: Work, index: s.SliceIndex) -> None:
    for part in (index.start, index.end, index.stride):
        if part is not None:
            work.expect(I64, work.exp(part), part.loc, "a slice bound")


def minus(work: Work, left: Size, right: Size) -> Size:
    return work.solver.made_of(("-",), (left, right))


def _is(exp: s.Exp, value: int) -> bool:
    match exp:
        case Lit(value=found):
            return found == value
        case s.Negate(arg=Lit(value=found)):
            return found == -value
        case _:
            return False


def infer_range(work: Work, exp: s.Range) -> Ty:
    """`a..b...c` over an integer type."""
    start = work.exp(exp.start)
    work.ask(start, needs_prim(INTS, exp.start.loc, "a bound of a range"))
    for part in (exp.second, exp.end):
        if part is not None:
            label = Label(exp.start.loc, f"the range starts with `{work.show(start)}`")
            work.expect(start, work.exp(part), part.loc, "a bound of a range", [label])
    return work.record(exp.id, TArray(_range_size(work, exp, start), start))


def _range_size(work: Work, exp: s.Range, elem: Ty) -> Size:
    """The size of a range over i64 that goes up by one:

    0..<n : [n]      a..<b : [b - a]      a...b : [b - a + 1]      0..1..<n : [n]      1..2...n : [n]
    """
    parts = (exp.start, exp.end) if exp.second is None else (exp.start, exp.second, exp.end)
    if work.solver.resolve(elem) == I64 and not any(binds_names(part) for part in parts):
        first, last = size_of(work, exp.start), size_of(work, exp.end)
        match exp.kind:
            case RangeEnd.UP_TO if _is(exp.start, 0) and (exp.second is None or _is(exp.second, 1)):
                return last
            case RangeEnd.UP_TO if exp.second is None:
                return minus(work, last, first)
            case RangeEnd.THROUGH if exp.second is None:
                return work.solver.made_of(("+",), (minus(work, last, first), SizeConst(1)))
            case RangeEnd.THROUGH if exp.second is not None and _is(exp.start, 1) and _is(exp.second, 2):
                return last
            case _:
                pass
    return work.exists(exp.id, exp.loc, "the size of this range is computed here")


# ---- fields ---------------------------------------------------------------------------------------------------------


def infer_project(work: Work, exp: s.Project) -> Ty:
    return work.record(exp.id, project(work, work.exp(exp.record), exp.field, exp.loc))


def project(work: Work, ty: Ty, field: str, loc: Loc) -> Ty:
    """The type of `e.field`; where the record is not known yet it is required to have the field."""
    ty = work.solver.resolve(ty)
    match ty:
        case TRecord(fields):
            for name, found in fields:
                if name == field:
                    return found
            error = unknown("E0212", "field", field, loc, [name for name, _ in fields])
            found = error.diagnostics[0]
            raise fault("E0212", f"{found.message} of `{work.show(ty)}`", loc, "no such field", hint=found.hint)
        case TVar("", _):
            found = work.solver.unknown()
            work.ask(ty, needs_field(field, found, loc))
            return found
        case _:
            is_shape = isinstance(ty, TArray) and field in ("shape", "size", "length")
            hint = "the size of an array is `length xs`, or a parameter: `def f [n] (xs: [n]f32)`" if is_shape else None
            raise fault("E0212", f"`{work.show(ty)}` has no field `{field}`", loc, "not a record", hint=hint)


def infer_with(work: Work, exp: s.With) -> Ty:
    """`e with [i].x = v`."""
    target = work.exp(exp.target)
    return work.record(exp.id, _updated(work, target, exp.path, exp))


def _updated(work: Work, ty: Ty, path: tuple[s.Step, ...], exp: s.With) -> Ty:
    """The type of a value with a new one at the end of a path; a field may get another size."""
    match path:
        case (FieldStep(field=field), *rest):
            inner = project(work, ty, field, exp.target.loc)
            new = _updated(work, inner, tuple(rest), exp)
            found = work.solver.resolve(ty)
            if isinstance(found, TRecord) and new is not inner:
                return TRecord(tuple([(name, new if name == field else t) for name, t in found.fields]))
        case ():
            place, _ = work.solver.refresh_sizes(ty)
            work.expect(place, work.exp(exp.value), exp.value.loc, "value of an update")
            return place
        case _:
            place = follow(work, ty, path, exp.target.loc, lambda index, _: _any_slice(work, index))
            work.expect(place, work.exp(exp.value), exp.value.loc, "value of an update")
    return ty


def _any_slice(work: Work, index: s.SliceIndex) -> Size:
    """A slice that is updated: its size is compared when the program runs."""
    _check_bounds(work, index)
    return work.solver.unknown_size()


def follow(work: Work, ty: Ty, path: tuple[s.Step, ...], loc: Loc, sliced: Sliced) -> Ty:
    """The type at the end of a path."""
    for step in path:
        match step:
            case FieldStep(field=field):
                ty = project(work, ty, field, loc)
            case s.IndexStep(indices=indices):
                ty = indexed(work, ty, indices, loc, sliced)
    return ty


def infer_path_section(work: Work, exp: s.PathSection) -> Ty:
    """`(.x.y)`, `(.[i])`: the function chooses the sizes of slices."""
    whole, chosen = work.solver.unknown(), list[SizeVar]()

    def sliced(index: s.SliceIndex, _: Size) -> Size:
        _check_bounds(work, index)
        chosen.append(work.solver.existential())
        return chosen[-1]

    part = follow(work, whole, exp.path, exp.loc, sliced)
    return work.record(exp.id, replace(arrow(whole, part), exists=tuple(chosen)))
