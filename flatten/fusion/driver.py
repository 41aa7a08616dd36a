"""Fusion: in every body, SOACs are merged with the producers of their inputs and with neighbours that read the same.

Statements are taken in order. A SOAC looks for a producer among its inputs, then for a neighbour, and swallows what a
rule of `rules.py` allows; the fused SOAC stands in its place. What is between and needs a result of the
swallowed statement moves behind; where that is impossible, since the SOAC needs it too or since an array would be
overwritten too early, nothing is fused. Outer bodies come first, so that the inner ones are fused as they then are.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.attributes import is_opaque
from ...ir.core import (
    Body,
    Exp,
    Hist,
    Index,
    Iota,
    Loop,
    Prog,
    Rearrange,
    Reshape,
    Scatter,
    Screma,
    Soac,
    Stm,
)
from ...ir.traverse import bodies, free_in_stm, map_bodies, types_in, with_bodies
from ...ir.types import Name, Names
from ..aliasing.classes import sharing_in
from ..simplify.dead_code import remove_dead
from ..simplify.driver import simplify
from ..simplify.soacs import read_once
from .divided_rows import map_of_places
from .first_kept import any_of_count, read_first_kept
from .flat_rows import reduce_rows
from .gather import fuse_gather
from .graph import (
    Context,
    Node,
    Scope,
    fused_node,
    is_row_by_row,
    may_move,
    node_of,
    scope_of,
)
from .joins import join, map_with_ends
from .kept import read_through_filters
from .late_rows import split_at_rows
from .loops import loop_to_map
from .loops_side_by_side import loops_together
from .parts import scatter_parts
from .rules import SIDE_BY_SIDE, VERTICAL, Rule, fuse_map_hist, mapped_results
from .sink import sink

ROUNDS = 4
"""Simplification after fusion may make more fusible; it seldom does twice."""

NEIGHBOURS = 4
"""How many of the last SOACs that read an array are tried as neighbours."""


def fuse(prog: Prog) -> Prog:
    """`prog` with its SOACs fused, and simplified where that changed anything."""
    for _ in range(ROUNDS):
        prog, fired = fused_once(prog)
        if not fired:
            break
        prog = simplify(prog)
    return prog


def fused_once(prog: Prog) -> tuple[Prog, tuple[str, ...]]:
    """One walk over `prog`, and the names of the rules that fired."""
    names, fired = Names(prog.next_name), list[str]()
    sharing = sharing_in(prog)
    types = types_in(prog)
    functions = tuple(
        replace(f, body=_rewritten(f.body, {}, Context(names, sharing, types, fired))) for f in prog.functions
    )
    prog = sink(remove_dead(replace(prog, functions=functions, next_name=names.next)))
    context = Context(Names(prog.next_name), sharing_in(prog), types_in(prog), fired)
    functions = tuple(replace(f, body=fuse_body(f.body, context)) for f in prog.functions)
    return Prog(prog.consts, functions, context.names.next), tuple(context.fired)


def _rewritten(body: Body, outside: dict[Name, Stm], context: Context) -> Body:
    """`body` and those in it, with what rules do that see all readers of an array, before SOACs are merged."""
    while (made := scatter_parts(body, outside, context.names, context.sharing, context.types)) is not None:
        context.fired.append(scatter_parts.__name__)
        body = made
    body = read_first_kept(body, context.names, context.sharing, outside, context.fired)
    body = read_through_filters(body, context.names, context.sharing, outside, context.fired)
    body = any_of_count(body, context.names, context.fired)
    known = {**outside, **{p.name: stm for stm in body.stms for p in stm.pat}}
    inside = (replace(s, exp=map_bodies(lambda inner: _rewritten(inner, known, context), s.exp)) for s in body.stms)
    return Body(tuple(inside), body.result)


def fuse_body(body: Body, context: Context, in_nest: bool = False) -> Body:
    """`body` with the SOACs in it fused, at every depth; `in_nest`: it belongs to a function of a SOAC."""
    while (together := loops_together(body)) is not None:
        context.fired.append(loops_together.__name__)
        body = together
    nodes = [node_of(one) for stm in body.stms for one in _interchanged(stm, context, in_nest)]
    scope = scope_of(body, nodes, context)
    for node in nodes:
        scope.waiting.subtract(node.free)
        made = (join(node, scope) if in_nest else None) or node
        scope.add(_swallow_all(made, scope) if isinstance(made.stm.exp, Soac) else made)
    stms = [node.stm for node in scope.nodes if node is not None]
    return Body(tuple(_fuse_inside(stm, context, in_nest) for stm in stms), body.result)


def _interchanged(stm: Stm, context: Context, in_nest: bool) -> tuple[Stm, ...]:
    """A loop of a map as a map of loops, where it can be."""
    made = loop_to_map(stm, context.names, in_nest) if isinstance(stm.exp, Loop) else None
    if made is None:
        return (stm,)
    context.fired.append(loop_to_map.__name__)
    return made


def _fuse_inside(stm: Stm, context: Context, in_nest: bool) -> Stm:
    inner = bodies(stm.exp)
    if not inner:
        return stm
    in_nest = in_nest or isinstance(stm.exp, Soac)
    return replace(stm, exp=with_bodies(stm.exp, tuple(fuse_body(body, context, in_nest) for body in inner)))


def _swallow_all(node: Node, scope: Scope) -> Node:
    """The SOAC after swallowing all it can: producers as long as there are any, then neighbours."""
    while (
        fused := _with_producer(node, scope)
        or _with_ends(node, scope)
        or _with_places(node, scope)
        or _with_gathered(node, scope)
        or _with_neighbour(node, scope)
        or _with_late_rows(node, scope)
        or _over_rows(node, scope)
    ) is not None:
        node = fused
    once = read_once(node.stm, scope.context.sharing.consumed)
    return node if once is node.stm else node_of(once)


def _with_producer(node: Node, scope: Scope) -> Node | None:
    soac = node.stm.exp
    assert isinstance(soac, Soac)
    for array in dict.fromkeys(soac.arrays):
        match scope.maker_of(array):
            case (number, producer) if is_row_by_row(producer, node):
                fused = _swallow(number, producer, node, VERTICAL, scope)
                if fused is not None:
                    return fused
            case _:
                pass
    return None


def _with_ends(node: Node, scope: Scope) -> Node | None:
    """The SOAC with the concatenation of an array and a few elements that it alone reads, or a part of which."""
    soac = node.stm.exp
    assert isinstance(soac, Soac)
    for array in dict.fromkeys(soac.arrays if isinstance(soac, Screma) else ()):
        maker = scope.maker_of(array)
        if maker is None or array in node.beside or scope.is_needed(array):
            continue
        number, read = maker
        found = map_with_ends(_concatenated(read, soac, scope), read.stm, scope.context)
        if found is not None and (fused := _with_map_of_indices(number, read, *found, node, scope)) is not None:
            scope.context.fired.append(map_with_ends.__name__)
            return fused
    return None


def _with_map_of_indices(number: int, read: Node, iota: Stm, made: Stm, node: Node, scope: Scope) -> Node | None:
    """The SOAC with the map over `iota` that gives what it `read`, if they can be one."""
    scope.replace(number, node_of(made))
    fused = _swallow(number, node_of(made), node, VERTICAL, scope)
    if fused is None:
        scope.replace(number, read)
        return None
    scope.append(node_of(iota))
    return fused


def _with_places(node: Node, scope: Scope) -> Node | None:
    """The scan, or the scatter by what a scan gives, with a reshaped matrix that it reads."""
    soac = node.stm.exp
    assert isinstance(soac, Soac)
    if not _is_scan(soac) and not (isinstance(soac, Scatter) and any(_is_scanned(xs, scope) for xs in soac.arrays)):
        return None
    for array in dict.fromkeys(soac.arrays):
        match scope.maker_of(array):
            case (number, Node(Stm(exp=Reshape((_,), source))) as view) if (
                maker := scope.maker_of(source)
            ) is not None:
                pass
            case _:
                continue
        if is_opaque(maker[1].stm) or not may_move(*maker, view, [], scope):
            continue
        users = [k for k in scope.users[source] if scope.nodes[k] is not None]
        alone = users == [number] and scope.waiting[source] == 0 and source not in scope.results
        found = map_of_places(view.stm, maker[1].stm, alone, scope.made, scope.context)
        if found is not None and (fused := _with_map_of_indices(number, view, *found, node, scope)) is not None:
            scope.context.fired.append(map_of_places.__name__)
            return fused
    return None


def _is_scan(exp: Exp) -> bool:
    return isinstance(exp, Screma) and bool(exp.scans)


def _is_scanned(array: Name, scope: Scope) -> bool:
    """Whether a scan of this body makes an array."""
    maker = scope.maker_of(array)
    return maker is not None and _is_scan(maker[1].stm.exp)


def _concatenated(read: Node, soac: Soac, scope: Scope) -> Stm:
    """What a part is of, if nothing else needs that than parts which `soac` reads; else the part itself."""
    maker = scope.maker_of(read.stm.exp.array) if isinstance(read.stm.exp, Index) else None
    if maker is None or not may_move(*maker, read, [], scope):
        return read.stm
    for name in maker[1].made:
        users = [node.stm for k in scope.users.get(name, ()) if (node := scope.nodes[k]) is not None]
        parts = [stm.pat[0].name for stm in users if isinstance(stm.exp, Index)]
        if len(parts) < len(users) or name in scope.results or scope.waiting[name] > 0:
            return read.stm
        if any(part not in soac.arrays or scope.is_needed(part) for part in parts):
            return read.stm
    return maker[1].stm


def _with_gathered(node: Node, scope: Scope) -> Node | None:
    """The SOAC with a producer whose result it alone reads, at an index."""
    soac = node.stm.exp
    assert isinstance(soac, Soac)
    for array in free_in_stm(node.stm):
        match scope.maker_of(array):
            case (number, Node(Stm(exp=Screma(width=width))) as producer) if (
                width == soac.width and array in node.beside
            ):
                if scope.is_needed(array) or is_opaque(producer.stm) or is_opaque(node.stm):
                    continue
                if not may_move(number, producer, node, [], scope):
                    continue
                stm = fuse_gather(producer.stm, node.stm)
                if stm is not None:
                    scope.context.fired.append(fuse_gather.__name__)
                    scope.remove(number)
                    return node_of(stm)
            case _:
                pass
    return None


def _with_neighbour(node: Node, scope: Scope) -> Node | None:
    if not isinstance(node.stm.exp, Screma | Hist):
        return None
    for array in dict.fromkeys(node.stm.exp.arrays):
        if _is_iota(array, scope):
            continue
        for number in reversed(scope.readers.get(array, ())[-NEIGHBOURS:]):
            neighbour = scope.nodes[number]
            if neighbour is None or neighbour.stm.attrs != node.stm.attrs or neighbour.made & node.free:
                continue
            fused = _swallow(number, neighbour, node, SIDE_BY_SIDE, scope)
            if fused is not None:
                return fused
    return None


def _with_late_rows(node: Node, scope: Scope) -> Node | None:
    """The histogram of rows with that part of their producer that makes them, where others need the rest."""
    hist = node.stm.exp
    if not isinstance(hist, Hist) or is_opaque(node.stm):
        return None
    for array in dict.fromkeys(hist.arrays):
        match scope.maker_of(array):
            case (number, Node(Stm(exp=Screma(scans=(), reds=()) as f)) as maker) if (
                f.width == hist.width and is_row_by_row(maker, node) and not is_opaque(maker.stm)
            ):
                if not may_move(number, maker, node, [], scope):
                    continue
                wanted = [k for k, p in enumerate(maker.stm.pat) if not scope.is_needed(p.name)]
                parts = split_at_rows(maker.stm, wanted, scope.context.names)
                if parts is None:
                    continue
                scope.replace(number, node_of(parts[0]))
                stm = fuse_map_hist(parts[1], node.stm, frozenset())
                assert stm is not None
                scope.context.fired.append(split_at_rows.__name__)
                return node_of(stm)
            case _:
                pass
    return None


def _over_rows(node: Node, scope: Scope) -> Node | None:
    """The reduction of a matrix in one row over its rows, if it is a part of another, or a map makes it for this."""
    exp, matrices, certs = node.stm.exp, list[Name](), list[Name]()
    if not isinstance(exp, Screma) or not exp.reds or is_opaque(node.stm):
        return None
    for array in exp.arrays:
        match scope.maker_of(array):
            case (_, Node(Stm(exp=Reshape((_,), source)) as view)) if not scope.is_needed(array):
                matrices.append(source)
                certs += view.certs
            case _:
                return None
    if not any(_is_better_in_rows(matrix, scope) for matrix in matrices):
        return None
    stm = reduce_rows(node.stm, matrices, scope.context)
    if stm is None:
        return None
    scope.context.fired.append(reduce_rows.__name__)
    return node_of(replace(stm, certs=tuple(dict.fromkeys((*stm.certs, *certs)))))


def _is_better_in_rows(matrix: Name, scope: Scope) -> bool:
    """Whether a matrix need not be stored, or is a view whose elements are not side by side."""
    match scope.maker_of(matrix):
        case (_, Node(Stm(exp=Screma(width)) as stm)) if matrix in mapped_results(stm):
            alone = scope.waiting[matrix] == 0 and len(scope.users[matrix]) == 1 and matrix not in scope.results
            return alone and width == scope.context.types[matrix].shape[0]
        case (_, Node(Stm(exp=Index() | Rearrange()))):
            return True
        case _:
            return False


def _is_iota(array: Name, scope: Scope) -> bool:
    """Reading an `iota` twice costs nothing."""
    match scope.maker_of(array):
        case (_, node):
            return isinstance(node.stm.exp, Iota)
        case _:
            return False


def _swallow(number: int, producer: Node, consumer: Node, rules: tuple[Rule, ...], scope: Scope) -> Node | None:
    """The two fused, if a rule applies and the order of execution allows it; then the producer is gone."""
    p, c = producer.stm.exp, consumer.stm.exp
    if not isinstance(p, Screma | Hist) or not isinstance(c, Soac) or p.width != c.width or not _may_mix(p, c):
        return None
    if is_opaque(producer.stm) or is_opaque(consumer.stm):
        return None
    dependents = scope.dependents(producer)
    if not may_move(number, producer, consumer, dependents, scope):
        return None
    kept = frozenset(name for name in mapped_results(producer.stm) if scope.is_needed(name))
    fused = next(((rule, new) for rule in rules if (new := rule(producer.stm, consumer.stm, kept)) is not None), None)
    if fused is None:
        return None
    rule, stm = fused
    scope.context.fired.append(rule.__name__)
    scope.remove(number)
    scope.behind = [scope.remove(k) for k in dependents] + scope.behind
    return fused_node(stm, producer, consumer)


def _may_mix(p: Screma | Hist, c: Soac) -> bool:
    """A SOAC either scans or reduces, since its kernel does one; histograms are fused with each other."""
    if isinstance(p, Hist):
        return isinstance(c, Hist)
    return not isinstance(c, Screma) or not ((p.scans or c.scans) and (p.reds or c.reds))
