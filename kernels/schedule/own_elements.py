"""Arrays of a block that are registers of its threads: each element is made and read by the thread of its index.

    xs = segmap^thread (k < t) { .. }; .. segmap^thread (k < t) { .. xs[k] .. }          t a constant
    loop accs = .. do { .. segmap^thread (k < t) { .. accs[k] .. } }                     accs made anew by its threads

The distribution follows from the uses: all of them are at the index of a loop over the same threads, or hand the array
on to a loop or to the result, which the threads copy element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from ...ir.core import Body, Fix, Index, Level, Loop, SegMap, Stm
from ...ir.machine import BLOCK
from ...ir.records import dataclass
from ...ir.traverse import free_in_body, free_in_stm, map_bodies
from ...ir.types import Const, Name, Type, Var


def own_elements(body: Body) -> frozenset[Name]:
    """The arrays that a collective's body makes of which each thread has the elements of its own indices."""
    uses = _Uses()
    uses.of_collective(body)
    for group, is_own in reversed(uses.carried):
        if not is_own or not group <= uses.made.keys() or group & uses.elsewhere:
            uses.elsewhere |= group
    return frozenset(uses.made.keys() - uses.elsewhere)


def width_of(type_: Type) -> int | None:
    """How many threads an array of scalars has its elements with; None where that is one, too many, or not known."""
    match type_.shape:
        case (Const(value=width),) if 1 < int(width) <= BLOCK.most:
            return int(width)
        case _:
            return None


@dataclass(slots=True)
class _Uses:
    """The widths of what the threads of a collective `made` element by element, what is used otherwise than by them,
    and for each array that a loop carries its names, and whether the threads that make the next value alone use the
    one before, and do so first."""

    made: dict[Name, int] = field(default_factory=dict[Name, int])
    elsewhere: set[Name] = field(default_factory=set[Name])
    carried: list[tuple[set[Name], bool]] = field(default_factory=list[tuple[set[Name], bool]])

    def of_collective(self, body: Body) -> None:
        """The uses of statements that the collective executes."""
        for stm in body.stms:
            match stm.exp:
                case SegMap(Level.THREAD, space, inner) if len(space.dims) == 1:
                    self.of_threads(stm, space.indices[0], inner)
                case Loop() as loop:
                    self.of_loop(stm, loop)
                case _:
                    self.elsewhere |= set(free_in_stm(stm))

    def of_threads(self, stm: Stm, index: Name, body: Body) -> None:
        width = width_of(stm.pat[0].type)

        def is_own(inner: Stm) -> bool:
            match inner.exp:
                case Index(array, (Fix(Var(name)),)) if name == index:
                    return self.made.get(array) == width
                case _:
                    return False

        self.elsewhere |= set(free_in_body(without(body, is_own)))
        self.made.update((p.name, width) for p in stm.pat if width_of(p.type) is not None and width is not None)

    def of_loop(self, stm: Stm, loop: Loop) -> None:
        arrays = [k for k, p in enumerate(loop.params) if p.type.shape]
        for k in arrays:
            for p in (loop.params[k], stm.pat[k]):
                if (width := width_of(p.type)) is not None:
                    self.made[p.name] = width
        self.of_collective(loop.body)
        for k in arrays:
            result = loop.body.result[k]
            assert isinstance(result, Var)
            group = {loop.params[k].name, stm.pat[k].name, result.name}
            self.carried.append((group, _is_made_last(loop, loop.params[k].name, result)))


def without(body: Body, leave_out: Callable[[Stm], bool]) -> Body:
    """A body without such statements, at any depth."""
    stms = (
        replace(stm, exp=map_bodies(lambda inner: without(inner, leave_out), stm.exp))
        for stm in body.stms
        if not leave_out(stm)
    )
    return Body(tuple(stms), body.result)


def _is_made_last(loop: Loop, before: Name, result: Var) -> bool:
    """Whether threads make a result that nothing else uses, and what was `before` is used no later."""
    stms = loop.body.stms
    made = next((k for k, stm in enumerate(stms) if result.name in {p.name for p in stm.pat}), None)
    if made is None or not isinstance(stms[made].exp, SegMap) or loop.body.result.count(result) > 1:
        return False
    later = {name for stm in stms[made + 1 :] for name in free_in_stm(stm)}
    return not later & {before, result.name} and Var(before) not in loop.body.result
