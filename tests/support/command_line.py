"""The command line, called in this process as a shell would call it, and `soac test` without it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from soac.cli import run_cli
from soac.frontend.source.text import Reach
from soac.settings import Settings
from soac.testing.run import EXCLUDED, Testing

Command = Callable[..., "Outcome"]
SUMS = "def main [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss\n"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def clean(self) -> Outcome:
        """This outcome, if it is a success."""
        assert self.code == 0, self.err
        return self


def caller(monkeypatch: pytest.MonkeyPatch) -> Command:
    """`call("run", file, "1", stdin=b"")`."""

    def call(*args: object, stdin: bytes = b"") -> Outcome:
        streams = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (stdin, b"", b"")]
        for name, stream in zip(("stdin", "stdout", "stderr"), streams):
            monkeypatch.setattr(f"sys.{name}", stream)
        code = run_cli([str(arg) for arg in args])
        for stream in streams[1:]:
            stream.flush()
        out, err = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in streams[1:])  # pyright: ignore
        return Outcome(code, out, err)

    return call


def under(**changes: object) -> Testing:
    """How tests of `soac test` are made, but for `changes`."""
    settings = Settings("cpu", 1, None, use_tuning=False, params=(), forces=(), reach=Reach.PROJECT)
    standard = {
        "every_version": False, "structures": False, "excluded": EXCLUDED, "seed": None, "timeout": None, "sync": False,
    }  # fmt: skip
    return Testing(settings, **{**standard, **changes})  # type: ignore[arg-type]
