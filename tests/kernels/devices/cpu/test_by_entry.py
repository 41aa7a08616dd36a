"""Entries are made ready by their first call, in the versions that it needs, and whole where another needs more."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import soac
from soac import program_cache
from soac.kernels import lower_parts
from soac.kernels.devices import disk_cache as disk
from soac.kernels.devices.cpu.by_entry import ByEntry
from soac.kernels.devices.cpu.runtime import jit

TEXT = """
entry sums [n][m] (xss: [n][m]f32): [n]f32 = map (reduce (+) 0) xss
entry nested [n][m] (k: i64) (xss: [n][m]f64): [n]f64 =
  loop ys = replicate n 0 for i < k do map2 (\\y xs -> y + f64.sum (map (+ f64.i64 i) xs)) ys xss
entry chosen [n] (is: [n]i64) (xs: [n]f64): f64 =
  let some = filter (> 0) (map (\\i -> xs[i]) is)
  in f64.sum (map (\\x -> f64.sum (map (* x) xs)) some)
"""
FEW, MANY = np.ones((2, 64), np.float32), np.ones((64, 2), np.float32)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = disk.Cache(tmp_path / "cache")
    monkeypatch.setattr(jit, "user_cache", lambda: own)


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was lowered: an entry, with a star if in all of its versions."""
    found: list[str] = []
    real = program_cache.part_lowered

    def noting(flat: object, entry: str, sides: object) -> object:
        found.append(entry if sides is not None else f"{entry} *")
        return real(flat, entry, sides)  # type: ignore[arg-type]

    monkeypatch.setattr(program_cache, "part_lowered", noting)
    return found


def parts_of(program: soac.Program) -> dict[str, bool]:
    assert isinstance(program.executable, ByEntry)
    return {entry: part.is_whole for entry, part in program.executable.made.items()}


def test_only_what_is_called_is_lowered(lowered: list[str]) -> None:
    program = soac.compile(TEXT)
    assert lowered == []
    assert program.sums(FEW).tolist() == [64, 64]
    assert (lowered, parts_of(program)) == (["sums"], {"sums": False})


@pytest.mark.parametrize("prepared", [True, False])
def test_a_call_of_another_version_makes_the_whole_entry(lowered: list[str], prepared: bool) -> None:
    program = soac.compile(TEXT)
    call = program.prepare("sums") if prepared else lambda args: program.trace("sums", args, threads=1)[0]
    for _ in range(2):
        for xss in (FEW, MANY):
            assert np.array_equal(call([xss])[0], xss.sum(1))
    assert (lowered, parts_of(program)) == (["sums", "sums *"], {"sums": True})


def test_what_a_call_sets_decides_what_is_lowered(lowered: list[str]) -> None:
    program = soac.compile(TEXT)
    (guard,) = [one for site in program.facts.sites for one in site.thresholds if site.entry == "sums"][:1]
    for value in (1, 1 << 40):
        again = soac.compile(f"{TEXT}-- {value}\n", thresholds={guard: value})
        reached = again.trace("sums", [FEW])[1]
        assert (guard, value == 1) in {(name, taken) for name, _, taken in reached}
        assert parts_of(again) == {"sums": False}
        assert again.call("sums", [FEW], thresholds={guard: 1 << 40 if value == 1 else 1})[0].tolist() == [64, 64]
        assert parts_of(again) == {"sums": True}


def test_who_forces_a_version_gets_the_whole_entry(lowered: list[str]) -> None:
    program = soac.compile(TEXT)
    guards = [one for site in program.facts.sites for one in site.thresholds if site.entry == "sums"]
    for side in (True, False):
        assert program.call("sums", [FEW], forced=dict.fromkeys(guards, side))[0].tolist() == [64, 64]
    assert lowered == ["sums *"]


def test_guards_of_sizes_that_no_argument_tells_have_all_versions() -> None:
    """How many elements a filter keeps is known when it has run."""
    program = soac.compile(TEXT)
    for kept in (0, 1, 300):
        xs = np.where(np.arange(300) < kept, 1.0, -1.0)
        assert program.chosen(np.arange(300), xs) == kept * xs.sum()


def test_a_log_has_the_run_that_ended_well_alone() -> None:
    program = soac.compile(TEXT)
    program.sums(FEW)
    log, wanted = [], []
    program.timed("sums", [MANY], {}, {}, 1, log)
    soac.compile(TEXT).timed("sums", [MANY], {}, {}, 1, wanted)
    assert [type(event) for event in log] == [type(event) for event in wanted]


def test_the_cache_has_what_was_made(lowered: list[str], tmp_path: Path) -> None:
    file = tmp_path / "p.soac"
    file.write_text(TEXT)
    soac.load(file).sums(FEW)
    soac.load(file).sums(FEW)
    assert lowered == ["sums"]
    soac.load(file).sums(MANY)  # needs a version that the cache does not have
    assert soac.load(file).sums(MANY).tolist() == [2] * 64
    assert lowered == ["sums", "sums *"]


@pytest.mark.whole
def test_kernels_of_other_versions_have_other_code(tmp_path: Path) -> None:
    """Where more versions are made, a name may be that of another kernel."""
    file = tmp_path / "p.soac"
    file.write_text("""
      entry main [n][m][k][l] (xss: [n][m]f64) (yss: [k][l]f64): ([n]f64, [k]f64) =
        (map (reduce (+) 0) xss, map (reduce f64.max (-f64.inf)) yss)
    """)
    xss, names = np.arange(128.0).reshape(2, 64), list[set[str]]()
    for yss in (xss, xss.reshape(64, 2)):
        program = soac.load(file)
        sums, most = program.main(xss, yss)
        assert (sums.tolist(), most.tolist()) == ([2016, 6112], yss.max(1).tolist())
        assert isinstance(program.executable, ByEntry)
        names.append({name for name, _ in program.executable.made["main"].executable.device.code.made})
    assert names[0] & names[1]


def test_a_stored_entry_without_kernels_makes_the_same_ones(lowered: list[str], tmp_path: Path) -> None:
    """Their names are those of the versions that the cache has."""
    file = tmp_path / "p.soac"
    file.write_text(TEXT)
    xss = np.ones((300, 4))
    soac.load(file).nested(2, xss)
    for one in (tmp_path / "cache").glob("*"):
        if b"ELF" in one.read_bytes()[:80]:
            one.unlink()
    assert soac.load(file).nested(2, xss).tolist() == [12] * 300


def test_sizes_are_known_without_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "p.soac"
    file.write_text(TEXT)
    program = soac.load(file)
    assert set(program.facts.sizes) <= set(program.params)
    assert any("tasks" in name for name in program.facts.sizes)
    monkeypatch.setattr(program_cache, "sizes_of", lambda *_: pytest.fail("the cache has them"))
    assert soac.load(file).params == program.params


def test_threads_that_call_first() -> None:
    program, results = soac.compile(TEXT), list[bool]()
    start = threading.Barrier(4)

    def run(xss: np.ndarray) -> None:
        start.wait()
        results.append(np.array_equal(program.call("sums", [xss], threads=1)[0], xss.sum(1)))

    threads = [threading.Thread(target=run, args=(xss,)) for xss in (FEW, MANY, FEW, MANY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


def test_a_wrong_argument_is_no_reason_to_make_anything(lowered: list[str]) -> None:
    program = soac.compile(TEXT)
    with pytest.raises(soac.SoacError, match="D0104"):
        program.sums(np.ones(3, np.float32))
    with pytest.raises(soac.SoacError, match="D0104"):
        program.call("chosen", [[1.5], [1.0]])
    assert lowered == []
    assert program.call("sums", iter([FEW]), threads=1)[0].tolist() == [64, 64]  # type: ignore[arg-type]


def test_a_whole_program_leaves_nothing_out() -> None:
    assert not lower_parts.leaves_out(soac.compile(TEXT).compiled.host)
