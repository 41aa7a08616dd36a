"""Whether the cases of a `match` cover every value (E0211): Maranget's usefulness, on rows of patterns.

A row of wildcards is useful beneath a matrix of rows when some value escapes them all; the search gives an example.
"""

from __future__ import annotations

from ...ir.records import dataclass
from ...ir.types import Prim
from ..source import syntax as s
from ..source.atoms import PLit, PVar, PWild
from ..source.types import TPrim, TRecord, TSum, Ty
from .errors import fault
from .state import Work

MATCH, PATTERN = "the cases of `match` do", "the pattern does"  # how a message begins
LIMIT = 20_000  # steps of one search; a larger match is taken to be complete


@dataclass(frozen=True, slots=True)
class _Con:
    """A constructor of values: of a sum, a literal, `true`, or the only one of records."""

    name: str
    args: tuple[Ty, ...]


_Row = tuple[s.Pat | None, ...]  # None: a wildcard


class _TooLarge(Exception):
    """The search has taken too long."""


def check_matches(work: Work) -> None:
    """E0211 for a match or a pattern that leaves values out."""
    for ty, pats, loc, what in work.pending.matches:
        steps = [LIMIT]
        try:
            example = _escapes(work, [(p,) for p in pats], (ty,), steps)
        except _TooLarge:
            continue
        if example is not None:
            hint = "add a case `_`" if what == MATCH else None
            raise fault("E0211", f"{what} not cover all values", loc, f"nothing matches `{example[0]}`", hint=hint)


def _escapes(work: Work, rows: list[_Row], types: tuple[Ty, ...], steps: list[int]) -> list[str] | None:
    """An example of values of `types`, one each, that no row matches; None when there is none."""
    steps[0] -= 1
    if steps[0] < 0:
        raise _TooLarge
    if not types:
        return None if rows else []
    ty = work.solver.resolve(types[0])
    rows = [(_bare(row[0]), *row[1:]) for row in rows]
    used = {con.name for row in rows if (con := _constructor(row[0])) is not None}
    every = _all_constructors(ty)
    if every is not None and (used or isinstance(ty, TRecord)):
        for con in every:
            found = _escapes(work, _specialise(rows, con, ty), (*con.args, *types[1:]), steps)
            if found is not None:
                return [_example(con, ty, found[: len(con.args)]), *found[len(con.args) :]]
        return None
    rest = _escapes(work, [row[1:] for row in rows if row[0] is None], types[1:], steps)
    return None if rest is None else [_other(used), *rest]


def _bare(pat: s.Pat | None) -> s.Pat | None:
    """A pattern without ascriptions; variables are wildcards."""
    while isinstance(pat, s.PAscript | s.PAttr):
        pat = pat.pat
    return None if isinstance(pat, PVar | PWild) else pat


@dataclass(frozen=True, slots=True)
class _Used:
    name: str
    args: tuple[s.Pat | None, ...]


def _constructor(pat: s.Pat | None) -> _Used | None:
    match pat:
        case s.PConstr(name=name, args=args):
            return _Used(f"#{name}", args)
        case PLit(literal=literal):
            return _Used(str(literal.value), ())
        case s.PTuple(fields=fields) | s.PRecord(fields=fields):
            return _Used("", tuple(p for _, p in fields))
        case _:
            return None


def _all_constructors(ty: Ty) -> list[_Con] | None:
    """All constructors of a type, None when they are too many to name."""
    match ty:
        case TSum(constructors):
            return [_Con(f"#{name}", args) for name, args in constructors]
        case TRecord(fields):
            return [_Con("", tuple(t for _, t in fields))]
        case TPrim(Prim.BOOL):
            return [_Con("True", ()), _Con("False", ())]
        case _:
            return None


def _specialise(rows: list[_Row], con: _Con, ty: Ty) -> list[_Row]:
    """The rows that a value built by `con` may match, with its arguments in place of it."""
    found: list[_Row] = []
    for row in rows:
        if row[0] is None:
            found.append((*[None] * len(con.args), *row[1:]))
            continue
        used = _constructor(row[0])
        if used is not None and used.name == con.name:
            found.append((*_in_order(row[0], used, ty), *row[1:]))
    return found


def _in_order(pat: s.Pat, used: _Used, ty: Ty) -> tuple[s.Pat | None, ...]:
    if isinstance(pat, s.PRecord) and isinstance(ty, TRecord):
        by_name = dict(pat.fields)
        return tuple(by_name.get(name) for name, _ in ty.fields)
    return used.args


def _example(con: _Con, ty: Ty, args: list[str]) -> str:
    if isinstance(ty, TRecord):
        if all(name.isdigit() for name, _ in ty.fields):
            return f"({', '.join(args)})"
        return f"{{{', '.join(f'{name} = {arg}' for (name, _), arg in zip(ty.fields, args))}}}"
    return " ".join([con.name.lower() if con.name in ("True", "False") else con.name, *args])


def _other(used: set[str]) -> str:
    """A literal that is not among those used."""
    numbers = [int(u) for u in used if u.lstrip("-").isdigit()]
    return "_" if not used else str(max(numbers, default=0) + 1)
