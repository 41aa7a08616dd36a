"""Elements of arrays that only kernels use stay in the memory of the GPU: kernels load them.

    let x = a![i]                            let v = a[i :+ 1]    let c = copy v
    launch k[n](xs, y, x)           ⟶        launch k'[n](xs, c, y)            k' = let x = c[0]; k

The host would wait for all that was launched before, to read an element. The copy, of one element in the order of the
stream, is what `x` was, whatever is written to `a` later. Elements that sizes of stacks depend on, or anything of the
host, are read as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from ....ir import core
from ....ir.core import Fix, Param, Slice
from ....ir.records import dataclass
from ....ir.types import Name, Names, Type, Var, i64
from ...analysis.stack_sizes import StackSizes
from ...host_ir.liveness import uses
from ...host_ir.nodes import HostBody, HostIf, HostProgram, HostStm, Launch, bodies_of, launches, map_bodies, statements
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import KArray, Kernel, KLoad, Space
from ...kernel_ir.traverse import names_in

ZERO, ONE = i64(0), i64(1)


Copies = dict[Name, Name]
"""The elements of a function that are copied, with the names of their copies."""


@dataclass(slots=True)
class Found:
    """The kernels of a program, in which places each is given elements, and those that load them."""

    kernels: dict[str, Kernel]
    names: Names
    places: dict[str, set[tuple[int, ...]]] = field(default_factory=dict)
    made: dict[tuple[str, tuple[int, ...]], Kernel] = field(default_factory=dict)


def by_address(program: HostProgram, names: Names) -> HostProgram:
    """The program with the elements that only kernels use copied, and loaded by these; `names`: fresh ones."""
    found = Found({kernel.name: kernel for kernel in program.kernels}, names)
    copies = [copies_of(found, fun.body) for fun in program.functions]
    if not any(copies):
        return program
    for fun, own in zip(program.functions, copies, strict=True):
        for launch in launches(*fun.bodies):
            found.places.setdefault(launch.kernel, set()).add(places_of(launch, own))
    functions = tuple(
        replace(fun, body=rewritten(found, own, fun.body)) for fun, own in zip(program.functions, copies, strict=True)
    )
    kernels = [
        loading(found, kernel.name, places)
        for kernel in program.kernels
        for places in sorted(found.places.get(kernel.name, ()))
    ]
    return HostProgram(functions, tuple(kernels))


def copies_of(found: Found, body: HostBody) -> Copies:
    """The elements that only kernels use, with names for copies."""
    elements = dict.fromkeys(elements_of(body))
    by_host = set(used_by_host(found, body)) if elements else set()
    return {name: found.names.fresh(name.base) for name in elements if name not in by_host}


def places_of(launch: Launch, copies: Copies) -> tuple[int, ...]:
    """The scalars of a launch that are copied elements."""
    return tuple(k for k, atom in enumerate(launch.scalars) if isinstance(atom, Var) and atom.name in copies)


def elements_of(body: HostBody) -> Iterator[Name]:
    """The scalars that are elements of arrays, at places that need no check."""
    for stm in statements(body):
        if isinstance(stm.exp, core.Index) and stm.exp.safe and not stm.pat[0].type.shape:
            yield stm.pat[0].name


def used_by_host(found: Found, body: HostBody) -> Iterator[Name]:
    """What is used in another way than as a scalar of a kernel from which no size of its stacks is computed."""
    yield from (atom.name for atom in body.result if isinstance(atom, Var))
    for stm in body.stms:
        yield from (d.name for p in stm.pat for d in p.type.shape if isinstance(d, Var))
        exp = stm.exp
        if isinstance(exp, Launch):
            sized = StackSizes.of(found.kernels[exp.kernel]).used
            kept = tuple(atom for k, atom in enumerate(exp.scalars) if k in sized)
            yield from uses(replace(exp, scalars=kept))
            continue
        inner = bodies_of(exp)
        if not inner:
            yield from uses(exp)
            continue
        yield from uses(replace(exp, **emptied(exp)))
        for one in inner:
            yield from used_by_host(found, one)


def emptied(exp: object) -> dict[str, HostBody]:
    """The bodies of a branch or loop, as fields without statements."""
    nothing = HostBody((), ())
    return {"then": nothing, "orelse": nothing} if isinstance(exp, HostIf) else {"body": nothing}


def rewritten(found: Found, copies: Copies, body: HostBody) -> HostBody:
    """The body with copies in place of elements."""
    stms: list[HostStm] = []
    for stm in body.stms:
        match stm.exp:
            case core.Index(array, dims) if stm.pat[0].name in copies:
                stms += copied(found, copies[stm.pat[0].name], stm, array, dims)
            case Launch() as launch:
                stms.append(replace(stm, exp=launched(found, copies, launch)))
            case exp:
                stms.append(replace(stm, exp=map_bodies(exp, lambda body: rewritten(found, copies, body))))
    return HostBody(tuple(stms), body.result)


def copied(
    found: Found, copy: Name, stm: HostStm, array: Name, dims: tuple[core.DimIndex, ...]
) -> tuple[HostStm, HostStm]:
    """The element as an array of one, in memory of its own."""
    (param,) = stm.pat
    *outer, last = dims
    assert isinstance(last, Fix)
    view, type_ = found.names.fresh(param.name.base), Type(param.type.prim, (ONE,))
    place = (*outer, Slice(last.index, ONE, ONE))
    return (
        HostStm((Param(view, type_),), core.Index(array, place, True), stm.loc),
        HostStm((Param(copy, type_),), core.Copy(view), stm.loc),
    )


def launched(found: Found, copies: Copies, launch: Launch) -> Launch:
    """A launch that gives the places of elements."""
    places = places_of(launch, copies)
    if not places:
        return launch
    kernel = loading(found, launch.kernel, places)
    taken = tuple(copies[atom.name] for k in places if isinstance(atom := launch.scalars[k], Var))
    return replace(
        launch,
        kernel=kernel.name,
        arrays=(*launch.arrays, *taken),
        scalars=tuple(atom for k, atom in enumerate(launch.scalars) if k not in places),
        writes=(*launch.writes, *(False,) * len(taken)),
    )


def loading(found: Found, name: str, places: tuple[int, ...]) -> Kernel:
    """The kernel that loads the scalars at these places; all forms of a kernel but the first say which in
    their names."""
    if not places:
        return found.kernels[name]
    if (name, places) not in found.made:
        kernel = found.kernels[name]
        taken = set(names_in(kernel))
        arrays = tuple(
            KArray(fresh_name(f"{kernel.scalars[k].name}_at", taken), kernel.scalars[k].prim, Space.GLOBAL)
            for k in places
        )
        loads = tuple(kir.KLet(kernel.scalars[k], KLoad(array, ZERO)) for k, array in zip(places, arrays, strict=True))
        found.made[name, places] = replace(
            kernel,
            name=name if places == min(found.places[name]) else "_".join((name, "at", *map(str, places))),
            arrays=(*kernel.arrays, *arrays),
            scalars=tuple(var for k, var in enumerate(kernel.scalars) if k not in places),
            body=(*loads, *kernel.body),
        )
    return found.made[name, places]


def fresh_name(base: str, taken: set[str]) -> str:
    """A name that no variable of the kernel has."""
    name = base
    while name in taken:
        name += "_"
    taken.add(name)
    return name
