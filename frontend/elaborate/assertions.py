"""Run-time checks: assertions, what is known of sizes, and certificates for what relies on it.

A fact that was asserted is remembered in the body that asserts it, with the certificate: a later statement there or
deeper relies on the same assertion instead of a new one.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir import polynomials
from ...ir.core import Assert
from ...ir.errors import Loc
from ...ir.ops import Op
from ...ir.types import Atom, Const, Prim, Var, i64, scalar
from . import size_forms
from .state import Certs, Stage, emit, form_of, prim_op, union, variable_in_scope


def emit_assert(st: Stage, cond: Atom, code: str, parts: tuple[str | Atom, ...], loc: Loc) -> Certs:
    """An assertion; the result are the certificates for what relies on it."""
    if cond == Const(Prim.BOOL, True):
        return ()
    return (emit(st, "ok", Assert(cond, code, parts), scalar(Prim.BOOL), loc).name,)


def check_once(st: Stage, fact: tuple[object, ...], emit_check: Callable[[], Certs]) -> Certs:
    """The certificate of a fact, asserted now unless an enclosing body has done it."""
    for builder in st.builder.outward():
        if fact in builder.checked:
            return builder.checked[fact]
    certs = emit_check()
    st.builder.checked[fact] = certs
    return certs


def note_sizes(st: Stage, atoms: list[Atom]) -> None:
    """These sizes come from arrays that exist: they are not negative."""
    for atom in atoms:
        if isinstance(atom, Var):
            st.home[atom.name.tag].checked["size", atom] = ()


def is_size(st: Stage, atom: Atom) -> Certs | None:
    """The certificates by which `atom` is known not to be negative; None if it is not known."""
    if isinstance(atom, Const):
        return () if int(atom.value) >= 0 else None
    for builder in st.builder.outward():
        if ("size", atom) in builder.checked:
            return builder.checked["size", atom]
    return _sum_of_sizes(st, atom)


def _sum_of_sizes(st: Stage, atom: Var) -> Certs | None:
    """Sums and products of sizes are sizes."""
    form = st.form_of.get(atom.name.tag)
    if form is None or form == polynomials.atom(atom.name.tag):
        return None
    certs: Certs = ()
    for monomial, factor in form:
        if factor >= size_forms.MODULUS // 2:
            return None
        for tag in monomial:
            var = variable_in_scope(st, tag)
            known = None if var is None else is_size(st, var)
            if known is None:
                return None
            certs = union(certs, known)
    return certs


def require_size(st: Stage, atom: Atom, what: str | tuple[str | Atom, ...], loc: Loc) -> Certs:
    """Check that `atom` is a size: R0104 unless 0 <= atom; `what` it is a size of, or the whole message."""
    known = is_size(st, atom)
    if known is not None:
        return known

    def emit_check() -> Certs:
        cond = prim_op(st, Op.LE, Prim.I64, (i64(0), atom), loc)
        named = ("range 0..1..<", atom, f" is invalid: negative size in {what}")
        return emit_assert(st, cond, "R0104", named if isinstance(what, str) else what, loc)

    return check_once(st, ("size", atom), emit_check)


def require_equal(st: Stage, found: Atom, wanted: Atom, parts: tuple[str | Atom, ...], loc: Loc) -> Certs:
    """Check that two sizes are equal: R0105, said in `parts`."""
    if found == wanted or form_of(st, found) == form_of(st, wanted):
        return ()

    def emit_check() -> Certs:
        cond = prim_op(st, Op.EQ, Prim.I64, (found, wanted), loc)
        return emit_assert(st, cond, "R0105", parts, loc)

    return check_once(st, ("equal", found, wanted), emit_check)
