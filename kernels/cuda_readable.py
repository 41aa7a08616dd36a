"""A kernel as a person would write it down: short names, and index arithmetic where it is used.

    let t_5 = mul i_2 n_1; let t_6 = add t_5 j_3; let x_7 = xs_4[t_6]     ⟶     let x = xs[i * n + j]

A variable keeps the word before its number, with a number only where another one has the word already. A value that is
used once, by arithmetic alone, in the list that makes it, stands where it is used: its name is then its text. What is
read from a variable that changes stays before the change. `values` and `results` of collectives keep their names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from ..ir.ops import COMPARISONS, Op
from ..ir.types import Const
from . import kir
from .cuda_ops import LIBRARY, conversion, expression, operand
from .kir import KArray, Kernel, KLet, KOp, KStm, KVar
from .scope import children, statements, with_children

WORD = re.compile(r"[A-Za-z_]\w*")
NUMBERED = re.compile(r"^(.*?)(?:_r?\d+)+$")
KEYWORDS = frozenset(WORD.findall("""
    alignas alignof and asm auto bool break case catch char class compl concept const constexpr continue decltype
    default delete do double else enum explicit export extern false float for friend goto if inline int linux long major
    minor mutable namespace new noexcept not nullptr operator or private protected public register requires restrict
    return short signed sizeof static struct switch template this throw true try typedef typeid typename union unix
    unsigned using virtual void volatile wchar_t while xor main stdin stdout stderr assert errno emulator blocks
    failures failed memory stack own shared_memory y0 y1 yn j0 j1 jn gamma signgam index environ div
"""))  # fmt: skip


def readable(kernel: Kernel, taken: frozenset[str]) -> Kernel:
    """`taken`: names that mean something else."""
    return renamed(inlined(kernel), taken)


# ---- names -------------------------------------------------------------------------------------------------------


def renamed(kernel: Kernel, taken: frozenset[str]) -> Kernel:
    """Every variable and array under a short name."""
    used, names = set(taken | KEYWORDS | LIBRARY), {kernel.name: kernel.name}
    used.add(kernel.name)
    own = {var.name for var in (*kernel.scalars, *kernel.arrays, kernel.block)} | bound_in(kernel.body)
    for text in names_in((kernel.scalars, kernel.arrays, kernel.block, kernel.body)):
        for name in WORD.findall(text):
            if name in own and name not in names:
                names[name] = free_name(stem(name), used)
                used.add(names[name])
    return with_names(kernel, names)


def bound_in(stms: tuple[KStm, ...]) -> set[str]:
    """The names of variables and arrays, without what calls in expressions are named."""
    return {name for stm in statements(stms) for name in names_in(headed(stm)) if WORD.fullmatch(name)}


def stem(name: str) -> str:
    found = NUMBERED.match(name)
    word = (found.group(1) if found else name).strip("_") or "x"
    return re.sub(r"_+", "_", word) if word[0].isalpha() and not word.isupper() else f"v_{word}"


def free_name(word: str, used: set[str]) -> str:
    if word not in used:
        return word
    number = 2
    while f"{word}{number}" in used:
        number += 1
    return f"{word}{number}"


def names_in(node: Any) -> Iterator[str]:
    """The names of all variables and arrays that a piece of kernel IR mentions, in order."""
    match node:
        case KVar(name, _) | KArray(name, _, _):
            yield name
        case tuple():
            for part in node:
                yield from names_in(part)
        case Const():
            pass
        case _ if is_dataclass(node):
            for part in fields(node):
                yield from names_in(getattr(node, part.name))
        case _:
            pass


def in_text(text: str, names: dict[str, str]) -> str:
    """A variable's name, or the text of an expression, with other names for the variables."""
    return names[text] if text in names else WORD.sub(lambda word: names.get(word[0], word[0]), text)


def with_names(node: Any, names: dict[str, str]) -> Any:
    match node:
        case KVar(name, prim):
            return KVar(in_text(name, names), prim)
        case KArray(name, prim, space):
            return KArray(names.get(name, name), prim, space)
        case tuple():
            return tuple(with_names(part, names) for part in node)
        case Const() | kir.FailureSite() | kir.Note():
            return node
        case _ if is_dataclass(node) and not isinstance(node, type):
            return replace(node, **{f.name: with_names(getattr(node, f.name), names) for f in fields(node) if f.init})
        case _:
            return node


# ---- expressions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Text:
    """An expression that waits for its use: how tightly it binds (0: as a name), the changing variables in it."""

    text: str
    loose: int
    reads: frozenset[str]


@dataclass(slots=True)
class Inliner:
    """`uses`: how often each variable is used where an expression may stand; `kept`: those that keep their names;
    `changing`: those that are assigned."""

    uses: Counter[str]
    kept: frozenset[str]
    changing: frozenset[str]


def inlined(kernel: Kernel) -> Kernel:
    found = list(statements(kernel.body))
    changing = frozenset(s.var.name for s in found if isinstance(s, (kir.Declare, kir.Assign)))
    inliner = Inliner(Counter(names_in(tuple(map(headed, found)))), frozenset(kept_names(found)), changing)
    return replace(kernel, body=inline_list(inliner, kernel.body))


def headed(stm: KStm) -> KStm:
    """A statement without the lists inside."""
    return with_children(stm, tuple(() for _ in children(stm)))


def kept_names(stms: Iterable[KStm]) -> Iterator[str]:
    for stm in stms:
        match stm:
            case kir.BlockReduce() | kir.BlockScan() | kir.TeamReduce() | kir.WarpTurns() | kir.LookBack():
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
        here = using(headed(stm), waiting)
        if isinstance(here, KLet) and is_arithmetic(here) and inliner.uses[here.var.name] == 1:
            continue  # a product that went into a fused addition
        if isinstance(here, KLet) and may_wait(inliner, here, used_here):
            waiting[here.var.name] = text_of(inliner, here, waiting), here
            continue
        inner = tuple(inline_list(inliner, part) for part in children(stm))
        done.append(with_children(here, inner))
    return (*done, *(stm for _, stm in waiting.values()))


def is_late(stm: KStm, name: str, text: Text, changed: set[str]) -> bool:
    """Would the expression be evaluated after a change? An assignment reads before it writes."""
    in_time = isinstance(stm, kir.Assign) and name in names_in(stm.value)
    return bool(text.reads & changed) and not in_time


def may_wait(inliner: Inliner, stm: KLet, used_here: Counter[str]) -> bool:
    """Arithmetic that is used once, in this list (a binding counts as a use too)."""
    name = stm.var.name
    once = inliner.uses[name] == 2 and used_here[name] == 2
    return once and name not in inliner.kept and is_arithmetic(stm)


def is_arithmetic(stm: KLet) -> bool:
    return isinstance(stm.rhs, (KOp, kir.KConvert))


EXACT = {Op.ADD: ("+", 2), Op.SUB: ("-", 2), Op.MUL: ("*", 1), Op.QUOT: ("/", 1), Op.REM: ("%", 1)}


def text_of(inliner: Inliner, stm: KLet, waiting: dict[str, tuple[Text, KLet]]) -> Text:
    """The text of a right-hand side, whose operands have been put in already."""
    reads = frozenset(WORD.findall(right_hand_side(stm.rhs))) & inliner.changing
    return Text(right_hand_side(stm.rhs), looseness(stm.rhs), reads)


def looseness(rhs: kir.Rhs) -> int:
    match rhs:
        case KOp(op, _, _, True):
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
    found = re.match(r"\((?:bool|[iuf]\d+)\)", text)
    rest = text[found.end() :] if found else ""
    return bool(WORD.fullmatch(rest)) or (rest.startswith("(") and is_call(f"f{rest}"))


def right_hand_side(rhs: kir.Rhs) -> str:
    """As C; operands bind tightly."""
    match rhs:
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
