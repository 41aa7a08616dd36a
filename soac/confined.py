"""A program that is not trusted runs in a process of its own, within limits: `soac run --untrusted`.

    parent   starts the child, waits for it within a limit of time, and says which limit it was over (R0303)
    child    limits itself before it reads the program (`confine`), and ends when its parent does

What holds the limits is the system: of memory and processor time by `setrlimit`, of wall time by the parent. A hook on
the interpreter's own events refuses files outside of the project and all processes and sockets. Generated code calls
the functions of `ALLOWED` in `kernels/devices/cpu/runtime/jit.py` only, none of which opens anything.
"""

from __future__ import annotations

import errno
import math
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .ir.errors import Diagnostic, RunError, SystemFault
from .kernels.devices.disk_cache import user_cache

LARGEST_FILE = 64 << 20
"""Bytes of a file that the child may write: entries of the cache."""

PACKAGES = str(Path(__file__).resolve().parents[1])
"""Where the child finds this package; it does not look into the current directory (`-P`)."""

READ_ANYWAY = ("/dev/null", "/dev/urandom", "/proc/self", "/proc/meminfo", "/proc/cpuinfo", "/sys/devices/system/cpu")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use: seconds from start to end, bytes of memory beside those of soac itself, threads."""

    seconds: float
    memory: int
    threads: int


# ---- the parent ---------------------------------------------------------------------------------------------------


def run_confined(words: Sequence[str], limits: Limits) -> int:
    """Runs `soac WORDS ..` as a child with the standard streams of this process; its exit code. Raises RunError R0303
    where it was over a limit, SystemFault S0101 where the system has none."""
    if sys.platform != "linux":
        raise SystemFault(Diagnostic("S0101", "untrusted programs are run on Linux only"))
    ours, theirs = os.pipe()
    confined = [f"--confined={ours}", f"--time-limit={limits.seconds}", f"--memory-limit={limits.memory >> 20}"]
    command = [sys.executable, "-P", "-m", "soac", words[0], *confined, f"--threads={limits.threads}", *words[1:]]
    path = os.pathsep.join(filter(None, (PACKAGES, os.environ.get("PYTHONPATH"))))
    try:
        with subprocess.Popen(command, pass_fds=(ours,), env={**os.environ, "PYTHONPATH": path}) as child:
            return _waited(child, limits)
    finally:
        os.close(ours)
        os.close(theirs)


def _waited(child: subprocess.Popen[bytes], limits: Limits) -> int:
    try:
        code = child.wait(limits.seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        raise _over(f"it was not done after {limits.seconds:g} seconds (`--time-limit`)") from None
    if code == -signal.SIGXCPU:
        raise _over(f"its threads took the time of {limits.seconds:g} seconds (`--time-limit`)")
    if code < 0:
        name = signal.Signals(-code).name
        raise _over(f"{name} ended it, as where {limits.memory >> 20} MiB (`--memory-limit`) are not enough")
    return code


def _over(why: str) -> RunError:
    return RunError(Diagnostic("R0303", f"the program was stopped: {why}"))


# ---- the child ----------------------------------------------------------------------------------------------------


def is_lifeline(pipe: int) -> bool:
    """Whether this is the number of a pipe that a parent has left open here."""
    try:
        return stat.S_ISFIFO(os.fstat(pipe).st_mode)
    except OSError:
        return False


def confine(limits: Limits, project: Path, lifeline: int) -> None:
    """Holds this process to `limits`, and to the files of the project. It ends when the other end of the pipe
    `lifeline` is closed."""
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    seconds = math.ceil(limits.seconds * limits.threads)
    for kind, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, LARGEST_FILE),
        (resource.RLIMIT_AS, _address_space() + limits.memory),
    ):
        resource.setrlimit(kind, (most, most))
    sys.addaudithook(_hook(project))


def _end_with(pipe: int) -> None:
    os.read(pipe, 1)
    os._exit(1)


def _address_space() -> int:
    """Bytes that this process has mapped."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _hook(project: Path) -> Any:
    """Refuses what a program has no business with, also where a library of this process asks."""
    cache = user_cache().root
    written = [] if cache is None else [str(cache.resolve())]
    code = (sys.prefix, sys.base_prefix, *filter(None, sys.path), PACKAGES)
    readable = [*READ_ANYWAY, *written, str(project.resolve()), *map(os.path.realpath, code)]
    refused = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.symlink", "os.link", "socket.")

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[0], str | bytes):
            path = os.path.realpath(os.fsdecode(args[0]))
            writes = bool(args[2] & (os.O_WRONLY | os.O_RDWR)) if isinstance(args[2], int) else False
            if not any(path == root or path.startswith(root + os.sep) for root in (written if writes else readable)):
                raise PermissionError(errno.EACCES, "outside of the project (`--untrusted`)", path)
        elif event.startswith(refused):
            raise PermissionError(errno.EPERM, "not for a program that is not trusted", event)

    return hook
