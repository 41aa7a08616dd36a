"""Arrays that a kernel makes only to overwrite a part of another array are made there.

    let ys = map (map f) .. in a with [s :+ n, u :+ m] <- ys        ys is the part of a

That is so where the maps see of `a` only the element that they overwrite, or places that are not in the part
(`flatten/aliasing/regions.py`). So are the next values of what a loop carries, or a reduction:

    loop a = .. do let ys = map (\\x .. -> ..) a .. in ys        ys is a
"""

from __future__ import annotations

from collections.abc import Mapping

from ...flatten.aliasing.classes import Sharing, aliases
from ...flatten.aliasing.regions import Defined, is_plain, part_of, reads_only_own
from ...flatten.context.segop_bodies import element_of
from ...ir import core
from ...ir.basic import is_iota
from ...ir.core import Body, Param, SegSpace, Slice, Stm
from ...ir.traverse import free_in_stm
from ...ir.types import Atom, Name, Var, i64
from ..kernel_ir.nodes import Space
from .array_values import sliced
from .kernel_builder import ArrayRef, Builder, ReplicateRef


def made_in_parts(body: Body, k: int) -> dict[Name, core.Update]:
    """The updates by results of statement `k`, if they come next, but for scalar code, and nothing else uses these."""
    if not isinstance(body.stms[k].exp, core.Screma):
        return {}
    made = {p.name for p in body.stms[k].pat}
    here, found = set(made), dict[Name, core.Update]()
    for stm in body.stms[k + 1 :]:
        match stm.exp:
            case core.Update(array, _, Var(value), True) as update if value in made and array not in here:
                used = sum(value in free_in_stm(other) for other in body.stms)
                is_known = (here - {value}).isdisjoint(free_in_stm(stm))
                if used == 1 and Var(value) not in body.result and is_known:
                    found[value] = update
            case core.PrimOp() | core.Convert() | core.Assert():
                pass
            case _:
                break
        here.update(p.name for p in stm.pat)
    return found


def make_in_part(b: Builder, stm: Stm, made: Name, update: core.Update) -> None:
    """Has the part of the array that the update overwrites as the place of what the statement makes, if it may be."""
    target = b.array(update.array)
    if not isinstance(target, ArrayRef) or (target.mem.space is Space.GLOBAL and target.mem not in b.outputs):
        return
    if not _sees_only_own(b, stm, update, target):
        return
    place = sliced(b, target, update.dims)
    assert isinstance(place, ArrayRef), "a part of memory is memory"
    b.destinations[made] = b.parts[made] = place


def _sees_only_own(b: Builder, stm: Stm, update: core.Update, target: ArrayRef) -> bool:
    """Whether the maps read of the array only what they overwrite there and then, or what is not in the part."""
    nest = _nest(stm, b.defined, b.scope.iotas)
    slices = sum(isinstance(dim, Slice) for dim in update.dims)
    if nest is None or len(nest[0].dims) != slices:
        return False
    space, body = nest
    defined = dict(b.defined)
    part = part_of(update.dims, space, defined)
    if part is None:
        return False
    sharing = Sharing()
    for name in free_in_stm(stm):
        value = b.env.get(name)
        while isinstance(value, ReplicateRef):
            value = value.value
        if isinstance(value, ArrayRef) and value.mem == target.mem:
            sharing.link(name, update.array)
    for one in body.stms:
        for made, source in aliases(one):
            sharing.link(made, source)
    return reads_only_own(body, update.array, part, sharing, defined)


def is_remade_in_place(b: Builder, body: Body, array: Param, result: Atom) -> bool:
    """Whether maps make the next value of what a body is carried, and may do so where it is: they read of it only the
    elements that they overwrite, and nothing but scalars is made of it before, nor anything after."""
    k = next((k for k, stm in enumerate(body.stms) if result in [Var(p.name) for p in stm.pat]), None)
    if k is None or not isinstance(body.stms[k].exp, core.Screma) or body.result.count(result) != 1:
        return False
    before, stm, after = body.stms[:k], body.stms[k], body.stms[k + 1 :]
    users = [one for one in (*before, *after) if array.name in free_in_stm(one)]
    if Var(array.name) in body.result or any(one in after or any(p.type.shape for p in one.pat) for one in users):
        return False
    defined = {**b.defined, **{p.name: one for one in before for p in one.pat}}
    nest = _nest(stm, defined, b.scope.iotas)
    if nest is None or len(nest[0].dims) != len(array.type.shape):
        return False
    space, inner = nest
    part = part_of(tuple(Slice(i64(0), width, i64(1)) for width in array.type.shape), space, defined)
    sharing = Sharing()
    for one in inner.stms:
        for made, source in aliases(one):
            sharing.link(made, source)
    return part is not None and reads_only_own(inner, array.name, part, sharing, defined)


def _nest(stm: Stm, outside: Defined, iotas: Mapping[Name, core.Iota]) -> tuple[SegSpace, Body] | None:
    """Maps inside of one another around plain code, as a space and its code; None where it is more than that. `iotas`:
    those of the host."""
    dims: list[tuple[Name, Atom]] = []
    stms: list[Stm] = []
    defined = dict(outside)
    while True:
        match stm.exp:
            case core.Screma(width, arrays, core.Lambda(params, body), (), ()):
                pass
            case _:
                return None
        index = Name("i", -1 - len(dims))
        dims.append((index, width))
        for param, array in zip(params, arrays, strict=True):
            made = defined[array].exp if array in defined else iotas.get(array)
            row = core.Copied(Var(index)) if made is not None and is_iota(made) else _row(array, width, param, index)
            stms.append(Stm((param,), row, (), (), stm.loc))
        last = body.stms[-1] if body.stms else None
        if last is None or not last.pat[0].type.shape:
            inner = Body((*stms, *body.stms), body.result)
            return (SegSpace(tuple(dims)), inner) if is_plain(inner) else None
        if body.result != tuple(Var(p.name) for p in last.pat):
            return None
        defined.update((p.name, s) for s in body.stms for p in s.pat)
        stms += [s for s in body.stms[:-1] if not isinstance(s.exp, core.Iota)]
        stm = last


def _row(array: Name, width: Atom, param: core.Param, index: Name) -> core.Exp:
    """What a map gives its parameter of an array, at `index`."""
    return element_of(array, (width, *param.type.shape), (Var(index),))
