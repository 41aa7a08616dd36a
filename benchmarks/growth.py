"""`python -m benchmarks.growth`: how compiling grows with the length of a program.

Programs of 250 to 5,000 lines, made of functions of several kinds (arithmetic, nests, records, higher-order functions,
loops with updates) that call each other. The times are those of this process, the least of three, of the front end
alone, which is `soac check`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from soac.frontend.compile import compile_source
from soac.frontend.source.text import Reach
from soac.ir.collector import paused_collector

SIZES = (250, 500, 1000, 2000, 5000)
BEGIN, END = "<!-- growth -->", "<!-- end of growth -->"

KINDS = (
    """
def area_{k} (x: f32) (y: f32): f32 =
  let a = f32.sqrt (x * x + y * y)
  let b = f32.exp (-a) + 0.5 * f32.cos x
  let c = if a > b then a - b else b - a
  in c / (1 + a * a)
""",
    """
def rows_{k} [n][m] (xss: [n][m]f32): [n]f32 =
  map (\\xs ->
         let total = f32.sum xs
         let scaled = map (\\x -> area_{p} x total) xs
         in reduce f32.max 0 scaled)
      xss
""",
    """
type point_{k} = {{x: f32, y: f32, weight: i32}}
def centre_{k} [n] (ps: [n]point_{k}): point_{k} =
  let add (a: point_{k}) (b: point_{k}): point_{k} =
    {{x = a.x + b.x, y = a.y + b.y, weight = a.weight + b.weight}}
  let sum = reduce add {{x = 0, y = 0, weight = 0}} ps
  let n' = f32.i64 n
  in sum with x = sum.x / n' with y = area_{p} sum.y n'
""",
    """
def steps_{k} [n] (k: i64) (xs: *[n]f32): *[n]f32 =
  loop xs for i < k do
    let at = i % n
    let old = xs[at]
    let next = area_{p} old (f32.i64 i)
    in xs with [at] = next
""",
    """
def twice_{k} 't (f: t -> t) (x: t): t = f (f x)
def scanned_{k} [n] (xs: [n]i32): ([n]i32, i32) =
  let ys = scan (+) 0 (map (twice_{k} (+ 1)) xs)
  let (small, _) = partition (< 10) ys
  in (ys, i32.i64 (length small))
""",
)


def program(lines: int) -> str:
    """A program of about `lines` lines."""
    parts: list[str] = []
    length = k = last = 0
    while length < lines:
        kind = KINDS[k % len(KINDS)]
        last = k if kind is KINDS[0] else last
        parts.append(kind.format(k=k, p=last))
        length += parts[-1].count("\n")
        k += 1
    calls = " + ".join(f"area_{k} x x" for k in range(0, k, len(KINDS)))
    return "".join(parts) + f"\nentry main [n] (xs: [n]f32): [n]f32 = map (\\x -> {calls}) xs\n"


def least_time(work: Callable[[], object], repetitions: int = 3) -> float:
    """Milliseconds of this process."""
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) * 1e3)
    return min(times)


def check(text: str) -> None:
    with paused_collector():
        compile_source(text, "growth.soac", Reach.PROJECT)


def table() -> str:
    rows = ["| lines | `soac check`, ms | ms a line |", "|---:|---:|---:|"]
    check(program(20))
    for lines in SIZES:
        text = program(lines)
        spent, counted = least_time(lambda text=text: check(text)), text.count("\n")
        rows.append(f"| {counted} | {spent:.0f} | {spent / counted:.2f} |")
        print(rows[-1], flush=True)
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--update", type=Path, help="replace the table in this Markdown file")
    options = parser.parse_args()
    found = table()
    if options.update:
        text = options.update.read_text(encoding="utf-8")
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        options.update.write_text(f"{before}{BEGIN}\n{found}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
