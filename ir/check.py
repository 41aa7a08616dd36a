"""What must hold of a program between passes, at each stage: `check(prog, stage)`.

* every name is bound once, is used in its scope, and has a tag below `next_name`; calls do not form a cycle;
* operands, lambdas, bodies and patterns agree in number and in type: scalar types and ranks exactly, sizes where both
  are constants (equal sizes may have several names; the interpreter compares them as numbers);
* core has no segops and no guards; in the flat stage every SOAC is inside a segop, where it is sequential, and guards
  stand outside;
* a segop contains only segops of lower levels;
* what is consumed is not used again (`ir/aliases.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from . import scalar
from .agreement import IllFormed, agrees, const_type, require_types
from .aliases import check_consumption
from .core import (
    Accumulate,
    Apply,
    ArrayLit,
    Assert,
    Basic,
    Body,
    Concat,
    Convert,
    Copied,
    Copy,
    DimIndex,
    Exp,
    ForLoop,
    FunDef,
    GuardCmp,
    Hist,
    If,
    Index,
    Iota,
    Lambda,
    Level,
    Loop,
    Param,
    PrimOp,
    Prog,
    Rearrange,
    Reduction,
    Replicate,
    Reshape,
    Scatter,
    Scratch,
    Screma,
    SegHist,
    SegMap,
    SegOp,
    SegRed,
    SegScan,
    SegScatter,
    SizeParam,
    Soac,
    Stm,
    Update,
    WhileLoop,
    WithAcc,
)
from .depth import allow_depth
from .errors import IRError
from .ops import operand_types
from .show import show_type
from .traverse import index_atoms, operands, space_params
from .types import BOOL, I64, Atom, Name, Type, Var
from .types import scalar as scalar_type
from .types_of import type_of_basic, types_of


class Stage(Enum):
    """CORE: SOACs, before flattening; FLAT: segops and guards."""

    CORE = "core"
    FLAT = "flat"


def check(prog: Prog, stage: Stage) -> None:
    """Raises `IRError`, with the statement in question, unless `prog` is well formed at `stage`."""
    allow_depth()
    context = Context(prog, stage)
    _bind_functions(context, prog)
    for stm in prog.consts:
        _stm(context, stm, None)
    for fun in prog.functions:
        _fun(context, fun)
    check_consumption(prog)


def _bind_functions(context: Context, prog: Prog) -> None:
    try:
        for fun in prog.functions:
            context.bind(fun.name)
    except IllFormed as fault:
        raise IRError(str(fault)) from None


class Context:
    """All types seen so far, and which names are visible at this point."""

    def __init__(self, prog: Prog, stage: Stage) -> None:
        self.stage = stage
        self.next_name = prog.next_name
        self.functions = {fun.name: fun for fun in prog.functions}
        self.types: dict[Name, Type] = {}
        self.visible: set[Name] = set()
        self.bound: set[Name] = set()

    def bind(self, name: Name) -> None:
        if name in self.bound:
            raise IllFormed(f"{name} is bound twice")
        if name.tag >= self.next_name:
            raise IllFormed(f"{name} has a tag that is not below next_name {self.next_name}")
        self.bound.add(name)

    def enter(self, params: Sequence[Param]) -> None:
        """Brings `params` into scope; the type of one may use another."""
        for p in params:
            self.bind(p.name)
            self.types[p.name] = p.type
            self.visible.add(p.name)
        for p in params:
            self.check_type(p.type)

    def leave(self, names: Iterable[Name]) -> None:
        self.visible.difference_update(names)

    def check_type(self, t: Type) -> None:
        for size in t.shape:
            self.require(size, I64, "a size")

    def use(self, name: Name) -> Type:
        if name not in self.visible:
            raise IllFormed(f"{name} is not in scope")
        return self.types[name]

    def type(self, atom: Atom) -> Type:
        return self.use(atom.name) if isinstance(atom, Var) else const_type(atom)

    def require(self, atom: Atom, t: Type, what: str) -> None:
        """`atom` must have type `t`."""
        found = self.type(atom)
        if not agrees(found, t):
            raise IllFormed(f"{what} should be {show_type(t)}, is {show_type(found)}")

    def require_all(self, atoms: Sequence[Atom], ts: Sequence[Type], what: str) -> None:
        require_types([self.type(atom) for atom in atoms], ts, what)


# ---- functions and bodies ----------------------------------------------------------------------------------------


def _fun(context: Context, fun: FunDef) -> None:
    try:
        context.enter(fun.params)
        for name in fun.consumes:
            if name not in (p.name for p in fun.params):
                raise IllFormed(f"{name} is consumed and no parameter")
        _check_entry(fun)
        names = _stms(context, fun.body, None)
        context.require_all(fun.body.result, [r.type for r in fun.results], "result")
        context.leave(names)
        context.enter(fun.results)
    except IllFormed as fault:
        raise IRError(f"{fault} (function {fun.name})") from None
    context.leave(p.name for p in (*fun.params, *fun.results))


def _check_entry(fun: FunDef) -> None:
    entry = fun.entry
    if entry is None:
        return
    if entry.sizes + sum(p.components for p in entry.params) != len(fun.params):
        raise IllFormed(f"the entry {entry.name} does not account for all parameters")
    if any(p.type != I64 for p in fun.params[: entry.sizes]):
        raise IllFormed(f"a size of the entry {entry.name} is no i64")
    if any(not 0 <= c < len(fun.results) for r in entry.results for c in r.components):
        raise IllFormed(f"the entry {entry.name} has a result that the function has not")


def _stms(context: Context, body: Body, inside: Level | None) -> list[Name]:
    """Checks the statements; `inside` is the level of the innermost segop around them. The names that they bind stay
    visible, for the result, until they are left."""
    names: list[Name] = []
    for stm in body.stms:
        _stm(context, stm, inside)
        names.extend(p.name for p in stm.pat)
    return names


def _body(context: Context, body: Body, ts: Sequence[Type], inside: Level | None) -> None:
    """Checks a body that should give values of types `ts`."""
    names = _stms(context, body, inside)
    context.require_all(body.result, ts, "result")
    context.leave(names)


def _lambda(context: Context, f: Lambda, params: Sequence[Type], inside: Level | None) -> None:
    """Checks a lambda that is applied to values of types `params`."""
    require_types([p.type for p in f.params], params, "parameter")
    context.enter(f.params)
    for t in f.ret:
        context.check_type(t)
    _body(context, f.body, f.ret, inside)
    context.leave(p.name for p in f.params)


def _stm(context: Context, stm: Stm, inside: Level | None) -> None:
    try:
        for cert in stm.certs:
            context.require(Var(cert), BOOL, "a certificate")
        for atom in operands(stm.exp):
            context.type(atom)
        _check_stage(context.stage, stm.exp, inside)
        _exp(context, stm, inside)
        found = types_of(stm.exp, context.types, context.functions)
        context.enter(stm.pat)
        require_types(found, [p.type for p in stm.pat], "value")
    except IllFormed as fault:
        raise fault.inside(stm) from None


def _check_stage(stage: Stage, exp: Exp, inside: Level | None) -> None:
    what = type(exp).__name__
    match exp:
        case SegMap() | SegRed() | SegScan() | SegScatter() | SegHist():
            if stage is Stage.CORE:
                raise IllFormed(f"{what} before flattening")
            if inside and _HEIGHT[exp.level] >= _HEIGHT[inside]:
                raise IllFormed(f"{what} of level {exp.level.value} inside level {inside.value}")
        case GuardCmp() | SizeParam():
            what = "a guard" if isinstance(exp, GuardCmp) else "a size parameter"
            if stage is Stage.CORE:
                raise IllFormed(f"{what} before flattening")
            if inside:
                raise IllFormed(f"{what} inside a segop")
        case WithAcc() | Accumulate() if stage is Stage.FLAT:
            raise IllFormed(f"{what} after flattening")
        case Screma() | Hist() | Scatter():
            if stage is Stage.FLAT and inside is None:
                raise IllFormed(f"{what} outside of segops after flattening")
        case _:
            pass


_HEIGHT = {level: height for height, level in enumerate(Level)}


# ---- expressions -------------------------------------------------------------------------------------------------


def _exp(context: Context, stm: Stm, inside: Level | None) -> None:
    """Checks operands and bodies of the statement's expression."""
    exp = stm.exp
    match exp:
        case If(cond, then, orelse):
            context.require(cond, BOOL, "the condition")
            for branch in (then, orelse):  # gives what the pattern has; its sizes are not in scope there
                _body(context, branch, [p.type for p in stm.pat], inside)
        case Loop():
            _loop(context, exp, inside)
        case Apply(function, args):
            if function not in context.functions:
                raise IllFormed(f"there is no function {function}")
            context.require_all(args, [p.type for p in context.functions[function].params], "argument")
        case Screma() | Hist() | Scatter():
            _soac(context, exp, inside)
        case WithAcc():
            _with_acc(context, exp)
        case Accumulate():
            _accumulate(context, exp)
        case SegMap() | SegRed() | SegScan() | SegScatter() | SegHist():
            _segop(context, exp, inside)
        case _:
            _basic(context, exp)


def _loop(context: Context, loop: Loop, inside: Level | None) -> None:
    ts = [p.type for p in loop.params]
    context.require_all(loop.inits, ts, "initial value")
    index: list[Param] = []
    match loop.form:
        case ForLoop(name, bound, prim):
            context.require(bound, scalar_type(prim), "the bound")
            if not prim.is_int:
                raise IllFormed("a loop counts in an integer type")
            index = [Param(name, scalar_type(prim))]
        case WhileLoop(cond):
            if not any(p.name == cond and p.type == BOOL for p in loop.params):
                raise IllFormed(f"{cond} is no parameter of the loop of type bool")
    context.enter(loop.params)
    context.enter(index)
    _body(context, loop.body, ts, inside)
    context.leave(p.name for p in [*loop.params, *index])


def _basic(context: Context, exp: Basic) -> None:
    match exp:
        case PrimOp(op, prim, args):
            if not scalar.defined(op, prim):
                raise IllFormed(f"there is no {op.value}_{prim.value}")
            context.require_all(args, [scalar_type(p) for p in operand_types(op, prim)], "operand")
        case Convert(source, _, arg):
            context.require(arg, scalar_type(source), "the operand")
        case Index(array, dims, _):
            _check_dims(context, array, dims)
        case Update(array, dims, value, safe):
            _check_dims(context, array, dims)
            place = type_of_basic(Index(array, dims, safe), context.types)
            context.require(value, place, "the value")
        case Iota(count, start, step, prim):
            if not prim.is_int:
                raise IllFormed(f"iota of {prim.value}")
            context.require(count, I64, "the count")
            context.require_all((start, step), [scalar_type(prim)] * 2, "operand")
        case Replicate(shape, _):
            _check_shape(context, shape)
        case Reshape(shape, array):
            _check_shape(context, shape)
            _require_array(context, array)
        case Scratch(type_):
            _check_shape(context, type_.shape)
        case ArrayLit(elems, row):
            context.check_type(row)
            context.require_all(elems, [row] * len(elems), "element")
        case Rearrange(perm, array):
            if sorted(perm) != list(range(context.use(array).rank)):
                raise IllFormed(f"{perm} is no permutation of the dimensions of {array}")
        case Concat(arrays, width):
            _check_concat(context, arrays, width)
        case Copy(array):
            _require_array(context, array)
        case Assert(cond, _, _):
            context.require(cond, BOOL, "the condition")
        case GuardCmp(_, par, _, pays):
            context.require(par, I64, "the parallelism")
            context.require(pays, BOOL, "whether it pays")
        case Copied() | SizeParam():
            pass


def _check_dims(context: Context, array: Name, dims: Sequence[DimIndex]) -> None:
    if len(dims) != context.use(array).rank or not dims:
        raise IllFormed(f"{len(dims)} indices for {array} of rank {context.use(array).rank}")
    for atom in index_atoms(tuple(dims)):
        context.require(atom, I64, "an index")


def _check_shape(context: Context, shape: Sequence[Atom]) -> None:
    if not shape:
        raise IllFormed("a shape without dimensions")
    for size in shape:
        context.require(size, I64, "a size")


def _require_array(context: Context, array: Name) -> Type:
    t = context.use(array)
    if not t.shape:
        raise IllFormed(f"{array} is no array")
    return t


def _check_concat(context: Context, arrays: Sequence[Name], width: Atom) -> None:
    context.require(width, I64, "the width")
    rows = [_require_array(context, xs).row() for xs in arrays]
    if not rows:
        raise IllFormed("concat of nothing")
    require_types(rows, [rows[0]] * len(rows), "row type")


# ---- SOACs and segops --------------------------------------------------------------------------------------------


def _soac(context: Context, exp: Soac, inside: Level | None) -> None:
    _lambda(context, exp.map, _row_types(context, exp), inside)
    match exp:
        case Screma(_, _, f, scans, reds):
            _check_reductions(context, (*scans, *reds), f.ret, inside)
        case Hist(_, _, f, op, dests, rank):
            _check_reductions(context, (op,), f.ret[rank:], inside)
            _check_writes(context, dests, rank, f.ret)
        case Scatter(_, _, f, dests, rank):
            _check_writes(context, dests, rank, f.ret)


def _row_types(context: Context, exp: Soac | WithAcc) -> list[Type]:
    """The types of the rows that are mapped over."""
    context.require(exp.width, I64, "the width")
    rows = [_require_array(context, xs).row() for xs in exp.arrays]
    for xs in exp.arrays:
        require_types([Type(I64.prim, context.use(xs).shape[:1])], [Type(I64.prim, (exp.width,))], f"width of {xs}:")
    return rows


def _with_acc(context: Context, exp: WithAcc) -> None:
    accs = [_require_array(context, xs) for xs in exp.dests]
    require_types(exp.map.ret[: len(accs)], accs, "accumulator")
    _lambda(context, exp.map, [*accs, *_row_types(context, exp)], None)


def _accumulate(context: Context, exp: Accumulate) -> None:
    values = [context.type(value) for value in exp.values]
    _check_writes(context, exp.accs, len(exp.index), [*[context.type(index) for index in exp.index], *values])
    if exp.op is not None:
        _check_reductions(context, (exp.op,), values, None)


def _check_reductions(context: Context, reds: Sequence[Reduction], given: Sequence[Type], inside: Level | None) -> None:
    """The operators take the first of the `given` values, in order; the others are only mapped."""
    at = 0
    for red in reds:
        count = len(red.neutral)
        ts = given[at : at + count]
        if len(ts) < count:
            raise IllFormed("fewer values than the operators take")
        at += count
        require_types(red.op.ret, ts, "result of the operator")
        context.require_all(red.neutral, ts, "neutral element")
        _lambda(context, red.op, [*ts, *ts], inside)


def _check_writes(context: Context, dests: Sequence[Name], rank: int, given: Sequence[Type]) -> None:
    """`rank` indices, then a value for each destination."""
    if rank < 1:
        raise IllFormed("no index")
    require_types(given[:rank], [I64] * rank, "index")
    places = [context.use(xs) for xs in dests]
    if any(t.rank < rank for t in places):
        raise IllFormed(f"a destination of rank below {rank}")
    require_types(given[rank:], [Type(t.prim, t.shape[rank:]) for t in places], "value written")


def _segop(context: Context, exp: SegOp, inside: Level | None) -> None:
    if not exp.space.dims:
        raise IllFormed("a space without dimensions")
    context.require_all(exp.space.widths, [I64] * len(exp.space.dims), "width")
    here = exp.level
    match exp:
        case SegMap(_, _, _, ret):
            given = ret
        case SegRed(_, space, reds, _, ret, ends):
            given = ret
            _check_reductions(context, reds, ret, here)
            if ends is not None:
                require_types([context.use(ends)], [I64.array_of(space.widths[0])], "end of rows")
        case SegScan(_, _, scans, _, ret):
            given = ret
            _check_reductions(context, scans, ret, here)
        case SegScatter(_, _, dests, rank, _) | SegHist(_, _, _, dests, rank, _):
            given = _written_types(context, dests, rank)
            if isinstance(exp, SegHist):
                _check_reductions(context, (exp.op,), given[rank:], here)
            given *= max(1, len(exp.body.result) // len(given))
    for t in given:
        context.check_type(t)
    params = space_params(exp.space)
    context.enter(params)
    _body(context, exp.body, given, here)
    context.leave(p.name for p in params)


def _written_types(context: Context, dests: Sequence[Name], rank: int) -> tuple[Type, ...]:
    """What the body of a segscatter or seghist gives."""
    places = [context.use(xs) for xs in dests]
    if rank < 1 or any(t.rank < rank for t in places):
        raise IllFormed(f"destinations cannot be indexed by {rank} indices")
    return (*[I64] * rank, *(Type(t.prim, t.shape[rank:]) for t in places))
