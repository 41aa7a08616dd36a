"""The smaller and the larger of two floats, as the target has them.

Kernels call LLVM's `minimumnum` and `maximumnum`, which its passes fold and vectorise, and which its code generator for
x86 makes six instructions of. So before its passes each becomes five (`written_out`), or one with a constant, or one
and a branch that is hardly ever taken in scalar code, or behind them one, `vrange`, where the processor has AVX-512
(`by_range`); other targets have an instruction that LLVM knows. Of a signalling NaN `vrange` makes a quiet one.
"""

from __future__ import annotations

import re

CALL = re.compile(
    r"^ *(%[\w.]+) = (?:tail )?call (?P<type>float|double|<\d+ x (?:float|double)>) "
    r"@llvm\.(min|max)imumnum\.\w+\((?P=type) (.*), (?P=type) (.*)\)$",
    re.MULTILINE,
)
MARK = "imumnum."
BITS = {"float": 32, "double": 64}
REGISTERS = (128, 256, 512)
CONSTANT = re.compile(r"^(?:splat \((?:float|double) )?0x([0-9A-F]{16})\)?$")
INFINITY, SIGN = 0x7FF << 52, 1 << 63
HARDLY_EVER = '!{!"branch_weights", i32 1, i32 1000}'
"""Weights of a choice which LLVM makes a branch of, with what the rare side needs behind it."""


def has_range(features: str) -> bool:
    """Whether a processor with these features has `vrange`."""
    return {"+avx512dq", "+avx512vl"} <= set(features.split(","))


def written_out(text: str) -> str:
    """A module as it is before LLVM's passes, with comparisons: `x > y ? x : y` is one instruction and gives y where
    either is not a number; equal operands differ at most as zeros, whose sign bits are joined. In scalar code that is
    done only where this gives a zero or no number: a recurrence waits for one instruction, and for no branch."""
    return CALL.sub(_comparisons, text) if MARK in text else text


def by_range(text: str) -> str:
    """A module as it is behind LLVM's passes, with `vrange` for the widths of registers."""
    declared: set[str] = set()
    body = CALL.sub(lambda call: _range(call, declared), text)
    return "\n".join((body, *sorted(declared)))


def _comparisons(call: re.Match[str]) -> str:
    name, type_, kind, x, y = call.groups()
    better, join = ("ogt", "and") if kind == "max" else ("olt", "or")
    for limit, varying in ((x, y), (y, x)):
        if (found := CONSTANT.match(limit)) is not None and _decides(int(found[1], 16), kind):
            flags = re.sub("float|double", "i1", type_)
            return f"""  {name}.better = fcmp {better} {type_} {varying}, {limit}
  {name} = select {flags} {name}.better, {type_} {varying}, {type_} {limit}"""
    bits, flags = (re.sub("float|double", to, type_) for to in (f"i{BITS[_element(type_)]}", "i1"))
    scalar = type_ == _element(type_)
    exact = f"{name}.exact" if scalar else name
    text = f"""  {name}.better = fcmp {better} {type_} {x}, {y}
  {name}.greater = select {flags} {name}.better, {type_} {x}, {type_} {y}
  {name}.x = bitcast {type_} {x} to {bits}
  {name}.y = bitcast {type_} {y} to {bits}
  {name}.signs = {join} {bits} {name}.x, {name}.y
  {name}.joined = bitcast {bits} {name}.signs to {type_}
  {name}.equal = fcmp oeq {type_} {x}, {y}
  {name}.ordered = select {flags} {name}.equal, {type_} {name}.joined, {type_} {name}.greater
  {name}.none = fcmp uno {type_} {y}, {y}
  {exact} = select {flags} {name}.none, {type_} {x}, {type_} {name}.ordered"""
    if not scalar:
        return text
    return f"""{text}
  {name}.rare = fcmp ueq {type_} {name}.greater, 0.0
  {name} = select i1 {name}.rare, {type_} {exact}, {type_} {name}.greater, !prof {HARDLY_EVER}"""


def _decides(bits: int, kind: str) -> bool:
    """Whether a constant, by its bits as an f64, is the result wherever the other operand is not beyond it: a number,
    and of the zeros the one that comes first."""
    number = bits & ~SIGN
    return 0 < number <= INFINITY or bits == (0 if kind == "max" else SIGN)


def _element(type_: str) -> str:
    return "float" if "float" in type_ else "double"


def _range(call: re.Match[str], declared: set[str]) -> str:
    name, type_, kind, x, y = call.groups()
    element = _element(type_)
    how, letter = 5 if kind == "max" else 4, element[0].replace("f", "s")
    if type_ == element:
        lanes = 128 // BITS[element]
        full = f"llvm.x86.avx512.mask.range.s{letter}"
        t = f"<{lanes} x {element}>"
        declared.add(f"declare {t} @{full}({t}, {t}, {t}, i8, i32 immarg, i32 immarg)")
        stem = f"%{name[1:]}" if not name[1:].isdigit() else f"%n{name[1:]}"
        return f"""  {stem}.range.x = insertelement {t} poison, {type_} {x}, i32 0
  {stem}.range.y = insertelement {t} poison, {type_} {y}, i32 0
  {stem}.range = call {t} @{full}({t} {stem}.range.x, {t} {stem}.range.y, {t} poison, i8 -1, i32 {how}, i32 4)
  {name} = extractelement {t} {stem}.range, i32 0"""
    lanes = int(type_.split()[0][1:])
    width = lanes * BITS[element]
    if width not in REGISTERS:
        return call[0]
    mask, round_ = f"i{max(8, lanes)}", (", i32 immarg", ", i32 4") if width == 512 else ("", "")
    full = f"llvm.x86.avx512.mask.range.p{letter}.{width}"
    declared.add(f"declare {type_} @{full}({type_}, {type_}, i32 immarg, {type_}, {mask}{round_[0]})")
    given = f"{type_} {x}, {type_} {y}, i32 {how}, {type_} poison, {mask} -1{round_[1]}"
    return f"  {name} = call {type_} @{full}({given})"
