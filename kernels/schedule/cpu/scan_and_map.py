r"""A scan and the map that reads it, in one pass: the map is computed where the scan gives an element.

    ys = segscan (i < n, j < m) ⊕ { e };  zs = segmap (i < n, j < m) { .. ys[i, j] .. }

    ⟶   zs = chain of chunks, or rows as they lie { scan ⊕ (threads j { e }), then zs[i, j] := .. }

What nothing else reads of the scan is not stored. For maps of cheap code that read the scan at their own point alone,
and cannot fail but where they look up elements, if the scan cannot. The scan is computed where the map is: nothing
reads it before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ....ir import core
from ....ir.core import Body, Convert, Copied, Fix, If, Index, PrimOp, Stm
from ....ir.ops import can_fail
from ....ir.rename import substitute_body
from ....ir.traverse import free_in_body, free_in_stm
from ....ir.types import Atom, Const, Name, Var
from ..host_builder import Filter, Follower
from ..kernel_builder import NotLowerable
from ..queries import may_wait
from ..soacs import is_simple
from ..table import Segop, Table, run
from .lanes_over_rows import LYING, lie_to_be_scanned
from .scan_and_reduce import run_and_reduce
from .segscan import CHUNKS, Followed

AND_MAP: Table = (LYING, CHUNKS)


def followers_in(
    stms: tuple[Stm, ...], result: tuple[Atom, ...], filters: Mapping[Name, Filter]
) -> Mapping[Name, Follower]:
    """The maps of a body that are computed with scans, by their first results; not with those that filter."""
    found: dict[Name, Follower] = {}
    for k, stm in enumerate(stms):
        is_scan = isinstance(stm.exp, core.SegScan) and stm.pat[0].name not in filters
        one = _follower_of(k, stms, result) if is_scan else None
        if one is not None:
            found[one.map.pat[0].name] = one
    return found


def _follower_of(where: int, stms: tuple[Stm, ...], result: tuple[Atom, ...]) -> Follower | None:
    """The map that reads the scan at `where` before anything else does."""
    scan = stms[where]
    exp, made = scan.exp, {p.name: k for k, p in enumerate(scan.pat)}
    assert isinstance(exp, core.SegScan)
    later = stms[where + 1 :]
    number = next((k for k, stm in enumerate(later) if any(name in made for name in free_in_stm(stm))), None)
    if number is None or exp.level is not core.Level.THREAD or not all(is_simple(one.op) for one in exp.scans):
        return None
    map_ = later[number]
    match map_.exp:
        case core.SegMap(core.Level.THREAD, space, body, ret) if space.widths == exp.space.widths:
            pass
        case core.SegRed(core.Level.THREAD, space, reds, body, ret, None) if space.widths == exp.space.widths:
            if len(ret) > map_.exp.num_reds or not all(is_simple(red.op) for red in reds):
                return None
        case _:
            return None
    if any(t.shape for t in ret) or not may_wait(scan, later[:number]):
        return None
    checked = all(map(_is_plain, exp.body.stms))
    if not all(_is_plain(stm, checked) for stm in body.stms):
        return None
    own = tuple(Fix(Var(index)) for index in space.indices)
    read = {s.pat[0].name: s.exp for s in body.stms if isinstance(s.exp, Index) and s.exp.dims == own}
    taken = {name: made[index.array] for name, index in read.items() if index.array in made}
    rest = tuple(s for s in body.stms if s.pat[0].name not in taken)
    code = substitute_body(
        Body(rest, body.result), {i: Var(j) for i, j in zip(space.indices, exp.space.indices, strict=True)}
    )
    if not taken or any(name in made for name in free_in_body(code)):
        return None
    others = {name for stm in later if stm is not map_ for name in free_in_stm(stm)}
    others |= {atom.name for atom in result if isinstance(atom, Var)}
    kept = tuple(k for name, k in made.items() if name in others)
    return Follower(scan, map_, code, taken, kept)


def _is_plain(stm: Stm, checked: bool = False) -> bool:
    """A scalar from scalars and elements of arrays, that always has a value, or with `checked` is an element if there
    is one."""
    match stm.exp:
        case PrimOp(op, prim, (*_, last)):
            return not can_fail(op, prim) or (isinstance(last, Const) and last.value > 0)
        case Index(_, dims, safe):
            return (safe or checked) and all(isinstance(dim, Fix) for dim in dims) and not stm.pat[0].type.shape
        case Convert() | Copied():
            return not stm.pat[0].type.shape
        case If(_, then, orelse) if not any(p.type.shape for p in stm.pat):
            return all(_is_plain(inner, checked) for side in (then, orelse) for inner in side.stms)
        case _:
            return False


def run_both(s: Segop[core.SegScan], one: Follower) -> None:
    """Emits the scan with what follows it. Raises NotLowerable where other schedules of the scan are better."""
    if isinstance(one.map.exp, core.SegRed):
        run_and_reduce(s, one, one.map.exp)
        return
    pat = (*(one.scan.pat[k] for k in one.kept), *one.map.pat)
    s = Followed(s.h, replace(s.stm, pat=pat), s.exp, s.base, s.outs, one)
    if s.outer and isinstance(why := lie_to_be_scanned(s), str):
        raise NotLowerable(why)
    run(s, AND_MAP)
