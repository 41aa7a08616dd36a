"""Attributes: an unknown one is ignored, but a near miss of a known one is worth a warning (W0301)."""

from __future__ import annotations

from ...ir.core import Attr
from ...ir.errors import Diagnostic, Label, Loc
from .state import Work

KNOWN = frozenset(
    {
        "flattening", "no_outer", "no_intra", "only_intra", "only_inner", "sequentialise_nonuniform", "sequential",
        "sequential_outer", "sequential_inner", "unroll", "unsafe", "noinline", "inline", "opaque", "scratch", "blank",
        "warn", "param", "trace", "break", "stripmine", "bound", "true_dep", "prop", "gen", "shrink", "size",
        "incremental_flattening", "intrinsic", "safety_checks", "doc", "test", "lawful", "implements", "place_fences",
        "depth", "tensor",
    }
)  # fmt: skip

NEAR = 2


def check_attr(work: Work, attr: Attr, loc: Loc) -> None:
    """Warn of an attribute, or an argument of `flattening`, within two edits of a known one."""
    if attr.name in KNOWN:
        if "flattening" in attr.name:
            for arg in attr.args:
                check_attr(work, arg, loc)
        return
    near = [known for known in sorted(KNOWN) if len(attr.name) > NEAR and edit_distance(attr.name, known) <= NEAR]
    if near:
        message = f"unknown attribute `{attr.name}` is ignored"
        work.warnings.append(Diagnostic("W0301", message, Label(loc, ""), (), (), f"did you mean `{near[0]}`?"))


def edit_distance(a: str, b: str) -> int:
    """Insertions, deletions and replacements from `a` to `b`."""
    if abs(len(a) - len(b)) > NEAR:
        return NEAR + 1
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]
