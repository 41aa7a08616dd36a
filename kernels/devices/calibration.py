"""Default thresholds that this machine was measured to want: `soac devices --calibrate` writes them, once.

They lie in the cache of the user, by the device in words; where there are none, the constants of the device hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from ...ir.json_text import json_of
from .disk_cache import get, key_of, put, user_cache

FORMAT = "calibration 1"


def kind_of(threshold: str) -> str:
    """What a threshold guards: `main.ys.suff_outer_0` → `suff_outer`."""
    return threshold.rpartition(".")[2].rstrip("0123456789").removesuffix("_")


@lru_cache(maxsize=8)
def calibrated(device: str) -> Mapping[str, int]:
    """The default thresholds of a device by kind, if it was calibrated; never of a device without a name."""
    data = None if not device else get(user_cache(), key_of(FORMAT, device))
    if data is None:
        return {}
    found = json_of(data.decode())
    return {kind: value for kind, value in found.items() if isinstance(value, int) and value >= 0}


def store(device: str, defaults: Mapping[str, int]) -> None:
    """Keep the default thresholds of a device, and use them from now on."""
    put(user_cache(), key_of(FORMAT, device), json.dumps(dict(defaults)).encode())
    calibrated.cache_clear()
