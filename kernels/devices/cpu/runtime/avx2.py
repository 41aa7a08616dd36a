"""What kernels ask of vectors that AVX-512 has as instructions, for processors with AVX2 alone.

What a vector keeps, moved to its front: LLVM stores lane after lane and loads what it has stored. Here the numbers of
the lanes that are kept are the bytes 7 .. 0 of a word from which `pext` takes those kept, and a permutation moves the
lanes; of a vector of two registers the second part is turned by as many lanes as the first part keeps.

Masked stores, and masked loads of small elements: masks are mostly on or off for a whole register, which needs none.
A mask in a store takes as long as many stores on some of these processors, and for elements of less than 32 bits LLVM
has a branch for each. What has been moved to the front, which is stored without alignment, is seldom a whole register.
"""

from __future__ import annotations

import re

DECLARED = re.compile(r"^declare .*@llvm\.masked\..*$", re.MULTILINE)
COMPRESS = "llvm.experimental.vector.compress"
WORDS = 8
"""Lanes of 32 bits in a register of AVX2."""
NUMBERS = 0x0706050403020100
"""The numbers of these lanes, as bytes."""
USED = re.compile(rf"^declare .*@{re.escape(COMPRESS)}\.(v(8|16)i32|v(4|8)i64)\(.*$\n?", re.MULTILINE)
STORE = re.compile(
    r"call void @llvm\.masked\.store\.v(\d+)([if]\d+)\.p0\((<\d+ x \w+>) (.*), ptr (.*), i32 (\d+), (<\d+ x i1>) (.*)\)"
)
LOAD = re.compile(
    r"call (<\d+ x \w+>) @llvm\.masked\.load\.v(\d+)(i8|i16)\.p0"
    r"\(ptr (.*), i32 (\d+), (<\d+ x i1>) (.*), <\d+ x \w+> zeroinitializer\)"
)
HELPERS = """
declare i64 @llvm.x86.bmi.pext.64(i64, i64)
declare i64 @llvm.x86.bmi.pdep.64(i64, i64)
declare i64 @llvm.ctpop.i64(i64)
declare <8 x i32> @llvm.x86.avx2.permd(<8 x i32>, <8 x i32>)
"""


def has_avx2_alone(triple: str, features: str) -> bool:
    """Whether a processor has AVX2 and bit fields, and not AVX-512."""
    here = set(features.split(","))
    return triple.startswith("x86_64") and {"+avx2", "+bmi2"} <= here and "+avx512f" not in here


def for_avx2(text: str) -> str:
    """A module as it is before LLVM's passes, with permutations."""
    made = list[str]()

    def defined(found: re.Match[str]) -> str:
        made.append(_function(found[1], int(found[2] or found[3]), 64 if found[3] else 32))
        return ""

    def store(found: re.Match[str]) -> str:
        lanes, element, t, x, to, align, flags, mask = found.groups()
        name = f"soac.store.v{lanes}{element}.{align}"
        masked[name] = _store(name, t, int(lanes), element, align)
        return f"call void @{name}({t} {x}, ptr {to}, {flags} {mask})"

    def load(found: re.Match[str]) -> str:
        t, lanes, element, at, align, flags, mask = found.groups()
        name = f"soac.load.v{lanes}{element}.{align}"
        masked[name] = _load(name, t, int(lanes), element, align)
        return f"call {t} @{name}(ptr {at}, {flags} {mask})"

    masked = dict[str, str]()
    text = LOAD.sub(load, STORE.sub(store, USED.sub(defined, text)))
    made += masked.values()
    if not made:
        return text
    for kind in ("v8i32", "v16i32", "v4i64", "v8i64"):
        text = text.replace(f"@{COMPRESS}.{kind}(", f"@soac.compress.{kind}(")
    text += "".join(made)
    needed = dict.fromkeys(line for line in (*HELPERS.split("\n"), *DECLARED.findall(text)) if line)
    text = DECLARED.sub("", text)
    return text + "".join(line + "\n" for line in needed if line not in text)


def _parts(lanes: int, element: str) -> tuple[int, int]:
    """How many registers a vector of elements takes, and the lanes of each; of small elements registers of SSE."""
    bits = int(element[1:])
    each = min(lanes, (256 if bits >= 32 else 128) // bits)
    return lanes // each, each


def _part(what: str, t: str, lanes: int, k: int, each: int) -> str:
    """The lanes of one register out of a vector."""
    order = ", ".join(f"i32 {k * each + lane}" for lane in range(each))
    return f"  %{what}{k} = shufflevector {t} %{what}, {t} poison, <{each} x i32> <{order}>"


def _store(name: str, t: str, lanes: int, element: str, align: str) -> str:
    """The function that stores those lanes of a vector that are on."""
    is_front = 8 * int(align) < int(element[1:])
    parts, each = (1, lanes) if is_front else _parts(lanes, element)
    kind, of = f"v{each}{element}", t.split(" x ")[1].rstrip(">")
    own = f"<{each} x {of}>"
    code = [f"define internal void @{name}({t} %x, ptr %to, <{lanes} x i1> %keep) alwaysinline {{"]
    for k in range(parts):
        code += [
            _part("x", t, lanes, k, each),
            _part("keep", f"<{lanes} x i1>", lanes, k, each),
            f"  %to{k} = getelementptr {of}, ptr %to, i64 {k * each}",
            f"  %bits{k} = bitcast <{each} x i1> %keep{k} to i{each}",
            f"  switch i{each} %bits{k}, label %some{k} [ i{each} 0, label %end{k}  i{each} -1, label %all{k} ]",
            f"all{k}:",
            f"  store {own} %x{k}, ptr %to{k}, align {align}",
            f"  br label %end{k}",
            f"some{k}:",
            f"  call void @llvm.masked.store.{kind}.p0({own} %x{k}, ptr %to{k}, i32 {align}, <{each} x i1> %keep{k})",
            f"  br label %end{k}",
            f"end{k}:",
        ]
    declared = f"declare void @llvm.masked.store.{kind}.p0({own}, ptr, i32, <{each} x i1>)"
    return "\n".join(["", *code, "  ret void", "}", declared, ""])


def _load(name: str, t: str, lanes: int, element: str, align: str) -> str:
    """The function that loads those lanes of a vector that are on; others are 0."""
    parts, each = _parts(lanes, element)
    kind, own = f"v{each}{element}", f"<{each} x {element}>"
    code = [
        f"define internal {t} @{name}(ptr %at, <{lanes} x i1> %keep) alwaysinline {{",
        "  br label %from0",
        "from0:",
    ]
    for k in range(parts):
        code += [
            _part("keep", f"<{lanes} x i1>", lanes, k, each),
            f"  %at{k} = getelementptr {element}, ptr %at, i64 {k * each}",
            f"  %bits{k} = bitcast <{each} x i1> %keep{k} to i{each}",
            f"  switch i{each} %bits{k}, label %some{k} [ i{each} 0, label %end{k}  i{each} -1, label %all{k} ]",
            f"all{k}:",
            f"  %whole{k} = load {own}, ptr %at{k}, align {align}",
            f"  br label %end{k}",
            f"some{k}:",
            f"  %part{k} = call {own} @llvm.masked.load.{kind}.p0"
            f"(ptr %at{k}, i32 {align}, <{each} x i1> %keep{k}, {own} zeroinitializer)",
            f"  br label %end{k}",
            f"end{k}:",
            f"  %x{k} = phi {own} [ zeroinitializer, %from{k} ], [ %whole{k}, %all{k} ], [ %part{k}, %some{k} ]",
            f"  br label %from{k + 1}",
            f"from{k + 1}:",
        ]
    value, width = "%x0", each
    level = [f"%x{k}" for k in range(parts)]
    while len(level) > 1:
        both = ", ".join(f"i32 {lane}" for lane in range(2 * width))
        joined = [f"%j{width}.{k}" for k in range(len(level) // 2)]
        code += [
            f"  {one} = shufflevector <{width} x {element}> {level[2 * k]}, <{width} x {element}> {level[2 * k + 1]}, "
            f"<{2 * width} x i32> <{both}>"
            for k, one in enumerate(joined)
        ]
        level, width = joined, 2 * width
        value = level[0]
    declared = f"declare {own} @llvm.masked.load.{kind}.p0(ptr, i32, <{each} x i1>, {own})"
    return "\n".join(["", *code, f"  ret {t} {value}", "}", declared, ""])


def _function(kind: str, lanes: int, bits: int) -> str:
    """The function that moves `lanes` elements of 32 or 64 bits."""
    parts, each = lanes * bits // (32 * WORDS), 32 * WORDS // bits
    t, words, mask = f"<{lanes} x i{bits}>", f"<{lanes * bits // 32} x i32>", f"i{lanes}"
    spread, times = (0x0101010101010101, 0xFF) if bits == 32 else (0x0001000100010001, 0xFFFF)
    code = [
        f"define internal {t} @soac.compress.{kind}({t} %x, <{lanes} x i1> %keep, {t} %rest) alwaysinline {{",
        f"  %words = bitcast {t} %x to {words}",
        f"  %bits = bitcast <{lanes} x i1> %keep to {mask}",
        f"  %mask0 = zext {mask} %bits to i64",
        f"  %mask1 = lshr i64 %mask0, {each}",
    ]
    for k in range(parts):
        order = ", ".join(f"i32 {k * WORDS + lane}" for lane in range(WORDS))
        code += [
            f"  %part{k} = shufflevector {words} %words, {words} poison, <{WORDS} x i32> <{order}>",
            f"  %spread{k} = call i64 @llvm.x86.bmi.pdep.64(i64 %mask{k}, i64 {spread})",
            f"  %kept{k} = mul i64 %spread{k}, {times}",
            f"  %packed{k} = call i64 @llvm.x86.bmi.pext.64(i64 {NUMBERS}, i64 %kept{k})",
            f"  %bytes{k} = bitcast i64 %packed{k} to <{WORDS} x i8>",
            f"  %numbers{k} = zext <{WORDS} x i8> %bytes{k} to <{WORDS} x i32>",
            f"  %front{k} = call <8 x i32> @llvm.x86.avx2.permd(<8 x i32> %part{k}, <8 x i32> %numbers{k})",
        ]
    if parts == 1:
        code.append(f"  %moved = bitcast {words} %front0 to {t}")
    else:
        steps = ", ".join(f"i32 {lane}" for lane in range(WORDS))
        both = ", ".join(f"i32 {lane}" for lane in range(2 * WORDS))
        code += [
            "  %count64 = call i64 @llvm.ctpop.i64(i64 %spread0)",
            "  %count32 = trunc i64 %count64 to i32",
            f"  %count = mul i32 %count32, {bits // 32}",
            "  %one = insertelement <8 x i32> poison, i32 %count, i64 0",
            "  %counts = shufflevector <8 x i32> %one, <8 x i32> poison, <8 x i32> zeroinitializer",
            f"  %turned = sub <8 x i32> <{steps}>, %counts",
            "  %second = call <8 x i32> @llvm.x86.avx2.permd(<8 x i32> %front1, <8 x i32> %turned)",
            f"  %early = icmp ult <8 x i32> <{steps}>, %counts",
            "  %first = select <8 x i1> %early, <8 x i32> %front0, <8 x i32> %second",
            f"  %both = shufflevector <8 x i32> %first, <8 x i32> %second, <16 x i32> <{both}>",
            f"  %moved = bitcast {words} %both to {t}",
        ]
    return "\n".join(["", *code, f"  ret {t} %moved", "}", ""])
