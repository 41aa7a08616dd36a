"""Programs of the generator as source text, with a test block, as a user would have written them.

The text means the same; after elaboration it is not the same core (a `screma` of several operators becomes a map and
its reductions). What the language cannot say raises `NotSource`.
"""

from __future__ import annotations

from dataclasses import dataclass

from soac.data.text import write_text
from soac.ir import core
from soac.ir.core import Body, DimIndex, Fix, Lambda, Param, Reduction, Slice, Stm
from soac.ir.ops import Op
from soac.ir.traverse import types_in
from soac.ir.types import Atom, Const, Name, Prim, Type, Var, i64
from tests.support.property.generate import Argument, Case

INFIX = {
    Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.DIV: "/", Op.MOD: "%", Op.QUOT: "//", Op.REM: "%%",
    Op.EQ: "==", Op.LT: "<", Op.LE: "<=", Op.AND: "&", Op.OR: "|", Op.XOR: "^",
}  # fmt: skip
OF_BOOLS = {Op.AND: "&&", Op.OR: "||", Op.XOR: "!=", Op.EQ: "=="}


MOST_RESULTS = 5
"""A tuple pattern takes at most this many results of a map apart."""


class NotSource(ValueError):
    """The language has no words for it."""


@dataclass(frozen=True, slots=True)
class At:
    """Where in the text: how deep, and the types of all names."""

    depth: int
    types: dict[Name, Type]

    @property
    def indent(self) -> str:
        return "  " * self.depth

    @property
    def deeper(self) -> At:
        return At(self.depth + 1, self.types)


def source_of(case: Case, said: str, expected: list[Argument] | None) -> str:
    """The program as a file: what is `said` of it, a test block with its arguments and results, the entry."""
    comment = "\n".join(f"-- {line}" for line in said.splitlines())
    given = " ".join(map(_value, case.args))
    gives = "error: .*" if expected is None else f"output {{ {' '.join(map(_value, expected))} }}"
    block = f"-- ==\n-- entry: main\n-- input {{ {given} }}\n-- {gives}"
    return f"{comment}\n{block}\n\n{_entry(case)}\n"


def _value(value: Argument) -> str:
    return write_text(value).replace("\n", " ")


def _entry(case: Case) -> str:
    *others, fun = case.prog.functions
    assert fun.entry is not None
    if others:
        raise NotSource("functions beside the entry")
    cut = fun.entry.sizes
    sizes = "".join(f"[{p.name}]" for p in fun.params[:cut])
    params = " ".join(map(_param, fun.params[cut:]))
    return f"entry main {sizes} {params} =\n{_body(fun.body, At(1, types_in(case.prog)))}"


def _param(p: Param) -> str:
    return f"({p.name}: {_type(p.type)})"


def _type(t: Type) -> str:
    return "".join(f"[{_size(size)}]" for size in t.shape) + t.prim.value


def _size(size: Atom) -> str:
    return str(size.value) if isinstance(size, Const) else str(size.name)


def _atom(atom: Atom) -> str:
    if isinstance(atom, Var):
        return str(atom.name)
    match atom.prim, atom.value:
        case Prim.BOOL, value:
            return str(bool(value)).lower()
        case prim, value if prim.is_float and value != value:
            return f"{prim.value}.nan"
        case prim, value if value == -(1 << (prim.bits - 1)):
            return f"{prim.value}.lowest"
        case prim, value:
            return f"({value}{prim.value})" if value < 0 else f"{value}{prim.value}"


def _tuple(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"({', '.join(words)})"


def _names(names: tuple[Name, ...]) -> str:
    return _tuple([str(name) for name in names])


# ---- bodies ----------------------------------------------------------------------------------------------------------


def _body(body: Body, at: At) -> str:
    indent = at.indent
    lines = [f"{indent}{line}" for stm in body.stms for line in _stm(stm, at)]
    result = _tuple([_atom(a) for a in body.result])
    return "\n".join([*lines, f"{indent}in {result}" if lines else f"{indent}{result}"])


def _lambda(f: Lambda, at: At, groups: int = 0) -> str:
    r"""`\x y -> e`; in two groups `\(a, b) (c, d) -> e`."""
    if not f.params:
        params = "_"
    elif groups:
        half = len(f.params) // groups
        params = " ".join(_pattern(f.params[k * half : (k + 1) * half]) for k in range(groups))
    else:
        params = " ".join(map(_param, f.params))
    return f"(\\{params} ->\n{_body(f.body, at.deeper)})"


def _pattern(params: tuple[Param, ...]) -> str:
    return _param(params[0]) if len(params) == 1 else f"({', '.join(f'{p.name}: {_type(p.type)}' for p in params)})"


def _stm(stm: Stm, at: At) -> list[str]:
    """The lines of a statement."""
    match stm.exp:
        case core.Screma() as exp:
            return _screma(stm, exp, at)
        case core.Scatter() | core.Hist() as exp:
            return _write(stm, exp, at)
        case core.Assert(cond):
            return [f"let {stm.pat[0].name} = {_atom(cond)}"]
        case _:
            pass
    text = _exp(stm, at)
    for cert in stm.certs:
        text = f"assert {cert} ({text})"
    if len(stm.pat) == 1 and stm.pat[0].type.shape and isinstance(stm.exp, core.Index | core.Concat | core.Reshape):
        text = f"({text}) :> {_type(stm.pat[0].type)}"
    return [f"let {_names(tuple(p.name for p in stm.pat))} = {text}"]


# ---- expressions -----------------------------------------------------------------------------------------------------


def _exp(stm: Stm, at: At) -> str:
    match stm.exp:
        case core.If(cond, then, orelse):
            sides = f"then\n{_body(then, at.deeper)}\n{at.indent}else\n{_body(orelse, at.deeper)}"
            return f"if {_atom(cond)} {sides}"
        case core.Loop(params, inits, form, body):
            return _loop(params, inits, form, body, at)
        case exp:
            return _basic(exp, at)


def _loop(
    params: tuple[Param, ...], inits: tuple[Atom, ...], form: core.ForLoop | core.WhileLoop, body: Body, at: At
) -> str:
    start = f"loop {_names(tuple(p.name for p in params))} = {_tuple([_atom(a) for a in inits])}"
    match form:
        case core.ForLoop(index, bound):
            turns = f"for {index} < {_atom(bound)}"
        case core.WhileLoop(cond):
            turns = f"while {cond}"
    return f"{start} {turns} do\n{_body(body, at.deeper)}"


def _basic(exp: core.Exp, at: At) -> str:
    match exp:
        case core.Copied(atom):
            return _atom(atom)
        case core.PrimOp(op, prim, args):
            return _operation(op, prim, [_atom(a) for a in args])
        case core.Convert(source, target, arg):
            return f"{target.value}.{source.value} {_atom(arg)}"
        case core.Iota(count, start, step, prim):
            return _iota(count, start, step, prim)
        case core.Replicate(shape, value):
            text = _atom(value)
            for size in reversed(shape):
                text = f"(replicate {_size(size)} {text})"
            return text
        case core.ArrayLit(elems):
            return f"[{', '.join(map(_atom, elems))}]"
        case core.Copy(array):
            return f"copy {array}"
        case core.Rearrange(perm, array):
            return f"rearrange ({', '.join(map(str, perm))}) {array}" if len(perm) > 1 else str(array)
        case core.Concat(arrays):
            return " ++ ".join(map(str, arrays))
        case core.Index(array, dims):
            return f"{array}[{', '.join(map(_dim, dims))}]"
        case core.Update(array, dims, value):
            return f"{array} with [{', '.join(map(_dim, dims))}] = {_atom(value)}"
        case core.Reshape(shape, array):
            return _reshape(at.types[array].shape, shape, array)
        case _:
            raise NotSource(type(exp).__name__)


def _operation(op: Op, prim: Prim, args: list[str]) -> str:
    if op in (Op.MIN, Op.MAX):
        return f"{prim.value}.{op.value} {args[0]} {args[1]}"
    words = OF_BOOLS if prim is Prim.BOOL else INFIX
    if op not in words:
        raise NotSource(op.value)
    return f"{args[0]} {words[op]} {args[1]}"


def _iota(count: Atom, start: Atom, step: Atom, prim: Prim) -> str:
    index = "i" if prim is Prim.I64 else f"{prim.value}.i64 i"
    return f"map (\\i -> {_atom(start)} + {_atom(step)} * {index}) (iota {_size(count)})"


def _dim(dim: DimIndex) -> str:
    """One index; of slices only what the generator makes: the whole dimension, forwards or backwards."""
    match dim:
        case Fix(index):
            return _atom(index)
        case Slice(start, _, stride) if start == i64(0) and stride == i64(1):
            return ":"
        case Slice(Var(), _, stride) if stride == i64(-1):
            return "::-1"
        case _:
            raise NotSource("a slice")


def _reshape(old: tuple[Atom, ...], shape: tuple[Atom, ...], array: Name) -> str:
    """What the generator makes: one more dimension of size 1 outside or inside, or all in one dimension."""
    if shape == (i64(1), *old):
        return f"[{array}]"
    if shape == (*old, i64(1)):
        text = "(\\x -> [x])"
        for _ in old:
            text = f"(map {text})"
        return f"{text} {array}"
    if len(shape) == 1:
        return "flatten (" * (len(old) - 1) + str(array) + ")" * (len(old) - 1)
    raise NotSource("a reshape")


# ---- SOACs -----------------------------------------------------------------------------------------------------------


def _inputs(exp: core.Soac) -> str:
    return " ".join(map(str, exp.arrays)) or f"(iota {_size(exp.width)})"


def _attrs(stm: Stm) -> str:
    return "".join(f"#[{attr.name}{f'({attr.args[0].name})' if attr.args else ''}] " for attr in stm.attrs)


def _operator(op: Reduction, at: At) -> tuple[str, str]:
    return _lambda(op.op, at, 2), _tuple([_atom(a) for a in op.neutral])


def _screma(stm: Stm, exp: core.Screma, at: At) -> list[str]:
    """One of `map`, `redomap`, `scanomap`; else the map, and each scan or reduction of what it gives."""
    names = tuple(p.name for p in stm.pat)
    if len(names) > MOST_RESULTS or (stm.attrs and len(names) > 1):
        raise NotSource("a map of this many results, or of several and an attribute")
    f, inputs = _lambda(exp.map, at), _inputs(exp)
    operators, used = exp.ops, exp.num_ops
    if len(operators) == 1 and used == len(names):
        op, neutral = _operator(operators[0], at)
        kind = "scanomap" if exp.scans else "redomap"
        text = f"{_attrs(stm)}{kind} {op} {f} {neutral} {inputs}"
        return [f"let {_names(names)} = {f'unzip ({text})' if exp.scans and len(names) > 1 else text}"]
    values = [f"{name}_in" for name in names[:used]]
    lines = [f"let {_tuple([*values, *map(str, names[used:])])} = {_attrs(stm)}map {f} {inputs}"]
    place = 0
    for reduction in operators:
        taken = slice(place, place + len(reduction.neutral))
        place = taken.stop
        op, neutral = _operator(reduction, at)
        own = values[taken]
        elements = own[0] if len(own) == 1 else f"(zip {' '.join(own)})"
        text = f"{'scan' if exp.scans else 'reduce'} {op} {neutral} {elements}"
        unzipped = f"unzip ({text})" if len(own) > 1 and exp.scans else text
        lines.append(f"let {_names(names[taken])} = {unzipped}")
    return lines


def _write(stm: Stm, exp: core.Scatter | core.Hist, at: At) -> list[str]:
    """The map, then the write of what it gives."""
    names = tuple(p.name for p in stm.pat)
    places = [f"{names[0]}_at{k}" for k in range(exp.rank)]
    values = [f"{name}_in" for name in names]
    lines = [f"let {_tuple([*places, *values])} = map {_lambda(exp.map, at)} {_inputs(exp)}"]
    kind = "" if exp.rank == 1 else f"_{exp.rank}d"
    index = places[0] if exp.rank == 1 else f"(zip {' '.join(places)})"
    match exp:
        case core.Scatter():
            text = f"scatter{kind} {exp.dests[0]} {index} {values[0]}"
        case core.Hist():
            op, neutral = _operator(exp.op, at)
            dests = str(exp.dests[0])
            given = values[0]
            if len(names) > 1:
                zipped = "zip" if exp.rank == 1 else "map2 zip"
                dests, given = f"({zipped} {' '.join(map(str, exp.dests))})", f"(zip {' '.join(values)})"
            text = f"reduce_by_index{kind} {dests} {op} {neutral} {index} {given}"
            if len(names) > 1:
                text = f"unzip ({text})" if exp.rank == 1 else f"unzip (map unzip ({text}))"
    return [*lines, f"let {_names(names)} = {text}"]
