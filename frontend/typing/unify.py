"""Unification: what is asked of unknown types, and making two types equal.

The solver keeps what is asked of an unknown (`unknowns.py`) until it is found (`Need`). Whatever is bound to an unknown
has to make sense at its age (`sizes.py`): younger unknowns inside become as old, and sizes that name something born
later are refused. Generalisation takes the unknowns younger than the definition.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from ...ir.records import dataclass
from ..source.types import (
    Size,
    SizeVar,
    TArray,
    TFun,
    TOpaque,
    TPrim,
    TRecord,
    TSum,
    TVar,
    Ty,
    map_parts,
    parts_of,
    with_parts,
)
from .constraints import Need, need_parts, needs_equality
from .joined_sizes import JoinedSizes
from .sizes import SizeClash
from .unknowns import deeper

ANONYMOUS = "a type parameter cannot stand for a type containing anonymous sizes, which only the function itself knows"


class Clash(Exception):
    """Two types cannot be equal: the parts that differ, and a reason where the parts do not say it."""

    def __init__(self, left: Ty, right: Ty, reason: str | None) -> None:
        super().__init__(reason)
        self.left, self.right, self.reason = left, right, reason


OnSize = Callable[[Size, Size], None]


@dataclass(frozen=True, slots=True)
class _Differ:
    """Pairs of sizes that differ between branches, each with the size that stands for both."""

    make: Callable[[], SizeVar]
    seen: list[tuple[Size, Size, SizeVar]]


class Solver(JoinedSizes):
    """What is asked of the unknowns of one inference, and which types are equal."""

    __slots__ = ("hiding", "needs", "structured", "unlifted")

    def __init__(self, first_id: int) -> None:
        super().__init__(first_id)
        self.needs: dict[int, Need] = {}
        self.structured: list[TVar] = []  # unknowns that were asked for fields or constructors
        self.unlifted: set[int] = set()  # unknowns whose sizes must be known: for a type parameter `'t`
        self.hiding: set[int] = set()  # unknowns whose values may each have sizes of their own: for one that is lifted

    def unknown_with(self, need: Need) -> TVar:
        var = self.unknown()
        self._note_need(var, need)
        return var

    def is_bare(self, var: TVar) -> bool:
        """Whether nothing is asked of an unknown."""
        return not var.name and not any(var.id in asked for asked in (self.needs, self.unlifted, self.hiding))

    # -- unifying ----------------------------------------------------------------------------------------------------

    def unify(self, a: Ty, b: Ty) -> None:
        """Make `a` and `b` equal, sizes where that can be decided; raises `Clash` or `SizeClash`."""
        self.unify_with(a, b, self.unify_size)

    def unify_with(self, a: Ty, b: Ty, on_size: OnSize, depth: int = 0) -> None:
        """Make `a` and `b` equal, leaving pairs of sizes to `on_size`."""
        inside = deeper(depth)
        while True:
            a, b = self.resolve(a), self.resolve(b)
            if a is b:
                return
            match a, b:
                case TVar("", _), _:
                    self._bind(a, b, on_size, inside)
                    return
                case _, TVar("", _):
                    self._bind(b, a, on_size, inside)
                    return
                case TPrim(p), TPrim(q) if p is q:
                    return
                case TVar(_, i), TVar(_, j) if i == j:
                    return
                case TArray(n, x), TArray(m, y):
                    self._unify_dimension(n, m, x, y, on_size, inside)
                    return
                case TFun(), TFun():
                    self._unify_domains(a.dom, b.dom, on_size, inside)
                    a, b = self._codomains(a, b)
                case TRecord(xs), TRecord(ys) if _names(xs) == _names(ys):
                    for (_, x), (_, y) in zip(xs, ys):
                        self.unify_with(x, y, on_size, inside)
                    return
                case TSum(xs), TSum(ys) if _names(xs) == _names(ys):
                    self._unify_payloads(a, b, on_size, inside)
                    return
                case TOpaque(), TOpaque() if a.id == b.id:
                    for x, y in zip(a.types, b.types):
                        self.unify_with(x, y, on_size, inside)
                    for n, m in zip(a.sizes, b.sizes):
                        on_size(n, m)
                    return
                case _:
                    raise Clash(a, b, None)

    def _unify_dimension(self, n: Size, m: Size, x: Ty, y: Ty, on_size: OnSize, depth: int) -> None:
        """`[n]x` and `[m]y`; a wrong element is worth saying before a wrong size."""
        try:
            on_size(n, m)
        except SizeClash:
            self.unify_with(x, y, lambda _, __: None, depth)
            raise
        self.unify_with(x, y, on_size, depth)

    def _unify_payloads(self, a: TSum, b: TSum, on_size: OnSize, depth: int) -> None:
        for (name, xs), (_, ys) in zip(a.constructors, b.constructors):
            if len(xs) != len(ys):
                raise Clash(a, b, f"constructor `#{name}` has {len(xs)} here and {len(ys)} there")
            for x, y in zip(xs, ys):
                self.unify_with(x, y, on_size, depth)

    def _unify_domains(self, a: Ty, b: Ty, on_size: OnSize, depth: int) -> None:
        """What is expected of a function that is a parameter itself, the one found may expect of what it is given."""
        if isinstance(self.resolve(a), TFun):
            a, b = b, a
        self.unify_with(a, b, on_size, depth)

    def _codomains(self, a: TFun, b: TFun) -> tuple[Ty, Ty]:
        """The results of two functions, speaking of one parameter: `(n: i64) -> [n]t` against `(m: i64) -> [m]t`. The
        sizes that the first one chooses may be any, those that the second one chooses belong to it alone."""
        if a.name is None and b.name is None and not a.exists and not b.exists:
            return a.cod, b.cod
        left: dict[int, Size] = {k.id: self.open_size() for k in a.exists}
        right: dict[int, Size] = {k.id: self.stand_in(k, self.inner_name()) for k in b.exists}
        if (name := a.name or b.name) is not None:
            common = self.inner_name(name)
            left |= {a.param_id: common} if a.name is not None else {}
            right |= {b.param_id: common} if b.name is not None else {}
        return self.replace_sizes(a.cod, left), self.replace_sizes(b.cod, right)

    def _bind(self, var: TVar, ty: Ty, on_size: OnSize, depth: int) -> None:
        if type(ty) is TVar and not ty.name and self.ages.get(ty.id, ty.id) > self.ages.get(var.id, var.id):
            var, ty = ty, var
        ty = self._fit(var, ty, self.age(var), depth)
        if isinstance(ty, TVar):
            self.unlifted |= {ty.id} if var.id in self.unlifted else set()
            self.hiding |= {ty.id} if var.id in self.hiding else set()
        elif var.id in self.hiding and not self.has_function(ty):
            ty = self.map_sizes(ty, self._loose)
        self.bound_types[var.id] = ty
        need = self.needs.get(var.id)
        if need is None:
            return
        try:
            self.ask(ty, need, on_size, depth)
        except Clash:
            del self.bound_types[var.id]  # so that the message shows what was there
            raise

    def _fit(self, var: TVar, ty: Ty, age: int, depth: int) -> Ty:
        """`ty` as it makes sense at `age`; raises `Clash` where it contains `var` itself."""
        inside = deeper(depth)
        ty = self.resolve(ty)
        match ty:
            case TVar("", i):
                if i == var.id:
                    raise Clash(var, ty, "a type cannot contain itself")
                if self.ages.get(i, i) > age:
                    self.ages[i] = age
                return ty
            case TVar(name, i) if i > age:
                raise Clash(var, ty, f"`'{name}` is not in scope where the other type comes up (scope violation)")
            case TFun():
                dom, cod = self._fit(var, ty.dom, age, inside), self._fit_result(var, ty, age, inside)
                return ty if dom is ty.dom and cod is ty.cod else with_parts(ty, dom, cod)
            case _:
                return map_parts(
                    ty, lambda t: self._fit(var, t, age, inside), lambda size: self._fit_size(var, ty, size, age)
                )

    def _loose(self, size: Size) -> Size:
        """A size that a function chooses, in what a lifted parameter stands for: any, in each value."""
        names = self.names_in(size).keys()
        if self.inner.isdisjoint(names) and self.open.isdisjoint(names):
            return size
        loose = self.inner_name()
        self.loose.add(loose.id)
        self.chosen.add(loose.id)
        return loose

    def _fit_result(self, var: TVar, fun: TFun, age: int, depth: int) -> Ty:
        """As `_fit`; the function's own parameter and existentials stay: they are bound by its type."""
        if fun.name is None and not fun.exists:
            return self._fit(var, fun.cod, age, depth)
        own = [fun.param_id, *(k.id for k in fun.exists)]
        before = {i: self.ages.get(i) for i in own}
        for i in own:
            self.ages[i] = 0
        try:
            return self._fit(var, fun.cod, age, depth)
        finally:
            for i, old in before.items():
                if old is None:
                    del self.ages[i]
                else:
                    self.ages[i] = old

    def _fit_size(self, var: TVar, ty: Ty, size: Size, age: int) -> Size:
        size = self.size(size)
        names = self.names_in(size)
        if not self.inner.isdisjoint(names):
            if var.id in self.unlifted and self.settles(size):
                return self._fit_size(var, ty, size, age)
            if var.id in self.unlifted:
                raise Clash(var, ty, ANONYMOUS)
            self.chosen |= self.inner & names.keys()
            names = {i: name for i, name in names.items() if i not in self.inner}
        self.fit_names(names, age, False, (size, size))
        return size

    # -- needs -------------------------------------------------------------------------------------------------------

    def ask(self, ty: Ty, need: Need, on_size: OnSize | None = None, depth: int = 0) -> None:
        """Require `need` of `ty`, now or when it becomes known; raises `Clash`."""
        on_size, inside = on_size or self.unify_size, deeper(depth)
        ty = self.resolve(ty)
        if type(ty) is TVar and not ty.name:
            old = self.needs.get(ty.id)
            self._note_need(ty, need if old is None else self._both(ty, old, need, on_size, inside))
            return
        if need.prims is not None and not (type(ty) is TPrim and ty.prim in need.prims):
            raise Clash(ty, ty, need.why)
        if need.equality:
            self._ask_equality(ty, need, on_size, inside)
        for name, field in need.fields:
            self._ask_field(ty, name, field, on_size, inside)
        for name, args in need.constructors:
            self._ask_constructor(ty, name, args, on_size, inside)

    def _note_need(self, var: TVar, need: Need) -> None:
        self.needs[var.id] = need
        if need.fields or need.constructors:
            self.structured.append(var)
            for part in need_parts(need):
                self._fit(var, part, self.age(var), 0)

    def _both(self, ty: TVar, a: Need, b: Need, on_size: OnSize, depth: int) -> Need:
        if a is b:
            return a
        prims = b.prims if a.prims is None else a.prims if b.prims is None else a.prims & b.prims
        if prims is not None and (not prims or a.fields or b.fields or a.constructors or b.constructors):
            raise Clash(ty, ty, f"{a.why}, and {b.why}")
        fields, constructors = dict(a.fields), dict(a.constructors)
        for name, field in b.fields:
            if name in fields:
                self.unify_with(fields[name], field, on_size, depth)
            fields.setdefault(name, field)
        for name, args in b.constructors:
            if name in constructors:
                self._ask_constructor(TSum(((name, constructors[name]),)), name, args, on_size, depth)
            constructors.setdefault(name, args)
        if fields and constructors:
            raise Clash(ty, ty, f"{a.why}, and {b.why}")
        kept = b if b.prims is not None and a.prims is None else a
        return Need(
            prims, a.equality or b.equality, tuple(fields.items()), tuple(constructors.items()), kept.loc, kept.why
        )

    def _ask_equality(self, ty: Ty, need: Need, on_size: OnSize, depth: int) -> None:
        if isinstance(ty, TFun):
            raise Clash(ty, ty, "functions cannot be compared")
        if isinstance(ty, TOpaque):
            raise Clash(ty, ty, "values of an abstract type cannot be compared")
        for part in parts_of(ty):
            self.ask(part, needs_equality(need.loc, need.why), on_size, depth)

    def _ask_field(self, ty: Ty, name: str, field: Ty, on_size: OnSize, depth: int) -> None:
        found = dict(ty.fields).get(name) if isinstance(ty, TRecord) else None
        if found is None:
            raise Clash(ty, ty, f"it has no field `{name}`")
        self.unify_with(found, field, on_size, depth)

    def _ask_constructor(self, ty: Ty, name: str, args: tuple[Ty, ...], on_size: OnSize, depth: int) -> None:
        found = dict(ty.constructors).get(name) if isinstance(ty, TSum) else None
        if found is None:
            raise Clash(ty, ty, f"it has no constructor `#{name}`")
        if len(found) != len(args):
            raise Clash(ty, ty, f"constructor `#{name}` takes {len(found)} values, not {len(args)}")
        for a, b in zip(found, args):
            self.unify_with(a, b, on_size, depth)

    # -- branches ----------------------------------------------------------------------------------------------------

    def join(self, a: Ty, b: Ty, make: Callable[[], SizeVar]) -> Ty:
        """The type of a branch: `a` and `b` unified, with an unknown size where theirs differ, the same one
        wherever the same two differ."""
        return self._join(a, b, _Differ(make, []), 0)

    def _join(self, a: Ty, b: Ty, differ: _Differ, depth: int) -> Ty:
        inside = deeper(depth)
        a, b = self.resolve(a), self.resolve(b)
        if a is b:
            return a
        match a, b:
            case TArray(n, x), TArray(m, y):
                return TArray(self._join_size(n, m, differ), self._join(x, y, differ, inside))
            case TRecord(xs), TRecord(ys) if _names(xs) == _names(ys):
                return TRecord(tuple([(name, self._join(x, y, differ, inside)) for (name, x), (_, y) in zip(xs, ys)]))
            case TSum(xs), TSum(ys) if [(c, len(ts)) for c, ts in xs] == [(c, len(ts)) for c, ts in ys]:
                both = zip(xs, ys)
                joined = [
                    (c, tuple([self._join(x, y, differ, inside) for x, y in zip(ts, us)])) for (c, ts), (_, us) in both
                ]
                return TSum(tuple(joined))
            case TOpaque(), TOpaque() if a.id == b.id:
                types = tuple([self._join(x, y, differ, inside) for x, y in zip(a.types, b.types)])
                return replace(
                    a, types=types, sizes=tuple([self._join_size(*n, differ) for n in zip(a.sizes, b.sizes)])
                )
            case _:
                self.unify_with(a, b, self.try_size, inside)
                return a

    def _join_size(self, a: Size, b: Size, differ: _Differ) -> Size:
        a, b = self.size(a), self.size(b)
        if self.same_size(a, b):
            return a
        for x, y, size in differ.seen:
            if self.same_size(a, x) and self.same_size(b, y):
                return size
        size = differ.make()
        self.joined[size.id] = (a, b)
        differ.seen.append((a, b, size))
        return size

    def try_size(self, a: Size, b: Size) -> None:
        """Make two sizes equal if they can be."""
        with suppress(SizeClash):
            self.unify_size(a, b)

    def need_types(self, var: TVar) -> list[Ty]:
        """The types that the fields and constructors asked of `var` have."""
        need = self.needs.get(var.id)
        return [] if need is None else list(need_parts(need))

    def forget_needs(self) -> None:
        """Begin a new definition: everything asked in the last one is settled."""
        self.needs.clear()
        self.structured.clear()


def _names(parts: tuple[tuple[str, object], ...]) -> list[str]:
    return [name for name, _ in parts]
