"""The prelude is inferred once: a program that starts behind it is typed as one that infers it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from soac.frontend.compile import load_modules
from soac.frontend.library import known_prelude
from soac.frontend.modules.program import infer
from soac.frontend.source.text import Reach
from soac.frontend.typing.show import Shower
from soac.frontend.typing.unify import Solver
from soac.ir.errors import CompileError

PROGRAMS = sorted((Path(__file__).parents[2] / "programs").glob("*.soac"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_types_are_the_same(path: Path) -> None:
    modules = load_modules(path.read_text(), str(path), Reach.PROJECT)
    assert modules[0] is known_prelude().module
    quick, warned = infer(modules, known_prelude())
    whole, warned_again = infer(modules)
    assert warned == warned_again
    own = range(modules[0].next_id, max(module.next_id for module in modules))
    for facts, again in (
        (quick.types, whole.types),
        (quick.resolved, whole.resolved),
        (quick.instances, whole.instances),
        (quick.schemes, whole.schemes),
    ):
        assert facts.keys() & set(own) == again.keys() & set(own)
    shown = [{k: show(typed.schemes[k].type) for k in own if k in typed.schemes} for typed in (quick, whole)]
    assert shown[0] == shown[1]


def show(ty: object) -> str:
    return Shower(Solver(1 << 40)).type(ty)  # type: ignore[arg-type]


def test_programs_leave_no_trace() -> None:
    """What one program binds, or does wrong, another does not see."""
    for text, wrong in (
        ("def reduce = 1 entry main: i32 = reduce", False),
        ("entry main: i32 = missing", True),
        ("entry main [n] (xs: [n]i32): i32 = reduce (+) 0 xs", False),
        ("module type m = { type t } entry main: i32 = true", True),
        ("entry main [n] (xs: [n]i32): i32 = reduce (+) 0 xs", False),
    ):
        modules = load_modules(text, "t.soac", Reach.PROJECT)
        if wrong:
            with pytest.raises(CompileError):
                infer(modules, known_prelude())
        else:
            assert infer(modules, known_prelude())[1] == ()
