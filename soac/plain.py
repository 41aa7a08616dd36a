"""Trees of this compiler's own dataclasses and enums as JSON, and back: data that can name nothing else.

x                           none, bool, int, string: themselves
["f", hex]                  float
["t", ..]  ["d", [k, v] ..] tuple, mapping
["e", name, member]         enum
["c", name, ..]             dataclass, with all of its fields
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import ModuleType
from typing import Any

Classes = Mapping[str, type]


class NotPlain(Exception):
    """A value, or a text, that has no such form."""


def classes_of(modules: Iterable[ModuleType]) -> Classes:
    """The dataclasses and enums that modules define, by name."""
    found: dict[str, type] = {}
    for module in modules:
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__ == module.__name__ and is_ours(value):
                assert name not in found, f"two classes are called {name}"
                found[name] = value
    return found


def is_ours(value: type) -> bool:
    return is_dataclass(value) or issubclass(value, Enum)


def plain(value: Any, classes: Classes) -> Any:
    """What JSON can hold of `value`. Raises NotPlain."""
    match value:
        case Enum():
            return ["e", known(type(value), classes), value.name]
        case None | bool() | int() | str():
            return value
        case float():
            return ["f", value.hex()]
        case tuple():
            return ["t", *(plain(x, classes) for x in value)]
        case dict():
            return ["d", *([plain(k, classes), plain(v, classes)] for k, v in value.items())]
        case _:
            name = known(type(value), classes)
            return ["c", name, *(plain(getattr(value, f.name), classes) for f in fields(value))]


def known(kind: type, classes: Classes) -> str:
    if classes.get(kind.__name__) is not kind:
        raise NotPlain(f"{kind.__name__} has no plain form")
    return kind.__name__


def from_plain(data: Any, classes: Classes) -> Any:
    """The value that `plain` was given. Raises NotPlain."""
    if not isinstance(data, list):
        return data
    match data:
        case ["c", str(name), *rest] if name in classes:
            return classes[name](*[from_plain(x, classes) for x in rest])
        case ["t", *rest]:
            return tuple(from_plain(x, classes) for x in rest)
        case ["e", str(name), str(member)] if name in classes:
            return classes[name][member]  # type: ignore[index]
        case ["d", *rest]:
            return {from_plain(k, classes): from_plain(v, classes) for k, v in rest}
        case ["f", str(text)]:
            return float.fromhex(text)
        case _:
            raise NotPlain(f"not a plain value: {str(data)[:60]}")
