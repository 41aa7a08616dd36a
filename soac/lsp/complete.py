"""Names that may stand at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..frontend.source.atoms import PVar
from ..frontend.source.declarations import ValDec
from ..frontend.source.types import TRecord, Ty
from ..frontend.typing.scope import ModuleBinding
from .analysis import NAME, Analysis, nodes_of

KEYWORDS = (
    "assert", "case", "def", "do", "else", "entry", "false", "for", "fully", "if", "import", "in", "include", "let",
    "local", "loop", "match", "module", "open", "then", "true", "type", "val", "while", "with",
)  # fmt: skip
PATH = re.compile(r"((?:[A-Za-z_][A-Za-z0-9_']*\.)*)[A-Za-z0-9_']*$")


@dataclass(frozen=True, slots=True)
class Name:
    """`kind`: function, value, module, type, field or keyword."""

    text: str
    kind: str
    type: str = ""


def complete(analysis: Analysis, before: str, line: int) -> list[Name]:
    """The names that may go on where the line `line` reads `before`: fields and members behind a dot."""
    path = PATH.search(before)
    assert path is not None
    modules = path[1].split(".")[:-1]
    if modules:
        return list(_members(analysis, modules, line))
    own = analysis.found.work.files[analysis.module.file]
    library = analysis.found.work.scope
    found = [
        *(Name(name, "value", _show(analysis, ty)) for name, ty in _variables(analysis, line).items()),
        *_names(analysis, own),
        *_names(analysis, ModuleBinding(library.values, library.types, library.modules, library.signatures)),
        *(Name(word, "keyword") for word in KEYWORDS),
    ]
    return list({name.text: name for name in reversed(found)}.values())[::-1]


def _members(analysis: Analysis, path: list[str], line: int) -> Iterator[Name]:
    """What a module has, or a record."""
    own, library = analysis.found.work.files[analysis.module.file], analysis.found.work.scope
    module = own.modules.get(path[0]) or library.module(path[0])
    variable = _variables(analysis, line).get(path[0])
    for name in path[1:]:
        module = module.modules.get(name) if isinstance(module, ModuleBinding) else None
        variable = dict(variable.fields).get(name) if isinstance(variable, TRecord) else None
    if isinstance(variable, TRecord):
        yield from (Name(name, "field", _show(analysis, ty)) for name, ty in variable.fields)
    elif isinstance(module, ModuleBinding):
        yield from _names(analysis, module)


def _variables(analysis: Analysis, line: int) -> dict[str, Ty]:
    """The variables bound up to a line, in the definition that it is in or behind; the last of a name."""
    found: dict[str, Ty] = {}
    decs = [dec for dec in analysis.module.decs if isinstance(dec, ValDec) and dec.loc.line <= line]
    for node, _ in nodes_of((decs[-1].params, decs[-1].body) if decs else ()):
        if isinstance(node, PVar) and node.loc.line <= line and node.id in analysis.found.typed.types:
            found[node.name] = analysis.found.work.solver.resolve(analysis.found.typed.types[node.id])
    return found


def _names(analysis: Analysis, module: ModuleBinding) -> Iterator[Name]:
    for name, binding in module.values.items():
        if NAME.fullmatch(name):
            shown = _show(analysis, binding.scheme.type)
            yield Name(name, "function" if "->" in shown else "value", shown)
    yield from (Name(name, "type") for name in module.types)
    yield from (Name(name, "module") for name in module.modules)


def _show(analysis: Analysis, ty: Ty) -> str:
    return analysis.found.work.show(ty)
