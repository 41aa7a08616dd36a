"""Tuning files: every bad line is named, and writing never leaves half a file."""

from pathlib import Path

import pytest

from soac.autotune.tuning import (
    INFINITY,
    MOST_THREADS,
    clamped,
    device_tuning_path,
    made_on,
    program_digest,
    read_tuning,
    sidecar_path,
    tuning_beside,
    tuning_path,
    write_tuning,
)
from soac.ir.errors import TuningError

PROGRAM = "def main = 1"
DEVICE = "2 cores of a machine"
KNOWN: tuple[str, ...] = ("main.ys.suff_outer_0", "main.zs.suff_outer_0")


def read(tmp_path: Path, text: str) -> dict[str, int]:
    path = tmp_path / "a.soac.tuning"
    path.write_text(text)
    values, warnings = read_tuning(path, KNOWN, PROGRAM, DEVICE)
    assert not warnings
    return values


def code_and_line(error: TuningError) -> tuple[str, int]:
    (diagnostic,) = error.diagnostics
    return diagnostic.code, diagnostic.primary.loc.line


def test_reads_values(tmp_path: Path) -> None:
    text = f"main.ys.suff_outer_0=17\n\nmain.zs.suff_outer_0={INFINITY}"
    assert read(tmp_path, text) == {"main.ys.suff_outer_0": 17, "main.zs.suff_outer_0": INFINITY}


def test_a_device_reads_its_own_file_before_that_of_the_program(tmp_path: Path) -> None:
    program = tmp_path / "a.soac"
    assert tuning_beside(program, "cuda") is None
    for path in (tuning_path(program), device_tuning_path(program, "cuda")):
        path.write_text("")
        assert tuning_beside(program, "cuda") == path
    assert tuning_beside(program, "cpu") == tuning_path(program)


@pytest.mark.parametrize("bad", ["=", "=abc", "=-1", "=1e9", "= 3", "", "=9223372036854775808", "=٣", "=" + "9" * 5000])
def test_names_a_bad_line(tmp_path: Path, bad: str) -> None:
    with pytest.raises(TuningError) as caught:
        read(tmp_path, f"main.zs.suff_outer_0=1\n\nmain.ys.suff_outer_0{bad}\n")
    assert code_and_line(caught.value) == ("T0101", 3)


def test_refuses_a_name_set_twice(tmp_path: Path) -> None:
    with pytest.raises(TuningError, match="twice") as caught:
        read(tmp_path, "main.ys.suff_outer_0=1\nmain.ys.suff_outer_0=1\n")
    assert code_and_line(caught.value) == ("T0101", 2)


def test_suggests_a_known_name(tmp_path: Path) -> None:
    (tmp_path / "a.soac.tuning").write_text("main.ys.suff_outer=1\nmain.zs.suff_outer_0=4\n")
    values, (diagnostic,) = read_tuning(tmp_path / "a.soac.tuning", KNOWN, PROGRAM, DEVICE)
    assert values == {"main.zs.suff_outer_0": 4}
    assert (diagnostic.code, diagnostic.is_warning) == ("T0102", True)
    assert diagnostic.message == "unknown tuning parameter `main.ys.suff_outer`, ignored"
    assert diagnostic.hint is not None
    assert "did you mean `main.ys.suff_outer_0`?" in diagnostic.hint
    assert "main.zs.suff_outer_0" in diagnostic.hint


def test_ignores_the_file_of_another_compiler(tmp_path: Path) -> None:
    """Its names are said in one line, however many there are."""
    (tmp_path / "a.fut.tuning").write_text("default_tile_size=16\nmain.suff_outer_par_0=2000000000\nmain.x_1=3\n")
    values, (diagnostic,) = read_tuning(tmp_path / "a.fut.tuning", KNOWN, PROGRAM, DEVICE)
    assert values == {}
    assert diagnostic.message == "unknown tuning parameter `default_tile_size` and 2 others, ignored"


def make_large(path: Path) -> None:
    path.write_text("\n" * 10_000_000)


def make_link(path: Path) -> None:
    path.with_name("real").write_text("")
    path.symlink_to(path.with_name("real"))


def make_binary(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")


@pytest.mark.parametrize("make", [make_large, make_link, Path.mkdir, make_binary])
def test_refuses_what_is_no_small_text_file(tmp_path: Path, make) -> None:
    path = tmp_path / "a.soac.tuning"
    make(path)
    with pytest.raises(TuningError) as caught:
        read_tuning(path, KNOWN, PROGRAM, DEVICE)
    assert caught.value.diagnostics[0].code == "T0105"


def test_writes_what_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.soac.tuning"
    values = dict.fromkeys(KNOWN, 5)
    write_tuning(path, values, {"program": program_digest(PROGRAM)})
    assert read_tuning(path, KNOWN, PROGRAM, DEVICE) == (values, ())
    assert sorted(p.name for p in tmp_path.iterdir()) == [".soac", path.name]
    assert path.read_text() == "main.ys.suff_outer_0=5\nmain.zs.suff_outer_0=5\n"


def test_an_older_program_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.soac.tuning"
    write_tuning(path, {KNOWN[0]: 3, "main.gone.suff_outer_0": 4}, {"program": "of another text"})
    values, (warning,) = read_tuning(path, KNOWN, PROGRAM, DEVICE)
    assert values == {KNOWN[0]: 3}
    assert warning.is_warning
    assert "main.gone.suff_outer_0" in warning.message


def test_does_not_write_through_a_link(tmp_path: Path) -> None:
    path = tmp_path / "a.soac.tuning"
    make_link(path)
    with pytest.raises(TuningError):
        write_tuning(path, {}, {})


def test_another_device_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.soac.tuning"
    write_tuning(path, {KNOWN[0]: 3}, {"program": program_digest(PROGRAM), "described": "8 cores of another"})
    values, (warning,) = read_tuning(path, KNOWN, PROGRAM, DEVICE)
    assert values == {KNOWN[0]: 3}
    assert (warning.code, warning.is_warning) == ("T0103", True)
    assert "8 cores of another" in warning.message


def test_the_kind_of_device_is_in_the_sidecar(tmp_path: Path) -> None:
    path = tmp_path / "a.soac.tuning"
    assert made_on(path) is None
    write_tuning(path, {}, {"device": "cuda"})
    assert made_on(path) == "cuda"
    sidecar_path(path).write_text("[1, 2")
    assert made_on(path) is None


def test_too_many_threads_are_clamped_with_a_note(tmp_path: Path) -> None:
    values, (note,) = clamped(tmp_path / "a.soac.tuning", {"main.threads": 10**9, "main.ys.suff_outer_0": 10**9})
    assert values == {"main.threads": MOST_THREADS, "main.ys.suff_outer_0": 10**9}
    assert (note.code, note.is_warning) == ("T0104", True)
