"""What all threads of a loop check or divide alike, before the loop.

    threads i in lo..hi { check m != 0; q = k % m; .. q .. }  ⟶  if lo < hi { check m != 0; q = k % m; threads i .. }

LLVM leaves such a division where it is: it may trap, and a check before it may end the launch. A check stays behind
those that stand before it, unless the same has been checked before the loop, as where a number divides twice. Loops
without such statements stay as they are. Indices mostly wrap once at most, so that the quotient is guessed first, and
divided where it is not -1, 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ...ir.ops import DIVISIONS, Op, can_fail, result_type
from ...ir.types import Const, Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KConvert, Kernel, KIf, KLet, KOp, KStm, KVar, Operand, Threads
from ..kernel_ir.traverse import assigned, defined, operands, rewritten, statements


def hoist_invariants(kernel: Kernel) -> Kernel:
    """The kernel with such checks and divisions before its thread loops; the same one where there are none."""
    mutable, made = assigned(kernel.body), list[KVar]()

    def name(base: str, prim: Prim) -> KVar:
        made.append(KVar(f"{base}.h{len(made)}", prim))
        return made[-1]

    def on_stm(stm: KStm) -> tuple[KStm, ...] | None:
        if not isinstance(stm, Threads):
            return None
        before, rest = split(stm, mutable, may_move)
        if not any(map(may_fail, before)):
            return (stm,)
        runs = name("runs", Prim.BOOL)
        test = KLet(runs, KOp(Op.LT, Prim.I64, (stm.lo, stm.hi)))
        once = [new for one in before for new in quickly(one, name)]
        return (test, KIf(runs, (*once, replace(stm, body=rest)), ()))

    body = rewritten(kernel.body, on_stm)
    return replace(kernel, body=body) if made else kernel


Namer = Callable[[str, Prim], KVar]
"""Makes a variable."""


def quickly(stm: KStm, name: Namer) -> list[KStm]:
    """A division whose quotient is guessed; other statements as they are."""
    match stm:
        case KLet(var, KOp(Op.DIV | Op.MOD as op, Prim.I64, (x, KVar() as by))):
            out: list[KStm] = []
            quotient = divided(x, by, out, name)
        case _:
            return [stm]
    if op is Op.DIV:
        return [*out, KLet(var, KConvert(Prim.I64, Prim.I64, quotient))]
    multiple = name("t", Prim.I64)
    return [
        *out,
        KLet(multiple, KOp(Op.MUL, Prim.I64, (quotient, by))),
        KLet(var, KOp(Op.SUB, Prim.I64, (x, multiple))),
    ]


def divided(x: Operand, by: Operand, out: list[KStm], name: Namer) -> KVar:
    """Code for x / by, rounded down, without a division where it is -1, 0 or 1."""

    def let(op: Op, *args: Operand, prim: Prim = Prim.I64) -> KVar:
        var = name("q", result_type(op, prim))
        out.append(KLet(var, KOp(op, prim, args)))
        return var

    one = let(Op.SELECT, let(Op.GE, x, by), i64(1), i64(0))
    guess = let(Op.SELECT, let(Op.LT, x, i64(0)), i64(-1), one)
    rest = let(Op.SUB, x, let(Op.MUL, guess, by))
    good = let(Op.AND, let(Op.GE, rest, i64(0)), let(Op.LT, rest, by), prim=Prim.BOOL)
    quotient, found, known = (name("q", Prim.I64) for _ in range(3))
    division = KLet(found, KOp(Op.DIV, Prim.I64, (x, by)))
    out += [kir.Declare(quotient, guess), KIf(good, (), (division, kir.Assign(quotient, found)))]
    out.append(KLet(known, KConvert(Prim.I64, Prim.I64, quotient)))
    return known


def split(
    loop: Threads, mutable: frozenset[str], moves: Callable[[KStm], bool]
) -> tuple[tuple[KStm, ...], tuple[KStm, ...]]:
    """What is the same for all threads and may stand before the loop, of what `moves`, and the rest of its body."""
    inside = {*defined(loop.body), loop.index.name}
    before: list[KStm] = []
    rest: list[KStm] = []
    values, held = dict[Operand, kir.Rhs](), set[kir.Rhs | None]()  # what has been computed before, and checked
    checked = False  # whether a check that stays stands before

    def outside(xs: Iterable[Operand]) -> bool:
        return all(isinstance(x, Const) or (x.name not in inside and x.name not in mutable) for x in xs)

    def cannot(stm: KStm) -> bool:
        match stm:
            case kir.Check(ok):
                return values.get(ok) in held
            case KLet(_, KOp(op, prim, (_, by))) if op in DIVISIONS:
                return KOp(Op.NE, prim, (by, Const(prim, 0))) in held
            case _:
                return False

    for stm in loop.body:
        fails = may_fail(stm) and not cannot(stm)
        if moves(stm) and outside(operands(stm)) and not (fails and checked):
            before.append(stm)
            if isinstance(stm, KLet):
                inside.discard(stm.var.name)
                values[stm.var] = stm.rhs
            elif isinstance(stm, kir.Check) and stm.ok in values:
                held.add(values[stm.ok])
        else:
            rest.append(stm)
            checked = checked or any(isinstance(one, kir.Check | kir.BoundsCheck) for one in statements((stm,)))
    return tuple(before), tuple(rest)


def may_move(stm: KStm) -> bool:
    """Whether a statement is a check or computes a value, from no memory."""
    match stm:
        case kir.Check() | kir.BoundsCheck() | KLet(_, KOp() | KConvert()):
            return True
        case _:
            return False


def may_fail(stm: KStm) -> bool:
    """Whether a statement may end the launch, or is a division, which stands behind its check."""
    match stm:
        case kir.Check() | kir.BoundsCheck():
            return True
        case KLet(_, KOp(op, prim, args)):
            return can_fail(op, prim) and not (isinstance(args[-1], Const) and int(args[-1].value) > 0)
        case _:
            return False
