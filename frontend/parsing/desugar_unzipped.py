r"""The unzipped, many-array form of the combinators, and `rearrange`: written down as plain calls before inference.

    map f xs ys                  ⟶  map2 f xs ys                 redomap op f ne xs ys  ⟶  redomap2 op f ne xs ys
    let (as, bs) = map f ..      ⟶  let (as, bs) = unzip2 (map f ..)
    rearrange (2, 1, 0) xsss     ⟶  rearrange_2_1_0 xsss
    kernel'fence ()              ⟶  the same, with a declaration of `kernel'fence`   (kernels by hand: `kernels.py`)

None of the left sides has a type otherwise, so nothing else changes its meaning. What the right sides need beyond the
prelude is declared in a module of its own, as intrinsics. A name that the program defines itself is left alone.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

from ...ir.errors import CompileError, Diagnostic, Label
from ...ir.records import dataclass
from ..source import syntax as s
from ..source.atoms import Ident, Lit, PVar
from ..source.copy_syntax import fields_of
from ..source.declarations import Module, ValDec
from ..source.names import nodes
from .kernels import INTRINSICS, with_agreements
from .parse import parse_module

# How many arguments come before the arrays.
BEFORE_ARRAYS = {"map": 1, "redomap": 3, "scanomap": 3}
GIVES_ROWS = {"map", "map1", "map2", "map3", "map4", "map5", "scan", "exscan", "scanomap", "filter"}
IN_PRELUDE = {f"{name}{k}" for name in ("map", "unzip") for k in range(2, 6)}
EXTRA_FILE = "prelude-extra.soac"


@dataclass(slots=True)
class _Rewriting:
    """What a rewriting has asked for so far."""

    own: set[str]  # names the program defines, which are not ours
    next_id: int
    asked: set[str] = field(default_factory=set[str])  # combinators of the prelude that the program does not write
    extra: dict[str, str] = field(default_factory=dict)  # declarations by name

    def fresh(self) -> int:
        self.next_id += 1
        return self.next_id - 1


def plain_calls(modules: tuple[Module, ...]) -> tuple[tuple[Module, ...], frozenset[str]]:
    """The modules, but for the prelude, without the unzipped form, perhaps behind a module of declarations for it; and
    what they need of the prelude that is in none of their texts."""
    next_id = max(module.next_id for module in modules)
    rewriting = _Rewriting(_bound_names(modules), next_id)
    changed = [
        replace(module, decs=_rewrite(rewriting, with_agreements(module.decs, rewriting.fresh))) for module in modules
    ]
    made = tuple(replace(module, next_id=rewriting.next_id) for module in changed)
    if rewriting.extra:
        made = (parse_module("\n".join(rewriting.extra.values()), EXTRA_FILE, rewriting.next_id), *made)
    return made, frozenset(rewriting.asked)


def _bound_names(modules: tuple[Module, ...]) -> set[str]:
    """The names of all variables and definitions of the program."""
    found = nodes(tuple(module.decs for module in modules))
    return {node.name for node in found if isinstance(node, PVar | s.LetFun | ValDec | s.ForLess)}


def _rewrite(rw: _Rewriting, node: Any) -> Any:
    """The tree below `node` with the rules applied, innermost first; the same object where nothing changes."""
    if isinstance(node, tuple):
        parts = [_rewrite(rw, part) for part in node]
        return tuple(parts) if any(new is not old for new, old in zip(parts, node)) else node
    changes: dict[str, Any] = {}
    for name in fields_of(type(node)):
        old = getattr(node, name)
        new = _rewrite(rw, old)
        if new is not old:
            changes[name] = new
    if changes:
        node = replace(node, **changes)
    match node:
        case s.Call():
            return _call(rw, node)
        case s.LetPat():
            return _let(rw, node)
        case _:
            return node


def _call(rw: _Rewriting, call: s.Call) -> s.Call | Ident:
    match call.function:
        case Ident(_, ("rearrange",)) if "rearrange" not in rw.own:
            return _rearrange(rw, call)
        case Ident(_, (name,)) if name in INTRINSICS:
            rw.extra[name] = INTRINSICS[name]
            return call
        case Ident(node, (name,), loc) if name in BEFORE_ARRAYS and name not in rw.own:
            count = len(call.args) - BEFORE_ARRAYS[name]
            if count < 2:
                return call
            _declare_combinator(rw, name, count)
            return replace(call, function=Ident(node, (f"{name}{count}",), loc))
        case _:
            return call


def _declare_combinator(rw: _Rewriting, name: str, count: int) -> None:
    """`map6`, `redomap2`, ..: the combinator for `count` arrays."""
    wanted = f"{name}{count}"
    if wanted in IN_PRELUDE:
        rw.asked.add(wanted)
    if wanted in IN_PRELUDE or wanted in rw.extra:
        return
    types = [f"a{i}" for i in range(count)]
    arrays = " ".join(f"(xs{i}: [n]{t})" for i, t in enumerate(types))
    function = f"(f: {' -> '.join(types)} -> b)"
    result = "b" if name == "redomap" else "*[n]b"
    folding = ("(op: b -> b -> b) ", "(ne: b) ") if name != "map" else ("", "")
    params = f"{' '.join(chr(39) + t for t in types)} 'b [n] {folding[0]}{function} {folding[1]}{arrays}"
    rw.extra[wanted] = f"#[intrinsic] def {wanted} {params} : {result} = ???"


def _rearrange(rw: _Rewriting, call: s.Call) -> s.Call | Ident:
    """`rearrange (2, 1, 0) xsss`: dimension i of the result is dimension p_i of the argument."""
    perm = _permutation(call.args[0])
    name = f"rearrange_{'_'.join(map(str, perm))}"
    sizes = [f"n{i}" for i in range(len(perm))]
    given = "".join(f"[{size}]" for size in sizes)
    result = "".join(f"[{sizes[k]}]" for k in perm)
    params = " ".join(f"[{size}]" for size in sizes)
    rw.extra[name] = f"#[intrinsic] def {name} {params} 't (xs: {given}t) : {result}t = ???"
    function = Ident(rw.fresh(), (name,), call.function.loc)
    return replace(call, function=function, args=call.args[1:]) if len(call.args) > 1 else function


def _permutation(exp: s.Exp) -> tuple[int, ...]:
    elems = exp.elems if isinstance(exp, s.Tuple) else ()
    places = tuple([elem.value for elem in elems if isinstance(elem, Lit) and isinstance(elem.value, int)])
    if not places or sorted(places) != list(range(len(elems))):
        text = "`rearrange` takes a permutation, written as a tuple of the numbers from 0"
        raise CompileError(Diagnostic("E0202", text, Label(exp.loc, ""), hint="e.g. `rearrange (1, 0) xss`"))
    return places


def _let(rw: _Rewriting, let: s.LetPat) -> s.LetPat:
    """A tuple of names for an array of tuples, with attributes or without: one array each."""
    match let.pat, _without_attributes(let.rhs):
        case s.PTuple(elems), s.Call(function=Ident(name=(name,), loc=loc)):
            unzip = f"unzip{len(elems)}"
            if name not in GIVES_ROWS or name in rw.own or unzip not in IN_PRELUDE:
                return let
            rw.asked.add(unzip)
            call = s.Call(rw.fresh(), Ident(rw.fresh(), (unzip,), loc), (let.rhs,), let.rhs.loc)
            return replace(let, rhs=call)
        case _:
            return let


def _without_attributes(exp: s.Exp) -> s.Exp:
    while isinstance(exp, s.Attributed):
        exp = exp.body
    return exp
