"""Random scalars: literals, operations of every type, conversions, reads, branches, calls."""

from __future__ import annotations

from tests.support.source_programs.types import FLOATS, HALVES, I64, INTS, PRIMS, Array, Prim, Record, Sum, Tuple, Type
from tests.support.source_programs.writer import Function, Writer

MOST_DEPTH = 4

INT_BINARY = ("+", "-", "*", "&", "|", "^", "<<", ">>", ">>>", "/", "%", "//", "%%", "**")
FLOAT_BINARY = ("+", "-", "*", "/", "%")
INT_UNARY = ("abs", "sgn", "neg", "not", "!")
FLOAT_UNARY = ("abs", "sgn", "neg", "sqrt", "floor", "ceil", "trunc", "round", "recip")
INT_CALLS = (("min", 2), ("max", 2), ("mul_hi", 2), ("mad_hi", 3), ("mad", 3))
FLOAT_CALLS = (("min", 2), ("max", 2), ("fma", 3), ("mad", 3), ("lerp", 3), ("nextafter", 2))
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
INEXACT_UNARY = (
    "rsqrt", "cbrt", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sinpi", "cospi", "tanpi", "gamma", "lgamma",
    "erf", "erfc", "asinpi", "acospi", "atanpi",
)  # fmt: skip
INEXACT_BINARY = ("atan2", "hypot", "atan2pi", "**")


# ---- literals ------------------------------------------------------------------------------------------------------


def literal(w: Writer, prim: str, weak: bool) -> str:
    """A literal of a type, without a suffix where the context says the type."""
    if prim == "bool":
        return w.pick(("true", "false"))
    spelling = _float_spelling(w) if prim in FLOATS else _int_spelling(w, prim)
    if weak and not w.strong and w.decide(3) < 2:
        w.note("literal without a suffix")
        return _closed(f"{spelling}\x02{prim}\x03")
    if prim in FLOATS:
        return _closed(f"{spelling}{prim}") if not spelling.endswith(("nan", "inf")) else f"{prim}.{spelling}"
    return _closed(f"{spelling}{prim}")


def _closed(spelling: str) -> str:
    return f"({spelling})" if spelling.startswith("-") else spelling


def _int_spelling(w: Writer, prim: str) -> str:
    small = str(w.decide(6))
    match w.decide(10):
        case 0 if prim[0] == "i":
            return f"-{1 + w.decide(9)}"
        case 1:
            return str(w.decide(100))
        case 2:
            return f"0x{w.decide(127):x}"
        case 3:
            return f"0b{w.decide(15):b}"
        case 4:
            bits = int(prim[1:])
            return str((1 << bits - (prim[0] == "i")) - 1 - w.decide(2))
        case _:
            return small


def _float_spelling(w: Writer) -> str:
    return w.pick(
        (
            "0.0",
            "1.0",
            "2.0",
            "0.5",
            "-1.0",
            "1.5",
            "3.0",
            "0.1",
            "-0.0",
            "1e-3",
            "100.0",
            "-2.75",
            "7.0",
            "1e-8",
            "12345.678",
        )
    )


# ---- scalars -------------------------------------------------------------------------------------------------------


def scalar(w: Writer, prim: str, weak: bool = True, depth: int = MOST_DEPTH) -> str:
    """An expression of a primitive type, in parentheses where it needs them."""
    paths = w.paths(Prim(prim))
    if prim == "i64" and w.scope.sizes and w.one_in(8):
        return w.pick(w.scope.sizes)
    if depth <= 0 or w.decide(4) == 0:
        return w.recent(paths) if paths and w.decide(6) else name_or_literal(w, prim, weak)
    match w.decide(14):
        case 0 | 1 if paths:
            return w.recent(paths)
        case 3:
            return converted(w, prim, depth - 1)
        case 4:
            return read(w, prim, weak, depth - 1)
        case 5:
            return branch(w, prim, weak, depth - 1)
        case 6:
            return call(w, Prim(prim), depth - 1) or literal(w, prim, weak)
        case 7 if w.spend():
            from tests.support.source_programs.arrays import reduced

            return reduced(w, Prim(prim)) or literal(w, prim, weak)
        case _:
            if prim == "bool":
                return truth(w, depth - 1)
            return operation(w, prim, weak, depth - 1)


def name_or_literal(w: Writer, prim: str, weak: bool) -> str:
    """A literal, or another scalar converted."""
    others = w.scalars() if w.decide(5) else []
    if not others:
        return read(w, prim, weak, 0) if w.decide(3) else literal(w, prim, weak)
    path, source = w.recent(others)
    w.note(f"{source} to {prim}")
    return f"({prim}.{source} {path})"


def operation(w: Writer, prim: str, weak: bool, depth: int) -> str:
    """An operation of a numeric type."""
    if w.decide(3) == 0:
        return _member(w, prim, depth)
    op = w.pick(FLOAT_BINARY if prim in FLOATS else INT_BINARY)
    w.note(f"operator {op} {prim}")
    x = scalar(w, prim, weak, depth)
    if op in ("/", "%", "//", "%%", "**") and prim in INTS:
        return _failing(w, prim, op, x, depth)
    if op in ("<<", ">>", ">>>"):
        y = literal(w, prim, True) if w.one_in(3) else str(w.decide(int(prim[1:]) + 2)) + f"\x02{prim}\x03"
        return f"({x} {op} {y})"
    y = scalar(w, prim, True, depth)
    if w.one_in(12):
        w.note("operator as a function")
        return f"(({op}) {x} {y})" if weak and w.decide(2) else f"({x} {prim}.{op} {y})"
    return f"({x} {op} {y})"


def _failing(w: Writer, prim: str, op: str, x: str, depth: int) -> str:
    """Division and powers: failing where the program may fail, else of operands that do not."""
    y = scalar(w, prim, True, depth)
    if w.fails(3):
        w.note("may divide by zero")
        return f"({x} {op} {y})"
    one = f"1\x02{prim}\x03"
    return f"({x} {op} ({y} & 3\x02{prim}\x03))" if op == "**" else f"({x} {op} ({y} | {one}))"


def _member(w: Writer, prim: str, depth: int) -> str:
    """A function of a numeric module."""

    def of(kind: str) -> str:
        return scalar(w, kind, True, depth - 1)

    what = w.decide(10)
    name, count = w.pick(FLOAT_CALLS if prim in FLOATS else INT_CALLS)
    if what < 4:
        w.note(f"{name} {prim}")
        return f"({prim}.{name} {' '.join(of(prim) for _ in range(count))})"
    if what < 7:
        name = w.pick(FLOAT_UNARY if prim in FLOATS else INT_UNARY)
        w.note(f"{name} {prim}")
        return f"(!{of(prim)})" if name == "!" else f"({prim}.{name} {of(prim)})"
    if what == 7:
        w.note("constant of a module")
        return f"{prim}.{w.pick(('highest', 'lowest', *(('pi', 'e', 'epsilon', 'inf') if prim in FLOATS else ())))}"
    if prim in FLOATS:
        return _of_bits(w, prim, of)
    if prim == "i32":
        other = w.pick(INTS)
        name = w.pick(("popc", "clz", "ctz", "get_bit"))
        w.note(f"{name} {other}")
        return (
            f"(i32.get_bit 3 {of('i32')})"
            if name == "get_bit"
            else f"({other}.{name} {scalar(w, other, True, depth - 1)})"
        )
    w.note(f"set_bit {prim}")
    return f"({prim}.set_bit {w.decide(8)}\x02i32\x03 {of(prim)} (i32.bool {of('bool')}))"


def _of_bits(w: Writer, prim: str, of: object) -> str:
    word = f"u{prim.lstrip('bf')}"
    match w.decide(4):
        case 0:
            w.note(f"copysign {prim}")
            return f"({prim}.copysign {scalar(w, prim, True, 1)} ({prim}.i32 {scalar(w, 'i32', True, 1)}))"
        case 1:
            w.note(f"ldexp {prim}")
            return f"({prim}.ldexp {scalar(w, prim, True, 1)} ({scalar(w, 'i32', True, 1)} %% 20))".replace(
                "20)", "20\x02i32\x03)"
            )
        case 2:
            w.note(f"from_bits {prim}")
            return f"({prim}.from_bits {scalar(w, word, True, 1)})"
        case _:
            w.note(f"from_fraction {prim}")
            return f"({prim}.from_fraction {scalar(w, 'i64', True, 1)} {scalar(w, 'i64', True, 1)})"


def converted(w: Writer, prim: str, depth: int) -> str:
    """A conversion from another type, or the bits of a float."""
    if prim in ("u16", "u32", "u64") and w.one_in(4):
        source, name = f"{w.pick(HALVES) if prim == 'u16' else 'f' + prim[1:]}", w.fresh("v")
        w.note(f"to_bits {source}")
        value = scalar(w, source, False, depth)
        return f"(let {name} = {value} in if {source}.isnan {name} then 0\x02{prim}\x03 else {source}.to_bits {name})"
    source = w.pick(PRIMS)
    w.note(f"{source} to {prim}")
    return f"({prim}.{source} {scalar(w, source, True, depth)})"


def truth(w: Writer, depth: int) -> str:
    """A bool."""
    match w.decide(8):
        case 0:
            op = w.pick(("&&", "||", "!=", "==", "&", "|", "^"))
            return f"({scalar(w, 'bool', True, depth)} {op} {scalar(w, 'bool', True, depth)})"
        case 1:
            return f"(!{scalar(w, 'bool', True, depth)})"
        case 2:
            prim = w.pick(FLOATS)
            name = w.pick(("isnan", "isinf"))
            w.note(f"{name} {prim}")
            return f"({prim}.{name} {scalar(w, prim, True, depth)})"
        case 3 if w.scope.vars:
            found = w.pick(w.scope.vars)
            if isinstance(found.type, Array):
                w.note("null")
                return f"(null {found.name})"
            if isinstance(found.type, Tuple | Record):
                w.note("== of tuples")
                return f"({found.name} == {value(w, found.type, depth)})"
        case _:
            pass
    prim, op = w.number().name, w.pick(COMPARISONS)
    w.note(f"operator {op} {prim}")
    return f"({scalar(w, prim, False, depth)} {op} {scalar(w, prim, True, depth)})"


def branch(w: Writer, prim: str, weak: bool, depth: int) -> str:
    w.note("if in an expression")
    cond = scalar(w, "bool", True, depth)
    return f"(if {cond} then {scalar(w, prim, weak, depth)} else {scalar(w, prim, True, depth)})"


# ---- reads and calls -----------------------------------------------------------------------------------------------


def index(w: Writer, size: str, depth: int) -> str | None:
    """An index that is less than a size, if one is known."""
    if size.isdigit():
        return f"{w.decide(int(size))}\x02i64\x03"
    found = [v.name for v in w.scope.vars if v.below == size]
    if found and w.decide(3):
        return w.recent(found)
    if not any(v.among == size for v in w.scope.vars):
        return None
    w.note("index of an end or beside")
    i = w.recent(found) if found else "0i64"
    return w.pick((
        i, f"{size} - 1i64 - {i}", f"({i} + 1i64) % {size}", f"i64.max 0i64 ({i} - 1i64)", f"{i} / 2i64",
        f"i64.min ({size} - 1i64) ({i} + {1 + w.decide(3)}i64)", f"({i} * 3i64 + 2i64) % {size}",
    ))  # fmt: skip


def beyond(w: Writer, size: str) -> tuple[str, str] | None:
    """A place from the index of an element, maybe before the first one or behind the last one; and a test of that."""
    found = [v for v in w.scope.vars if v.below is not None]
    if not found:
        return None
    var, k = w.recent(found), w.decide(5)
    i, n = var.name, w.pick((str(var.below), f"{1 + w.decide(6)}i64"))
    w.note("place beyond the ends")
    if n == size and w.decide(2):
        return f"({i} - {k}i64) %% {n}", "!({0} < 0i64)"
    place = w.pick((
        f"{i} - {k}i64", f"{i} + {k}i64", f"({i} - {k}i64) %% {n}", f"({i} + {k}i64) % {n}", f"2i64 * {i} - {k}i64",
        f"{size} - {k}i64 - {i}", f"{i} / 2i64 - {k}i64", f"({i} - {k}i64) / 3i64", f"({i} - {k}i64) // 2i64",
    ))  # fmt: skip
    return place, w.pick(("{0} >= 0i64 && {0} < " + size, f"{size} > {{0}} && !({{0}} < 0i64)"))


def read(w: Writer, prim: str, weak: bool, depth: int, beside: int = 3) -> str:
    """An element of an array, once in `beside` times at a place that may be beyond its ends."""
    found = [v for v in w.arrays() if isinstance(v.type, Array) and _bottom(v.type) == Prim(prim)]
    if not found:
        return literal(w, prim, weak)
    if w.one_in(6) and w.nesting < 3 and w.spend():
        return _of_computed(w, prim)
    array = w.recent(found)
    type: Type = array.type
    places, sizes, lets, inside = [], [], "", []
    while isinstance(type, Array):
        known = index(w, type.size, depth)
        further = beyond(w, type.size) if w.one_in(beside) else None
        if further is not None:
            known = w.fresh("p")
            lets += f"let {known} = {further[0]} "
            inside.append(further[1].format(known))
        elif known is None:
            by = scalar(w, "i64", True, depth - 1) if depth > 0 else literal(w, "i64", True)
            known = f"{by} % {type.size}"
            if not w.fails(6):
                sizes.append(type.size)
            else:
                with w.with_suffixes(True):
                    known = scalar(w, "i64", False, depth - 1)
                w.note("may read out of bounds")
        places.append(known)
        type = type.elem
    w.note("read")
    text = f"{array.name}[{', '.join(places)}]"
    conds = [*(f"{size} > 0" for size in dict.fromkeys(sizes)), *inside]
    if not conds:
        return text
    other = literal(w, prim, True) if depth <= 0 or w.decide(2) else scalar(w, prim, True, depth - 1)
    test = " && ".join(conds)
    branches = f"if {test[2:-1]} then {other} else {text}" if test.startswith("!(") and len(conds) == 1 else None
    return f"({lets}{'in ' if lets else ''}{branches or f'if {test} then {text} else {other}'})"


def _of_computed(w: Writer, prim: str) -> str:
    """One element of an array, of which nothing else is needed."""
    from tests.support.source_programs.arrays import array

    size, name = w.size(), w.fresh("e")
    with w.with_suffixes(True):
        text = array(w, Array(size, Prim(prim)), new=True)
    at = index(w, size, 0)
    w.note("element of what is computed")
    if at is not None:
        return f"(let {name} = {text} in {name}[{at}])"
    at = w.pick(("0i64", f"{size} - 1i64", f"{size} / 2i64"))
    return f"(let {name} = {text} in if {size} > 0i64 then {name}[{at}] else {literal(w, prim, True)})"


def _bottom(type: Type) -> Type:
    while isinstance(type, Array):
        type = type.elem
    return type


def call(w: Writer, result: Type, depth: int) -> str | None:
    """A call of a function of the program; no function that consumes."""
    found = [f for f in w.scope.functions if f.result == result and not f.consumes and all(map(w.in_scope, f.params))]
    if not found or not w.spend():
        return None
    function = w.pick(found)
    w.note("call")
    return called(w, function, depth)


def called(w: Writer, function: Function, depth: int) -> str:
    return f"({function.name} {' '.join(value(w, param, depth) for param in function.params)})"


# ---- values of any type --------------------------------------------------------------------------------------------


def value(w: Writer, type: Type, depth: int = 3, new: bool = False) -> str:
    """An expression of a type, in a context that says the type of literals; a `new` one is not just a name."""
    paths = [] if new else w.paths(type)
    if paths and w.decide(3) == 0:
        return w.recent(paths)
    match type:
        case Prim(name):
            return operated(w, name, depth) if new else scalar(w, name, True, depth)
        case Tuple(elems):
            found = call(w, type, depth) if w.one_in(4) else None
            return found or f"({', '.join(value(w, elem, depth - 1) for elem in elems)})"
        case Record(fields, _):
            return _record(w, type, fields, depth)
        case Sum(name, constructors):
            constructor, args = w.pick(constructors)
            w.note("constructor")
            inner = " ".join(value(w, arg, depth - 1) for arg in args)
            return f"(#{constructor} {inner} : {name})" if args else f"(#{constructor} : {name})"
        case Array():
            from tests.support.source_programs.arrays import array

            return array(w, type, new)


def operated(w: Writer, prim: str, depth: int) -> str:
    """A scalar that is computed."""
    return truth(w, depth) if prim == "bool" else operation(w, prim, True, depth)


def _record(w: Writer, type: Record, fields: tuple[tuple[str, Type], ...], depth: int) -> str:
    same = w.vars_of(type)
    if same and w.one_in(3):
        name, part = w.pick(fields)
        w.note("record with")
        return f"({w.pick(same).name} with {name} = {value(w, part, depth - 1)})"
    found = call(w, type, depth) if w.one_in(4) else None
    return found or f"{{{', '.join(f'{name} = {value(w, part, depth - 1)}' for name, part in fields)}}}"


__all__ = ["I64", "scalar", "value"]
