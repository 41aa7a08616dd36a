"""Functions of a module in terms of a processor's instructions, before LLVM's passes."""

from __future__ import annotations

import re
from collections.abc import Callable

from ....llvm.text import Code, Module

Body = Callable[[Code], str]
"""Writes a body; gives the text of its result."""


def with_bodies(text: str, mark: str, body: Callable[[int, int, int], Body | None]) -> str:
    """A module with the bodies that `body` gives for the functions whose names are `mark`, then `vWIDTHiBITS`, maybe
    `.COUNT`, by these numbers; None: a function stays as it is."""
    if mark not in text:
        return text
    module = Module()

    def function(found: re.Match[str]) -> str:
        result, name, width, bits, count, params = found.groups()
        write = body(int(width), int(bits), int(count or 0))
        if write is None:
            return found[0]
        module.function(name, result, tuple(re.findall(r"(\w+|<.*?>) %\d+", params)), write, " alwaysinline")
        return ""

    named = rf"^define internal ([^@\n]*) @({re.escape(mark)}v(\d+)i(\d+)(?:\.(\d+))?)\((.*?)\).*?^}}\n"
    text = re.sub(named, function, text, flags=re.MULTILINE | re.DOTALL) + "\n".join(module.functions.values())
    return text + "\n".join(line for line in module.declarations.values() if line not in text) + "\n"
