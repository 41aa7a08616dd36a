"""The numbers that a block takes from its own by division, counted on from the block before.

    i = block % n, rest = block / n, j = rest % m, ..        n, m, ..: the same in all blocks

A worker runs blocks one after the other, so only its first one divides: the next has i + 1, or 0 and rest + 1. Two
divisions take as long as a short row.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...ir.ops import Op
from ...ir.reachable import reachable
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from ..kernel_ir.nodes import Kernel, KLet, KOp, KStm, KVar, Operand
from ..kernel_ir.traverse import names, rhs_operands
from .statements import operation, statement
from .values import Lanes, Uniform, operand, scalar


@dataclass(frozen=True, slots=True)
class _Digit:
    """By what a number is divided, and the names of its remainder and quotient."""

    divisor: Operand
    remainders: tuple[str, ...]
    quotients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BlockNumbers:
    """`before`: what divisors are computed by, the same in all blocks; `rest`: what a block executes."""

    digits: tuple[_Digit, ...]
    before: tuple[KLet, ...]
    rest: tuple[KStm, ...]


def block_numbers(kernel: Kernel) -> BlockNumbers:
    """The divisions of the number of the block at the top level of a kernel, each of the quotient before."""
    known = {stm.var.name: stm for stm in kernel.body if isinstance(stm, KLet)}
    same = _same_in_all_blocks(kernel)
    digits: list[_Digit] = []
    done: dict[str, KLet] = {}
    numbers: tuple[str, ...] = (kernel.block.name,)
    while numbers:
        divided = [stm for stm in known.values() if _is_division(stm, numbers, same)]
        if not divided:
            break
        divisor = _operands(divided[0])[1]
        divided = [stm for stm in divided if _operands(stm)[1] == divisor]
        named = {
            op: tuple(s.var.name for s in divided if isinstance(s.rhs, KOp) and s.rhs.op is op) for op in DIVISIONS
        }
        digits.append(_Digit(divisor, named[Op.REM], named[Op.QUOT]))
        done |= {stm.var.name: stm for stm in divided}
        numbers = named[Op.QUOT]
    before = _needed([digit.divisor for digit in digits], known)
    gone = {id(stm) for stm in (*done.values(), *before)}
    return BlockNumbers(tuple(digits), before, tuple(stm for stm in kernel.body if id(stm) not in gone))


DIVISIONS = (Op.QUOT, Op.REM)


def _same_in_all_blocks(kernel: Kernel) -> frozenset[str]:
    """Scalars of the kernel, and what is computed of them alone."""
    same = {var.name for var in kernel.scalars}
    for stm in kernel.body:
        match stm:
            case KLet(var, KOp(args=args)) if all(isinstance(a, Const) or a.name in same for a in args):
                same.add(var.name)
            case _:
                pass
    return frozenset(same)


def _operands(stm: KLet) -> tuple[Operand, ...]:
    return rhs_operands(stm.rhs)


def _is_division(stm: KLet, numbers: tuple[str, ...], same: frozenset[str]) -> bool:
    match stm.rhs:
        case KOp(Op.QUOT | Op.REM, Prim.I64, (KVar(name), divisor)) if name in numbers:
            return isinstance(divisor, Const) or divisor.name in same
        case _:
            return False


def _needed(operands: list[Operand], known: Mapping[str, KLet]) -> tuple[KLet, ...]:
    """The statements that compute these, in order."""
    wanted = reachable(names(*operands), lambda name: names(*_operands(known[name])) if name in known else ())
    return tuple(stm for name, stm in known.items() if name in wanted)


# ---- code --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Counter:
    """A digit as it is counted: its divisor, and where remainder and quotient are."""

    digit: _Digit
    divisor: str
    remainder: str
    quotient: str


def first_numbers(e: Lanes, numbers: BlockNumbers, block: str) -> tuple[_Counter, ...]:
    """Those of the first block, by division."""
    counters: list[_Counter] = []
    for stm in numbers.before:
        statement(e, stm)
    value = Uniform(Prim.I64, block)
    for digit in numbers.digits:
        divisor = operand(e, digit.divisor)
        parts = [scalar(e, operation(e, op, Prim.I64, (value, divisor))) for op in (Op.REM, Op.QUOT)]
        places = [e.code.slot("i64", 8) for _ in parts]
        for part, place in zip(parts, places, strict=True):
            e.code.do(f"store i64 {part}, ptr {place}")
        counters.append(_Counter(digit, scalar(e, divisor), *places))
        value = Uniform(Prim.I64, parts[1])
    return tuple(counters)


def bind_numbers(e: Lanes, counters: tuple[_Counter, ...]) -> None:
    """Those of the present block, under their names."""
    for counter in counters:
        places = ((counter.remainder, counter.digit.remainders), (counter.quotient, counter.digit.quotients))
        for place, numbers in places:
            value = Uniform(Prim.I64, e.code.op(f"load i64, ptr {place}"))
            e.env.update(dict.fromkeys(numbers, value))


def next_numbers(e: Lanes, counters: tuple[_Counter, ...]) -> None:
    """Those of the next block: each digit goes on where the one before it begins again."""
    code, carry = e.code, "1"
    for counter in counters:
        more = code.op(f"add i64 {code.op(f'load i64, ptr {counter.remainder}')}, {carry}")
        wraps = code.op(f"icmp eq i64 {more}, {counter.divisor}")
        code.do(f"store i64 {code.op(f'select i1 {wraps}, i64 0, i64 {more}')}, ptr {counter.remainder}")
        carry = code.op(f"zext i1 {wraps} to i64")
        quotient = code.op(f"add i64 {code.op(f'load i64, ptr {counter.quotient}')}, {carry}")
        code.do(f"store i64 {quotient}, ptr {counter.quotient}")
