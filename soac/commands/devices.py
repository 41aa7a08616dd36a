"""`soac devices`: where programs can run."""

from __future__ import annotations

import click

from ..devices import devices


@click.command("devices")
def command() -> None:
    """List the devices of this machine."""
    for device in devices():
        state = "ready" if device.missing is None else f"not usable: {device.missing}"
        click.echo(f"{device.name:<5} {device.description} ({state})")
