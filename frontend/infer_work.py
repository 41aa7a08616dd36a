"""What an inference carries along, and the few steps that every rule uses: record, expect, instantiate, hide."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from ..ir.errors import CompileError, Diagnostic, Label, Loc
from . import syntax as s
from .infer_fault import DependsOnFailed, fault
from .infer_make import I64, arrow
from .infer_names import names_in
from .infer_need import Need
from .infer_scope import Binding, Scope
from .infer_show import Shower, show_exp
from .infer_size import DEEPEST_SHAPE, SizeClash
from .infer_unify import Clash, OnSize, Solver
from .types import Instance, Scheme, Size, SizeConst, SizeExp, SizeVar, TArray, TFun, TPrim, TRecord, TSum, TVar, Ty


@dataclass(slots=True)
class Pending:
    """What is known of the top-level definition at hand, before everything is filled in, and what to check then."""

    types: dict[int, Ty] = field(default_factory=dict)
    instances: dict[int, Instance] = field(default_factory=dict)
    schemes: dict[int, Scheme] = field(default_factory=dict)
    resolved: dict[int, int] = field(default_factory=dict)
    literals: list[tuple[s.Lit, Ty, bool]] = field(default_factory=list)  # with its sign
    data_only: list[tuple[Ty, Loc, str]] = field(default_factory=list)  # no function may stand here
    elements: list[tuple[Ty, Loc]] = field(default_factory=list)  # nor may sizes be hidden here
    matches: list[tuple[Ty, tuple[s.Pat, ...], Loc, str]] = field(default_factory=list)


@dataclass(slots=True)
class Work:
    """One inference. `exp` infers an expression: rules call each other through it."""

    solver: Solver
    scope: Scope
    exp: Callable[[s.Exp], Ty]
    pending: Pending
    warnings: list[Diagnostic]
    is_prelude: bool
    owner: int  # the definition that size parameters belong to
    later: dict[str, s.ValDec]  # all definitions of this file or module
    defining: list[str]  # names whose definitions enclose this place

    def record(self, node: int, ty: Ty) -> Ty:
        self.pending.types[node] = ty
        return ty

    def show(self, ty: Ty) -> str:
        return Shower(self.solver).type(ty)

    # ---- requirements ----------------------------------------------------------------------------------------------

    def expect(self, expected: Ty, found: Ty, loc: Loc, what: str, others: Iterable[Label] = ()) -> None:
        """Require that `found`, at `loc`, is `expected`; `what` begins the message."""
        self.guarded(lambda: self.solver.unify(expected, found), expected, found, loc, what, others)

    def expect_with(
        self, expected: Ty, found: Ty, on_size: OnSize, loc: Loc, what: str, others: Iterable[Label] = ()
    ) -> None:
        """As `expect`, with pairs of sizes left to `on_size`."""
        self.guarded(lambda: self.solver.unify_with(expected, found, on_size), expected, found, loc, what, others)

    def guarded(
        self, unify: Callable[[], None], expected: Ty, found: Ty, loc: Loc, what: str, others: Iterable[Label] = ()
    ) -> None:
        """Do `unify`; when it fails, say that `found` should be `expected`."""
        try:
            unify()
        except Clash as clash:
            raise self.mismatch(expected, found, clash, loc, what, others) from None
        except SizeClash as clash:
            raise self.size_mismatch(expected, found, clash, loc, what, others) from None

    def join(self, first: Ty, second: Ty, loc: Loc, what: str, others: Iterable[Label]) -> Ty:
        """The common type of two branches."""
        try:
            return self.solver.join(first, second)
        except Clash as clash:
            raise self.mismatch(first, second, clash, loc, what, others) from None
        except SizeClash as clash:
            raise self.size_mismatch(first, second, clash, loc, what, others) from None

    def ask(self, ty: Ty, need: Need) -> None:
        """Require `need` of `ty`."""
        try:
            self.solver.ask(ty, need)
        except Clash as clash:
            notes = [clash.reason] if clash.reason and clash.reason != need.why else []
            shown = self.show(ty)
            raise fault("E0202", f"`{shown}` cannot be {need.why}", need.loc, f"this is `{shown}`", (), notes) from None
        except SizeClash as clash:
            raise self.size_mismatch(ty, ty, clash, need.loc, need.why, ()) from None

    def mismatch(
        self, expected: Ty, found: Ty, clash: Clash, loc: Loc, what: str, others: Iterable[Label]
    ) -> CompileError:
        """E0202 with both types in full, and the parts that differ where these are only parts."""
        shower = Shower(self.solver)
        want, got = shower.type(expected), shower.type(found)
        left, right = shower.type(clash.left), shower.type(clash.right)
        notes = [f"`{left}` does not agree with `{right}`"] if {left, right} != {want, got} and left != right else []
        notes += [clash.reason] if clash.reason else []
        notes += self._missing_arguments(expected, found)
        text = f"{what}: expected `{want}`, found `{got}`" if want != got else f"{what}: `{got}` does not fit"
        return fault("E0202", text, loc, f"this is `{got}`", others, notes)

    def _missing_arguments(self, expected: Ty, found: Ty) -> list[str]:
        want, got, count = self.solver.resolve(expected), self.solver.resolve(found), 0
        if isinstance(want, TFun):
            return []
        while isinstance(got, TFun):
            got, count = self.solver.resolve(got.cod), count + 1
        return [f"the function found here lacks {count} more argument{'s' * (count > 1)}"] if count else []

    def size_mismatch(
        self, expected: Ty, found: Ty, clash: SizeClash, loc: Loc, what: str, others: Iterable[Label]
    ) -> CompileError:
        """E0203 with both sizes, and where each comes from."""
        shower = Shower(self.solver)
        left, right = shower.size(clash.left), shower.size(clash.right)
        want, got = shower.type(expected), shower.type(found)
        sizes = f"sizes `{left}` and `{right}`" if left and right else "the sizes"
        message = f"{what}: {sizes} differ; expected `{want}`, found `{got}`"
        return fault("E0203", message, loc, f"this is `{got}`", [*others, *self.origins(clash)])

    def origins(self, clash: SizeClash) -> list[Label]:
        """Where size parameters were introduced."""
        found = [self.solver.parameters.get(x.id) for x in (clash.left, clash.right) if isinstance(x, SizeVar)]
        return [entry[1] for entry in found if entry is not None]

    # ---- definitions and their uses ----------------------------------------------------------------------------------

    def use(self, node: int, name: str, binding: Binding, loc: Loc) -> Ty:
        """The type of one use of a value: fresh unknowns for its parameters, recorded as the instance of `node`."""
        if binding.is_failed:
            raise DependsOnFailed
        scheme = binding.scheme
        if not scheme.types and not scheme.sizes:
            return scheme.type
        types: dict[int, Ty] = {var.id: self.solver.unknown() for var in scheme.types}
        sizes: dict[int, Size] = {var.id: self.solver.unknown_size() for var in scheme.sizes}
        self.pending.instances[node] = Instance(
            {var.name: types[var.id] for var in scheme.types}, {var.name: sizes[var.id] for var in scheme.sizes}
        )
        for var in scheme.types:
            if var.name not in binding.lifted:
                self.pending.data_only.append((types[var.id], loc, f"type parameter `'{var.name}` of `{name}`"))
        return substitute(self.solver, scheme.type, types, sizes, given=False)

    def bind(self, name: str, node: int, ty: Ty, loc: Loc) -> None:
        """Bring a variable of known type into scope."""
        self.solver.ages[node] = self.solver.fresh_id()
        self.bind_scheme(name, node, Scheme((), (), ty), loc, frozenset())

    def bind_scheme(self, name: str, node: int, scheme: Scheme, loc: Loc, lifted: frozenset[str]) -> None:
        binding = Binding(scheme, loc, SizeVar(name, node), lifted, is_failed=False, is_prelude=self.is_prelude)
        self.scope.bind_value(name, binding)

    # ---- sizes -------------------------------------------------------------------------------------------------------

    def size_of(self, exp: s.Exp) -> Size:
        """An expression of type i64 as a size."""
        match exp:
            case s.Lit(value=int(value)) if not isinstance(value, bool):
                return SizeConst(value)
            case s.Ident(name=name) if (found := self.scope.find_value(name)) is not None and found[1] == len(name):
                return found[0].size
            case s.Ascript(exp=inner) | s.Coerce(exp=inner) | s.Attributed(body=inner):
                return self.size_of(inner)
            case s.Call(function=s.Ident(name=("length",)), args=(array,)) if self._is_prelude("length"):
                return self._outer_size(array, exp)
            case _:
                return self._size_exp(exp)

    def _outer_size(self, array: s.Exp, exp: s.Exp) -> Size:
        """`length xs` is the outer size of `xs`."""
        ty = self.solver.resolve(self.pending.types[array.id])
        return self.solver.size(ty.size) if isinstance(ty, TArray) else self._size_exp(exp)

    def _is_prelude(self, name: str) -> bool:
        found = self.scope.values.get(name)
        return found is not None and found.is_prelude and not self.is_prelude

    def _size_exp(self, exp: s.Exp) -> SizeExp:
        self.solver.deps[exp.id] = frozenset(
            found[0].size.id
            for name in names_in(exp)
            if (found := self.scope.find_value(name)) is not None and isinstance(found[0].size, SizeVar)
        )
        match exp:
            case s.Chain(first=first, rest=rest) if len(rest) > DEEPEST_SHAPE:
                ops = tuple(".".join(op.name) for op, _ in rest)
                self.solver.note_shape(exp.id, ops, tuple(self.size_of(e) for e in (first, *(e for _, e in rest))))
            case s.Chain(first=first, rest=(*rest, (op, last))):
                left = replace(exp, id=self.solver.fresh_id(), rest=tuple(rest)) if rest else first
                self.solver.note_shape(exp.id, (".".join(op.name),), (self.size_of(left), self.size_of(last)))
            case s.Call(function=s.Ident(name=name), args=args) if all(self._is_size(arg) for arg in args):
                found = self.scope.find_value(name)
                if found is not None and isinstance(found[0].size, SizeVar):
                    function = f"{'.'.join(name)} {found[0].size.id}"
                    self.solver.note_shape(exp.id, (function,), tuple(self.size_of(arg) for arg in args))
            case _:
                pass
        return SizeExp(show_exp(exp), exp)

    def _is_size(self, exp: s.Exp) -> bool:
        ty = self.pending.types.get(exp.id)
        return ty is not None and self.solver.resolve(ty) == I64

    def hide(self, ty: Ty, ids: set[int]) -> Ty:
        """`ty` outside the scope of the names `ids`: sizes that speak of them become sizes that merely exist."""
        ty = self.solver.resolve(ty)
        if not ids or isinstance(ty, TPrim):
            return ty
        known: dict[int, Size] = {}

        def look_up(name: int) -> Size | None:
            return known.setdefault(name, self.solver.existential()) if name in ids else None

        return self.solver.map_sizes(ty, lambda size: self.solver.put_in(size, look_up, self.solver.existential))


def substitute(solver: Solver, ty: Ty, types: dict[int, Ty], sizes: dict[int, Size], *, given: bool) -> Ty:
    """`ty` with parameters replaced. A size expression that speaks of a replaced size becomes another: to be
    determined where the type is `given` by the caller (in a parameter), merely existing in a result."""

    make = solver.unknown_size if given else solver.existential
    match ty:
        case TVar("", _):
            found = solver.resolve(ty)
            return ty if found is ty else substitute(solver, found, types, sizes, given=given)
        case TVar(_, i):
            return types.get(i, ty)
        case TPrim():
            return ty
        case TArray(size, elem):
            return TArray(solver.put_in(size, sizes.get, make), substitute(solver, elem, types, sizes, given=given))
        case TRecord(fields):
            return TRecord(tuple([(n, substitute(solver, t, types, sizes, given=given)) for n, t in fields]))
        case TFun():
            dom = substitute(solver, ty.dom, types, sizes, given=True)
            return replace(ty, dom=dom, cod=substitute(solver, ty.cod, types, sizes, given=given))
        case TSum(cs):
            return TSum(
                tuple([(c, tuple([substitute(solver, t, types, sizes, given=given) for t in ts])) for c, ts in cs])
            )


def result_of(work: Work, fun: TFun, arg: s.Exp | None) -> Ty:
    """The type of a function's result, once it has its argument: sizes that name the parameter get the argument's."""
    if fun.name is None and not fun.exists:
        return fun.cod
    sizes: dict[int, Size] = {k.id: work.solver.existential() for k in fun.exists}
    if fun.name is not None:
        sizes[fun.param_id] = work.solver.existential() if arg is None else work.size_of(arg)
    return work.solver.replace_sizes(fun.cod, sizes)


def apply_type(
    work: Work, fun: Ty, arg_type: Ty, arg: s.Exp | None, fail: Callable[[Exception, TFun], CompileError]
) -> Ty | None:
    """The type of applying `fun`; None when it is no function; `fail` makes the error of an unfitting argument."""
    fun = work.solver.resolve(fun)
    match fun:
        case TVar("", _):
            result = work.solver.unknown()
            try:
                work.solver.unify(fun, arrow(arg_type, result))
            except (Clash, SizeClash) as clash:
                raise fail(clash, arrow(arg_type, result)) from None
            return result
        case TFun():
            try:
                work.solver.unify(fun.dom, arg_type)
            except (Clash, SizeClash) as clash:
                raise fail(clash, fun) from None
            return result_of(work, fun, arg)
        case _:
            return None
