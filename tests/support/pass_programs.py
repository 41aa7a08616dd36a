"""For every pass over kernel IR, source programs that it applies to: strategies of Hypothesis.

A program has one entry `main` of the shape that the pass looks for; element types, operators, constants, element
functions and sizes are drawn. Values are small whole numbers, so that floats are exact in any order of summation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy], object]

DTYPES = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
SIZES = (0, 1, 2, 3, 7, 15, 16, 17, 33, 64, 70)
SMALL = (0, 1, 2, 3, 5, 8, 17)


@dataclass(frozen=True, slots=True)
class Written:
    """A program and arguments of its entry `main`."""

    text: str
    args: tuple[np.ndarray | np.generic, ...]


def elements(t: str, names: tuple[str, ...], depth: int = 2) -> st.SearchStrategy[str]:
    """Expressions of type `t` in which each of these variables of that type stands."""
    return parts(t, names, depth).map(lambda e: " + ".join((*names, e)))


def parts(t: str, names: tuple[str, ...], depth: int) -> st.SearchStrategy[str]:
    """Expressions of type `t` over variables of that type."""
    simple = st.one_of(st.sampled_from(names), st.integers(0, 3).map(lambda k: f"{k}{t}"))
    if depth == 0:
        return simple
    inner = parts(t, names, depth - 1)
    product = st.tuples(simple, simple).map(lambda e: f"({e[0]} * {e[1]})")
    sums = st.tuples(inner, st.sampled_from("+-"), inner).map(lambda e: f"({e[0]} {e[1]} {e[2]})")
    ends = st.tuples(st.sampled_from(("min", "max")), inner, inner).map(lambda e: f"({t}.{e[0]} {e[1]} {e[2]})")
    branch = st.tuples(simple, simple, inner, inner).map(lambda e: f"(if {e[0]} < {e[1]} then {e[2]} else {e[3]})")
    return st.one_of(st.sampled_from(names), product, sums, ends, branch)


@dataclass(slots=True)
class Writer:
    """What a program is written with: its decisions and the arguments so far."""

    draw: Draw
    args: list[np.ndarray | np.generic]

    def pick(self, *choices: object) -> str:
        return str(self.draw(st.sampled_from(choices)))

    def number(self, low: int, high: int) -> int:
        return int(str(self.draw(st.integers(low, high))))

    def size(self, choices: tuple[int, ...] = SIZES) -> int:
        return int(self.pick(*choices))

    def type(self, *names: str) -> str:
        return self.pick(*(names or DTYPES))

    def element(self, t: str, *names: str, depth: int = 2) -> str:
        return str(self.draw(elements(t, names, depth)))

    def array(self, t: str, *shape: int, low: int = 0, high: int = 3) -> None:
        values = np.random.default_rng(self.number(0, 999)).integers(low, high + 1, shape)
        self.args.append(values.astype(DTYPES[t]))

    def scalar(self, value: int) -> None:
        self.args.append(np.int64(value))


def shrinking(w: Writer) -> str:
    """Rounds over rows of which a few elements are read in the end; some of them read beyond the ends."""
    t, b, n, low, high = w.type(), w.size(SMALL), w.size((1, *SMALL, 33)), w.number(0, 2), w.number(0, 2)
    w.array(t, b, n)
    w.scalar(w.size(SMALL))
    inside = f"i + {high} < n" if low == 0 else f"i >= {low} && i + {high} < n"
    cond = w.pick(inside, inside, f"i < k - r && {inside}", "i < k - r", f"i < n - {high} - r", "i != r")
    new = f"let x = xs[i - {low}] let y = xs[i + {high}] in {w.element(t, 'x', 'y')}"
    body = f"if {cond} then ({new}) else {w.pick('xs[i]', f'1{t}', 'xs[0]')}"
    rows = f"loop xs for r < k do tabulate n (\\i -> {body})"
    last = w.pick("ys[0]", "ys[1]", "ys[0] + ys[2]", "ys[n - 1]")
    return f"entry main [b][n] (xss: [b][n]{t}) (k: i64): [b]{t} = map (\\xs -> let ys = {rows} in {last}) xss"


def nests(w: Writer) -> str:
    """Loops of a block over grids, and maps over points that lie side by side."""
    t, b, n, m = w.type(), w.size(SMALL), w.size(SMALL), w.size(SMALL)
    w.array(t, b, n, m)
    w.array(t, n, m)
    step = f"map2 (map2 (\\x y -> {w.element(t, 'x', 'y')})) {w.pick('xs', '(reverse xs)')} ys"
    grid = w.pick(f"loop xs for _k < {w.number(0, 3)} do {step}", step)
    return f"entry main [b][n][m] (xss: [b][n][m]{t}) (ys: [n][m]{t}): [b][n][m]{t} = map (\\xs -> {grid}) xss"


def remainders(w: Writer) -> str:
    """Divisions by constants of what comes from narrower types, or is a rest already: of elements, in loops of threads,
    in reductions; and of sums with a number of the call, small or not."""
    t, s, n, m = w.type("i32", "u32", "i64", "u64"), w.type("i8", "u8", "i16", "u16"), w.size(), w.size(SMALL)
    w.array(s, n, m, low=-(1 << 17), high=1 << 17)
    w.scalar((0, 5, 1 << 20, (1 << 20) + 1, (1 << 31) - 1)[w.number(0, 4)])
    c = w.pick(3, 7, 100, 127, 251, 255, 1009)
    k = w.pick("", " + k", " - k") if t in ("i32", "i64") else w.pick("", " + k")
    op = w.pick("%", "%%", "/", "//")
    rest = f"(\\x -> ({t}.{s} x + {w.number(0, 300)}{k}) {op} {c})"
    row = w.pick(
        f"map {rest} xs",
        f"map (\\x -> let y = {rest} x in (y * {w.number(1, 9)} + y) {w.pick('%', '/')} {c}) xs",
        f"[loop h = {w.number(0, 9)} for i < m do (h * {w.number(1, 99)} + {rest} xs[i]) {op} {c}]",
        f"[{w.pick('reduce', 'reduce_comm')} (\\a b -> (a + b) % {c}) 0 (map (\\x -> {t}.{s} x % {c}) xs)]",
    )
    whole = f"let k = {t}.i64 k in {t}.sum (flatten (map (\\xs -> {row}) xss))"
    return f"entry main [n][m] (xss: [n][m]{s}) (k: i64): {t} = {whole}"


def classes(w: Writer) -> str:
    """Comparisons of what is small: classes, lengths and counts of conditions, in types wider than the elements."""
    t, s, n = w.type("i16", "i32", "u32", "i64", "u64"), w.type("i8", "u8", "i16", "u16", "i32"), w.size()
    w.array(s, n, low=-200, high=200)
    a, b, c = (w.number(0, 260) for _ in range(3))
    value = w.pick(
        f"if x < {w.number(0, 99)} then {a}{t} else if x == {w.number(0, 9)} then {b} else {c}",
        f"{t}.bool (x > {w.number(0, 9)}) + {t}.bool (x < {w.number(0, 99)}) {w.pick('+', '-')} {a}",
        f"{t}.{s} x {w.pick('+', '-', '^', '&')} {a}",
        f"loop v = {a} for i < {w.number(0, 3)} do if x > {b & 7} then {t}.{w.pick('min', 'max')} v {b} else {c}",
    )
    tests = w.pick(f"v < {w.number(0, 260)}", f"v == {a} || v >= {b}", f"v != {c} && {t}.max v {a} > {b}")
    return f"entry main [n] (xs: [n]{s}): [n]{s} = map (\\x -> let v = {value} in if {tests} then x else 1) xs"


def stores(w: Writer) -> str:
    """Maps, of which results are written past the caches."""
    t, n = w.type(), w.size()
    w.array(t, n)
    w.array(t, n)
    return f"entry main [n] (xs: [n]{t}) (ys: [n]{t}) = map2 (\\x y -> {w.element(t, 'x', 'y')}) xs ys"


def invariants(w: Writer) -> str:
    """Divisions that all elements make alike."""
    w.array("i64", w.size())
    w.scalar(w.number(0, 99))
    w.scalar(w.number(0, 3))
    op, element = w.pick("/", "%"), w.element("i64", "x", "k")
    return f"entry main [n] (xs: [n]i64) (k: i64) (m: i64) = map (\\x -> {element} + k {op} m) xs"


def wrapped(w: Writer) -> str:
    """Indices that wrap around, and comparisons that change somewhere."""
    t, n, m = w.type(), w.size(), w.size(SIZES[1:])
    w.array(t, m)
    w.scalar(n)
    w.scalar(w.number(-9, 9))
    read = w.pick("xs[(i + c) %% m]", "xs[(i + 3) % m]", "xs[i % m]").replace("%%", "%")
    more = w.pick("", f" + {t}.i64 (i / m)", " + xs[(i + 1) % m]")
    if w.number(0, 1):
        more += f" + (if i + c {w.pick('<', '<=', '>', '>=')} m then xs[0] else xs[m - 1])"
    at = f"map (\\i -> {read}{more}) (iota n)"
    return f"entry main [m] (xs: [m]{t}) (n: i64) (c: i64): [n]{t} = let c = i64.abs c in {at}"


def parted(w: Writer) -> str:
    """Indices divided by small numbers, of an element and its neighbours."""
    t, n, by = w.type(), w.size(), w.number(2, 8)
    w.array(t, n)
    w.scalar(w.number(-9, 9))
    at, beside = w.pick("(i + c)", "i", "(i + 3)", "(3 * i - 4)"), w.pick("(i + c)", "i", "(5 * i)")
    divides, leaves = w.pick("/", "//"), w.pick("%", "%%")
    read = w.pick("xs[near]", "if r == 0 then xs[near] else xs[n - 1 - i]")
    near = "i64.min (n - 1) (i64.abs k)"
    body = f"let k = {at} {divides} {by} let r = {beside} {leaves} {by} let near = {near} in ({read}) + {t}.i64 r"
    return f"entry main [n] (xs: [n]{t}) (c: i64): [n]{t} = map (\\i -> {body}) (iota n)"


def neighbours(w: Writer) -> str:
    """Stencils with clamped indices or branches at the ends, and reductions of them."""
    t, n = w.type(), w.size()
    w.array(t, n)
    a, b = w.number(0, 3), w.number(0, 3)
    if w.number(0, 1):
        x, y = f"xs[i64.max 0 (i - {a})]", f"xs[i64.min (n - 1) (i + {b})]"
    else:
        x, y = f"(if i < {a} then {w.number(0, 3)} else xs[i - {a}])", f"(if i + {b} >= n then xs[i] else xs[i + {b}])"
    whole = w.pick("tabulate n", f"{t}.sum <| tabulate n", f"{t}.maximum <| tabulate n")
    return f"entry main [n] (xs: [n]{t}) = {whole} (\\i -> let x = {x} let y = {y} in {w.element(t, 'x', 'y')})"


def rings(w: Writer) -> str:
    """Stencils whose indices wrap around, in one dimension or two."""
    t, n, a, b = w.type(), w.size(), w.number(0, 3), w.number(0, 3)
    x, y = w.pick(f"(i + {a}) % n", f"(i - {a}) % n"), w.pick(f"(i + n - {b}) % n", f"(i + n + {b}) % n")
    e = w.element(t, "x", "y")
    if w.number(0, 1):
        w.array(t, n)
        return f"entry main [n] (xs: [n]{t}) = tabulate n (\\i -> let x = xs[{x}] let y = xs[{y}] in {e})"
    w.array(t, w.size(), n)
    return (
        f"entry main [m][n] (xs: [m][n]{t}) =\n"
        f"  tabulate_2d m n (\\j i -> let x = xs[(j + 1) % m, {x}] let y = xs[j, {y}] in {e})"
    )


def branches(w: Writer) -> str:
    """Branches that are cheap enough for both sides to be computed, and too long to be a selection from the start."""
    t, n = w.type(), w.size()
    w.array(t, n)
    yes, no = (f"let y = {w.element(t, 'x', depth=1)} in (y - x) * y + (y + 2) * (y - 3)" for _ in range(2))
    return (
        f"entry main [n] (xs: [n]{t}) = map (\\x -> if x {w.pick('<', '==')} {w.number(0, 3)} then {yes} else {no}) xs"
    )


def places(w: Writer) -> str:
    """The place of a greatest or least element."""
    t, n, after = w.type(), w.size(), w.pick("<", ">")
    w.array(t, n)
    end = f"{t}.{'lowest' if after == '>' else 'highest'}"
    better = f"b {after} a || (b == a && j < i)"
    operator = (
        f"\\(a, i) (b, j) -> if i < 0 then (b, j) else if j < 0 then (a, i) else if {better} then (b, j) else (a, i)"
    )
    pairs = f"zip (map (\\x -> {w.element(t, 'x', depth=1)}) xs) (iota n)"
    return f"entry main [n] (xs: [n]{t}) = reduce_comm ({operator}) ({end}, -1) ({pairs})"


def wanderers(w: Writer) -> str:
    """Rows through which each thread goes as far as its elements say: sorts by insertion, of rows or of a copy; the
    rows, or what is made of an element of each."""
    t, n, m = w.type(), w.size(), w.size(SMALL)
    w.array(t, n, m)
    before, key = w.pick(">", "<"), w.element(t, "x", depth=1)
    start = w.pick("copy row", f"map (\\x -> {key}) row")
    step = f"while k > 0 && row[k-1] {before} x do (row with [k] = row[k-1], k - 1)"
    place = f"let x = row[i] let (row, k) = loop (row, k) = (row, i) {step} in row with [k] = x"
    sort = f"loop row = {start} for i < m do {place}"
    if w.pick(True, False):
        return f"entry main [n][m] (xss: [n][m]{t}) = map (\\row -> {sort}) xss"
    middle = f"let row = {sort} in if m > 0 then row[m / 2] else {t}.i32 0"
    return f"entry main [n][m] (xss: [n][m]{t}) = {t}.{w.pick('sum', 'maximum')} (map (\\row -> {middle}) xss)"


def turns(w: Writer) -> str:
    """Threads that sort rows, walk along rows anywhere, or go as far as elements say."""
    return (wanderers, walks, as_far_as_it_goes)[w.number(0, 2)](w)


def as_far_as_it_goes(w: Writer) -> str:
    """From a place of each thread to the first element that ends it, around the end or not: how far, what was there."""
    t, n, m = w.type(), w.size(), w.size(SMALL)
    w.array(t, n)
    w.array("i64", m)
    ends, steps = w.element(t, "xs[k]"), "s < 20"
    step = w.pick("(k + 1) % n", "i64.min (n - 1) (k + 1)", "i64.max 0 (k - 2)")
    loop = f"loop (k, s) = (i % n, 0i64) while {steps} && {ends} {w.pick('!=', '<', '>')} {t}.i32 3 do ({step}, s + 1)"
    body = f"if n < 1 then {t}.i32 0 else let (k, s) = {loop} in {w.pick('xs[k]', f'{t}.i64 s')}"
    result = w.pick("", f"{t}.sum ", f"{t}.maximum ")
    return f"entry main [n][m] (xs: [n]{t}) (is: [m]i64) = {result}(map (\\i -> {body}) is)"


def series(w: Writer) -> str:
    """Loops along columns that keep a number or two, each of which touches a row of memory in a turn; or stores it."""
    t, n, m = w.type(), w.size(SMALL), w.size()
    w.array(t, n, m)
    w.array(t, m)
    row = w.pick("xs[i, j]", "xs[n - 1 - i, j]", "(if i > 0 then xs[i - 1, j] else ys[j])")
    step = w.element(t, "s", "x")
    first = w.pick(f"1{t}", "ys[j]", "(ys[j] + ys[j])")
    given, turn = f"entry main [n][m] (xs: [n][m]{t}) (ys: [m]{t}) =", f"for i < n do let x = {row}"
    if w.number(0, 1):
        numbers = f"loop (s, k) = ({first}, 0{t}) {turn} in ({step}, {w.pick('k + x', 's')})"
        return f"{given} tabulate m (\\j -> ({numbers}).{w.number(0, 1)})"
    stored = f"loop (o, s) = (replicate n 0, {first}) {turn} let s = {step} in (o with [i] = s, s)"
    return f"{given} transpose (map (\\j -> ({stored}).0) (iota m))"


def interleaved(w: Writer) -> str:
    """Elements that stand side by side in memory."""
    t, n, k = w.type(), w.size(), w.number(2, 4)
    w.array(t, k * n)
    loads = " ".join(f"let x{j} = xs[{k} * i + {j}]" for j in range(k))
    element = w.element(t, *(f"x{j}" for j in range(k)))
    return f"entry main [m] (xs: [m]{t}) = let n = m / {k} in tabulate n (\\i -> {loads} in {element})"


def channels(w: Writer) -> str:
    """Points of a few elements that are computed alike, of neighbouring points; or nearly alike."""
    t, n, m, k = w.type(), w.size(SMALL), w.size((*SMALL, 33)), w.number(2, 4)
    w.array(t, n, m, k)
    a, b, width, row = w.number(0, 2), w.number(1, 2), w.pick(k, "k"), w.pick("i", "i64.min (n - 1) (i + 1)")
    x = w.pick(f"xs[i, i64.max 0 (j - {a}), c]", f"(if j < {a} then {w.number(0, 3)} else xs[i, j - {a}, c])")
    y = w.pick(*3 * (f"xs[{row}, i64.min (m - 1) (j + {b}), c]",), "xs[i, j, 0]", f"xs[i, j, {k - 1} - c]")
    e = w.element(t, "x", "y")
    e = w.pick(e, e, f"if x > y then {e} else x", f"if c == 1 then {e} else x", f"if i > 0 then {e} else x")
    size = "[k]" if width == "k" else ""
    cell = f"let x = {x} let y = {y} in {e}"
    return f"entry main [n][m]{size} (xs: [n][m][{width}]{t}) = tabulate_3d n m {width} (\\i j c -> {cell})"


def codes(w: Writer) -> str:
    """Scatters of some elements of rows, at places of rows that are apart, some of them out of range."""
    t, n, k = w.type(), w.size(), w.number(2, 4)
    w.array(t, n)
    w.array("i64", n, high=k)
    w.scalar(max(0, n * k - w.number(0, 3)))
    w.scalar(k)
    keep, row = w.pick("j < l", "j + l >= k", "l != j", "0 <= j"), f"(iota {w.pick(k, 'k')})"
    places = f"map (\\j -> if {keep} then k * i + {w.pick('j', 'k - 1 - j')} + {w.number(-2, 2)} else -1) {row}"
    values = f"map (\\j -> let y = {t}.i64 j in {w.element(t, 'x', 'y', depth=1)}) {row}"
    written = f"(flatten (map2 (\\i l -> {places}) (iota n) ls)) (flatten (map (\\x -> {values}) xs))"
    return f"entry main [n] (xs: [n]{t}) (ls: [n]i64) (m: i64) (k: i64): [m]{t} = scatter (replicate m 0) {written}"


def anything(w: Writer) -> str:
    """A map or a reduction of some type."""
    t, n = w.type(), w.size()
    w.array(t, n)
    inner = f"map (\\x -> {w.element(t, 'x')}) xs"
    return f"entry main [n] (xs: [n]{t}) = {w.pick('', f'{t}.sum', f'{t}.maximum', 'scan (+) 0')} ({inner})"


def row_scans(w: Writer) -> str:
    """Scans of short rows."""
    t, n, m = w.type(), w.size(), w.size(SMALL)
    w.array(t, n, m)
    op, ne = w.pick("(+) 0", f"{t}.max {t}.lowest", f"{t}.min {t}.highest").rsplit(" ", 1)
    row = f"scan {op} {ne} (map (\\x -> {w.element(t, 'x', depth=1)}) xs)"
    return f"entry main [n][m] (xss: [n][m]{t}) = map (\\xs -> {row}) xss"


def carried(w: Writer) -> str:
    """Places and counts in i64 beside narrow elements: scanned, found or counted in rows, carried through loops."""
    t, n, m, c = w.type("i8", "u8", "i16", "i32", "f32"), w.size(), w.size(), w.number(0, 3)
    found, one = f"x {w.pick('<', '>=', '==')} {c}", w.number(-2, 3)
    last, count = f"if {found} then i else {w.number(-3, 3)}", f"if {found} then {one}i64 else {w.number(0, 1)}"
    scans = (
        (f"{w.pick('i64.max', 'i64.min')};-1", last, "{s}"),
        ("(+);0", count, w.pick("{s}", f"if {found} then {t}.i64 s else 0", "i - s")),
        (w.pick("\\(f, x) (g, y) -> (f || g, if g then y else x + y);(false, 0)"), f"({found}, {count})", "s.1"),
        (f"\\(a, k) (b, j) -> if b {w.pick('<', '>')} a then (b, j) else (a, k);(0, -1)", "(x, i)", "s.1 - i"),
    )
    if w.pick(True, False):
        w.array(t, n)
        op, value, result = scans[w.number(0, 3)]
        operator, neutral = op.split(";")
        scanned = f"scan ({operator}) ({neutral}) (map2 (\\x i -> {value}) xs (iota n))"
        return f"entry main [n] (xs: [n]{t}) = map3 (\\s x i -> {result.format(s='s')}) ({scanned}) xs (iota n)"
    w.array(t, n, m)
    step = w.pick(
        last.replace("else", "else if i % 2 == 0 then k else"), f"k + ({count})", f"if {found} then {one} else k + 1"
    )
    loop = f"loop k = {w.number(-2, 2)}i64 for i < m do let x = row[i] in {step}"
    value, result = ("(x, i)", ".1") if w.pick(True, False) else (count, "")
    operator, neutral = scans[3 if result else 1][0].split(";")
    reduced = f"(reduce ({operator}) ({neutral}) (map2 (\\x i -> {value}) row (iota m))){result}"
    return f"entry main [n][m] (xss: [n][m]{t}) = map (\\row -> {w.pick(loop, reduced)}) xss"


def flagged(w: Writer) -> str:
    """Scans of numbers with truth values that say where segments begin, or where they go on."""
    t, n = w.type(), w.size()
    w.args.append(np.random.default_rng(w.number(0, 999)).random(n) < 0.2)
    w.array(t, n)
    op, ne = w.pick("x + y;0", f"{t}.max x y;{t}.lowest", f"{t}.min x y;{t}.highest").split(";")
    start, step = w.pick(f"false;f || g, if g then y else {op}", f"true;f && g, if g then {op} else y").split(";")
    segmented = f"{w.pick('scan', 'reduce')} (\\(f, x) (g, y) -> ({step})) ({start}, {ne})"
    return f"entry main [n] (fs: [n]bool) (xs: [n]{t}) = {segmented} (zip fs xs)"


def rows_anywhere(w: Writer, reduced: bool) -> str:
    t, n = w.type("i32", "i64", "f32", "f64"), w.size()
    source = np.random.default_rng(w.number(0, 999))
    lengths = source.integers(0, 40, n)
    w.args += [np.concatenate([[0], np.cumsum(lengths)])[:n].astype(np.int64), lengths.astype(np.int64)]
    count = max(1, int(lengths.sum()))
    w.array(t, count)
    w.args.append(source.integers(0, count, count))
    head = f"entry main [n][m] (starts: [n]i64) (lengths: [n]i64) (zs: [m]{t}) (js: [m]i64) ="
    element = w.element(t, "z", depth=1)
    if reduced:
        body = f"{t}.sum (map (\\k -> let z = zs[js[a + k]] in {element}) (iota l))"
    else:
        body = f"loop s = 0 for k < l do let z = zs[a + k] in s + {element}"
    return f"{head} map2 (\\a l -> {body}) starts lengths"


def walks(w: Writer) -> str:
    """Loops along rows that stand anywhere."""
    return rows_anywhere(w, False)


def varying(w: Writer) -> str:
    """Reductions of rows whose lengths come from memory."""
    return rows_anywhere(w, True)


def tiles(w: Writer) -> str:
    """A thread for a row."""
    t, n, m = w.type(), w.size(), w.size()
    w.array(t, n, m)
    element = w.element(t, "x", depth=1)
    row = w.pick(f"{t}.sum (map (\\x -> {element}) xs)", f"scan (+) 0 (map (\\x -> {element}) xs)")
    return f"entry main [n][m] (xss: [n][m]{t}) = map (\\xs -> #[sequential] {row}) xss"


def planes(w: Writer) -> str:
    """Maps of two dimensions, whose indices are divided and put together again."""
    t, n, m = w.type(), w.size(), w.size()
    w.array(t, n, m)
    w.array(t, n, m)
    element = w.element(t, "x", "y")
    return f"entry main [n][m] (xss: [n][m]{t}) (yss: [n][m]{t}) = map2 (map2 (\\x y -> {element})) xss yss"


def shared(w: Writer) -> str:
    """Rows of a block that its threads read as others wrote them."""
    t, n, m = w.type(), w.size(SMALL), w.size(SMALL)
    w.array(t, n, m)
    first = w.pick("scan (+) 0 xs", f"map (\\x -> {w.element(t, 'x', depth=1)}) xs")
    at = w.pick("m - 1 - i", "(i + 1) % m", "(i * 3) % m")
    row = f"let ys = {first} in map (\\i -> let y = ys[{at}] let x = xs[i] in {w.element(t, 'x', 'y')}) (iota m)"
    return f"entry main [n][m] (xss: [n][m]{t}) = map (\\xs -> {row}) xss"


def warps(w: Writer) -> str:
    """A map with a kernel by hand that has its elements by warps."""
    t, n, m = w.type(), w.size(), w.number(1, 4)
    w.array(t, n)
    element = w.element(t, "x")
    return f"""
def f [n] (xs: [n]{t}): [n]{t} = map (\\x -> {element}) xs
#[implements(f)]
def by_hand [n] (xs: [n]{t}) (ys: *[n]{t}) =
  fully par b < (n + {32 * m - 1}) / {32 * m} in block {32 * m} {{
    par w < {m} in warp {{
      let first = (b * {m} + w) * 32;
      par t < 32 in thread {{
        let i = first + t;
        if i < n then {{ let x = xs[i]; ys[i] = {element}; }}
      }}
    }}
  }}
entry main [n] (xs: [n]{t}): [n]{t} = f xs
"""


WRITERS: dict[str, Callable[[Writer], str]] = {
    "divide-warps": warps,
    "join-rows": nests,
    "needed-rounds": shrinking,
    "one-by-one": turns,
    "columns-by-rows": series,
    "nontemporal-stores": stores,
    "hoist-invariants": invariants,
    "peel-remainders": rings,
    "split-residues": parted,
    "split-at-multiples": wrapped,
    "peel-boundaries": neighbours,
    "join-channels": channels,
    "if-convert": branches,
    "narrow-argreduce": places,
    "narrow-divisions": remainders,
    "narrow-comparisons": classes,
    "narrow-carried": carried,
    "interleave-rows": interleaved,
    "join-writes": codes,
    "flags-as-words": flagged,
    "choose-lanes": anything,
    "flat-row-scans": row_scans,
    "split-varying-reductions": varying,
    "tile-rows": tiles,
    "straighten-indices": planes,
    "vectorise-accesses": planes,
    "place-fences": shared,
}
"""For each pass, what writes programs for it."""


@st.composite
def programs_for(draw: Draw, name: str) -> Written:
    """Programs that a pass applies to."""
    writer = Writer(draw, [])
    text = WRITERS[name](writer)
    return Written(text, tuple(writer.args))
