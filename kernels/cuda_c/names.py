"""Names of a kernel as a person would give them.

A variable keeps the word before its number, with a number only where another one has the word already: one that can be
seen from there. Loops beside each other have the same names. What a collective binds or mentions is its own in the
whole kernel, and so are arrays: printers declare them where they need them.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import Any

from ...ir.records import dataclass
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KArray, Kernel, KStm, KVar
from ..kernel_ir.traverse import children, map_mentions, mentions, names_in, statements, with_children
from .ops import LIBRARY

WORD = re.compile(r"[A-Za-z_]\w*")
NUMBERED = re.compile(r"^(.*?)(?:_r?\d+)+$")
KEYWORDS = frozenset(WORD.findall("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl concept
    const const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern
    false float for friend goto if inline int linux long major minor mutable namespace new noexcept not not_eq nullptr
    operator or or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename
    union unix unsigned using virtual void volatile wchar_t while xor xor_eq threadIdx blockIdx blockDim gridDim
    main stdin stdout stderr assert errno emulator blocks
    failures before failed memory stack own shared_memory y0 y1 yn j0 j1 jn gamma signgam index environ div
"""))  # fmt: skip
SPOKEN = {"if": "chosen"}
"""What is named after a keyword."""


def renamed(kernel: Kernel, taken: frozenset[str]) -> Kernel:
    """Every variable and array under a short name; `taken`: names that mean something else."""
    apart = taken | KEYWORDS | LIBRARY | {kernel.name}
    naming = Naming({kernel.name: kernel.name}, set(apart), set())
    seen = set(apart)
    naming.own = {var.name for var in (*kernel.scalars, *kernel.arrays, kernel.block)} | bound_in(kernel.body)
    naming.give((kernel.scalars, kernel.arrays, kernel.block), seen)
    name_list(naming, kernel.body, seen)
    return with_names(kernel, naming.names)


@dataclass(slots=True)
class Naming:
    """New names by old ones; all that were given, and those among them that nothing else may have anywhere; `own`: what
    is to be named."""

    names: dict[str, str]
    given: set[str]
    lasting: set[str]
    own: set[str] = field(default_factory=set)

    def give(self, node: object, seen: set[str], everywhere: bool = False) -> None:
        """Names for what `node` mentions first, which differ from those that can be seen."""
        for name in (word for text in names_in(node) for word in WORD.findall(text)):
            if name not in self.own or name in self.names:
                continue
            new = free_name(stem(name), self.given if everywhere else seen | self.lasting)
            self.names[name] = new
            self.given.add(new)
            seen.add(new)
            if everywhere:
                self.lasting.add(new)


def name_list(naming: Naming, stms: tuple[KStm, ...], seen: set[str]) -> None:
    """Names for a list, of which nothing can be seen behind it."""
    for stm in stms:
        naming.give(tuple(one for one in mentions(headed(stm)) if isinstance(one, KArray)), seen, everywhere=True)
        match stm:
            case kir.For(index, bound, body):
                naming.give(bound, seen)
                name_inside(naming, index, body, seen)
            case kir.Threads(index, lo, hi, body):
                naming.give((lo, hi), seen)
                name_inside(naming, index, body, seen)
            case kir.KIf(cond, then, orelse):
                naming.give(cond, seen)
                name_inside(naming, None, then, seen)
                name_inside(naming, None, orelse, seen)
            case kir.KWhile(before, cond, body):
                inside = set(seen)
                name_list(naming, before, inside)
                naming.give(cond, inside)
                name_list(naming, body, inside)
            case kir.BlockReduce() | kir.BlockScan() | kir.TeamReduce() | kir.WarpTurns() | kir.LookBack():
                naming.give(stm, seen, everywhere=True)
            case _:
                naming.give(stm, seen)


def name_inside(naming: Naming, index: KVar | None, stms: tuple[KStm, ...], seen: set[str]) -> None:
    """Names for a list inside of a statement, with its index if it has one; `seen` stays as it was."""
    inside = set(seen)
    naming.give(index, inside)
    name_list(naming, stms, inside)


def bound_in(stms: tuple[KStm, ...]) -> set[str]:
    """The names of variables and arrays, without what calls in expressions are named."""
    return {name for stm in statements(stms) for name in names_in(headed(stm)) if WORD.fullmatch(name)}


def headed(stm: KStm) -> KStm:
    """A statement without the lists inside."""
    return with_children(stm, tuple(() for _ in children(stm)))


def stem(name: str) -> str:
    """The word before the number of a name: `chosen` for `if`, `x` for none, `v_` before one that begins with no letter
    or is all capitals."""
    found = NUMBERED.match(name)
    word = (found.group(1) if found else name).strip("_") or "x"
    word = SPOKEN.get(word, word)
    return re.sub(r"_+", "_", word) if word[0].isalpha() and not word.isupper() else f"v_{word}"


def free_name(word: str, used: set[str]) -> str:
    """The word, or the word with the least number from 2 on, that is not in use."""
    if word not in used:
        return word
    number = 2
    while f"{word}{number}" in used:
        number += 1
    return f"{word}{number}"


def in_text(text: str, names: dict[str, str]) -> str:
    """A variable's name, or the text of an expression, with other names for the variables."""
    return names[text] if text in names else WORD.sub(lambda word: names.get(word[0], word[0]), text)


def with_names(node: Any, names: dict[str, str]) -> Any:
    """A piece of kernel IR with other names for variables, in expressions too, and for arrays."""

    def named(one: KVar | KArray) -> KVar | KArray:
        name = in_text(one.name, names) if isinstance(one, KVar) else names.get(one.name, one.name)
        return replace(one, name=name)

    return map_mentions(node, named)
