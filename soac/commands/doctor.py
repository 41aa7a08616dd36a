"""`soac doctor`: what a bug report should say about this machine."""

from __future__ import annotations

import click

from ..bundle import versions
from ..devices import devices
from ..kernels.cache import user_cache


@click.command("doctor")
def command() -> None:
    """Print versions and settings for a bug report."""
    for name, version in versions().items():
        click.echo(f"{name:<20} {version}")
    for device in devices():
        click.echo(f"{'device ' + device.name:<20} {device.missing or device.description}")
    click.echo(f"{'cache':<20} {user_cache().root or 'off'}")
