"""The small cases of programs on every version.

    compute-sanitizer --tool TOOL python -m tests.support.gpu.sanitize FILE..

The tool watches the launches; here only values are compared.
"""

from __future__ import annotations

import sys
from pathlib import Path

from soac.devices import require, the_gpu
from tests.support.emulator import checks, subjects


def main() -> int:
    require("cuda")
    bad = 0
    for name in sys.argv[1:]:
        faults = list(checks.run_on(the_gpu(), 256, subjects.of_file(Path(name)), checks.Outcome()))
        bad += bool(faults)
        print(f"{name}: {faults[0] if faults else 'ok'}", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
