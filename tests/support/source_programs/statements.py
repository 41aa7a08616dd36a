"""Random bindings: values, tuples taken apart, local functions, loops, matches, updates in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.support.source_programs.arrays import (
    array,
    block,
    function,
    multiplied,
    param,
    pattern,
    small_value,
    source,
)
from tests.support.source_programs.expressions import index, literal, scalar, value
from tests.support.source_programs.overwritten import overwritten
from tests.support.source_programs.rounds import changed, rounds
from tests.support.source_programs.sizes import parted, sized_anew
from tests.support.source_programs.types import (
    FLOATS,
    I64,
    Array,
    Prim,
    Record,
    Sum,
    Tuple,
    Type,
    has_array,
    show,
)
from tests.support.source_programs.writer import Function, Var, Writer, indented


def statements(w: Writer, count: int) -> None:
    """Some bindings, added to the lines of the block."""
    for _ in range(count):
        if w.fuel <= 0:
            return
        w.pick(KINDS)(w)


def let(w: Writer, base: str, type: Type, text: str, own: bool = False, annotated: bool = True) -> Var:
    """Binds an expression to a new name."""
    var = w.var(base, type, None if own else text)
    shown = f"{var.name}: {show(type)}" if annotated else var.name
    w.lines.append(f"let {shown} = {indented(text)}")
    return w.add(replace(var, own=own and has_array(type), block=w.block))


# ---- values --------------------------------------------------------------------------------------------------------


def plain(w: Writer) -> None:
    type = w.type()
    annotated = w.decide(2) == 0
    with w.with_suffixes(not annotated):
        text = value(w, type, new=True)
    let(w, "v", type, text, annotated=annotated)


def arrayed(w: Writer) -> None:
    """An array, mostly of scalars."""
    elem = w.prim() if w.decide(3) else w.type(1)
    type = Array(w.size(), elem)
    text = array(w, type, new=True)
    own = w.decide(2) == 0
    if w.one_in(5):
        w.note("the same again")
        let(w, "ys", type, text)
        own = True
    let(w, "ys", type, f"copy {text}" if own else text, own)


def matrix(w: Writer) -> None:
    type = Array(w.size(), Array(w.size(), w.prim()))
    let(w, "ys", type, array(w, type, new=True))


def product(w: Writer) -> None:
    """A product of two matrices."""
    prim = w.pick(("f32", "f32", *FLOATS))
    type = Array(w.size(), Array(w.size(), Prim(prim)))
    text = multiplied(w, type)
    let(w, "ys", type, text if text is not None else array(w, type))


def asserted(w: Writer) -> None:
    prim = w.prim().name
    cond = scalar(w, "bool", True, 2) if w.may_fail else f"{w.size()} >= 0i64"
    w.note("assert")
    let(w, "v", Prim(prim), f"assert ({cond}) {scalar(w, prim, True, 2)}")


def opened(w: Writer) -> None:
    prim = w.integer().name
    w.note("local open")
    names = [v.name for v in w.vars_of(Prim(prim))]
    x = w.pick(names) if names else literal(w, prim, False)
    body = w.pick(
        (
            f"{x} + i8 3i8",
            f"max {x} (abs {x})",
            f"if {x} < zero then {x} else highest - {x}".replace("zero", f"0{prim}"),
        )
    )
    let(w, "v", Prim(prim), f"{prim}.({body})")


def in_numbers(w: Writer) -> None:
    """A scalar with much arithmetic."""
    prim = w.prim().name
    annotated = w.decide(2) == 0
    let(w, "v", Prim(prim), scalar(w, prim, annotated, 6), annotated=annotated)


# ---- several values at once ----------------------------------------------------------------------------------------


def unzipped(w: Writer) -> None:
    """A tuple of arrays."""
    size, elems = w.size(), tuple(w.type(1) for _ in range(2 + w.decide(2)))
    names = [w.fresh("c") for _ in elems]
    rows = array(w, Array(size, Tuple(elems)))
    w.note("unzip")
    form = f"unzip{'' if len(elems) == 2 else len(elems)} {rows}"
    types = ", ".join(f"[{size}]{show(elem)}" for elem in elems)
    w.lines.append(f"let ({', '.join(names)}): ({types}) = {indented(form)}")
    roots = w.roots_in(rows)
    for name, elem in zip(names, elems, strict=True):
        w.add(Var(name, Array(size, elem), w.block, roots | {name}))


def taken_apart(w: Writer) -> None:
    """A tuple or a record, by a pattern."""
    found = [v for v in w.scope.vars if isinstance(v.type, Tuple | Record)]
    if not found:
        plain(w)
        return
    var = w.pick(found)
    shown, bound = pattern(w, var)
    if bound == (var,):
        return
    w.note("pattern")
    w.lines.append(f"let {shown} = {var.name}")
    for part in bound:
        w.add(replace(part, block=w.block, roots=var.roots | {part.name}))


# ---- functions -----------------------------------------------------------------------------------------------------


def local_function(w: Writer) -> None:
    """A closure, called later; or one given some of its arguments."""
    params = tuple(w.var("a", w.type(1)) for _ in range(1 + w.decide(2)))
    result = w.type(1)
    name = w.fresh("f")
    fixed = w.decide(2) == 0
    texts = [f"({p.name}: {show(p.type)})" for p in params]
    with w.inside(*params):
        body = block(w, result)
    w.note("local function")
    if fixed:
        text = f"let {name} {' '.join(texts)} : {show(result)} = {indented(body)}"
    else:
        text = f"let {name} = \\{' '.join(texts)} : {_term(result)} -> {indented(body)}"
    types = tuple(p.type for p in params)
    roots = w.roots_in(body) - {p.name for p in params}
    w.lines.append(text)
    if len(types) == 2 and w.decide(2):
        part = w.fresh("f")
        arg = value(w, types[0], 1)
        w.lines.append(f"let {part} = {name} {arg}")
        w.note("partial application")
        w.add_function(Function(part, types[1:], result, roots=roots | w.roots_in(arg)))
    w.add_function(Function(name, types, result, roots=roots))
    _apply_now(w, name, types, result)


def _term(type: Type) -> str:
    return show(type)


def _apply_now(w: Writer, name: str, types: tuple[Type, ...], result: Type) -> None:
    if len(types) == 1 and w.decide(2):
        size = w.size()
        text = f"map {name} {array(w, Array(size, types[0]))}"
        let(w, "ys", Array(size, result), text)


def polymorphic(w: Writer) -> None:
    """A local function of any type, used at two."""
    name = w.fresh("g")
    forms = (
        (f"let {name} 'a (x: a) (y: a) = (y, x)", lambda t: Tuple((t, t)), 2),
        (
            f"let {name} 'a (x: a) = {{x = x, y = (x, 1i32)}}",
            lambda t: Record((("x", t), ("y", Tuple((t, Prim("i32")))))),
            1,
        ),
        (f"let {name} [l] 'a 'b (xs: [l]a) (x: b) = (map (\\_ -> x) xs, l)", None, 0),
    )
    text, result, count = w.pick(forms)
    w.lines.append(text)
    w.note("polymorphic local function")
    for _ in range(2):
        elem = w.type(1)
        if result is None:
            size = w.size()
            with w.with_suffixes(True):
                xs = array(w, Array(size, w.prim()))
            call = f"({name} {xs} {value(w, elem, 1)}).0"
            let(w, "ys", Array(size, elem), call)
        else:
            args = " ".join(value(w, elem, 1) for _ in range(count))
            let(w, "v", result(elem), f"{name} {args}")


# ---- loops ---------------------------------------------------------------------------------------------------------


def looped(w: Writer) -> None:
    """A loop over a tuple of values."""
    types = tuple(w.type(1) if w.decide(3) == 0 else w.prim() for _ in range(1 + w.decide(3)))
    state = tuple(w.var("s", type) for type in types)
    start = [value(w, type, 2) for type in types]
    kind = w.decide(3)
    further: tuple[Var, ...] = ()
    shown = [f"({v.name}: {show(v.type)})" for v in state]
    extra = 0
    match kind:
        case 0:
            size = w.size()
            i = w.var("i", I64, None, size)
            bound = size
            if w.decide(2):
                bound, i = f"({scalar(w, 'i64', False, 2)} & 7)", replace(i, below=None)
            if w.one_in(5):
                prim = w.integer()
                i, bound = w.var("i", prim), f"{w.decide(9)}{prim.name}"
            form, further = f"for {i.name} < {bound}", (i,)
            w.note("loop for")
        case 1:
            text, elem = source(w, w.size())
            x = w.var("x", elem)
            pat, further = pattern(w, x)
            form = f"for {pat} in {text}"
            w.note("loop for in")
        case _:
            count = w.var("c", Prim("i32"))
            state, shown, start = (count, *state), [count.name, *shown], ["0i32", *start]
            extra = 1
            with w.inside(*state):
                cond = scalar(w, "bool", True, 2)
            form = f"while {count.name} < {1 + w.decide(6)} && {cond}"
            form = form.replace(" &&", "\x02i32\x03 &&", 1)
            w.note("loop while")
    with w.inside(*state, *further):
        body = _results(w, state[extra:], [f"{state[0].name} + 1\x02i32\x03"] if extra else [])
    names = tuple(w.var("r", type) for type in types)
    given = ["_"] * extra + [f"{v.name}: {show(v.type)}" for v in names]
    left = given[0] if len(given) == 1 else f"({', '.join(given)})"
    init = start[0] if len(start) == 1 else f"({', '.join(start)})"
    pat_text = shown[0] if len(shown) == 1 else f"({', '.join(s[1:-1] if s.startswith('(') else s for s in shown)})"
    roots = w.roots_in(init + body)
    w.lines.append(f"let {left} = loop {pat_text} = {init} {form} do{indented(chr(10) + body)}")
    for name in names:
        w.add(replace(name, block=w.block, roots=name.roots | roots))


def _results(w: Writer, state: tuple[Var, ...], before: list[str]) -> str:
    if w.decide(2):
        statements(w, 1 + w.decide(2))
    values = [*before, *(value(w, v.type, 3, new=w.decide(4) > 0) for v in state)]
    final = values[0] if len(values) == 1 else f"({', '.join(values)})"
    return "\n".join([*w.lines, f"in {final}"]) if w.lines else final


# ---- branches ------------------------------------------------------------------------------------------------------


def matched(w: Writer) -> None:
    """A match on a sum, a number or a tuple."""
    result = w.type(1)
    sums = [type for type in w.named if isinstance(type, Sum) and w.in_scope(type)]
    cases: list[tuple[str, tuple[Var, ...]]] = []
    if sums and w.decide(3):
        type = w.pick(sums)
        scrutinee = f"({value(w, type, 2)})"
        for name, args in type.constructors:
            bound = tuple(w.var("m", arg) for arg in args)
            cases.append((" ".join([f"#{name}", *(v.name for v in bound)]), bound))
        if w.one_in(3):
            cases = [*cases[:1], ("_", ())]
        w.note("match of a sum")
    elif w.decide(2):
        prim = w.integer().name
        scrutinee = scalar(w, prim, False, 2)
        numbers = w.pick(((0, 1), (2,), (1, 3, 5)))
        cases = [(f"{number}\x02{prim}\x03", ()) for number in numbers]
        rest = w.var("m", Prim(prim))
        cases.append((rest.name, (rest,)))
        w.note("match of numbers")
    else:
        x, y = w.var("m", Prim("bool")), w.var("m", w.prim())
        scrutinee = f"({scalar(w, 'bool', False, 2)}, ({value(w, y.type, 2)} : {show(y.type)}))"
        cases = [(f"(true, {y.name})", (y,)), (f"({x.name}, _)", (x,))]
        w.note("match of a tuple")
    lines = []
    for pat, bound in cases:
        with w.inside(*bound):
            lines.append(f"\n  case {pat} -> {indented(indented(_arm(w, result)))}")
    let(w, "v", result, f"(match {scrutinee}{''.join(lines)})")


def _arm(w: Writer, result: Type) -> str:
    text = block(w, result)
    return f"({text})" if text.startswith("let") else text


def branched(w: Writer) -> None:
    """An `if` whose branches have bindings of their own."""
    result = w.type(1)
    cond = scalar(w, "bool", True, 2)
    with w.inside():
        yes = _arm(w, result)
    with w.inside():
        no = _arm(w, result)
    w.note("if")
    let(w, "v", result, f"if {cond} then {indented(yes)} else {indented(no)}")


# ---- updates in place ----------------------------------------------------------------------------------------------


def updated(w: Writer) -> None:
    """An update that consumes an array of the block."""
    found = [v for v in w.scope.vars if v.own and v.block == w.block and isinstance(v.type, Array)]
    if not found:
        arrayed(w)
        return
    var = w.pick(found)
    assert isinstance(var.type, Array)
    n = var.type.size
    known = index(w, n, 1)
    if known is None or (w.one_in(3) and isinstance(var.type.elem, Prim)):
        known = f":{n} / 2"
        filler = f"(replicate ({n} / 2) {value(w, var.type.elem, 1)})"
        text, what = filler, "update in place of a slice"
    else:
        text, what = value(w, var.type.elem, 2), "update in place"
        text = f"(copy {text})" if has_array(var.type.elem) else text
    w.note(what)
    if w.decide(2):
        w.lines.append(f"let {var.name}[{known}] = {text}")
        w.consume(var)
        w.add(replace(var, roots=frozenset((var.name,))))
    else:
        new = w.var("ys", var.type)
        w.lines.append(f"let {new.name} = {var.name} with [{known}] = {text}")
        w.consume(var)
        w.add(replace(new, own=True, block=w.block))


def consumed(w: Writer) -> None:
    """A call of a function that consumes its argument."""
    found = [f for f in w.scope.functions if f.consumes]
    own = [v for v in w.scope.vars if v.own and v.block == w.block and isinstance(v.type, Array)]
    for f in found:
        for v in own:
            if isinstance(v.type, Array) and isinstance(f.params[0], Array) and v.type.elem == f.params[0].elem:
                new = w.var("ys", v.type)
                w.lines.append(f"let {new.name} = {f.name} {v.name}")
                w.note("call that consumes")
                w.consume(v)
                w.add(replace(new, own=True, block=w.block))
                return
    updated(w)


def field_replaced(w: Writer) -> None:
    found = [v for v in w.scope.vars if isinstance(v.type, Record) and v.block == w.block]
    if not found:
        plain(w)
        return
    var = w.pick(found)
    assert isinstance(var.type, Record)
    name, type = w.pick(var.type.fields)
    w.note("field replaced")
    text = value(w, type, 2)
    w.lines.append(f"let {var.name}.{name} = {text}")
    roots = var.roots | w.roots_in(text)
    w.scope = replace(w.scope, vars=tuple(replace(v, roots=roots) if v == var else v for v in w.scope.vars))


def helped(w: Writer) -> None:
    """Something that uses the program's header."""
    found = [make for name, make in sorted(w.templates.items()) if name.startswith("statement ")]
    if found:
        w.pick(found)(w)
    else:
        arrayed(w)


KINDS: tuple[Callable[[Writer], None], ...] = (
    arrayed, arrayed, arrayed, plain, in_numbers, *[sized_anew] * 7, unzipped, parted, taken_apart,
    local_function, polymorphic, looped, looped, matched, branched, updated, updated, consumed, field_replaced,
    asserted, opened, product, helped, matrix, matrix, changed, rounds, rounds,
    overwritten, overwritten, overwritten,
)  # fmt: skip

__all__ = ["FLOATS", "function", "param", "small_value", "statements"]
