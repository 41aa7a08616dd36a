"""Permutations of a vector by numbers in another one.

LLVM has no instruction for them, but its code generators make one of a vector that is put together from elements at
numbers in a vector. Its passes would take such a vector apart, so kernels call a function that is not there, of which
this is made behind them (`by_elements`).
"""

from __future__ import annotations

import re

from ....llvm.text import PERMUTE

CALL = re.compile(
    r"^ *(%[\w.]+) = (?:tail )?call (?P<type><(\d+) x (\w+)>) "
    rf"@{re.escape(PERMUTE)}\w+\((?P=type) (.*), (<\d+ x i32>) (.*)\).*$",
    re.MULTILINE,
)
DECLARED = re.compile(rf"^declare .*@{re.escape(PERMUTE)}.*$\n", re.MULTILINE)


def by_elements(text: str) -> str:
    """A module as it is behind LLVM's passes, without calls."""
    return DECLARED.sub("", CALL.sub(_elements, text))


def _elements(call: re.Match[str]) -> str:
    name, type_, width, element, x, numbers, offsets = call.groups()
    stem = f"%{name[1:]}" if not name[1:].isdigit() else f"%n{name[1:]}"
    lines, made = list[str](), "poison"
    for lane in range(int(width)):
        last = name if lane == int(width) - 1 else f"{stem}.made{lane}"
        lines += [
            f"  {stem}.number{lane} = extractelement {numbers} {offsets}, i64 {lane}",
            f"  {stem}.element{lane} = extractelement {type_} {x}, i32 {stem}.number{lane}",
            f"  {last} = insertelement {type_} {made}, {element} {stem}.element{lane}, i64 {lane}",
        ]
        made = last
    return "\n".join(lines)
