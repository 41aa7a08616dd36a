r"""Reads the textual form of the IR (`ir/show.py`) back into an equal tree.

Recursive descent: here programs and functions, in `ir/read_exps.py` bodies and expressions, these by the forms of
`ir/syntax.py`, in `ir/read_atoms.py` names and types. White space and line breaks mean nothing; locations may be there
or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from .core import Body, Exp, FunDef, Lambda, Prog, Stm
from .depth import allow_depth
from .entry_points import Entry, EntryParam, EntryResult
from .read_atoms import read_name, read_names, read_params, scanner
from .read_exps import read_attrs, read_body, read_exp, read_lambda, read_loc, read_stm
from .scanner import Scanner

T = TypeVar("T")


def parse_prog(text: str) -> Prog:
    """A program; raises `IRError` with line and column."""
    allow_depth()
    source = scanner(text)
    source.take("next_name")
    next_name = source.integer()
    consts: list[Stm] = []
    if source.took("consts"):
        source.take("{")
        while not source.took("}"):
            consts.append(read_stm(source))
    functions: list[FunDef] = []
    while not source.ended:
        functions.append(_fun_with_kernels(source))
    return Prog(tuple(consts), tuple(functions), next_name)


def parse_body(text: str) -> Body:
    """`{ .. in (..) }`; raises `IRError` with line and column."""
    return _whole(text, read_body)


def parse_stm(text: str) -> Stm:
    """A statement; raises `IRError` with line and column."""
    return _whole(text, read_stm)


def parse_exp(text: str) -> Exp:
    """An expression; raises `IRError` with line and column."""
    return _whole(text, read_exp)


def parse_lambda(text: str) -> Lambda:
    """A lambda; raises `IRError` with line and column."""
    return _whole(text, read_lambda)


def _whole(text: str, read: Callable[[Scanner], T]) -> T:
    source = scanner(text)
    found = read(source)
    source.end()
    return found


def _fun_with_kernels(source: Scanner) -> FunDef:
    fun, kernels = _fun(source), list[FunDef]()
    while source.took("by", "hand"):
        kernels.append(_fun(source))
    return replace(fun, kernels=tuple(kernels))


def _fun(source: Scanner) -> FunDef:
    attrs = read_attrs(source)
    source.take("fun")
    name, params = read_name(source), read_params(source)
    consumes = read_names(source) if source.took("consumes") else ()
    source.take(":")
    results, loc = read_params(source), read_loc(source)
    entry = _entry(source) if source.took("entry") else None
    source.take("=")
    return FunDef(name, params, consumes, results, read_body(source), entry, attrs, loc)


def _entry(source: Scanner) -> Entry:
    name = source.string()
    source.take("sizes")
    sizes = source.integer()
    params = source.several(_entry_param)
    source.take(":")
    return Entry(name, sizes, params, source.several(_entry_result))


def _entry_param(source: Scanner) -> EntryParam:
    name = source.string()
    source.take(":")
    unique = source.took("*")
    text = source.string()
    return EntryParam(name, text, source.integer(), unique)


def _entry_result(source: Scanner) -> EntryResult:
    text = source.string()
    return EntryResult(text, source.several(Scanner.integer))
