"""Random arrays of a given size, and what arrays are reduced to, by combinators and the library's functions."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.source_programs.expressions import index, literal, read, scalar, value
from tests.support.source_programs.operators import Operator, operator
from tests.support.source_programs.types import FLOATS, HALVES, I64, Array, Prim, Record, Tuple, Type, show
from tests.support.source_programs.writer import Var, Writer, indented

MOST_NESTING = 5


def array(w: Writer, type: Array, new: bool = False) -> str:
    """An expression of an array type; a `new` one is not just a name, as long as there is fuel."""
    exact = w.vars_of(type)
    if exact and not new and w.decide(3):
        return w.recent(exact).name
    if not w.spend() or w.nesting > MOST_NESTING:
        return w.recent(exact).name if exact else _simplest(w, type)
    for _ in range(4):
        made = w.pick(WAYS)(w, type)
        if made is not None:
            return made
    return mapped(w, type)


def _simplest(w: Writer, type: Array) -> str:
    found = [v for v in w.arrays(type.size) if isinstance(v.type, Array) and isinstance(v.type.elem, Prim)]
    if found and isinstance(type.elem, Prim):
        var = w.recent(found)
        assert isinstance(var.type, Array)
        assert isinstance(var.type.elem, Prim)
        w.note("map of a conversion")
        return f"(map {type.elem.name}.{var.type.elem.name} {var.name})"
    w.note("replicate")
    return f"(replicate {type.size} {value(w, type.elem, 0)})"


# ---- maps ----------------------------------------------------------------------------------------------------------


def source(w: Writer, size: str) -> tuple[str, Type]:
    """An array of a size to map over, with the type of its elements."""
    found = w.arrays(size)
    if found and w.decide(3):
        chosen = w.recent(found)
        assert isinstance(chosen.type, Array)
        return chosen.name, chosen.type.elem
    if w.spend() and w.one_in(3):
        elem = w.type(1)
        return array(w, Array(size, elem)), elem
    return f"(iota {size})", I64


def param(w: Writer, type: Type, text: str, size: str) -> Var:
    """What a lambda calls an element of an array."""
    below = size if text == f"(iota {size})" else None
    return w.var("i" if below else "x", type, None, below, size)


def pattern(w: Writer, var: Var) -> tuple[str, tuple[Var, ...]]:
    """A parameter as text, taken apart now and then, and what it binds."""
    match var.type:
        case Tuple(elems) if w.decide(2):
            parts = tuple(w.var("x", elem, among=var.among) for elem in elems)
            return f"({', '.join(p.name for p in parts)})", parts
        case Record(fields, _) if w.decide(2):
            parts = tuple(w.var("x", part, among=var.among) for _, part in fields)
            text = ", ".join(f"{name} = {p.name}" for (name, _), p in zip(fields, parts, strict=True))
            return f"({{{text}}}: {show(var.type)})", parts
        case Prim() if w.decide(3):
            return var.name, (var,)
        case _:
            return f"({var.name}: {show(var.type)})", (var,)


def function(w: Writer, params: tuple[Var, ...], result: Type, small: bool = False) -> str:
    """A lambda."""
    texts, bound = [], []
    for one in params:
        text, vars = pattern(w, one)
        texts.append(text)
        bound += vars
    with w.inside(*bound):
        body = small_value(w, result) if small else block(w, result)
    return f"(\\{' '.join(texts)} ->{_body(body)})"


def _body(text: str) -> str:
    return indented(f"\n{text}") if "\n" in text else f" {text}"


def block(w: Writer, result: Type) -> str:
    """Some bindings and a value of a type; within `inside`."""
    from tests.support.source_programs.statements import statements

    if w.decide(3) == 0 and w.nesting <= MOST_NESTING:
        statements(w, 1 + w.decide(3))
    final = value(w, result, new=w.decide(5) > 0)
    return "\n".join([*w.lines, f"in {final}"]) if w.lines else final


def small_value(w: Writer, type: Type) -> str:
    """A value whose floats are small whole numbers, so that sums of them are exact."""
    match type:
        case Prim(name) if name in FLOATS:
            return f"({name}.i32 ({scalar(w, 'i32', True, 2)} % {2 if name == 'bf16' else 5}\x02i32\x03))"
        case Tuple(elems):
            return f"({', '.join(small_value(w, elem) for elem in elems)})"
        case Record(fields, _):
            return f"{{{', '.join(f'{name} = {small_value(w, part)}' for name, part in fields)}}}"
        case Array(size, elem):
            var = w.var("i", I64, None, size)
            with w.inside(var):
                inner = small_value(w, elem)
            return f"(map (\\{var.name} -> {inner}) (iota {size}))"
        case _:
            return value(w, type, 2)


def mapped(w: Writer, type: Array, small: bool = False) -> str:
    """A map over one to three arrays."""
    count = 1 + (w.decide(5) > 2) + w.one_in(10)
    sources = [source(w, type.size) for _ in range(count)]
    params = tuple(param(w, elem, text, type.size) for text, elem in sources)
    f = function(w, params, type.elem, small)
    w.note(f"map of {count}")
    name = "map" if count == 1 else f"map{count}" if w.decide(3) else "map"
    if count > 1 and name == "map":
        w.note("many-array form")
    attribute = _attribute(w)
    if count == 1 and w.one_in(10):
        w.note("|>")
        return f"({sources[0][0]} |> map {f})"
    return f"({attribute}{name} {f} {' '.join(text for text, _ in sources)})"


def _attribute(w: Writer) -> str:
    if not w.one_in(14):
        return ""
    w.note("attribute")
    return w.pick((
        "#[sequential] ", "#[sequential_outer] ", "#[sequential_inner] ", "#[flattening(only_inner)] ",
        "#[flattening(no_outer)] ", "#[flattening(no_intra)] ", "#[opaque] ",
    ))  # fmt: skip


def stencil(w: Writer, type: Array) -> str | None:
    """Elements of arrays at places beside, some of them beyond the ends."""
    prims = [v.type.elem for v in w.arrays(type.size) if isinstance(v.type, Array) and isinstance(v.type.elem, Prim)]
    if not isinstance(type.elem, Prim) or not prims:
        return None
    prim = type.elem.name if type.elem in prims and w.decide(4) else w.recent(prims).name
    i = w.var("i", I64, None, type.size)
    with w.inside(i):
        reads = [read(w, prim, True, w.decide(2), 1) for _ in range(1 + w.decide(3))]
    w.note("stencil")
    body = reads[0]
    for x in reads[1:]:
        body = f"(if {x} == {body} then {x} else {body})" if prim == "bool" else f"({body} {w.pick('+-*')} {x})"
    body = body if type.elem.name == prim else f"({type.elem.name}.{prim} {body})"
    return f"(map (\\{i.name} -> {body}) (iota {type.size}))"


def partly(w: Writer, type: Array) -> str | None:
    """A map that changes some elements of an array."""
    found = w.vars_of(type)
    if not found:
        return None
    i, x = w.var("i", I64, None, type.size), w.var("x", type.elem, among=type.size)
    with w.inside(i, x):
        test = w.pick((f"{i.name} < {w.decide(4)}i64", f"{i.name} % 3i64 == 1i64", scalar(w, "bool", True, 2)))
        new = value(w, type.elem, 2, new=True)
    w.note("map that changes some")
    branches = f"{new} else {x.name}" if w.decide(2) else f"{x.name} else {new}"
    params = f"{i.name} {x.name if isinstance(type.elem, Prim) else f'({x.name}: {show(type.elem)})'}"
    return f"(map2 (\\{params} -> if {test} then {branches}) (iota {type.size}) {w.recent(found).name})"


def sectioned(w: Writer, type: Array) -> str | None:
    """A map of an operator, a section or a function by name."""
    match type.elem:
        case Prim(name) if name != "bool":
            pass
        case _:
            return None
    found = [v.name for v in w.vars_of(type)]
    xs = w.pick(found) if found else mapped(w, type)
    w.note("section")
    match w.decide(5):
        case 0:
            return f"(map ({scalar(w, name, True, 1)} +) {xs})"
        case 1:
            return f"(map (* {scalar(w, name, True, 1)}) {xs})"
        case 2:
            return f"(map {name}.abs {xs})"
        case 3:
            return f"(map2 {w.pick(('(+)', '(-)', '(*)', f'{name}.max'))} {xs} {xs})"
        case _:
            return f"(map (`{name}.min` {scalar(w, name, True, 1)}) {xs})"


# ---- folds ---------------------------------------------------------------------------------------------------------


def folded(w: Writer, elem: Type, size: str) -> tuple[Operator, str] | None:
    """An operator, and an array of a size to fold with it."""
    op = operator(w, elem)
    if op is None:
        return None
    if op.small:
        return op, mapped(w, Array(size, elem), small=True)
    return op, array(w, Array(size, elem))


def reduced(w: Writer, type: Type) -> str | None:
    """What an array is reduced to."""
    size = w.size()
    match type:
        case Prim("bool") if w.one_in(2):
            var, what = source(w, size), w.pick(("all", "any"))
            x = param(w, var[1], var[0], size)
            w.note(what)
            return f"({what} {function(w, (x,), type)} {var[0]})"
        case Prim(name) if name not in (*FLOATS, "bool") and w.one_in(3):
            what = w.pick(("sum", "product", "maximum", "minimum"))
            w.note(what)
            return f"({name}.{what} {array(w, Array(size, type))})"
        case Prim(name) if w.one_in(6):
            var = source(w, size)
            x = param(w, var[1], var[0], size)
            acc = w.var("a", type)
            w.note("foldl")
            params = (acc, x) if w.decide(2) else (x, acc)
            what = "foldl" if params[0] is acc else "foldr"
            start = scalar(w, name, True, 1)
            return f"({what} {function(w, params, type)} {start} {var[0]})"
        case _:
            pass
    found = folded(w, type, size)
    if found is None:
        return None
    op, xs = found
    if op.commutes and w.one_in(4):
        w.note("reduce_comm")
        return f"(reduce_comm {op.text} {op.neutral} {xs})"
    if w.one_in(4):
        text, elem = source(w, size)
        f = function(w, (param(w, elem, text, size),), type, op.small)
        w.note("redomap")
        return f"(redomap {op.text} {f} {op.neutral} {text})"
    w.note("reduce")
    return f"(reduce {op.text} {op.neutral} {xs})"


def rows_reduced(w: Writer, type: Array) -> str | None:
    return reduced(w, type) if w.nesting < 3 else None


def multiplied(w: Writer, type: Array) -> str | None:
    """A product of two matrices, floats of small whole numbers; `#[tensor]` rounds none of them."""
    match type.elem:
        case Array(columns, Prim(name)) if name != "bool" and w.nesting < 3 and not (w.is_large and name in HALVES):
            pass
        case _:
            return None
    of, width = (w.pick((name, *HALVES)) if name == "f32" else name), w.size()
    turned = w.decide(2)
    left = _operand(w, type.size, width, Prim(of))
    right = _operand(w, width, columns, Prim(of)) if turned else _operand(w, columns, width, Prim(of))
    a, b, xs, ys = (w.fresh(base) for base in ("m", "m", "xs", "ys"))
    times = "(*)" if of == name else f"(\\x y -> {name}.{of} x * {name}.{of} y)"
    attribute = "#[tensor] " if name in FLOATS and name != "f64" and w.decide(2) else ""
    w.note(f"product of {of} in {name}{' on tensor cores' if attribute else ''}")
    rows = f"(transpose {b})" if turned else b
    summed = f"{attribute}{name}.sum (map2 {times} {xs} {ys})"
    return f"(let {a} = {left} in let {b} = {right} in map (\\{xs} -> map (\\{ys} -> {summed}) {rows}) {a})"


def _operand(w: Writer, rows: str, columns: str, prim: Prim) -> str:
    """A matrix: transposed, less something of each row or column, or as it is."""
    match w.decide(6):
        case 0:
            return f"(transpose {_operand(w, columns, rows, prim)})"
        case 1 if prim.name not in HALVES:
            w.note("centred operand")
            less = small_value(w, Array(rows, prim)) if prim.name in FLOATS else array(w, Array(rows, prim))
            return f"(map2 (\\r c -> map (\\x -> x - c) r) {_operand(w, rows, columns, prim)} {less})"
        case _:
            matrix = Array(rows, Array(columns, prim))
            return small_value(w, matrix) if prim.name in FLOATS else array(w, matrix)


def scanned(w: Writer, type: Array) -> str | None:
    found = folded(w, type.elem, type.size)
    if found is None:
        return None
    op, xs = found
    what = w.pick(("scan", "scan", "exscan"))
    if what == "scan" and w.one_in(4):
        text, elem = source(w, type.size)
        f = function(w, (param(w, elem, text, type.size),), type.elem, op.small)
        w.note("scanomap")
        return f"(scanomap {op.text} {f} {op.neutral} {text})"
    w.note(what)
    return f"({what} {op.text} {op.neutral} {xs})"


# ---- writes --------------------------------------------------------------------------------------------------------


def keys(w: Writer, size: str, bins: str) -> str:
    """An array of indices, some of them out of bounds."""
    text, elem = source(w, size)
    x = param(w, elem, text, size)
    shown, bound = pattern(w, x)
    with w.inside(*bound):
        by = scalar(w, "i64", True, 2)
    w.note("keys")
    divisor = f"({bins} + 2\x02i64\x03)" if w.decide(3) else "3\x02i64\x03"
    return f"(map (\\{shown} -> {by} % {divisor}) {text})"


def counted(w: Writer, type: Array) -> str | None:
    """A histogram."""
    size = w.size()
    if isinstance(type.elem, Array) and w.decide(2):
        return _counted_2d(w, type, type.elem)
    found = folded(w, type.elem, size)
    if found is None:
        return None
    op, xs = found
    if not op.commutes:
        return None
    places = keys(w, size, type.size)
    if w.one_in(3):
        w.note("histogram of several for each")
        v, k, n = w.fresh("v"), w.fresh("k"), 2 + w.decide(2)
        values = [v, *(w.pick((v, op.neutral)) for _ in range(n - 1))]
        bins = [k, *(w.pick((f"{k} + {j}i64", f"{j}i64", f"{k} / 2i64")) for j in range(1, n))]
        xs = f"(flatten (map (\\{v} -> [{', '.join(values)}]) {xs}))"
        places = f"(flatten (map (\\{k} -> [{', '.join(bins)}]) {places}))"
    if w.decide(2):
        w.note("hist")
        return f"(hist {op.text} {op.neutral} {type.size} {places} {xs})"
    w.note("reduce_by_index")
    dest = f"(replicate {type.size} {op.neutral})" if w.decide(2) or op.small else f"(copy {array(w, type)})"
    return f"(reduce_by_index {dest} {op.text} {op.neutral} {places} {xs})"


def _counted_2d(w: Writer, type: Array, row: Array) -> str | None:
    size = w.size()
    found = folded(w, row.elem, size)
    if found is None:
        return None
    op, xs = found
    if not op.commutes:
        return None
    places = f"(zip {keys(w, size, type.size)} {keys(w, size, row.size)})"
    w.note("reduce_by_index_2d")
    dest = f"(replicate {type.size} (replicate {row.size} {op.neutral}))"
    return f"(reduce_by_index_2d {dest} {op.text} {op.neutral} {places} {xs})"


def scattered(w: Writer, type: Array) -> str | None:
    """A scatter to different places, some of them out of bounds."""
    size = w.size()
    i = w.var("i", I64)
    with w.inside(i):
        keep = scalar(w, "bool", True, 2)
    step, begin = w.pick((1, 2, 3, -1)), w.decide(4) - 1
    places = f"(map (\\{i.name} -> if {keep} then {i.name} * ({step}i64) + ({begin}i64) else -1i64) (iota {size}))"
    if w.one_in(3):
        w.note("scatter side by side")
        k, n = w.fresh("k"), 2 + w.decide(3)
        sides = [f"if {k} < 0i64 then -1i64 else {k} * {n}i64 + {j}i64" for j in range(n)]
        places = f"(flatten (map (\\{k} -> [{', '.join(sides)}]) {places}))"
        values = f"(flatten {array(w, Array(size, Array(str(n), type.elem)))})"
        return f"(scatter (copy {array(w, type)}) {places} {values})"
    if isinstance(type.elem, Array) and w.decide(2):
        w.note("scatter_2d")
        column = index(w, type.elem.size, 0) or "0i64"
        pairs = f"(map (\\j -> (j, {column})) {places})"
        return f"(scatter_2d (copy {array(w, type)}) {pairs} {array(w, Array(size, type.elem.elem))})"
    values = array(w, Array(size, type.elem))
    if w.one_in(4):
        w.note("spread")
        return f"(spread {type.size} {value(w, type.elem, 1)} {places} {values})"
    w.note("scatter")
    return f"(scatter (copy {array(w, type)}) {places} {values})"


def updated(w: Writer, type: Array) -> str:
    """A copy with an element or a part replaced."""
    name = w.fresh("u")
    if w.one_in(3):
        w.note("update of a slice")
        return f"(let {name} = copy {array(w, type)} in {name} with [:{type.size}] = copy {array(w, type)})"
    known = index(w, type.size, 1)
    new = value(w, type.elem, 2)
    w.note("update")
    if known is not None:
        return f"(copy {array(w, type)} with [{known}] = {new})"
    at = scalar(w, "i64", False, 1)
    whole = array(w, type)
    if w.fails(4):
        return f"(copy {whole} with [{at}] = {new})"
    return (
        f"(let {name} = copy {whole} in if {type.size} > 0 then {name} with [{at} % {type.size}] = {new} else {name})"
    )


# ---- views and bulk ------------------------------------------------------------------------------------------------


def moved(w: Writer, type: Array) -> str:
    what = w.pick(
        ("reverse", "copy", "rotate", "opaque", "id", "[::-1]", "take", "sized", "window", *[":>"] * w.may_fail)
    )
    w.note(what)
    xs = array(w, Array(w.size(), type.elem) if what == ":>" else type)
    match what:
        case "rotate":
            return f"(rotate {scalar(w, 'i64', True, 1)} {xs})"
        case "[::-1]":
            return f"({xs}[::-1] :> {show(type)})"
        case "take":
            return f"(take {type.size} ({xs} ++ {array(w, type)}))"
        case "window":
            at = index(w, type.size, 0) or "0i64"
            other = array(w, type, new=w.decide(2) > 0)
            text = f"({xs} ++ {other})[{w.pick((f'{at}:({at}) + {type.size}', '::2'))}]"
            return f"({text} :> {show(type)})"
        case ":>":
            return f"({xs} :> {show(type)})"
        case "sized":
            return f"(sized {type.size} {xs})"
        case _:
            return f"({what} {xs})"


def chosen(w: Writer, type: Array) -> str:
    w.note("if of arrays")
    return f"(if {scalar(w, 'bool', True, 2)} then {array(w, type)} else {array(w, type)})"


def turned(w: Writer, type: Array) -> str | None:
    match type.elem:
        case Array(inner, elem):
            pass
        case _:
            return None
    match w.decide(5):
        case 0:
            w.note("unflatten")
            flat = array(w, Array(type.size, elem))
            return f"(unflatten (sized ({type.size} * {inner}) (flatten (replicate {inner} {flat}))) : {show(type)})"
        case 1:
            w.note("rearrange")
            return f"(rearrange (1, 0) {array(w, Array(inner, Array(type.size, elem)))})"
        case 2:
            i, j = w.var("i", I64, None, type.size), w.var("j", I64, None, inner)
            with w.inside(i, j):
                body = block(w, elem)
            w.note("tabulate_2d")
            return f"(tabulate_2d {type.size} {inner} (\\{i.name} {j.name} ->{_body(body)}))"
        case _:
            w.note("transpose")
            return f"(transpose {array(w, Array(inner, Array(type.size, elem)))})"


def zipped(w: Writer, type: Array) -> str | None:
    match type.elem:
        case Tuple(elems):
            parts = [array(w, Array(type.size, elem)) for elem in elems]
            w.note("zip")
            return f"({'zip' if len(parts) == 2 else f'zip{len(parts)}'} {' '.join(parts)})"
        case _:
            return None


def row(w: Writer, type: Array) -> str | None:
    """A row of an array of rows, or what stands at a place of an array in a record."""
    for var in w.scope.vars[::-1]:
        match var.type:
            case Array(type.size, Array(inner, type.elem)) if w.decide(2) and (known := index(w, inner, 1)) is not None:
                w.note("column")
                return f"{var.name}[:, {known}]"
            case _:
                pass
        if isinstance(var.type, Array) and var.type.elem == type:
            known = index(w, var.type.size, 1)
            if known is not None:
                w.note("row")
                return f"{var.name}[{known}]" if w.decide(2) else f"{var.name}[{known}, :]"
    return None


def repeated(w: Writer, type: Array) -> str:
    if type.size.isdigit() and w.decide(2):
        w.note("array literal")
        return f"[{', '.join(value(w, type.elem, 2) for _ in range(int(type.size)))}]"
    match w.decide(3):
        case 0:
            w.note("rep")
            return f"(rep {value(w, type.elem, 2)} : {show(type)})"
        case 1:
            i = w.var("i", I64, None, type.size)
            w.note("tabulate")
            return f"(tabulate {type.size} {function(w, (i,), type.elem)})"
        case _:
            w.note("replicate")
            return f"(replicate {type.size} {value(w, type.elem, 2)})"


def looped(w: Writer, type: Array) -> str:
    """An array that a loop changes."""
    a, i = w.var("a", type), w.var("i", I64)
    if w.decide(2):
        start = array(w, type)
        with w.inside(i):
            new = value(w, type.elem, 2)
        bound = type.size if w.decide(2) or not w.may_fail else scalar(w, "i64", False, 1)
        w.note("loop that updates")
        return f"(loop {a.name} = copy {start} for {i.name} < {bound} do {a.name} with [{i.name}] = {new})"
    start = array(w, type)
    with w.inside(a, i):
        body = array(w, type, new=True)
    w.note("loop of an array")
    return f"(loop ({a.name}: {show(type)}) = {start} for {i.name} < {w.decide(4)}i64 do {body})"


def changed(w: Writer, type: Array) -> str:
    """An array that a loop changes in place, beside others."""
    from tests.support.source_programs.rounds import changing

    text, vars = changing(w, type)
    return text if len(vars) == 1 else f"({text}).0"


def iterated(w: Writer, type: Array) -> str:
    x = w.var("x", type)
    start = array(w, type)
    with w.inside(x):
        body = array(w, type, new=True)
    w.note("iterate")
    return f"(iterate {w.decide(3)}i32 (\\({x.name}: {show(type)}) -> {body}) {start})"


def overwritten(w: Writer, type: Array) -> str:
    """A view of something made anew that is overwritten."""
    from tests.support.source_programs.overwritten import overwritten_array

    return overwritten_array(w, type)


def helped(w: Writer, type: Array) -> str | None:
    """A function of the program's header that gives an array."""
    found = [make for name, make in sorted(w.templates.items()) if name.startswith("array ")]
    return w.pick(found)(w, type) if found else None


def called_array(w: Writer, type: Array) -> str | None:
    from tests.support.source_programs.expressions import call

    return call(w, type, 2)


WAYS: tuple[Callable[[Writer, Array], str | None], ...] = (
    mapped, mapped, mapped, mapped, sectioned, rows_reduced, scanned, scanned, counted, counted, scattered, updated,
    moved, chosen, turned, zipped, multiplied, row, repeated, looped, iterated, helped, called_array,
    changed, changed, stencil, stencil, partly, overwritten,
)  # fmt: skip

__all__ = ["array", "function", "literal", "reduced"]
