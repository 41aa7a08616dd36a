"""LLVM IR as text, under construction: a module's shared parts, one function, and instructions on one vector.

`Module` collects what functions share: declarations and internal functions, each made once. `Code` is a function that
is being written: stack slots go to its entry, cold code behind its end. `Vec` writes instructions on scalars or on
vectors of some width with the same calls, so that every operation is written down once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field

from ...ir.floats import bits_of
from ...ir.records import dataclass
from ...ir.types import Prim

SCALAR = 0
"""The width that means: no vector at all."""

NOT_IN_VECTORS, NOT_UNROLLED, ALIGNED, FIRST_LOOP = "!1", "!3", "!4", 5
"""Metadata that `MODULE_END` (`kernels/lanes/module.py`) defines, and the number of the first loop."""

LONG_BODY = 12
"""Loops with more lines are not copied for the sake of fewer jumps, as the tables of some processors ask for: their
copies took a third of LLVM's time and saved nothing."""

_LLVM = {Prim.BOOL: "i1", Prim.F16: "half", Prim.BF16: "i16", Prim.F32: "float", Prim.F64: "double"}
_MEMORY = {Prim.BOOL: "i8", Prim.F16: "i16"}


def llvm_type(prim: Prim) -> str:
    """The type of a value in a register; a bf16 is its bits."""
    return _LLVM.get(prim) or f"i{prim.bits}"


def memory_type(prim: Prim) -> str:
    """The type of an element in memory: bools are bytes; halves move as integers, which every target can mask."""
    return _MEMORY.get(prim) or llvm_type(prim)


def vector(element: str, width: int) -> str:
    """The type of `width` elements; of a scalar where the width is SCALAR (0)."""
    return f"<{width} x {element}>" if width else element


def mangled(element: str, width: int) -> str:
    """The suffix of an overloaded intrinsic."""
    name = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}.get(element, element)
    return f"v{width}{name}" if width else name


def literal(prim: Prim, value: bool | int | float) -> str:
    """A constant as LLVM writes it: floats by their bits, an f32 as those of the f64 of the same value."""
    match prim:
        case Prim.BOOL:
            return "true" if value else "false"
        case Prim.F16:
            return f"0xH{bits_of(prim)(value):04X}"
        case Prim.BF16:
            return str(bits_of(prim)(value))
        case Prim.F32:
            rounded = struct.unpack("<f", struct.pack("<f", value))[0]
            return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"
        case Prim.F64:
            return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        case _:
            return str(int(value))


@dataclass(slots=True)
class Module:
    """What the functions of one module share."""

    declarations: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    loops: list[str] = field(default_factory=list)

    def loop(self, *hints: str) -> str:
        """Metadata for the jump back of a loop, with hints of `MODULE_END` (`kernels/lanes/module.py`)."""
        number = f"!{FIRST_LOOP + len(self.loops)}"
        self.loops.append(f"{number} = distinct !{{{', '.join((number, *hints))}}}")
        return number

    def declare(self, name: str, result: str, params: tuple[str, ...], attributes: str = "") -> None:
        if name not in self.declarations:
            self.declarations[name] = f"declare {result} @{name}({', '.join(params)}){attributes}"

    def function(
        self, name: str, result: str, params: tuple[str, ...], write: Callable[[Code], str], how: str = ""
    ) -> None:
        """Define the internal function `name` of parameters %0, %1, ..; `write` gives the text of its result; `how`:
        attributes."""
        if name in self.functions:
            return
        self.functions[name] = ""  # reserved: a function may use others
        code = Code(self)
        value = write(code)
        code.do(f"ret {result} {value}" if result != "void" else "ret void")
        listed = ", ".join(f"{p} %{k}" for k, p in enumerate(params))
        self.functions[name] = f"define internal {result} @{name}({listed}){how} #0 {{\nentry:\n{code.text()}}}\n"

    def text(self) -> str:
        return "\n".join([*self.declarations.values(), "", *self.functions.values(), *self.loops])


@dataclass(slots=True)
class Code:
    """One function under construction. Labels and temporaries are numbered, so nothing written twice collides.
    `starts`: the lines of labels; `looped`: the line of the last jump back."""

    module: Module
    lines: list[str] = field(default_factory=list)
    entry: list[str] = field(default_factory=list)
    cold: list[str] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)
    looped: int = -1
    counter: int = 0

    def fresh(self, base: str) -> str:
        self.counter += 1
        return f"{base}.{self.counter}"

    def op(self, text: str) -> str:
        """An instruction with a result, which is named and returned."""
        self.counter += 1
        name = f"%t{self.counter}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append("  " + text)

    def label(self, name: str) -> None:
        self.starts[name] = len(self.lines)
        self.lines.append(f"{name}:")

    def jump(self, target: str, scalar: bool = False, unroll: int = 1) -> None:
        """Jumping back makes a loop; with `scalar`, one that LLVM is not to vectorise; `unroll`: turns that are code of
        their own. Innermost loops begin at a line of the cache: a few instructions that lie across two take up to twice
        as long."""
        start = self.starts.get(target, len(self.lines))
        long, inner = len(self.lines) - start > LONG_BODY, self.looped < start < len(self.lines)
        rounds = [f'!{{!"llvm.loop.unroll.count", i32 {unroll}}}'] if unroll > 1 else [NOT_UNROLLED] * long
        hints = [NOT_IN_VECTORS] * scalar + rounds + [ALIGNED] * inner
        self.looped = len(self.lines) if target in self.starts else self.looped
        self.do(f"br label %{target}" + (f", !llvm.loop {self.module.loop(*hints)}" if hints else ""))

    def branch(self, cond: str, then: str, orelse: str) -> None:
        self.do(f"br i1 {cond}, label %{then}, label %{orelse}")

    def branch_rarely(self, cond: str, cold: str, usual: str) -> None:
        self.do(f"br i1 {cond}, label %{cold}, label %{usual}, !prof !0")

    @contextmanager
    def loop(
        self, head: str, body: str, end: str, scalar: bool = False, once: bool = False, unroll: int = 1
    ) -> Iterator[Callable[[str], None]]:
        """A loop, whose labels have these names: what is written inside comes to a test, which what this gives writes
        of a condition, and goes on with the body. `scalar` and `unroll` as in `jump`; with `once` there is one turn at
        most."""
        head, body, end = map(self.fresh, (head, body, end))

        def test(cond: str) -> None:
            self.branch(cond, body, end)
            self.label(body)

        self.jump(head)
        self.label(head)
        yield test
        self.jump(end if once else head, scalar, unroll)
        self.label(end)

    @contextmanager
    def each_bit(self, word: str, bits: int) -> Iterator[str]:
        """A loop over the bits that are set in a word, from the lowest on; gives the number of one, an i64."""
        t, left = f"i{bits}", self.slot(f"i{bits}", 8)
        self.module.declare(f"llvm.cttz.{t}", t, (t, "i1"))
        self.do(f"store {t} {word}, ptr {left}")
        with self.loop("bit", "set", "bits") as test:
            now = self.op(f"load {t}, ptr {left}")
            test(self.op(f"icmp ne {t} {now}, 0"))
            first = self.call(f"llvm.cttz.{t}", t, ((t, now), ("i1", "true")))
            self.do(f"store {t} {self.op(f'and {t} {now}, ' + self.op(f'sub {t} {now}, 1'))}, ptr {left}")
            yield first if bits == 64 else self.op(f"zext {t} {first} to i64")

    def slot(self, type_: str, align: int = 64) -> str:
        """A stack slot in the function's entry."""
        self.counter += 1
        name = f"%s{self.counter}"
        self.entry.append(f"  {name} = alloca {type_}, align {align}")
        return name

    @contextmanager
    def rarely(self, cond: str, cold: str, usual: str) -> Iterator[None]:
        """What runs where `cond` holds, at the label `cold`: it goes behind the function's end, and leaves or jumps to
        `usual`, which comes next here."""
        self.branch_rarely(cond, cold, usual)
        saved, self.lines = self.lines, []
        try:
            self.label(cold)
            yield
        finally:
            self.cold += self.lines
            self.lines = saved
        self.label(usual)

    def call(self, name: str, result: str, args: tuple[tuple[str, str], ...]) -> str:
        """A call of a declared or defined function; `args` are (type, text)."""
        listed = ", ".join(f"{t} {x}" for t, x in args)
        return self.op(f"call {result} @{name}({listed})")

    def call_void(self, name: str, args: tuple[tuple[str, str], ...]) -> None:
        self.do(f"call void @{name}({', '.join(f'{t} {x}' for t, x in args)})")

    def splat(self, element: str, width: int, x: str) -> str:
        """A scalar in every lane of a vector."""
        t = vector(element, width)
        first = self.op(f"insertelement {t} poison, {element} {x}, i64 0")
        return self.op(f"shufflevector {t} {first}, {t} poison, <{width} x i32> zeroinitializer")

    def shuffle(self, t: str, x: str, y: str, lanes: Iterable[int]) -> str:
        """Lanes of two vectors of a type, those of `x` numbered first."""
        listed = [f"i32 {lane}" for lane in lanes]
        return self.op(f"shufflevector {t} {x}, {t} {y}, <{len(listed)} x i32> <{', '.join(listed)}>")

    def masked_store(self, element: str, size: int, width: int, value: str, pointer: str, mask: str) -> None:
        """Store the elements of a vector from the pointer on, aligned to `size` bytes, in the lanes of the mask."""
        t, flags = vector(element, width), vector("i1", width)
        name = f"llvm.masked.store.{mangled(element, width)}.p0"
        self.module.declare(name, "void", (t, "ptr", "i32", flags))
        self.call_void(name, ((t, value), ("ptr", pointer), ("i32", str(size)), (flags, mask)))

    def masked_scatter(self, element: str, size: int, width: int, value: str, pointers: str, mask: str) -> None:
        """Store the elements of `size` bytes of a vector at its pointers, in the lanes of the mask."""
        t, ptrs, flags = (vector(x, width) for x in (element, "ptr", "i1"))
        name = f"llvm.masked.scatter.{mangled(element, width)}.{mangled('ptr', width)}"
        self.module.declare(name, "void", (t, ptrs, "i32", flags))
        self.call_void(name, ((t, value), (ptrs, pointers), ("i32", str(size)), (flags, mask)))

    def text(self) -> str:
        return "\n".join([*self.entry, *self.lines, *self.cold]) + "\n"


@dataclass(frozen=True, slots=True)
class Vec:
    """Instructions on vectors of `width` lanes, or on scalars if `width` is SCALAR."""

    code: Code
    width: int

    def type(self, prim: Prim) -> str:
        return vector(llvm_type(prim), self.width)

    def raw(self, element: str) -> str:
        return vector(element, self.width)

    def const(self, prim: Prim, value: bool | int | float) -> str:
        return self.spread(llvm_type(prim), literal(prim, value))

    def spread(self, element: str, text: str) -> str:
        """A literal in every lane."""
        return f"splat ({element} {text})" if self.width else text

    # ---- instructions: the prim is that of the operands -----------------------------------------------------------

    def ins(self, name: str, prim: Prim, *args: str) -> str:
        return self.code.op(f"{name} {self.type(prim)} {', '.join(args)}")

    def select(self, prim: Prim, cond: str, x: str, y: str) -> str:
        t = self.type(prim)
        return self.code.op(f"select {self.raw('i1')} {cond}, {t} {x}, {t} {y}")

    def cast(self, name: str, source: Prim, target: Prim, x: str) -> str:
        return self.code.op(f"{name} {self.type(source)} {x} to {self.type(target)}")

    def intrinsic(self, name: str, prim: Prim, *args: str) -> str:
        """`llvm.name` overloaded on one type, of which all operands and the result are."""
        t, full = self.type(prim), f"llvm.{name}.{mangled(llvm_type(prim), self.width)}"
        self.code.module.declare(full, t, (t,) * len(args))
        return self.code.call(full, t, tuple((t, x) for x in args))

    def intrinsic_flag(self, name: str, prim: Prim, x: str) -> str:
        """`llvm.name(x, i1 false)`: abs, ctlz, cttz, defined for every operand."""
        t, full = self.type(prim), f"llvm.{name}.{mangled(llvm_type(prim), self.width)}"
        self.code.module.declare(full, t, (t, "i1"))
        return self.code.call(full, t, ((t, x), ("i1", "false")))

    def helper(
        self, name: str, result: Prim, args: tuple[tuple[Prim, str], ...], write: Callable[[Vec, tuple[str, ...]], str]
    ) -> str:
        """A call of an internal function at this width, written on first use."""
        full = f"soac.{name}.{self.width or 's'}"
        params = tuple(self.type(p) for p, _ in args)
        operands = tuple(f"%{k}" for k in range(len(args)))
        self.code.module.function(full, self.type(result), params, lambda code: write(Vec(code, self.width), operands))
        return self.code.call(full, self.type(result), tuple((t, x) for t, (_, x) in zip(params, args, strict=True)))

    # ---- booleans -------------------------------------------------------------------------------------------------

    def both(self, x: str, y: str) -> str:
        return self.ins("and", Prim.BOOL, x, y)

    def either(self, x: str, y: str) -> str:
        return self.ins("or", Prim.BOOL, x, y)

    def negate(self, x: str) -> str:
        return self.ins("xor", Prim.BOOL, x, self.const(Prim.BOOL, True))

    def any(self, x: str) -> str:
        """i1: does any lane hold?"""
        if not self.width:
            return x
        bits = self.code.op(f"bitcast <{self.width} x i1> {x} to i{self.width}")
        return self.code.op(f"icmp ne i{self.width} {bits}, 0")
