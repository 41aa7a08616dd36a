"""The version tree of an entry, for people: guards, sizes as formulas, and the kernels that each side launches.

It is read off the host program. Guards stay a tree; loops and other branches around a launch or a guard become its
*context*. Numbers of blocks and of parallel work are formulas in the sizes of the entry, put together from the scalar
statements of the host. Nothing is run: what a run decided is joined in from its trace (`decisions_of`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ..ir import core, scalar
from ..ir.errors import Loc
from ..ir.ops import COMPARISONS, Op
from ..ir.types import Atom, Const, Name, Prim, Var
from ..ir.version_tree import Sides
from ..kernels.host_ir.nodes import (
    HostBody,
    HostCall,
    HostFun,
    HostIf,
    HostLoop,
    HostStm,
    Interpret,
    Launch,
    Over,
    Workers,
)

# ---- formulas ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Symbol:
    """`n`, `shape[0]`: what the formula is in terms of. `nodes` is the size of the formula, here and below; `reads` are
    the names in it, none where it is one itself."""

    text: str
    nodes: int
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Number:
    """`64`"""

    const: Const


@dataclass(frozen=True, slots=True)
class Applied:
    """`n * m`: an operation."""

    op: Op
    args: tuple[Formula, ...]
    nodes: int


@dataclass(frozen=True, slots=True)
class Ceiling:
    """`ceil(n/64)`"""

    arg: Formula
    divisor: Formula
    nodes: int


Formula = Symbol | Number | Applied | Ceiling

MAX_NODES = 60  # a larger formula says nothing to a reader: a function of what it reads stands for it
INFIX: Mapping[Op, tuple[str, int]] = {
    Op.OR: ("|", 1), Op.XOR: ("^", 1), Op.AND: ("&", 2),
    Op.EQ: ("==", 3), Op.NE: ("!=", 3), Op.LT: ("<", 3), Op.LE: ("<=", 3), Op.GT: (">", 3), Op.GE: (">=", 3),
    Op.SHL: ("<<", 4), Op.SHR: (">>", 4), Op.USHR: (">>>", 4), Op.ADD: ("+", 5), Op.SUB: ("-", 5),
    Op.MUL: ("*", 6), Op.DIV: ("/", 6), Op.QUOT: ("//", 6), Op.MOD: ("%", 6), Op.REM: ("%%", 6), Op.POW: ("**", 7),
}  # fmt: skip
TIGHT = frozenset({Op.MUL, Op.DIV, Op.QUOT, Op.POW})  # written without spaces
WEAKEST = 0


def show_formula(formula: Formula, strength: int = WEAKEST) -> str:
    """The formula as text, in parentheses if it binds less tightly than `strength`."""
    match formula:
        case Symbol(text):
            return text
        case Number(const):
            return str(const.value).lower()
        case Ceiling(arg, divisor):
            return f"ceil({show_formula(arg, INFIX[Op.DIV][1])}/{show_formula(divisor, INFIX[Op.DIV][1] + 1)})"
        case Applied(Op.SELECT, (cond, then, orelse)):
            shown = f"if {show_formula(cond)} then {show_formula(then)} else {show_formula(orelse)}"
            return f"({shown})" if strength > WEAKEST else shown
        case Applied(op, (left, right)) if op in INFIX:
            sign, own = INFIX[op]
            right_strength = own if op in (Op.ADD, Op.MUL) else own + 1
            left_strength = own + 1 if op in COMPARISONS or op is Op.POW else own
            gap = "" if op in TIGHT else " "
            shown = f"{show_formula(left, left_strength)}{gap}{sign}{gap}{show_formula(right, right_strength)}"
            return f"({shown})" if strength > own else shown
        case Applied(op, args):
            return f"{op.value}({', '.join(map(show_formula, args))})"


def show_parallelism(formula: Formula) -> tuple[str, str | None]:
    """The parallelism that a guard compares, and for a version that must fit a collective when it does: where it does
    not, the formula is negative."""
    match formula:
        case Applied(Op.SELECT, (fits, par, Applied(Op.NEG))):
            return show_formula(par), show_formula(fits)
        case _:
            return show_formula(formula), None


def names_read(formula: Formula) -> Iterator[str]:
    """The names that a formula is in terms of, in the order of its text."""
    match formula:
        case Symbol(text, _, reads):
            yield from reads or (text,)
        case Applied(_, args):
            for arg in args:
                yield from names_read(arg)
        case Ceiling(arg, divisor):
            yield from names_read(arg)
            yield from names_read(divisor)
        case Number():
            pass


def nodes_of(formula: Formula) -> int:
    return 1 if isinstance(formula, Number) else formula.nodes


def _value(formula: Formula) -> int | float | bool | None:
    return formula.const.value if isinstance(formula, Number) else None


def applied(op: Op, prim: Prim, args: tuple[Formula, ...]) -> Formula:
    """The operation, evaluated where all is known."""
    nodes = 1 + sum(map(nodes_of, args))
    match op, args:
        case Op.SELECT, (Number(Const(_, value)), then, orelse):
            return then if value else orelse
        case Op.MUL, (Number(Const(Prim.I64, 1)), x) | (x, Number(Const(Prim.I64, 1))):
            return x
        case Op.QUOT, (Applied(Op.ADD, (x, shift)), by) if _is_rounding_up(shift, by):  # sizes are not negative
            return Ceiling(x, by, nodes)
        case op, (Number(Const(Prim.I64, x)), Number(Const(Prim.I64, y))) if op in FOLDED:
            value = scalar.apply(op, prim, (x, y))
            return Number(Const(Prim.BOOL if op in COMPARISONS else Prim.I64, value))
        case _:
            return Applied(op, args, nodes)


FOLDED = COMPARISONS | {Op.ADD, Op.SUB, Op.MUL, Op.MIN, Op.MAX}


def _is_rounding_up(shift: Formula, by: Formula) -> bool:
    below, size = _value(shift), _value(by)
    return below is not None and size is not None and size > 1 and below == size - 1


# ---- the tree ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Launched:
    """A kernel launch. `under`: the loops and conditions around it, outermost first, below the guard it stands in."""

    kernel: str
    blocks: str
    under: tuple[str, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Interpreted:
    """A statement that no kernel can do, and why."""

    why: str
    under: tuple[str, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard: `then` is the version for `threshold <= par` where it `fits` (None: always), `orelse` the other one.
    `loc` is that of the nest. By default `then` is taken only where it `pays` (None: always)."""

    threshold: str
    par: str
    fits: str | None
    under: tuple[str, ...]
    loc: Loc
    then: tuple[Step, ...]
    orelse: tuple[Step, ...]
    pays: str | None = None


Step = Launched | Interpreted | Guard


def explain(fun: HostFun) -> tuple[Step, ...]:
    """What an entry does, in order. The guards on this level are its sites."""
    return _Reader({}, {}).function(fun)


def reader_of(fun: HostFun) -> Callable[[Atom], str]:
    """Shows what the host finds in an entry, by its name, as a formula."""
    reader = _Reader({}, {})
    reader.function(fun)
    return reader.show


def kernels_of(steps: Sequence[Step], version: Sides) -> tuple[str, ...]:
    """The kernels that a version launches, in order."""
    return tuple(_kernels(steps, version))


def _kernels(steps: Sequence[Step], version: Sides) -> Iterator[str]:
    for step in steps:
        match step:
            case Launched(kernel):
                yield kernel
            case Guard(threshold):
                yield from _kernels(step.then if version.get(threshold) else step.orelse, version)
            case Interpreted():
                pass


@dataclass(slots=True)
class _Reader:
    """Reads one host function. `formulas`: the scalars seen so far; `owners`: the variable a plain name stands for."""

    formulas: dict[Name, Formula]
    owners: dict[str, Name]

    def function(self, fun: HostFun) -> tuple[Step, ...]:
        for param in fun.params:
            self.symbol(param.name)
        return tuple(self.body(fun.body, {}, ()))

    def symbol(self, name: Name) -> Symbol:
        """The name that people know, with its tag if another variable has it already."""
        owner = self.owners.setdefault(name.base, name)
        return Symbol(name.base if owner == name else str(name), 1)

    def formula(self, atom: Atom) -> Formula:
        match atom:
            case Const():
                return Number(atom)
            case Var(name):
                return self.formulas.get(name) or self.symbol(name)

    def show(self, atom: Atom) -> str:
        return show_formula(self.formula(atom))

    def body(self, body: HostBody, guards: dict[Name, core.GuardCmp], under: tuple[str, ...]) -> Iterator[Step]:
        for stm in body.stms:
            yield from self.stm(stm, guards, under)

    def stm(self, stm: HostStm, guards: dict[Name, core.GuardCmp], under: tuple[str, ...]) -> Iterator[Step]:
        match stm.exp:
            case Launch(kernel, blocks):
                yield Launched(kernel, self.show(blocks), under, stm.loc)
            case Interpret(_, _, _, why):
                yield Interpreted(why, under, stm.loc)
            case core.GuardCmp():
                guards[stm.pat[0].name] = stm.exp
            case HostIf(Var(cond), then, orelse) if cond in guards:
                guard = guards[cond]
                sides = (tuple(self.body(side, guards, ())) for side in (then, orelse))
                pays = None if isinstance(guard.pays, Const) else self.show(guard.pays)
                yield Guard(
                    guard.threshold, *show_parallelism(self.formula(guard.par)), under, stm.loc, *sides, pays=pays
                )
            case HostIf(cond, then, orelse):
                shown = self.show(cond)
                yield from self.body(then, guards, (*under, f"if {shown}"))
                yield from self.body(orelse, guards, (*under, f"unless {shown}"))
            case HostLoop(form=form, body=inner):
                yield from self.body(inner, guards, (*under, self.show_loop(form)))
            case HostCall() | Over() | Workers():
                pass
            case exp:
                self.define(stm, exp)

    def show_loop(self, form: core.ForLoop | core.WhileLoop) -> str:
        match form:
            case core.ForLoop(index, bound):
                return f"for {self.symbol(index).text} < {self.show(bound)}"
            case core.WhileLoop(cond):
                return f"while {self.symbol(cond).text}"

    def define(self, stm: HostStm, exp: core.Basic) -> None:
        """Remembers what a scalar is; where that is long, what it is a function of."""
        formula, name = self.formula_of(exp), stm.pat[0].name
        if formula is not None and nodes_of(formula) > MAX_NODES:
            reads = tuple(dict.fromkeys(names_read(formula)))
            formula = Symbol(f"{name.base}({', '.join(reads)})", 1, reads)
        if formula is not None:
            self.formulas[name] = formula

    def formula_of(self, exp: core.Basic) -> Formula | None:
        match exp:
            case core.Copied(atom):
                return self.formula(atom)
            case core.PrimOp(op, prim, args):
                return applied(op, prim, tuple(map(self.formula, args)))
            case core.Convert(source, target, arg) if _keeps_value(source, target):
                return self.formula(arg)
            case core.Convert(_, target, arg):
                found = self.formula(arg)
                shown = f"{target.value}({show_formula(found)})"
                return Symbol(shown, 1 + nodes_of(found), tuple(names_read(found)))
            case core.Index(array, dims) if all(isinstance(d, core.Fix) for d in dims):
                places = [self.formula(d.index) for d in dims if isinstance(d, core.Fix)]
                shown = ", ".join(map(show_formula, places))
                text = self.symbol(array).text
                return Symbol(
                    f"{text}[{shown}]",
                    1 + sum(map(nodes_of, places)),
                    (text, *chain.from_iterable(map(names_read, places))),
                )
            case _:
                return None


def _keeps_value(source: Prim, target: Prim) -> bool:
    widened = source.is_int and target.is_int and target.bits >= source.bits
    return widened and source.is_signed == target.is_signed


# ---- what a run decided ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decision:
    """That a side of a guard was taken, how often, and for how much parallelism (least and most)."""

    side: bool
    times: int
    least: int
    most: int


Trace = Sequence[tuple[str, int, bool]]


def decisions_of(trace: Trace) -> Mapping[str, tuple[Decision, ...]]:
    """For each guard that a run reached, the sides that it took."""
    seen: dict[str, dict[bool, Decision]] = {}
    for threshold, par, side in trace:
        sides = seen.setdefault(threshold, {})
        old = sides.get(side, Decision(side, 0, par, par))
        sides[side] = Decision(side, old.times + 1, min(old.least, par), max(old.most, par))
    return {threshold: tuple(sides.values()) for threshold, sides in seen.items()}


def versions_taken(
    trace: Trace, sites: Mapping[str, Sequence[str]]
) -> Mapping[str, Counter[frozenset[tuple[str, bool]]]]:
    """For each site, how often its nest ran with which decisions. `sites`: the thresholds of each site."""
    site_of = {threshold: site for site, thresholds in sites.items() for threshold in thresholds}
    taken: dict[str, Counter[frozenset[tuple[str, bool]]]] = {site: Counter() for site in sites}
    running: dict[str, set[tuple[str, bool]]] = {}
    for threshold, _, side in trace:
        site = site_of.get(threshold)
        if site is None:
            continue
        if threshold == site and site in running:
            taken[site][frozenset(running.pop(site))] += 1
        running.setdefault(site, set()).add((threshold, side))
    for site, decided in running.items():
        taken[site][frozenset(decided)] += 1
    return taken
