"""Random declarations before the entry point: types, functions of every kind, modules and functors; each tells the
writer how it is used."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.source_programs.arrays import array, block, function, param, source
from tests.support.source_programs.expressions import literal, scalar, value
from tests.support.source_programs.operators import operator
from tests.support.source_programs.types import I64, INTS, Array, Prim, Record, Sum, Tuple, Type, show
from tests.support.source_programs.writer import Function, Writer, indented


def declarations(w: Writer, count: int) -> str:
    """Some declarations."""
    chosen = dict.fromkeys(w.pick(KINDS) for _ in range(count))
    return "".join(f"{kind(w)}\n" for kind in chosen)


def record_type(w: Writer) -> str:
    name = w.fresh("rec")
    fields = tuple((field, w.type(1) if w.one_in(3) else w.prim()) for field in ("b", "a", "c")[: 2 + w.decide(2)])
    fields = tuple((field, w.prim() if isinstance(type, Array) else type) for field, type in fields)
    w.named.append(Record(fields, name))
    w.note("record type")
    return f"type {name} = {show(Record(fields))}"


def sum_type(w: Writer) -> str:
    name = w.fresh("sum")
    payloads: list[tuple[Type, ...]] = [(), (w.prim(),), (w.prim(), w.prim()), (Tuple((w.prim(), w.prim())),)]
    chosen = payloads[: 2 + w.decide(3)]
    constructors = tuple(zip(("none", "one", "two", "pair"), chosen, strict=False))
    w.named.append(Sum(name, constructors))
    w.note("sum type")
    shown = (" ".join([f"#{key}", *(show(arg) for arg in args)]) for key, args in constructors)
    return f"type {name} = {' | '.join(shown)}"


def plain_function(w: Writer) -> str:
    """A function of values."""
    name = w.fresh("fun")
    params = tuple(w.var("a", w.type(1)) for _ in range(1 + w.decide(2)))
    result = w.type(1)
    with w.inside(*params):
        body = block(w, result)
    w.add_function(Function(name, tuple(p.type for p in params), result))
    w.note("function")
    attribute = "#[noinline] " if w.one_in(4) else ""
    texts = " ".join(f"({p.name}: {show(p.type)})" for p in params)
    return f"{attribute}def {name} {texts}: {show(result)} =\n  {indented(body)}"


def sized_function(w: Writer) -> str:
    """A function with a size parameter, which it gives back; for arrays of every size."""
    name, elem, result = w.fresh("fun"), w.prim(), w.type(1)
    size = w.fresh("l")
    xs = w.var("xs", Array(size, elem))
    before = w.scope
    with w.inside(xs):
        w.add_size(size)
        body = block(w, Array(size, result))
    w.scope = before
    w.note("function with a size")

    def use(w: Writer, type: Array) -> str | None:
        return f"({name} {array(w, Array(type.size, elem))})" if type.elem == result else None

    w.templates[f"array {name}"] = use
    attribute = "#[noinline] " if w.one_in(3) else ""
    types = f"({xs.name}: [{size}]{show(elem)}): [{size}]{show(result)}"
    return f"{attribute}def {name} [{size}] {types} =\n  {indented(body)}"


def polymorphic_map(w: Writer) -> str:
    name = w.fresh("hof")
    w.note("higher-order function")

    def use(w: Writer, type: Array) -> str:
        text, elem = source(w, type.size)
        return f"({name} {function(w, (param(w, elem, text, type.size),), type.elem)} {text})"

    w.templates[f"array {name}"] = use
    body = w.pick(("map f xs", "let ys = map f xs in ys", "map (\\x -> f x) xs", "xs |> map f"))
    return f"def {name} [l] 'a 'b (f: a -> b) (xs: [l]a): [l]b = {body}"


def twice(w: Writer) -> str:
    name = w.fresh("twice")
    w.note("higher-order function of functions")

    def use(w: Writer) -> None:
        from tests.support.source_programs.statements import let

        type = w.type(1)
        x = w.var("x", type)
        let(w, "v", type, f"{name} {function(w, (x,), type)} {value(w, type, 1)}")

    w.templates[f"statement {name}"] = use
    return f"def {name} '^t (f: t -> t) (x: t): t = f (f x)"


def mirrored(w: Writer) -> str:
    name = w.fresh("pairs")
    w.note("polymorphic function")

    def use(w: Writer, type: Array) -> str | None:
        match type.elem:
            case Tuple((a, b)) if a == b:
                return f"({name} {array(w, Array(type.size, a))})"
            case _:
                return None

    w.templates[f"array {name}"] = use
    return f"def {name} [l] 't (xs: [l]t): [l](t, t) = zip xs (reverse xs)"


def folds(w: Writer) -> str:
    """A functor over monoids, at one or two of them."""
    mt, functor = w.fresh("monoid"), w.fresh("folds")
    lines = [
        f"module type {mt} = {{ type t val ne: t val op: t -> t -> t }}",
        f"module {functor} (m: {mt}) = {{",
        "  def fold [l] (xs: [l]m.t): m.t = reduce m.op m.ne xs",
        "  def prefixes [l] (xs: [l]m.t): [l]m.t = scan m.op m.ne xs",
        "}",
    ]
    for _ in range(1 + w.decide(2)):
        type: Type = w.prim() if w.decide(3) else Tuple((w.integer(), w.integer()))
        with w.with_suffixes(True):
            op = operator(w, type)
        if op is None or op.small:
            continue
        name = w.fresh("mon")
        sig = w.pick(("", f": {mt} with t = {show(type)}"))
        inside = f"type t = {show(type)} def ne: t = {op.neutral} def op (a: t) (b: t): t = {op.text} a b"
        lines.append(f"module {name} = {functor} ({{ {inside} }}{sig})")
        w.note("functor")
        w.templates[f"array {name}"] = _prefixes(name, type)
        w.templates[f"statement {name}"] = _fold(name, type)
    return "\n".join(lines)


def _prefixes(name: str, elem: Type) -> Callable[[Writer, Array], str | None]:
    return lambda w, type: f"({name}.prefixes {array(w, type)})" if type.elem == elem else None


def _fold(name: str, elem: Type) -> Callable[[Writer], None]:
    def use(w: Writer) -> None:
        from tests.support.source_programs.statements import let

        let(w, "v", elem, f"{name}.fold {array(w, Array(w.size(), elem))}")

    return use


def numeric_functor(w: Writer) -> str:
    """A functor over integers of any type."""
    functor = w.fresh("calc")
    w.note("functor over integral")
    body = w.pick(
        (
            "m.(x * x + i32 3i32)",
            "m.(max x (x >> i32 1i32) ^ y)",
            "m.(if x < y then y - x else x & y)",
            "m.(i64 (to_i64 x) + y)",
        )
    )
    lines = [f"module {functor} (m: integral) = {{ def f (x: m.t) (y: m.t): m.t = {body} }}"]
    for prim in dict.fromkeys((w.pick(INTS), w.pick(INTS))):
        name = w.fresh("calc")
        lines.append(f"module {name} = {functor} {prim}")
        w.add_function(Function(f"{name}.f", (Prim(prim), Prim(prim)), Prim(prim)))
    return "\n".join(lines)


def cell(w: Writer) -> str:
    """A module with an abstract type."""
    name, prim = w.fresh("cell"), w.integer().name
    w.note("abstract type")

    def use(w: Writer) -> None:
        from tests.support.source_programs.statements import let

        x = scalar(w, prim, True, 2)
        let(
            w,
            "v",
            Prim(prim),
            f"{name}.(get (put {x} (next start)))" if w.decide(2) else f"{name}.get ({name}.put {x} {name}.start)",
        )

    w.templates[f"statement {name}"] = use
    signature = f"type t val start: t val next: t -> t val put: {prim} -> t -> t val get: t -> {prim}"
    return (
        f"module {name}: {{ {signature} }} = {{\n"
        f"  type t = ({prim}, bool)\n  def start: t = ({literal(w, prim, True)}, false)\n"
        f"  def next ((x, b): t): t = (x + 1, !b)\n".replace("+ 1", f"+ 1\x02{prim}\x03")
        + f"  def put (y: {prim}) ((x, b): t): t = if b then (x ^ y, b) else (y, !b)\n"
        f"  def get (c: t): {prim} = c.0\n}}"
    )


def own_operator(w: Writer) -> str:
    name, prim = w.pick(("+^", "<+>", "*|", "|+|")), w.number().name
    x, y = w.var("x", Prim(prim)), w.var("y", Prim(prim))
    with w.inside(x, y):
        body = scalar(w, prim, True, 3)
    w.note("operator of the program")

    def use(w: Writer) -> None:
        from tests.support.source_programs.statements import let

        parts = [scalar(w, prim, True, 1) for _ in range(3)]
        op = f" {name} " if w.decide(3) else f" {prim}.+ "
        let(w, "v", Prim(prim), op.join(parts))

    w.templates[f"statement {name}"] = use
    return f"def ({name}) ({x.name}: {prim}) ({y.name}: {prim}): {prim} = {body}"


def step_record(w: Writer) -> str:
    name, prim = w.fresh("step"), w.number().name
    x = w.var("x", Prim(prim))
    with w.inside(x):
        up, down = scalar(w, prim, True, 2), scalar(w, prim, True, 2)
    w.note("record of functions")
    w.add_function(Function(f"{name}.up", (Prim(prim),), Prim(prim)))
    w.add_function(Function(f"{name}.down", (Prim(prim),), Prim(prim)))
    arrow = f"\\({x.name}: {prim}) : {prim} ->"
    return f"def {name} = {{up = {arrow} {up}, down = {arrow} {down}}}"


def consuming(w: Writer) -> str:
    name, prim = w.fresh("fill"), w.prim()
    i = w.var("i", I64, None, "l")
    w.note("function that consumes")
    w.add_function(Function(name, (Array("l", prim),), Array("l", prim), consumes=True))
    with w.inside(i):
        new = scalar(w, prim.name, True, 2)
    body = f"loop xs for {i.name} < l do xs with [{i.name}] = if {i.name} == 0i64 then xs[{i.name}] else {new}"
    return f"def {name} [l] (xs: *[l]{prim.name}): *[l]{prim.name} = {body}"


def renewing(w: Writer) -> str:
    """A function that gives memory of its own, and one that overwrites what it gets; for arrays of every size."""
    own, over = w.fresh("own"), w.fresh("over")
    w.note("functions of what is overwritten")
    w.templates |= {f"own {own}": None, f"over {over}": None}
    made = w.pick((
        "copy xs", "map (\\x -> x) xs", "(copy xs)[::-1]", "(replicate 2 xs)[1]", "[xs, reverse xs][0]", "map copy xs",
        "(xs ++ xs)[:l] :> [l]t", "loop (ys: *[l]t) = copy xs for i < 2i64 do reverse ys",
    ))  # fmt: skip
    changed = w.pick((
        "let x = copy xs[l - 1] in xs with [0] = x", "let ys = xs[::-1] let x = copy ys[0] in ys with [l - 1] = x",
        "let x = copy xs[0] in loop xs for i < l do xs with [i] = copy x",
    ))  # fmt: skip
    attribute, other = ("#[noinline] " if w.one_in(3) else "" for _ in range(2))
    return (
        f"{attribute}def {own} [l] 't (xs: [l]t): *[l]t = {made}\n"
        f"{other}def {over} [l] 't (xs: *[l]t): *[l]t = if l > 0 then {changed} else xs"
    )


def new_size(w: Writer) -> str:
    """A function whose result has a size of its own, and one whose result has the size of an argument."""
    name, prim = w.fresh("some"), w.prim()
    x = w.var("x", prim)
    with w.inside(x):
        keep = scalar(w, "bool", True, 2)
    w.note("function of an existential size")

    def use(w: Writer) -> None:
        from tests.support.source_programs.statements import let
        from tests.support.source_programs.writer import Var

        size, ys = w.fresh("k"), w.fresh("zs")
        w.lines.append(f"let [{size}] ({ys}: [{size}]{prim.name}) = {name} {array(w, Array(w.size(), prim))}")
        w.add_size(size)
        w.add(Var(ys, Array(size, prim), w.block, frozenset((ys,))))
        let(w, "ys", Array(size, prim), f"{name}' {size} {scalar(w, prim.name, True, 1)}")

    w.templates[f"statement {name}"] = use
    return (
        f"def {name} [l] (xs: [l]{prim.name}): ?[k].[k]{prim.name} = filter (\\{x.name} -> {keep}) xs\n"
        f"def {name}' (k: i64) (x: {prim.name}): [k]{prim.name} = replicate k x"
    )


def constant(w: Writer) -> str:
    type = w.type(1)
    text = value(w, type, 2)
    var = w.add(w.var("con", type))
    w.note("constant")
    return f"def {var.name}: {show(type)} = {text}"


def parametric(w: Writer) -> str:
    """An abbreviation with parameters."""
    name, prim = w.fresh("vec"), w.prim()
    w.note("type with parameters")

    def use(w: Writer) -> None:
        from tests.support.source_programs.writer import Var

        size, ys = w.size(), w.fresh("ys")
        text = array(w, Array(size, Tuple((prim, I64))))
        w.lines.append(f"let {ys}: {name} [{size}] {prim.name} = {text}")
        w.add(Var(ys, Array(size, Tuple((prim, I64))), w.block, w.roots_in(text) | {ys}))

    w.templates[f"statement {name}"] = use
    return f"type {name} [l] 'a = [l](a, i64)"


KINDS: tuple[Callable[[Writer], str], ...] = (
    record_type, record_type, sum_type, sum_type, plain_function, plain_function, sized_function, polymorphic_map,
    twice, mirrored, folds, numeric_functor, cell, own_operator, step_record, consuming, renewing, renewing, new_size,
    constant, parametric,
)  # fmt: skip
