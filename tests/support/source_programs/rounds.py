"""Random loops over arrays: changed in place at own and other places, several at once; or made anew in each round,
kept, exchanged and chosen."""

from __future__ import annotations

from dataclasses import replace

from tests.support.source_programs.expressions import index, scalar, value
from tests.support.source_programs.types import I64, Array, Prim, Type, has_array, show
from tests.support.source_programs.writer import Var, Writer, indented

# ---- in place --------------------------------------------------------------------------------------------------------


def changing(w: Writer, type: Array) -> tuple[str, tuple[Var, ...]]:
    """A loop that changes one to three arrays of a size, the first of a type; and the arrays."""
    from tests.support.source_programs.arrays import array

    n = type.size
    types = (type, *(w.pick((type, Array(n, w.prim()))) for _ in range(w.decide(3))))
    state = tuple(w.var("a", one) for one in types)
    annotated = w.decide(4) > 0
    with w.with_suffixes(not annotated):
        starts = [f"copy {array(w, one)}" for one in types]
    i = w.var("i", I64, None, n)
    with w.inside(i, *state):
        vars = list(state)
        while vars:
            _change(w, vars.pop(w.decide(len(vars))), i.name)
        body = "\n".join(w.lines)
    w.note(f"loop that changes {len(state)} in place")
    names, given = _tuple([v.name for v in state]), _tuple(starts)
    shown = f"({', '.join(f'{v.name}: *{show(v.type)}' for v in state)})" if annotated else names
    bound = w.pick((n, n, n, f"{n} / 2i64", f"i64.min {n} 3i64"))
    form = f"{i.name} < {bound}" if w.decide(4) else f"{i.name} in iota {n}"
    return f"(loop {shown} = {given} for {form} do{indented(chr(10) + body)}\n  in {names})", state


def _change(w: Writer, a: Var, i: str) -> None:
    """One or two places of an array get what all arrays hold."""
    assert isinstance(a.type, Array)
    n, elem = a.type.size, a.type.elem
    for _ in range(1 + w.one_in(5)):
        at = i if w.decide(3) else index(w, n, 1) or i
        new = value(w, elem, 3)
        match w.decide(6):
            case 0:
                text = f"if {scalar(w, 'bool', True, 2)} then {a.name} with [{at}] = {_own(new, elem)} else {a.name}"
            case 1 if not has_array(elem):
                text = f"{a.name} with [{i}:{i} + 1i64] = [{new}]"
            case 2 if isinstance(elem, Array) and isinstance(elem.elem, Prim):
                j = w.var("j", I64, None, elem.size)
                with w.inside(j):
                    cell = scalar(w, elem.elem.name, True, 2)
                text = f"loop {a.name} for {j.name} < {elem.size} do {a.name} with [{at}, {j.name}] = {cell}"
                text = text.replace(f"loop {a.name} for", f"loop {a.name} = {a.name} for")
            case _:
                text = f"{a.name} with [{at}] = {_own(new, elem)}"
        w.lines.append(f"let {a.name} = {text}")
        w.consume(a)
        w.add(replace(a, block=w.block))


def _own(text: str, type: Type) -> str:
    return f"(copy {text})" if has_array(type) else text


def _tuple(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def changed(w: Writer) -> None:
    """Arrays that a loop has changed, of which some are needed."""
    text, state = changing(w, Array(w.size(), w.prim() if w.decide(3) else w.type(1)))
    _bound(w, text, tuple(v.type for v in state), "")


def _bound(w: Writer, text: str, types: tuple[Type, ...], roots: str) -> None:
    """Binds the parts of a value, some of them to no name."""
    kept = w.decide(len(types))
    names = [None if k != kept and w.one_in(4) else w.var("r", type, roots) for k, type in enumerate(types)]
    shown = ["_" if v is None else f"{v.name}: {show(v.type)}" for v in names]
    w.lines.append(f"let {_tuple(shown)} = {indented(text)}")
    for v in names:
        if v is not None:
            w.add(replace(v, block=w.block))


# ---- made anew -------------------------------------------------------------------------------------------------------


def rounds(w: Writer) -> None:
    """A loop over arrays of one type, and rows of them, that are made anew, kept, exchanged or chosen in each round."""
    from tests.support.source_programs.arrays import array

    row = Array(w.size(), w.prim())
    types: tuple[Array, ...] = (row,) * (1 + w.decide(3))
    if w.decide(2):
        types = (Array(w.pick(("3", "2", "1", w.size())), row), *types)
    annotated = w.decide(3) > 0
    with w.with_suffixes(not annotated):
        starts = [array(w, type) for type in types]
    text = _round(w, types, starts, annotated, annotated)
    w.note("rounds")
    _bound(w, text, types, text)


def _round(w: Writer, types: tuple[Array, ...], starts: list[str], annotated: bool, nests: bool) -> str:
    """The loop; others in it now and then."""
    from tests.support.source_programs.arrays import array, partly

    state = tuple(w.var("s", type) for type in types)
    i = w.var("i", I64)
    with w.inside(i, *state):
        if nests and w.one_in(3):
            w.note("rounds in rounds")
            text = _round(w, types, [v.name for v in state], w.decide(2) > 0, False)
            _bound(w, text, types, text)
        for type in dict.fromkeys(types[: 1 + w.decide(2)]):
            made = (partly(w, type) if w.decide(2) else None) or array(w, type, new=True)
            var = w.var("d", type, made)
            w.lines.append(f"let {var.name}: {show(type)} = {indented(made)}")
            w.add(var)
        given = _tuple([_given(w, v) for v in state])
        body = "\n".join(w.lines)
    names = _tuple([f"{v.name}: {show(v.type)}" if annotated else v.name for v in state])
    if annotated and len(types) == 1:
        names = f"({names})"
    bound = w.pick((f"{w.decide(5)}i64", f"{w.decide(5)}i64", w.size()))
    return f"loop {names} = {_tuple(starts)} for {i.name} < {bound} do{indented(chr(10) + body)}\n  in {given}"


def _given(w: Writer, own: Var) -> str:
    """What the next round gets."""
    from tests.support.source_programs.arrays import array, row

    assert isinstance(own.type, Array)
    found = w.vars_of(own.type)
    match w.decide(8):
        case 0:
            return own.name
        case 1 | 2:
            return f"if {scalar(w, 'bool', True, 2)} then {w.recent(found).name} else {w.recent(found).name}"
        case 3 | 4:
            return row(w, own.type) or w.recent(found).name
        case 5:
            return array(w, own.type, new=True)
        case _:
            return w.recent(found).name
