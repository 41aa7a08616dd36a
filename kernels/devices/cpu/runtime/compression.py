"""What a vector keeps, moved to its front, for processors that have no instruction for it.

Kernels call LLVM's `vector.compress`, which is an instruction of AVX-512. For AVX2 LLVM stores lane after lane and
loads what it has stored. Here the numbers of the lanes that are kept are the bytes 7 .. 0 of a word from which `pext`
takes those kept, and a permutation moves the lanes; of a vector of two registers the second part is turned by as many
lanes as the first part keeps.
"""

from __future__ import annotations

import re

COMPRESS = "llvm.experimental.vector.compress"
WORDS = 8
"""Lanes of 32 bits in a register of AVX2."""
NUMBERS = 0x0706050403020100
"""The numbers of these lanes, as bytes."""
USED = re.compile(rf"^declare .*@{re.escape(COMPRESS)}\.(v(8|16)i32|v(4|8)i64)\(.*$\n?", re.MULTILINE)
STORE = re.compile(
    r"call void @llvm\.masked\.store\.(v\d+[if]\d+)\.p0\((<(\d+) x \w+>) (.*), ptr (.*), i32 1, (<\d+ x i1>) (.*)\)"
)
"""Stores of what has been moved to the front, the only ones without alignment but for those of bytes."""
HELPERS = """
declare i64 @llvm.x86.bmi.pext.64(i64, i64)
declare i64 @llvm.x86.bmi.pdep.64(i64, i64)
declare i64 @llvm.ctpop.i64(i64)
declare <8 x i32> @llvm.x86.avx2.permd(<8 x i32>, <8 x i32>)
"""


def has_permutations(triple: str, features: str) -> bool:
    """Whether a processor has AVX2 and bit fields, and not AVX-512."""
    here = set(features.split(","))
    return triple.startswith("x86_64") and {"+avx2", "+bmi2"} <= here and "+avx512f" not in here


def with_permutations(text: str) -> str:
    """A module as it is before LLVM's passes, with permutations."""
    made = list[str]()

    def defined(found: re.Match[str]) -> str:
        made.append(_function(found[1], int(found[2] or found[3]), 64 if found[3] else 32))
        return ""

    text = USED.sub(defined, text)
    if not made:
        return text
    for kind in ("v8i32", "v16i32", "v4i64", "v8i64"):
        text = text.replace(f"@{COMPRESS}.{kind}(", f"@soac.compress.{kind}(")
    stores = {found[1]: _store(found[1], found[2], int(found[3])) for found in STORE.finditer(text)}
    text = STORE.sub(r"call void @soac.front.\1(\2 \4, ptr \5, \6 \7)", text)
    made += stores.values()
    return text + "".join(made) + "".join(line + "\n" for line in HELPERS.split("\n") if line and line not in text)


def _store(kind: str, t: str, lanes: int) -> str:
    """The function that stores the front of a vector: masks are slow in stores, and often none or all lanes are on."""
    return f"""
define internal void @soac.front.{kind}({t} %x, ptr %to, <{lanes} x i1> %front) alwaysinline {{
  %bits = bitcast <{lanes} x i1> %front to i{lanes}
  switch i{lanes} %bits, label %some [ i{lanes} 0, label %end
                                       i{lanes} -1, label %all ]
all:
  store {t} %x, ptr %to, align 1
  ret void
some:
  call void @llvm.masked.store.{kind}.p0({t} %x, ptr %to, i32 1, <{lanes} x i1> %front)
  ret void
end:
  ret void
}}
"""


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
