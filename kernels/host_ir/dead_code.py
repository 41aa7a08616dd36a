"""Memory of the host that nothing reads: index arrays, since kernels count for themselves, and results of kernels.

let is = iota n; launch k(xs, n)                            ⟶   launch k(xs, n)
let fs = scratch [n]bool; launch k(fs, ys, ..)              ⟶   launch k'(ys, ..)   -- k without its stores to fs
let (fs, ys) = if c then .. in {fs', ys'} else ..           ⟶   let ys = if c then .. in {ys'} else ..

A scan of several numbers has results that only carry others along: the flags of a segmented one, three of the four
numbers of products of matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import replace
from itertools import count

from ...ir.core import Iota, Scratch
from ...ir.types import Name, Var
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KArray, Kernel, KStm
from ..kernel_ir.traverse import mentions, rewritten, stored_arrays
from ..kernel_ir.traverse import statements as kernel_statements
from .liveness import uses, uses_of_body
from .nodes import HostBody, HostFun, HostIf, HostProgram, HostStm, Launch, map_bodies, map_function, statements

STORES = kir.Store | kir.StoreRow | kir.StoreSome
Places = Set[int]
"""Of arrays among those of a kernel."""


def without_unread(program: HostProgram) -> HostProgram:
    """The program without them. A kernel that some launches read more of than others becomes several."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    stored = {name: _only_stored(kernel) for name, kernel in kernels.items()}
    made: dict[tuple[str, Places], str] = {}

    def named(kernel: str, places: Places) -> str:
        first, taken = all(name != kernel for name, _ in made), {*kernels, *made.values()}
        others = (f"{kernel.rpartition('_')[0]}_{number}" for number in count(len(kernels)))
        return made.setdefault((kernel, places), kernel if first else next(one for one in others if one not in taken))

    def of_function(fun: HostFun) -> HostFun:
        fun = map_function(fun, _with_results_that_are_read)
        kept = map_function(fun, lambda body: _launching(body, lambda launch: (launch.kernel, stored[launch.kernel])))
        read = {name for body in kept.bodies for name in uses_of_body(body)}
        unread = {s.pat[0].name for s in statements(*fun.bodies) if isinstance(s.exp, Scratch)} - read

        def without(launch: Launch) -> tuple[str, Places]:
            gone = frozenset(k for k in stored[launch.kernel] if launch.arrays[k] in unread)
            return named(launch.kernel, gone), gone

        return map_function(fun, lambda body: _without_memory(_launching(body, without), unread))

    functions = tuple([of_function(fun) for fun in program.functions])
    changed = [_without_stores(kernels[old], places, new) for (old, places), new in made.items()]
    return HostProgram(functions, tuple(changed))


# ---- kernels --------------------------------------------------------------------------------------------------------


def _only_stored(kernel: Kernel) -> Places:
    """The arrays that a kernel does nothing with but store elements."""
    mentioned = [one for one in mentions(kernel.body) if isinstance(one, KArray)]
    stored = [x for stm in kernel_statements(kernel.body) if isinstance(stm, STORES) for x in stored_arrays(stm)]
    return {k for k, x in enumerate(kernel.arrays) if x in stored and mentioned.count(x) == stored.count(x)}


def _without_stores(kernel: Kernel, places: Places, name: str) -> Kernel:
    gone = {kernel.arrays[k] for k in places}

    def on_stm(stm: KStm) -> Iterable[KStm] | None:
        return () if isinstance(stm, STORES) and stm.array in gone else None

    arrays = tuple([x for x in kernel.arrays if x not in gone])
    return replace(kernel, name=name, arrays=arrays, body=rewritten(kernel.body, on_stm))


# ---- bodies ---------------------------------------------------------------------------------------------------------


def _with_results_that_are_read(body: HostBody) -> HostBody:
    """A body whose branches give what is used behind them, or sizes of that."""
    live = {atom.name for atom in body.result if isinstance(atom, Var)}
    kept: list[HostStm] = []
    for stm in reversed(body.stms):
        live |= {name for p in stm.pat if p.name in live for name in _sizes(p.type.shape)}
        match stm.exp:
            case HostIf(cond, then, orelse):
                places = [k for k, p in enumerate(stm.pat) if p.name in live]
                sides = [replace(side, result=tuple([side.result[k] for k in places])) for side in (then, orelse)]
                stm = replace(stm, pat=tuple([stm.pat[k] for k in places]), exp=HostIf(cond, *sides))
            case _:
                pass
        kept.append(replace(stm, exp=map_bodies(stm.exp, _with_results_that_are_read)))
        live |= uses(kept[-1].exp)
    return replace(body, stms=tuple(kept[::-1]))


def _sizes(shape: Iterable[object]) -> set[Name]:
    return {size.name for size in shape if isinstance(size, Var)}


def _launching(body: HostBody, change: Callable[[Launch], tuple[str, Places]]) -> HostBody:
    """A body with other kernels, which have no arrays at these places."""

    def changed(stm: HostStm) -> HostStm:
        if not isinstance(stm.exp, Launch):
            return stm
        kernel, gone = change(stm.exp)
        arrays, writes = ([x for k, x in enumerate(of) if k not in gone] for of in (stm.exp.arrays, stm.exp.writes))
        return replace(stm, exp=replace(stm.exp, kernel=kernel, arrays=tuple(arrays), writes=tuple(writes)))

    return _statements(body, lambda stm: [changed(stm)])


def _without_memory(body: HostBody, unread: set[Name]) -> HostBody:
    """A body without this memory, and without index arrays that it does not use."""
    unread = unread | ({s.pat[0].name for s in statements(body) if isinstance(s.exp, Iota)} - uses_of_body(body))
    return _statements(body, lambda s: [] if isinstance(s.exp, Iota | Scratch) and s.pat[0].name in unread else [s])


def _statements(body: HostBody, change: Callable[[HostStm], list[HostStm]]) -> HostBody:
    """A body with other statements, those of branches and loops too."""
    new = (stm for old in body.stms for stm in change(old))
    return replace(
        body, stms=tuple([replace(s, exp=map_bodies(s.exp, lambda inner: _statements(inner, change))) for s in new])
    )
