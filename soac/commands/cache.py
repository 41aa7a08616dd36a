"""`soac cache`: the compiled code that is kept between runs."""

from __future__ import annotations

from datetime import datetime

import click

from ..kernels.devices.disk_cache import clear, entries, user_cache


@click.command("cache")
@click.argument("action", type=click.Choice(["size", "list", "clear"]), default="size")
def command(action: str) -> None:
    """Show how much the cache of compiled code holds and where it is; list its entries; clear it.

    An entry is a program or a kernel; its name is a hash of all that it was made from. The cache is kept below a limit
    by itself. SOAC_CACHE_DIR names another directory; empty, nothing is kept."""
    cache = user_cache()
    found = entries(cache)
    total = _megabytes(sum(size for _, _, size in found))
    match action:
        case "clear":
            click.echo(f"removed {clear(cache)} entries, {total}")
        case "list":
            for path, used, size in sorted(found, key=lambda entry: entry[1], reverse=True):
                click.echo(f"{datetime.fromtimestamp(used):%Y-%m-%d %H:%M}  {_megabytes(size):>10}  {path.name[:16]}")
        case _:
            limit = _megabytes(cache.size_limit)
            click.echo(f"{cache.root or 'off'}: {len(found)} entries, {total} of at most {limit}")


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"
