"""Values of a nest as arrays over the nest: for its results, and for what later kernels need (G6).

    G(Σ, let ā0 = e1 in e2)  ⟶  let āp = G(Σ, e1) in G(Σ', e2)        [G6]
    Σ' = ⟨x̄p ā(p-1) ∈ ȳp āp⟩, ..., ⟨x̄1 ā0 ∈ ȳ1 ā1⟩, only where the size of ā0 is invariant to Σ

`expand` makes the arrays āp of given values; `settle` does so for the deferred statements that deeper kernels need
and that are too expensive to be computed there; afterwards the variables are elements of the arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...ir.core import Body, Copied, Copy, Param, Replicate, Scratch, Stm
from ...ir.records import dataclass
from ...ir.traverse import free_in_stm
from ...ir.types import I64, Atom, Name, Var, scalar
from ..aliasing.classes import made_of
from .nest import Dim, Elem, Flow, Nest
from .recompute_cost import HEAVY, LIMIT, weight_of
from .segop_bodies import element_of, emit_segmap, needs, relied_on
from .trace import Rule

# ---- values to arrays --------------------------------------------------------------------------------------------


def expand(flow: Flow, nest: Nest, atoms: tuple[Atom, ...]) -> tuple[Name, ...]:
    """An array over the nest for each value; no two are the same array, and nothing else holds them."""
    params = tuple(_array_param(flow, nest, atom) for atom in atoms)
    expand_into(flow, nest, atoms, params)
    return tuple(p.name for p in params)


def expand_owned(flow: Flow, nest: Nest, atoms: tuple[Atom, ...], reads: Iterable[Name]) -> tuple[Name, ...]:
    """As `expand`, for arrays that will be overwritten while the nest goes on: an array at which others look that have
    not been computed yet (or one of `reads`) is copied."""
    also = tuple(reads)
    for source in (source_of(flow, atom) for atom in atoms):
        elem = flow.known.elems.get(source.name) if isinstance(source, Var) else None
        if elem is not None and isinstance(source, Var) and is_awaited(flow, source.name, elem.array, also):
            flow.known.fresh.discard(elem.array)
    return expand(flow, nest, atoms)


def is_awaited(flow: Flow, name: Name, array: Name, reads: tuple[Name, ...]) -> bool:
    """Whether a kernel that is still to come looks at `array`, of which `name` is an element, or at a view of it:
    because of the statement at hand, which reads `reads`, or of what comes after it, with the deferred statements that
    either needs."""
    if name in reads:
        return True
    if flow.known.uses.get(name, 0) <= 1:
        return False
    wanted = (*reads, *awaited(flow))
    needed = needs(flow, wanted)
    looked_at = {elem.array for elem in needed.loads.values()}.union(
        wanted, *(free_in_stm(deferred.stm) for deferred in (*needed.stms, *needed.places))
    )
    return not looked_at.isdisjoint(made_of(array, flow.output.stms))


def awaited(flow: Flow) -> Iterator[Name]:
    """What statements after the one at hand use, in all bodies around it."""
    for body in flow.output.walked:
        for stm in body.stms[body.place + 1 :]:
            yield from free_in_stm(stm)
        yield from (atom.name for atom in body.result if isinstance(atom, Var))


def _array_param(flow: Flow, nest: Nest, atom: Atom) -> Param:
    base = atom.name.base if isinstance(atom, Var) else "x"
    return flow.fresh_param(base, flow.type_of(atom).array_of(*nest.widths))


def expand_into(flow: Flow, nest: Nest, atoms: tuple[Atom, ...], params: tuple[Param, ...]) -> None:
    """As `expand`, to given names. What threads compute is computed in one kernel for all; whole rows are copied
    element by element in kernels of their own."""
    together: list[tuple[Atom, Param]] = []
    for atom, param in zip(atoms, params, strict=True):
        flow.known.fresh.add(param.name)
        if not _expand_in_bulk(flow, nest, atom, param):
            together.append((atom, param))
    if together:
        result = tuple(atom for atom, _ in together)
        flow.note(Rule.G1, f"{', '.join(str(p.name) for _, p in together)} over {nest.points()}")
        ret = tuple(flow.type_of(atom) for atom in result)
        emit_segmap(flow, nest.dims, tuple(p for _, p in together), Body((), result), ret)


def _expand_in_bulk(flow: Flow, nest: Nest, atom: Atom, param: Param) -> bool:
    """Values that need no computation in a thread; whether `atom` is one."""
    source = source_of(flow, atom)
    if isinstance(source, Var) and (source.name in nest.indices or source.name in flow.known.coordinates):
        return False
    if flow.is_invariant(source):
        flow.note(Rule.REPLICATE, str(param.name))
        flow.emit((param,), Replicate(nest.widths, source))
        return True
    assert isinstance(source, Var)
    if (elem := flow.known.elems.get(source.name)) is not None:
        return _expand_elem(flow, nest, source, elem, param)
    deferred = flow.known.deferred[source.name]
    match deferred.stm.exp:
        case Replicate(shape, value) if flow.is_invariant(value) and not deferred.stm.certs:
            flow.note(Rule.REPLICATE, str(param.name))
            flow.emit((param,), Replicate(nest.widths + shape, value))
            return True
        case Scratch(row):
            certs = deferred.stm.certs and (relied_on(flow, nest.dims, deferred.stm.certs),)
            flow.known.types[param.name] = param.type
            made = Scratch(row.array_of(*nest.widths))
            flow.keep(Stm((param,), made, (*flow.output.certs, *certs), (), flow.output.loc))
            return True
        case _ if flow.type_of(source).shape and deferred.weight < HEAVY:
            _copy_rows(flow, nest, source, param)
            return True
        case _:
            return False


def source_of(flow: Flow, atom: Atom) -> Atom:
    """What `atom` is a copy of, if a deferred statement copies it."""
    while isinstance(atom, Var) and atom.name not in flow.known.elems and (found := flow.known.deferred.get(atom.name)):
        match found.stm:
            case Stm(exp=Copied(inner), certs=()):
                atom = inner
            case Stm(exp=Copy(array), certs=()):
                atom = Var(array)
            case _:
                return atom
    return atom


def _expand_elem(flow: Flow, nest: Nest, source: Var, elem: Elem, param: Param) -> bool:
    """`xss` itself for `x = xss[i, j]` over `(i, j)`: as it is if this flattening made it, else a copy."""
    if elem.indices == nest.indices:
        made_here = elem.array in flow.known.fresh
        flow.known.fresh.discard(elem.array)
        flow.emit((param,), Copied(Var(elem.array)) if made_here else Copy(elem.array))
        return True
    if flow.type_of(source).shape:
        _copy_rows(flow, nest, source, param)
        return True
    return False


def _copy_rows(flow: Flow, nest: Nest, source: Var, param: Param) -> None:
    """`segmap (Σ, k < s) { row[k] }`: a row that is known in the nest, as an array of its own. Expensive values that it
    depends on are computed before, once for each row."""
    deferred = flow.known.deferred.get(source.name)
    if deferred is not None and (wanted := frontier(flow, free_in_stm(deferred.stm))) is not None:
        settle(flow, nest, wanted)
    shape = flow.type_of(source).shape
    inner: tuple[Dim, ...] = tuple((flow.fresh_param("k", I64).name, size) for size in shape)
    value = flow.fresh_param(source.name.base, scalar(param.type.prim))
    indices = tuple(Var(name) for name, _ in inner)
    stm = Stm((value,), element_of(source.name, shape, indices), (), (), flow.output.loc)
    flow.note(Rule.G1, f"{param.name}, elements of {source.name}")
    emit_segmap(flow, nest.dims + inner, (param,), Body((stm,), (Var(value.name),)), (value.type,))


# ---- what deeper kernels need ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Frontier:
    """Deferred variables that must be arrays before kernels below the nest can use them."""

    names: tuple[Name, ...]


def frontier(flow: Flow, wanted: Iterable[Name]) -> Frontier | None:
    """What of `wanted`, seen from deeper in the nest, has to be computed first; None where that is an array whose
    size varies over the nest (then the statement that wants it stays in the thread)."""
    found: dict[Name, None] = {}
    seen: set[Name] = set()
    work = list(wanted)
    while work:
        name = work.pop()
        deferred = flow.known.deferred.get(name)
        if name in seen or name in flow.known.elems or deferred is None:
            continue
        seen.add(name)
        if deferred.weight > LIMIT and flow.is_regular((flow.known.types[name],)):
            found[name] = None
        elif weight_of(deferred.stm.exp) >= HEAVY:
            return None
        else:
            work.extend(free_in_stm(deferred.stm))
    return Frontier(tuple(found))


def settle(flow: Flow, nest: Nest, wanted: Frontier) -> None:
    """Compute the frontier in kernels over its own depth of the nest, one for each depth."""
    depths: dict[int, list[Name]] = {}
    for name in wanted.names:
        depths.setdefault(flow.known.deferred[name].depth, []).append(name)
    for depth in sorted(depths):
        names = tuple(name for name in depths[depth] if name not in flow.known.elems)
        _materialise(flow, nest.outer(depth), (*names, *_shared(flow, names)))


def _shared(flow: Flow, names: tuple[Name, ...]) -> tuple[Name, ...]:
    """Expensive values that computing `names` yields on the way and that other statements want too."""
    computed = needs(flow, names).stms
    used: dict[Name, int] = {}
    for deferred in computed:
        for name in free_in_stm(deferred.stm):
            used[name] = used.get(name, 0) + 1
    return tuple(
        p.name
        for deferred in computed
        for p in deferred.stm.pat
        if weight_of(deferred.stm.exp) > LIMIT
        and p.name not in names
        and flow.known.uses.get(p.name, 0) > used.get(p.name, 0)
        and flow.is_regular((p.type,))
    )


def _materialise(flow: Flow, nest: Nest, names: tuple[Name, ...]) -> None:
    """Arrays for deferred variables, which from here on are elements of them."""
    if not names:
        return
    flow.note(Rule.G6, ", ".join(map(str, names)))
    arrays = expand(flow, nest, tuple(Var(name) for name in names))
    for name, array in zip(names, arrays, strict=True):
        flow.known.elems[name] = Elem(array, nest.indices)
