"""`soac errors`: what messages lead to."""

from __future__ import annotations

from pathlib import Path

from soac.error_pages import pages
from tests.support.command_line import Command


def test_a_message_leads_to_its_page(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.soac").write_text("def main (xs: []i32) = lenght xs\n")
    wrong = command("check", "a.soac")
    *_, last = wrong.err.splitlines()
    assert last == "more: soac errors E0201"
    page = command(*last.removeprefix("more: soac ").split()).clean().out
    assert page.startswith("E0201 unknown name\n\nNo such name is in scope")
    assert "Remedy: correct the spelling" in page


def test_all_codes_are_listed(command: Command) -> None:
    assert [line.split()[0] for line in command("errors").clean().out.splitlines()] == list(pages())
    assert "there is no `E9999`" in command("errors", "e9999").err
