"""Recursion (E0206): a function in the scope of its own definition, and definitions that use later ones.

Inside its definition a function has one type, in which its type parameters stand for themselves; its sizes are new at
each use. What takes functions is called with all arguments, and hands its functions on as they are, so that each call
from outside is one function of the core. A later definition has its type from what it declares.
"""

from __future__ import annotations

from ...ir.errors import Label, Loc
from ...ir.reachable import reachable
from ..source import syntax as s
from ..source.atoms import Ident, PVar, TypeParamKind
from ..source.declarations import ValDec
from ..source.names import names_in, nodes
from ..source.types import Scheme, SizeVar, TArray, TFun, TVar, Ty
from .errors import fault
from .patterns import Bound, bind_pattern, function_type
from .scope import Binding
from .state import Work
from .type_expressions import LIFTED, Anonymous, bind_type_param, resolve_type


def binds_itself(work: Work, dec: ValDec | s.LetFun, taken: set[str]) -> bool:
    """Whether a definition is in its own scope: a function of the program that mentions its name."""
    is_function = isinstance(dec, ValDec) and bool(dec.params) and not work.is_prelude
    return is_function and dec.id not in work.of_outer and dec.name not in taken and (dec.name,) in names_in(dec.body)


def bind_itself(work: Work, dec: ValDec, doms: list[Ty], sizes: list[SizeVar], mark: int) -> Ty:
    """Bring the function into scope for its body; gives the type of its result, unknown if it is not declared."""
    cod = work.solver.unknown() if dec.ret is None else resolve_type(work, dec.ret, Anonymous.EXISTS)
    ty = function_type(work, dec, doms, cod, mark)
    scheme = Scheme((), tuple(dict.fromkeys((*sizes, *_own_sizes(work, ty, mark)))), ty)
    work.scope.bind_value(dec.name, _binding(dec, scheme, frozenset()))
    return cod


def _binding(dec: ValDec, scheme: Scheme, lifted: frozenset[str]) -> Binding:
    size = SizeVar(dec.name, dec.id)
    return Binding(scheme, dec.name_loc, size, lifted, is_failed=False, is_prelude=False, is_recursive=True)


def check_itself(work: Work, dec: ValDec, doms: list[Ty], cod: Ty, body: Ty) -> None:
    """The rules of a recursive function, once the type of its body is known."""
    uses = {node for node, used in work.pending.recursive.items() if used == dec.id}
    if not uses:
        return
    if work.solver.has_function(body):
        message = f"the result of the recursive function `{dec.name}` is not first-order"
        raise fault("E0206", message, dec.name_loc, f"it gives `{work.show(body)}`", hint="write a further parameter")
    if dec.ret is None:
        if any(isinstance(part, TArray) for part in work.solver.inside(body)):
            message = f"the recursive function `{dec.name}` does not declare its result, whose sizes are needed"
            hint = f"write its type, e.g. `: {work.show(body)}`"
            raise fault("E0206", message, dec.name_loc, f"it gives `{work.show(body)}`", hint=hint)
        work.expect(cod, body, dec.body.loc, f"result of `{dec.name}`")
    takes = [at for at, dom in enumerate(doms) if _may_be_function(work, dom)]
    if takes:
        _check_calls(dec, uses, takes)


def _may_be_function(work: Work, dom: Ty) -> bool:
    return work.solver.has_function(dom) or work.solver.lifted_in(dom, LIFTED) is not None


def _check_calls(dec: ValDec, uses: set[int], takes: list[int]) -> None:
    """All uses are calls with all arguments, and with the parameters `takes` themselves in their places."""
    names = [_plain_name(param) for param in dec.params]
    bound = [node.name for node in nodes(dec.body) if isinstance(node, PVar | s.LetFun)]
    done: set[int] = set()
    for call in nodes(dec.body):
        if not isinstance(call, s.Call) or not isinstance(call.function, Ident) or call.function.id not in uses:
            continue
        done.add(call.function.id)
        if len(call.args) < len(dec.params):
            message = f"the recursive call of `{dec.name}`, which takes functions, is not fully saturated"
            raise fault("E0206", message, call.loc, f"{len(call.args)} of {len(dec.params)} arguments")
        for at in takes:
            arg, name = call.args[at], names[at]
            if not isinstance(arg, Ident) or name is None or arg.name != (name,) or name in bound:
                message = f"a function that the recursive function `{dec.name}` takes has to be passed unchanged"
                label = Label(dec.params[at].loc, "the parameter")
                raise fault("E0206", message, arg.loc, "this is another function", [label])
    for node in nodes(dec.body):
        if isinstance(node, Ident) and node.id in uses - done:
            message = f"the recursive function `{dec.name}` has a higher-order parameter, so it has to be called here"
            raise fault("E0206", message, node.loc, "used as a value")


def _plain_name(pat: s.Pat) -> str | None:
    match pat:
        case PVar(name=name):
            return name
        case s.PAscript(pat=inner) | s.PAttr(pat=inner):
            return _plain_name(inner)
        case _:
            return None


# ---- later definitions ----------------------------------------------------------------------------------------------


def later_binding(work: Work, name: str, loc: Loc) -> Binding | None:
    """What a later definition declares of itself, for one that it uses in turn; None if there is none."""
    if not work.defining or name in work.defining or name not in work.later or not _leads_back(work, name):
        return None
    dec = work.later[name]
    label = Label(dec.name_loc, "it is defined here")
    if dec.ret is None or not dec.params or not all(_is_declared(param) for param in dec.params):
        message = f"`{name}`, which uses this definition in turn, does not declare its type"
        hint = "write the types of its parameters and of its result"
        raise fault("E0206", message, loc, "used before it is defined", [label], hint=hint)
    ty, sizes = _declared_type(work, dec)
    if any(isinstance(param, TVar) for param in sizes) or _takes_functions(work, ty):
        message = f"`{name}` is used before it is defined, so it has to take and give data of known types"
        raise fault("E0206", message, loc, f"its type is `{work.show(ty)}`", [label])
    return _binding(dec, Scheme((), tuple(p for p in sizes if isinstance(p, SizeVar)), ty), frozenset())


def _leads_back(work: Work, start: str) -> bool:
    """Whether a later definition uses the one at hand, by the names in bodies."""
    later = work.later
    used = reachable([start], lambda name: [first for first, *_ in names_in(later[name].body)] if name in later else ())
    return work.defining[0] in used


def _is_declared(pat: s.Pat) -> bool:
    return _is_declared(pat.pat) if isinstance(pat, s.PAttr) else isinstance(pat, s.PAscript)


def _declared_type(work: Work, dec: ValDec) -> tuple[Ty, list[TVar | SizeVar]]:
    """The type of a definition by what it declares, and its parameters."""
    assert dec.ret is not None
    solver = work.solver
    mark, scope_mark, owner, outer = solver.fresh_id(), work.scope.mark(), work.owner, solver.function
    solver.function, work.owner = mark, mark
    params = [bind_type_param(work, p) for p in dec.tparams]
    bound = Bound({p.name: p.loc for p in dec.tparams if p.kind is TypeParamKind.SIZE})
    doms = [bind_pattern(work, p, None, bound, Anonymous.FREE) for p in dec.params]
    cod = resolve_type(work, dec.ret, Anonymous.EXISTS)
    work.scope.leave(scope_mark)
    ty = function_type(work, dec, doms, cod, mark)
    solver.function, work.owner = outer, owner
    return ty, [*params, *_own_sizes(work, ty, mark)]


def _own_sizes(work: Work, ty: Ty, mark: int) -> list[SizeVar]:
    """The sizes in a type that the parameters of the definition with this mark have without a name."""
    solver = work.solver
    names = {tag: name for size in solver.sizes_in(ty) for tag, name in solver.names_in(size).items()}
    made = {tag: name for tag, name in names.items() if not name.name and solver.age(name) >= mark}
    return list((made | {t: n for t, n in names.items() if solver.parameters.get(t, (0,))[0] == mark}).values())


def _takes_functions(work: Work, ty: Ty) -> bool:
    """Whether there is a function among the parameters, or in the result."""
    while isinstance(ty, TFun):
        if work.solver.has_function(ty.dom):
            return True
        ty = work.solver.resolve(ty.cod)
    return work.solver.has_function(ty)
