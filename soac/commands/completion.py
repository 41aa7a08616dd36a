"""`soac completion SHELL`: completion of commands, options and files."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.option("--install", is_flag=True, help="Have new shells of yours load it.")
@click.pass_context
def command(ctx: click.Context, shell: str, install: bool) -> None:
    """Print the completion script for SHELL, or install it for the user: a script in ~/.local/share/soac that ~/.bashrc
    or ~/.zshrc loads, or a file in ~/.config/fish/completions."""
    kind = get_completion_class(shell)
    assert kind is not None
    completion = kind(ctx.find_root().command, {}, "soac", "_SOAC_COMPLETE")
    script = completion.source_template % completion.source_vars()
    if not install:
        click.echo(script)
        return
    try:
        for path in _install(shell, script):
            click.echo(f"wrote {path}")
    except OSError as fault:
        raise click.ClickException(f"cannot install: {fault}") from None
    click.echo("new shells complete `soac`")


def _install(shell: str, script: str) -> list[Path]:
    """Writes what the shell loads; the files that changed."""
    home = Path.home()
    if shell == "fish":
        config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        return _written(config / "fish" / "completions" / "soac.fish", script)
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    file = data / "soac" / f"completion.{shell}"
    settings = (Path(os.environ.get("ZDOTDIR") or home) if shell == "zsh" else home) / f".{shell}rc"
    line = f'[ -f "{file}" ] && . "{file}"  # completion of soac\n'
    before = settings.read_text(encoding="utf-8") if settings.exists() else ""
    if line in before:
        return _written(file, script)
    return _written(file, script) + _written(settings, f"{before.rstrip()}\n{line}".lstrip())


def _written(file: Path, text: str) -> list[Path]:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return [file]
