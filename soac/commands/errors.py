"""`soac errors [CODES]`: what the codes of messages mean."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from ..error_pages import Page, address, pages


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(p.code, help=p.title) for p in pages().values() if p.code.startswith(incomplete.upper())]


@click.command("errors")
@click.argument("codes", nargs=-1, metavar="[CODES]...", shell_complete=_complete)
def command(codes: tuple[str, ...]) -> None:
    """Say what the CODES of messages mean, as E0203: cause and remedy. Without one, list them all."""
    known = pages()
    wanted = [code.upper() for code in codes]
    for code in wanted:
        if code not in known:
            raise click.BadParameter(f"there is no `{code}`; `soac errors` lists the codes", param_hint="CODES")
    listed = "\n".join(f"{page.code}  {page.title}" for page in known.values())
    click.echo("\n\n".join(_shown(known[code]) for code in wanted) or listed)


def _shown(page: Page) -> str:
    return f"{page.code} {page.title}\n\n{page.text}\n\n{address(page.code)}"
