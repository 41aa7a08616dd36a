"""What a source says to callers beyond types: the comments of its entry points, and the names of its types.

    -- | Moves points                 a comment that begins with `|`, and the lines of comments that follow,
    --   by a distance.               up to the definition
    entry move ..

A type has the name of the last declaration without parameters that means it; sizes do not tell types apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..ir.records import dataclass
from .source import syntax as s
from .source.atoms import TEName
from .source.declarations import LocalDec, Module, TypeDec, ValDec
from .source.types import field_key


@dataclass(frozen=True, slots=True)
class Interface:
    """`docs`: comments by the names of definitions of the last file; `types`: names by the text of a type without
    sizes, `{x: f32, y: []i32}`."""

    docs: Mapping[str, str]
    types: Mapping[str, str]


SILENT = Interface({}, {})


def interface_of(modules: tuple[Module, ...]) -> Interface:
    """The interface of a program whose root file is the last one."""
    lines = modules[-1].text.splitlines()
    decs = (dec for dec in modules[-1].decs if isinstance(dec, ValDec))
    docs = {dec.name: text for dec in decs if (text := doc_above(lines, dec.loc.line))}
    texts: dict[str, str] = {}
    for name, exp in _declared(modules):
        texts[name] = _text(exp, texts)
    return Interface(docs, {text: name for name, text in texts.items() if text[0] in "{#"})


def doc_above(lines: list[str], line: int) -> str:
    """The comment that ends above a line (from 1), without its signs; attributes may stand between the two."""
    above: list[str] = []
    for text in reversed([text.strip() for text in lines[: line - 1]]):
        if text.startswith("-- |"):
            said = [text[4:], *(each[2:] for each in reversed(above))]
            return "\n".join(each.strip() for each in said).strip()
        if text.startswith("--"):
            above.append(text)
        elif above or not text.startswith("#["):
            break
    return ""


def _declared(modules: tuple[Module, ...]) -> Iterator[tuple[str, s.TypeExp]]:
    for module in modules:
        for dec in module.decs:
            inner = dec.dec if isinstance(dec, LocalDec) else dec
            if isinstance(inner, TypeDec) and not inner.params:
                yield inner.name, inner.type


def _text(exp: s.TypeExp, known: Mapping[str, str]) -> str:
    match exp:
        case TEName(name=(base,)):
            return known.get(base, base)
        case s.TEArray(elem=elem):
            return f"[]{_part(elem, known)}"
        case s.TETuple(elems=elems):
            return f"({', '.join(_text(elem, known) for elem in elems)})"
        case s.TERecord(fields=fields):
            ordered = sorted(fields, key=lambda field: field_key(field[0]))
            return f"{{{', '.join(f'{name}: {_text(field, known)}' for name, field in ordered)}}}"
        case s.TESum(constructors=constructors):
            cases = (
                " ".join([f"#{name}", *(_part(arg, known) for arg in args)]) for name, args in sorted(constructors)
            )
            return " | ".join(cases)
        case s.TEUnique(elem=elem):
            return _text(elem, known)
        case _:
            return "?"  # no text of a type has this in it


def _part(exp: s.TypeExp, known: Mapping[str, str]) -> str:
    text = _text(exp, known)
    return f"({text})" if text.startswith("#") else text
