"""Which accumulator a name is: each is passed on under many names."""

from __future__ import annotations

from ...ir.core import Accumulate, Body, Copied, If, Loop, Reshape, Stm, WithAcc
from ...ir.types import Name, Var

Roots = dict[Name, Name]
"""For the names of accumulators the parameter of the `with_acc` that they come from."""


def trace(body: Body, roots: Roots) -> None:
    """Adds all names in `body`, at any depth, of the accumulators that are in `roots`."""
    for stm in body.stms:
        _statement(stm, roots)


def _statement(stm: Stm, roots: Roots) -> None:
    match stm.exp:
        case Copied(Var(name)) | Reshape(_, name):
            passed = [name]
        case Accumulate(accs):
            passed = list(accs)
        case WithAcc(_, _, f, dests):
            roots.update((p.name, roots[d]) for p, d in zip(f.params, dests, strict=False) if d in roots)
            trace(f.body, roots)
            passed = list(dests)
        case If(_, then, orelse):
            trace(then, roots)
            trace(orelse, roots)
            roots.update(
                (p.name, roots[a.name])
                for p, a in zip(stm.pat, then.result, strict=True)
                if isinstance(a, Var) and a.name in roots
            )
            return
        case Loop(params, inits, _, body):
            found = [
                (p, q, roots[a.name])
                for p, q, a in zip(params, stm.pat, inits, strict=True)
                if isinstance(a, Var) and a.name in roots
            ]
            roots.update((p.name, root) for p, _, root in found)
            trace(body, roots)
            roots.update((q.name, root) for _, q, root in found)
            return
        case _:
            return
    roots.update((p.name, roots[name]) for p, name in zip(stm.pat, passed, strict=False) if name in roots)
