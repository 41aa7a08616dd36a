"""Core under construction: the statements of one body, the types of all names, arithmetic on scalars and arrays.

A tangent or an adjoint is an atom of the type of its variable, or None where it is known to be zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...ir.basic import whole
from ...ir.core import (
    Attr,
    Body,
    Convert,
    Copied,
    Copy,
    Exp,
    Fix,
    ForLoop,
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
    Screma,
    Slice,
    Stm,
    Update,
    WhileLoop,
)
from ...ir.errors import Loc
from ...ir.ops import Op, result_type
from ...ir.rename import rename_body, rename_exp, rename_lambda
from ...ir.traverse import add_types, scoped_bodies
from ...ir.types import I64, Atom, Const, Name, Names, Prim, Type, Var, i64, scalar, zero

Rows = Callable[["Code", Sequence[Var]], Sequence[Atom]]


class Code:
    """A body under construction; bodies inside of it share `names` and `types`."""

    __slots__ = ("loc", "names", "stms", "types")

    def __init__(self, names: Names, types: dict[Name, Type], loc: Loc) -> None:
        self.names = names
        self.types = types
        self.loc = loc
        self.stms: list[Stm] = []

    def inside(self) -> Code:
        """A body inside of this one."""
        return Code(self.names, self.types, self.loc)

    def param(self, base: str, type: Type) -> Param:
        """A fresh name of `type`, for a pattern or a parameter."""
        param = Param(self.names.fresh(base), type)
        self.types[param.name] = type
        return param

    def like(self, param: Param, suffix: str) -> Param:
        """A fresh name of the type of `param`, called after it."""
        return self.param(param.name.base + suffix, param.type)

    def emit(self, pat: Iterable[Param], exp: Exp, attrs: tuple[Attr, ...] = ()) -> tuple[Var, ...]:
        """`let pat = exp`."""
        params = tuple(pat)
        self.stms.append(Stm(params, exp, (), attrs, self.loc))
        return tuple([Var(p.name) for p in params])

    def keep(self, stm: Stm) -> None:
        """A statement of the program, its names already fresh."""
        self.types.update((p.name, p.type) for p in stm.pat)
        self.stms.append(stm)

    def let(self, base: str, exp: Exp, type: Type) -> Var:
        """`let base = exp`, one result."""
        return self.emit((self.param(base, type),), exp)[0]

    def type_of(self, atom: Atom) -> Type:
        return self.types[atom.name] if isinstance(atom, Var) else scalar(atom.prim)

    def body(self, result: Sequence[Atom]) -> Body:
        return Body(tuple(self.stms), tuple(result))

    def fresh_lambda(self, f: Lambda) -> Lambda:
        """A copy of `f` under fresh names, with their types noted."""
        copy = rename_lambda(f, self.names)
        self.types.update((p.name, p.type) for p in copy.params)
        add_types(self.types, copy.body)
        return copy

    def fresh_body(self, body: Body) -> Body:
        """As `fresh_lambda`, of a body."""
        copy = rename_body(body, self.names)
        add_types(self.types, copy)
        return copy

    def fresh_loop(self, loop: Loop) -> Loop:
        """As `fresh_lambda`, of a loop."""
        copy = rename_exp(loop, self.names)
        assert isinstance(copy, Loop)
        for params, body in scoped_bodies(copy):
            self.types.update((p.name, p.type) for p in params)
            add_types(self.types, body)
        return copy

    def inline(self, f: Lambda, args: Sequence[Atom]) -> tuple[Atom, ...]:
        """The results of `f` on `args`, its statements emitted here."""
        copy = self.fresh_lambda(f)
        for param, arg in zip(copy.params, args, strict=True):
            self.emit((param,), Copied(arg))
        self.stms.extend(copy.body.stms)
        return copy.body.result

    # ---- scalars -------------------------------------------------------------------------------------------------

    def op(self, op: Op, *args: Atom, base: str = "") -> Atom:
        """`op args`, at the type of the last one; a product by one and the like is not written."""
        prim = self.type_of(args[-1]).prim
        known = _folded(op, args)
        if known is not None:
            return known
        return self.let(base or op.value, PrimOp(op, prim, args), scalar(result_type(op, prim)))

    def convert(self, target: Prim, atom: Atom) -> Atom:
        """`atom` as a `target`."""
        source = self.type_of(atom).prim
        if source is target:
            return atom
        return self.let(target.value, Convert(source, target, atom), scalar(target))

    def product(self, sizes: Sequence[Atom]) -> Atom:
        """The product of sizes."""
        total: Atom = i64(1)
        for size in sizes:
            total = self.op(Op.MUL, total, size, base="nm")
        return total

    # ---- arrays --------------------------------------------------------------------------------------------------

    def replicate(self, shape: tuple[Atom, ...], value: Atom) -> Atom:
        if not shape:
            return value
        return self.let("rep", Replicate(shape, value), self.type_of(value).array_of(*shape))

    def zeros(self, type: Type) -> Atom:
        return self.replicate(type.shape, zero(type.prim))

    def iota(self, count: Atom) -> Var:
        return self.let("is", Iota(count, i64(0), i64(1), Prim.I64), I64.array_of(count))

    def copied(self, array: Var) -> Var:
        return self.let(array.name.base, Copy(array.name), self.types[array.name])

    def at(self, array: Var, *indices: Atom) -> Var:
        """The part of `array` at indices known to be in bounds."""
        type = self.types[array.name]
        dims = (*[Fix(i) for i in indices], *whole(type.shape[len(indices) :]))
        row = Type(type.prim, type.shape[len(indices) :])
        return self.let(array.name.base, Index(array.name, dims, True), row)

    def put(self, array: Var, indices: Sequence[Atom], value: Atom) -> Var:
        """`array` with `value` at indices known to be in bounds."""
        type = self.types[array.name]
        dims = (*[Fix(i) for i in indices], *whole(type.shape[len(indices) :]))
        return self.let(array.name.base, Update(array.name, dims, value, True), type)

    def rearrange(self, perm: tuple[int, ...], array: Var) -> Var:
        if perm == tuple(range(len(perm))):
            return array
        type = self.types[array.name]
        shape = tuple([type.shape[k] for k in perm])
        return self.let(array.name.base, Rearrange(perm, array.name), Type(type.prim, shape))

    def reshape(self, shape: tuple[Atom, ...], array: Var) -> Var:
        type = self.types[array.name]
        if type.shape == shape:
            return array
        return self.let(array.name.base, Reshape(shape, array.name), Type(type.prim, shape))

    def sized(self, atom: Atom, type: Type) -> Atom:
        """`atom` with the sizes written as in `type`; they are equal numbers."""
        return self.reshape(type.shape, atom) if isinstance(atom, Var) and type.shape else atom

    def row_last(self, array: Var) -> Var:
        """The outermost dimension becomes the innermost."""
        rank = self.types[array.name].rank
        return self.rearrange((*range(1, rank), 0), array)

    def reversed(self, array: Var) -> Var:
        """The rows in the opposite order."""
        type = self.types[array.name]
        count = type.shape[0]
        last = self.op(Op.SUB, count, i64(1))
        dims = (Slice(last, count, i64(-1)), *whole(type.shape[1:]))
        return self.let(array.name.base, Index(array.name, dims, True), type)

    def row_alone(self, type: Type, place: Atom, value: Atom) -> Atom:
        """Zeros of `type` with `value` as row `place`."""

        def rows(inner: Code, i: Sequence[Var]) -> Sequence[Atom]:
            here, row = inner.op(Op.EQ, i[0], place), type.row()
            if not row.shape:
                return [inner.op(Op.SELECT, here, value, zero(type.prim))]
            return inner.choose(here, lambda there: [value], lambda there: [there.zeros(row)], [row])

        return self.map(type.shape[0], (self.iota(type.shape[0]),), rows)[0]

    # ---- bodies inside -------------------------------------------------------------------------------------------

    def function(self, params: Sequence[Param], run: Callable[[Code], Sequence[Atom]]) -> Lambda:
        """A lambda whose body is what `run` emits."""
        inner = self.inside()
        result = run(inner)
        return Lambda(tuple(params), inner.body(result), tuple([self.type_of(a) for a in result]))

    def map(self, width: Atom, arrays: Sequence[Var], rows: Rows) -> tuple[Var, ...]:
        """`map rows arrays`."""
        params = [self.param(a.name.base, self.types[a.name].row()) for a in arrays]
        f = self.function(params, lambda inner: rows(inner, [Var(p.name) for p in params]))
        return self.screma(Screma(width, tuple([a.name for a in arrays]), f, (), ()))

    def screma(self, exp: Screma, base: str = "ys") -> tuple[Var, ...]:
        """The results of `exp`: scans or reductions, mapped arrays."""
        operated = [t.array_of(exp.width) if exp.scans else t for op in exp.ops for t in op.op.ret]
        mapped = [t.array_of(exp.width) for t in exp.map.ret[exp.num_ops :]]
        return self.emit([self.param(base, t) for t in (*operated, *mapped)], exp)

    def scan(self, width: Atom, arrays: Sequence[Var], op: Reduction) -> Screma:
        """The scan of arrays by `op`."""
        return Screma(width, *self.as_they_are(arrays), (op,), ())

    def reduction(self, width: Atom, arrays: Sequence[Var], op: Reduction) -> Screma:
        """The reduction of arrays by `op`."""
        return Screma(width, *self.as_they_are(arrays), (), (op,))

    def scatter(self, width: Atom, indices: Sequence[Var], values: Var, dest: Var) -> Scatter:
        """`dest` with the rows of `values` at the indices."""
        return Scatter(width, *self.as_they_are([*indices, values]), (dest.name,), len(indices))

    def as_they_are(self, arrays: Sequence[Var]) -> tuple[tuple[Name, ...], Lambda]:
        """The names of arrays, and the function of a map that gives their rows."""
        return tuple([a.name for a in arrays]), self.identity([self.types[a.name].row() for a in arrays])

    def identity(self, types: Sequence[Type]) -> Lambda:
        params = [self.param("x", t) for t in types]
        return Lambda(tuple(params), Body((), tuple([Var(p.name) for p in params])), tuple(types))

    def choose(self, cond: Atom, yes: Callable[[Code], Sequence[Atom]], no: Callable[[Code], Sequence[Atom]],
               types: Sequence[Type]) -> tuple[Var, ...]:  # fmt: skip
        """`if cond then yes else no`, results of `types`."""
        bodies = []
        for run in (yes, no):
            inner = self.inside()
            bodies.append(inner.body(run(inner)))
        return self.emit([self.param("if", t) for t in types], If(cond, bodies[0], bodies[1]))

    def loop(
        self, params: Sequence[Param], inits: Sequence[Atom], form: ForLoop | WhileLoop, body: Body
    ) -> tuple[Var, ...]:
        """The results of a loop, called as its parameters are."""
        return self.emit([self.like(p, "") for p in params], Loop(tuple(params), tuple(inits), form, body))

    def iterations(self, form: ForLoop) -> Atom:
        """How often a `for` loop goes round, an i64."""
        return self.op(Op.MAX, self.convert(Prim.I64, form.bound), i64(0), base="count")

    def copies(self, stm: Stm, atoms: Sequence[Atom]) -> None:
        """`atoms` as what `stm` gives."""
        for param, atom in zip(stm.pat, atoms, strict=True):
            self.keep(Stm((param,), Copied(atom), stm.certs, (), stm.loc))

    def monoid(self, op: Op, neutral: Const, comm: bool = True) -> Reduction:
        """A scalar operation with its neutral element."""
        x, y = (self.param(base, scalar(neutral.prim)) for base in "xy")
        f = self.function((x, y), lambda inner: [inner.op(op, Var(x.name), Var(y.name))])
        return Reduction(f, (neutral,), comm)

    def adder(self, type: Type) -> Reduction:
        """Addition of values of `type`."""
        if not type.shape:
            return self.monoid(Op.ADD, zero(type.prim))
        x, y = (self.param(base, type) for base in "xy")
        neutral = self.zeros(type)
        return Reduction(self.function((x, y), lambda inner: [inner.sum(Var(x.name), Var(y.name))]), (neutral,), True)

    # ---- sums ----------------------------------------------------------------------------------------------------

    def sum(self, x: Atom, y: Atom) -> Atom:
        """`x + y`, of scalars or of arrays element by element."""
        type = self.type_of(x)
        if not type.shape:
            return self.op(Op.ADD, x, y)
        assert isinstance(x, Var)
        assert isinstance(y, Var)
        return self.map(type.shape[0], (x, self.reshape(type.shape, y)), lambda inner, xs: [inner.sum(*xs)])[0]

    def plus(self, x: Atom | None, y: Atom | None) -> Atom | None:
        """`x + y` of tangents or adjoints."""
        return y if x is None else x if y is None else self.sum(x, y)

    def times(self, x: Atom, y: Atom | None) -> Atom | None:
        """`x * y` of a factor and a tangent or adjoint, scalars."""
        return None if y is None or is_zero(x) else self.op(Op.MUL, x, y)

    def sum_rows(self, xs: Var) -> Atom:
        """The sum of the rows of an array."""
        type = self.types[xs.name]
        if type.rank > 1:
            return self._sum_columns(self.row_last(xs))
        return self.screma(self.reduction(type.shape[0], (xs,), self.adder(type.row())), "total")[0]

    def _sum_columns(self, xs: Var) -> Var:
        """Sums along the innermost dimension."""
        type = self.types[xs.name]

        def rows(inner: Code, args: Sequence[Var]) -> Sequence[Atom]:
            return [inner.sum_rows(args[0]) if type.rank == 2 else inner._sum_columns(args[0])]

        return self.map(type.shape[0], (xs,), rows)[0]


class Carried:
    """Parameters of a loop under construction: their initial values, and what its body gives for them."""

    __slots__ = ("code", "inits", "nexts", "params")

    def __init__(self, code: Code) -> None:
        self.code = code
        self.params: list[Param] = []
        self.inits: list[Atom] = []
        self.nexts: list[Atom] = []

    def enter(self, base: str, init: Atom, type: Type) -> Var:
        """A further parameter."""
        param = self.code.param(base, type)
        self.params.append(param)
        self.inits.append(init)
        return Var(param.name)


def in_range(code: Code, shape: Sequence[Atom], indices: Sequence[Atom]) -> Atom:
    """Whether all indices are in bounds."""
    result: Atom | None = None
    for size, index in zip(shape, indices, strict=False):
        low = code.op(Op.LE, i64(0), index)
        both = code.op(Op.AND, low, code.op(Op.LT, index, size))
        result = both if result is None else code.op(Op.AND, result, both)
    assert result is not None
    return result


def is_whole(dim: object, size: Atom) -> bool:
    return (dim,) == whole((size,))


def is_zero(atom: Atom) -> bool:
    return isinstance(atom, Const) and atom.value == 0


def is_one(atom: Atom) -> bool:
    return isinstance(atom, Const) and atom.prim is not Prim.BOOL and atom.value == 1


def differentiable(type: Type) -> bool:
    """Whether values of `type` have tangents: numbers. An integer has one as long as it is computed from integers."""
    return type.prim is not Prim.BOOL


def _folded(op: Op, args: tuple[Atom, ...]) -> Atom | None:
    match op, args:
        case Op.MUL, (x, y):
            return y if is_one(x) else x if is_one(y) else None
        case Op.ADD, (x, y):
            return y if is_zero(x) else x if is_zero(y) else None
        case Op.SUB, (x, y) if is_zero(y):
            return x
        case _:
            return None
