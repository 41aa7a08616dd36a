"""`soac devices`: where programs can run."""

from __future__ import annotations

import click

from ..devices import devices
from ..terminal import waiting
from ..tuning.calibrate import calibrate


@click.command("devices")
@click.option("--calibrate", "wanted", is_flag=True, help="Measure this machine for some seconds, once: what guards "
              "compare with that no tuning file speaks of.")  # fmt: skip
def command(wanted: bool) -> None:
    """List the devices of this machine, and for those that cannot be used what is missing and how to get it.

    The exit code is 0 whatever there is; `--device NAME` of other commands ends with 3 where NAME cannot be used."""
    if wanted:
        with waiting("measuring this machine"):
            found = calibrate()
        for kind, value in sorted(found.items()):
            click.echo(f"cpu   {kind}={value}")
    for device in devices():
        click.echo(f"{device.name:<5} {device.description} ({'not usable' if device.missing else 'ready'})")
        for one in device.missing:
            click.echo(f"      - {one.what}\n        {one.how}")
