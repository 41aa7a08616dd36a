"""Entry points: functions that the outside calls, with their parameters made from inferred types."""

from __future__ import annotations

from dataclasses import replace

from ...ir.core import Assert, Copied, FunDef
from ...ir.entry_points import Entry, EntryParam, EntryResult
from ...ir.errors import NOWHERE, Loc
from ...ir.types import Atom, Name, Prim
from ..source import syntax as s
from ..source.declarations import ValDec
from ..source.types import (
    Instance,
    Size,
    SizeConst,
    SizeExp,
    SizeVar,
    TArray,
    TFun,
    TOpaque,
    TPrim,
    TRecord,
    TSum,
    TVar,
    Ty,
)
from .calls import apply
from .expressions import constant_of
from .loops import component_names
from .shapes import name_of_pattern
from .specialise import array_names, consumed_names, finish_function, own_sizes, parameters
from .state import Builder, Certs, Stage, emit
from .type_forms import TypeForms, unrolled
from .values import Closure, Component, Env, Rec, Use, Value, atoms_of, components, sizes_of, with_atoms


def entry_function(st: Stage, dec: ValDec, env: Env) -> FunDef:
    """The core function of an entry point; a curried definition gets the parameters that its type says."""
    arrows, result_type = unrolled(st.typed.schemes[dec.id].type)
    names = [_param_name(dec, i) for i in range(len(arrows))]
    pats = [dec.params[i] if i < len(dec.params) else None for i in range(len(arrows))]
    with st.apart(Builder(st.globals)) as builder:
        shapes = TypeForms()
        forms = [shapes.value(arrow.dom, env) for arrow in arrows]
        bases = [base for p, name, form in zip(pats, names, forms, strict=True) for base in _bases(p, name, form)]
        sizes, params, args = parameters(st, tuple(forms), bases)
        function = Closure(dec, env, _use_of(st, dec, shapes, forms, args, env))
        value = apply(st, function if dec.params else constant_of(st, function), args, dec.loc, "")
        value = _relying_on(st, value, _note_checks_of_parameters(dec, builder))
    own = own_sizes(st, value, builder, [*sizes, *params])
    definition, _ = finish_function(st, (*sizes, *params), builder, value, own, dec)
    consumed = list(consumed_names(st, dec.params, args[: len(dec.params)], env))
    for arrow, arg in zip(arrows, args, strict=True):
        consumed += [name for name in array_names(arg) if arrow.consumes and name not in consumed]
    known = {param.name for param in dec.tparams} | set(names)
    entry_params = [
        EntryParam(name, show_type(arrow.dom, known), len(atoms_of(arg)), arrow.consumes)
        for name, arrow, arg in zip(names, arrows, args, strict=True)
    ]
    entry = Entry(dec.name, len(sizes), tuple(entry_params), _entry_results(value, result_type, len(own), known))
    return replace(definition, consumes=tuple(consumed), entry=entry)


def _note_checks_of_parameters(dec: ValDec, builder: Builder) -> Certs:
    """The assertions that the sizes written in the parameters give rise to; what they say is said of the argument."""
    found: list[Name] = []
    for at, stm in enumerate(builder.stms):
        if isinstance(stm.exp, Assert) and any(_within(stm.loc, pat.loc) for pat in dec.params):
            said = replace(stm.exp, parts=("invalid size: ", *stm.exp.parts))
            builder.stms[at] = replace(stm, exp=said)
            found.append(stm.pat[0].name)
    return tuple(found)


def _within(inner: Loc, outer: Loc) -> bool:
    starts = (outer.line, outer.col) <= (inner.line, inner.col)
    return inner.file == outer.file and starts and (inner.end_line, inner.end_col) <= (outer.end_line, outer.end_col)


def _relying_on(st: Stage, value: Value, certs: Certs) -> Value:
    """`value` whose first part relies on `certs`: arguments of the wrong size are refused even where none is used."""
    parts = components(value)
    if not certs or not parts:
        return value
    (first, type), *others = parts
    return with_atoms(value, [emit(st, "result", Copied(first), type, NOWHERE, certs), *[atom for atom, _ in others]])


def _param_name(dec: ValDec, i: int) -> str:
    return (name_of_pattern(dec.params[i]) if i < len(dec.params) else "") or f"arg{i}"


def _bases(pat: s.Pat | None, name: str, form: Value) -> list[str]:
    return [name] * len(atoms_of(form)) if pat is None else [base or name for base in component_names(pat, form)]


def _use_of(st: Stage, dec: ValDec, shapes: TypeForms, forms: list[Value], args: tuple[Value, ...], env: Env) -> Use:
    """What the size parameters of an entry stand for: the sizes of its arguments."""
    actual: dict[Atom, Atom] = {}
    for form, arg in zip(forms, args, strict=True):
        actual |= zip(sizes_of(form), sizes_of(arg), strict=True)
    home = env.child()
    shown = {size.name: size for size in st.typed.schemes[dec.id].sizes if shapes.sizes.get(size) in actual}
    for size in shown.values():
        home.values[size.name] = Component(actual[shapes.sizes[size]], Prim.I64)
    return Use(Instance({}, dict(shown)), home)


def _entry_results(value: Value, type: Ty, first: int, known: set[str]) -> tuple[EntryResult, ...]:
    """A tuple is unpacked; positions count from the results that are sizes."""
    parts: list[tuple[Value, Ty]] = [(value, type)]
    if isinstance(value, Rec) and isinstance(type, TRecord) and value.fields and value.fields[0][0] == "0":
        parts = [(v, t) for (_, v), (_, t) in zip(value.fields, type.fields, strict=True)]
    results = []
    for part, part_type in parts:
        count = len(atoms_of(part))
        results.append(EntryResult(show_type(part_type, known), tuple(range(first, first + count))))
        first += count
    return tuple(results)


def show_type(type: Ty, known: set[str]) -> str:
    """`type` as a user writes it; sizes whose name is not `known` are left out."""
    match type:
        case TPrim(prim):
            return prim.value
        case TArray(size, elem):
            return f"[{_show_size(size, known)}]{_show_part(elem, known)}"
        case TRecord(fields) if not fields or fields[0][0] == "0":
            return f"({', '.join(show_type(field, known) for _, field in fields)})"
        case TRecord(fields):
            return f"{{{', '.join(f'{name}: {show_type(field, known)}' for name, field in fields)}}}"
        case TSum(constructors):
            return " | ".join(
                " ".join([f"#{name}", *(_show_part(arg, known) for arg in args)]) for name, args in constructors
            )
        case TVar(name) | TOpaque(name):
            return name
        case TFun(_, dom, cod):
            return f"{show_type(dom, known)} -> {show_type(cod, known)}"


def _show_part(type: Ty, known: set[str]) -> str:
    """A sum in parentheses, so that where it ends is seen."""
    text = show_type(type, known)
    return f"({text})" if isinstance(type, TSum) else text


def _show_size(size: Size, known: set[str]) -> str:
    match size:
        case SizeConst(value):
            return str(value)
        case SizeVar(name):
            return name if name in known else ""
        case SizeExp(text):
            return text
