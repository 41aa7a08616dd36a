"""Programs that once broke the law, as files: what was wrong, the arguments, the text of the IR.

-- what was wrong
-- arg [2][3] 1 2 3 4 5 6        the shape and the elements of each argument
next_name 17
fun main_0 ...
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from soac.ir.core import Prog
from soac.ir.parse import parse_prog
from soac.ir.rename import renumbered
from soac.ir.scalar import DTYPES
from soac.ir.show import show
from soac.ir.types import Prim
from tests.support.property.generate import Argument, Case

ARGUMENT = re.compile(r"^-- arg ((?:\[\d+\])*) ?(.*)$", re.MULTILINE)


def save(case: Case, path: Path, message: str) -> Path:
    """Writes a program; gives its path."""
    path.parent.mkdir(exist_ok=True)
    said = "\n".join(f"-- {line}" for line in message[:1000].splitlines())
    args = "\n".join(map(_argument_text, case.args))
    path.write_text(f"{said}\n{args}\n{show(renumbered(case.prog))}\n", encoding="utf-8")
    return path


def _argument_text(arg: Argument) -> str:
    shape = "".join(f"[{size}]" for size in np.shape(arg))
    return " ".join(["-- arg", shape, *(repr(x) for x in np.ravel(arg).tolist())])


def load(path: Path) -> Case:
    """The program that was saved."""
    text = path.read_text(encoding="utf-8")
    prog = parse_prog("\n".join(line for line in text.splitlines() if not line.startswith("--")))
    given = [(_sizes(found[1]), found[2].split()) for found in ARGUMENT.finditer(text)]
    prims = _argument_types(prog)
    return Case(prog, tuple(_argument(prim, *one) for prim, one in zip(prims, given, strict=True)))


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))


def _argument_types(prog: Prog) -> tuple[Prim, ...]:
    fun = prog.functions[-1]
    assert fun.entry is not None
    return tuple(p.type.prim for p in fun.params[fun.entry.sizes :])


def _argument(prim: Prim, shape: tuple[int, ...], words: list[str]) -> Argument:
    values = [word == "True" if prim is Prim.BOOL else float(word) if prim.is_float else int(word) for word in words]
    assert len(values) == math.prod(shape)
    data = np.array(values, DTYPES[prim]).reshape(shape)
    return data if shape else data[()]
