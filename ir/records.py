"""Dataclasses that are made quickly.

`dataclasses.dataclass` writes and compiles six functions for a class, half a millisecond: a fifth of the time that a
small program takes from its text to its result. Here comparison, hash and text are closures over the names of the
fields. So is `__init__` of few fields, with the code of `_INITS` under the names of the fields, and a third faster than
that of `dataclasses`, which sets what is frozen by name; where there is more to do, that one is made if there are many
objects. All else is as there, so that `fields`, `replace` and `match` see no difference; a class that inherits from one
is made here too, with the fields that `dataclasses` finds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, FrozenInstanceError
from inspect import ismemberdescriptor
from operator import attrgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

__all__ = ["dataclass"]

Put = Callable[[Any, Any], None]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type], type]:
        """As `dataclasses.dataclass`, for these options."""

        def make(plain: type) -> type:
            own, plain.__doc__ = frozenset(vars(plain)), plain.__doc__ or plain.__name__
            cls = _with_slots(plain) if slots else None
            if cls is None:
                cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(plain)
            for name, method in _methods(cls, frozen, eq).items():
                if name not in own:
                    setattr(cls, name, method)
            return cls

        return make


@dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)
class _Like:
    """What the classes made here have in common, but for their fields."""

    some: Any


_LIKE: Any = _Like
_COMMON = {"__dataclass_params__": _LIKE.__dataclass_params__}
_KIND = _LIKE.__dataclass_fields__["some"]._field_type
_PSEUDO = ("ClassVar", "InitVar", "KW_ONLY")


def _with_slots(plain: type) -> type | None:
    """The class with its own fields as slots; None where annotations are not text or not of fields."""
    parts = dict(vars(plain))
    annotations = parts.get("__annotations__", {})
    if not all(isinstance(type_, str) and not any(word in type_ for word in _PSEUDO) for type_ in annotations.values()):
        return None
    found: dict[str, Any] = {}
    for base in plain.__mro__[:0:-1]:
        found |= vars(base).get("__dataclass_fields__", {})
    for name, type_ in annotations.items():
        default = parts.pop(name, MISSING)
        f = cast(Any, default if isinstance(default, dataclasses.Field) else dataclasses.field(default=default))
        if f.default is not MISSING and f.default.__class__.__hash__ is None:
            raise ValueError(f"a default of {name} that changes")
        f.name, f.type, f.kw_only, f._field_type = name, type_, False, _KIND
        found[name] = f
    for name in ("__dict__", "__weakref__"):
        parts.pop(name, None)
    arguments = tuple(name for name, f in found.items() if f.init)
    parts |= _COMMON | {"__dataclass_fields__": found, "__slots__": tuple(annotations), "__match_args__": arguments}
    cls = type(plain)(plain.__name__, plain.__bases__, parts)
    cls.__qualname__ = plain.__qualname__
    return cls


def _methods(cls: type, frozen: bool, eq: bool) -> Mapping[str, Any]:
    """The methods of a class, but for those that it has itself."""
    fields = dataclasses.fields(cls)
    found = {"__init__": _init(cls) or _first_init(cls, frozen), "__repr__": _shown}
    if frozen:
        found |= {"__setattr__": _refused, "__delattr__": _refused}
        found |= {"__getstate__": _state, "__setstate__": _restore}
    if not eq:
        return found
    names = [f.name for f in fields if f.compare]
    value: Any = attrgetter(*names) if names else type

    def equal(self: Any, other: object) -> Any:
        return value(self) == value(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(value(self))

    return found | {"__eq__": equal, "__hash__": hashed if frozen else None}


def _init(cls: type) -> Callable[..., None] | None:
    """An `__init__` that only stores its arguments; None where that is not all, or they are many."""
    fields = dataclasses.fields(cls)
    defaults = [f.default for f in fields if f.default is not MISSING]
    plain = all(f.init and f.default_factory is MISSING for f in fields) and not hasattr(cls, "__post_init__")
    slots: list[Any] = [getattr(cls, f.name, None) for f in fields]
    if not plain or not all(map(ismemberdescriptor, slots)) or len(fields) > len(_INITS):
        return None
    if not fields:
        return object.__init__
    init = _INITS[len(fields) - 1](*(slot.__set__ for slot in slots))
    code = init.__code__.replace(
        co_varnames=("self", *(f.name for f in fields)), co_name="__init__", co_qualname=f"{cls.__qualname__}.__init__"
    )
    return FunctionType(code, init.__globals__, "__init__", tuple(defaults), init.__closure__)


def _init_1(p: Put) -> FunctionType:
    def init(self: Any, a: Any) -> None:
        p(self, a)

    return cast(FunctionType, init)


def _init_2(p: Put, q: Put) -> FunctionType:
    def init(self: Any, a: Any, b: Any) -> None:
        p(self, a)
        q(self, b)

    return cast(FunctionType, init)


def _init_3(p: Put, q: Put, r: Put) -> FunctionType:
    def init(self: Any, a: Any, b: Any, c: Any) -> None:
        p(self, a)
        q(self, b)
        r(self, c)

    return cast(FunctionType, init)


def _init_4(p: Put, q: Put, r: Put, s: Put) -> FunctionType:
    def init(self: Any, a: Any, b: Any, c: Any, d: Any) -> None:
        p(self, a)
        q(self, b)
        r(self, c)
        s(self, d)

    return cast(FunctionType, init)


def _init_5(p: Put, q: Put, r: Put, s: Put, t: Put) -> FunctionType:
    def init(self: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> None:
        p(self, a)
        q(self, b)
        r(self, c)
        s(self, d)
        t(self, e)

    return cast(FunctionType, init)


def _init_6(p: Put, q: Put, r: Put, s: Put, t: Put, u: Put) -> FunctionType:
    def init(self: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> None:
        p(self, a)
        q(self, b)
        r(self, c)
        s(self, d)
        t(self, e)
        u(self, f)

    return cast(FunctionType, init)


_INITS = (_init_1, _init_2, _init_3, _init_4, _init_5, _init_6)
"""An `__init__` for each number of fields, over what stores them; few objects have more."""


SOME = 32
"""How many objects are made field by field before the `__init__` of `dataclasses` is, which takes as long as 100."""


def _first_init(cls: type, frozen: bool) -> Callable[..., None]:
    """An `__init__` that sets field after field. That of `dataclasses` takes its place after some calls, or where
    arguments are wrong, and says so."""
    fields = dataclasses.fields(cls)
    known = [f.name for f in fields if f.init]
    arguments = frozenset(known)
    defaults = {f.name: f.default for f in fields if f.default is not MISSING}
    factories = {f.name: f.default_factory for f in fields if f.default_factory is not MISSING}
    needed = arguments.difference(defaults, factories)
    after, put = getattr(cls, "__post_init__", None), object.__setattr__
    left = SOME

    def init(self: Any, *args: Any, **keywords: Any) -> None:
        nonlocal left
        left -= 1
        given = dict(zip(known, args)) | keywords
        if left < 1 or len(given) < len(args) + len(keywords) or not needed <= given.keys() <= arguments:
            method: Any = _written_init(cls, frozen)
            cls.__init__ = method
            return method(self, *args, **keywords)
        made = {name: make() for name, make in factories.items() if name not in given}
        for name, value in (defaults | made | given).items():
            put(self, name, value)
        return None if after is None else after(self)

    return init


def _written_init(cls: type, frozen: bool) -> Callable[..., None]:
    """The `__init__` of `dataclasses`."""
    parts: dict[str, Any] = {"__annotations__": {}, "__doc__": "which would be made otherwise"}
    for f in dataclasses.fields(cls):
        parts["__annotations__"][f.name] = f.type
        parts[f.name] = dataclasses.field(default=f.default, default_factory=f.default_factory, init=f.init)
    if (after := getattr(cls, "__post_init__", None)) is not None:
        parts["__post_init__"] = after
    made = dataclasses.dataclass(repr=False, eq=False, frozen=frozen, match_args=False, slots=True)
    method: Any = vars(made(type(cls.__name__, (), parts)))["__init__"]
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    return method


class _Text(str):
    """A piece of a text among values that are still to be shown."""


def _shown(self: Any) -> str:
    """Without a call for each level, since programs nest deeper than Python's calls."""
    texts, left = list[str](), list[Any]([self])
    while left:
        some = left.pop()
        kind = some.__class__
        if kind is _Text:
            texts.append(some)
        elif kind in (tuple, list):
            begin, end = "()" if kind is tuple else "[]"
            parts: list[Any] = [part for value in some for part in (_COMMA, value)]
            parts[:1] = [_Text(begin)]
            parts.append(_Text(",)" if kind is tuple and len(some) == 1 else end))
            left += reversed(parts)
        elif kind.__repr__ is _shown:
            fields = [(_Text(f", {f.name}="), getattr(some, f.name)) for f in dataclasses.fields(some)]
            parts = [part for field in fields for part in field]
            parts[:1] = [_Text(f"{kind.__qualname__}(" + (parts[0][2:] if parts else ""))]
            left += reversed((*parts, _Text(")")))
        else:
            texts.append(repr(some))
    return "".join(texts)


_COMMA = _Text(", ")


def _refused(_self: Any, name: str, *_value: Any) -> None:
    raise FrozenInstanceError(f"cannot change field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
