"""Tests that need a GPU: skipped, each with the reason, where there is none; failed if `SOAC_GPU=1` says there is."""

from __future__ import annotations

import os

import pytest

from soac.devices import missing_for_cuda, the_gpu
from soac.kernels.devices.cuda.gpu import Gpu


@pytest.fixture(scope="session")
def gpu() -> Gpu:
    missing = missing_for_cuda()
    if missing:
        why = "no GPU to test on: " + "; ".join(one.what for one in missing)
        if os.environ.get("SOAC_GPU") == "1":
            pytest.fail(why)
        pytest.skip(why)
    return the_gpu()
