"""The state of an elaboration: builders that collect core statements, fresh names, scalar operations.

One builder per core body under construction. A name belongs to the builder that binds it (`Stage.home`), which tells
whether a size computed inside a branch, a loop or a lambda means anything outside. Integer operations that cannot
fail are placed in the outermost builder that knows their operands, and only once there: that is how `[n+1]` written
twice becomes one size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ...ir import polynomials
from ...ir import scalar as meaning
from ...ir.core import Attr, Body, Convert, Copied, Exp, FunDef, Param, PrimOp, Reshape, SizeParam, Stm
from ...ir.depth import BRANCHES, MOST_LEVELS, too_deep
from ...ir.errors import NOWHERE, Loc
from ...ir.ops import COMMUTATIVE, Op, can_fail, result_type
from ...ir.traverse import may_fail
from ...ir.types import Atom, Const, Name, Names, Prim, Type, Var, i64, scalar
from ..source import syntax as s
from ..source.declarations import ValDec
from ..source.types import Typed
from . import size_forms
from .values import Env, Value, components, with_atoms

Certs = tuple[Name, ...]


class Builder:
    """The statements of one body, and what is known at its end."""

    __slots__ = ("certs", "checked", "depth", "forms", "memo", "parent", "stms")

    def __init__(self, parent: Builder | None) -> None:
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.stms: list[Stm] = []
        self.memo: dict[Exp, Var] = {}  # integer operations already there
        self.forms: dict[size_forms.SizeForm, Var] = {}  # the same by normal form
        self.checked: dict[tuple[object, ...], Certs] = {}  # facts already asserted, with the assertion
        self.certs: Certs = ()  # assertions that whatever is built now relies on

    def outward(self) -> Iterator[Builder]:
        builder: Builder | None = self
        while builder is not None:
            yield builder
            builder = builder.parent


class Stage:
    """Everything that changes while a program is elaborated."""

    __slots__ = (
        "apply",
        "builder",
        "by_hand",
        "callers",
        "counts",
        "custom",
        "distrusted",
        "evaluate",
        "evaluations",
        "form_of",
        "functions",
        "globals",
        "here",
        "home",
        "memo",
        "names",
        "prelude_file",
        "recursive",
        "site",
        "texts",
        "typed",
        "types",
        "unsafe",
        "var_of",
    )  # fmt: skip

    def __init__(self, typed: Typed, texts: dict[str, str], prelude_file: str) -> None:
        self.names = Names(0)
        self.typed = typed
        self.recursive = frozenset(typed.recursive.values())  # functions that are used in their own definitions
        self.texts = texts
        self.globals = Builder(None)
        self.builder = self.globals
        self.home: dict[int, Builder] = {}
        self.types: dict[Name, Type] = {}
        self.var_of: dict[int, Var] = {}
        self.form_of: dict[int, size_forms.SizeForm] = {}
        self.functions: list[FunDef] = []
        self.custom: dict[Name, tuple[Name, int]] = {}  # functions with a derivative of their own: that, free names
        self.by_hand: dict[int, list[tuple[ValDec, Env]]] = {}  # kernels of functions, by the ids of these
        self.memo: dict[tuple[object, ...], object] = {}  # constants and specialised functions
        self.counts: dict[str, int] = {}  # how often a name is mentioned in the program
        self.site: Loc | None = None  # the place in the user's program that called library code
        self.callers: tuple[Loc, ...] = ()  # where the functions being inlined are called, the innermost first
        self.here = NOWHERE  # the expression at hand
        self.evaluations = 0  # expressions around it that are being evaluated, those of callers among them
        self.unsafe = False
        self.distrusted: int | None = None  # where `#[unsafe]` is ignored: nodes of this number and higher ones
        self.evaluate: Callable[[s.Exp, Env, str], Value] = _unset
        self.apply: Callable[[Value, tuple[Value, ...], Loc, str], Value] = _unset
        self.prelude_file = prelude_file

    def at(self, loc: Loc) -> Loc:
        return self.site or loc

    def fresh(self, base: str) -> Name:
        """A new name that the current body binds."""
        name = self.names.fresh(base)
        self.home[name.tag] = self.builder
        return name

    def param(self, base: str, type: Type) -> Param:
        """A new name of `type` that the current body binds."""
        name = self.fresh(base)
        self.types[name] = type
        return Param(name, type)

    def is_local(self, atom: Atom, builder: Builder) -> bool:
        """Whether `atom` is bound in `builder` or deeper, and so unknown outside."""
        return isinstance(atom, Var) and self.home[atom.name.tag].depth >= builder.depth

    @contextmanager
    def nested(self) -> Iterator[Builder]:
        """Build the body of a branch, a loop or a lambda."""
        outer = self.builder
        if outer.depth >= MOST_LEVELS:
            raise too_deep("branches, loops and array operations are", self.at(self.here), hint=BRANCHES)
        self.builder = Builder(outer)
        try:
            yield self.builder
        finally:
            self.builder = outer

    @contextmanager
    def resumed(self, builder: Builder) -> Iterator[None]:
        """Go on building a body that was left."""
        outer, self.builder = self.builder, builder
        try:
            yield
        finally:
            self.builder = outer

    @contextmanager
    def apart(self, builder: Builder) -> Iterator[Builder]:
        """Build somewhere else: the constants of the program, or another function."""
        outer, site, callers, unsafe, evaluations = self.builder, self.site, self.callers, self.unsafe, self.evaluations
        self.builder, self.site, self.callers, self.unsafe = builder, None, (), False
        try:
            yield builder
        finally:
            self.builder, self.site, self.callers, self.unsafe = outer, site, callers, unsafe
            self.evaluations = evaluations


def _unset(*_: object) -> Value:
    raise AssertionError("the evaluator is not connected")


# ---- statements ---------------------------------------------------------------------------------------------------


def emit_pattern(st: Stage, pat: tuple[Param, ...], exp: Exp, loc: Loc, certs: Certs = ()) -> None:
    """`let pat = exp` at the end of the current body."""
    at = st.at(loc).called(st.callers) if may_fail(exp) else st.at(loc)
    st.builder.stms.append(Stm(pat, exp, union(st.builder.certs, certs), (), at))


def emit(st: Stage, base: str, exp: Exp, type: Type, loc: Loc, certs: Certs = ()) -> Var:
    """`let base = exp`, one result."""
    param = st.param(base, type)
    emit_pattern(st, (param,), exp, loc, certs)
    return Var(param.name)


def with_names(st: Stage, base: str, value: Value) -> tuple[list[Param], Value]:
    """Fresh names for the components of `value`, and the value by these."""
    params = [st.param(base, type) for _, type in components(value)]
    return params, with_atoms(value, [Var(p.name) for p in params])


def adopt(st: Stage, stms: Iterable[Stm]) -> None:
    """Puts statements that were made elsewhere into the body in hand."""
    for stm in stms:
        st.builder.stms.append(stm)
        for param in stm.pat:
            st.home[param.name.tag] = st.builder


def union(first: Certs, second: Certs) -> Certs:
    return first if not second else first + tuple([c for c in second if c not in first])


def body_of(builder: Builder, result: list[Atom]) -> Body:
    return Body(tuple(builder.stms), tuple(result))


def attach_attr(st: Stage, attr: Attr, start: int, wanted: set[Name]) -> None:
    """Put `attr` on the statements from `start` on that bind `wanted` names, or else on the last one."""
    stms = st.builder.stms
    hits = [i for i in range(start, len(stms)) if any(p.name in wanted for p in stms[i].pat)]
    if not hits and len(stms) > start:
        hits = [len(stms) - 1]
    for i in hits:
        old = stms[i]
        stms[i] = Stm(old.pat, old.exp, old.certs, (*old.attrs, attr), old.loc)


# ---- scalar operations --------------------------------------------------------------------------------------------


def prim_op(st: Stage, op: Op, prim: Prim, args: tuple[Atom, ...], loc: Loc, base: str = "") -> Atom:
    """`op` at `prim`: folded where it is an integer or truth value known now, otherwise a statement."""
    folded = _fold(op, prim, args)
    if folded is not None:
        return folded
    result = scalar(result_type(op, prim))
    exp = PrimOp(op, prim, args)
    if not prim.is_int or not result.prim.is_int or (can_fail(op, prim) and not _is_fine(args)):
        return emit(st, base or _base_of(op), exp, result, loc)
    if prim is Prim.I64 and op in {Op.ADD, Op.SUB, Op.MUL}:
        return _polynomial_op(st, exp, loc, base)
    return _placed(st, exp, result, loc, base or _base_of(op))


def _is_fine(args: tuple[Atom, ...]) -> bool:
    """Whether a second operand is a number by which every division and power has a value."""
    return isinstance(args[-1], Const) and args[-1].value > 0


def _base_of(op: Op) -> str:
    return op.value


def _fold(op: Op, prim: Prim, args: tuple[Atom, ...]) -> Atom | None:
    if prim.is_float:
        return None
    constants = [arg for arg in args if isinstance(arg, Const)]
    if len(constants) == len(args):
        try:
            return Const(result_type(op, prim), meaning.apply(op, prim, tuple([c.value for c in constants])))
        except meaning.ScalarFailure:
            return None
    if prim is Prim.BOOL and op in {Op.AND, Op.OR} and constants:
        other = args[0] if isinstance(args[1], Const) else args[1]
        absorbing = op is Op.OR
        return Const(Prim.BOOL, absorbing) if constants[0].value is absorbing else other
    return None


def _polynomial_op(st: Stage, exp: PrimOp, loc: Loc, base: str) -> Atom:
    """An i64 `+ - *`: the same value under another name if there is one."""
    left, right = (form_of(st, arg) for arg in exp.args)
    form = size_forms.combine(exp.op, left, right)
    if form is None:
        return _placed(st, exp, scalar(Prim.I64), loc, base or _base_of(exp.op))
    value = size_forms.as_constant(form)
    if value is not None:
        return i64(value)
    for builder in st.builder.outward():
        if form in builder.forms:
            return builder.forms[form]
    known = _single(st, form, exp)
    if known is not None:
        return known
    var = _placed(st, exp, scalar(Prim.I64), loc, base or _base_of(exp.op))
    st.form_of[var.name.tag] = form
    st.home[var.name.tag].forms[form] = var
    return var


def _single(st: Stage, form: size_forms.SizeForm, exp: PrimOp) -> Atom | None:
    """An operand itself, where the operation gives it back: `x + 0`."""
    for arg in exp.args:
        if isinstance(arg, Var) and form == form_of(st, arg):
            return arg
    match form:
        case (((tag,), 1),):
            return variable_in_scope(st, tag)
        case _:
            return None


def variable_in_scope(st: Stage, tag: int) -> Var | None:
    var = st.var_of.get(tag)
    return var if any(st.home[tag] is builder for builder in st.builder.outward()) else None


def form_of(st: Stage, atom: Atom) -> size_forms.SizeForm:
    match atom:
        case Const(_, value):
            return size_forms.of_constant(int(value))
        case Var(name):
            form = st.form_of.get(name.tag)
            if form is None:
                form = polynomials.atom(name.tag)
                st.form_of[name.tag] = form
                st.var_of[name.tag] = atom
            return form


def size_param(st: Stage, name: str, default: int, loc: Loc) -> Var:
    """A size that a tuning file may set, once, at the top of the function."""
    return _placed(st, SizeParam(name, default), scalar(Prim.I64), loc, name)


def _placed(st: Stage, exp: PrimOp | Convert | SizeParam, type: Type, loc: Loc, base: str) -> Var:
    """A total integer operation, once, in the outermost body that knows its operands."""
    key = _ordered(exp)
    for builder in st.builder.outward():
        if key in builder.memo:
            return builder.memo[key]
    target = _outermost(st, _operands(exp))
    name = st.names.fresh(base)
    st.home[name.tag] = target
    st.types[name] = type
    target.stms.append(Stm((Param(name, type),), exp, (), (), st.at(loc)))
    target.memo[key] = Var(name)
    return Var(name)


def _operands(exp: PrimOp | Convert | SizeParam) -> tuple[Atom, ...]:
    match exp:
        case PrimOp(args=args):
            return args
        case Convert(arg=arg):
            return (arg,)
        case SizeParam():
            return ()


def _ordered(exp: PrimOp | Convert | SizeParam) -> PrimOp | Convert | SizeParam:
    if isinstance(exp, PrimOp) and exp.op in COMMUTATIVE:
        return PrimOp(exp.op, exp.prim, tuple(sorted(exp.args, key=str)))
    return exp


def _outermost(st: Stage, args: tuple[Atom, ...]) -> Builder:
    depth = max([st.home[arg.name.tag].depth for arg in args if isinstance(arg, Var)], default=0)
    target = st.builder
    while target.parent is not None and target.depth > depth:
        target = target.parent
    return target


def convert(st: Stage, target: Prim, source: Prim, atom: Atom, loc: Loc, base: str = "") -> Atom:
    """`atom` as a `target`."""
    if source is target:
        return atom
    if isinstance(atom, Const) and not source.is_float and not target.is_float:
        return Const(target, meaning.convert(source, target, atom.value))
    exp = Convert(source, target, atom)
    if source.is_int and target.is_int:
        return _placed(st, exp, scalar(target), loc, base or target.value)
    return emit(st, base or target.value, exp, scalar(target), loc)


def to_i64(st: Stage, atom: Atom, prim: Prim, loc: Loc) -> Atom:
    return convert(st, Prim.I64, prim, atom, loc)


# ---- bulk ---------------------------------------------------------------------------------------------------------


def reshape(st: Stage, atom: Atom, type: Type, loc: Loc, certs: Certs = (), base: str = "xs") -> Atom:
    """The same elements as an array of `type`."""
    assert isinstance(atom, Var)
    return emit(st, base_of(atom, base), Reshape(type.shape, atom.name), type, loc, certs)


def base_of(atom: Atom, otherwise: str) -> str:
    return atom.name.base if isinstance(atom, Var) else otherwise


def constant(prim: Prim, value: bool | int | float) -> Const:
    """A number of the source as a `prim`: rounded to the width of a float, an integer (`128` of `-128i8`) in range."""
    if prim is Prim.BOOL:
        return Const(prim, bool(value))
    if prim.is_int:
        return Const(prim, meaning.wrapping(prim)(int(value)))
    if isinstance(value, int) and abs(value) < 2**63:
        return Const(prim, meaning.convert(Prim.I64, prim, value))
    return Const(prim, meaning.rounding(prim)(float(value)))


def alias(st: Stage, atom: Atom, type: Type, certs: Certs, loc: Loc) -> Atom:
    """`atom` again, relying on `certs`."""
    return emit(st, base_of(atom, "x"), Copied(atom), type, loc, certs) if certs else atom
