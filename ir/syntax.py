"""The textual form of each expression: a table that `show.py` writes by and `read_exps.py` reads by.

`$field:kind` stands for a field; without a kind it is an operand. Lines of a form stand on one where they are short.
Kinds:

    operands elements    operands, in parentheses or brackets
    name names           of what there is; `function`: what is called
    shape type types     sizes in brackets; types
    int ints string      numbers and text
    body lambda          statements; a function
    reduction reductions scans     operators, each a block of its own; `optional`: one that may be left out
    level space form carried dims said path    as in `ir/core.py`
    bang flag rows where     what has a default value, which is left out

Of `add_i32 x y`, `i32_to_f64 x`, `iota_i32 n ..` and `screma` with its other names only the fields are here, since
their words say more. By the kinds of fields expressions are walked too (`traverse.py`, `rename.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields

from . import core
from .records import dataclass


@dataclass(frozen=True, slots=True)
class Hole:
    """A field of a node, and how it is written."""

    field: str
    kind: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a form: text and holes."""

    indent: str
    parts: tuple[str | Hole, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """How nodes of a kind are written."""

    node: type
    lines: tuple[Line, ...]

    @property
    def parts(self) -> tuple[str | Hole, ...]:
        return tuple(part for line in self.lines for part in line.parts)


def forms(table: Iterable[tuple[type, str]]) -> tuple[Form, ...]:
    """The rows of a table, read."""
    return tuple(Form(node, tuple(map(_line, text.split("\n")))) for node, text in table)


def _line(text: str) -> Line:
    words = re.split(r"\$(\w+(?::\w+)?)", text.lstrip())
    holes = (Hole(*(*hole.split(":"), "operand")[:2]) for hole in words[1::2])
    parts = [part for pair in zip(words[::2], (*holes, ""), strict=True) for part in pair]
    return Line(text[: len(text) - len(text.lstrip())], tuple(part for part in parts if part))


SYNTAX = forms((
    (core.If, "if $cond then $then:body else $orelse:body"),
    (core.Loop, "loop $params:carried $form:form do $body:body"),
    (core.Apply, "$function:function$args:operands"),
    (core.Hist, "hist $width $arrays:names rank $rank:int dests $dests:names\n$map:lambda\n$op:reduction"),
    (core.Scatter, "scatter $width $arrays:names rank $rank:int dests $dests:names $map:lambda"),
    (core.WithAcc, "with_acc $width $arrays:names dests $dests:names $map:lambda"),
    (core.Accumulate, "accumulate $accs:names at $index:operands values $values:operands\n$op:optional"),
    (core.SegMap, "segmap^$level:level $space:space : $ret:types $body:body"),
    (core.SegRed, "segred^$level:level $space:space$ends:rows\n$reds:reductions\n: $ret:types $body:body"),
    (core.SegScan, "segscan^$level:level $space:space\n$scans:scans\n: $ret:types $body:body"),
    (core.SegScatter, "segscatter^$level:level $space:space rank $rank:int dests $dests:names$safe:flag $body:body"),
    (core.SegHist, "seghist^$level:level $space:space rank $rank:int dests $dests:names\n$op:reduction\n$body:body"),
    (core.Copied, "$atom"),
    (core.Index, "$array:name$safe:bang$dims:dims"),
    (core.Update, "$array:name with$safe:bang $dims:dims <- $value"),
    (core.Replicate, "replicate $shape:shape $value"),
    (core.Scratch, "scratch $type:type"),
    (core.ArrayLit, "$elems:elements : $row:type"),
    (core.Rearrange, "rearrange $perm:ints $array:name"),
    (core.Reshape, "reshape $shape:shape $array:name"),
    (core.Concat, "concat $width $arrays:names"),
    (core.Copy, "copy $array:name"),
    (core.Assert, "assert $cond $code:string $parts:said"),
    (core.SizeParam, "param $name:string default $default:int"),
    (core.GuardCmp, "guard $threshold:string <= $par$path:path$pays:where"),
))  # fmt: skip
BY_NODE: Mapping[type, Form] = {form.node: form for form in SYNTAX}
OTHERS = forms((
    (core.PrimOp, "$args:operands"),
    (core.Convert, "$arg"),
    (core.Iota, "$count $start $step"),
    (core.Screma, "$width $arrays:names $map:lambda $scans:scans $reds:reductions"),
))  # fmt: skip


def _fields(form: Form) -> tuple[tuple[str, str], ...]:
    kinds = {part.field: part.kind for part in form.parts if isinstance(part, Hole)}
    return tuple((f.name, kinds.get(f.name, "")) for f in fields(form.node))


FIELDS: Mapping[type, tuple[tuple[str, str], ...]] = {form.node: _fields(form) for form in (*SYNTAX, *OTHERS)}
"""The fields of each expression, in the order of its class, with their kinds."""
WORDS: Mapping[str, str] = {"reductions": "reduce", "scans": "scan"}
"""The words before operators, by their kinds; `_comm` is added where they commute."""
