"""The command `soac`, also as `python -m soac`."""

from __future__ import annotations

import gc
import os
import signal
import sys

from .platforms import refused_here


def main() -> None:
    """Load the command line and run it. Ctrl-C while modules are loaded ends the process as it does later."""
    why = refused_here()
    if why is not None:
        sys.stderr.write(f"error[S0101]: {why}\n")
        sys.exit(3)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed: what is opened next must not be printed to
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, _leave)
    from .cli import main as run

    if is_default:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    finally:
        gc.freeze()  # nothing is collected that ends with the process: a seventh of the time of a small command


def _leave(*_: object) -> None:
    sys.stderr.write("soac: interrupted\n")
    sys.stderr.flush()
    os._exit(130)


if __name__ == "__main__":
    main()
