"""The command line, called in this process as a shell would call it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from soac.cli import run_cli


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


Command = Callable[..., Outcome]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """`command("run", file, "1", stdin=b"")` in an empty directory."""
    monkeypatch.chdir(tmp_path)

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
