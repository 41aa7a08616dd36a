"""Sizes against types as written: binding patterns, checking ascriptions, filling in values of a type.

A type expression is walked beside a value. A size parameter that has no value yet is bound to the size it meets;
any other size must agree, which is checked at run time unless the two are known to be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...ir.core import Replicate
from ...ir.errors import CompileError, Diagnostic, IRError, Label, Loc
from ...ir.ops import Op
from ...ir.types import Atom, Prim, Type, i64, zero
from ..source import syntax as s
from ..source.atoms import Ident, PLit, PVar, PWild, Qual, TEName, TypeParamKind
from ..source.declarations import TypeDec
from ..source.names import leaves
from ..source.types import (
    Known,
    Size,
    SizeConst,
    SizeExp,
    SizeMade,
    SizeVar,
    TArray,
    TFun,
    TOpaque,
    TPrim,
    TRecord,
    TSum,
    TVar,
    Ty,
)
from .assertions import require_equal, require_size
from .scalars import find_module
from .state import Certs, Stage, emit, prim_op, reshape
from .values import (
    Abbreviation,
    Accumulator,
    Arr,
    Component,
    Definition,
    Env,
    Native,
    Open,
    Rec,
    Sum,
    TypeArgument,
    TypeBinding,
    Value,
    WrittenType,
    components,
    field_of,
    sizes_of,
    with_atoms,
    with_sizes,
)

# ---- sizes --------------------------------------------------------------------------------------------------------


def size_value(atom: Atom) -> Component:
    return Component(atom, Prim.I64)


def size_atom(st: Stage, value: Value, loc: Loc) -> Atom:
    """The number a size name stands for."""
    match value:
        case Component(atom, Prim.I64):
            return atom
        case Open():
            settled = settle(st, value, loc)
            assert isinstance(settled, Component)
            return settled.atom
        case Definition(dec, env):
            inner = env.child()
            inner.values[dec.name] = value
            return size_atom(st, st.evaluate(Ident(dec.id, (dec.name,), loc), inner, ""), loc)
        case _:
            raise IRError(f"elaborate: a size of kind {type(value).__name__} at {loc}")


def settle(st: Stage, size: Open, loc: Loc) -> Value:
    """The value of a size parameter by now; from the use of the definition if no array showed it."""
    current = size.env.values.get(size.name)
    if current is not None and not isinstance(current, Open):
        return current
    known = None if size.use is None else size.use.instance.known(size.name)
    if size.use is None or known is None:
        raise UnknownSize(_unknown_size(size.name, st.at(loc)))
    home = next((builder for builder in st.builder.outward() if builder is size.home), None)
    if home is None:
        return size_value(_size_of_type(st, known, size.use.env, loc))
    with st.resumed(home):
        value = size_value(_size_of_type(st, known, size.use.env, loc))
    size.env.values[size.name] = value
    return value


class UnknownSize(CompileError):
    """A size is needed that neither the arguments nor the place of use tell."""


def _unknown_size(name: str, loc: Loc) -> Diagnostic:
    text = f"cannot tell the value of size `{name}` here" if name.isidentifier() else "cannot tell a size here"
    return Diagnostic("E0203", text, Label(loc, "used here"), hint="say it with a type annotation, e.g. `: [n]t`")


SUMS = {"+": Op.ADD, "-": Op.SUB, "*": Op.MUL}


def _size_of_type(st: Stage, size: Known, env: Env, loc: Loc) -> Atom:
    match size:
        case SizeMade(op, left, right):
            operands = (_size_of_type(st, left, env, loc), _size_of_type(st, right, env, loc))
            return prim_op(st, SUMS[op], Prim.I64, operands, loc)
        case SizeConst(value):
            return i64(value)
        case SizeExp(_, exp):
            return size_atom(st, st.evaluate(exp, env, ""), loc)
        case SizeVar(name):
            value = find_size(env, size)
            if value is None:
                raise UnknownSize(_unknown_size(name, st.at(loc)))
            return size_atom(st, value, loc)


def find_size(env: Env, size: SizeVar) -> Value | None:
    """What a size of an inferred type stands for: by its id where a variable's type shows it, else by its name."""
    value = env.lookup(size.id)
    return env.lookup(size.name) if value is None else value


def note_type(st: Stage, node: int, value: Value, env: Env) -> None:
    """A variable with `value` is bound: its inferred type says which sizes the value shows."""
    type = st.typed.types.get(node)
    for size, atom in _sizes_shown(type, value):
        env.values.setdefault(size, size_value(atom))
    if type == TPrim(Prim.I64):
        env.values[node] = value


def note_result(st: Stage, type: Ty | None, value: Value, env: Env) -> None:
    """A value without a name: its type may show sizes that nothing else does, and that are needed."""
    for size, atom in _sizes_shown(type, value):
        if size in st.typed.needed:
            env.values[size] = size_value(atom)


def _sizes_shown(type: Ty | None, value: Value) -> Iterator[tuple[int, Atom]]:
    """The sizes that a type names, by id, with what they are in a value."""
    match type, value:
        case TArray(size, elem), Arr(atom, row):
            if isinstance(size, SizeVar):
                yield size.id, atom
            yield from _sizes_shown(elem, row)
        case TRecord(types), Rec(fields):
            for (_, part), (_, inner) in zip(types, fields, strict=True):
                yield from _sizes_shown(part, inner)
        case _:
            pass


def keep_needed(st: Stage, frame: Env, env: Env) -> None:
    """A frame ends: sizes that came up in it are known outside of it."""
    while frame is not env and frame.parent is not None:
        env.values.update(
            {i: frame.values[i] for i in st.typed.needed.keys() & frame.values.keys() if i not in env.values}
        )
        frame = frame.parent


def coerce_sizes(st: Stage, value: Value, wanted: list[Atom | None], what: str, loc: Loc) -> Value:
    """`value` with the sizes `wanted` (None: as it is), checked at run time where they are not known to agree."""
    found = sizes_of(value)
    new = [have if want is None else want for have, want in zip(found, wanted, strict=True)]
    if new == found:
        return value
    certs: Certs = ()
    for have, want in zip(found, new, strict=True):
        needed = require_equal(st, have, want, _mismatch(value, have, want, new, what), loc)
        certs += tuple([c for c in needed if c not in certs])
    resized = with_sizes(value, new)
    atoms = []
    for (atom, old), (_, type) in zip(components(value), components(resized), strict=True):
        atoms.append(atom if old == type else reshape(st, atom, type, loc, certs))
    return with_atoms(resized, atoms)


def _mismatch(value: Value, have: Atom, want: Atom, new: list[Atom], what: str) -> tuple[str | Atom, ...]:
    """Whole shapes where `value` is an array of scalars, else the sizes that differ."""
    row = value
    while isinstance(row, Arr):
        row = row.row
    if not isinstance(row, Component):
        return f"{what} has size ", have, ", needs ", want
    shown = shape_parts(sizes_of(value))
    return f'{what} of shape "', *shown, '" cannot match shape of type "', *shape_parts(new), f'{row.prim.value}"'


def shape_parts(sizes: Sequence[Atom]) -> tuple[str | Atom, ...]:
    """`[2][3]`, as parts of a message."""
    return tuple([part for size in sizes for part in ("[", size, "]")])


def coerce_like(st: Stage, value: Value, pattern: Value, what: str, loc: Loc) -> Value:
    """`value` with the sizes of `pattern`, a tree of the same form."""
    return coerce_sizes(st, value, list(sizes_of(pattern)), what, loc)


# ---- types as written ---------------------------------------------------------------------------------------------


def check_type(st: Stage, value: Value, type: s.TypeExp, env: Env, what: str, loc: Loc) -> Value:
    """`value : type`: binds the open sizes of `type`, checks the others."""
    if isinstance(value, Component):
        return value
    return coerce_sizes(st, value, _wanted(st, type, value, env), what, loc)


def _wanted(st: Stage, written: s.TypeExp, value: Value, env: Env) -> list[Atom | None]:
    """For every size in `value` what `written` asks for."""
    if isinstance(value, Component):
        return []
    type, env = expand(st, written, env)
    match value.arrays if isinstance(value, Accumulator) else value, type:
        case Arr(size, row), s.TEArray(exp, elem):
            wanted = None if exp is None else _meet(st, exp, size, env)
            return [wanted, *_wanted(st, elem, row, env)]
        case Rec(fields), s.TETuple(fields=types) | s.TERecord(fields=types) if len(fields) == len(types):
            written_at = dict(types)
            return [w for name, field in fields for w in _wanted(st, written_at[name], field, env)]
        case Sum(_, cases), s.TESum(constructors):
            payloads = dict(constructors)
            pairs = [(a, t) for name, args in cases for a, t in zip(args, payloads[name], strict=True)]
            return [w for arg, elem in pairs for w in _wanted(st, elem, arg, env)]
        case _:
            return [None] * len(sizes_of(value))


def _meet(st: Stage, exp: s.Exp, found: Atom, env: Env) -> Atom | None:
    """The size that `exp` asks for in place of `found`."""
    if isinstance(exp, Ident) and len(exp.name) == 1:
        value = env.lookup(exp.name[0])
        if isinstance(value, Open):
            current = value.env.values.get(value.name)
            if not isinstance(current, Open) and current is not None:
                return size_atom(st, current, exp.loc)
            value.env.values[value.name] = size_value(found)
            return None
    solved = _solve(st, exp, found, env)
    if solved:
        return None
    return size_atom(st, st.evaluate(exp, env, ""), exp.loc)


def _solve(st: Stage, exp: s.Exp, found: Atom, env: Env) -> bool:
    """Bind the one open size of a sum: `[n+k]` meets `found`, so n is `found - k`."""
    if not isinstance(exp, s.Chain) or any(op.name not in {("+",), ("-",)} for op, _ in exp.rest):
        return False
    terms = [("+", exp.first), *[(op.name[0], operand) for op, operand in exp.rest]]
    unknown = [(sign, size) for sign, term in terms if (size := _open_size(term, env)) is not None]
    if len(unknown) != 1 or unknown[0][0] != "+" or _is_settled(unknown[0][1]):
        return False
    size = unknown[0][1]
    rest = found
    for sign, term in terms:
        if _open_size(term, env) is None:
            atom = size_atom(st, st.evaluate(term, env, ""), exp.loc)
            rest = prim_op(st, Op.SUB if sign == "+" else Op.ADD, Prim.I64, (rest, atom), exp.loc, size.name)
    require_size(st, rest, f"size `{size.name}`", exp.loc)
    size.env.values[size.name] = size_value(rest)
    return True


def _open_size(exp: s.Exp, env: Env) -> Open | None:
    """The size parameter without a value that `exp` names."""
    if not isinstance(exp, Ident) or len(exp.name) != 1:
        return None
    value = env.lookup(exp.name[0])
    unsettled = isinstance(value, Open) and isinstance(value.env.values.get(value.name), Open)
    return value if unsettled and isinstance(value, Open) else None


def expand(st: Stage, type: s.TypeExp, env: Env) -> tuple[s.TypeExp, Env]:
    """`type` with abbreviations, uniqueness and `?[n].` taken off the top, and the environment of what is below."""
    while True:
        match type:
            case s.TEUnique(elem):
                type = elem
            case s.TEExists(sizes, elem):
                env = env.child()
                for size in sizes:
                    env.values[size] = Open(size, env, None)
                type = elem
            case TEName(name) | s.TEApply(name):
                binding = lookup_type(env, name)
                args = type.args if isinstance(type, s.TEApply) else ()
                match binding:
                    case Abbreviation(dec, home):
                        type, env = dec.type, _abbreviation_env(st, dec, home, args, env)
                    case WrittenType(elem, home):
                        type, env = elem, home
                    case _:
                        return type, env
            case _:
                return type, env


def lookup_type(env: Env, name: Qual) -> TypeBinding | None:
    *path, last = name
    return (find_module(env, tuple(path)).types if path else env.types).get(last)


def _abbreviation_env(st: Stage, dec: TypeDec, home: Env, args: tuple[s.TypeExp | s.TESize, ...], env: Env) -> Env:
    """The environment of the right-hand side of `type t [n] 'a = ..` where it is used as `t args`."""
    inner = home.child()
    types: dict[str, TypeBinding] = {}
    given = list(args)
    for param in dec.params:
        arg = given.pop(0) if given else None
        match arg:
            case s.TESize(size) if param.kind is TypeParamKind.SIZE:
                inner.values[param.name] = _size_argument(st, size, env, inner, param.name)
            case None | s.TESize():
                inner.values[param.name] = Open(param.name, inner, None)
            case _:
                types[param.name] = WrittenType(arg, env)
    return inner.with_types(types) if types else inner


def _size_argument(st: Stage, size: s.Exp | None, env: Env, frame: Env, name: str) -> Value:
    if size is None:
        return Open(name, frame, None)
    if isinstance(size, Ident) and len(size.name) == 1:
        value = env.lookup(size.name[0])
        if isinstance(value, Open):
            return value
    return st.evaluate(size, env, "")


# ---- patterns -----------------------------------------------------------------------------------------------------


def bind_pattern(st: Stage, pat: s.Pat, value: Value, env: Env) -> None:
    """Put the names of `pat` into the frame `env`."""
    match pat:
        case PVar(node, name):
            env.values[name] = value
            note_type(st, node, value, env)
        case PWild() | PLit():
            pass
        case s.PTuple(fields=fields) | s.PRecord(fields=fields):
            for name, elem in fields:
                bind_pattern(st, elem, field_of(value, name), env)
        case s.PConstr(_, name, args):
            assert isinstance(value, Sum)
            for arg, payload in zip(args, dict(value.cases)[name], strict=True):
                bind_pattern(st, arg, payload, env)
        case s.PAscript(inner, type, loc):
            bind_pattern(st, inner, check_type(st, value, type, env, _described(inner), loc), env)
        case s.PAttr(_, inner):
            bind_pattern(st, inner, value, env)


def _described(pat: s.Pat) -> str:
    name = name_of_pattern(pat)
    return f"`{name}`" if name else "value"


def name_of_pattern(pat: s.Pat) -> str:
    """The first name that `pat` binds, "" if there is none: the base of the core names it gives rise to."""
    return next((name for name in names_of_pattern(pat) if name), "")


def names_of_pattern(pat: s.Pat) -> list[str]:
    """All names that `pat` binds."""
    return [part.name for part in leaves(pat) if isinstance(part, PVar)]


# ---- values of an inferred type -----------------------------------------------------------------------------------


def blank(st: Stage, type: Ty, env: Env, loc: Loc, shape: tuple[Atom, ...] = ()) -> Value:
    """Some value of `type` under the dimensions `shape`, a dummy that is never read."""
    match type:
        case TPrim(prim):
            return Component(filled(st, Type(prim, shape), loc), prim)
        case TRecord(fields):
            return Rec(tuple([(name, blank(st, field, env, loc, shape)) for name, field in fields]))
        case TArray(size, elem):
            atom = _size_or_zero(st, size, env, loc)
            return Arr(atom, blank(st, elem, env, loc, (*shape, atom)))
        case TSum(constructors):
            tag = Component(filled(st, Type(Prim.I8, shape), loc), Prim.I8)
            cases = [(name, tuple([blank(st, a, env, loc, shape) for a in args])) for name, args in constructors]
            return Sum(tag, tuple(cases))
        case TVar(name):
            binding = env.types.get(name)
            is_known = isinstance(binding, TypeArgument)
            return blank(st, binding.type, binding.env, loc, shape) if is_known else Rec(())
        case TFun():
            return blank_function(type, env, lambda result, inner: blank(st, result, inner, loc))
        case TOpaque():
            raise IRError("elaborate: an abstract type is left")


def tells_sizes(type: Ty, env: Env) -> bool:
    """Whether all sizes of values of `type` are known here."""
    match type:
        case TArray(size, elem):
            value = find_size(env, size) if isinstance(size, SizeVar) else None
            known = isinstance(value, Component) or (isinstance(value, Open) and _is_settled(value))
            return (known or (not isinstance(size, SizeVar) and _is_known(size, env))) and tells_sizes(elem, env)
        case TRecord(fields):
            return all(tells_sizes(field, env) for _, field in fields)
        case TSum(constructors):
            return all(tells_sizes(arg, env) for _, args in constructors for arg in args)
        case TVar(name):
            binding = env.types.get(name)
            return isinstance(binding, TypeArgument) and tells_sizes(binding.type, binding.env)
        case TPrim():
            return True
        case TFun() | TOpaque():
            return False


def blank_function(type: TFun, env: Env, make: Callable[[Ty, Env], Value]) -> Native:
    """A function of `type`; `make` makes what it gives, in an environment that knows the argument as a size."""

    def run(_: Stage, args: tuple[Value, ...], __: Loc, ___: str) -> Value:
        inner = env.child()
        inner.values[type.param_id] = args[0]
        return make(type.cod, inner)

    return Native("blank", 1, run)


def filled(st: Stage, type: Type, loc: Loc) -> Atom:
    if not type.shape:
        return zero(type.prim)
    return emit(st, "blank", Replicate(type.shape, zero(type.prim)), type, loc)


def _size_or_zero(st: Stage, size: Size, env: Env, loc: Loc) -> Atom:
    """A size of an inferred type; one that nothing determines is 0."""
    match size:
        case SizeVar():
            value = find_size(env, size)
            settled = isinstance(value, Component) or (isinstance(value, Open) and _is_settled(value))
            return size_atom(st, value, loc) if settled and value is not None else i64(0)
        case _:
            return _size_of_type(st, size, env, loc)


def _is_settled(size: Open) -> bool:
    current = size.env.values.get(size.name)
    given = None if size.use is None else size.use.instance.known(size.name)
    known = size.use is not None and given is not None and _is_known(given, size.use.env)
    return known or (current is not None and not isinstance(current, Open))


def _is_known(size: Known, env: Env) -> bool:
    match size:
        case SizeVar():
            return find_size(env, size) is not None
        case SizeMade(_, left, right):
            return _is_known(left, env) and _is_known(right, env)
        case SizeConst() | SizeExp():
            return True


def resolve_type(type: Ty, env: Env) -> tuple[Ty, Env]:
    """`type` with a type parameter on top replaced by what it stands for."""
    while isinstance(type, TVar):
        match env.types.get(type.name):
            case TypeArgument(actual, home):
                type, env = actual, home
            case _:
                break
    return type, env
