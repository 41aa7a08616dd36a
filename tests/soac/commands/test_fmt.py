"""`soac fmt` as a user calls it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from soac.cli import cli

UGLY, PRETTY = "def main x=x+1i32 -- so\n", "def main x = x + 1i32  -- so\n"


def test_writes_files_below_a_directory(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    file = tmp_path / "sub" / "a.soac"
    file.write_text(UGLY)
    file.chmod(0o640)
    run = CliRunner().invoke(cli, ["fmt", str(tmp_path)])
    assert (run.exit_code, run.output) == (0, f"changed {file}\n")
    assert file.read_text() == PRETTY
    assert file.stat().st_mode & 0o777 == 0o640
    assert CliRunner().invoke(cli, ["fmt", str(tmp_path)]).output == ""
    assert [found.name for found in file.parent.iterdir()] == ["a.soac"]


def test_check_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.soac"
    file.write_text(UGLY)
    run = CliRunner().invoke(cli, ["fmt", "--check", str(file)], standalone_mode=False)
    assert (run.return_value, run.output) == (1, f"would change {file}\n")
    assert file.read_text() == UGLY


def test_stdin() -> None:
    assert CliRunner().invoke(cli, ["fmt", "-"], input=UGLY).output == PRETTY


def test_what_does_not_parse_is_left(tmp_path: Path) -> None:
    wrong, right = tmp_path / "a.soac", tmp_path / "b.soac"
    wrong.write_text("def main = (\n")
    right.write_text(UGLY)
    run = CliRunner().invoke(cli, ["fmt", str(wrong), str(right)], standalone_mode=False)
    assert run.return_value == 1
    assert "E0101" in run.stderr
    assert (wrong.read_text(), right.read_text()) == ("def main = (\n", PRETTY)
