"""Near misses: a text of core or of kernel IR in which one or two places are another, which a pass takes as well, or no
longer: a variable for another one of its type, a number beside, another operation, a statement less or later.

What a rule asks for is seen where it does not hold, and no list of conditions says what to try. Ledgers name variants
that reach an outcome of a condition that those before do not (`python -m tests.support.mutation.choose`), and what
becomes of each: of those that are no program, what is said of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

NAME = re.compile(r"\b[a-zA-Z]\w*_\d+\b(?!: )")
TYPED = re.compile(r"\b([a-zA-Z]\w*_\d+): ((?:\[[^\]\s]*\])*[a-z]\w*|\[\w+\])")
NUMBER = re.compile(r"(?<![\w.\"-])-?\d+(?=\b|[iu](?:8|16|32|64))(?!\.)")
CHECKED = re.compile(r"#\{[^}]*\} ")
ALIKE = ("add sub mul min max", "quot rem div mod", "lt le gt ge eq ne", "and or")
OPERATIONS = {op: [other for other in ops.split() if other != op] for ops in ALIKE for op in ops.split()}
OPERATION = re.compile(rf"\b({'|'.join(OPERATIONS)})(?=_)")
WORDS = (("![", "["), ("reduce_comm", "reduce"), ("threads", "for"))
TYPES = (("i32", "i8"), ("f32", "f64"), ("f32", "i32"), ("i32", "f32"), ("i64", "i32"), ("i32", "i64"), ("f64", "f32"))


def variant(text: str, number: int) -> str:
    """Variant `number` of a text, the text itself for 0."""
    random = Random(number)
    for _ in range(random.choice((1, 1, 2)) if number else 0):
        text = random.choice(CHANGES)(text, random)
    return text


def other_name(text: str, random: Random) -> str:
    """For a variable another one of its type, or a number."""
    types, alike = dict(TYPED.findall(text)), defaultdict[str, list[str]](list)
    for name in dict.fromkeys(NAME.findall(text)):
        alike[types.get(name, "i64")].append(name)
    suffix = "i64" * ("i64)" in text or "i64:" in text or "0i64" in text)
    numbers = [f"{number}{suffix}" for number in (0, 1, 2, 7)]
    return _another(NAME, text, random, lambda name: [*alike[types.get(name, "i64")], random.choice(numbers)])


def other_number(text: str, random: Random) -> str:
    def beside(value: int) -> list[int]:
        return [value - 1, value + 1, value + 1, 0, 2 * value, -value, 3, 64]

    return _another(NUMBER, text, random, lambda number: list(map(str, beside(int(number)))))


def other_operation(text: str, random: Random) -> str:
    return _another(OPERATION, text, random, OPERATIONS.__getitem__)


def other_word(text: str, random: Random) -> str:
    old, new = random.choice([*WORDS, *(pair[::-1] for pair in WORDS)])
    return _another(re.compile(re.escape(old)), text, random, lambda _: [new])


def other_type(text: str, random: Random) -> str:
    """Everywhere."""
    return text.replace(*random.choice(TYPES))


def other_lines(text: str, random: Random) -> str:
    """A line left out, or behind the next one."""
    lines = text.split("\n")
    k = random.randrange(1, max(2, len(lines) - 1))
    moved = random.choice(([], [*lines[k + 1 : k + 2], lines[k]]))
    return "\n".join((*lines[:k], *moved, *lines[k + 1 + bool(moved) :]))


def unchecked(text: str, random: Random) -> str:
    """A statement that relies on no check."""
    return _another(CHECKED, text, random, lambda _: [""])


CHANGES = (*[other_name] * 4, *[other_number] * 2, other_operation, other_word, other_type, other_lines, unchecked)


def _another(what: re.Pattern[str], text: str, random: Random, others: Callable[[str], Sequence[str]]) -> str:
    """The text with one of what there is another."""
    found = list(what.finditer(text))
    if not found:
        return text
    at = random.choice(found)
    return text[: at.start()] + random.choice(others(at[0])) + text[at.end() :]


# ---- ledgers ---------------------------------------------------------------------------------------------------------


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:4]


@dataclass(frozen=True, slots=True)
class Ledger:
    """Lines `PASS TEXT NUMBER DIGEST` of a file. `became`: what a pass makes of a variant of a text."""

    path: Path
    became: Callable[[str, str, int], str]

    def known(self) -> list[tuple[str, str, int, str]]:
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        rows = (line.rsplit(" ", 3) for line in lines)
        return [(name, text, int(number), found) for name, text, number, found in rows]

    def names(self) -> list[str]:
        return list(dict.fromkeys(row[0] for row in self.known()))

    def compare(self, name: str) -> None:
        """With what stands there of a pass."""
        known = [row[1:] for row in self.known() if row[0] == name]
        assert [(*row[:2], digest(self.became(name, *row[:2]))) for row in known] == known

    def write(self, chosen: Iterable[tuple[str, str, int]]) -> None:
        lines = [f"{name} {text} {number} {digest(self.became(name, text, number))}\n" for name, text, number in chosen]
        self.path.write_text("".join(lines), encoding="utf-8")
