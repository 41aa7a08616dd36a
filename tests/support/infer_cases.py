"""Help for tests of inference: type a text beneath the real prelude, and show what was found. What is known of the
prelude is found once, as where programs are compiled (`tests/frontend/test_known_prelude.py`)."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest

from soac.frontend.library import known_prelude
from soac.frontend.modules.program import infer
from soac.frontend.parsing.parse import parse_module
from soac.frontend.source.declarations import Module, ValDec
from soac.frontend.source.types import Typed
from soac.frontend.typing.show import Shower
from soac.frontend.typing.unify import Solver
from soac.ir.errors import CompileError, Diagnostic


def infer_text(text: str) -> tuple[Module, Typed, tuple[Diagnostic, ...]]:
    """The module of `text`, what inference says of it, and the warnings."""
    known = known_prelude()
    module = parse_module(text, "t.soac", known.module.next_id)
    typed, warnings = infer((known.module, module), known)
    return module, typed, warnings


def show(ty: object) -> str:
    return Shower(Solver(1 << 40)).type(ty)  # type: ignore[arg-type]


def definitions(text: str) -> dict[str, str]:
    """The types of the definitions of `text`, by name."""
    module, typed, _ = infer_text(text)
    return {d.name: show(typed.schemes[d.id].type) for d in module.decs if isinstance(d, ValDec)}


def type_of(text: str, name: str = "f") -> str:
    return definitions(text)[name]


def errors(text: str) -> list[Diagnostic]:
    """The errors of a wrong program."""
    with pytest.raises(CompileError) as caught:
        infer_text(text)
    return list(caught.value.diagnostics)


def only_error(text: str) -> Diagnostic:
    found = errors(text)
    assert len(found) == 1, found
    return found[0]


def marked(text: str, diagnostic: Diagnostic) -> str:
    """The source that an error points at."""
    loc = diagnostic.primary.loc
    assert loc.line == loc.end_line, loc
    return text.splitlines()[loc.line - 1][loc.col - 1 : loc.end_col - 1]


def nodes(root: object, kind: type) -> list:
    """All nodes of one kind, in the order of the text."""
    found, todo = [], [root]
    while todo:
        node = todo.pop()
        if isinstance(node, kind):
            found.append(node)
        if isinstance(node, tuple):
            todo.extend(reversed(node))
        elif is_dataclass(node):
            todo.extend(getattr(node, part.name) for part in reversed(fields(node)))
    return found
