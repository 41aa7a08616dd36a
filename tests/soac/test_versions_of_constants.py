"""The version tree of a program: which sites and sizes an entry meets."""

from __future__ import annotations

from soac.ir.machine import CUDA
from soac.pipeline import compile_prog
from soac.versions import runs_of

PROGRAM = """
#[noinline]
def step (state: [3]i32): [3]i32 = map (\\x -> (x * 7 + 3) % 31) state
def start: [3]i32 = loop s = [1, 2, 3] for _i in 0..<5 do step s
entry with_constant (x: i32): i32 = x + start[0]
entry without (x: i32): i32 = x + 1
"""


def test_versions_of_constants_run_with_the_entries_that_need_them() -> None:
    flat = compile_prog(PROGRAM, "constants", machine=CUDA).flat
    (guard,) = {name for forced in runs_of(flat, "with_constant") for name in forced}
    assert guard.startswith("consts.start.")
    assert runs_of(flat, "with_constant") == ({guard: True}, {guard: False})
    assert runs_of(flat, "without") == ({},)
