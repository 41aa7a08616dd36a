"""Tuning files: `prog.soac.tuning` holds lines `name=value`; a JSON sidecar in the folder `.soac` beside it says where
they come from.

A file is read whole or not at all: the first bad line is an error (T0101). Names that the program does not have are
ignored with a warning (T0102): other compilers of the language write files of the same name. Writing is atomic: a
reader sees the old file or the new one. Infinity is 2^63-1.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..ir.cores import cores
from ..ir.errors import NOWHERE, Diagnostic, Label, Loc, TuningError
from ..ir.json_text import json_of
from ..ir.machine import BLOCK, WARP
from ..ir.nearest import nearest
from ..ir.thresholds import is_node
from ..kernels.host_ir.launch_parameters import fitting
from ..kernels.limits import MAX_THREADS


class SettingError(TuningError):
    """A setting on the command line that is wrong: a matter of usage."""

    exit_code = 2


INFINITY = 2**63 - 1
MAX_BYTES = 1 << 20
MOST_THREADS = 4 * cores()


def tuning_path(program: Path) -> Path:
    """Where the tuning file of a program is: `prog.soac` → `prog.soac.tuning`."""
    return program.with_name(program.name + ".tuning")


def working_path(file: Path, suffix: str) -> Path:
    """Where a search keeps what belongs to `file` and people do not edit: `.soac/prog.soac.tuning.db`."""
    return file.parent / ".soac" / (file.name + suffix)


def sidecar_path(tuning: Path) -> Path:
    return working_path(tuning, ".json")


def device_tuning_path(program: Path, device: str) -> Path:
    """The file that a device prefers: `prog.soac.cuda.tuning`."""
    return program.with_name(f"{program.name}.{device}.tuning")


def tuning_beside(program: Path, device: str) -> Path | None:
    """The tuning file that a device reads of those beside a program: its own, else that of the program."""
    files = (device_tuning_path(program, device), tuning_path(program))
    return next((file for file in files if file.is_symlink() or file.exists()), None)


def threads_name(entry: str) -> str:
    """The setting that says on how many threads an entry runs; 0 for all."""
    return f"{entry}.threads"


def program_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# ---- reading ----------------------------------------------------------------------------------------------------


def read_tuning(
    path: Path, known: Collection[str], program: str, device: str | None
) -> tuple[dict[str, int], tuple[Diagnostic, ...]]:
    """The values of the file at `path` for the program of this text, whose parameters are `known`, and warnings.

    Raises `TuningError` (T0101, T0105). A name that is unknown is left out with a warning, which says so where the file
    was made for an older program, or on another device (in words) than `device` (T0102, W0401, T0103)."""
    settings = _parse_settings(path)
    unknown = [name for name in settings if name not in known and not is_node(name)]
    there = _sidecar(path)
    warnings = _device_warnings(path, there, device, unknown)
    if _is_stale(there, program):
        warnings = (_stale_warning(path, unknown), *_device_warnings(path, there, device, ()))
    if unknown and not warnings:
        warnings = (_unknown_names(unknown, known, settings[unknown[0]][1]),)
    return {name: value for name, (value, _) in settings.items() if name in known}, warnings


def node_settings(path: Path) -> dict[str, int]:
    """What the file at `path` says of the guards of a cluster, which only runs on one know."""
    return {name: value for name, (value, _) in _parse_settings(path).items() if is_node(name)}


def _parse_settings(path: Path) -> dict[str, tuple[int, Loc]]:
    file = str(path)
    settings: dict[str, tuple[int, Loc]] = {}
    for number, line in enumerate(_read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        name, value = _parse_line(line, file, number)
        if name in settings:
            raise _bad_line(file, number, line, f"`{name}` is set twice")
        settings[name] = (value, _line_loc(file, number, line))
    return settings


def _sidecar(path: Path) -> dict[str, object]:
    """What the sidecar says; nothing where there is none that can be read."""
    try:
        found = json_of(_read_text(sidecar_path(path)))
    except (TuningError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_stale(sidecar: Mapping[str, object], program: str) -> bool:
    """Whether the sidecar says that the file was made for another text."""
    return sidecar.get("program", program_digest(program)) != program_digest(program)


def made_on(path: Path) -> str | None:
    """The kind of device, `cpu` or `cuda`, that the sidecar of a tuning file names."""
    device = _sidecar(path).get("device")
    return device if isinstance(device, str) else None


def _device_warnings(
    path: Path, sidecar: Mapping[str, object], device: str | None, unknown: Sequence[str]
) -> tuple[Diagnostic, ...]:
    there = sidecar.get("described", device)
    if device is None or there == device:
        return ()
    ignored = f"; not known here and ignored: {', '.join(unknown)}" if unknown else ""
    text = f"the tuning file was made on another device: `{there}`, this is `{device}`{ignored}"
    where = Label(Loc(str(path), 1, 1, 1, 1), "")
    return (Diagnostic("T0103", text, where, hint="run `soac autotune` here, or pass --no-tuning"),)


def clamped(path: Path, values: Mapping[str, int]) -> tuple[dict[str, int], tuple[Diagnostic, ...]]:
    """Values within what any machine has, and a note (T0104) of each that was not."""
    made = {name: _possible(name, value) for name, value in values.items()}
    where = Label(Loc(str(path), 1, 1, 1, 1), "")
    changed = [name for name, value in values.items() if made[name] != value]
    return made, tuple(Diagnostic("T0104", _limit(name, values[name], made[name]), where) for name in changed)


def _possible(name: str, value: int) -> int:
    return min(value, MOST_THREADS) if name.endswith(".threads") else fitting(name, value)


def _limit(name: str, value: int, made: int) -> str:
    if name.endswith(".threads"):
        return f"`{name}` is {value}, and at most {made} here"
    sizes = f"{WARP.threads} to {BLOCK.most} threads in warps of {WARP.threads}"
    return f"`{name}` is {value}: a block has {sizes}, so {made} is near"


def _stale_warning(path: Path, unknown: Sequence[str]) -> Diagnostic:
    ignored = f"; not known any more and ignored: {', '.join(unknown)}" if unknown else ""
    return Diagnostic(
        "W0401",
        f"the tuning file was made for an older program{ignored}",
        Label(Loc(str(path), 1, 1, 1, 1), ""),
        hint="run `soac autotune` again",
    )


def parse_setting(text: str, known: Collection[str]) -> tuple[str, int]:
    """A setting `NAME=INT` of the command line; raises `SettingError` C0101."""
    try:
        name, value = _parse_line(text, "", 1)
    except TuningError as error:
        raise _as_setting(error.diagnostics[0]) from None
    if name not in known:
        raise unknown_setting(name, known)
    return name, value


def unknown_setting(name: str, known: Collection[str]) -> SettingError:
    """C0101 for a parameter that the program does not have."""
    return _as_setting(_unknown_name(name, known, NOWHERE))


def require_possible(name: str, value: int) -> None:
    """Raises `SettingError` C0101 for a size that no machine has, and for more threads than a launch may use."""
    made = min(value, MAX_THREADS) if name.endswith(".threads") else fitting(name, value)
    if made != value:
        hint = f"`{name}={made}`"
        raise SettingError(Diagnostic("C0101", _limit(name, value, made), hint=hint))


def _as_setting(found: Diagnostic) -> SettingError:
    return SettingError(Diagnostic("C0101", found.message, found.primary, hint=found.hint))


def _parse_line(line: str, file: str, number: int) -> tuple[str, int]:
    name, equals, digits = line.partition("=")
    if not equals:
        raise _bad_line(file, number, line, "no `=`")
    if not name or name != name.strip():
        raise _bad_line(file, number, line, "no name before `=`" if not name.strip() else "spaces around the name")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19 or int(digits) > INFINITY:
        raise _bad_line(file, number, line, f"`{_shorten(digits)}` is not an integer from 0 to 2^63-1")
    return name, int(digits)


def _bad_line(file: str, number: int, line: str, what: str) -> TuningError:
    where = f"line {number}: " if file else ""
    return TuningError(
        Diagnostic(
            "T0101",
            f"{where}{what}",
            Label(_line_loc(file, number, line), ""),
            hint="a setting is NAME=INTEGER, without spaces",
        )
    )


def _line_loc(file: str, number: int, line: str) -> Loc:
    return Loc(file, number, 1, number, len(line) + 1) if file else NOWHERE


def _shorten(text: str) -> str:
    return text if len(text) <= 30 else text[:27] + "..."


def _unknown_name(name: str, known: Collection[str], loc: Loc) -> Diagnostic:
    near = nearest(name, known, 0.5)
    listed = "the program has: " + ", ".join(sorted(known)) if known else "the program has no tuning parameters"
    hint = f"did you mean `{near}`? {listed}" if near else listed
    return Diagnostic("T0102", f"unknown tuning parameter `{_shorten(name)}`", Label(loc, ""), hint=hint)


def _unknown_names(names: Sequence[str], known: Collection[str], loc: Loc) -> Diagnostic:
    """The first one with what it may have been meant for, and how many more there are."""
    first = _unknown_name(names[0], known, loc)
    others = len(names) - 1
    more = f" and {others} other{'s' * (others > 1)}" if others else ""
    return replace(first, message=f"{first.message}{more}, ignored")


def _read_text(path: Path) -> str:
    """The contents of a plain UTF-8 file of at most a megabyte; anything else is T0105."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a plain file"
            raise _unusable(path, f"it is {kind}")
        if status.st_size > MAX_BYTES:
            raise _unusable(path, f"it has {status.st_size} bytes, the limit is {MAX_BYTES}")
        return path.read_text(encoding="utf-8")
    except OSError as fault:
        raise _unusable(path, fault.strerror or str(fault)) from None
    except UnicodeDecodeError:
        raise _unusable(path, "it is not UTF-8 text") from None


def _unusable(path: Path, why: str) -> TuningError:
    """T0105, which quotes nothing: the file may be endless, or a link to what is not the user's to show."""
    message = f"cannot use the tuning file `{path}`: {why}"
    return TuningError(Diagnostic("T0105", message, hint="pass --no-tuning to run without it"))


# ---- writing ----------------------------------------------------------------------------------------------------


def write_tuning(path: Path, values: Mapping[str, int], report: Mapping[str, object]) -> None:
    """Writes the tuning file and its sidecar, each atomically, the sidecar first."""
    if path.is_symlink():
        raise _unusable(path, "it is a symbolic link")
    try:
        sidecar_path(path).parent.mkdir(exist_ok=True)
        _replace(sidecar_path(path), json.dumps(report, indent=2, sort_keys=True) + "\n")
        _replace(path, "".join(f"{name}={value}\n" for name, value in sorted(values.items())))
    except OSError as fault:
        raise _unusable(path, fault.strerror or str(fault)) from None


def _replace(path: Path, text: str) -> None:
    """Temporary file in the same directory, fsync, rename, fsync of the directory."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
