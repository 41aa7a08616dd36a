"""What a call consumes, and what its result shares data with.

An argument is consumed where the function's type says so; it then shares nothing with the other arguments, nor with the
function itself. The result shares data with the other arguments and with what the function holds on to, but for the
parts that are fresh.
"""

from __future__ import annotations

from ...ir.errors import Loc
from ..source.types import WHOLE, TFun, Ty
from ..typing.errors import fault
from .aliases import (
    NOTHING,
    UNKNOWN,
    Alias,
    Function,
    Gives,
    Place,
    Shared,
    is_once,
    part_at,
    places_of,
    shared_between_parts,
    spread,
    type_at,
    with_field,
)
from .walk import Flow


def apply_alias(
    flow: Flow, function: Alias, ty: Ty, args: list[Alias], locs: list[Loc], exp: tuple[int, Ty, Loc]
) -> Alias:
    """A call, of which `exp` is the node, the type of the result, and the place."""
    node, result, loc = exp
    kept, gives, consumed = places_of(function), UNKNOWN, False
    if isinstance(function, Function) and function.once is not None:
        flow.consume(Shared(function.once), loc)
        kept = kept - function.once
    held = Shared(kept)
    for at, (arg, arg_loc) in enumerate(zip(args, locs)):
        if not isinstance(ty, TFun):
            break
        if is_once(arg):
            note = "it is not known to be called only once"
            raise fault("E0221", "a function that has consumed an array cannot be passed here", arg_loc, "", (), [note])
        for path in ty.consumes_at if ty.consumes else ():
            consumed = True
            part = part_at(arg, path)
            rest = with_field(arg, path, NOTHING) if path else NOTHING
            _check_apart(flow, part, [rest, held, *(a for i, a in enumerate(args) if i != at)], arg_loc)
            flow.consume(part, arg_loc)
            arg = rest
        kept |= places_of(arg)
        gives, ty = Gives(ty.fresh_at if ty.fresh else (), ty.apart), ty.cod
    if isinstance(function, Function) and function.arity == len(args):
        gives = function.gives
    if isinstance(result, TFun):
        arity = max(function.arity - len(args), 0) if isinstance(function, Function) else 0
        once = (
            frozenset[Place]() if consumed or (isinstance(function, Function) and function.once is not None) else None
        )
        return Function(kept, arity, function.gives if isinstance(function, Function) and arity else UNKNOWN, once)
    return _given(flow, gives, kept, node, result)


def _given(flow: Flow, gives: Gives, kept: frozenset[Place], node: int, result: Ty) -> Alias:
    """The result of a call. Parts that may share data with each other share it through a place of the call's own."""
    if not gives.apart and gives.fresh != WHOLE:
        flow.own_place(node, result, "a call")
        kept = kept | {(node, ())}
    value = spread(result, kept)
    for path in gives.fresh:
        value = with_field(value, path, spread(type_at(result, path), frozenset()))
    return value


def _check_apart(flow: Flow, arg: Alias, others: list[Alias], loc: Loc) -> None:
    """A consumed argument shares nothing with the other arguments, and no two parts of it share data."""
    if twice := shared_between_parts(arg):
        name = flow.name_of(min(twice))
        message = f"`{name}` is consumed twice: it is several parts of one argument"
        raise fault("E0209", message, loc, "consumed here", hint="use a `copy`")
    mine = places_of(arg)
    for other in others:
        common = mine & places_of(other)
        if common:
            name = flow.name_of(min(common))
            raise fault(
                "E0209", f"`{name}` is consumed and used by one call", loc, "consumed here", hint="use a `copy`"
            )
