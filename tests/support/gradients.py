"""Derivatives of random programs: `python -m tests.support.gradients --count 1000 --seed 1`.

A program computes on floats that are small whole numbers, by operations that keep them whole, so its derivatives are
exact. For random x' and y', ⟨vjp f x y', x'⟩ = ⟨y', jvp f x x'⟩ must hold in all bits, in the interpreter and, for one
program in `--versions`, after every pass and on every version; away from kinks that is what finite differences give.
Programs whose numbers become too large to be exact are left out. Program k of a seed is always the same.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from soac.frontend.accumulators.lower import lower_accumulators
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Prog
from soac.ir.interpret import interpret
from soac.ir.machine import Mode
from tests.support.property.generate import Case
from tests.support.property.law import check_law

N, ROWS = 4, 3
EXACT = 2.0**40
STEP = 2.0**-16
BESIDE = 5
"""Points beside one at which derivative and differences are not the same; at all of them they must be."""


@dataclass(slots=True)
class Writer:
    """Random expressions over the arrays and scalars in scope; `depth` is left to go down."""

    random: Random
    arrays: list[str]
    scalars: list[str]
    used: Counter[str] = field(default_factory=Counter)
    fresh: int = 0

    def name(self, base: str) -> str:
        self.fresh += 1
        return f"{base}{self.fresh}"

    def index(self) -> str:
        """An index in bounds."""
        names = [name for name in self.scalars if name[0] == "i"]
        choice = self.random.randrange(3)
        if not names or choice == 0:
            return str(self.random.randrange(N))
        name = self.random.choice(names)
        return f"({name} * {self.random.randrange(4)} + {self.random.randrange(N)}) % {N}"

    def count(self) -> str:
        """A number of iterations, of the row where there is one."""
        names = [name for name in self.scalars if name[0] == "i"]
        return f"({self.random.choice(names)} % 3)" if names and self.random.random() < 0.7 else "2"

    def scalar(self, depth: int) -> str:
        """An expression of type f64."""
        floats = [name for name in self.scalars if name[0] != "i"]
        simple = [f"{self.random.choice(self.arrays)}[{self.index()}]", str(self.random.randrange(-2, 3)) + "f64"]
        if depth == 0:
            return self.random.choice([*floats, *simple])
        return self._chosen(SCALARS, depth)

    def array(self, depth: int) -> str:
        """An expression of type [N]f64."""
        if depth == 0:
            return self.random.choice([*self.arrays, f"xss[{self.index()} % {ROWS}]"])
        return self._chosen(ARRAYS, depth)

    def _chosen(self, forms: dict[str, str], depth: int) -> str:
        form = self.random.choice(sorted(forms))
        self.used[form] += 1
        return self.filled(forms[form], depth - 1)

    def filled(self, form: str, depth: int) -> str:
        """The form with its holes filled: S and A expressions, I an index, C a count; `@v` a name, in scope from `:v`
        to the brace that closes; ~ no space."""
        bound: dict[str, str] = {}
        scopes: list[tuple[list[str], list[str]]] = []
        parts: list[str] = []
        for part in form.split():
            match part:
                case "S":
                    parts.append(f"({self.scalar(depth)})")
                case "A":
                    parts.append(f"({self.array(depth)})")
                case "I":
                    parts.append(self.index())
                case "C":
                    parts.append(self.count())
                case "{":
                    scopes.append((list(self.arrays), list(self.scalars)))
                case "}":
                    self.arrays, self.scalars = scopes.pop()
                case _ if part[0] == "@":
                    parts.append(bound.setdefault(part, bound.get(part) or self.name(part[1])))
                case _ if part[0] == ":" and len(part) > 1:
                    name = bound["@" + part[1:]]
                    (self.arrays if name[0] == "a" else self.scalars).append(name)
                case _:
                    parts.append(part)
        return " ".join(parts).replace(" ~ ", "")


SCALARS = {
    "plus": "S + S",
    "minus": "S - S",
    "times": "S * S",
    "least": "f64.min S S",
    "branch": "if S < S then S else S",
    "sum": "f64.sum A",
    "product": "f64.product A",
    "most": "f64.maximum A",
    "dot": "f64.sum (map2 (*) A A )",
    "general": r"reduce (\a b -> a + b + a * b) 0 A",
    "loop": "{ loop @v = S for @i < C do :v :i S }",
    "strips": "{ #[stripmine(1)] loop @v = S for @i < 3i64 do :v :i S }",
    "while": "{ ( loop ( @v , @i ) = ( 1f64 , 2i64 ) while @i > 0 do :v :i ( S , @i - 1 ) ) .0 }",
    "let": "{ let @a = A in :a S }",
    "rows": r"{ f64.sum (map (\ @i -> :i S ) (iota 3)) }",
}
ARRAYS = {
    "map": r"map ( { \ @v -> :v S } ) A",
    "map2": r"map2 ( { \ @v @w -> :v :w S } ) A A",
    "indices": rf"{{ tabulate {N} (\ @i -> :i S ) }}",
    "scan": "scan (+) 0 A",
    "scan product": "scan (*) 1 A",
    "scan least": "scan f64.min 100 A",
    "nest": rf"{{ tabulate {N} (\ @i -> :i f64.sum (map ( {{ \ @v -> :v S }} ) A )) }}",
    "varying": rf"{{ tabulate {N} (\ @i -> :i loop @v = S for @ij < C do :v :ij @v + S ) }}",
    "histogram": rf"reduce_by_index (copy A ) (+) 0 ( {{ tabulate {N} (\ @i -> :i I ) }} ) A",
    "greatest": rf"reduce_by_index (copy A ) f64.max (-100) ( {{ tabulate {N} (\ @i -> :i I ) }} ) A",
    "scatter": rf"scatter (copy A ) (tabulate {N} (\ @i -> ( @i + 1 ) % {N} )) A",
    "update": "{ let @a = A in :a copy @a with [ I ] = S }",
    "loop": f"{{ loop ( @a : [ {N} ]f64 ) = A for @i < C do :a :i A }}",
    "in place": rf"""{{ loop ( @a : *[ {N} ]f64 ) = copy A for @i < C do :a :i
      let @v = S in @a with [ ( @i + 1 ) % {N} ] = @v }}""",
    "recurrence": rf"""{{ loop ( @a : *[ {N} ]f64 ) = copy A for @i < {N - 1}i64 do :i
      @a with [ @i + 1 ] = @a ~ [ @i ] * S + S }}""",
    "from behind": rf"""{{ ( loop ( @a , @b ) : (*[ {N} ]f64, *[ {N} ]f64) = (copy A , copy A ) for @i in 1..<{N} do :i
      let @v = @a ~ [ {N} - @i ] * @b ~ [ {N} - @i ] + S let @w = @a ~ [ {N} - @i ] - S
      in ( @a with [ {N - 1} - @i ] = @v , @b with [ {N - 1} - @i ] = @w ) ) .0 }}""",
    "stream": rf"""{{ intrinsics.hist_stream (copy A ) (+) 0
      (\ (acc: *intrinsics.acc ([ {N} ]f64)) @i -> :i loop acc for @ij < C do :ij intrinsics.acc_write acc ( I ) S )
      (iota 3) }}""",
    "branch": "if S > 0 then A else A",
    "backwards": "reverse A",
    "rows of a matrix": rf"{{ map f64.sum (transpose (tabulate_2d 3 {N} (\ @i @ij -> :i :ij S ))) }}",
    "jvp": r"jvp ( { \ ( @a : [ 4 ]f64 ) -> :a A } ) A A",
    "vjp": r"vjp ( { \ ( @a : [ 4 ]f64 ) -> :a A } ) A A",
}


def program(number: int, seed: int, depth: int) -> tuple[str, Counter[str]]:
    """The text of a program, and the forms in it."""
    writer = Writer(Random(seed * 1_000_003 + number), ["xs", "xss[0]"], ["x"])
    body = writer.array(depth)
    rows, row = f"[{ROWS}][{N}]f64", f"[{N}]f64"
    text = f"""
def f (xs: {row}, xss: {rows}, x: f64) : {row} = {body}
entry value (xs: {row}) (xss: {rows}) (x: f64) = f (xs, xss, x)
entry main (xs: {row}) (xss: {rows}) (x: f64) (xs': {row}) (xss': {rows}) (x': f64) (r: {row}) =
  let (a, b, c) = vjp f (xs, xss, x) r
  let t = jvp f (xs, xss, x) (xs', xss', x')
  let along = f64.sum (map2 (*) a xs') + f64.sum (map2 (*) (flatten b) (flatten xss')) + c * x'
  in (along, f64.sum (map2 (*) t r), a, b, c, t)
"""
    return text, writer.used


Arrays = Sequence[np.ndarray | np.float64]


def wrong(text: str, number: int, seed: int, versions: bool) -> str | None:
    """What does not hold for a program; "" where its numbers are too large to say."""
    source = np.random.default_rng([seed, number])
    prog = compile_text(text, "random.soac")
    check(prog, Stage.CORE)
    x, along = _point(source), _point(source)
    back = source.integers(-2, 3, N).astype(np.float64)
    args = (*x, *along, back)
    found, _ = interpret(prog, "main", args)
    if not all(np.isfinite(a).all() and np.abs(a).max(initial=0) < EXACT for a in found):
        return ""
    if found[0] != found[1]:
        return f"reverse mode gives {found[0]}, forward mode {found[1]}"
    different = _differs(prog, x, along, back, float(found[1]))
    if different is not None:
        return different
    lowered = lower_accumulators(prog)
    check(lowered, Stage.CORE)
    again, _ = interpret(lowered, "main", args)
    if not all(np.array_equal(a, b) for a, b in zip(found, again, strict=True)):
        return "without accumulators it gives something else"
    if versions:
        check_law(Case(lowered, args), (Mode.INCREMENTAL, Mode.FULL)[number % 2])
    return None


def _point(source: np.random.Generator) -> Arrays:
    shapes = ((N,), (ROWS, N), ())
    return [np.asarray(source.integers(-2, 3, shape)).astype(np.float64)[()] for shape in shapes]


def _differs(prog: Prog, x: Arrays, along: Arrays, back: np.ndarray, derivative: float) -> str | None:
    """The finite difference where it is another one, and the same to both sides, at `x` and at a point beside: at `x`
    alone kinks may cancel each other in the differences, as those of a minimum and a maximum of equal numbers do."""
    said = _difference(prog, x, along, back, derivative)
    for k in range(BESIDE if said is not None else 0):
        source = np.random.default_rng(k)
        near = [np.asarray(a + 2.0**-8 * source.uniform(-1, 1, np.shape(a)))[()] for a in x]
        there = float(interpret(prog, "main", (*near, *along, back))[0][1])
        if _difference(prog, near, along, back, there) is not None:
            return said
    return None


def _difference(prog: Prog, x: Arrays, along: Arrays, back: np.ndarray, derivative: float) -> str | None:
    """The finite difference where it is another one, and the same to both sides."""
    moved = [[np.asarray(a) + k * STEP * np.asarray(d) for a, d in zip(x, along, strict=True)] for k in (-1, 0, 1)]
    values = [float(np.sum(interpret(prog, "value", point)[0][0] * back)) for point in moved]
    left, right = ((values[k + 1] - values[k]) / STEP for k in (0, 1))
    close = 1e-3 * max(1, abs(derivative), *map(abs, values))
    if not abs(left - right) <= close or abs(left - derivative) <= 2 * close:
        return None
    return f"the derivative is {derivative}, the finite difference {left}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.gradients", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument("--seed", type=int, default=1, help="which programs")
    parser.add_argument("--depth", type=int, default=4, help="of expressions")
    parser.add_argument("--versions", type=int, default=10, help="every how many programs all versions run")
    given = parser.parse_args()
    used: Counter[str] = Counter()
    found = left_out = 0
    start = time.monotonic()
    for number in range(given.first, given.first + given.count):
        text, forms = program(number, given.seed, given.depth)
        try:
            said = wrong(text, number, given.seed, bool(given.versions) and number % given.versions == 0)
        except Exception as error:  # the compiler may break in any way
            said = f"{type(error).__name__}: {error}"
        used += forms
        left_out += said == ""
        if said:
            found += 1
            print(f"program {number}: {said[:600]}\n{text}", flush=True)
    seconds = time.monotonic() - start
    print(" ".join(f"{form}: {count}" for form, count in sorted(used.items())))
    print(f"seed {given.seed}: {given.count} programs in {seconds:.0f} s, {left_out} too large, {found} wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
