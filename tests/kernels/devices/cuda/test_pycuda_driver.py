"""The layer of PyCUDA, where PyCUDA is installed and no GPU is there: on a stand-in for the driver's library."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from soac.kernels.devices.cuda import libcuda
from tests.support.emulator.emulate import COMPILER, HERE

ROOT = Path(__file__).parents[4]
FLAGS = ("-O1", "-shared", "-fPIC")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in, compiled."""
    if COMPILER is None:
        pytest.skip("no C++ compiler: there is no stand-in for the driver")
    target = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    name = f"-Wl,-soname,{target.name}"
    subprocess.run([COMPILER, *FLAGS, name, "-o", target, HERE / "libcuda.cpp", "-ldl"], check=True, timeout=120)
    return target


def run(library: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"LD_LIBRARY_PATH": str(library.parent), "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    return subprocess.run(
        [sys.executable, *command], env=env, cwd=ROOT, capture_output=True, text=True, timeout=300
    )  # fmt: skip


def test_the_whole_path(library: Path) -> None:
    if importlib.util.find_spec("pycuda") is None:
        pytest.skip("PyCUDA is not installed: its layer is not tested here")
    done = run(library, "-m", "tests.support.emulator.pycuda_check")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.endswith("ok\n")
    assert "could not be cleaned up" not in done.stderr


def test_what_the_driver_shows(library: Path) -> None:
    """Asked without PyCUDA."""
    done = run(library, "-m", "soac", "devices")
    assert done.returncode == 0, done.stderr
    assert "cuda  stand-in, sm_90, 64.0 MiB, driver for CUDA 13.0" in done.stdout


def test_errors_have_words(library: Path) -> None:
    done = run(library, "-c", "from soac.kernels.devices.cuda import libcuda; print(libcuda.error_text(700))")
    assert done.stdout == "an illegal memory access was encountered\n", done.stderr


EVENTS = """
import ctypes, time
from soac.kernels.devices.cuda import libcuda
cuda, context, stream = libcuda.library(), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxPushCurrent_v2(context)
cuda.cuStreamCreate(ctypes.byref(stream), 0)
events = [libcuda.make_event() for _ in range(3)]
for event in events:
    libcuda.record(event, stream.value)
    time.sleep(0.01)
first, second, third = libcuda.elapsed(events)
assert first == 0 and 0.01 <= second <= third - 0.01 < 1, (first, second, third)
assert set(libcuda.addresses(libcuda.FUNCTIONS | libcuda.EVENT_FUNCTIONS)) == {*libcuda.FUNCTIONS, "record"}
libcuda.drop_events(events)
cuda.stand_in_break()
try:
    libcuda.record(libcuda.make_event(), stream.value)
except libcuda.Refused as why:
    print(why)
"""


def test_events(library: Path) -> None:
    """Seconds since the first."""
    done = run(library, "-c", EVENTS)
    assert done.stdout == "an illegal memory access was encountered (error 700)\n", done.stderr


DETACHED = """
import ctypes, types
from soac.kernels.devices.cuda import libcuda
from soac.kernels.devices.cuda.driver import Properties
from soac.kernels.devices.cuda.pycuda_driver import PyCuda
said = []
error = type("Error", (Exception,), {})
driver = PyCuda(0, types.SimpleNamespace(MemoryError=error, Error=error), Properties("", "sm_90", 1, 0), (2, 0))
driver.context = types.SimpleNamespace(pop=lambda: said.append("popped"))
libcuda.library().cuDevicePrimaryCtxRetain(ctypes.byref(context := ctypes.c_void_p()), 0)
libcuda.library().cuCtxPushCurrent_v2(context)
driver.make_events(3)
libcuda.library().stand_in_break()
driver.detach()
print(*said)
"""


def test_the_context_is_left_after_a_fault(library: Path) -> None:
    """The driver then refuses to give events back; a context that is still current ends the process."""
    done = run(library, "-c", DETACHED)
    assert done.stdout == "popped\n", done.stderr


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libcuda, "NAMES", ("libno_such_thing.so.1",))
    libcuda.library.cache_clear()
    with pytest.raises(libcuda.NoDriver, match="not on this machine"):
        libcuda.gpus()
    libcuda.library.cache_clear()
