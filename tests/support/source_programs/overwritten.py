"""Random arrays that are made anew in some way and seen in another, then overwritten, while what they were made of is
read later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.support.source_programs.expressions import index, scalar, value
from tests.support.source_programs.types import I64, Array, Prim, Tuple, Type, has_array, show
from tests.support.source_programs.writer import Var, Writer

DEPTH = 4


def overwritten(w: Writer) -> None:
    """A view of something made anew is overwritten; what it was made of is read behind that."""
    source = _source(w)
    assert isinstance(source.type, Array)
    type = source.type if w.decide(3) else _of_rows(w, source.type)
    new, after, kept = w.var("o", type), w.var("o", type), w.var("o", source.type, source.name)
    text = viewed(w, type, DEPTH)
    w.note("overwritten view of what is made anew")
    w.lines.append(f"let {new.name}: {show(type)} = {text}")
    with w.inside(replace(new, own=True)):
        changed = _changed(w, new)
    w.lines.append(f"let {after.name}: {show(type)} = {changed}")
    w.add(replace(after, own=True, block=w.block))
    w.lines.append(f"let {kept.name}: {show(source.type)} = {_read_later(w, source)}")
    w.add(replace(kept, block=w.block))


def overwritten_array(w: Writer, type: Array) -> str:
    """The same within an expression."""
    new = w.var("o", type)
    text = viewed(w, type, DEPTH - 1)
    w.note("overwritten view within an expression")
    with w.inside(replace(new, own=True)):
        changed = _changed(w, new)
    return f"(let {new.name}: {show(type)} = {text} in {changed})"


def _source(w: Writer) -> Var:
    """An array with a name."""
    from tests.support.source_programs.arrays import array

    found = [v for v in w.arrays() if not v.own]
    if found and w.decide(8):
        return w.recent(found) if w.decide(2) else w.pick(found)
    type = Array(w.size(), w.prim() if w.decide(2) else Array(w.size(), w.prim()))
    text = array(w, type, new=True)
    var = w.var("ys", type, text)
    w.lines.append(f"let {var.name}: {show(type)} = {text}")
    return w.add(var)


def _of_rows(w: Writer, type: Array) -> Array:
    match type.elem:
        case Array() if w.decide(2):
            return type.elem
        case _:
            return Array(w.pick(("2", "3", "1")), type)


def _read_later(w: Writer, source: Var) -> str:
    assert isinstance(source.type, Array)
    match w.decide(4):
        case 0:
            return f"copy {source.name}"
        case 1:
            return f"map (\\x -> x) {source.name}"
        case _:
            return source.name


# ---- made anew -------------------------------------------------------------------------------------------------------


def held(w: Writer, type: Type, depth: int) -> str:
    """A value of a type, one with a name where there is one."""
    paths = w.paths(type)
    if paths and w.decide(5):
        return w.recent(paths)
    if isinstance(type, Array):
        return viewed(w, type, depth - 1) if depth > 0 else _filled(w, type)
    return value(w, type, 1)


def _filled(w: Writer, type: Array) -> str:
    if isinstance(type.elem, Prim) and (rows := [v for v in w.arrays(type.size) if isinstance(v.type, Array)]):
        var = w.recent(rows)
        if isinstance(var.type, Array) and isinstance(var.type.elem, Prim) and var.type.elem != type.elem:
            return f"(map {type.elem.name}.{var.type.elem.name} {var.name})"
    return f"(replicate {type.size} {held(w, type.elem, 0)})"


def fresh(w: Writer, type: Array, depth: int) -> str:
    """An array in memory of its own."""
    for _ in range(6 if depth > 0 else 0):
        made = w.pick(FRESH)(w, type, depth - 1)
        if made is not None:
            return made
    return f"(copy {held(w, type, depth)})"


def _copy(w: Writer, type: Array, depth: int) -> str:
    w.note("own: copy")
    return f"(copy {held(w, type, depth)})"


def _replicate(w: Writer, type: Array, depth: int) -> str | None:
    if not isinstance(type.elem, Array):
        return None
    w.note("own: replicate")
    return f"(replicate {type.size} {held(w, type.elem, depth)})"


def _literal(w: Writer, type: Array, depth: int) -> str | None:
    if not type.size.isdigit():
        return None
    w.note("own: literal")
    return f"[{', '.join(held(w, type.elem, depth) for _ in range(int(type.size)))}]"


def _map(w: Writer, type: Array, depth: int) -> str:
    x = w.var("x", type.elem, among=type.size)
    whole = held(w, type, depth)
    i = w.var("i", I64, None, type.size)
    w.note("own: map")
    match w.decide(6):
        case 0:
            return f"(map copy {whole})"
        case 1:
            return f"(map (\\{i.name} -> {held(w, type.elem, depth)}) (iota {type.size}))"
        case 2 if whole.isidentifier():
            at = w.pick((i.name, f"{type.size} - 1 - {i.name}"))
            return f"(map (\\{i.name} -> {whole}[{at}]) (iota {type.size}))"
        case 3 if isinstance(type.elem, Array):
            with w.inside(x):
                row = viewed(w, type.elem, depth)
            return f"(map (\\({x.name}: {show(type.elem)}) -> {row}) {whole})"
        case 4 if isinstance(type.elem, Array):
            with w.inside(x):
                row = overwritten_array(w, type.elem) if depth > 0 else x.name
            return f"(map (\\({x.name}: {show(type.elem)}) -> {row}) {whole})"
        case _:
            return f"(map (\\({x.name}: {show(type.elem)}) -> {x.name}) {whole})"


def _concat(w: Writer, type: Array, depth: int) -> str:
    w.note("own: concat")
    a, b = held(w, type, depth), held(w, type, depth)
    part = w.pick((f"[:{type.size}]", "[::2]", f"[{type.size}:]"))
    return f"(({a} ++ {b}){part} :> {show(type)})"


def _iota(w: Writer, type: Array, depth: int) -> str | None:
    if type.elem != I64:
        return None
    w.note("own: iota")
    return f"(iota {type.size})"


def _branch(w: Writer, type: Array, depth: int) -> str:
    w.note("own: branch")
    return f"(if {scalar(w, 'bool', True, 2)} then {viewed(w, type, depth)} else {viewed(w, type, depth)})"


def _loop(w: Writer, type: Array, depth: int) -> str:
    a, i = w.var("a", type), w.var("i", I64)
    start = viewed(w, type, depth)
    w.note("own: loop")
    with w.inside(i, replace(a, own=True)):
        body = _changed(w, a) if w.decide(2) else viewed(w, type, depth)
    bound = w.pick((type.size, "2i64", "1i64", "3i64"))
    return f"(loop ({a.name}: *{show(type)}) = {start} for {i.name} < {bound} do {body})"


def _of_function(w: Writer, type: Array, depth: int) -> str | None:
    found = [name for name in sorted(w.templates) if name.startswith("own ")]
    if not found:
        return None
    w.note("own: function")
    return f"({w.pick(found).removeprefix('own ')} {held(w, type, depth)})"


def _field(w: Writer, type: Array, depth: int) -> str:
    w.note("own: field")
    own, other = viewed(w, type, depth), held(w, type, depth)
    r = w.fresh("r")
    return w.pick((
        f"(({own}, {other}).0)", f"(let {r} = {{a = {own}, b = {other}}} in {r}.a)",
        f"(let ({r}, _) = ({own}, {other}) in {r})", f"((unzip (zip {own} {other})).0)",
    ))  # fmt: skip


def _computed(w: Writer, type: Array, depth: int) -> str | None:
    from tests.support.source_programs.arrays import counted, scanned, scattered, updated

    return w.pick((counted, scanned, scattered, updated))(w, type) if w.spend() else None


FRESH: tuple[Callable[[Writer, Array, int], str | None], ...] = (
    _copy, _copy, _replicate, _replicate, _literal, _literal, _map, _map, _map, _concat, _iota, _branch, _loop,
    _of_function, _of_function, _field, _computed,
)  # fmt: skip


# ---- seen in another way ---------------------------------------------------------------------------------------------


def viewed(w: Writer, type: Array, depth: int) -> str:
    """Something made anew, or a view of it that alone refers to it."""
    for _ in range(4 if depth > 0 else 0):
        made = w.pick(VIEWS)(w, type, depth - 1)
        if made is not None:
            return made
    return fresh(w, type, depth)


def _whole(w: Writer, type: Array, depth: int) -> str:
    return fresh(w, type, depth)


def _row(w: Writer, type: Array, depth: int) -> str:
    count = w.pick(("3", "2", "1"))
    rows = viewed(w, Array(count, type), depth) if w.decide(2) else fresh(w, Array(count, type), depth)
    at = w.decide(int(count))
    w.note("seen: row")
    return w.pick((f"{rows}[{at}]", f"{rows}[{at}]", f"{rows}[{at}, :]", f"({rows}[{at}, ::-1] :> {show(type)})"))


def _known_row(w: Writer, type: Array, depth: int) -> str | None:
    """A row of as many rows as some array has."""
    size = w.size()
    at = index(w, size, 0)
    if at is None:
        return None
    w.note("seen: row")
    return f"{viewed(w, Array(size, type), depth)}[{at}]"


def _reversed(w: Writer, type: Array, depth: int) -> str:
    w.note("seen: reversed")
    return w.pick((f"({viewed(w, type, depth)}[::-1] :> {show(type)})", f"(reverse {viewed(w, type, depth)})"))


def _part(w: Writer, type: Array, depth: int) -> str:
    w.note("seen: part")
    whole = viewed(w, type, depth)
    return w.pick((f"({whole}[0:{type.size}] :> {show(type)})", f"(take {type.size} {whole})"))


def _rotated(w: Writer, type: Array, depth: int) -> str:
    w.note("seen: rotated")
    return f"(rotate {w.decide(3)} {viewed(w, type, depth)})"


def _column(w: Writer, type: Array, depth: int) -> str:
    count = w.pick(("2", "1"))
    w.note("seen: column")
    return f"{viewed(w, Array(type.size, Array(count, type.elem)), depth)}[:, {w.decide(int(count))}]"


def _turned(w: Writer, type: Array, depth: int) -> str | None:
    match type.elem:
        case Array(inner, elem):
            pass
        case _:
            return None
    w.note("seen: transposed")
    whole = viewed(w, Array(inner, Array(type.size, elem)), depth)
    return w.pick((f"(transpose {whole})", f"(rearrange (1, 0) {whole})"))


def _turned_outside(w: Writer, type: Array, depth: int) -> str:
    w.note("seen: row of transposed")
    whole = viewed(w, Array(type.size, Array("2", type.elem)), depth)
    return f"((transpose {whole})[{w.decide(2)}])"


def _flat(w: Writer, type: Array, depth: int) -> str:
    w.note("seen: flattened")
    rows = Array("1", type) if w.decide(2) else Array(type.size, Array("1", type.elem))
    return f"(flatten {viewed(w, rows, depth)} :> {show(type)})"


def _unflat(w: Writer, type: Array, depth: int) -> str | None:
    match type.elem:
        case Array(inner, elem):
            pass
        case _:
            return None
    w.note("seen: unflattened")
    flat = f"flatten {viewed(w, type, depth)}"
    if type.size == "1":
        flat = f"{viewed(w, Array(inner, elem), depth)} :> [1 * {inner}]{show(elem)}"
    return f"(unflatten ({flat}) : {show(type)})"


def _rows(w: Writer, type: Array, depth: int) -> str | None:
    """Each row is a view."""
    match type.elem:
        case Array() as row:
            pass
        case _:
            return None
    w.note("seen: map of views")
    x = w.var("x", row)
    views = [f"map (\\({x.name}: {show(row)}) -> {x.name}[::-1] :> {show(row)})", "map reverse", "map id"]
    if isinstance(row.elem, Array) and row.size == row.elem.size:
        views.append("map transpose")
    return f"({w.pick(views)} {viewed(w, type, depth)})"


def _named(w: Writer, type: Array, depth: int) -> str:
    """A view of a name."""
    name = w.fresh("t")
    two = Tuple((type, type))
    if w.one_in(4):
        w.note("seen: part of a tuple")
        return f"(let {name}: {show(two)} = ({fresh(w, type, depth)}, {held(w, type, depth)}) in {name}.0)"
    w.note("seen: named")
    view = w.pick((name, f"{name}[::-1] :> {show(type)}", f"reverse {name}", f"{name}[:{type.size}]"))
    return f"(let {name} = {viewed(w, type, depth)} in {view})"


VIEWS: tuple[Callable[[Writer, Array, int], str | None], ...] = (
    _whole, _whole, _row, _row, _row, _known_row, _reversed, _part, _rotated, _column, _turned, _turned,
    _turned_outside, _flat, _unflat, _rows, _rows, _named, _named,
)  # fmt: skip


# ---- overwritten -----------------------------------------------------------------------------------------------------


def _changed(w: Writer, var: Var) -> str:
    """What is made of an array that is consumed."""
    type = var.type
    assert isinstance(type, Array)
    n, v = type.size, var.name
    scope = w.scope
    w.scope = replace(scope, vars=tuple(x for x in scope.vars if x.name != v))
    try:
        return _overwriting(w, v, n, type)
    finally:
        w.scope = scope


def _overwriting(w: Writer, v: str, n: str, type: Array) -> str:
    elem = type.elem
    match w.decide(8):
        case 0:
            return f"{v} with [:{n} / 2] = copy ({held(w, type, 1)})[{n} - {n} / 2:]"
        case 1:
            i = w.var("i", I64, None, n)
            with w.inside(i):
                new = _element(w, elem)
            a = w.fresh("a")
            return f"loop {a} = {v} for {i.name} < {n} do {a} with [{i.name}] = {new}"
        case 2:
            i = w.var("i", I64)
            k = w.pick(("1", "2", n))
            return f"scatter {v} (map (\\{i.name} -> {i.name} * 2i64) (iota {k})) {held(w, Array(k, elem), 1)}"
        case 3 if isinstance(elem, Prim) and elem.name in ("i32", "i64", "u8"):
            k = w.pick(("2", n))
            return f"reduce_by_index {v} {elem.name}.max {elem.name}.lowest (iota {k}) {held(w, Array(k, elem), 1)}"
        case 4 if found := [name for name in sorted(w.templates) if name.startswith("over ")]:
            return f"{w.pick(found).removeprefix('over ')} {v}"
        case 5 if isinstance(elem, Array) and n.isdigit():
            at, j = w.decide(int(n)), w.var("j", I64, None, elem.size)
            with w.inside(j):
                new = _element(w, elem.elem)
            a = w.fresh("a")
            return f"loop {a} = {v} for {j.name} < {elem.size} do {a} with [{at}, {j.name}] = {new}"
        case _:
            known = index(w, n, 0)
            new = _element(w, elem)
            if known is not None:
                return f"{v} with [{known}] = {new}"
            return f"if {n} > 0i64 then {v} with [{w.pick(('0', f'{n} - 1', f'1 % {n}'))}] = {new} else {v}"


def _element(w: Writer, elem: Type) -> str:
    return f"(copy {held(w, elem, 1)})" if has_array(elem) else f"({value(w, elem, 2, new=True)})"
