"""Threads that walk through memory, each for as long as it has to.

A loop is a walk if the lanes take different numbers of turns and each turn gathers: rows of varying length
(`for k < n { .. zs[a + k] .. }`), hash tables, lists, merges, texts that are compared
(`while xs[k] < y { k := k + 1 }`). On lanes a turn gathers, which takes as long as loading one by one, and all wait for
the longest walk. What a turn computes must be little, as on lanes that is nearly free.

So is a loop of turns that all share which reads two elements or more at places that lanes have apart (a filter for each
phase, rows by number), and computes little: lanes load them one by one too, and then put them into vectors.

No walk is a loop of counted turns whose addresses wait for what the turn before has loaded, and a search that halves
what it looks through: lanes take as many turns there, and wait for many loads at once, where a processor guesses each
step. But one that stores at places which its own values say is one (counts of a row, a stack, a row that is permuted):
lanes store one by one there. Beside walks there may be loops that copy or fill, with a quotient for each element;
inside of one, loops of counted turns along a row that it has found.

Integers that are divided in turn by others until a remainder ends the loop, or settles its flag (trial division), are
as elements that are gathered: lanes divide little faster than one by one, and a processor divides for several turns at
once. But where a division waits for that of the turn before (greatest common divisors, powers modulo a number) lanes
have more at once. What is done where a remainder is just one number is rare (a factor that is found and divided out).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from ...ir.ops import DIVISIONS, EXPENSES, Expense, Op, can_fail
from ...ir.types import Const
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import For, KIf, KLet, KLoad, KOp, KStm, KVar, KWhile, Operand
from ..kernel_ir.traverse import assigned, children, names, statements
from .settled import settling
from .speculation import is_harmless
from .uniformity import Affine, Facts, Varying, depending, loaded_names

MOST = 150
"""Statements of a thread."""
MOST_EACH, MOST_AHEAD, MOST_SCATTERED = 12, 24, 4
"""Operations in a turn of a walk for each element that it gathers; where a condition ends it and no address waits for
what a turn has loaded, so that the processor goes ahead; or gathers and scatters, turns being counted."""
BRANCH = 8
"""A branch that lanes would mask counts as this many operations: the processor has to guess it. One in a loop that ends
when it may is mostly a part of its condition, and guessed with it."""
LEAST_GATHERED, WORD = 2, 4
"""Elements in a turn, and bytes of each, of which lanes take longer than a thread alone."""
WIDE = 64
"""Integers of as many bits are divided one by one on lanes, too."""
QUOTIENT = 4
"""Operations that take as long as a quotient of floats, of which lanes compute several in the time of one."""
FUNCTION = 24
"""Operations that take as long as an elementary function, which lanes compute for all at once."""
REMAINDERS = (Op.MOD, Op.REM)
HALVING = (Op.DIV, Op.QUOT, Op.SHR, Op.USHR)


def walks(body: tuple[KStm, ...], facts: Facts) -> bool:
    """Is all that a thread does cheap, and every loop in it a walk?"""
    stms = tuple(statements(body))
    if len(stms) > MOST or not all(map(_is_plain, stms)):
        return False
    loaded = depending(stms, loaded_names(stms))
    rare = _rare_branches(stms)
    loops = [stm for stm in _usual(body, rare) if isinstance(stm, For | KWhile)]
    apart = _apart(stms, facts) if loops else frozenset[str]()
    found = [loop for loop in loops if _is_walk(loop, loaded, rare, facts) or _gathers(loop, apart, facts)]
    inside = {id(stm) for loop in found for stms in children(loop) for stm in statements(stms)}
    return bool(found) and all(
        loop in found or _stores_each(loop) or (id(loop) in inside and _goes_along(loop, loaded)) for loop in loops
    )


def _apart(stms: tuple[KStm, ...], facts: Facts) -> frozenset[str]:
    """What depends on values that lanes have apart: loaded, cut off floats, and divided where more than 1 is between
    neighbours."""

    def is_source(stm: KStm) -> bool:
        match stm:
            case KLet(var, KLoad()):
                return facts.varies(var)
            case KLet(var, kir.KConvert(source)):
                return source.is_float and facts.varies(var)
            case KLet(_, KOp(op, prim, (x, _))) if op in DIVISIONS and prim.is_int:
                return facts.of(x) in (Affine(None), Varying())
            case _:
                return False

    return depending(stms, [stm.var.name for stm in stms if isinstance(stm, KLet) and is_source(stm)])


def _gathers(loop: For | KWhile, apart: frozenset[str], facts: Facts) -> bool:
    """Whether a counted turn reads elements here and there, two at least, and computes little: one by one they are
    loads, of which lanes have as many."""
    body = tuple(statements(loop.body)) if isinstance(loop, For) and not facts.varies(loop.bound) else ()
    places = [(s.rhs.array, s.rhs.index) for s in body if isinstance(s, KLet) and isinstance(s.rhs, KLoad)]
    far = [(array, at) for array, at in places if facts.varies(at)]
    return (
        len(far) >= LEAST_GATHERED
        and all(isinstance(at, KVar) and at.name in apart and array.prim.bytes >= WORD for array, at in far)
        and all(isinstance(facts.of(at), Varying) for _, at in far)
        and not any(isinstance(stm, kir.Store) for stm in body)
        and sum(weight(stm, 1) for stm in body) <= MOST_SCATTERED * len(far)
    )


def _stores_each(loop: For | KWhile) -> bool:
    """Whether a loop of counted turns copies or fills, and computes little but addresses: a quotient for each store."""
    stms = tuple(statements(loop.body)) if isinstance(loop, For) else ()
    stores = sum(isinstance(stm, kir.Store) for stm in stms)
    return all(isinstance(stm, KLet | kir.Store) for stm in stms) and _sum(stms) <= QUOTIENT * stores


def _goes_along(loop: For | KWhile, loaded: frozenset[str]) -> bool:
    """Whether a loop of counted turns inside of a walk goes along a row at a place that the walk has loaded: one by
    one, its elements are side by side."""
    if not isinstance(loop, For):
        return False
    body = tuple(statements(loop.body))
    gathers = [name for stm in body for name in _address(stm) if name in loaded]
    return _sum(body) <= MOST_EACH * len(gathers)


def _sum(body: Iterable[KStm]) -> int:
    return sum(weight(stm, BRANCH) for stm in body)


def _rare_branches(stms: Iterable[KStm]) -> dict[str, int]:
    """The conditions that a remainder is some number, with the side that is seldom taken."""
    remainders = {stm.var.name for stm, _, _ in _divisions(stms, REMAINDERS)}
    found: dict[str, int] = {}
    for stm in stms:
        match stm:
            case KLet(var, KOp(Op.EQ | Op.NE as op, _, (KVar(name), Const()))) if name in remainders:
                found[var.name] = int(op is Op.NE)
            case _:
                pass
    return found


def _usual(stms: Iterable[KStm], rare: Mapping[str, int]) -> Iterator[KStm]:
    """All statements, those inside too, but what is seldom done."""
    for stm in stms:
        yield stm
        seldom = rare.get(stm.cond.name) if isinstance(stm, KIf) and isinstance(stm.cond, KVar) else None
        for side, inner in enumerate(children(stm)):
            if side != seldom:
                yield from _usual(inner, rare)


def _is_walk(loop: For | KWhile, loaded: frozenset[str], rare: Mapping[str, int], facts: Facts) -> bool:
    body = tuple(stm for stms in children(loop) for stm in _usual(stms, rare))
    addresses = [name for stm in body for name in _address(stm)]
    tried: list[KStm] = []
    most, branch = MOST_EACH, 1
    flag = settling(loop) if isinstance(loop, For) else None
    match loop:
        case For() if flag is not None and facts.varies(flag.flag) and (tried := _tried(loop, body, flag.flag)):
            anywhere, goes_on = loaded, True
        case For(_, bound, _):
            own = {stm.var.name for stm in body if isinstance(stm, kir.Declare)}
            carried = depending(body, assigned(body) - own)
            anywhere, branch = loaded, BRANCH
            goes_on = isinstance(bound, KVar) and bound.name in loaded and facts.varies(bound)
            if not (goes_on and carried.isdisjoint(addresses)):
                anywhere, most, branch = loaded | carried, MOST_SCATTERED, 1
                goes_on = _scatters(body, anywhere, facts)
        case KWhile(_, cond, _):
            anywhere = loaded | depending(body, assigned(body))
            goes_on = facts.varies(cond) and not _halves(body, addresses)
            tried = _tried(loop, body, cond)
            if addresses and depending(body, loaded_names(body)).isdisjoint(addresses):
                most = MOST_AHEAD
        case _:
            return False
    gathers = sum(name in anywhere for name in addresses) + len(tried)
    return goes_on and sum(weight(stm, branch) for stm in body if stm not in tried) <= most * gathers


def _tried(loop: For | KWhile, body: tuple[KStm, ...], cond: Operand) -> list[KStm]:
    """The divisions by numbers that change from turn to turn which decide about the next turn, and wait for no other
    one. `body`: what a turn usually does."""
    whole = tuple(stm for stms in children(loop) for stm in statements(stms))
    divisions = tuple(_divisions(body, DIVISIONS))
    quotients = [stm.var.name for stm, _, _ in divisions]
    rare = tuple(stm for stm in whole if stm not in body)
    if names(cond).isdisjoint(depending(whole, (*quotients, *assigned(rare)))):
        return []
    counter = {loop.index.name} if isinstance(loop, For) else set()
    waiting, changing = depending(body, quotients), depending(body, assigned(body) | counter)
    return [stm for stm, x, by in divisions if names(x, by).isdisjoint(waiting) and by.name in changing]


def _divisions(stms: Iterable[KStm], ops: Collection[Op]) -> Iterator[tuple[KLet, Operand, KVar]]:
    """Where integers are divided by others that are no constants: the dividend and the divisor."""
    for stm in stms:
        match stm:
            case KLet(_, KOp(op, prim, (x, KVar() as by))) if op in ops and prim.is_int:
                yield stm, x, by
            case _:
                pass


def _halves(body: tuple[KStm, ...], addresses: Iterable[str]) -> bool:
    """Whether what the next turn looks at comes of a quotient of what this one has."""
    carried = assigned(body)
    moving = depending(body, carried)
    quotients = [
        stm.var.name
        for stm in body
        if isinstance(stm, KLet) and isinstance(stm.rhs, KOp) and stm.rhs.op in HALVING and _reads(stm.rhs, moving)
    ]
    halved = carried & depending(body, quotients)
    return not depending(body, halved).isdisjoint(addresses)


def _scatters(body: tuple[KStm, ...], anywhere: frozenset[str], facts: Facts) -> bool:
    """Whether a turn stores at places that its own values say: lanes store one by one then, and the next turn, which
    reads there, waits for all of them."""
    places = [stm.index for stm in body if isinstance(stm, kir.Store)]
    return any(
        isinstance(place, KVar) and place.name in anywhere and isinstance(facts.of(place), Varying) for place in places
    )


def _reads(rhs: KOp, moving: frozenset[str]) -> bool:
    return isinstance(rhs.args[0], KVar) and rhs.args[0].name in moving and rhs.prim.is_int


def _address(stm: KStm) -> frozenset[str]:
    """The variable at whose value a statement reads or writes memory."""
    match stm:
        case KLet(_, KLoad(_, KVar(name))) | kir.Store(_, KVar(name)):
            return frozenset({name})
        case _:
            return frozenset()


def _is_plain(stm: KStm) -> bool:
    match stm:
        case (
            KLet(_, KLoad())
            | kir.Store()
            | kir.Check()
            | kir.BoundsCheck()
            | KIf()
            | For()
            | KWhile()
            | kir.Note()
            | kir.Alloc()
        ):
            return True
        case _:
            return _divides(stm) or _calls(stm) or is_harmless(stm)


def _divides(stm: KStm) -> bool:
    return isinstance(stm, KLet) and isinstance(stm.rhs, KOp) and stm.rhs.op in DIVISIONS


def _calls(stm: KStm) -> bool:
    """Whether a statement computes a function of several instructions that cannot fail."""
    match stm:
        case KLet(_, KOp(op, prim, _)):
            return EXPENSES[op] in (Expense.FEW, Expense.CALL) and not can_fail(op, prim)
        case _:
            return False


def weight(stm: KStm, branch: int) -> int:
    """Operations of a statement in a walk; what finds addresses takes as long on lanes, and a branch that only chooses
    is a selection."""
    match stm:
        case KIf(_, then, orelse):
            return 1 if all(map(is_harmless, statements((*then, *orelse)))) else branch
        case KLet(_, KOp(op, prim, _, False)) if op in DIVISIONS:
            return QUOTIENT if prim.is_float else 1 if prim.bits == WIDE else MOST
        case KLet(_, KOp(op)) if EXPENSES[op] is Expense.CALL:
            return FUNCTION
        case KLet(_, KOp(_, _, _, exact)):
            return 0 if exact else 1
        case KLet(_, kir.KConvert(source, target)):
            return 0 if source is target or (source.is_int and target.is_int) else 1
        case _:
            return 0
