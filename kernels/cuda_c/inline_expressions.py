"""A kernel as a person would write it down: short names, and index arithmetic where it is used.

    let t_5 = mul i_2 n_1; let t_6 = add t_5 j_3; let x_7 = xs_4[t_6]     ⟶     let x = xs[i * n + j]

Names are those of `names.py`. A value that is used once, by arithmetic or a store, in the list that makes it,
stands where it is used: its name is then its text. What is read from a variable or memory that changes stays before the
change. `values` and `results` of collectives keep their names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ...ir.ops import COMPARISONS, Op
from ...ir.types import Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import Kernel, KLet, KLoad, KOp, KStm
from ..kernel_ir.traverse import children, names_in, statements, with_children
from .names import WORD, headed, renamed, with_names
from .narrow_indices import DIVISIONS
from .ops import conversion, expression, operand

LONGEST = 100
"""Characters of a load that stands where it is used, before variables have their short names."""


def readable(kernel: Kernel, taken: frozenset[str]) -> Kernel:
    """`taken`: names that mean something else."""
    return renamed(inlined(kernel), taken)


# ---- expressions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Text:
    """An expression that waits for its use: how tightly it binds (0: as a name), the changing variables in it, whether
    it reads memory."""

    text: str
    loose: int
    reads: frozenset[str]
    loads: bool


@dataclass(slots=True)
class Inliner:
    """`uses`: how often each variable is used where an expression may stand; `kept`: those that keep their names;
    `changing`: those that are assigned."""

    uses: Counter[str]
    kept: frozenset[str]
    changing: frozenset[str]


def inlined(kernel: Kernel) -> Kernel:
    """The kernel with values in the places of their only uses, without those that are not used."""
    kernel = replace(kernel, body=without_unused(kernel.body))
    found = list(statements(kernel.body))
    changing = frozenset(s.var.name for s in found if isinstance(s, (kir.Declare, kir.Assign)))
    inliner = Inliner(Counter(names_in(tuple(map(headed, found)))), frozenset(kept_names(found)), changing)
    return replace(kernel, body=inline_list(inliner, kernel.body))


def without_unused(stms: tuple[KStm, ...]) -> tuple[KStm, ...]:
    """Without arithmetic that is not used, such as a product that went into a fused addition."""
    while True:
        uses = Counter(names_in(tuple(map(headed, statements(stms)))))
        fewer = _used(stms, uses)
        if fewer == stms:
            return stms
        stms = fewer


def _used(stms: tuple[KStm, ...], uses: Counter[str]) -> tuple[KStm, ...]:
    kept = (s for s in stms if not (isinstance(s, KLet) and is_arithmetic(s) and uses[s.var.name] == 1))
    return tuple(with_children(s, tuple(_used(inner, uses) for inner in children(s))) for s in kept)


def kept_names(stms: Iterable[KStm]) -> Iterator[str]:
    """The variables that keep their names: what heads of loops, checks and collectives mention, both sides of a
    selection, and quotients in teams, which may be those of a segment."""
    for stm in stms:
        match stm:
            case kir.TeamReduce(body=body):
                yield from names_in(headed(stm))
                yield from (s.var.name for s in body if isinstance(s, KLet) and divides(s))
            case kir.BlockReduce() | kir.BlockScan() | kir.WarpTurns() | kir.LookBack():
                yield from names_in(headed(stm))
            case kir.Threads(lo=lo, hi=hi):
                yield from names_in((lo, hi))
            case kir.For(bound=bound):
                yield from names_in(bound)
            case kir.Check() | kir.BoundsCheck() | kir.KWhile():
                yield from names_in(headed(stm))
            case kir.KLet(_, kir.KOp(Op.SELECT, _, (_, x, y))):  # both sides would be computed on the spot
                yield from names_in((x, y))
            case _:
                pass


def inline_list(inliner: Inliner, stms: tuple[KStm, ...]) -> tuple[KStm, ...]:
    """A list with expressions in the places of their only uses in it."""
    used_here = Counter(names_in(tuple(map(headed, stms))))
    waiting: dict[str, tuple[Text, KLet]] = {}
    done: list[KStm] = []
    for stm in stms:
        changed = {s.var.name for s in statements((stm,)) if isinstance(s, kir.Assign)}
        for name in [name for name, (text, _) in waiting.items() if is_late(stm, name, text, changed)]:
            done.append(waiting.pop(name)[1])
        loads = any(text.loads for name, (text, _) in waiting.items() if name in names_in(headed(stm)))
        here = using(headed(stm), waiting)
        if isinstance(here, KLet) and may_wait(inliner, here, used_here):
            waiting[here.var.name] = text_of(inliner, here, loads), here
            continue
        inner = tuple(inline_list(inliner, part) for part in children(stm))
        done.append(with_children(here, inner))
    return (*done, *(stm for _, stm in waiting.values()))


def is_late(stm: KStm, name: str, text: Text, changed: set[str]) -> bool:
    """Would the expression be evaluated after a change? Assignments and stores read before they write."""
    used = name in names_in(headed(stm))
    in_time = isinstance(stm, kir.Assign) and used
    if text.loads and not isinstance(stm, KEEPS_MEMORY) and not (isinstance(stm, READS_FIRST) and used):
        return True
    return bool(text.reads & changed) and not in_time


KEEPS_MEMORY = (KLet, kir.Declare, kir.Assign, kir.Note)
READS_FIRST = (kir.Store, kir.StoreRow, kir.KIf)


def may_wait(inliner: Inliner, stm: KLet, used_here: Counter[str]) -> bool:
    """Arithmetic, or a short load, that is used once, in this list (a binding counts as a use too)."""
    name = stm.var.name
    once = inliner.uses[name] == 2 and used_here[name] == 2
    short = isinstance(stm.rhs, KLoad) and len(right_hand_side(stm.rhs)) <= LONGEST
    return once and name not in inliner.kept and (short or is_arithmetic(stm))


def is_arithmetic(stm: KLet) -> bool:
    """Whether a binding computes a value without reading memory: an operation or a conversion."""
    return isinstance(stm.rhs, (KOp, kir.KConvert))


def divides(stm: KLet) -> bool:
    """Whether a binding is a division of indices."""
    return isinstance(stm.rhs, KOp) and stm.rhs.op in DIVISIONS


EXACT = {Op.ADD: ("+", 2), Op.SUB: ("-", 2), Op.MUL: ("*", 1), Op.QUOT: ("/", 1), Op.REM: ("%", 1)}


def text_of(inliner: Inliner, stm: KLet, loads: bool) -> Text:
    """The text of a right-hand side, whose operands have been put in already; whether these read memory."""
    reads = frozenset(WORD.findall(right_hand_side(stm.rhs))) & inliner.changing
    return Text(right_hand_side(stm.rhs), looseness(stm.rhs), reads, loads or isinstance(stm.rhs, KLoad))


def looseness(rhs: kir.Rhs) -> int:
    """How loosely the text of a right-hand side binds: 0 as a name does, 1 as `*`, 2 as `+`, 3 as any other
    operator."""
    match rhs:
        case KLoad():
            return 0
        case KOp(op, prim, _, True) if prim is not Prim.I32 or op not in (Op.QUOT, Op.REM):
            return EXACT[op][1]
        case kir.KConvert(source, target, _) if source is target:
            return 0
        case _:
            text = right_hand_side(rhs)
            return 0 if is_call(text) or is_cast(text) else 3


def is_call(text: str) -> bool:
    """`f(..)` as a whole, and not `f(..) + g(..)` or `x + (y)`."""
    if not text.endswith(")") or not re.match(r"\w+(<\w+>)?\(", text):
        return False
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == ")" and depth == 0:
            return at == len(text) - 1
    return False


def is_cast(text: str) -> bool:
    """`(t)x` or `(t)(..)`, which binds as tightly as a call beside any operator of two operands."""
    found = re.match(r"\((?:bool|[iu]\d+|b?f\d+)\)", text)
    rest = text[found.end() :] if found else ""
    return bool(WORD.fullmatch(rest)) or (rest.startswith("(") and is_call(f"f{rest}"))


def right_hand_side(rhs: kir.Rhs) -> str:
    """As C; operands bind tightly."""
    match rhs:
        case KOp(Op.QUOT | Op.REM as op, Prim.I32, (x, y), True):
            return f"(i32)((u32){operand(x)} {EXACT[op][0]} (u32){operand(y)})"
        case KOp(op, _, (x, y), True):
            sign, level = EXACT[op]
            return f"{number(_bare(x, level))} {sign} {number(_bare(y, level - 1))}"
        case KOp(op, prim, args):
            texts = tuple(operand(a) for a in args)
            text = expression(op, prim, tuple(map(number, texts)) if op in COMPARISONS else texts)
            form = expression(op, prim, ("x", "y", "z")[: len(args)])
            return expression(op, prim, tuple(map(bare, args))) if is_call(form) else text
        case kir.KConvert(source, target, arg):
            return conversion(source, target, operand(arg))
        case kir.KLoad(array, index):
            return f"{array.name}[{bare(index)}]"
        case kir.KAligned(array, index, count):
            return f"is_aligned<{count}>(&{array.name}[{bare(index)}])"


def number(text: str) -> str:
    """An integer beside one of the same type needs no suffix."""
    return text.removesuffix("ll") if re.fullmatch(r"\d{1,9}ll", text) else text


def bare(x: kir.Operand) -> str:
    """An operand where nothing binds it from outside: an index, the right of an assignment."""
    return _bare(x, 3)


def _bare(x: kir.Operand, level: int) -> str:
    """Without its parentheses, where what is around binds no tighter than `level`."""
    text = operand(x)
    if not text.startswith("("):
        return text
    inner, signs = text[1:-1], top_level(text[1:-1])
    if not text.endswith(")") or signs is None:
        return text
    loose = 3 if signs - {"+", "-", "*", "/", "%"} else 2 if signs & {"+", "-"} else 1
    return inner if loose <= level else text


def top_level(text: str) -> set[str] | None:
    """The signs between spaces outside of parentheses; None where the parentheses around `text` were no pair."""
    depth, signs = 0, set[str]()
    for word in re.findall(r"[()\[\]]|(?<=\s)[^\w\s()\[\]]+(?=\s)", text):
        if word in "([":
            depth += 1
        elif word in ")]":
            depth -= 1
            if depth < 0:
                return None
        elif depth == 0:
            signs.add(word)
    return signs


def using(stm: KStm, waiting: dict[str, tuple[Text, KLet]]) -> KStm:
    """The statement with the expressions that wait for it in the places of their names."""
    taken = [name for name in dict.fromkeys(names_in(stm)) if name in waiting]
    if not taken:
        return stm
    names = {name: name for name in names_in(stm)}
    for name in taken:
        text, _ = waiting.pop(name)
        names[name] = text.text if text.loose == 0 else f"({text.text})"
    return with_names(stm, names)
