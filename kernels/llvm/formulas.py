"""Values with operators, so that numerical code for vectors reads like formulas."""

from __future__ import annotations

from ...ir.records import dataclass
from ...ir.types import Prim
from .convert import convert
from .text import Vec


@dataclass(frozen=True, slots=True)
class Num:
    """A vector (or scalar) under construction. Python numbers beside one are constants of its type."""

    v: Vec
    prim: Prim
    text: str

    def like(self, x: Num | float) -> str:
        return x.text if isinstance(x, Num) else self.v.const(self.prim, x)

    def const(self, x: float) -> Num:
        return Num(self.v, self.prim, self.v.const(self.prim, x))

    def _binary(self, name: str, x: Num | float, y: Num | float) -> Num:
        name = f"f{name}" if self.prim.is_float else name
        return Num(self.v, self.prim, self.v.ins(name, self.prim, self.like(x), self.like(y)))

    def __add__(self, other: Num | float) -> Num:
        return self._binary("add", self, other)

    def __radd__(self, other: float) -> Num:
        return self._binary("add", other, self)

    def __sub__(self, other: Num | float) -> Num:
        return self._binary("sub", self, other)

    def __rsub__(self, other: float) -> Num:
        return self._binary("sub", other, self)

    def __mul__(self, other: Num | float) -> Num:
        return self._binary("mul", self, other)

    def __rmul__(self, other: float) -> Num:
        return self._binary("mul", other, self)

    def __truediv__(self, other: Num | float) -> Num:
        return self._binary("div", self, other)

    def __rtruediv__(self, other: float) -> Num:
        return self._binary("div", other, self)

    def __neg__(self) -> Num:
        return Num(self.v, self.prim, self.v.code.op(f"fneg {self.v.type(self.prim)} {self.text}"))

    def __and__(self, other: Num | int) -> Num:
        return Num(self.v, self.prim, self.v.ins("and", self.prim, self.text, self.like(other)))

    def __or__(self, other: Num | int) -> Num:
        return Num(self.v, self.prim, self.v.ins("or", self.prim, self.text, self.like(other)))

    def __lshift__(self, n: int) -> Num:
        return Num(self.v, self.prim, self.v.ins("shl", self.prim, self.text, self.like(n)))

    def __rshift__(self, n: int) -> Num:
        return Num(self.v, self.prim, self.v.ins("ashr", self.prim, self.text, self.like(n)))

    def _compare(self, name: str, other: Num | float) -> Num:
        kind = "fcmp" if self.prim.is_float else "icmp"
        return Num(self.v, Prim.BOOL, self.v.ins(f"{kind} {name}", self.prim, self.text, self.like(other)))

    def __lt__(self, other: Num | float) -> Num:
        return self._compare("olt" if self.prim.is_float else "slt", other)

    def __gt__(self, other: Num | float) -> Num:
        return self._compare("ogt" if self.prim.is_float else "sgt", other)

    def equals(self, other: Num | float) -> Num:
        return self._compare("oeq" if self.prim.is_float else "eq", other)

    def differs(self, other: Num | float) -> Num:
        return self._compare("une" if self.prim.is_float else "ne", other)

    def is_nan(self) -> Num:
        return self._compare("uno", self)

    def inverse(self) -> Num:
        """The other truth value."""
        return Num(self.v, self.prim, self.v.negate(self.text))

    def to(self, target: Prim) -> Num:
        return Num(self.v, target, convert(self.v, self.prim, target, self.text))

    def truncated(self, target: Prim) -> Num:
        """To a signed integer; the value is known to be in range."""
        return Num(self.v, target, self.v.cast("fptosi", self.prim, target, self.text))

    def bits(self, target: Prim) -> Num:
        """The same bits as another type."""
        return Num(self.v, target, self.v.cast("bitcast", self.prim, target, self.text))

    def unary(self, intrinsic: str) -> Num:
        return Num(self.v, self.prim, self.v.intrinsic(intrinsic, self.prim, self.text))

    def with_sign_of(self, other: Num) -> Num:
        return Num(self.v, self.prim, self.v.intrinsic("copysign", self.prim, self.text, other.text))


def fma(x: Num, y: Num | float, z: Num | float) -> Num:
    """x*y + z, rounded once."""
    return Num(x.v, x.prim, x.v.intrinsic("fma", x.prim, x.text, x.like(y), x.like(z)))


def where(cond: Num, x: Num | float, y: Num) -> Num:
    """`x` in the lanes where `cond` (i1) holds, `y` in the others; both are computed."""
    return Num(y.v, y.prim, y.v.select(y.prim, cond.text, y.like(x), y.text))


def clamp(x: Num, lowest: float, highest: float) -> Num:
    """Between the bounds; nan becomes one of them."""
    raised = where(x > lowest, x, x.const(lowest))
    return where(raised < highest, raised, x.const(highest))


def polynomial(x: Num, coefficients: tuple[float, ...]) -> Num:
    """Lowest degree first; by Estrin's scheme, whose terms do not wait for each other."""
    terms: list[Num | float] = list(coefficients)
    power = x
    while len(terms) > 1:
        paired: list[Num | float] = [fma(power, high, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = paired + ([terms[-1]] if len(terms) % 2 else [])
        if len(terms) > 1:
            power = power * power
    result = terms[0]
    return result if isinstance(result, Num) else x.const(result)


def two_sum(x: Num, y: Num) -> tuple[Num, Num]:
    """x + y rounded, and what was lost (Knuth)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def two_product(x: Num, y: Num | float) -> tuple[Num, Num]:
    """x * y rounded, and what was lost."""
    product = x * y
    return product, fma(x, y, -product)
