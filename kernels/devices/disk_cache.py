"""Compiled objects on disk, found again by a hash of everything that made them.

An entry is one file: a header (magic, SHA-256 of the payload) and the payload. Writing is atomic, reading verifies the
header, so a torn, corrupt or foreign file is a miss. The directory belongs to its owner alone (0700; one that is not
ours, or that others may write or replace, is not used) and is kept below a size by dropping what was used longest ago.
A cache never fails a run: whatever the file system does, the worst is one warning and a recompilation.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import field
from functools import cache as memoised
from pathlib import Path

import platformdirs

from ...ir.records import dataclass

MAGIC = b"soac-object-1\n"
SUFFIX = ".soacobj"
SIZE_LIMIT = 512 << 20
KEPT_AFTER_TRIM = 3 / 4
WRITES_BETWEEN_TRIMS = 64


@dataclass(slots=True)
class Cache:
    """A directory of entries; `root` None is a cache that never holds anything."""

    root: Path | None
    size_limit: int = SIZE_LIMIT
    writes: int = 0
    warned: bool = field(default=False, repr=False)


def key_of(*parts: bytes | str) -> str:
    """The name of an entry: a hash of all parts, each with its length. Names of files may be no UTF-8."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@memoised
def compiler() -> str:
    """A hash of the names, sizes and times of all files of this package: any change of the compiler changes it."""
    here = Path(__file__).parents[2]
    lines: list[str] = []
    for folder, _, names in os.walk(here, followlinks=True):
        for name in names:
            if not name.endswith(".pyc"):
                seen = os.stat(os.path.join(folder, name))
                lines.append(f"{folder}/{name} {seen.st_size} {seen.st_mtime_ns}")
    return key_of(*sorted(lines))


def user_cache() -> Cache:
    """The cache of the user: `$SOAC_CACHE_DIR`, or the platform's place; none if `$SOAC_CACHE_DIR` is empty."""
    chosen = os.environ.get("SOAC_CACHE_DIR")
    if chosen == "":
        return Cache(None)
    return Cache(Path(chosen) if chosen else Path(platformdirs.user_cache_dir("soac")) / "objects")


def get(cache: Cache, key: str) -> bytes | None:
    """The payload stored under `key`, or None."""
    if cache.root is None:
        return None
    path = cache.root / (key + SUFFIX)
    try:
        if not _is_ours(cache.root):
            return None
        with open(path, "rb", opener=_no_link) as file:
            status = os.fstat(file.fileno())
            if not _belongs_to_us(status) or status.st_size > cache.size_limit:
                return None
            data = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        _warn(cache, f"cannot read {path}: {error.strerror}")
        return None
    payload = _verified(data)
    if payload is None:
        _remove(path)
        return None
    _touch(path)
    return payload


def put(cache: Cache, key: str, payload: bytes) -> None:
    """Store `payload` under `key`, if the file system lets us."""
    if cache.root is None:
        return
    try:
        cache.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(cache.root):
            _warn(cache, f"{cache.root} is not a directory of yours alone; nothing is cached")
            return
        _write(cache.root, key + SUFFIX, _header(payload) + payload)
    except OSError as error:
        _warn(cache, f"cannot write {cache.root}: {error.strerror}")
        return
    cache.writes += 1
    if cache.writes % WRITES_BETWEEN_TRIMS == 1:
        trim(cache)


def stored(cache: Cache, key: str, make: Callable[[], bytes]) -> bytes:
    """The payload under `key`, made and put there if there is none."""
    payload = get(cache, key)
    if payload is None:
        payload = make()
        put(cache, key, payload)
    return payload


def trim(cache: Cache) -> None:
    """Drop the entries used longest ago until three quarters of the limit are left, if it is exceeded."""
    if cache.root is None:
        return
    entries = sorted(_entries(cache.root), key=lambda e: e[1], reverse=True)
    total = sum(size for _, _, size in entries)
    if total <= cache.size_limit:
        return
    while entries and total > cache.size_limit * KEPT_AFTER_TRIM:
        path, _, size = entries.pop()
        _remove(path)
        total -= size


def _entries(root: Path) -> list[tuple[Path, float, int]]:
    """(path, time of last use, size) of every entry, leftover temporary files included."""
    found: list[tuple[Path, float, int]] = []
    try:
        for item in os.scandir(root):
            if SUFFIX in item.name:
                status = item.stat(follow_symlinks=False)
                found.append((Path(item.path), status.st_mtime, status.st_size))
    except OSError:
        return found
    return found


def entries(cache: Cache) -> list[tuple[Path, float, int]]:
    """(path, time of last use, size) of everything that the cache holds."""
    return [] if cache.root is None else _entries(cache.root)


def clear(cache: Cache) -> int:
    """Drops all entries; how many there were."""
    found = entries(cache)
    for path, _, _ in found:
        _remove(path)
    return len(found)


def _header(payload: bytes) -> bytes:
    return MAGIC + hashlib.sha256(payload).digest()


def _verified(data: bytes) -> bytes | None:
    size = len(MAGIC) + 32
    payload = data[size:]
    return payload if data[:size] == _header(payload) else None


def _is_ours(root: Path) -> bool:
    """Objects are code: no other user may be able to put one there, or to put another directory in its place."""
    return _belongs_to_us(root.stat()) and _is_reached_safely(str(root.absolute()))


def _belongs_to_us(status: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or (
        status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


@memoised
def _is_reached_safely(root: str) -> bool:
    """Whether the directories above belong to us or to the system, and what others may write keeps their hands off the
    files of ours (the sticky bit of `/tmp`)."""
    if not hasattr(os, "getuid"):
        return True
    above = [parent.stat() for path in (Path(root), Path(root).resolve()) for parent in path.parents]
    return all(
        status.st_uid in (0, os.getuid()) and (not status.st_mode & stat.S_IWOTH or status.st_mode & stat.S_ISVTX)
        for status in above
    )


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _write(root: Path, name: str, data: bytes) -> None:
    """All or nothing: a temporary file in the same directory, then a rename."""
    handle, temporary = tempfile.mkstemp(prefix=name + ".", dir=root)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, root / name)
    except BaseException:
        _remove(Path(temporary))
        raise


def _touch(path: Path) -> None:
    """Note the use; a read-only cache is none the worse."""
    try:
        os.utime(path)
    except OSError:
        return


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


def _warn(cache: Cache, text: str) -> None:
    if not cache.warned:
        cache.warned = True
        warnings.warn(f"soac cache: {text}", RuntimeWarning, stacklevel=3)
