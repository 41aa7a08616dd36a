"""Types of random programs, as their text has them."""

from __future__ import annotations

from dataclasses import dataclass

INTS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "bf16", "f32", "f64")
HALVES = ("f16", "bf16")
PRIMS = (*INTS, *FLOATS, "bool")


@dataclass(frozen=True, slots=True)
class Prim:
    """`i32`."""

    name: str


@dataclass(frozen=True, slots=True)
class Array:
    """`[n]t`; a size is a name or a number."""

    size: str
    elem: Type


@dataclass(frozen=True, slots=True)
class Tuple:
    """`(t, u)`."""

    elems: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """`{a: t, b: u}`, or the name of an abbreviation of it."""

    fields: tuple[tuple[str, Type], ...]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Sum:
    """The name of a sum type with its constructors."""

    name: str
    constructors: tuple[tuple[str, tuple[Type, ...]], ...]


Type = Prim | Array | Tuple | Record | Sum

I64, BOOL = Prim("i64"), Prim("bool")


def show(type: Type) -> str:
    """The text of a type."""
    match type:
        case Prim(name) | Sum(name, _):
            return name
        case Array(size, elem):
            return f"[{size}]{show(elem)}"
        case Tuple(elems):
            return f"({', '.join(map(show, elems))})"
        case Record(fields, None):
            return f"{{{', '.join(f'{name}: {show(type)}' for name, type in fields)}}}"
        case Record(_, name):
            return str(name)


def fields_of(type: Type) -> tuple[tuple[str, Type], ...]:
    """The fields of a tuple or a record, in the order in which results have them."""
    match type:
        case Tuple(elems):
            return tuple((str(k), elem) for k, elem in enumerate(elems))
        case Record(fields, _):
            return tuple(sorted(fields))
        case _:
            return ()


def has_array(type: Type) -> bool:
    """Does a value of the type share memory?"""
    match type:
        case Prim():
            return False
        case Array():
            return True
        case Sum(_, constructors):
            return any(has_array(arg) for _, args in constructors for arg in args)
        case _:
            return any(has_array(part) for _, part in fields_of(type))


def has_sum(type: Type) -> bool:
    """Is there a sum type in it?"""
    match type:
        case Prim():
            return False
        case Array(_, elem):
            return has_sum(elem)
        case Sum():
            return True
        case _:
            return any(has_sum(part) for _, part in fields_of(type))


def sizes_of(type: Type) -> frozenset[str]:
    """The sizes that a type names."""
    match type:
        case Array(size, elem):
            return frozenset((size,)) | sizes_of(elem)
        case Sum(_, constructors):
            return frozenset().union(*(sizes_of(arg) for _, args in constructors for arg in args))
        case Prim():
            return frozenset()
        case _:
            return frozenset().union(*(sizes_of(part) for _, part in fields_of(type)))
