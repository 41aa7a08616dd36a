"""What kernels ask of vectors that AVX-512 has as instructions, for processors with AVX2 alone.

What a vector keeps (`kernels/lanes/kept_stores.py`), moved to its front: LLVM stores lane after lane and loads what it
has stored. Here 8 bytes that are kept come out of a word by `pext`; of larger elements it takes the numbers of those
kept out of the word 7 .. 0, by which a permutation moves a register. Few numbers of lanes that are kept are taken one
by one, and so is what nothing may be stored behind.

Floats of integers of 64 bits, and back: LLVM converts one after the other. The halves of an integer are floats if they
become the last digits of two powers of two; and such digits are the integer where a float is below 2^51, which all
lanes of a vector mostly are.

Masked stores, and masked loads of small elements: masks are mostly on or off for a whole register, which needs none.
A mask in a store takes as long as many stores on some of these processors, and for elements of less than 32 bits LLVM
has a branch for each. Of these a vector is loaded whole where it ends in the page that it begins in, and the first ones
of a register, as the rest of a row has them, are stored as words of 8, 4, 2 and 1 bytes. Long modules are not inlined,
so functions take masks as bytes: 64 truth values would be passed one by one.
"""

from __future__ import annotations

import re

from ....lanes.kept_stores import KEEP, KEEP_COUNTED, KEEP_EXACTLY
from ....llvm.convert import TO_I64
from .assembly import branched, declared, unnested

PAGE = 1 << 12
"""Bytes of the smallest pages: where one byte may be read, all of its page may."""
EIGHT = 8
SMALL = ("i8", "i16")
FRONT = {8: EIGHT, 16: EIGHT, 32: EIGHT, 64: 4}
"""How many elements are moved at once, by their bits."""
WORD_NUMBERS, BYTE_NUMBERS = 0x0706050403020100, 0x0E0C0A0806040200
"""The numbers of eight words as bytes; of eight pairs of bytes those of the first of each."""
MOST_DIGITS, SHIFT = 0x432 << 52, 0x433 << 52 | 1 << 51
"""The bits of 2^51; of 2^52 and a half of it, whose last digits are those of an integer that is added."""
KEEPS = re.compile(
    rf"^define internal void @({re.escape(KEEP)}|{re.escape(KEEP_EXACTLY)}|{re.escape(KEEP_COUNTED)})"
    r"v(\d+)i(\d+)(?:\.(-?\d+))?\(.*?^}\n",
    re.MULTILINE | re.DOTALL,
)
TO_INTEGERS = re.compile(
    rf"^define internal <(\d+) x i64> @{re.escape(TO_I64)}v\d+(f32|f64)\((.*) %0\)(.*) {{\nentry:$", re.MULTILINE
)
OF_INTEGERS = re.compile(r"sitofp <(\d+) x i64> (.*) to <\d+ x double>")
LENGTHENED = re.compile(r"^ *(%\S+) = [sz]ext <\d+ x i(?:8|16|32)> ", re.MULTILINE)
STORE = re.compile(
    r"call void @llvm\.masked\.store\.v(\d+)([if]\d+)\.p0\((<\d+ x \w+>) (.*), ptr (.*), i32 (\d+), (<\d+ x i1>) (.*)\)"
)
LOADS = "@llvm.masked.load."
LOAD = re.compile(
    r"(%\S+) = call (<\d+ x \w+>) @llvm\.masked\.load\.v(\d+)(i8|i16)\.p0"
    r"\(ptr (.*), i32 (\d+), (<\d+ x i1>) (.*), <\d+ x \w+> zeroinitializer\)"
)


def has_avx2_alone(triple: str, features: str) -> bool:
    """Whether a processor has AVX2 and bit fields, and not AVX-512."""
    here = set(features.split(","))
    return triple.startswith("x86_64") and {"+avx2", "+bmi2"} <= here and "+avx512f" not in here


def for_avx2(text: str) -> str:
    """A module as it is before LLVM's passes, in these terms."""
    made = list[str]()

    def keeps(found: re.Match[str]) -> str:
        name, lanes, bits = f"{found[1]}v{found[2]}i{found[3]}", int(found[2]), int(found[3])
        if found[1] == KEEP_COUNTED:
            made.append(_counted(f"{name}.{found[4]}", lanes, bits, int(found[4])))
        elif found[1] == KEEP_EXACTLY or lanes < FRONT[bits]:
            made.append(_one_by_one(name, lanes, bits))
        else:
            made.append(_fronts(name, lanes, bits))
        return ""

    def store(found: re.Match[str]) -> str:
        lanes, element, t, x, to, align, flags, mask = found.groups()
        name = f"soac.store.v{lanes}{element}.{align}"
        masked[name] = _store(name, t, int(lanes), element, align)
        on = f"%on.s{found.start()}"
        return f"{_as_bytes(on, flags, mask)}\n  call void @{name}({t} {x}, ptr {to}, {_bytes(lanes)} {on})"

    def load(found: re.Match[str]) -> str:
        value, t, lanes, element, at, align, flags, mask = found.groups()
        name = f"soac.load.v{lanes}{element}.{align}"
        masked[name] = _load(name, t, int(lanes), element, align)
        on = f"%on.l{found.start()}"
        return f"{_as_bytes(on, flags, mask)}\n  {value} = call {t} @{name}(ptr {at}, {_bytes(lanes)} {on})"

    def floats(found: re.Match[str]) -> str:
        if found[2] in short:
            return found[0]
        masked[found[1]] = _of_integers(int(found[1]))
        return f"call <{found[1]} x double> @soac.of_i64.v{found[1]}(<{found[1]} x i64> {found[2]})"

    masked, short = dict[str, str](), frozenset(LENGTHENED.findall(text) if OF_INTEGERS.search(text) else ())
    if TO_I64 in text:
        text = declared(TO_INTEGERS.sub(lambda found: _near_first(*found.groups()), text))
    text = OF_INTEGERS.sub(floats, text)
    if KEEP in text:
        text = KEEPS.sub(keeps, text)
    text = STORE.sub(store, text)
    if LOADS in text:
        text = LOAD.sub(load, text)
    made += masked.values()
    return text + declared(unnested(branched("".join(made))), text) if made else text


def _bytes(lanes: str | int) -> str:
    """The type of a mask between functions."""
    return f"<{lanes} x i8>"


def _as_bytes(name: str, flags: str, mask: str) -> str:
    return f"{name} = sext {flags} {mask} to {flags.replace('i1', 'i8')}"


def _parts(lanes: int, element: str) -> tuple[int, int]:
    """How many registers a vector of elements takes, and the lanes of each; of small elements registers of SSE."""
    bits = int(element[1:])
    each = min(lanes, (256 if bits >= 32 else 128) // bits)
    return lanes // each, each


def _part(value: str, t: str, k: int, each: int) -> str:
    """The lanes of one register out of a vector."""
    order = ", ".join(f"i32 {k * each + lane}" for lane in range(each))
    return f"(shufflevector {t} {value}, {t} poison, <{each} x i32> <{order}>)"


def _store(name: str, t: str, lanes: int, element: str, align: str) -> str:
    """The function that stores those lanes of a vector that are on."""
    parts, each = _parts(lanes, element)
    of = t.split(" x ")[1].rstrip(">")
    own, mask, masked = f"<{each} x {of}>", f"<{each} x i1>", f"@llvm.masked.store.v{each}{element}.p0"
    stores = "".join(
        f"  call void @{name}.one({own} {_part('%x', t, k, each)}, ptr (getelementptr {of}, ptr %to, i64 {k * each}), "
        f"{mask} {_part('%keep', f'<{lanes} x i1>', k, each)})\n"
        for k in range(parts)
    )
    by_mask = f"call void {masked}({own} %x, ptr %to, i32 {align}, {mask} %keep)"
    some, apart = by_mask, ""
    if of in SMALL:
        some = _first_elements(name, own, each, align)
        apart = _apart(name, "void", f"{own} %x, ptr %to", mask, by_mask)
    return f"""
define internal void @{name}.one({own} %x, ptr %to, {mask} %keep) alwaysinline {{
  switch i{each} (bitcast {mask} %keep to i{each}), label %some [ i{each} 0, label %end  i{each} -1, label %all ]
all:
  store {own} %x, ptr %to, align {align}
  br label %end
some:
  {some}
end:
}}
{apart}
define internal void @{name}({t} %x, ptr %to, {_bytes(lanes)} %on) alwaysinline {{
  %keep = icmp slt {_bytes(lanes)} %on, zeroinitializer
{stores}}}
"""


def _first_elements(name: str, own: str, each: int, align: str) -> str:
    """The end of a function that stores %x where %keep holds: the first elements as words, others by a call."""
    bits, of = f"i{each}", own.split(" x ")[1].rstrip(">")
    code = [
        f"%word = bitcast <{each} x i1> %keep to {bits}",
        f"%holes = icmp ne {bits} (and {bits} %word, (add {bits} %word, 1)), 0",
        "br i1 %holes, label %apart, label %first",
        "apart:",
        f"call void @{name}.apart({own} %x, ptr %to, <{each} x i1> %keep)",
        "br label %end",
        "first:",
        f"%count = call {bits} @llvm.ctpop.{bits}({bits} %word)",
    ]
    at, x, before, count = "%to", "%x", "first", each
    while count > 1:
        count //= 2
        word, words = f"i{count * int(of[1:])}", f"<{each // count} x i{count * int(of[1:])}>"
        order = ", ".join(f"i32 {(lane + count) % each}" for lane in range(each))
        code += [
            f"br i1 (icmp ne {bits} (and {bits} %count, {count}), 0), label %put{count}, label %behind{count}",
            f"put{count}:",
            f"%word{count} = extractelement {words} (bitcast {own} {x} to {words}), i64 0",
            f"store {word} %word{count}, ptr {at}, align {align}",
            f"%left{count} = shufflevector {own} {x}, {own} poison, <{each} x i32> <{order}>",
            f"%next{count} = getelementptr {of}, ptr {at}, i64 {count}",
            f"br label %behind{count}",
            f"behind{count}:",
            f"%x{count} = phi {own} [ {x}, %{before} ], [ %left{count}, %put{count} ]",
            f"%to{count} = phi ptr [ {at}, %{before} ], [ %next{count}, %put{count} ]",
        ]
        at, x, before = f"%to{count}", f"%x{count}", f"behind{count}"
    return "\n  ".join(code)


def _apart(name: str, result: str, params: str, mask: str, body: str) -> str:
    """The function for an access that is rare."""
    return f"define internal {result} @{name}.apart({params}, {mask} %keep) noinline cold {{\n  {body}\n}}"


def _load(name: str, t: str, lanes: int, element: str, align: str) -> str:
    """The function that loads those lanes of a vector that are on; others are 0. The address of a whole vector that is
    on in part is hidden from LLVM, which takes what is beyond an array of the stack for undefined."""
    size, keep = lanes * int(element[1:]) // 8, f"%keep = icmp slt {_bytes(lanes)} %on, zeroinitializer"
    keep += f"\n  %word = bitcast <{lanes} x i1> %keep to i{lanes}"
    return f"""
define internal {t} @{name}.apart(ptr %at, {_bytes(lanes)} %on) noinline cold {{
  {keep}
  %memory = alloca {t}
  store {t} zeroinitializer, ptr %memory
head:
  %left = phi i{lanes} [ %word, %entry ], [ %others, %taken ]
  br i1 (icmp eq i{lanes} %left, 0), label %end, label %taken
taken:
  %lane = call i{lanes} @llvm.cttz.i{lanes}(i{lanes} %left, i1 true)
  %x = load {element}, ptr (getelementptr {element}, ptr %at, i{lanes} %lane), align {align}
  store {element} %x, ptr (getelementptr {element}, ptr %memory, i{lanes} %lane)
  %others = and i{lanes} %left, (sub i{lanes} %left, 1)
  br label %head
end:
  ret {t} (load {t}, ptr %memory)
}}
define internal {t} @{name}(ptr %at, {_bytes(lanes)} %on) alwaysinline {{
  {keep}
  br i1 (icmp eq i{lanes} %word, 0), label %end, label %some
some:
  %ends = icmp ugt i64 (and i64 (ptrtoint ptr %at to i64), {PAGE - 1}), {PAGE - size}
  br i1 %ends, label %apart, label %page
page:
  %hidden = call ptr asm "", "=r,0"(ptr %at)
  %more = load {t}, ptr %hidden, align {align}
  %near = select <{lanes} x i1> %keep, {t} %more, {t} zeroinitializer
  br label %end
apart:
  %part = call {t} @{name}.apart(ptr %at, {_bytes(lanes)} %on)
end:
  %x = phi {t} [ zeroinitializer, %entry ], [ %near, %page ], [ %part, %apart ]
  ret {t} %x
}}
"""


def _near_first(lanes: str, source: str, t: str, how: str) -> str:
    """The beginning of a function from floats to integers: where all are below 2^51, it ends here."""
    wide, x = f"<{lanes} x double>", f"(fpext {t} %0 to <{lanes} x double>)" if source == "f32" else "%0"
    limit, shift = f"{'float' if source == 'f32' else 'double'} 0x{MOST_DIGITS:016X}", f"0x{SHIFT:016X}"
    return unnested(f"""define internal <{lanes} x i64> @{TO_I64}v{lanes}{source}({t} %0){how} {{
near:
  %small = fcmp olt {t} (call {t} @llvm.fabs.v{lanes}{source}({t} %0)), splat ({limit})
  br i1 (icmp eq i{lanes} (bitcast <{lanes} x i1> %small to i{lanes}), -1), label %here, label %entry
here:
  %whole = call {wide} @llvm.trunc.v{lanes}f64({wide} {x})
  %bits = bitcast {wide} (fadd {wide} %whole, splat (double {shift})) to <{lanes} x i64>
  ret <{lanes} x i64> (sub <{lanes} x i64> %bits, splat (i64 {SHIFT}))
entry:""")


def _of_integers(lanes: int) -> str:
    """The function from integers to floats: 2^84 + upper half - 2^84 - 2^52, and 2^52 + lower half."""
    t, f = f"<{lanes} x i64>", f"<{lanes} x double>"
    return f"""
define internal {f} @soac.of_i64.v{lanes}({t} %x) alwaysinline {{
  %upper = bitcast {t} (xor {t} (lshr {t} %x, splat (i64 32)), splat (i64 {0x453 << 52 | 1 << 31})) to {f}
  %lower = bitcast {t} (or {t} (and {t} %x, splat (i64 {(1 << 32) - 1})), splat (i64 {0x433 << 52})) to {f}
  ret {f} (fadd {f} (fsub {f} %upper, splat (double 0x4530000080100000)), %lower)
}}
"""


def _one_by_one(name: str, lanes: int, bits: int) -> str:
    """The function that stores the elements that are kept, and nothing else."""
    t = f"<{lanes} x i{bits}>"
    element = f"(load i{bits}, ptr (getelementptr i{bits}, ptr %memory, i64 %lane))"
    memory = f"%memory = alloca {t}", f"store {t} %x, ptr %memory"
    return _bit_by_bit(f"@{name}({t} %x, i64 %word, ptr %to) noinline", bits, memory, element)


def _counted(name: str, lanes: int, bits: int, stride: int) -> str:
    """The same of elements that count with the lanes from %x on; with %many, whole vectors are stored."""
    steps = f"(mul i64 %lane, {stride})"
    element = f"(add i{bits} %x, {f'(trunc i64 {steps} to i{bits})' if bits < 64 else steps})"
    head = f"@{name}(i{bits} %x, i64 %word, ptr %to, i1 %many) alwaysinline"
    t, each, all_bits = f"<{EIGHT} x i{bits}>", EIGHT, (1 << bits) - 1
    if lanes < each or bits == 8:
        return _bit_by_bit(head, bits, (), element)
    code = ["br i1 %many, label %vectors, label %head", "vectors:"]
    for k in range(lanes // each):
        one = f"(insertelement {t} poison, i{bits} (add i{bits} %x, {k * each * stride & all_bits}), i64 0)"
        all_ = f"(shufflevector {t} {one}, {t} poison, <{each} x i32> zeroinitializer)"
        scaled = f"(mul {t} (zext <8 x i8> {_numbers(k, WORD_NUMBERS)} to {t}), splat (i{bits} {stride & all_bits}))"
        code += [*_kept(k, each), *_stored(k, f"{t} (add {t} {all_}, {scaled})", bits)]
    return _bit_by_bit(head, bits, (*code, "ret void"), element)


def _bit_by_bit(head: str, bits: int, before: tuple[str, ...], element: str) -> str:
    """A function of %word and %to, which stores an element for each bit that is set, of %lane."""
    return f"""
define internal void {head} {{
{"".join(f"  {line}" + chr(10) for line in before)}head:
  %left = phi i64 [ %word, %entry ], [ %others, %keep ]
  %at = phi ptr [ %to, %entry ], [ %next, %keep ]
  goto %end if icmp eq i64 %left, 0
keep:
  %lane = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  store i{bits} {element}, ptr %at, align 1
  %next = getelementptr i{bits}, ptr %at, i64 1
  %others = and i64 %left, (sub i64 %left, 1)
  br label %head
end:
}}
"""


def _fronts(name: str, lanes: int, bits: int) -> str:
    """The function that stores parts of a vector, each moved to its front, from where the one before has its last
    element that is kept."""
    each, t = FRONT[bits], f"<{lanes} x i{bits}>"
    code = list[str]()
    for k in range(lanes // each):
        part = f"<{each} x i{bits}> {_part('%x', t, k, each)}"
        match bits:
            case 8:
                front = f"i64 (call i64 @llvm.x86.bmi.pext.64(i64 (bitcast {part} to i64), i64 %kept{k}))"
            case 16:
                both = f"(mul <8 x i16> (zext <8 x i8> {_numbers(k, BYTE_NUMBERS)} to <8 x i16>), splat (i16 257))"
                order = f"(bitcast <8 x i16> (add <8 x i16> {both}, splat (i16 256)) to <16 x i8>)"
                moved = f"<16 x i8> (bitcast {part} to <16 x i8>), <16 x i8> {order}"
                front = f"<16 x i8> (call <16 x i8> @llvm.x86.ssse3.pshuf.b.128({moved}))"
            case _:
                order = f"(zext <8 x i8> {_numbers(k, WORD_NUMBERS)} to <8 x i32>)"
                moved = f"<8 x i32> (bitcast {part} to <8 x i32>), <8 x i32> {order}"
                front = f"<8 x i32> (call <8 x i32> @llvm.x86.avx2.permd({moved}))"
        code += [*_kept(k, each), *_stored(k, front, bits)]
    lines = "".join(f"  {line}\n" for line in code)
    return f"\ndefine internal void @{name}({t} %x, i64 %word, ptr %to) alwaysinline {{\n{lines}}}\n"


def _kept(k: int, each: int) -> tuple[str, ...]:
    """The bits of part `k` of a word, and as many bytes, or pairs of bytes, that are all ones where they are set."""
    spread, times = (0x0001000100010001, 0xFFFF) if each == 4 else (0x0101010101010101, 0xFF)
    return (
        f"%mask{k} = and i64 (lshr i64 %word, {k * each}), {(1 << each) - 1}",
        f"%kept{k} = mul i64 (call i64 @llvm.x86.bmi.pdep.64(i64 %mask{k}, i64 {spread})), {times}",
    )


def _numbers(k: int, numbers: int) -> str:
    """The numbers of what is kept of a part, first of all."""
    return f"(bitcast i64 (call i64 @llvm.x86.bmi.pext.64(i64 {numbers}, i64 %kept{k})) to <8 x i8>)"


def _stored(k: int, front: str, bits: int) -> tuple[str, ...]:
    """The front of a part is stored, and what comes next has its place."""
    to = f"%to{k}" if k else "%to"
    count = f"(call i64 @llvm.ctpop.i64(i64 %mask{k}))"
    return f"store {front}, ptr {to}, align 1", f"%to{k + 1} = getelementptr i{bits}, ptr {to}, i64 {count}"
