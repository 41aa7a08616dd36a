"""`soac doctor`: what a bug report should say about this machine, and what could be installed."""

from __future__ import annotations

import click

from ..bundle import versions
from ..devices import GET_COMPILER, cxx_compiler, devices
from ..kernels.devices.cuda.nvrtc import GET_NVRTC, NoCompiler, architectures, nvrtc
from ..kernels.devices.disk_cache import user_cache


@click.command("doctor")
def command() -> None:
    """Print versions and settings for a bug report, what is missing, and how to get it."""
    for name, version in versions().items():
        _line(name, version)
    for device in devices():
        _line(f"device {device.name}", f"{device.description} ({'not usable' if device.missing else 'ready'})")
        for one in device.missing:
            _line("", f"{one.what}: {one.how}")
    _line("CUDA C compiler", _nvrtc())
    _line("C++ compiler", cxx_compiler() or f"none; tests that emulate kernels are skipped: {GET_COMPILER}")
    _line("cache", str(user_cache().root or "off"))


def _nvrtc() -> str:
    try:
        major, minor = nvrtc().version
    except NoCompiler:
        return f"none: {GET_NVRTC}"
    known = architectures()
    return f"NVRTC {major}.{minor}, {known[0]} to {known[-1]}"


def _line(name: str, text: str) -> None:
    click.echo(f"{name:<20} {text}")
