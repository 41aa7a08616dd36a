"""The object cache survives what file systems do to it; objects load fast and call only what they may."""

from __future__ import annotations

import ctypes
import os
import stat
import time
import warnings
from pathlib import Path

import pytest

from soac.kernels.devices import disk_cache as cache
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.cpu.runtime.object_symbols import undefined_symbols
from soac.kernels.devices.disk_cache import Cache

TEXT = """
define i64 @answer(i64 %x) {
  %y = add i64 %x, NUMBER
  ret i64 %y
}
"""


def text(number: int) -> str:
    return TEXT.replace("NUMBER", str(number))


def entries(root: Path | None) -> list[Path]:
    assert root is not None
    return sorted(root.iterdir())


def answer(number: int, store: Cache) -> int:
    code = jit.load_text(text(number), ("answer",), store)
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("answer"))(1)


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "a" / "objects")


def test_a_second_compilation_is_a_hit(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(41, store) == 42
    monkeypatch.setattr(jit, "compile_object", lambda *_: pytest.fail("compiled again"))
    assert answer(41, store) == 42


def test_the_key_is_all_of_the_text(store: Cache) -> None:
    assert [answer(k, store) for k in (1, 2, 3)] == [2, 3, 4]
    assert len(entries(store.root)) == 3
    assert cache.key_of("ab", "c") != cache.key_of("a", "bc")


def test_the_directory_is_the_owners(store: Cache) -> None:
    answer(1, store)
    assert store.root is not None
    assert stat.S_IMODE(store.root.stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: b"", lambda d: d[:60] + b"x" + d[61:], lambda d: d * 2])
def test_damaged_entries_are_compiled_again(store: Cache, damage) -> None:
    answer(1, store)
    (entry,) = entries(store.root)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert answer(1, store) == 2
    assert entry.read_bytes() == whole


def test_every_corrupt_byte_is_seen(store: Cache) -> None:
    cache.put(store, "k", b"payload")
    (entry,) = entries(store.root)
    whole = entry.read_bytes()
    for k in range(len(whole)):
        entry.write_bytes(whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1 :])
        assert cache.get(store, "k") is None


def test_an_object_that_does_not_hold_the_kernel_is_compiled_again(store: Cache) -> None:
    key = cache.key_of(text(1), *jit.identity())
    cache.put(store, key, jit.compile_object((text(1).replace("answer", "question"),), jit.host()))
    assert answer(1, store) == 2


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners on this system")
def test_a_directory_that_others_may_write_is_not_used(store: Cache) -> None:
    answer(1, store)
    assert store.root is not None
    store.root.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="not a directory of yours alone"):
        assert answer(1, store) == 2


def test_a_cache_that_cannot_be_written_warns_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Cache(tmp_path / "file" / "objects")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert [answer(k, store) for k in (1, 2)] == [2, 3]
    assert len(seen) == 1


def test_the_size_is_bounded(tmp_path: Path) -> None:
    store = Cache(tmp_path, size_limit=10_000)
    for k in range(40):
        cache.put(store, f"k{k:02}", bytes(1000))
        os.utime(tmp_path / f"k{k:02}{cache.SUFFIX}", (k, k))
    cache.get(store, "k00")
    cache.trim(store)
    names = [p.name for p in entries(tmp_path)]
    assert sum(p.stat().st_size for p in entries(tmp_path)) <= 7500
    assert f"k39{cache.SUFFIX}" in names
    assert f"k00{cache.SUFFIX}" in names


def test_an_empty_variable_turns_the_cache_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOAC_CACHE_DIR", "")
    assert cache.user_cache().root is None
    monkeypatch.setenv("SOAC_CACHE_DIR", str(tmp_path))
    assert cache.user_cache().root == tmp_path


def test_a_cached_object_loads_fast() -> None:
    data = jit.compile_object((text(1),), jit.host())
    jit.load_object(data, ("answer",))
    times = []
    for _ in range(10):
        start = time.perf_counter()
        assert jit.load_object(data, ("answer",)) is not None
        times.append(time.perf_counter() - start)
    assert min(times) < 0.005


def test_a_call_that_is_not_allowed_is_refused() -> None:
    called = "declare i32 @system(ptr)\ndefine i32 @f(ptr %p) {\n %r = call i32 @system(ptr %p)\n ret i32 %r\n}"
    with pytest.raises(jit.Unlinkable, match="system"):
        jit.compile_object((called,), jit.host())
    rounding = "define half @f(double %x) {\n %r = fptrunc double %x to half\n ret half %r\n}"
    with pytest.raises(jit.Unlinkable):
        jit.compile_object((rounding,), jit.Host(jit.host().triple, "generic", ""))


def test_undefined_symbols_of_other_formats() -> None:
    llvm = jit.llvm
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    body = "define double @f(double %x) {\n %r = call double @erf(double %x)\n ret double %r\n}"
    calls = "declare double @erf(double)\n" + body
    for triple in ("aarch64-unknown-linux-gnu", "x86_64-unknown-linux-gnu", "arm64-apple-darwin"):
        data = jit.compile_object((calls,), jit.Host(triple, "", ""))
        assert (undefined_symbols(data) or frozenset()) - jit.LOADER_SYMBOLS == {"erf"}
    assert undefined_symbols(b"not an object") is None


ROWS = """
define void @rows(ptr %from, ptr %to) {
  %x = load <16 x i8>, ptr %from, align 1
  %next = getelementptr i8, ptr %from, i64 16
  %y = load <16 x i8>, ptr %next, align 1
  %z = shufflevector <16 x i8> %x, <16 x i8> %y, <16 x i32> <i32 0, i32 1, i32 16, i32 17, i32 4, i32 5, i32 6, i32 7,
    i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %low = shufflevector <16 x i8> %z, <16 x i8> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6,
    i32 7>
  store <8 x i8> %low, ptr %to, align 1
  ret void
}
"""


def test_bytes_are_shuffled_without_slow_instructions() -> None:
    """Those of SSE4a take 115 ns each beside instructions of 256 bits (Zen 3)."""
    target = jit.host()
    machine = jit.target_machine(target)
    assert "insertq" not in machine.emit_assembly(jit.optimised((ROWS,), machine, target))
