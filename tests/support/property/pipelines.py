"""Random programs in the source language that send an array through stages, for the level `node`: stencils, filters,
scatters, transpositions and other things that random core programs seldom do to an outermost array."""

from __future__ import annotations

from random import Random

import numpy as np

from soac.frontend.compile import compile_text
from tests.support.property.generate import Case

STAGES = (
    "map (\\i -> A * xs[i64.max 0 (i - B)] + xs[i64.min (n - 1) (i + C)]) (iota n)",
    "loop xs for i < C do map (\\j -> xs[i64.max 0 (j - 1)] + i * xs[i64.min (n - 1) (j + B)]) (iota n)",
    "map (\\i -> if i < B || i >= n - C then xs[i] else xs[i - B] - xs[i + C]) (iota n)",
    "filter (\\x -> x % A != B) xs",
    "let (ys, zs) = partition (> A) xs in zs ++ ys",
    "scatter (copy xs) (map (\\i -> (i * A + B) % (n + C)) (iota n)) (map (\\i -> (i * A + B) % (n + C)) (iota n))",
    "scatter (replicate (n + B) A) (map (+ C) (iota n)) xs",
    "flatten (transpose (replicate A xs))",
    "map i64.sum (transpose (replicate B xs)) ++ xs",
    "flatten (map (\\x -> [x, A, x * B]) xs)",
    "if i64.sum xs % A == 0 then scan (+) 0 xs else map (+ C) xs",
    "if n > B then copy xs with [n - B - 1] = A else scan i64.max i64.lowest xs",
    "if n > A then xs[::-1] else xs ++ xs",
    "if n > B then copy xs with [B::2] = xs[B::2] else xs",
    "hist (+) 0 (B + C + 1) (map (% (B + C + 2)) xs) xs",
    "reduce_by_index (copy xs) (+) 0 (map (\\i -> (i * A) % (n + C)) (iota n)) (map (+ B) xs)",
    "hist i64.max i64.lowest (C + 1) (map (\\x -> x % A - B) xs) xs ++ xs",
    "map (\\x -> i64.sum (map (\\y -> y % (x + A)) xs)) xs[:n / 2]",
    "loop ys = copy xs for i < C do if n > i then ys with [i] = A + i64.sum ys else map (+ i) ys",
)
"""Functions of `xs: [n]i64`; A, B and C are small numbers, A from 2 on."""


def pipeline(random: Random) -> Case:
    """A program of two to four stages, with its result, a sum and a maximum of that."""
    lines, value = list[str](), "xs"
    for k in range(2 + random.randrange(3)):
        text = random.choice(STAGES)
        for letter, least in (("A", 2), ("B", 0), ("C", 1)):
            text = text.replace(letter, str(least + random.randrange(3)))
        lines.append(f"def stage{k} [n] (xs: [n]i64): []i64 = {text}")
        value = f"stage{k} ({value})"
    lines.append(f"entry main [n] (xs: [n]i64) = let ys = {value} in (ys, i64.sum ys, i64.maximum ys)")
    xs = np.array([random.randrange(-3, 9) for _ in range(random.choice((0, 1, 4, 9)))], np.int64)
    return Case(compile_text("\n".join(lines), "pipeline.soac"), (xs,))
