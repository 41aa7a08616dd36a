"""Lookups in small tables (`kernels/lanes/small_tables.py`) as permutations of registers, for processors of x86.

    AVX-512    elements by numbers, out of one register or two; of more registers by the number of a pair
    AVX2       integers of 32 bits by numbers, out of 8; bytes out of 16 by numbers, or 0 by greater ones: the elements
               of all sixteens, joined

Elements for which a processor has neither are those of others: words and integers of 64 bits are two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ....lanes.small_tables import LOOKUP
from ....llvm.text import Code
from .other_bodies import Body, with_bodies

Lookup = Callable[[Code, str], str]
"""The elements at numbers in a register, a register."""
LETTERS = {8: "qi", 16: "hi", 32: "d", 64: "q"}
SEGMENT, BESIDE = 16, 0x70
"""Bytes of a part out of which bytes are permuted, and what, added to a number of another part, sets its first bit."""
MOST_BYTES, MOST_WORDS = 256, 32
"""How many elements are looked up without AVX-512, of those with halves half as many: of more, loads take less time."""


def for_lookups(text: str, triple: str, features: str) -> str:
    """A module as it is before LLVM's passes, with what a processor has for its lookups."""
    here = set(features.split(","))
    if not triple.startswith("x86_64") or "+avx2" not in here:
        return text

    def body(width: int, bits: int, count: int) -> Body | None:
        size, one = way(bits, count, here)
        return None if one is None else partial(_in_registers, width, bits, size // bits, one)

    return with_bodies(text, LOOKUP, body)


def way(bits: int, count: int, features: set[str]) -> tuple[int, Lookup | None]:
    """The bits of a register, and how elements of some bits are looked up among the first `count`; None: one by one."""
    large = {"+avx512bw", "+avx512vl"} <= features
    if large and (bits > 8 or "+avx512vbmi" in features):
        return 512, partial(_out_of_pairs, bits, count)
    size = 512 if large else 256
    match bits:
        case 8:
            return size, partial(_out_of_sixteens, size, count)
        case 16 if 2 * count <= MOST_BYTES:
            return size, _twice(16, size, partial(_out_of_sixteens, size, 2 * count))
        case 32 if count <= MOST_WORDS:
            return size, partial(_out_of_eights, count)
        case 64 if 4 * count <= MOST_WORDS:
            return size, _twice(64, size, partial(_out_of_eights, 2 * count))
        case _:
            return size, None


def _in_registers(width: int, bits: int, each: int, one: Lookup, code: Code) -> str:
    """The elements at the numbers %1, register by register."""
    parts = [one(code, _lanes(code, "%1", bits, width, k, each)) for k in range(0, width, each)]
    held = each
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [code.shuffle(f"<{held} x i{bits}>", x, y, range(2 * held)) for x, y in pairs]
        held *= 2
    return _lanes(code, parts[0], bits, held, 0, width)


def _lanes(code: Code, x: str, bits: int, width: int, first: int, count: int) -> str:
    """Some lanes of a vector; any behind its end."""
    if count == width:
        return x
    order = ", ".join(f"i32 {k}" if k < width else "i32 poison" for k in range(first, first + count))
    return code.op(f"shufflevector <{width} x i{bits}> {x}, <{width} x i{bits}> poison, <{count} x i32> <{order}>")


def _part(code: Code, t: str, offset: int) -> str:
    """A part of the table, from a byte on."""
    at = code.op(f"getelementptr i8, ptr %0, i64 {offset}") if offset else "%0"
    return code.op(f"load {t}, ptr {at}, align {SEGMENT}")


def _called(code: Code, name: str, t: str, *args: str) -> str:
    code.module.declare(name, t, (t,) * len(args))
    return code.call(name, t, tuple((t, x) for x in args))


def _out_of_pairs(bits: int, count: int, code: Code, numbers: str) -> str:
    each = 512 // bits
    t = f"<{each} x i{bits}>"
    registers = [_part(code, t, 64 * k) for k in range(-(-count // each))]
    found: list[str] = []
    for k in range(0, len(registers), 2):
        match registers[k : k + 2]:
            case [x, y]:
                found.append(_called(code, f"llvm.x86.avx512.vpermi2var.{LETTERS[bits]}.512", t, x, numbers, y))
            case [*one]:
                letters = {32: "si", 64: "di"}.get(bits, LETTERS[bits])
                found.append(_called(code, f"llvm.x86.avx512.permvar.{letters}.512", t, *one, numbers))
    return _chosen(code, bits, each, "ugt", 2 * each, numbers, found)


def _out_of_eights(count: int, code: Code, numbers: str) -> str:
    t = "<8 x i32>"
    parts = [_part(code, t, 32 * k) for k in range(-(-count // 8))]
    found = [_called(code, "llvm.x86.avx2.permd", t, x, numbers) for x in parts]
    return _chosen(code, 32, 8, "sgt", 8, numbers, found)


def _chosen(code: Code, bits: int, lanes: int, greater: str, span: int, numbers: str, found: list[str]) -> str:
    """Of what has been found in parts of `span` elements, that of the part of each number."""
    result, t = found[0], f"<{lanes} x i{bits}>"
    for k, x in enumerate(found[1:], 1):
        later = code.op(f"icmp {greater} {t} {numbers}, splat (i{bits} {k * span - 1})")
        result = code.op(f"select <{lanes} x i1> {later}, {t} {x}, {t} {result}")
    return result


def _out_of_sixteens(size: int, count: int, code: Code, numbers: str) -> str:
    lanes, found = size // 8, list[str]()
    t, name = f"<{lanes} x i8>", "llvm.x86.avx512.pshuf.b.512" if size == 512 else "llvm.x86.avx2.pshuf.b"
    for first in range(0, count, SEGMENT):
        part = _part(code, f"<{SEGMENT} x i8>", first)
        table = code.shuffle(f"<{SEGMENT} x i8>", part, "poison", (k % SEGMENT for k in range(lanes)))
        near = code.op(f"sub {t} {numbers}, splat (i8 {first})") if first else numbers
        if count > SEGMENT:
            near = _called(code, f"llvm.uadd.sat.v{lanes}i8", t, near, f"splat (i8 {BESIDE})")
        found.append(_called(code, name, t, table, near))
    while len(found) > 1:
        rest = found[len(found) // 2 * 2 :]
        pairs = zip(found[::2], found[1::2], strict=False)
        found = [code.op(f"or {t} {x}, {y}") for x, y in pairs] + rest
    return found[0]


def _twice(bits: int, size: int, one: Lookup) -> Lookup:
    """Elements as two that lie side by side, of half the bits."""
    half, lanes = bits // 2, size // bits
    t, halves = f"<{lanes} x i{bits}>", f"<{2 * lanes} x i{half}>"

    def lookup(code: Code, numbers: str) -> str:
        low = code.op(f"shl {t} {numbers}, splat (i{bits} 1)")
        high = code.op(f"shl {t} {low}, splat (i{bits} {half})")
        both = code.op(f"or {t} {code.op(f'or {t} {low}, {high}')}, splat (i{bits} {1 << half})")
        found = one(code, code.op(f"bitcast {t} {both} to {halves}"))
        return code.op(f"bitcast {halves} {found} to {t}")

    return lookup
