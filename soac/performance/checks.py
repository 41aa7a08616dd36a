"""The checks, each with its code; `docs/errors.md` explains them."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir.errors import Diagnostic, Label
from ..pipeline import Compiled
from .kernels import divisions, strided
from .statements import arrays, copies, interpreted, products, sequential
from .subject import Check, findings, subject_of
from .values import searches, wide_arithmetic

CHECKS: Mapping[str, Check] = {
    "W0501": interpreted,
    "W0502": sequential,
    "W0503": strided,
    "W0504": products,
    "W0505": arrays,
    "W0506": divisions,
    "W0507": copies,
    "W0508": searches,
    "W0509": wide_arithmetic,
}


def performance_warnings(compiled: Compiled) -> tuple[Diagnostic, ...]:
    """What makes a program slow that was compiled for a CPU, in the order of the source."""
    subject = subject_of(compiled)
    found = [
        Diagnostic(code, one.message, Label(one.loc, one.label), hint=one.hint)
        for code, check in CHECKS.items()
        for one in findings(subject, check)
    ]
    return tuple(sorted(found, key=lambda one: (one.primary.loc.file, one.primary.loc.line, one.primary.loc.col)))
