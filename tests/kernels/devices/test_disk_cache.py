"""Keys of the cache name all that an entry depends on, and what was used last stays."""

from __future__ import annotations

import inspect
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soac import program_cache
from soac.frontend.source.text import Reach
from soac.kernels.devices import disk_cache as disk
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.cuda import nvrtc

PARTS = st.lists(st.text("ab", max_size=3), max_size=4)


@given(PARTS, PARTS)
def test_keys_are_equal_where_all_parts_are(xs: list[str], ys: list[str]) -> None:
    assert (disk.key_of(*xs) == disk.key_of(*ys)) is (xs == ys)


@pytest.mark.parametrize("field", ["triple", "cpu", "features"])
def test_machine_code_is_for_one_processor(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    here, before, identity = jit.host(), jit.identity(), inspect.unwrap(jit.identity)
    monkeypatch.setattr(jit, "host", lambda: replace(here, **{field: "another"}))
    assert identity() != before


def test_a_program_is_of_its_text_its_file_and_what_it_may_import() -> None:
    one = ("def main = 1", "a.soac", Reach.ANYWHERE)
    others = (("def main = 2", *one[1:]), (one[0], "b.soac", one[2]), *((*one[:2], reach) for reach in Reach))
    assert len({program_cache.key(*made) for made in (one, *others)}) == 2 + len(Reach)


def test_code_for_a_gpu_is_of_its_text_and_architecture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Compiler:
        version, library = (13, 0), None

    monkeypatch.setattr(nvrtc, "nvrtc", Compiler)
    monkeypatch.setattr(nvrtc, "_compiled", lambda _, text, arch: (f"{text} {arch}".encode(), ""))
    cache = disk.Cache(tmp_path / "cache")
    for _ in range(2):
        for text, arch in (("a", "sm_80"), ("a", "sm_90"), ("b", "sm_90")):
            assert nvrtc.compile_cuda(text, arch, cache) == f"{text} {arch}".encode()


def test_what_was_used_last_stays(tmp_path: Path) -> None:
    cache = disk.Cache(tmp_path / "cache", size_limit=1000)
    for number in range(8):
        disk.put(cache, f"{number}", b"x" * 200)
        os.utime(tmp_path / "cache" / f"{number}{disk.SUFFIX}", (number, number))
    disk.trim(cache)
    kept = [number for number in range(8) if disk.get(cache, f"{number}") is not None]
    assert kept == list(range(8 - len(kept), 8))
    assert 0 < len(kept) < 5
