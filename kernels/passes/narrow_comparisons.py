"""Comparisons of small numbers in types as narrow as the elements of a kernel.

    l = c ? 5 : 1 (i64); k < l   ⟶   l' = c ? 5 : 1 (i8); k < l'        threads that read or write bytes

Lengths, classes and counts of conditions are mostly i64 where a program says nothing else, of which a register has an
eighth as many lanes as of bytes. What is compared has a narrow twin, made as it is: of constants, converted bools and
small elements, sums and choices of them, all of which lie in the narrow type (`analysis/intervals.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from ...ir.ops import COMPARISONS, Op
from ...ir.types import Const, Prim
from ..analysis.intervals import Interval, find_intervals, range_of
from ..analysis.uniformity import Facts, Varying, find_facts
from ..kernel_ir.dead_code import needed
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import Assign, Declare, KConvert, Kernel, KLet, KOp, KStm, KVar, Operand, Rhs
from ..kernel_ir.traverse import all_statements, rewritten

MADE_ALIKE = frozenset({Op.ADD, Op.SUB, Op.AND, Op.OR, Op.XOR, Op.MIN, Op.MAX, Op.SELECT})
"""Operations whose result in a narrow type is that in a wide one, where all numbers lie in it."""
NARROW = (Prim.I8, Prim.U8, Prim.I16, Prim.U16, Prim.I32, Prim.U32)


def narrow_comparisons(kernel: Kernel) -> Kernel:
    """The kernel with such comparisons; the same one where there are none."""
    sizes = {array.prim.bits for array in kernel.arrays}
    narrow = [prim for prim in NARROW if sizes and min(sizes) <= prim.bits <= max(sizes)]
    wide = [stm for stm in all_statements(kernel.body) if narrow and _is_wide(stm, narrow[0].bits)]
    if not wide:
        return kernel
    webs = _Webs(_values(kernel.body), find_intervals(kernel.body), find_facts(kernel.body), NewNames("n"))
    for stm in wide:
        webs.compare(stm, narrow)
    return replace(kernel, body=needed(rewritten(kernel.body, webs.statement), set())) if webs.compared else kernel


def _is_wide(stm: KStm, bits: int) -> TypeGuard[KLet]:
    """Whether a statement compares integers wider than that."""
    match stm:
        case KLet(_, KOp(op, prim, _)):
            return op in COMPARISONS and prim.is_int and prim.bits > bits
        case _:
            return False


def _values(stms: tuple[KStm, ...]) -> Mapping[KVar, list[Rhs | Operand]]:
    """What variables are made by: all that a variable may be assigned."""
    made: dict[KVar, list[Rhs | Operand]] = {}
    for stm in all_statements(stms):
        match stm:
            case KLet(var, value) | Declare(var, value) | Assign(var, value):
                made.setdefault(var, []).append(value)
            case _:
                pass
    return made


class _Webs:
    """`twins`: the variables that have one in a narrow type; `compared`: that type, by results of comparisons."""

    def __init__(
        self, made: Mapping[KVar, list[Rhs | Operand]], intervals: Mapping[str, Interval], facts: Facts, new: NewNames
    ) -> None:
        self.made = made
        self.intervals = intervals
        self.facts = facts
        self.new = new
        self.twins: dict[tuple[KVar, Prim], KVar] = {}
        self.compared: dict[KVar, Prim] = {}

    def compare(self, let: KLet, narrow: Sequence[Prim]) -> None:
        """Notes a comparison whose operands can be had in one of these types."""
        assert isinstance(let.rhs, KOp), "a comparison"
        if not any(isinstance(self.facts.of(x), Varying) for x in let.rhs.args):
            return
        for prim in (prim for prim in narrow if prim.bits < let.rhs.prim.bits):
            web = self.web(let.rhs.args, prim)
            if web is not None:
                self.compared[let.var] = prim
                self.twins |= {(x, prim): self.new.name(x.name, prim) for x in web if (x, prim) not in self.twins}
                return

    def web(self, numbers: Sequence[Operand], prim: Prim) -> dict[KVar, None] | None:
        """The variables that numbers are made of; None where one cannot be had in a narrow type."""
        web, pending, (least, most) = dict[KVar, None](), [*numbers], range_of(prim)
        while pending:
            x = pending.pop()
            low, high = self.interval(x)
            if not least <= low <= high <= most:
                return None
            if isinstance(x, Const) or x in web:
                continue
            web[x] = None
            for value in self.made.get(x, (None,)):
                parts = None if value is None else _parts(value, prim)
                if parts is None:
                    return None
                pending += parts
        return web

    def interval(self, x: Operand) -> Interval:
        return (int(x.value), int(x.value)) if isinstance(x, Const) else self.intervals.get(x.name, range_of(x.prim))

    # ---- rewriting ---------------------------------------------------------------------------------------------------

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        match stm:
            case KLet(var, KOp(op, _, args)) if var in self.compared:
                prim = self.compared[var]
                return (KLet(var, KOp(op, prim, tuple(self.twin(x, prim) for x in args))),)
            case KLet(var, value) | Declare(var, value) | Assign(var, value):
                return (stm, *self.beside(stm, var, value))
            case _:
                return None

    def beside(self, stm: KLet | Declare | Assign, var: KVar, value: Rhs | Operand) -> Iterator[KStm]:
        """The statements that make the twins of a variable."""
        for prim in (prim for own, prim in self.twins if own == var):
            twin = self.twins[var, prim]
            match value:
                case KOp(op, _, args):
                    given = tuple(self.twin(x, prim) if k or op is not Op.SELECT else x for k, x in enumerate(args))
                    yield KLet(twin, KOp(op, prim, given))
                case KConvert(source, _, x) if source.bits <= prim.bits:
                    yield KLet(twin, KConvert(source, prim, x))
                case KConvert(_, _, x):
                    yield KLet(twin, KConvert(prim, prim, self.twin(x, prim)))
                case Const() | KVar():
                    made = Declare if isinstance(stm, Declare) else Assign
                    yield made(twin, self.twin(value, prim))
                case _:
                    pass

    def twin(self, x: Operand, prim: Prim) -> Operand:
        return Const(prim, x.value) if isinstance(x, Const) else self.twins[x, prim]


def _parts(value: Rhs | Operand, prim: Prim) -> Sequence[Operand] | None:
    """What has to be had in a narrow type for a value to be; None where the value cannot."""
    match value:
        case KOp(op, _, args) if op in MADE_ALIKE:
            return args[op is Op.SELECT :]
        case KConvert(source, target, x) if source is target or source is Prim.BOOL:
            return (x,) if source is target else ()
        case KConvert(source, target, x) if source.is_int and source.bits < target.bits:
            return () if source.bits <= prim.bits else (x,)
        case Const() | KVar():
            return (value,)
        case _:
            return None
