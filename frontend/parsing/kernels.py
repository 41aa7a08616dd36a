"""The tree builder's rules for kernels by hand: `fully par` blocks, written as calls of intrinsics.

    fully par b < n in block 128 { .. }            ⟶  kernel'block n 128 (\\(b: i64) -> ..)
    par t < 32 in thread { .. }                    ⟶  kernel'par_thread 32 (\\(t: i64) -> ..)
    for k < m do { .. }                            ⟶  kernel'for m (\\(k: i64) -> ..)
    if c then { .. } else { .. }                   ⟶  kernel'if c (\\() -> ..) (\\() -> ..)
    shared tile: [16][16]f32;                      ⟶  let tile = kernel'shared_2 16 16 0f32
    registers acc: [256]f32;                       ⟶  let acc = kernel'registers_1 256 0f32
    reduce total = (+) 0 part[t] for t < 128 in thread;  ⟶  let total = kernel'reduce (+) 0 (\\(t: i64) -> part[t]) 128
    tile[i, j] = e;                                ⟶  kernel'store_2 tile i j e
    atomic bins[i] = (+) e;                        ⟶  kernel'atomic_1 bins i (+) e
    copy tile[i] = xs[j, k];                       ⟶  kernel'copy_1_2 tile i xs j k
    shuffle other = acc ^ 16;                      ⟶  let other = kernel'shuffle_xor acc 16
    fence; commit; wait 1;                         ⟶  kernel'fence (), kernel'commit (), kernel'wait 1

A block becomes a chain of `let` that ends in `()`. `INTRINSICS` declares what the calls mean to the types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lark import Token

from ...ir.errors import Loc
from ...ir.types import Prim
from ..source import syntax as s
from ..source.atoms import Ident, Lit, PVar, TEName
from ..source.copy_syntax import copied
from ..source.declarations import Dec, ValDec
from .expressions import ExpBuilder
from .spans import nodes, syntax_error

PREFIX = "kernel'"
"""Of names that the program does not write: intrinsics, and what checks the type of a kernel."""
UNITS = ("thread", "warp", "block")
MOST_DIMS = 4
SHUFFLES = {"^": "xor", "+": "add", "-": "sub"}
"""How a thread finds the one that it takes an element from, and the name of that."""


def _declared() -> dict[str, str]:
    """The declarations of the intrinsics, by name."""
    found = {f"kernel'{unit}": "(n: i64) (threads: i64) (body: i64 -> ()) : ()" for unit in UNITS}
    found |= {f"kernel'par_{unit}": "(n: i64) (body: i64 -> ()) : ()" for unit in UNITS}
    found["kernel'for"] = "(n: i64) (body: i64 -> ()) : ()"
    found["kernel'if"] = "(c: bool) (then_: () -> ()) (else_: () -> ()) : ()"
    found |= {f"kernel'{word}": "(_: ()) : ()" for word in ("fence", "commit")}
    found["kernel'wait"] = "(n: i64) : ()"
    found |= {f"kernel'shuffle_{name}": "[n] 't (xs: [n]t) (by: i64) : [n]t" for name in SHUFFLES.values()}
    found["kernel'reduce"] = "'a (op: a -> a -> a) (ne: a) (f: i64 -> a) (n: i64) : a"
    found["kernel'scan"] = "'a (op: a -> a -> a) (ne: a) (f: i64 -> a) (n: i64) : [n]a"
    for rank in range(1, MOST_DIMS + 1):
        names = [f"n{k}" for k in range(rank)]
        sizes, shape = " ".join(f"({n}: i64)" for n in names), "".join(f"[{n}]" for n in names)
        for space in ("shared", "registers"):
            found[f"kernel'{space}_{rank}"] = f"'t {sizes} (zero: t) : {shape}t"
        open_sizes, indices = " ".join(f"[{n}]" for n in names), " ".join(f"(i{k}: i64)" for k in range(rank))
        found[f"kernel'store_{rank}"] = f"{open_sizes} 't (xs: {shape}t) {indices} (x: t) : ()"
        found[f"kernel'atomic_{rank}"] = f"{open_sizes} 't (xs: {shape}t) {indices} (op: t -> t -> t) (x: t) : ()"
        for other in range(1, MOST_DIMS + 1):
            sizes = " ".join(f"[m{k}]" for k in range(other))
            taken = f"(ys: {sizes.replace(' ', '')}t) {' '.join(f'(j{k}: i64)' for k in range(other))}"
            found[f"kernel'copy_{rank}_{other}"] = f"{open_sizes} {sizes} 't (xs: {shape}t) {indices} {taken} : ()"
    return {name: f"#[intrinsic] def {name} {text} = ???" for name, text in found.items()}


INTRINSICS: Mapping[str, str] = _declared()


class KernelBuilder(ExpBuilder):
    """One method for each rule of the grammar's section on kernels."""

    def kernel_block(self, kids: list[Any]) -> s.Exp:
        loc = self.span(kids)
        done = s.Tuple(self.fresh(), (), loc)
        stms = tuple(kids[1:-1])
        return s.Let(self.fresh(), stms, done, loc) if stms else done

    def fully_par(self, kids: list[Any]) -> s.Exp:
        _, word, index, _, bound, _, unit, count, body = kids
        self._one_of(word, ("par",))
        self._one_of(unit, UNITS)
        if (count is not None) != (unit == "block"):
            hint = "`in block 256` has 256 threads, `in warp` 32, `in thread` one"
            raise syntax_error("E0101", "a block says how many threads it has", self.token_loc(unit), "", hint)
        fixed = {"warp": "32", "thread": "1"}
        threads = self.integer([count if count is not None else unit.update(value=fixed[str(unit)])])
        return self._call(f"kernel'{unit}", (bound, threads, self._of_index(index, body)), self.span(kids))

    # ---- statements

    def kernel_par(self, kids: list[Any]) -> s.LetPat:
        word, index, _, bound, _, unit, body = kids
        self._one_of(word, ("par",))
        self._one_of(unit, UNITS)
        return self._do(f"kernel'par_{unit}", (bound, self._of_index(index, body)), self.span(kids))

    def kernel_for(self, kids: list[Any]) -> s.LetPat:
        _, index, _, bound, _, body = kids
        return self._do("kernel'for", (bound, self._of_index(index, body)), self.span(kids))

    def kernel_if(self, kids: list[Any]) -> s.LetPat:
        loc = self.span([k for k in kids if k is not None])
        cond, then, orelse = kids[1], kids[3], kids[5]
        other = s.Tuple(self.fresh(), (), loc) if orelse is None else orelse
        return self._do("kernel'if", (cond, self._of_nothing(then), self._of_nothing(other)), loc)

    def kernel_let(self, kids: list[Any]) -> s.LetPat:
        return s.LetPat((), kids[1], kids[3], False, self.between(kids[0], kids[3]))

    def kernel_array(self, kids: list[Any]) -> s.LetPat:
        """An array of numbers; its sizes are constants, which lowering finds out."""
        space, name, _, type = kids[:4]
        self._one_of(space, ("shared", "registers"))
        sizes: list[s.Exp] = []
        while isinstance(type, s.TEArray) and type.size is not None:
            sizes.append(type.size)
            type = type.elem
        loc = self.between(space, kids[3])
        prim = type.name[0] if isinstance(type, TEName) and len(type.name) == 1 else ""
        if not 1 <= len(sizes) <= MOST_DIMS or prim not in {p.value for p in Prim}:
            text = f"an array of a kernel has 1 to {MOST_DIMS} sizes, and elements that are numbers or truth values"
            raise syntax_error("E0101", text, kids[3].loc, "", f"e.g. `{space} {name}: [16][16]f32;`")
        value = False if prim == "bool" else 0
        zero = Lit(self.fresh(), value, None if prim == "bool" else Prim(prim), False, loc)
        return self._let(name, f"kernel'{space}_{len(sizes)}", (*sizes, zero), loc)

    def kernel_collective(self, kids: list[Any]) -> s.LetPat:
        """`reduce x = op ne e for i < n in thread;`"""
        word, name, _, call, _, index, _, bound, _, unit, end = kids
        self._one_of(word, ("reduce", "scan"))
        self._one_of(unit, ("thread",))
        if not isinstance(call, s.Call) or len(call.args) != 2:
            hint = f"e.g. `{word} {name} = (+) 0 (f t) for t < 128 in thread;`"
            raise syntax_error(
                "E0101", f"`{word}` takes an operator, a neutral element and a value", call.loc, "", hint
            )
        neutral, value = call.args
        args = (call.function, neutral, self._of_index(index, value), bound)
        return self._let(name, f"kernel'{word}", args, self.between(word, end))

    def kernel_store(self, kids: list[Any]) -> s.LetPat:
        array, indices, value = kids[0], nodes(kids[1:-3]), kids[-2]
        loc = self.between(array, value)
        if len(indices) > MOST_DIMS:
            raise syntax_error("E0101", f"a store has at most {MOST_DIMS} indices", loc)
        return self._do(f"kernel'store_{len(indices)}", (self.var([array]), *indices, value), loc)

    def kernel_move(self, kids: list[Any]) -> s.LetPat:
        """`atomic bins[i] = (+) e;` and `copy tile[i] = xs[j, k];`"""
        word, array, indices, value = kids[0], kids[1], nodes(kids[2:-3]), kids[-2]
        self._one_of(word, ("atomic", "copy"))
        loc = self.between(word, value)
        if len(indices) > MOST_DIMS:
            raise syntax_error("E0101", f"a store has at most {MOST_DIMS} indices", loc)
        target = (self.var([array]), *indices)
        if word == "atomic":
            if not isinstance(value, s.Call) or len(value.args) != 1:
                hint = "e.g. `atomic bins[i] = (+) 1;`"
                raise syntax_error("E0101", "`atomic` takes an operator and a value", value.loc, "", hint)
            return self._do(f"kernel'atomic_{len(indices)}", (*target, value.function, *value.args), loc)
        points = [i for i in value.indices if isinstance(i, s.Point)] if isinstance(value, s.Index) else []
        if not isinstance(value, s.Index) or not 1 <= len(points) == len(value.indices) <= MOST_DIMS:
            hint = "e.g. `copy tile[i] = xs[j, k];`"
            raise syntax_error("E0101", "`copy` takes an element of an array", value.loc, "", hint)
        source = (value.array, *(point.index for point in points))
        return self._do(f"kernel'copy_{len(indices)}_{len(points)}", (*target, *source), loc)

    def kernel_shuffle(self, kids: list[Any]) -> s.LetPat:
        """`shuffle other = acc ^ 16;`"""
        word, name, _, value, end = kids
        self._one_of(word, ("shuffle",))
        (operator, by), *more = value.rest if isinstance(value, s.Chain) else ((None, value),)
        sign = ".".join(operator.name) if operator is not None and not more else ""
        if not isinstance(value, s.Chain) or sign not in SHUFFLES:
            hint = "e.g. `shuffle other = acc ^ 16;`"
            raise syntax_error("E0101", "`shuffle` takes registers, and `^`, `+` or `-`", value.loc, "", hint)
        return self._let(name, f"kernel'shuffle_{SHUFFLES[sign]}", (value.first, by), self.between(word, end))

    def kernel_word(self, kids: list[Any]) -> s.LetPat:
        word, count = kids[0], kids[1]
        loc = self.token_loc(word)
        self._one_of(word, ("fence", "commit") if count is None else ("wait",))
        arg = s.Tuple(self.fresh(), (), loc) if count is None else self.integer([count])
        return self._do(f"kernel'{word}", (arg,), loc)

    # ---- pieces

    def _one_of(self, word: Token, allowed: tuple[str, ...]) -> None:
        if word not in allowed:
            wanted = " or ".join(f"`{one}`" for one in allowed)
            raise syntax_error("E0101", f"expected {wanted}, found `{word}`", self.token_loc(word))

    def _of_index(self, index: Token, body: s.Exp) -> s.Lambda:
        loc = self.token_loc(index)
        pat = s.PAscript(PVar(self.fresh(), str(index), loc), TEName(("i64",), loc), loc)
        return s.Lambda(self.fresh(), (pat,), None, body, body.loc)

    def _of_nothing(self, body: s.Exp) -> s.Lambda:
        return s.Lambda(self.fresh(), (s.PTuple((), body.loc),), None, body, body.loc)

    def _call(self, name: str, args: tuple[s.Exp, ...], loc: Loc) -> s.Call:
        return s.Call(self.fresh(), Ident(self.fresh(), (name,), loc), args, loc)

    def _do(self, name: str, args: tuple[s.Exp, ...], loc: Loc) -> s.LetPat:
        return s.LetPat((), s.PTuple((), loc), self._call(name, args, loc), False, loc)

    def _let(self, bound: Token, name: str, args: tuple[s.Exp, ...], loc: Loc) -> s.LetPat:
        pat = PVar(self.fresh(), str(bound), self.token_loc(bound))
        return s.LetPat((), pat, self._call(name, args, loc), False, loc)


# ---- what a kernel implements --------------------------------------------------------------------------------------


def implemented(dec: ValDec) -> str | None:
    """The function that a definition with `#[implements(f)]` is a kernel of."""
    found = next((attr for attr in dec.attrs if attr.name == "implements"), None)
    return found.args[0].name if found is not None and len(found.args) == 1 else None


def results_of(dec: ValDec) -> tuple[s.TypeExp, ...]:
    """The types of the results that a kernel writes: its last parameters, `(ys: *[n]f32)`."""
    types: list[s.TypeExp] = []
    for pat in reversed(dec.params):
        if not isinstance(pat, s.PAscript) or not isinstance(pat.type, s.TEUnique):
            break
        types.append(pat.type.elem)
    return tuple(reversed(types))


def with_agreements(decs: tuple[Dec, ...], fresh: Callable[[], int]) -> tuple[Dec, ...]:
    """The declarations, and behind each kernel one that has a type only if it takes and gives what its function does:

    #[implements(f)] def k [n] (xs: [n]f32) (ys: *[n]f32) = ..  ⟶  .., def kernel'k [n] (xs: [n]f32) : [n]f32 = f xs
    """
    found: list[Dec] = []
    for dec in decs:
        found.append(dec)
        if isinstance(dec, ValDec) and (name := implemented(dec)) is not None:
            found.append(_agreement(dec, name, fresh))
    return tuple(found)


def _agreement(dec: ValDec, name: str, fresh: Callable[[], int]) -> ValDec:
    types, loc = results_of(dec), dec.name_loc
    params = dec.params[: len(dec.params) - len(types)]
    named = all(isinstance(p, s.PAscript) and isinstance(p.pat, PVar) for p in dec.params)
    if not types or not params or not named or dec.is_entry:
        text = "a kernel by hand takes what its function takes, and then arrays `(ys: *[n]f32)` for the results"
        hint = "each parameter has a name and a type; a kernel is no entry point"
        raise syntax_error("E0232", text, loc, "", hint)
    args = tuple(
        Ident(fresh(), (p.pat.name,), loc) for p in params if isinstance(p, s.PAscript) and isinstance(p.pat, PVar)
    )
    attrs = replace(dec.loc, end_line=loc.line, end_col=loc.col)  # where the name of the function is
    call = s.Call(fresh(), Ident(fresh(), (name,), attrs), args, loc)
    ret = types[0] if len(types) == 1 else s.TETuple(types, loc)
    made = replace(dec, name=f"kernel'{dec.name}", params=params, ret=ret, body=call, attrs=())
    return copied(fresh, made)
