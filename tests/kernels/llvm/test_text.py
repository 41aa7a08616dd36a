"""What functions of LLVM say about their loops."""

from __future__ import annotations

from soac.kernels.llvm.text import ALIGNED, Code, Module


def test_innermost_loops_are_aligned() -> None:
    """One loop inside of another, and one behind both: the outer one begins where it comes to lie."""
    code = Code(Module())
    code.label("outer")
    code.label("inner")
    code.jump("inner")
    code.jump("outer")
    code.label("last")
    code.jump("last")
    code.jump("on")
    inner, last = code.module.loops
    assert ALIGNED in inner
    assert ALIGNED in last
    assert [line for line in code.lines if "llvm.loop" not in line and "br" in line] == [
        "  br label %outer", "  br label %on",
    ]  # fmt: skip
