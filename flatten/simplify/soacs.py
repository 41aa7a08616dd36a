"""Rules for SOACs: inputs that need not be arrays, results that need no map.

Before the lambda is simplified its inputs are looked at, afterwards its results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir.commute import scalar_operation
from ...ir.core import (
    Assert,
    Body,
    Copied,
    Copy,
    Exp,
    Fix,
    Index,
    Iota,
    Lambda,
    Param,
    PrimOp,
    Rearrange,
    Reduction,
    Replicate,
    Reshape,
    Screma,
    Slice,
    Soac,
    Stm,
)
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import substitute_lambda
from ...ir.types import I64, Atom, Name, Prim, Type, Var, i64
from ..aliasing.classes import note_sharing, overwritten_in
from ..aliasing.fresh import is_own
from .bounds import counting, counting_from
from .cse import same_function
from .env import Env, Frame, is_one, is_zero, with_certs
from .views import is_whole, whole

_COMMUTES = frozenset({Op.ADD, Op.MUL, Op.MIN, Op.MAX, Op.AND, Op.OR, Op.XOR})


# ---- inputs -------------------------------------------------------------------------------------------------------


def replace_inputs(stm: Stm, env: Env) -> Stm | None:
    r"""map (\x y -> e) (replicate n a) ys ⟶ map (\y -> e [a/x]) ys, and `read_once`        [S-InputReplicate]"""
    if not isinstance(stm.exp, Soac):
        return None
    once = read_once(stm, env.sharing.consumed)
    soac = once.exp
    assert isinstance(soac, Soac)
    kept: list[tuple[Name, Param]] = []
    relied: list[Stm] = []
    for array, param in zip(soac.arrays, soac.map.params, strict=True):
        env.types[param.name] = param.type
        producer = env.producer(array)
        row = _row_of_replicate(producer, param, env)
        if producer is not None and row is not None:
            env.alias(param.name, row)
            relied.append(producer)
        else:
            kept.append((array, param))
    if len(kept) == len(soac.arrays):
        return None if once is stm else once
    f = Lambda(tuple(param for _, param in kept), soac.map.body, soac.map.ret)
    return with_certs(once, replace(soac, arrays=tuple(array for array, _ in kept), map=f), *relied)


def read_once(stm: Stm, is_consumed: Callable[[Name], bool]) -> Stm:
    r"""map (\x y -> e) xs xs  ⟶  map (\x -> e [x/y]) xs        [S-InputTwice]

    SOACs inside of two that were fused side by side then have inputs in common, and are fused in the same walk."""
    soac = stm.exp
    assert isinstance(soac, Soac)
    first: dict[Name, Param] = {}
    again: dict[Name, Atom] = {}
    kept: list[tuple[Name, Param]] = []
    for xs, x in zip(soac.arrays, soac.map.params, strict=True):
        if xs in first and not is_consumed(xs):
            again[x.name] = Var(first[xs].name)
        else:
            kept.append((xs, x))
            first[xs] = x
    if not again:
        return stm
    f = substitute_lambda(Lambda(tuple(x for _, x in kept), soac.map.body, soac.map.ret), again)
    return replace(stm, exp=replace(soac, arrays=tuple(xs for xs, _ in kept), map=f))


def _row_of_replicate(producer: Stm | None, param: Param, env: Env) -> Atom | None:
    """What every row of a replicate is."""
    match producer:
        case Stm(exp=Replicate((_, *inner), value)):
            pass
        case _:
            return None
    if env.sharing.consumed(param.name) or (isinstance(value, Var) and env.sharing.consumed(value.name)):
        return None
    return env.emit(param.name.base, Replicate(tuple(inner), value), param.type) if inner else value


def note_inputs(soac: Soac, env: Env) -> None:
    """What is known of the rows: those of an `iota` count."""
    for array, param in zip(soac.arrays, soac.map.params, strict=True):
        match env.producer(array):
            case Stm(exp=Iota(count, start, step, prim)) if is_zero(start) and is_one(step) and prim.is_signed:
                env.ranges[param.name] = counting(count, env)
                if prim is Prim.I64:
                    env.counters[param.name] = env.here
            case Stm(exp=Iota(count, start, step, Prim.I64)) if is_one(step):
                env.ranges[param.name] = counting_from(start, count, env)
            case _:
                pass


def take_row(stm: Stm, env: Env) -> Stm | None:
    r"""map (\i -> .. xs[i] ..) (iota n)  ⟶  map (\i x -> .. x ..) (iota n) xs, where xs : [n]        [S-IndexRow]
    map (\i -> .. xs[n-1-i] ..) (iota n)  ⟶  the same of xs[n-1 :+ n*-1]

    xs is defined outside the lambda. A scalar is not read ahead of a branch."""
    match stm.exp:
        case Index(array, (Fix(Var(index)), *rest), safe):
            counter = index if index in env.counters else _counted_back(index, env)
        case _:
            return None
    if counter is None:
        return None
    level = env.counters[counter]
    frame, t = env.frames[level], env.types[array]
    if t.shape[0] != frame.width or env.levels[array] >= level or env.sharing.consumed(array):
        return None
    if not rest and level != env.here:
        return None
    if counter != index:
        at = env.levels[array]
        last = _placed(PrimOp(Op.SUB, Prim.I64, (t.shape[0], i64(1))), I64, "last", at, env)
        taken = Slice(Var(last), t.shape[0], i64(-1))
        array = _placed(Index(array, (taken, *map(whole, t.shape[1:])), True), t, array.base, at, env)
    row = _row_param(array, frame, level, env)
    return replace(stm, exp=Index(row, tuple(rest), safe) if rest else Copied(Var(row)))


def _placed(exp: Exp, type_: Type, base: str, level: int, env: Env) -> Name:
    """The name of what is computed in the frame at `level`."""
    stm = Stm((Param(env.names.fresh(base), type_),), exp, (), (), env.loc)
    note_sharing(stm, env.sharing, env.consumes)
    env.place(stm, level)
    return stm.pat[0].name


def _counted_back(index: Name, env: Env) -> Name | None:
    """i, where an index is n - 1 - i or n - i - 1 and i counts the rows of a map of n."""
    match env.definition(Var(index)):
        case PrimOp(Op.SUB, Prim.I64, (x, Var(counter))) if counter in env.counters:
            match env.definition(x):
                case PrimOp(Op.SUB, Prim.I64, (n, one)) if is_one(one):
                    pass
                case _:
                    return None
        case PrimOp(Op.SUB, Prim.I64, (x, one)) if is_one(one):
            match env.definition(x):
                case PrimOp(Op.SUB, Prim.I64, (n, Var(counter))) if counter in env.counters:
                    pass
                case _:
                    return None
        case _:
            return None
    return counter if n == env.frames[env.counters[counter]].width else None


def _row_param(array: Name, frame: Frame, level: int, env: Env) -> Name:
    if array not in frame.rows:
        param = Param(env.names.fresh(array.base), env.types[array].row())
        frame.rows[array] = param
        env.types[param.name] = param.type
        env.levels[param.name] = level
        env.sharing.link(array, param.name)
    return frame.rows[array].name


def with_rows(stm: Stm, soac: Soac, frame: Frame, env: Env) -> Stm:
    """The SOAC with the inputs that `take_row` asked for in place of numbers, relying on what these rely on."""
    if not frame.rows:
        return replace(stm, exp=soac)
    f = soac.map
    f = Lambda((*f.params, *frame.rows.values()), f.body, f.ret)
    numbers = (one for xs in soac.arrays if (one := env.producer(xs)) is not None and isinstance(one.exp, Iota))
    certs = dict.fromkeys((*stm.certs, *(c for one in numbers for c in one.certs if not _has_rows(c, soac.width, env))))
    return replace(stm, exp=replace(soac, arrays=(*soac.arrays, *frame.rows), map=f), certs=tuple(certs))


def _has_rows(cert: Name, width: Atom, env: Env) -> bool:
    """Whether a check says no more than that a width is not negative, as that of an array is not."""
    match env.value_of(Var(cert)):
        case Assert(cond):
            return env.value_of(cond) == PrimOp(Op.LE, Prim.I64, (i64(0), width))
        case _:
            return False


# ---- results ------------------------------------------------------------------------------------------------------


def lift_results(stm: Stm, env: Env) -> Stm | None:
    r"""Results of a map that are views of its inputs need no map; the others stay.

    map (\x -> x) xs ⟶ xs                          [S-MapId]
    map (\x -> a) xs ⟶ replicate n a               [S-MapInvariant]
    map (rearrange (1,0)) xs ⟶ rearrange (0,2,1) xs   [S-MapRearrange], the same for reshape, slices and copy
    map (\i -> map (\row -> row[i]) xs) (iota m) ⟶ rearrange (1,0) xs, where xs : [n][m]    [S-MapColumn]
    map (\x -> v (w x)) xs ⟶ map v (map w xs)      where v and w are such views
    """
    screma = stm.exp
    if not isinstance(screma, Screma):
        return None
    first = screma.num_ops
    inputs = dict(zip((p.name for p in screma.map.params), screma.arrays, strict=True))
    rows = _Rows(
        stm, screma.width, inputs, {param.name: inner for inner in screma.map.body.stms for param in inner.pat}
    )
    lifted: dict[int, Exp] = {}
    for k in range(first, len(stm.pat)):
        exp = _as_view(screma.map.body.result[k], rows, env)
        if exp is not None:
            lifted[k] = exp
    if not lifted:
        return None
    kept = [k for k in range(len(stm.pat)) if k not in lifted]
    for k, exp in lifted.items():
        _bind_view(stm, stm.pat[k], exp, env)
    f = screma.map
    body = Body(f.body.stms, tuple(f.body.result[k] for k in kept))
    smaller = replace(screma, map=Lambda(f.params, body, tuple(f.ret[k] for k in kept)))
    return replace(stm, pat=tuple(stm.pat[k] for k in kept), exp=smaller)


@dataclass(frozen=True, slots=True)
class _Rows:
    """A map whose results are looked at: the arrays that its parameters are rows of, and the statements of its body."""

    stm: Stm
    width: Atom
    inputs: dict[Name, Name]
    local: dict[Name, Stm]

    def outside(self, atoms: tuple[Atom, ...]) -> bool:
        return all(not isinstance(a, Var) or (a.name not in self.inputs and a.name not in self.local) for a in atoms)


def _as_view(result: Atom, rows: _Rows, env: Env) -> Exp | None:
    """The mapped array as an expression of the surrounding scope, where `result` is that simple."""
    if rows.outside((result,)):
        return Replicate((rows.width,), result)
    assert isinstance(result, Var)
    if result.name in rows.inputs:
        return Copied(Var(rows.inputs[result.name]))
    stm = rows.local[result.name]
    if stm.certs:
        return None
    match stm.exp:
        case Rearrange(perm, row) if (array := _array_of(row, rows, env)) is not None:
            return Rearrange((0, *(k + 1 for k in perm)), array)
        case Reshape(shape, row) if rows.outside(shape) and (array := _array_of(row, rows, env)) is not None:
            return Reshape((rows.width, *shape), array)
        case Copy(row) if row in rows.inputs:
            return Copy(rows.inputs[row])
        case Index(row, dims, True) if all(isinstance(d, Slice) for d in dims):
            atoms = tuple(a for d in dims if isinstance(d, Slice) for a in (d.start, d.count, d.stride))
            array = _array_of(row, rows, env) if rows.outside(atoms) else None
            return None if array is None else Index(array, (whole(rows.width), *dims), True)
        case Screma(_, (array,), f, (), ()) if len(stm.pat) == 1 and _is_column(array, f, rows, env):
            return Rearrange((1, 0, *range(2, env.types[array].rank)), array)
        case _:
            return None


def _is_column(array: Name, f: Lambda, rows: _Rows, env: Env) -> bool:
    r"""Is `map (\row -> row[i]) array` column i of an array from outside, and does i count its columns?"""
    match f.body.stms:
        case (Stm(exp=Index(row, (Fix(Var(i)), *rest), True), certs=()) as one,):
            counts = i in rows.inputs and i in env.counters and env.definition(Var(rows.inputs[i])) is not None
            is_all = f.body.result == (Var(one.pat[0].name),) and row == f.params[0].name
        case _:
            return False
    shape = env.types[array].shape
    return (
        counts
        and is_all
        and rows.outside((Var(array),))
        and shape[1] == rows.width
        and all(map(is_whole, rest, shape[2:]))
    )


def _array_of(row: Name, rows: _Rows, env: Env) -> Name | None:
    """The array of these rows: an input, or a view of one, which is made."""
    if row in rows.inputs or row not in rows.local:
        return rows.inputs.get(row)
    inner = rows.local[row]
    view = None if isinstance(inner.exp, Copy) else _as_view(Var(row), rows, env)
    if view is None:
        return None
    (param,) = inner.pat
    array = env.emit(param.name.base, view, param.type.array_of(rows.width), rows.stm.certs)
    assert isinstance(array, Var)
    return array.name


def _bind_view(stm: Stm, param: Param, exp: Exp, env: Env) -> None:
    """Binds a result to what it is; a result that is overwritten, or whose source is, gets memory of its own."""
    source = exp.atom.name if isinstance(exp, Copied) and isinstance(exp.atom, Var) else getattr(exp, "array", None)
    shared = source is not None and (env.sharing.consumed(source) or env.sharing.consumed(param.name))
    if isinstance(exp, Replicate | Copy) or not shared:
        env.step(Stm((param,), exp, stm.certs, (), stm.loc))
        return
    view = exp.atom if isinstance(exp, Copied) else env.emit(param.name.base, exp, param.type, stm.certs)
    assert isinstance(view, Var)
    env.step(Stm((param,), Copy(view.name), stm.certs, (), stm.loc))


# ---- operators ----------------------------------------------------------------------------------------------------


def recognise_commutative(stm: Stm, env: Env) -> Stm | None:
    """reduce (+) is known to be commutative, and so are *, min, max, &, |, ^, where exactly so        [S-Comm]"""
    match stm.exp:
        case Screma(reds=reds) if any(not r.comm and _commutes(r) for r in reds):
            marked = tuple(Reduction(r.op, r.neutral, r.comm or _commutes(r)) for r in reds)
            return replace(stm, exp=replace(stm.exp, reds=marked))
        case _:
            return None


def _commutes(reduction: Reduction) -> bool:
    """One operation of a table on the two parameters; floats are added in order, since that rounds."""
    made = scalar_operation(reduction.op)
    if made is None or made.op not in _COMMUTES:
        return False
    return not made.prim.is_float or made.op in (Op.MIN, Op.MAX)


INPUT_RULES = (replace_inputs,)


def drop_result_copies(stm: Stm, env: Env) -> Stm | None:
    r"""map (\x -> let ys = e; zs = copy ys in zs) xs  ⟶  map (\x -> let ys = e in ys) xs        [S-ResultCopy]

    Where the row itself is in memory that its thread took, and nothing is overwritten behind the copy."""
    assert isinstance(stm.exp, Soac)
    f = stm.exp.map
    made = {p.name: inner for inner in f.body.stms for p in inner.pat}
    known: dict[Name, Atom] = {}
    for k, inner in enumerate(f.body.stms):
        match inner:
            case Stm((param,), Copy(source), (), ()) if Var(param.name) in f.body.result and is_own(Var(source), made):
                behind = f.body.stms[k:]
                if overwritten_in(Body(behind, ())) <= {p.name for later in behind for p in later.pat}:
                    known[param.name] = Var(source)
            case _:
                pass
    if not known:
        return None
    result = tuple(known.get(atom.name, atom) if isinstance(atom, Var) else atom for atom in f.body.result)
    body = replace(f.body, result=result)
    for name, source in known.items():
        assert isinstance(source, Var)
        env.sharing.link(name, source.name)
    return replace(stm, exp=replace(stm.exp, map=replace(f, body=body)))


def merge_results(stm: Stm, env: Env) -> Stm | None:
    r"""(ys, zs) = map (\x -> (e, e)) xs  ⟶  ys = map (\x -> e) xs;  zs = ys        [S-SameResult]

    The same of values that equal operators reduce or scan."""
    screma = stm.exp
    if not isinstance(screma, Screma):
        return None
    result, kept_ops, same = screma.map.body.result, list[Reduction](), dict[int, int]()
    first: dict[int, Reduction] = {}
    at = 0
    for op in screma.ops:
        places = range(at, at + len(op.neutral))
        at = places.stop
        twin = next((k for k, other in first.items() if _are_twins(stm, k, other, places, op, env)), None)
        if twin is None:
            first[places.start] = op
            kept_ops.append(op)
        else:
            same.update(zip(places, range(twin, twin + len(places)), strict=True))
    for k in range(at, len(result)):
        twins = (j for j in range(at, k) if j not in same and result[j] == result[k] and _may_be_one(stm, j, k, env))
        if (j := next(twins, None)) is not None:
            same[k] = j
    if not same:
        return None
    kept = [k for k in range(len(result)) if k not in same]
    env.copies += [Stm((stm.pat[k],), Copied(Var(stm.pat[j].name)), (), (), stm.loc) for k, j in same.items()]
    f = screma.map
    smaller = Lambda(f.params, replace(f.body, result=tuple(result[k] for k in kept)), tuple(f.ret[k] for k in kept))
    exp = replace(screma, map=smaller).with_ops(tuple(kept_ops))
    return replace(stm, pat=tuple(stm.pat[k] for k in kept), exp=exp)


def _are_twins(stm: Stm, k: int, one: Reduction, places: range, other: Reduction, env: Env) -> bool:
    """Whether operators combine the same values, one of them those from `k` on, and give results that may be one."""
    assert isinstance(stm.exp, Screma)
    result = stm.exp.map.body.result
    if one.neutral != other.neutral or one.comm != other.comm or not same_function(one.op, other.op):
        return False
    return all(result[k + j] == result[place] and _may_be_one(stm, k + j, place, env) for j, place in enumerate(places))


def _may_be_one(stm: Stm, j: int, k: int, env: Env) -> bool:
    return stm.pat[j].type == stm.pat[k].type and env.may_share(stm.pat[j]) and env.may_share(stm.pat[k])


RESULT_RULES = (lift_results, recognise_commutative, drop_result_copies, merge_results)
