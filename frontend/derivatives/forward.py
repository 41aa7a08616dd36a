"""Forward mode: tangents beside values.

Every statement of the program stays; one that computes numbers from variables with tangents also gives theirs. A lambda
gets parameters for the tangents of its rows, an operator works on pairs of value and tangent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ...ir.core import (
    Apply,
    ArrayLit,
    Assert,
    Basic,
    Body,
    Concat,
    Convert,
    Copied,
    Copy,
    Exp,
    GuardCmp,
    Hist,
    If,
    Index,
    Iota,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Rearrange,
    Reduction,
    Replicate,
    Reshape,
    Scatter,
    Scratch,
    Screma,
    SizeParam,
    Stm,
    Update,
)
from ...ir.errors import IRError
from ...ir.ops import Op
from ...ir.traverse import free_names
from ...ir.types import Atom, Name, Prim, Type, Var
from ..building.code import Code, differentiable
from .normal import Functions, normal_lambda, of_recursive_function, scalar_operator
from .partials import partials

Tangent = Atom | None


class Tangents:
    """The tangents of variables; a name without one has tangent zero."""

    __slots__ = ("code", "functions", "of")

    def __init__(self, code: Code, functions: Functions, of: dict[Name, Atom]) -> None:
        self.code = code
        self.functions = functions
        self.of = of

    def __getitem__(self, atom: Atom) -> Tangent:
        return self.of.get(atom.name) if isinstance(atom, Var) else None

    def set(self, param: Param, tangent: Tangent) -> None:
        if tangent is not None:
            self.of[param.name] = tangent

    def full(self, atom: Atom) -> Atom:
        """The tangent, zeros where it is zero."""
        tangent = self[atom]
        return self.code.zeros(self.code.type_of(atom)) if tangent is None else tangent

    def arrays(self, names: Iterable[Name]) -> list[Var]:
        """The tangents of arrays."""
        return [tangent for name in names if isinstance(tangent := self.full(Var(name)), Var)]

    def inside(self, code: Code) -> Tangents:
        return Tangents(code, self.functions, self.of)

    def body(self, body: Body) -> tuple[Tangent, ...]:
        """Emits the statements of `body` with tangents; the tangents of its result."""
        for stm in body.stms:
            self.code.loc = stm.loc
            _statement(self, stm)
        return tuple([self[atom] for atom in body.result])


def jvp(
    code: Code, functions: Functions, f: Lambda, args: Sequence[Atom], seeds: Sequence[Tangent]
) -> tuple[list[Atom], list[Tangent]]:
    """The results of `f args` and their tangents, where the arguments have tangents `seeds`."""
    f = normal_lambda(code, functions, f)
    ts = Tangents(code, functions, {})
    for param, arg, seed in zip(f.params, args, seeds, strict=True):
        code.emit((param,), Copied(arg))
        ts.set(param, None if seed is None else code.sized(seed, param.type))
    tangents = ts.body(f.body)
    return list(f.body.result), list(tangents)


def _statement(ts: Tangents, stm: Stm) -> None:
    code = ts.code
    exp = stm.exp
    can_change = isinstance(exp, Basic) or any(differentiable(p.type) for p in stm.pat)
    if not can_change or not any(name in ts.of for name in free_names(exp)):
        code.keep(stm)
        return
    match exp:
        case If():
            _if(ts, stm, exp)
        case Loop():
            _loop(ts, stm, exp)
        case Screma(scans=(), reds=()):
            _map(ts, stm, exp)
        case Screma():
            _fold(ts, stm, exp)
        case Hist():
            _hist(ts, stm, exp)
        case Scatter():
            _placed(ts, stm, exp)
        case Apply(function) if function in ts.functions.closed:
            raise of_recursive_function(stm.loc)
        case Apply(function, args):
            fun = ts.functions.defs[function]
            f = Lambda(fun.params, fun.body, tuple([r.type for r in fun.results]))
            results, tangents = jvp(code, ts.functions, f, args, [ts[a] for a in args])
            code.copies(stm, results)
            for param, tangent in zip(stm.pat, tangents, strict=True):
                ts.set(param, tangent)
        case _:
            code.keep(stm)
            ts.set(stm.pat[0], _basic(ts, stm.pat[0], exp))


def _basic(ts: Tangents, param: Param, exp: Exp) -> Tangent:
    """The tangent of the one result of a basic operation, at least one of whose operands has one."""
    code, type = ts.code, param.type
    match exp:
        case Copied(atom):
            return ts[atom]
        case PrimOp(Op.SELECT, _, (c, x, y)):
            return code.op(Op.SELECT, c, ts.full(x), ts.full(y)) if ts[x] or ts[y] else None
        case PrimOp(Op.TO_BITS | Op.FROM_BITS, prim, (x,)):
            return _linear(ts, (x,), lambda t: PrimOp(exp.op, prim, (t,)), type)
        case PrimOp(op, Prim.BOOL, args):
            return _boolean(ts, op, args)
        case PrimOp(op, prim, args):
            return _scalar(ts, op, prim, args, Var(param.name))
        case Convert(source, target, arg):
            tangent = ts[arg]
            kept = tangent is not None and source.is_float == target.is_float and differentiable(type)
            return code.convert(target, tangent) if kept and tangent is not None else None
        case Index(array) | Rearrange(_, array) | Reshape(_, array) | Copy(array):
            return _linear(ts, (Var(array),), lambda t: replace(exp, array=_named(t)), type)
        case Update(array, _, value):
            return _linear(ts, (Var(array), value), lambda xs, v: replace(exp, array=_named(xs), value=v), type)
        case Replicate(shape, value):
            return _linear(ts, (value,), lambda t: Replicate(shape, t), type)
        case ArrayLit(elems, row):
            return _linear(ts, elems, lambda *parts: ArrayLit(parts, row), type)
        case Concat(arrays, width):
            return _linear(ts, [*map(Var, arrays)], lambda *parts: Concat(tuple(map(_named, parts)), width), type)
        case Iota(count, start, step, prim):
            return _linear(ts, (start, step), lambda first, more: Iota(count, first, more, prim), type)
        case Scratch() | Assert() | GuardCmp() | SizeParam():
            return None
        case _:
            raise IRError(f"forward: {type_name(exp)}")


def type_name(exp: object) -> str:
    return type(exp).__name__


def _linear(ts: Tangents, operands: Sequence[Atom], exp: Callable[..., Exp], type: Type) -> Tangent:
    """The tangent of a linear operation: that operation on the tangents of its operands."""
    if all(ts[atom] is None for atom in operands):
        return None
    return ts.code.let("t", exp(*[ts.full(atom) for atom in operands]), type)


def _named(atom: Atom) -> Name:
    assert isinstance(atom, Var)
    return atom.name


def _boolean(ts: Tangents, op: Op, args: Sequence[Atom]) -> Tangent:
    """Whether the result changes where the operands change that have the tangent true."""
    code = ts.code
    if all(ts[a] is None for a in args):
        return None
    changes = [ts.full(a) for a in args]
    match op, args:
        case ((Op.NOT | Op.XOR | Op.EQ | Op.NE), _):
            return changes[0] if len(changes) == 1 else code.op(Op.XOR, *changes)
        case ((Op.AND | Op.OR), (x, y)):
            others = [a if op is Op.AND else code.op(Op.NOT, a) for a in (y, x)]
            single = [code.op(Op.AND, change, other) for change, other in zip(changes, others, strict=True)]
            return code.op(Op.XOR, code.op(Op.XOR, *single), code.op(Op.AND, *changes))
        case _:
            return None


def _scalar(ts: Tangents, op: Op, prim: object, args: Sequence[Atom], result: Atom) -> Tangent:
    code = ts.code
    if all(ts[a] is None for a in args):
        return None
    prim_ = code.type_of(args[-1]).prim if op is not Op.LDEXP else code.type_of(args[0]).prim
    if code.type_of(result).prim is not prim_:
        return None
    total: Tangent = None
    for factor, arg in zip(partials(code, op, prim_, args, result), args, strict=True):
        tangent = ts[arg]
        if factor is not None and tangent is not None:
            total = code.plus(total, code.times(factor, tangent))
    return total


# ---- control ------------------------------------------------------------------------------------------------------


def _extended(ts: Tangents, stm: Stm, wanted: Iterable[int], exp: Exp) -> None:
    """The statement with `exp`, whose further results are the tangents of the results `wanted`."""
    params = {k: ts.code.like(stm.pat[k], "_t") for k in wanted}
    ts.code.keep(replace(stm, pat=(*stm.pat, *params.values()), exp=exp))
    for k, param in params.items():
        ts.set(stm.pat[k], Var(param.name))


def _if(ts: Tangents, stm: Stm, exp: If) -> None:
    code = ts.code
    sides = []
    for body in (exp.then, exp.orelse):
        inner = ts.inside(code.inside())
        sides.append((inner, body.result, inner.body(body)))
    wanted = [k for k in range(len(stm.pat)) if any(tangents[k] is not None for _, _, tangents in sides)]
    bodies = [inner.code.body([*result, *[inner.full(result[k]) for k in wanted]]) for inner, result, _ in sides]
    _extended(ts, stm, wanted, If(exp.cond, bodies[0], bodies[1]))


def _loop(ts: Tangents, stm: Stm, exp: Loop) -> None:
    """Which parameters have tangents follows by iteration: those of initial values, then those that the body gives."""
    code = ts.code
    wanted = {k for k, init in enumerate(exp.inits) if ts[init] is not None and differentiable(exp.params[k].type)}
    while True:
        inner = ts.inside(code.inside())
        params = {k: code.like(exp.params[k], "_t") for k in sorted(wanted)}
        for k, param in params.items():
            ts.of[exp.params[k].name] = Var(param.name)
        tangents = inner.body(exp.body)
        found = {k for k, t in enumerate(tangents) if t is not None and differentiable(exp.params[k].type)}
        if found <= wanted:
            break
        wanted |= found
        exp = replace(exp, body=code.fresh_body(exp.body))
    body = inner.code.body([*exp.body.result, *[inner.full(exp.body.result[k]) for k in params]])
    inits = (*exp.inits, *[ts.full(exp.inits[k]) for k in params])
    loop = Loop((*exp.params, *params.values()), inits, exp.form, body)
    _extended(ts, stm, params, loop)


# ---- SOACs --------------------------------------------------------------------------------------------------------


def _with_rows(ts: Tangents, arrays: Sequence[Name], params: Sequence[Param]) -> tuple[list[Name], list[Param]]:
    """The tangents of the arrays that have one, and parameters for their rows."""
    names: list[Name] = []
    extra: list[Param] = []
    for array, param in zip(arrays, params, strict=True):
        tangent = ts[Var(array)]
        if tangent is not None:
            names.append(_named(tangent))
            extra.append(ts.code.like(param, "_t"))
            ts.of[param.name] = Var(extra[-1].name)
    return names, extra


def _map(ts: Tangents, stm: Stm, exp: Screma) -> None:
    code, f = ts.code, exp.map
    names, extra = _with_rows(ts, exp.arrays, f.params)
    inner = ts.inside(code.inside())
    tangents = inner.body(f.body)
    wanted = [k for k, t in enumerate(tangents) if t is not None and differentiable(f.ret[k])]
    result = [*f.body.result, *[t for k in wanted if (t := tangents[k]) is not None]]
    lam = Lambda((*f.params, *extra), inner.code.body(result), (*f.ret, *[f.ret[k] for k in wanted]))
    _extended(ts, stm, wanted, Screma(exp.width, (*exp.arrays, *names), lam, (), ()))


def _dual(ts: Tangents, red: Reduction) -> Reduction:
    """The operator on values and tangents: k values, then k tangents on each side."""
    code, op, count = ts.code, red.op, len(red.neutral)
    extra = [code.like(p, "_t") for p in op.params]
    inner = ts.inside(code.inside())
    for param, tangent in zip(op.params, extra, strict=True):
        inner.set(param, Var(tangent.name))
    inner.body(op.body)
    result = [*op.body.result, *[inner.full(a) for a in op.body.result]]
    params = (*op.params[:count], *extra[:count], *op.params[count:], *extra[count:])
    f = Lambda(params, inner.code.body(result), op.ret + op.ret)
    return Reduction(f, (*red.neutral, *[ts.full(a) for a in red.neutral]), red.comm)


def _fold(ts: Tangents, stm: Stm, exp: Screma) -> None:
    """A scan or a reduction; the tangents of sums are sums of tangents."""
    code = ts.code
    (red,) = exp.ops
    fold = code.scan if exp.scans else code.reduction
    if scalar_operator(red.op) is Op.ADD and all(ts[a] is None for a in red.neutral):
        code.keep(stm)
        sums = fold(exp.width, ts.arrays(exp.arrays), code.adder(red.op.ret[0]))
        ts.set(stm.pat[0], code.screma(sums, stm.pat[0].name.base + "_t")[0])
        return
    arrays = [*map(Var, exp.arrays), *ts.arrays(exp.arrays)]
    _extended(ts, stm, range(len(stm.pat)), fold(exp.width, arrays, _dual(ts, red)))


def _hist(ts: Tangents, stm: Stm, exp: Hist) -> None:
    """As for a reduction; what lands in a cell is added there with its tangent."""
    code = ts.code
    if scalar_operator(exp.op.op) is Op.ADD:
        _placed(ts, stm, replace(exp, op=code.adder(exp.op.op.ret[0])))
        return
    dests = tuple([d.name for d in ts.arrays(exp.dests)])
    arrays, f = code.as_they_are([*map(Var, exp.arrays), *ts.arrays(exp.arrays[exp.rank :])])
    both = Hist(exp.width, arrays, f, _dual(ts, exp.op), exp.dests + dests, exp.rank)
    _extended(ts, stm, range(len(stm.pat)), both)


def _placed(ts: Tangents, stm: Stm, exp: Hist | Scatter) -> None:
    """The tangents go where the values go, by `exp`."""
    code, count = ts.code, exp.rank
    code.keep(stm)
    dests = tuple([d.name for d in ts.arrays(exp.dests)])
    arrays, f = code.as_they_are([*map(Var, exp.arrays[:count]), *ts.arrays(exp.arrays[count:])])
    params = [code.like(p, "_t") for p in stm.pat]
    tangents = code.emit(params, replace(exp, arrays=arrays, map=f, dests=dests))
    for param, tangent in zip(stm.pat, tangents, strict=True):
        ts.set(param, tangent)
