"""`soac lsp`: the language server, for editors."""

from __future__ import annotations

import importlib
import os
import sys

import click

from ..ir.errors import Diagnostic, SystemFault


@click.command("lsp")
def command() -> None:
    """Serve an editor over stdin and stdout (Language Server Protocol): diagnostics, types, definitions, completion,
    renaming, sizes as inlay hints, formatting."""
    try:
        importlib.import_module("pygls")
    except ImportError:
        hint = "install it: pip install 'soac[lsp]'"
        raise SystemFault(Diagnostic("S0101", "the language server needs pygls", hint=hint)) from None
    from ..lsp.server import make_server

    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:  # pygls closes it
        make_server().start_io(sys.stdin.buffer, out)
