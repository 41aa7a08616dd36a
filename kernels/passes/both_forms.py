"""A statement in two forms, of which one is right for what numbers mostly are.

stm   ⟶   if least <= n && n <= most && .. { form } else { stm }
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from ...ir.ops import Op
from ...ir.types import Const, Prim
from ..analysis.intervals import Interval
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import Assign, Declare, KConvert, KIf, KLet, KStm, KVar
from ..kernel_ir.traverse import Stms, bound


def in_both_forms(new: NewNames, assumed: Mapping[KVar, Interval], form: Stms, stm: KStm) -> Stms:
    """A statement, and what it is where variables lie in these intervals; what it makes is known after both."""
    if not assumed:
        return form
    lets, holds = list[KStm](), list[KVar]()
    for var, interval in assumed.items():
        for op, end in zip((Op.GE, Op.LE), interval, strict=True):
            holds.append(new.let(lets, op, var, Const(var.prim, end), var.prim))
    good = reduce(lambda x, y: new.let(lets, Op.AND, x, y, Prim.BOOL), holds)
    outs = bound(stm)
    results = [new.name(x.name, x.prim) for x in outs]
    sides = list[Stms]()
    for stms in (form, (stm,)):
        copy = new.copy()
        side = copy.rewritten(stms)
        sides.append((*side, *(Assign(x, copy.read(y)) for x, y in zip(results, outs, strict=True))))
    declared = [Declare(x, Const(x.prim, 0)) for x in results]
    read = [KLet(y, KConvert(x.prim, x.prim, x)) for x, y in zip(results, outs, strict=True)]
    return (*lets, *declared, KIf(good, *sides), *read)
