"""Inputs that are almost right: valid ones changed token by token or byte by byte, spliced, repeated and nested.

Everything follows from the `Random` that is given. Most inputs are of some kilobytes; one of `HUGE` is a piece repeated
until it has up to `MOST` bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

MOST = 1 << 20  # bytes of an input
HUGE = 400  # inputs of which one is large
TOKEN = re.compile(rb'"[^"\n]*"|[A-Za-z_][\w\']*|[0-9][\w.]*|--[^\n]*|\s+|.', re.DOTALL)

EDGES = (
    b"0", b"-1", b"1", b"255", b"256", b"65536", b"2147483647", b"-2147483648", b"4294967296", b"9223372036854775807",
    b"-9223372036854775808", b"9223372036854775808", b"99999999999999999999999", b"1e400", b"1e-400", b"0x", b"0b2",
    b"0xffffffffffffffffffff", b"1_000", b"f32.nan", b"-f64.inf", b"300u8", b"1.0i32", b"3f16", b"'", b"''", b'"',
    b"\\", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\r", b"\x1b[31m", b"#[unsafe]", b"%n%s", b"*/",
    b"-- ==\n",
)  # fmt: skip
"""Numbers at the ends of types, and what readers of text get wrong."""

BRACKETS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b'"', b'"'), (b"(\\x -> ", b")"), (b"let x = ", b" in x"))


@dataclass(frozen=True, slots=True)
class Corpus:
    """Valid inputs of a reader, whole and as tokens; `words`: all their tokens."""

    whole: tuple[bytes, ...]
    tokens: tuple[tuple[bytes, ...], ...]
    words: tuple[bytes, ...]


def corpus_of(inputs: Sequence[bytes]) -> Corpus:
    tokens = tuple(tuple(TOKEN.findall(one)) for one in inputs)
    words = sorted({word for one in tokens for word in one if not word.isspace()})
    return Corpus(tuple(inputs), tokens, tuple(words))


def changed(corpus: Corpus, source: Random) -> bytes:
    """An input changed by tokens, or by bytes, or by both."""
    if source.random() < 0.35:
        return by_bytes(source.choice(corpus.whole), source)
    data = by_tokens(corpus, source)
    return by_bytes(data, source) if source.random() < 0.15 else data


# ---- by tokens


def by_tokens(corpus: Corpus, source: Random) -> bytes:
    tokens = list(source.choice(corpus.tokens))
    if len(tokens) > 400:  # a part of a long one
        begin = source.randrange(len(tokens) - 100)
        tokens = tokens[begin : begin + source.randrange(50, 1000)] if source.random() < 0.5 else tokens
    for _ in range(_some(source)):
        begin, end = _span(len(tokens), source)
        source.choice(TOKEN_STEPS)(tokens, begin, end, corpus, source)
    return b"".join(tokens)[:MOST]


Step = Callable[[list[bytes], int, int, Corpus, Random], None]


def _drop(tokens: list[bytes], begin: int, end: int, corpus: Corpus, source: Random) -> None:
    del tokens[begin:end]


def _swap(tokens: list[bytes], begin: int, end: int, corpus: Corpus, source: Random) -> None:
    tokens[begin:end] = reversed(tokens[begin:end])


def _replace(tokens: list[bytes], begin: int, end: int, corpus: Corpus, source: Random) -> None:
    tokens[begin : begin + 1] = [source.choice(corpus.words)]


def _edge(tokens: list[bytes], begin: int, end: int, corpus: Corpus, source: Random) -> None:
    """A number, if there is one near, becomes another one."""
    numbers = [k for k in range(begin, min(begin + 60, len(tokens))) if tokens[k][:1].isdigit()]
    at = source.choice(numbers) if numbers else begin
    tokens[at : at + 1] = [source.choice(EDGES)]


def _same(tokens: list[bytes], begin: int, end: int, corpus: Corpus, source: Random) -> None:
    """A token becomes another of the same kind and text: a name another name of these, a number another number."""
    kinds = [k for k in range(begin, min(begin + 20, len(tokens))) if tokens[k][:1].isalnum()]
    if kinds:
        others = [
            word for word in tokens if word[:1].isdigit() == tokens[kinds[0]][:1].isdigit() and word[:1].isalnum()
        ]
        tokens[kinds[0]] = source.choice(others)


def _insert(tokens: list[bytes], begin: int, end: int, corpus: Corpus, source: Random) -> None:
    tokens[begin:begin] = [source.choice(corpus.words), b" "]


def _splice(tokens: list[bytes], begin: int, end: int, corpus: Corpus, source: Random) -> None:
    other = source.choice(corpus.tokens)
    first, last = _span(len(other), source)
    tokens[begin:end] = other[first:last]


def _repeat(tokens: list[bytes], begin: int, end: int, corpus: Corpus, source: Random) -> None:
    tokens[begin:end] = tokens[begin:end] * _times(source, tokens[begin:end])


def _nest(tokens: list[bytes], begin: int, end: int, corpus: Corpus, source: Random) -> None:
    opening, closing = source.choice(BRACKETS)
    times = _times(source, [opening, closing])
    tokens[begin:begin] = [opening * times]
    if source.random() < 0.7:
        tokens[end + 1 : end + 1] = [closing * times]


TOKEN_STEPS: tuple[Step, ...] = (
    _drop, _swap, _replace, _replace, _edge, _edge, _edge, _same, _same, _same, _insert, _splice, _repeat, _nest
)  # fmt: skip


# ---- by bytes


def by_bytes(data: bytes, source: Random) -> bytes:
    made = bytearray(data)
    for _ in range(_some(source)):
        begin, end = _span(len(made), source)
        match source.randrange(7):
            case 0 if made:
                made[begin] ^= 1 << source.randrange(8)
            case 1:
                made[begin:end] = source.randbytes(end - begin)
            case 2:
                made[begin:begin] = source.choice(EDGES)
            case 3:
                del made[begin:end]
            case 4:
                del made[begin:]
            case 5:
                made[begin:end] = made[begin:end] * _times(source, [bytes(made[begin:end])])
            case _:
                made[begin : begin + 8] = source.choice((0, 1, 255, 1 << 31, 1 << 60, (1 << 64) - 1)).to_bytes(
                    8, "little"
                )
    return bytes(made[:MOST])


def _some(source: Random) -> int:
    """1, 2, 3, .. each half as often."""
    count = 1
    while count < 8 and source.random() < 0.5:
        count += 1
    return count


def _span(length: int, source: Random) -> tuple[int, int]:
    begin = source.randrange(length + 1) if length else 0
    return min(begin, max(length - 1, 0)), min(begin + source.choice((1, 1, 1, 1, 2, 4, 10, 40)), length)


def _times(source: Random, piece: Sequence[bytes]) -> int:
    """How often a piece is repeated: seldom until an input is as large as may be."""
    if source.randrange(HUGE // 10) == 0:
        return min(MOST, int(2 ** source.uniform(4, 20))) // max(1, sum(map(len, piece)))
    return source.choice((2, 3, 8, 40, 300))
