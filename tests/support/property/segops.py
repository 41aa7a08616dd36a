"""What holds of the segops of a flat program, whatever it computes.

ne ⊙ x = x = x ⊙ ne        parts of a reduction or scan begin with ne, lanes that are off have it
scatters                   no two points write different values to one place: threads do so in any order
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

import numpy as np

from soac.ir import parallel
from soac.ir.core import Body, FunDef, Param, Prog, Reduction, Screma, SegRed, SegScan
from soac.ir.errors import NOWHERE, RunError
from soac.ir.interpret import Thresholds, prepare
from soac.ir.parallel import Value
from soac.ir.scalar import DTYPES
from soac.ir.traverse import all_exps, free_in_lambda
from soac.ir.types import Const, Name, Prim
from tests.support.property.guards import Broken

TRIES = 6


def assert_neutral(prog: Prog, source: Prog) -> None:
    """Raises `Broken` where an operator on numbers changes what it combines with its neutral element; one that needs
    anything around it is left out. Those of the source must be known to be right: none on rows or of what is around."""
    if len(list(_closed(source))) < len(list(_operators(source))):
        return
    message = wrong_operator(prog)
    if message and not wrong_operator(source, 10 * TRIES):  # values of sums are seldom what is wrong of an operator
        raise Broken(message)


def wrong_operator(prog: Prog, tries: int = TRIES) -> str:
    """What an operator makes of its neutral element, if it is none."""
    reds, tag = list(_closed(prog)), prog.next_name
    made = [_function(red, Name(f"operator{k}", tag + 1000 * k)) for k, red in enumerate(reds)]
    prepared = prepare(Prog(prog.consts, (*prog.functions, *made), tag + 1000 * len(made)))
    for k, red in enumerate(reds):
        for number in range(tries):
            random = Random(f"{k} {number}")
            given = [_value(random, t.prim) for t in red.op.ret]
            ne = [DTYPES[atom.prim].type(atom.value) for atom in red.neutral if isinstance(atom, Const)]
            for args in ((*ne, *given), (*given, *ne)):
                try:
                    found = prepared.run(f"operator{k}", args, Thresholds())[0]
                except RunError:
                    continue
                if not all(x == y for x, y in zip(given, found, strict=True)):
                    return f"an operator gives {found} of {args}"
    return ""


def _operators(prog: Prog) -> Iterator[Reduction]:
    for body in prog.bodies:
        for exp in all_exps(body):
            yield from exp.reds if isinstance(exp, SegRed | Screma) else ()
            yield from exp.scans if isinstance(exp, SegScan | Screma) else ()


def _closed(prog: Prog) -> Iterator[Reduction]:
    for red in _operators(prog):
        plain = not any(t.shape for t in red.op.ret) and all(isinstance(atom, Const) for atom in red.neutral)
        if plain and not free_in_lambda(red.op):
            yield red


def _function(red: Reduction, name: Name) -> FunDef:
    """The operator as a function."""
    results = tuple(Param(Name("r", name.tag + 1 + k), t) for k, t in enumerate(red.op.ret))
    return FunDef(name, red.op.params, (), results, Body(red.op.body.stms, red.op.body.result), None, (), NOWHERE)


def _value(random: Random, prim: Prim) -> np.generic:
    return np.bool_(random.random() < 0.5) if prim is Prim.BOOL else DTYPES[prim].type(random.randrange(9))


# ---- scatters --------------------------------------------------------------------------------------------------------


@contextmanager
def one_value_a_place() -> Iterator[None]:
    """Inside, the interpreter raises `Broken` where a scatter writes two values to one place."""
    write = parallel.write

    def checked(dests: Sequence[Value], rows: Iterable[Sequence[Value]], rank: int, safe: bool):
        rows = list(rows)
        seen: dict[object, Sequence[Value]] = {}
        for row in rows:
            new, index = row[rank:], tuple(map(int, row[:rank]))
            old = seen.setdefault(index, new)
            inside = all(0 <= i < n for xs in dests for i, n in zip(index, xs.shape, strict=False))
            if inside and not all(np.array_equal(x, y, equal_nan=True) for x, y in zip(old, new, strict=True)):
                raise Broken(f"a scatter writes {old} and {new} at {index}")
        return write(dests, rows, rank, safe)

    with patch.object(parallel, "write", checked):
        yield
