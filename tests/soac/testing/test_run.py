"""What `soac test` makes of each form of a test block, in this process."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import soac
from soac import pipeline
from soac.data.read_write import Format, write_values
from soac.ir.core import Level, Prog
from soac.ir.machine import Machine
from soac.ir.types import Prim, i64
from soac.kernels.host_ir.nodes import HostProgram
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.lower import lower
from soac.testing import references
from soac.testing.checks import EXCLUDED
from soac.testing.outcomes import START, Begin, Outcome, Place, Said, Status
from soac.testing.posix_regex import matches
from soac.testing.run import events
from tests.support.command_line import SUMS, Command, under

MAP = "def main [n] (xs: [n]i32): [n]i32 = map (+ 1) xs\n"
SCRIPTED = """
entry make (n: i64): []i32 = map i32.i64 (iota n)
entry both (n: i64): ([]i32, i32) = (map i32.i64 (iota n), 7)
entry total (xs: []i32): i32 = reduce (+) 0 xs
entry shift (xs: []i32) (k: i32): []i32 = map (+ k) xs
entry bytes (text: []u8) = (length text, head text)
"""


def outcomes(tmp_path: Path, blocks: str, program: str, **changes: object) -> list[Outcome]:
    """What becomes of `program` under the block `-- ==` with these lines."""
    path = tmp_path / "a.soac"
    path.write_text("-- ==\n" + "".join(f"-- {line}\n" for line in blocks.strip().splitlines()) + program)
    return [event for event in events(path, under(**changes), START) if isinstance(event, Outcome)]


def faults(tmp_path: Path, blocks: str, program: str, **changes: object) -> list[str | None]:
    return [outcome.fault for outcome in outcomes(tmp_path, blocks, program, **changes)]


# ---- inputs -------------------------------------------------------------------------------------------------------


def test_several_entries_and_inputs(tmp_path: Path) -> None:
    program = "entry f (x: i32): i32 = x + 1\nentry g (x: i32): i32 = x - 1 + 2\n"
    blocks = 'entry: f g\ninput { 1 } output { 2 }\n"two" input { 2 } output { 3 }\ninput { 3 }'
    found = outcomes(tmp_path, blocks, program)
    assert [o.name for o in found] == ["f 1", "f two", "f 3", "g 1", "g two", "g 3"]
    assert [o.fault for o in found] == [None] * 6


def test_files_packed_or_not(tmp_path: Path) -> None:
    (tmp_path / "a.in.gz").write_bytes(gzip.compress(b"[[1, 2], [3, 4]] -- comments are fine"))
    (tmp_path / "a.out").write_bytes(write_values([np.array([3, 7], np.int32)], Format.BINARY))
    assert faults(tmp_path, "input @a.in.gz output @a.out", SUMS) == [None]
    (fault,) = faults(tmp_path, "input @missing output @a.out", SUMS)
    assert fault is not None
    assert "D0121" in fault
    assert "a.soac:2:10" in fault


def test_too_few_expected_values(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "input { [[1]] } output { [1] [2] }", SUMS)
    assert fault is not None
    assert "1 value is expected" in fault


def test_random_input_follows_from_the_seed(tmp_path: Path) -> None:
    program = "def main (xs: []i32): i32 = reduce (+) 0 xs\n"
    (first,) = faults(tmp_path, "random input { [5]i32 } output { 0 }", program)
    (other,) = faults(tmp_path, "random input { [5]i32 } output { 0 }", program, seed=3)
    assert first is not None
    assert other is not None
    assert first != other
    assert "(random input of seed 3)" in other
    from_seed = soac.compile(program).main(np.random.PCG64(3).random_raw(5).astype(np.uint32).view(np.int32))
    assert f"got {from_seed}i32" in other


def test_random_input_that_fits_no_memory(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "random input { [1000000][1000000]i32 }", SUMS)
    assert fault is not None
    assert "D0112" in fault


@pytest.mark.parametrize(("entry", "script", "output"), [
    ("total", "make 5", "10"),
    ("total", "make 5i64", "10"),
    ("total", "shift (make 5) (-1)", "5"),
    ("total", "[1, 2]", "3"),
    ("shift", "both 3", "[7, 8, 9]"),
    ("shift", "(make 2, 5)", "[5, 6]"),
    ("shift", "let (xs, k) = both 2 in let ys = shift xs k in (shift (ys, k), 1i32)", "[15, 16]"),
    ("total", '$loaddata "a.in"', "6"),
    ("shift", '$loaddata "two.in"', "[9]"),
    ("bytes", '$loadbytes "a.in"', "9i64 91u8"),
])  # fmt: skip
def test_script(tmp_path: Path, entry: str, script: str, output: str) -> None:
    (tmp_path / "a.in").write_text("[1, 2, 3]")
    (tmp_path / "two.in").write_text("[4] 5")
    assert faults(tmp_path, f"entry: {entry}\nscript input {{ {script} }} output {{ {output} }}", SCRIPTED) == [None]


def test_script_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "make.script").write_text("shift (make 3)\n  5\n")
    assert faults(tmp_path, "entry: total\nscript input @ make.script output { 18 }", SCRIPTED) == [None]
    (fault,) = faults(tmp_path, "entry: total\nscript input @missing", SCRIPTED)
    assert fault is not None
    assert "D0121" in fault


@pytest.mark.parametrize(("script", "said"), [
    ("mke 5", "no entry point `mke`"),
    ("mke 5", "did you mean `make`?"),
    ("make 1 2", "`make` takes 1 argument, 2 given"),
    ("(make 1", "expected `,` or `)`, found the end"),
    ("make 1 )", "expected a value or a call, found `)`"),
    ("let (a, b, c) = both 1 in a", "`(a, b, c)` needs a tuple of 3, this is a tuple of 2"),
    ("let x = 1 in x 2", "`x` is a value, not an entry point"),
    ('$loaddata "missing"', "cannot read"),
    ("[1, [2]", "this `[` is not closed"),
    ("(" * 300 + "1" + ")" * 300, "nested deeper than 200 levels"),
    ("make (-1)", "R0104"),
    ("make 1.5", "D0104"),
    ("both 1", "`total` takes 1 value"),
])  # fmt: skip
def test_wrong_script(tmp_path: Path, script: str, said: str) -> None:
    (fault,) = faults(tmp_path, f"entry: total\nscript input {{ {script} }}", SCRIPTED)
    assert fault is not None
    assert said in fault


# ---- what is expected ---------------------------------------------------------------------------------------------


def test_auto_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = "random input { [3][4]i32 } auto output\ninput { [[1], [2]] } auto output"
    assert faults(tmp_path, blocks, SUMS, every_version=True) == [None] * 4
    monkeypatch.setattr(references, "SECONDS", 0.0)
    assert faults(tmp_path, blocks, SUMS, every_version=True) == [None] * 4


def test_reference_where_the_interpreter_is_slow() -> None:
    program = soac.compile("def main (n: i64): i64 = loop x = 0 for i < n do x + i")
    args = [np.int64(20_000_000)]
    (result,) = references.reference(program.compiled, "main", args, seconds=0.2)
    assert result == sum(range(20_000_000))


def test_errors_are_matched_by_all_words(tmp_path: Path) -> None:
    program = "def main (i: i64) (xs: []i32): i32 = xs[i] / 0\n"
    blocks = "\n".join([
        "input { 4 [1, 2, 3] } error: Error: Index \\[4\\].*shape \\[[[:digit:]]\\]$",
        "input { 1 [1] } error: R0101",
        "input { 0 [1] } error: division",
        "input { 0 [1] } error:",
        "input { 0 [1] } error: out of bounds",
    ])  # fmt: skip
    *good, bad = faults(tmp_path, blocks, program)
    assert good == [None] * 4
    assert bad is not None
    assert "expected an error that matches `out of bounds`, got: " in bad
    assert "division by zero" in bad


def test_error_of_arguments(tmp_path: Path) -> None:
    program = "def main [n] (xs: [n]i32) (ys: [n]i32): [n]i32 = map2 (+) xs ys\n"
    assert faults(tmp_path, "input { [1] [1, 2] } error: both use size n", program) == [None]


def test_compile_error(tmp_path: Path) -> None:
    assert faults(tmp_path, "error: did you mean `length`", "def main = lenght [1]") == [None]
    (wrong,) = faults(tmp_path, "error: nothing like it", "def main = lenght [1]")
    assert wrong is not None
    assert "unknown name" in wrong
    assert faults(tmp_path, "error:", "def main = 1") == ["compiles, but should not"]


def test_warnings(tmp_path: Path) -> None:
    program = "def main (xs: []i32): []i32 = #[sequential_outr] map (+ 1) xs\n"
    found = outcomes(tmp_path, "input { [1] } output { [2] }\nwarning: sequential_outer\nwarning: other", program)
    by_name = sorted((o.name, o.status.value) for o in found)
    assert by_name == [("main [1]", "passed"), ("warning", "failed"), ("warning", "passed")]


def test_structure_only_if_asked_for(tmp_path: Path) -> None:
    blocks = "\n".join([
        "input { [[1]] } output { [1] }",
        "structure { Map 1 Map/Redomap 1 SegMap 0 }",
        "structure mc { If/True/SegMap 1 SegRed 1 }",
        "structure gpu { SegRed 7 }",
        "structure internalised { SegMop 1 }",
    ])  # fmt: skip
    assert faults(tmp_path, blocks, SUMS) == [None]
    first, second, third, fourth, run = faults(tmp_path, blocks, SUMS, structures=True)
    assert (first, second, run) == (None, None, None)
    assert third is not None
    assert "`SegRed` occurs" in third
    assert fourth == "no node is called `SegMop`; did you mean `SegMap`?"


# ---- what is left out ---------------------------------------------------------------------------------------------


def test_tags(tmp_path: Path) -> None:
    cases = '"a" notest input { [[1]] } output { [2] }\n"b" no_cpu input { [[1]] }\n"c" slow input { [[1]] }'
    found = outcomes(tmp_path, cases, SUMS)
    assert [o.status for o in found] == [Status.SKIPPED, Status.SKIPPED, Status.PASSED]
    found = outcomes(tmp_path, cases, SUMS, excluded=EXCLUDED | {"slow"})
    assert [o.why for o in found] == ["tagged `notest`", "tagged `no_cpu`", "tagged `slow`"]
    (disabled,) = outcomes(tmp_path, "tags { disable }\ninput { [[1]] } output { [2] }", "no program at all")
    assert (disabled.status, disabled.why) == (Status.SKIPPED, "tagged `disable`")


def test_no_cases(tmp_path: Path) -> None:
    (only,) = outcomes(tmp_path, "tags { nothing }", "def double (x: i32): i32 = x + x\n")
    assert (only.name, only.status) == ("compiles", Status.PASSED)


PROPERTIES = """
#[prop] entry twice [n] (xs: [n]i32): bool = all (\\i -> (reverse (reverse xs))[i] == xs[i]) (iota n)
#[prop] entry given (n: i64) (xs: [n]bool) (ys: [n][2]f32): bool = length xs == n && length ys == n
#[prop] #[size(3)] entry small (xs: []i32) (p: (u8, []bool)): bool = length xs <= 3 && length p.1 <= 3
#[prop] entry short (xs: []i32): bool = length xs < 5
#[prop] #[gen(make)] entry made (xs: []i32): bool = false
entry number (x: i32): i32 = x
"""


def test_properties(tmp_path: Path) -> None:
    found = outcomes(tmp_path, "property: twice given small short made number missing", PROPERTIES)
    assert [o.name for o in found][:3] == ["property twice", "property given", "property small"]
    passed, failed, skipped = Status.PASSED, Status.FAILED, Status.SKIPPED
    assert [o.status for o in found] == [passed, passed, passed, failed, skipped, failed, failed]
    assert [o.why for o in found[:3]] == [None] * 3
    assert (found[3].why or "").startswith("does not hold for [")
    assert found[4].why == "it has a generator of its own"
    assert (found[5].why, found[6].why) == ("`number` gives no bool", "there is no entry point `missing`")


def test_wrong_programs_and_blocks(tmp_path: Path) -> None:
    for blocks, program, code in [
        ("input { [[1]] }", "def main = lenght", "E0201"),
        ("inptu { [[1]] }", SUMS, "E0301"),
        ("entry: mian\ninput { 1 }", SUMS, "E0001"),
        ("input { [1, 2 }", SUMS, "D0101"),
    ]:
        (fault,) = faults(tmp_path, blocks, program)
        assert fault is not None
        assert code in fault


def planted_fence(prog: Prog, machine: Machine, *_: object) -> HostProgram:
    """The host program with a kernel more, in which each thread meets a barrier of its own."""
    host = lower(prog, machine)
    threads = kir.Threads(kir.KVar("i", Prim.I64), i64(0), i64(8), (kir.Fence(),))
    kernel = kir.Kernel("planted", kir.KVar("b", Prim.I64), (), (), (threads,), (), Level.BLOCK)
    return replace(host, kernels=(*host.kernels, kernel))


def test_kernels_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    """By `soac test`, also where nothing is run, and by `soac dev --check`."""
    assert faults(tmp_path, "structure gpu { SegMap 1 }", MAP, structures=True) == [None]
    command("dev", tmp_path / "a.soac", "--check").clean()
    monkeypatch.setattr(pipeline, "lower", planted_fence)
    fault, structure = faults(tmp_path, "structure gpu { SegMap 1 }", MAP, structures=True)
    assert structure is None
    assert fault is not None
    assert "planted: `fence`: a barrier that not all threads of the block reach" in fault
    command("dev", tmp_path / "a.soac").clean()
    checked = command("dev", tmp_path / "a.soac", "--check")
    assert (checked.code, "planted: `fence`: a barrier" in checked.err) == (70, True)


def test_a_reference_without_memory_is_no_bug(tmp_path: Path) -> None:
    total = "entry main (n: i64): i64 = i64.sum (iota n)\n"
    assert faults(tmp_path, "input { 9000000000000000 } auto output", total) == ["out of memory"]


def test_a_bug_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise AssertionError("impossible")

    monkeypatch.setattr("soac.testing.run.reference", broken)
    blocks = "input { [[1]] } auto output\ninput { [[1]] } output { [1] }"
    assert faults(tmp_path, blocks, SUMS) == ["internal compiler error: AssertionError: impossible", None]


# ---- steps --------------------------------------------------------------------------------------------------------


def test_a_test_can_go_on_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "a.soac"
    path.write_text("-- ==\n-- input { [[1]] } output { [1] }\n-- input { [[2]] } output { [2] }\n" + SUMS)
    everything = list(events(path, under(every_version=True), START))
    steps = [e.place for e in everything if isinstance(e, Begin) and e.place]
    assert steps == [Place(0, -1), Place(0, 0), Place(0, 1), Place(1, -1), Place(1, 0), Place(1, 1)]
    for place, left in zip(steps, (2, 3, 2, 0, 1, 0)):
        rest = [e for e in events(path, under(every_version=True), place.following()) if isinstance(e, Outcome)]
        assert len(rest) == left
    assert not [e for e in everything if isinstance(e, Said)]


@pytest.mark.parametrize(("regex", "text", "found"), [
    ("[[:digit:]]+x$", "ab12x", True),
    (r"[\.]x", "\\x", True),
    (r"[\.]x", "yx", False),
    ("[]a]b", "]b", True),
    ("[^]a]b", "]b", False),
    ("a.c", "a\nc", True),
    ("^b", "a\nb", False),
    ("a$", "a\n", False),
    (r"cost \$5", "cost $5", True),
    (r"a\[.*\]", "a[xx]", True),
    ("[a-c-]+z", "a-z", True),
    ("x[[.-.]]y", "x-y", True),
    ("", "", True),
])  # fmt: skip
def test_posix(regex: str, text: str, found: bool) -> None:
    assert matches(regex, text) is found
