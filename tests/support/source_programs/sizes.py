"""Random bindings of arrays whose size only the run decides, and of what a partition gives."""

from __future__ import annotations

from dataclasses import replace

from tests.support.source_programs.arrays import array, pattern, source
from tests.support.source_programs.expressions import scalar, value
from tests.support.source_programs.types import I64, INTS, Array, Prim, Type, show
from tests.support.source_programs.writer import Var, Writer, indented

STRIDES = ("i64.highest", "i64.lowest", "i64.highest - 1i64", "-i64.highest")

# ---- new sizes -----------------------------------------------------------------------------------------------------


def sized_anew(w: Writer) -> None:
    """An array whose size only the run decides, and a name for the size."""
    made = w.pick(NEW_SIZES)(w)
    if made is None:
        return
    elem, text, fresh = made
    size = w.fresh("k")
    var = w.var("zs", Array(size, elem), None if fresh else text)
    w.lines.append(f"let [{size}] ({var.name}: {show(var.type)}) = {indented(text)}")
    w.add(replace(var, own=fresh, block=w.block))
    w.add_size(size)


def _some(w: Writer) -> tuple[str, Type]:
    """An array of any size."""
    found = w.arrays()
    if found and w.decide(6):
        chosen = w.recent(found)
        assert isinstance(chosen.type, Array)
        return chosen.name, chosen.type.elem
    return source(w, w.size())


def _filtered(w: Writer) -> tuple[Type, str, bool]:
    text, elem = _some(w)
    w.note("filter")
    return elem, f"filter {_predicate(w, elem)} {text}", True


def _predicate(w: Writer, elem: Type) -> str:
    x = w.var("x", elem)
    shown, bound = pattern(w, x)
    with w.inside(*bound):
        cond = scalar(w, "bool", True, 3)
    return f"(\\{shown} -> {cond})"


def _sliced(w: Writer) -> tuple[Type, str, bool]:
    found = w.arrays()
    if not found:
        return _filtered(w)
    xs = w.recent(found)
    assert isinstance(xs.type, Array)
    n = xs.type.size
    w.note("slice")
    half = f"{n} / 2"
    if w.one_in(4):
        w.note("slice by a large step")
        return xs.type.elem, f"{xs.name}[::{w.pick(STRIDES)}]", False
    parts = [
        f"[{half}:]",
        f"[:{half}]",
        "[::2]",
        "[::-1]",
        "[::-2]",
        f"[::{scalar(w, 'i64', True, 2)} | 1i64]",
        f"[{n} / 3:{n} - {n} / 3]",
        f"[::{1 + w.decide(4)}]",
        f"[:{n} - {n} % 4]",
    ]
    if w.may_fail:
        parts += ["[1:]", f"[:{n} - 1]", f"[{w.decide(4)}:{w.decide(6)}]", "[2::-1]"]
    return xs.type.elem, f"{xs.name}{w.pick(parts)}", False


def _joined(w: Writer) -> tuple[Type, str, bool]:
    text, elem = _some(w)
    w.note("++")
    parts = [text, *(array(w, Array(w.size(), elem), new=w.decide(2) > 0) for _ in range(1 + w.decide(3)))]
    if w.one_in(3):
        parts[-1] = f"filter {_predicate(w, elem)} {parts[-1]}"
        parts[-1] = f"({parts[-1]})"
    parts = parts[::-1] if w.decide(2) else parts
    if len(parts) == 2 and w.one_in(3):
        return elem, f"concat {' '.join(parts)}", True
    return elem, " ++ ".join(parts) if w.decide(2) else f"{parts[0]} ++ ({' ++ '.join(parts[1:])})", True


def _flat(w: Writer) -> tuple[Type, str, bool] | None:
    elem = w.prim()
    rows = array(w, Array(w.size(), Array(w.size(), elem)))
    w.note("flatten")
    return elem, f"flatten {rows}", False


def _counted(w: Writer) -> tuple[Type, str, bool]:
    count = f"({scalar(w, 'i64', True, 2)} & {w.pick((3, 7, 15))})"
    if w.fails(4):
        count = scalar(w, "i64", True, 1) + " % 50i64 - 2i64"
        count = f"({count})"
    if w.decide(2):
        w.note("iota of a value")
        return I64, f"iota {count}", True
    elem = w.type(1)
    w.note("replicate of a value")
    return (
        elem,
        f"replicate {count} {value(w, elem, 2)}"
        if isinstance(elem, Prim)
        else f"replicate {count} ({value(w, elem, 2)} : {show(elem)})",
        True,
    )


def _taken(w: Writer) -> tuple[Type, str, bool]:
    found = w.arrays()
    if not found:
        return _joined(w)
    xs = w.recent(found)
    assert isinstance(xs.type, Array)
    what = w.pick(("take", "drop"))
    w.note(what)
    return xs.type.elem, f"{what} (({scalar(w, 'i64', True, 2)} & 7) `i64.min` {xs.type.size}) {xs.name}", False


def _of_branches(w: Writer) -> tuple[Type, str, bool]:
    text, elem = _some(w)
    w.note("branches of different sizes")
    return elem, f"if {scalar(w, 'bool', True, 2)} then {text} else {array(w, Array(w.size(), elem))}", False


def _grown(w: Writer) -> tuple[Type, str, bool]:
    text, elem = _some(w)
    xs, i = w.fresh("xs"), w.var("i", I64)
    with w.inside(i):
        more = value(w, elem, 2)
    w.note("loop that changes a size")
    form = w.pick((f"for {i.name} < {w.decide(5)}i64", f"for {i.name} in iota {w.size()}"))
    return elem, f"loop ({xs}: []{show(elem)}) = {text} {form} do {xs} ++ [{more}]", False


def _halved(w: Writer) -> tuple[Type, str, bool]:
    text, elem = _some(w)
    xs = w.fresh("xs")
    w.note("while that changes a size")
    return elem, f"loop ({xs}: []{show(elem)}) = {text} while length {xs} > 2 do {xs}[:length {xs} / 2]", False


def _range(w: Writer) -> tuple[Type, str, bool]:
    prim = w.pick(INTS)
    w.note("range")
    low, high, step = w.decide(4), 4 + w.decide(20), 1 + w.decide(4)
    end = w.pick(("..<", "..."))
    if w.decide(2):
        return Prim(prim), f"{low}{prim}..{low + step}{end}{high}", True
    return Prim(prim), f"{high}{prim}..{high - step}{w.pick(('..>', '...'))}{low}", True


def _text(w: Writer) -> tuple[Type, str, bool]:
    w.note("string")
    return Prim("u8"), w.pick(('"abc"', '"h\\u{e9}llo"'.replace("\\u{e9}", "é"), '""', '"a\\nb"')), True


NEW_SIZES = (
    _filtered, _filtered, _sliced, _sliced, _sliced, _joined, _joined, _joined, _flat, _counted, _counted, _taken,
    _of_branches, _grown, _halved, _range, _text,
)  # fmt: skip


# ---- parts ----------------------------------------------------------------------------------------------------------


def parted(w: Writer) -> None:
    """What a partition gives."""
    found = w.arrays()
    if not found:
        return
    xs = w.recent(found)
    assert isinstance(xs.type, Array)
    elem, size = xs.type.elem, w.fresh("k")
    a, b = w.fresh("p"), w.fresh("p")
    kind = w.pick(("partition", "partition", "semipartition", "partition2", "flatmap"))
    w.note(kind)
    if kind == "flatmap":
        _flatmapped(w, xs, elem)
        return
    roots = xs.roots | {a, b}
    if kind == "partition2":
        other, c = w.fresh("k"), w.fresh("p")
        types = f"[{size}]{show(elem)}, [{other}]{show(elem)}, [{xs.type.size}-{size}-{other}]{show(elem)}"
        shown = f"[{size}][{other}] (({a}, {b}, {c}): ({types}))"
        w.lines.append(f"let {shown} = partition2 {_predicate(w, elem)} {_predicate(w, elem)} {xs.name}")
        w.add_size(size)
        w.add_size(other)
        w.add(Var(b, Array(other, elem), w.block, roots))
    else:
        shown = f"[{size}] (({a}, {b}): ([{size}]{show(elem)}, [{xs.type.size}-{size}]{show(elem)}))"
        w.lines.append(f"let {shown} = {kind} {_predicate(w, elem)} {xs.name}")
        w.add_size(size)
        rest = w.fresh("k")
        w.lines.append(f"let [{rest}] ({b}: [{rest}]{show(elem)}) = {b}")
        w.add_size(rest)
        w.add(Var(b, Array(rest, elem), w.block, roots))
    w.add(Var(a, Array(size, elem), w.block, roots))


def _flatmapped(w: Writer, xs: Var, elem: Type) -> None:
    assert isinstance(xs.type, Array)
    size, names = w.fresh("k"), [w.fresh("q") for _ in range(4)]
    inner = w.prim()
    x, i, row = w.var("x", elem), w.var("i", I64), w.fresh("m")
    with w.inside(x):
        count = scalar(w, "i64", True, 2)
        with w.inside(i):
            cell = scalar(w, inner.name, True, 2)
    row_text = f"map (\\{i.name} -> ({cell} : {inner.name})) (iota {row})"
    f = f"(\\({x.name}: {show(elem)}) -> let {row} = {count} & 3 in {row_text})"
    n = xs.type.size
    shown = f"[{size}] (({', '.join(names)}): ([{n}]i64, [{size}]bool, [{n}]i64, [{size}]{inner.name}))"
    w.lines.append(f"let {shown} = flatmap' {indented(f)} {xs.name}")
    w.add_size(size)
    for name, type in zip(
        names, (Array(n, I64), Array(size, Prim("bool")), Array(n, I64), Array(size, inner)), strict=True
    ):
        w.add(Var(name, type, w.block, xs.roots | {*names}))
