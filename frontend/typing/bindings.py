"""Binding forms: definitions with parameters, `let`, lambda, `loop`, `match`."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.errors import Label, Loc
from ...ir.records import dataclass
from ..source import syntax as s
from ..source.atoms import PLit, PVar, PWild, TypeParamKind
from ..source.declarations import ValDec
from ..source.types import BOOL, I64, Scheme, Size, SizeVar, TFun, TPrim, TVar, Ty
from .errors import bound_twice, fault
from .exhaustiveness import MATCH, PATTERN
from .patterns import Bound, bind_pattern, check_spoken, function_type, hidden_names
from .recursion import bind_itself, binds_itself, check_itself
from .size_expressions import binds_names, hide, size_of
from .state import Work
from .type_expressions import (
    LIFTED,
    SIZE_LIFTED,
    Anonymous,
    bind_type_param,
    check_type_params,
    resolve_type,
)

SHORT_CIRCUITS = ("&&", "||")

# ---- definitions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Defined:
    """A definition's type, not yet generalised, with the parameters it was written with."""

    type: Ty
    types: tuple[TVar, ...]
    sizes: tuple[SizeVar, ...]
    lifted: frozenset[str]
    mark: int
    body: s.Exp


def infer_definition(work: Work, dec: ValDec | s.LetFun) -> Defined:
    """`def f 'a [n] (x: t) : r = e`."""
    if dec.name in SHORT_CIRCUITS:
        place = dec.name_loc if isinstance(dec, ValDec) else dec.loc
        message = f"`{dec.name}` cannot be defined anew: its right operand is evaluated only where it is needed"
        raise fault("E0205", message, place, "the language's own operator")
    mark, scope_mark, owner = work.solver.fresh_id(), work.scope.mark(), work.owner
    outer, work.solver.function, work.owner = work.solver.function, mark, mark
    work.defining.append(dec.name)
    check_type_params(dec.tparams)
    params = [bind_type_param(work, p) for p in dec.tparams]
    bound = Bound({p.name: p.loc for p in dec.tparams if p.kind is TypeParamKind.SIZE})
    doms = [bind_pattern(work, p, None, bound, Anonymous.FREE) for p in dec.params]
    if isinstance(dec, ValDec) and binds_itself(work, dec, {*bound.names}):
        own = [p for p in params if isinstance(p, SizeVar)]
        itself = bind_itself(work, dec, doms, own, mark)
        cod = _result(work, dec)
        check_itself(work, dec, doms, itself, cod)
    else:
        cod = _result(work, dec)
    work.scope.leave(scope_mark)
    ty = function_type(work, dec, doms, cod, mark)
    _check_parameters(work, dec, params, ty, mark)
    work.solver.function, work.owner = outer, owner
    work.defining.pop()
    lifted = frozenset(v.name for p, v in zip(dec.tparams, params) if p.kind is TypeParamKind.LIFTED)
    types, sizes = [p for p in params if isinstance(p, TVar)], [p for p in params if isinstance(p, SizeVar)]
    return Defined(ty, tuple(types), tuple(sizes), lifted, mark, dec.body)


def _result(work: Work, dec: ValDec | s.LetFun | s.Lambda) -> Ty:
    """The type of the body, which the declared type of the result has to meet."""
    if dec.ret is None:
        return work.exp(dec.body)
    ret = resolve_type(work, dec.ret, Anonymous.FREE)
    hidden = hidden_names(dec.params)
    names = {i for size in work.solver.sizes_in(ret) for i in work.solver.names_in(size)}
    check_spoken(names, hidden, dec.ret.loc, "result")
    body = hide(work, work.exp(dec.body), set(hidden), {}, dec.id, dec.body.loc)
    label = Label(dec.ret.loc, "the declared type")
    name = "a lambda" if isinstance(dec, s.Lambda) else f"`{dec.name}`"
    work.expect(ret, body, dec.body.loc, f"result of {name}", [label])
    return ret


def _check_parameters(work: Work, dec: ValDec | s.LetFun, params: Sequence[TVar | SizeVar], ty: Ty, mark: int) -> None:
    """E0226: the size of a parameter cannot be one that comes up in the body; E0227: size parameters are used."""
    solver = work.solver
    used = {tag for size in solver.sizes_in(ty) for tag in solver.names_in(size)}
    for param, var in zip(dec.tparams, params):
        if isinstance(var, SizeVar) and var.id not in used:
            message = f"unused size: nothing in the type of `{dec.name}` has size `{var.name}`"
            raise fault("E0227", message, param.loc, "nothing says how large this is")
    for tag in sorted(solver.uses(ty)[1]) if isinstance(ty, TFun) else ():
        if tag in solver.origins and solver.age_of(tag) >= mark:
            message = f"unknown size in parameter of `{dec.name}`: it is known inside `{dec.name}` only"
            place, at = dec.name_loc if isinstance(dec, ValDec) else dec.loc, solver.origins[tag]
            raise fault("E0226", message, place, f"its type is `{work.show(ty)}`", [at] if at is not None else [])


def generalise(work: Work, defined: Defined, *, is_local: bool) -> tuple[Scheme, frozenset[str]]:
    """The scheme of a definition: what is unknown and younger than it becomes a parameter, but for what is still
    waiting to become a number or a record, and for types in a local function, which its uses determine. A parameter
    that was not written may stand for a function unless what it is used for needs data; those that may are the second
    result."""
    solver, ty = work.solver, work.solver.resolve(defined.type)
    _keep_waiting(work, defined.mark)
    new_types: list[TVar] = []
    for var in dict.fromkeys(solver.unknowns_in(ty)):
        if is_local or var.id in solver.needs or solver.age(var) < defined.mark:
            solver.ages[var.id] = min(solver.age(var), defined.mark - 1)
            continue
        tag = solver.fresh_id()
        new_types.append(TVar(f"t{tag}", tag))
        solver.bound_types[var.id] = new_types[-1]
    new_sizes = _generalise_sizes(work, defined, ty)
    lifted = defined.lifted
    if new_types:
        needed = [part for ty, _, _ in work.pending.data_only for part in solver.inside(ty)]
        data = {part for part in needed if isinstance(part, TVar)}
        lifted |= {var.name for var in new_types if var not in data}
    return Scheme((*defined.types, *new_types), (*defined.sizes, *new_sizes), ty), lifted


def _keep_waiting(work: Work, mark: int) -> None:
    """Types that unfinished records and sums speak of stay unknown."""
    solver = work.solver
    solver.structured = [v for v in solver.structured if solver.resolve(v) is v]
    for var in solver.structured:
        for part in solver.need_types(var):
            for inner in solver.unknowns_in(part):
                solver.ages[inner.id] = min(solver.age(inner), mark - 1)


def _generalise_sizes(work: Work, defined: Defined, ty: Ty) -> list[SizeVar]:
    """Unknown sizes, and anonymous ones of parameters, become size parameters."""
    solver = work.solver
    written = {p.id for p in defined.sizes}
    found: dict[int, SizeVar] = {}
    names = {tag: name for size in solver.sizes_in(ty) for tag, name in solver.names_in(size).items()}
    for tag, name in names.items():
        if not name.name and solver.age(name) >= defined.mark:
            new = solver.fresh_id()
            solver.bound_sizes[tag] = found[new] = SizeVar(f"?{new}", new)
        elif tag not in written and solver.parameters.get(tag, (0,))[0] == defined.mark:
            found[tag] = name
    return list(found.values())


# ---- let ------------------------------------------------------------------------------------------------------------


def infer_let(work: Work, exp: s.Let) -> Ty:
    """A chain of bindings, one after the other."""
    mark, ids, given = work.scope.mark(), set[int](), dict[int, Size]()
    for binding in exp.bindings:
        match binding:
            case s.LetPat():
                _bind_let(work, binding, ids, given)
            case s.LetFun(id=node, name=name, loc=loc):
                defined = infer_definition(work, binding)
                scheme, _ = generalise(work, defined, is_local=True)
                work.pending.schemes[node] = scheme
                work.solver.check_levels(work.record(node, scheme.type))
                work.bind_scheme(name, node, scheme, loc, defined.lifted)
                ids.add(node)
    ty = work.exp(exp.body)
    work.scope.leave(mark)
    numbers = {i: size for i, size in given.items() if work.solver.resolve(work.pending.types[i]) == I64}
    return work.record(exp.id, hide(work, ty, ids, numbers, exp.id, exp.loc))


def _bind_let(work: Work, binding: s.LetPat, ids: set[int], given: dict[int, Size]) -> None:
    """`let p = e`; a number with a name is the same size as `e`."""
    rhs = work.exp(binding.rhs)
    work.solver.check_levels(rhs)
    size = size_of(work, binding.rhs) if _is_number(work, rhs) and not binds_names(binding.rhs) else None
    bound = Bound()
    bind_sizes(work, binding.sizes, binding.loc, ids, bound)
    bind_pattern(work, binding.pat, rhs, bound, Anonymous.FREE)
    ids |= bound.ids
    if size is not None:
        given.update(dict.fromkeys(bound.ids, size))
    check_covers(work, rhs, (binding.pat,), binding.pat)


def _is_number(work: Work, ty: Ty) -> bool:
    return isinstance(work.solver.resolve(ty), TPrim | TVar)


def bind_sizes(work: Work, names: tuple[str, ...], loc: Loc, ids: set[int], bound: Bound) -> None:
    """`let [n] ..`: names for sizes, to be had from the value."""
    for at, name in enumerate(names):
        if name in names[:at]:
            raise bound_twice("size", name, loc, loc)
        tag = work.solver.fresh_id()
        work.bind(name, tag, I64, loc)
        ids.add(tag)
        bound.names[name] = loc
        size = work.solver.unknown_size()
        bound.sizes[tag] = size
        work.pending.sizes.append((size, loc, f"size `{name}`"))


def check_covers(work: Work, ty: Ty, pats: tuple[s.Pat, ...], at: s.Pat | s.Match) -> None:
    """Note that these patterns have to cover the type, unless that is plain."""
    if not (len(pats) == 1 and is_irrefutable(pats[0])):
        work.pending.matches.append((ty, pats, at.loc, MATCH if isinstance(at, s.Match) else PATTERN))


def is_irrefutable(pat: s.Pat) -> bool:
    """Whether a pattern matches whatever comes, by its form alone."""
    match pat:
        case PVar() | PWild():
            return True
        case s.PTuple(fields=fields) | s.PRecord(fields=fields):
            return all(is_irrefutable(p) for _, p in fields)
        case s.PAscript(pat=inner) | s.PAttr(pat=inner):
            return is_irrefutable(inner)
        case PLit() | s.PConstr():
            return False


# ---- lambda ---------------------------------------------------------------------------------------------------------


def infer_lambda(work: Work, exp: s.Lambda) -> Ty:
    r"""`\p q -> e`."""
    mark, scope_mark, bound = work.solver.fresh_id(), work.scope.mark(), Bound()
    outer, work.solver.function = work.solver.function, mark
    doms = [bind_pattern(work, p, None, bound, Anonymous.FREE) for p in exp.params]
    for pat, dom in zip(exp.params, doms):
        check_covers(work, dom, (pat,), pat)
    cod = _result(work, exp)
    work.scope.leave(scope_mark)
    ty = function_type(work, exp, doms, cod, mark)
    work.solver.function = outer
    return work.record(exp.id, ty)


# ---- branches -------------------------------------------------------------------------------------------------------


def infer_if(work: Work, exp: s.If) -> Ty:
    work.expect(BOOL, work.exp(exp.cond), exp.cond.loc, "condition of `if`")
    then, orelse = work.exp(exp.then), work.exp(exp.orelse)
    label = Label(exp.then.loc, f"the first branch is `{work.show(then)}`")
    ty = work.join(then, orelse, exp, exp.orelse.loc, "branches of `if` differ", [label])
    work.pending.data_only.append((ty, exp.loc, "result of `if`"))
    return work.record(exp.id, ty)


def infer_match(work: Work, exp: s.Match) -> Ty:
    scrutinee = work.exp(exp.scrutinee)
    result: Ty | None = None
    for pat, body in exp.cases:
        mark, bound = work.scope.mark(), Bound()
        bind_pattern(work, pat, scrutinee, bound, Anonymous.FREE)
        ty = hide(work, work.exp(body), bound.ids, {}, exp.id, body.loc)
        work.scope.leave(mark)
        if result is None:
            result = ty
        else:
            label = Label(exp.cases[0][1].loc, f"the first case is `{work.show(result)}`")
            result = work.join(result, ty, exp, body.loc, "cases of `match` differ", [label])
    assert result is not None, "a match has cases"
    check_covers(work, scrutinee, tuple(pat for pat, _ in exp.cases), exp)
    work.pending.data_only.append((result, exp.loc, "result of `match`"))
    return work.record(exp.id, result)


# ---- data ------------------------------------------------------------------------------------------------------------


def refuse_functions(work: Work) -> None:
    """E0218: functions are not data."""
    for ty, loc, what in work.pending.data_only:
        if work.solver.has_function(ty):
            shown = work.show(ty)
            raise fault("E0218", f"{what} cannot be a function", loc, f"this is `{shown}`")
        if (var := work.solver.lifted_in(ty, LIFTED)) is not None:
            message = f"{what} cannot be of type `{var.name}`, which may be a function"
            hint = f"make the parameter `'{var.name}`" if isinstance(var, TVar) else None
            raise fault("E0218", message, loc, f"this is `{work.show(ty)}`", hint=hint)
    for ty, loc, what in work.pending.one_shape:
        if (var := work.solver.lifted_in(ty, SIZE_LIFTED)) is not None:
            message = f"{what} cannot be of type `{var.name}`, which may hide sizes"
            hint = f"make the parameter `'{var.name}`" if isinstance(var, TVar) else None
            raise fault("E0223", message, loc, f"this is `{work.show(ty)}`", hint=hint)
