"""Machines that soac does not run on say so, and nothing else happens."""

from __future__ import annotations

import pytest

import soac
from soac import __main__
from soac.platforms import refused, refused_here


def test_where_it_runs() -> None:
    assert refused_here() is None
    assert refused("darwin", "arm64") is refused("linux", "aarch64") is None
    assert "WSL 2" in str(refused("win32", "amd64"))
    assert "this is linux on riscv64" in str(refused("linux", "riscv64"))


def test_elsewhere(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for module in (soac, __main__):
        monkeypatch.setattr(module, "refused_here", lambda: refused("win32", "amd64"))
    with pytest.raises(soac.SystemFault, match="this is win32"):
        _ = soac.load
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == 3
    assert capsys.readouterr().err.startswith("error[S0101]: soac runs on Linux and macOS")
