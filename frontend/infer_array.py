"""Arrays and records: literals, indexing, slices, ranges, projection and `with`."""

from __future__ import annotations

from ..ir.errors import CompileError, Label, Loc
from . import syntax as s
from .infer_fault import bound_twice, fault, unknown
from .infer_make import I64, U8, arrow, record, tuple_of
from .infer_need import INTS, SIGNED, needs_field, needs_prim
from .infer_size import SizeClash
from .infer_unify import Clash
from .infer_work import Work
from .types import Size, SizeConst, TArray, TRecord, TVar, Ty

UNKNOWN_INDEX = "an index (a signed integer)"


# ---- literals -------------------------------------------------------------------------------------------------------


def infer_string(work: Work, exp: s.StringLit) -> Ty:
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
    work.pending.elements.append((ty, loc))
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


def infer_index(work: Work, exp: s.Index) -> Ty:
    return work.record(exp.id, indexed(work, work.exp(exp.array), exp.indices, exp.array.loc))


def indexed(work: Work, array: Ty, indices: tuple[s.DimIndex, ...], loc: Loc) -> Ty:
    """The type of `xs[i, a:b]`: a point drops a dimension, a slice keeps it with another size."""
    kept: list[Size] = []
    ty = array
    for at, index in enumerate(indices):
        size, ty = _row(work, array, ty, at, loc)
        match index:
            case s.Point(index=point):
                work.ask(work.exp(point), needs_prim(SIGNED, point.loc, UNKNOWN_INDEX))
            case s.SliceIndex():
                kept.append(_slice(work, index, size))
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


def _slice(work: Work, index: s.SliceIndex, size: Size) -> Size:
    """The size of a slice where it is plain: `[:]`, `[::-1]`, `[:n]`, `[2:5]`."""
    for part in (index.start, index.end, index.stride):
        if part is not None:
            work.expect(I64, work.exp(part), part.loc, "a slice bound")
    start, end, stride = index.start, index.end, index.stride
    if start is None and end is None and (stride is None or _is_minus_one(stride)):
        return size
    if stride is not None or end is None:
        return work.solver.existential()
    match start, end:
        case None | s.Lit(value=0), _:
            return work.size_of(end)
        case s.Lit(value=int(a)), s.Lit(value=int(b)) if 0 <= a <= b:
            return SizeConst(b - a)
        case _:
            return work.solver.existential()


def _is_minus_one(exp: s.Exp) -> bool:
    return isinstance(exp, s.Lit) and exp.value == -1


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
    """The size of `0..<n` and `1...n`, counted up by one."""
    first = exp.start.value if isinstance(exp.start, s.Lit) else None
    second = exp.second.value if isinstance(exp.second, s.Lit) else None
    by_one = exp.second is None or (first is not None and second == first + 1)
    is_plain = (first, exp.kind) in ((0, s.RangeEnd.UP_TO), (1, s.RangeEnd.THROUGH)) and by_one
    is_index = isinstance(exp.end, s.Lit) or work.solver.resolve(elem) is I64
    return work.size_of(exp.end) if is_plain and is_index else work.solver.existential()


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
            raise fault("E0212", f"`{work.show(ty)}` has no field `{field}`", loc, "not a record")


def infer_with(work: Work, exp: s.With) -> Ty:
    """`e with [i].x = v`."""
    target = work.exp(exp.target)
    place = follow(work, target, exp.path, exp.target.loc)
    work.expect(place, work.exp(exp.value), exp.value.loc, "value of an update")
    return work.record(exp.id, target)


def follow(work: Work, ty: Ty, path: tuple[s.Step, ...], loc: Loc) -> Ty:
    """The type at the end of a path."""
    for step in path:
        match step:
            case s.FieldStep(field=field):
                ty = project(work, ty, field, loc)
            case s.IndexStep(indices=indices):
                ty = indexed(work, ty, indices, loc)
    return ty


def infer_path_section(work: Work, exp: s.PathSection) -> Ty:
    """`(.x.y)`, `(.[i])`."""
    whole = work.solver.unknown()
    return work.record(exp.id, arrow(whole, follow(work, whole, exp.path, exp.loc)))
