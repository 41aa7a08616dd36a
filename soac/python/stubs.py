"""The stub of a program as a module (`soac/importer.py`): its entry points and classes for type checkers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..ir.core import FunDef
from .annotations import text_given, text_of_results, text_taken
from .classes import Classes, classes_of
from .forms import form_of, unique_names

HEAD = """\
# Made by `soac stubs` from {file}.
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from soac import Program

program: Program
"""


def stub_text(file: str, functions: Iterable[FunDef], docs: Mapping[str, str], types: Mapping[str, str]) -> str:
    """The stub of a program with these entry points, comments, and names of types."""
    entries = list(functions)
    classes = classes_of(entries, types)
    return "\n".join([HEAD.format(file=file), *_classes(classes), *(_function(fun, docs, classes) for fun in entries)])


def _classes(classes: Classes) -> Iterator[str]:
    for one in classes.planned.values():
        fields = "".join(f"    {name}: {text_given(form, classes)}\n" for name, form in one.fields)
        yield f"class {one.name}(NamedTuple):\n" + (fields or "    pass\n")


def _function(fun: FunDef, docs: Mapping[str, str], classes: Classes) -> str:
    assert fun.entry is not None
    names = unique_names(param.name for param in fun.entry.params)
    params = [f"{name}: {text_taken(form_of(p.text), classes)}" for name, p in zip(names, fun.entry.params)]
    if "out" not in names:
        params += ["*", "out: Any = None"]
    result = text_of_results([form_of(one.text) for one in fun.entry.results], classes)
    head = f"def {fun.entry.name}({', '.join(params)}) -> {result}:"
    said = docs.get(fun.entry.name, "").replace("\\", "\\\\").replace('"', "'")
    if not said:
        return f"{head} ...\n"
    indented = said.replace("\n", "\n    ")
    return f'{head}\n    """{indented}"""\n'
