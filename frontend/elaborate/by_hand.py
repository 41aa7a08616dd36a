"""Kernels by hand: what `fully par` blocks say (`parsing/kernels.py`) as statements of core (`ir/by_hand.py`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...ir.by_hand import ALL, ATOMIC, COLLECTIVE, COMMIT, FENCE, LATER, SHUFFLE, WAIT
from ...ir.core import (
    Attr,
    Body,
    Copied,
    Fix,
    ForLoop,
    FunDef,
    If,
    Index,
    Iota,
    Loop,
    Param,
    PrimOp,
    Scratch,
    Stm,
    Update,
)  # fmt: skip
from ...ir.errors import CompileError, Diagnostic, Label, Loc
from ...ir.ops import Op
from ...ir.types import I64, Atom, Const, Name, Prim, Type, Var, i64
from ..parsing.kernels import MOST_DIMS, SHUFFLES, UNITS
from ..source.atoms import TypeParamKind
from ..source.declarations import ValDec
from ..source.types import Instance
from .inline import inline
from .soacs import redomap_value, scanomap_value
from .state import Stage, attach_attr, body_of, emit, emit_pattern, with_names
from .values import (
    Arr,
    Closure,
    Component,
    Env,
    Rec,
    Use,
    Value,
    array_of,
    arrays_of,
    atom_of,
    atoms_of,
    sizes_of,
    tuple_of,
    with_atoms,
    with_sizes,
)

Args = tuple[Value, ...]
Intrinsic = Callable[[Stage, Args, Loc, str], Value]
NOTHING = tuple_of()


def _do(st: Stage, exp: Loop | If | Update | Copied, loc: Loc, *attrs: Attr) -> Value:
    """A statement that gives nothing."""
    emit_pattern(st, (), exp, loc)
    for attr in attrs:
        attach_attr(st, attr, len(st.builder.stms) - 1, set())
    return NOTHING


def _body(st: Stage, function: Value, args: Args, loc: Loc) -> Body:
    with st.nested() as builder:
        st.apply(function, args, loc, "")
    return body_of(builder, [])


def _loop(st: Stage, bound: Value, function: Value, loc: Loc, *attrs: Attr) -> Value:
    with st.nested() as builder:
        base = function.fun.params[0] if isinstance(function, Closure) else None
        index = st.param(getattr(getattr(base, "pat", None), "name", "i"), I64)
        st.apply(function, (Component(Var(index.name), Prim.I64),), loc, "")
    form = ForLoop(index.name, atom_of(bound), Prim.I64)
    return _do(st, Loop((), (), form, body_of(builder, [])), loc, *attrs)


def _grid(unit: str, st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    threads = _constant(args[1], "the threads of a block", loc)
    return _loop(st, args[0], args[2], loc, Attr(unit, (Attr(str(threads), ()),)))


def _par(unit: str, st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    _constant(args[0], "how many units share a `par`", loc)
    return _loop(st, args[0], args[1], loc, Attr(ALL, (Attr(unit, ()),)))


def _constant(value: Value, what: str, loc: Loc) -> int:
    atom = atom_of(value)
    if not isinstance(atom, Const) or int(atom.value) < 1:
        raise _fault(f"{what} must be known when the program is compiled, and at least 1", loc)
    return int(atom.value)


def _for(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    return _loop(st, args[0], args[1], loc)


def _if(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    then, orelse = (_body(st, side, (NOTHING,), loc) for side in args[1:])
    return _do(st, If(atom_of(args[0]), then, orelse), loc)


def _word(attr: str, st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    return _do(st, Copied(Const(Prim.BOOL, True)), loc, Attr(attr, ()))


def _wait(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    atom = atom_of(args[0])
    assert isinstance(atom, Const), "the grammar has a number here"
    return _do(st, Copied(Const(Prim.BOOL, True)), loc, Attr(WAIT, (Attr(str(atom.value), ()),)))


OPERATORS = {"^": Op.XOR, "+": Op.ADD, "-": Op.SUB}
COMMUTATIVE = frozenset((Op.ADD, Op.MIN, Op.MAX, Op.AND, Op.OR, Op.XOR))
"""What an atomic update does."""


def _atomic(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """An update of an element, by an operation on integers for which the order of updates does not matter."""
    xs, *indices, op, value = args
    (array, type), *others = arrays_of(xs)
    if others or not type.prim.is_int or type.rank != len(indices):
        raise _fault("an atomic update is one of an integer", loc)
    with st.nested() as builder:
        old, new = (Component(Var(st.param(base, Type(type.prim, ())).name), type.prim) for base in ("old", "new"))
        found = body_of(builder, atoms_of(st.apply(op, (old, new), loc, "")))
    match found:
        case Body((Stm((Param(name),), PrimOp(op, _, (Var(), Var()) as operands)),), (Var(result),)) if (
            op in COMMUTATIVE and result == name and set(operands) == {old.atom, new.atom}
        ):
            dims = tuple(Fix(atom_of(index)) for index in indices)
            return _do(st, Update(array.name, dims, atom_of(value), False), loc, Attr(ATOMIC, (Attr(op.value, ()),)))
        case _:
            raise _fault("the operator of an atomic update is one of `+`, `&`, `|`, `^`, `min`, `max`", loc)


def _copy(rank: int, st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """An element that is on its way until it is waited for: a load and a store with an attribute."""
    target, source = args[0], args[1 + rank]
    to, at = args[1 : 1 + rank], args[2 + rank :]
    sources = arrays_of(source)
    if len(sources) != 1:
        raise _fault("`copy` copies numbers", loc)
    ((array, type),) = sources
    if type.rank != len(at) or type.prim.bytes not in (4, 8):
        raise _fault("`copy` copies elements of 4 or 8 bytes, one each", loc)
    exp = Index(array.name, tuple(Fix(atom_of(index)) for index in at), False)
    value = emit(st, "x", exp, Type(type.prim, ()), loc)
    attach_attr(st, Attr(LATER, ()), len(st.builder.stms) - 1, set())
    ((mine, _),) = arrays_of(target)
    return _do(st, Update(mine.name, tuple(Fix(atom_of(i)) for i in to), value, False), loc, Attr(LATER, ()))


def _new(space: str, st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    *sizes, zero = args
    shape = tuple(i64(_constant(size, f"the size of a {space} array", loc)) for size in sizes)
    assert isinstance(zero, Component)
    array = emit(st, hint or space, Scratch(Type(zero.prim, shape)), Type(zero.prim, shape), loc)
    attach_attr(st, Attr(space, ()), len(st.builder.stms) - 1, set())
    return array_of(shape, Component(array, zero.prim))


def _store(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    xs, *indices, value = args
    dims = tuple(Fix(atom_of(index)) for index in indices)
    for (array, type), atom in zip(arrays_of(xs), atoms_of(value), strict=True):
        if type.rank != len(dims):
            raise _fault(f"a store writes one element: `{array.name.base}` has {type.rank} dimensions", loc)
        _do(st, Update(array.name, dims, atom, False), loc)
    return NOTHING


def _shuffle(op: Op, st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """New registers, and an element and a store of it that stand for all of them."""
    xs, by = args
    (array, type), *others = arrays_of(xs)
    if others or type.rank != 1:
        raise _fault("a shuffle is of registers with a number for each thread", loc)
    attr, at = Attr(SHUFFLE, (Attr(op.value, ()),)), (Fix(atom_of(by)),)
    made = emit(st, hint or "other", Scratch(type), type, loc)
    attach_attr(st, Attr("registers", ()), len(st.builder.stms) - 1, set())
    value = emit(st, "x", Index(array.name, at, False), Type(type.prim, ()), loc)
    attach_attr(st, attr, len(st.builder.stms) - 1, set())
    _do(st, Update(made.name, at, value, False), loc, attr)
    return with_atoms(xs, [made])


def _collective(run: Intrinsic, st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`reduce` and `scan` over indices, executed by the block."""
    op, neutral, function, count = args
    size = i64(_constant(count, "how many values a collective takes", loc))
    indices = emit(st, "is", Iota(size, i64(0), i64(1), Prim.I64), I64.array_of(size), loc)
    start = len(st.builder.stms)
    value = run(st, (op, function, neutral, Arr(size, Component(indices, Prim.I64))), loc, hint)
    wanted: set[Name] = {atom.name for atom in atoms_of(value) if isinstance(atom, Var)}
    attach_attr(st, Attr(COLLECTIVE, ()), start, wanted)
    return value


BY_HAND: dict[str, Intrinsic] = {
    **{f"kernel'{unit}": partial(_grid, unit) for unit in UNITS},
    **{f"kernel'par_{unit}": partial(_par, unit) for unit in UNITS},
    "kernel'for": _for,
    "kernel'if": _if,
    "kernel'fence": partial(_word, FENCE),
    "kernel'commit": partial(_word, COMMIT),
    "kernel'wait": _wait,
    **{f"kernel'shuffle_{name}": partial(_shuffle, OPERATORS[sign]) for sign, name in SHUFFLES.items()},
    "kernel'reduce": partial(_collective, redomap_value),
    "kernel'scan": partial(_collective, scanomap_value),
    **{
        f"kernel'{space}_{rank}": partial(_new, space)
        for space in ("shared", "registers")
        for rank in range(1, MOST_DIMS + 1)
    },
    **{f"kernel'store_{rank}": _store for rank in range(1, MOST_DIMS + 1)},
    **{f"kernel'atomic_{rank}": _atomic for rank in range(1, MOST_DIMS + 1)},
    **{f"kernel'copy_{r}_{q}": partial(_copy, r) for r in range(1, MOST_DIMS + 1) for q in range(1, MOST_DIMS + 1)},
}


# ---- kernels of functions ------------------------------------------------------------------------------------------


def kernel_of(
    st: Stage, dec: ValDec, env: Env, params: tuple[Param, ...], args: Args, result: Value, sizes: dict[Atom, Atom]
) -> FunDef:
    """The kernel `dec` of a function whose parameters are like `params`, with the values `args`; `result` is what that
    gives, its sizes by those of the kernel in `sizes`. Called where a builder is open for it."""
    if any(param.kind is not TypeParamKind.SIZE for param in dec.tparams):
        raise _fault("a kernel by hand has no type parameters", dec.name_loc)
    if (own := next((s for s in sizes_of(result) if isinstance(s, Var) and s not in sizes), None)) is not None:
        text = f"the function chooses the size `{own.name.base}` of its result: make it a parameter of both"
        raise _fault(text, dec.name_loc)
    outside = with_sizes(result, [sizes.get(size, size) for size in sizes_of(result)])
    parts = [field for _, field in outside.fields] if isinstance(outside, Rec) else [outside]
    results: list[Param] = []
    values: list[Value] = []
    for part in parts:
        mine, value = with_names(st, "out", part)
        results += mine
        values.append(value)
    if len(args) + len(values) != len(dec.params):
        text = f"the function gives {len(values)} results, the kernel has not as many `*` parameters"
        raise _fault(text, dec.name_loc)
    inline(st, Closure(dec, env, Use(Instance({}, {}), env)), (*args, *values), "")
    name = st.fresh(dec.name)
    return FunDef(name, params, (), tuple(results), body_of(st.builder, []), None, dec.attrs, dec.loc)


def _fault(message: str, loc: Loc) -> CompileError:
    return CompileError(Diagnostic("E0232", message, Label(loc, "")))
