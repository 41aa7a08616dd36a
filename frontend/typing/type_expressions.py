"""Type expressions to types. What an anonymous size `[]` means depends on where the type stands (`Anonymous`)."""

from __future__ import annotations

from enum import Enum

from ...ir.errors import Label, Loc
from ...ir.records import dataclass
from ..source import syntax as s
from ..source.atoms import Ident, Lit, Qual, TEName, TypeParam, TypeParamKind
from ..source.declarations import TypeDec
from ..source.types import I64, WHOLE, Paths, Size, SizeVar, TArray, TFun, TSum, TVar, Ty, record
from .errors import DependsOnFailed, bound_twice, fault, unknown
from .scope import TypeBinding
from .size_expressions import binds_names, size_of
from .sizes import is_unknown
from .state import Work, substitute

LIFTED, SIZE_LIFTED = TypeParamKind.LIFTED, TypeParamKind.SIZE_LIFTED


class Anonymous(Enum):
    """What `[]` stands for."""

    FREE = "a size to be found"
    EXISTS = "a size that the function chooses"


@dataclass(frozen=True, slots=True)
class _Mode:
    anonymous: Anonymous
    found: list[SizeVar]  # anonymous sizes that were made, in order


def resolve_type(work: Work, te: s.TypeExp, anonymous: Anonymous) -> Ty:
    """The type that `te` writes; `*` is not part of it (`is_unique`)."""
    return _resolve(work, te, _Mode(anonymous, []))


def is_unique(te: s.TypeExp) -> bool:
    """Whether a parameter or result of this type is consumed or fresh, at least in part."""
    match te:
        case s.TEUnique():
            return True
        case s.TETuple(fields=fields) | s.TERecord(fields=fields):
            return any(is_unique(e) for _, e in fields)
        case s.TEExists(type=inner):
            return is_unique(inner)
        case s.TESum(constructors=constructors):
            return any(is_unique(e) for _, es in constructors for e in es)
        case TEName() | s.TEArray() | s.TEArrow() | s.TEApply():
            return False


def unique_parts(te: s.TypeExp) -> Paths:
    """The parts of a parameter or result of this type that are consumed or fresh."""
    match te:
        case s.TEUnique():
            return WHOLE
        case s.TETuple(fields=fields) | s.TERecord(fields=fields):
            return tuple([(name, *path) for name, e in fields for path in unique_parts(e)])
        case s.TEExists(type=inner):
            return unique_parts(inner)
        case _:
            return WHOLE if is_unique(te) else ()


def declare_type(work: Work, dec: TypeDec) -> TypeBinding:
    """The abbreviation that a declaration makes."""
    mark = work.scope.mark()
    params = tuple(bind_type_param(work, p) for p in dec.params)
    check_type_params(dec.params)
    mode = _Mode(Anonymous.EXISTS, [])
    ty = _resolve(work, dec.type, mode)
    work.solver.check_levels(ty)
    binding = TypeBinding(params, ty, tuple(mode.found), dec.loc, is_failed=False, lift=dec.lift)
    _check_lift(work, dec, binding)
    work.scope.leave(mark)
    return binding


def _check_lift(work: Work, dec: TypeDec, binding: TypeBinding) -> None:
    """E0223: an abbreviation says in its head whether it hides sizes (`type~`) or functions (`type^`); its parameters
    are in scope."""
    solver, ty, name = work.solver, binding.type, dec.name
    used = {i for size in solver.sizes_in(ty) for i in solver.names_in(size)}
    unused = [p.name for p in binding.params if isinstance(p, SizeVar) and p.id not in used]
    if unused:
        raise fault("E0223", f"size `{unused[0]}` is not used in type `{name}`", dec.loc, "declared here")
    if any(is_unknown(size) for size in solver.sizes_in(ty)):
        message = f"type `{name}` has an anonymous size in the parameter of a function"
        raise fault("E0223", message, dec.type.loc, "", hint="give the size a name: `?[n].([n]t -> ..)`")
    if dec.lift is LIFTED:
        return
    if solver.has_function(ty) or solver.lifted_in(ty, LIFTED) is not None:
        raise fault("E0223", f"type `{name}` has a function in it", dec.type.loc, "", hint=f"write `type^ {name}`")
    if dec.lift is not SIZE_LIFTED and (_leaves_out(dec.type) or _hides_sizes(work, dec.type) is not None):
        raise fault("E0223", f"type `{name}` has a size without a name", dec.type.loc, "", hint=f"write `type~ {name}`")


def _leaves_out(te: s.TypeExp | s.TESize) -> bool:
    """Whether a type is written with a size that it does not name: `[]t`, `?[n].[n]t`, `t []`."""
    match te:
        case s.TEArray(size=size, elem=elem):
            return size is None or _leaves_out(elem)
        case s.TESize(size=size):
            return size is None
        case s.TEExists():
            return True
        case TEName() | s.TEArrow():
            return False
        case _:
            return any(map(_leaves_out, _parts(te)))


def _check_element(work: Work, te: s.TypeExp) -> None:
    """E0223: the elements of an array are of one shape, which is known."""
    hidden = _hides_sizes(work, te)
    if hidden is not None:
        message = f"an array of `{hidden}`, which may hide sizes"
        raise fault("E0223", message, te.loc, "the elements of an array have one shape")


def _hides_sizes(work: Work, te: s.TypeExp | s.TESize) -> str | None:
    """The name in `te` of a type that may hide sizes or functions: it was declared so, whatever it stands for."""
    match te:
        case TEName(name=name) | s.TEApply(name=name) if (found := work.scope.find_type(name)) is not None:
            var = work.solver.lifted_in(found.type, LIFTED, SIZE_LIFTED) if isinstance(found.type, TVar) else None
            if var is not None or found.lift is not TypeParamKind.TYPE:
                return ".".join(name)
        case _:
            pass
    return next((hidden for part in _parts(te) if (hidden := _hides_sizes(work, part)) is not None), None)


def _parts(te: s.TypeExp | s.TESize) -> tuple[s.TypeExp | s.TESize, ...]:
    """The types of which a value of type `te` is made up, and what `te` is applied to."""
    match te:
        case s.TEUnique(elem=inner) | s.TEArray(elem=inner) | s.TEExists(type=inner):
            return (inner,)
        case s.TETuple(elems=parts) | s.TEApply(args=parts):
            return parts
        case s.TERecord(fields=fields):
            return tuple([part for _, part in fields])
        case s.TESum(constructors=constructors):
            return tuple([part for _, payload in constructors for part in payload])
        case TEName() | s.TEArrow() | s.TESize():
            return ()


def bind_type_param(work: Work, param: TypeParam) -> TVar | SizeVar:
    """Bring `[n]` or `'a` into scope. A type parameter that hides another gets a name of its own."""
    tag = work.solver.fresh_id()
    if param.kind is TypeParamKind.SIZE:
        work.bind(param.name, tag, I64, param.loc)
        label = Label(param.loc, f"size `{param.name}` is a parameter here")
        work.solver.parameters[tag] = (work.owner, label)
        return SizeVar(param.name, tag)
    hidden = work.scope.types.get(param.name)
    if param.kind is not TypeParamKind.TYPE:
        work.solver.kinds[tag] = param.kind
    var = TVar(f"{param.name}'{tag}" if hidden is not None and isinstance(hidden.type, TVar) else param.name, tag)
    work.scope.bind_type(param.name, TypeBinding((), var, (), param.loc, is_failed=False))
    return var


def check_type_params(params: tuple[TypeParam, ...]) -> None:
    """E0205 for a parameter that is written twice."""
    first: dict[tuple[bool, str], Loc] = {}
    for param in params:
        key = (param.kind is TypeParamKind.SIZE, param.name)
        if key in first:
            raise bound_twice("size parameter" if key[0] else "type parameter", param.name, param.loc, first[key])
        first[key] = param.loc


def _resolve(work: Work, te: s.TypeExp, mode: _Mode) -> Ty:
    match te:
        case TEName(name=name, loc=loc):
            return _apply(work, name, (), loc, mode)
        case s.TEApply(name=name, args=args, loc=loc):
            return _apply(work, name, args, loc, mode)
        case s.TEArray(size=size, elem=elem, loc=loc):
            ty = _resolve(work, elem, mode)
            _check_element(work, elem)
            return TArray(_size(work, size, loc, mode), ty)
        case s.TETuple(fields=fields) | s.TERecord(fields=fields):
            _check_names("field", [name for name, _ in fields], te.loc)
            return record([(name, _resolve(work, e, mode)) for name, e in fields])
        case s.TEUnique(elem=elem):
            return _resolve(work, elem, mode)
        case s.TESum(constructors=constructors):
            _check_names("constructor", [name for name, _ in constructors], te.loc)
            return TSum(tuple(sorted((name, tuple(_resolve(work, e, mode) for e in es)) for name, es in constructors)))
        case s.TEArrow():
            return _arrow(work, te, mode)
        case s.TEExists():
            return _exists(work, te, mode)


def _arrow(work: Work, te: s.TEArrow, mode: _Mode) -> Ty:
    """`(n: dom) -> cod`: the parameter is in scope in `cod`; an anonymous size there is chosen by the function, one in
    `dom` is to be found."""
    dom = _resolve(work, te.dom, _Mode(Anonymous.FREE, []))
    mark, tag = work.scope.mark(), work.solver.fresh_id()
    if te.param is not None:
        work.bind(te.param, tag, dom, te.loc)
    inner = _Mode(Anonymous.EXISTS, [])
    cod = _resolve(work, te.cod, inner)
    work.scope.leave(mark)
    exists = () if isinstance(cod, TFun) else tuple(inner.found)
    takes, gives = unique_parts(te.dom), unique_parts(te.cod)
    return TFun(te.param, dom, cod, bool(takes), bool(gives), exists, tag if te.param else -1, takes, gives)


def _exists(work: Work, te: s.TEExists, mode: _Mode) -> Ty:
    """`?[k]. t`: `k` is like an anonymous size that can be spoken of."""
    mark = work.scope.mark()
    named = [work.solver.existential() for _ in te.sizes]
    for name, size in zip(te.sizes, named):
        work.bind(name, size.id, I64, te.loc)
    ty = _resolve(work, te.type, mode)
    work.scope.leave(mark)
    return work.solver.replace_sizes(ty, {k.id: _anonymous(work, te.loc, mode) for k in named})


def _apply(work: Work, name: Qual, args: tuple[s.TypeExp | s.TESize, ...], loc: Loc, mode: _Mode) -> Ty:
    """The abbreviation `name` with its arguments put in, and its anonymous sizes made anew."""
    found = work.scope.find_type(name)
    if found is None:
        raise unknown("E0214", "type", ".".join(name), loc, work.scope.types)
    work.uses[loc] = found.loc
    if found.is_failed:
        raise DependsOnFailed
    if len(found.params) != len(args):
        wanted = f"{len(found.params)} argument{'s' * (len(found.params) != 1)}"
        raise fault("E0215", f"type `{'.'.join(name)}` takes {wanted}, found {len(args)}", loc, "here")
    if not args and not found.anonymous:
        return found.type
    types: dict[int, Ty] = {}
    sizes: dict[int, Size] = {k.id: _anonymous(work, loc, mode) for k in found.anonymous}
    for param, arg in zip(found.params, args):
        match param, arg:
            case SizeVar(), s.TESize(size=size):
                sizes[param.id] = _size(work, size, arg.loc, mode)
            case TVar(), s.TESize():
                raise fault("E0215", f"`{param.name}` of `{'.'.join(name)}` is a type, not a size", arg.loc, "a size")
            case SizeVar(), _:
                raise fault("E0215", f"`{param.name}` of `{'.'.join(name)}` is a size, not a type", arg.loc, "a type")
            case TVar(), _:
                types[param.id] = _resolve(work, arg, mode)
    return substitute(work.solver, found.type, types, sizes)


def _size(work: Work, exp: s.Exp | None, loc: Loc, mode: _Mode) -> Size:
    if exp is None:
        return _anonymous(work, loc, mode)
    if isinstance(exp, Lit) and exp.prim is None and not exp.is_decimal:
        work.record(exp.id, I64)
        return size_of(work, exp)
    if isinstance(exp, Ident) and not _is_known(work, exp.name):
        hint = f"sizes are parameters too: write `[{exp.name[0]}]` before the others, or `[]` for a size without a name"
        raise unknown("E0201", "name", exp.name[0], exp.loc, work.scope.values, hint)
    work.expect(I64, work.exp(exp), exp.loc, "a size")
    if binds_names(exp):
        raise fault("E0203", "a size cannot bind names", exp.loc, "", hint="give it a name with `let` before")
    return size_of(work, exp)


def _is_known(work: Work, name: Qual) -> bool:
    return len(name) != 1 or work.scope.find_value(name) is not None or name[0] in (*work.later, *work.defining)


def _anonymous(work: Work, loc: Loc, mode: _Mode) -> Size:
    match mode.anonymous:
        case Anonymous.FREE:
            size = work.solver.unknown_size()
            work.pending.sizes.append((size, loc, "a size of this type"))
            mode.found.append(size)
            return size
        case Anonymous.EXISTS:
            size = work.solver.existential()
            mode.found.append(size)
            return size


def _check_names(what: str, names: list[str], loc: Loc) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise bound_twice(what, name, loc, loc)
