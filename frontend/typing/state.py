"""What an inference carries along, and the few steps that every rule uses: record, expect, instantiate, hide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field

from ...ir.depth import MOST_LEVELS, too_deep
from ...ir.errors import CompileError, Diagnostic, Label, Loc
from ...ir.records import dataclass
from ..source import syntax as s
from ..source.atoms import Lit
from ..source.declarations import ValDec
from ..source.imports import Imports
from ..source.types import (
    Instance,
    Scheme,
    Size,
    SizeConst,
    SizeVar,
    TArray,
    TFun,
    TVar,
    Ty,
    map_parts,
)
from .constraints import Need
from .errors import DependsOnFailed, fault
from .habits import hint_for_need, hint_for_types
from .scope import Binding, FunctorBinding, ModuleBinding, ModuleLike, Scope, TypeBinding
from .show import Shower
from .sizes import SizeClash
from .unify import ANONYMOUS, Clash, OnSize, Solver
from .unknowns import deeper

SIZES_OF_THEIR_OWN = "give what makes it, the values of a loop or the result of a function, a type with its size"


@dataclass(slots=True)
class Pending:
    """What is known of the top-level definition at hand, before everything is filled in, and what to check then."""

    types: dict[int, Ty] = field(default_factory=dict)
    instances: dict[int, Instance] = field(default_factory=dict)
    schemes: dict[int, Scheme] = field(default_factory=dict)
    resolved: dict[int, int] = field(default_factory=dict)
    literals: list[tuple[Lit, Ty, bool]] = field(default_factory=list)  # with its sign
    data_only: list[tuple[Ty, Loc, str]] = field(default_factory=list)  # no function may stand here
    one_shape: list[tuple[Ty, Loc, str]] = field(default_factory=list)  # nor may sizes be hidden here
    matches: list[tuple[Ty, tuple[s.Pat, ...], Loc, str]] = field(default_factory=list)
    sizes: list[tuple[SizeVar, Loc, str]] = field(default_factory=list)  # something has to determine these
    results: dict[int, Ty] = field(default_factory=dict)  # of infix operators
    compared: list[tuple[Ty, str, Loc]] = field(default_factory=list)  # operands of `==` and `!=`
    made: dict[int, list[int]] = field(default_factory=dict)  # sizes known once a node is evaluated
    recursive: dict[int, int] = field(default_factory=dict)  # uses of functions that are not defined yet


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
    later: dict[str, ValDec]  # all definitions of this file or module
    defining: list[str]  # names whose definitions enclose this place
    apply_functor: Callable[[FunctorBinding, ModuleLike, str, Loc], ModuleLike]
    hidden: dict[int, TypeBinding] = field(default_factory=dict)  # what abstract types stand for
    files: dict[str, ModuleBinding] = field(default_factory=dict)  # what each file offers
    imports: Imports = field(default_factory=dict)
    uses: dict[Loc, Loc] = field(default_factory=dict)  # by the place of a name, where it is bound
    of_outer: set[int] = field(default_factory=set)  # definitions in which their name is the one outside of them
    levels: int = 0  # modules, applications of functors and signatures around this place

    @contextmanager
    def inside(self, loc: Loc) -> Iterator[None]:
        """One level further into modules."""
        if self.levels >= MOST_LEVELS:
            raise too_deep("modules are", loc)
        self.levels += 1
        try:
            yield
        finally:
            self.levels -= 1

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

    def join(self, first: Ty, second: Ty, exp: s.If | s.Match, loc: Loc, what: str, others: Iterable[Label]) -> Ty:
        """The common type of two branches of `exp`, the second one at `loc`."""
        try:
            return self.solver.join(first, second, lambda: self.exists(exp.id, exp.loc, "branches differ in this size"))
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
            hint = hint_for_need(self.solver.resolve(ty), need)
            raise fault(
                "E0202", f"`{shown}` cannot be {need.why}", need.loc, f"this is `{shown}`", (), notes, hint
            ) from None
        except SizeClash as clash:
            raise self.size_mismatch(ty, ty, clash, need.loc, need.why, ()) from None

    def mismatch(
        self, expected: Ty, found: Ty, clash: Clash, loc: Loc, what: str, others: Iterable[Label]
    ) -> CompileError:
        """E0202 with both types in full, and the parts that differ where these are only parts."""
        shower = Shower(self.solver)
        want, got = shower.type(expected), shower.type(found)
        left, right = shower.type(clash.left), shower.type(clash.right)
        notes = [f"`{left}` does not match `{right}`"] if {left, right} != {want, got} and left != right else []
        notes += [clash.reason] if clash.reason else []
        notes += self._missing_arguments(expected, found)
        text = f"{what}: expected `{want}`, found `{got}`" if want != got else f"{what}: `{got}` does not fit"
        hint = hint_for_types(self.solver, expected, found, what)
        if clash.reason == ANONYMOUS and what == "argument 1 of `map`":
            hint = "rows of different sizes come one after the other: `flatmap' f xs`"
        return fault("E0202", text, loc, f"this is `{got}`", others, notes, hint)

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
        sizes = f"sizes `{left}` and `{right}`" if left and right and left != right else "sizes"
        message = f"{sizes} do not match; {what}: expected `{want}`, found `{got}`"
        notes = [clash.reason] if clash.reason is not None else []
        can_be = isinstance(self.solver.resolve(found), TArray) and "[]" not in want
        can_be = can_be and not (isinstance(clash.left, SizeConst) and isinstance(clash.right, SizeConst))
        hint = f"if they are the same when the program runs, say so: `:> {want}`" if can_be else None
        hint = SIZES_OF_THEIR_OWN if want == got and "[]" in want and not notes else hint
        return fault("E0203", message, loc, f"this is `{got}`", [*others, *self.origins(clash)], notes, hint)

    def origins(self, clash: SizeClash) -> list[Label]:
        """Where size parameters were introduced, and sizes that merely exist come up."""
        tags = [tag for size in (clash.left, clash.right) for tag in self.solver.names_in(size)]
        named, made = self.solver.parameters, self.solver.origins
        found = [named[i][1] if i in named else made.get(i) for i in tags]
        return [label for label in dict.fromkeys(found) if label is not None]

    # ---- definitions and their uses ----------------------------------------------------------------------------------

    def use(self, node: int, name: str, binding: Binding, loc: Loc) -> Ty:
        """The type of one use of a value: fresh unknowns for its parameters, recorded as the instance of `node`."""
        if binding.is_failed:
            raise DependsOnFailed
        scheme = binding.scheme
        if not scheme.types and not scheme.sizes and binding.behind is None:
            return scheme.type
        types = {var.id: self.solver.unknown() for var in scheme.types}
        found = {var.id: self.solver.unknown_size() for var in scheme.sizes}
        sizes: dict[int, Size] = dict(found)
        # A function that is a part of a value may go unused, and then nothing tells its sizes.
        asked = scheme.sizes if isinstance(scheme.type, TFun) else self.solver.sizes_in(scheme.type, shown=True)
        self.pending.sizes += [(found[var.id], loc, f"a size of `{name}`") for var in scheme.sizes if var in asked]
        self.pending.instances[node] = self._instance(binding, dict(types), sizes)
        self.solver.hiding |= {types[var.id].id for var in scheme.types if var.id in self.solver.kinds}
        for var in scheme.types:
            if var.name not in binding.lifted:
                is_written = var.name != f"t{var.id}"
                what = f"type parameter `'{var.name}` of `{name}`" if is_written else f"a type parameter of `{name}`"
                self.pending.data_only.append((types[var.id], loc, what))
                if var.id not in self.solver.kinds and is_written:
                    self.solver.unlifted.add(types[var.id].id)
                    self.pending.one_shape.append((types[var.id], loc, what))
        return substitute(self.solver, scheme.type, dict(types), sizes)

    def _instance(self, binding: Binding, types: dict[int, Ty], sizes: dict[int, Size]) -> Instance:
        """What the parameters of the definition stand for, given what those of the binding do."""
        scheme, behind = binding.scheme, binding.behind
        if behind is None:
            return Instance(
                {var.name: types[var.id] for var in scheme.types}, {var.name: sizes[var.id] for var in scheme.sizes}
            )
        return Instance(
            {name: substitute(self.solver, ty, types, sizes) for name, ty in behind.types.items()},
            {name: self.solver.put_in(size, sizes.get) for name, size in behind.sizes.items()},
        )

    def bind(self, name: str, node: int, ty: Ty, loc: Loc) -> None:
        """Bring a variable of known type into scope."""
        self.solver.ages[node] = self.solver.fresh_id()
        self.bind_scheme(name, node, Scheme((), (), ty), loc, frozenset())

    def bind_scheme(
        self, name: str, node: int, scheme: Scheme, loc: Loc, lifted: frozenset[str], *, is_written: bool = True
    ) -> None:
        size, is_prelude = SizeVar(name, node), self.is_prelude
        binding = Binding(scheme, loc, size, lifted, is_failed=False, is_prelude=is_prelude, is_written=is_written)
        self.scope.bind_value(name, binding)

    # ---- sizes -------------------------------------------------------------------------------------------------------

    def exists(self, node: int, loc: Loc, what: str) -> SizeVar:
        """A size that is not known before the expression `node` is evaluated."""
        size = self.solver.existential(Label(loc, what))
        self.pending.made.setdefault(node, []).append(size.id)
        return size


def substitute(solver: Solver, ty: Ty, types: dict[int, Ty], sizes: dict[int, Size], depth: int = 0) -> Ty:
    """`ty` with parameters replaced."""
    inside = deeper(depth)
    match ty:
        case TVar("", _):
            found = solver.resolve(ty)
            return ty if found is ty else substitute(solver, found, types, sizes, inside)
        case TVar(_, i):
            return types.get(i, ty)
        case _:
            return map_parts(
                ty, lambda t: substitute(solver, t, types, sizes, inside), lambda size: solver.put_in(size, sizes.get)
            )
