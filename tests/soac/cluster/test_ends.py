"""What ends, and what does not: Ctrl-C and time limits leave nothing behind, slow and stopped workers do not stop the
rest, arrays are held twice, connections are encrypted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soac
from soac.cluster import worker
from soac.cluster.engine import Dask

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

from tests.soac.cluster.test_dask import BLOCKS, ROOT, workers  # noqa: E402

LONG = "entry main (n: i64) = i64.sum (map (\\i -> loop x = i for j < 100000000000 do x * x + j) (iota n))"
PIECES = "entry main (k: i64) (n: i64) = loop s = 0 for _i < k do s ^ i64.sum (map (\\i -> (i ^ s) % 1000) (iota n))"
SUMS = "entry main [n] (xs: [n]i64) = i64.sum (map (\\x -> x * x) xs)"
XS = np.arange(1000)


def comes(holds: Callable[[], object], seconds: float = 60) -> bool:
    """Whether something holds before long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.1)
    return False


def working(dask_worker: Any) -> int:
    return len(dask_worker.active_threads)


def is_idle(client: Any) -> bool:
    """Whether two workers are there and do nothing."""
    try:
        return list(client.run(working, on_error="ignore").values()) == [0, 0]
    except OSError:  # a worker that is about to be started again
        return False


@pytest.mark.parametrize(("text", "args"), [(LONG, [64]), (PIECES, [10**9, 1 << 22])])
def test_a_time_limit_ends_what_runs(text: str, args: list[int]) -> None:
    """In pieces, after each of which it can stop, and in one, for which the process ends."""
    with workers(2) as client:
        cluster = soac.Cluster(client, BLOCKS, 1, seconds=2, default=0)
        with pytest.raises(soac.SoacError, match="R0303"):
            cluster.run(soac.compile(text), args)
        assert comes(lambda: is_idle(client))
        assert int(soac.Cluster(client, BLOCKS, 1, default=0).run(soac.compile(SUMS), [XS])[0]) == np.sum(XS * XS)


def started(words: list[str], folder: Path, mark: str) -> subprocess.Popen[str]:
    (folder / "long.soac").write_text(LONG, encoding="utf-8")
    env = os.environ | {"PYTHONPATH": str(ROOT), "SOAC_TEST_MARK": mark}
    command = [sys.executable, "-m", "soac", "run", "long.soac", "64", *words]
    return subprocess.Popen(command, cwd=folder, env=env, text=True, stderr=subprocess.PIPE, start_new_session=True)


def marked(mark: str) -> list[str]:
    """The processes that were started with a mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def test_ctrl_c_leaves_no_process(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    command = started(["--workers", "2", "--force", "main.add.suff_node_0=cluster"], tmp_path, mark)
    assert comes(lambda: len(marked(mark)) >= 3)
    time.sleep(3)
    command.send_signal(signal.SIGINT)
    _, said = command.communicate(timeout=60)
    assert (command.returncode, "Traceback" in said) == (130, False)
    assert comes(lambda: not marked(mark), 20)


def test_ctrl_c_ends_what_runs_elsewhere(tmp_path: Path) -> None:
    with workers(2) as client:
        words = ["--cluster", client.scheduler.address, "--force", "main.add.suff_node_0=cluster"]
        command = started(words, tmp_path, "")
        assert comes(lambda: any(client.processing().values()))
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=60)
        assert command.returncode == 130
        assert comes(lambda: is_idle(client))


def test_arrays_are_held_twice() -> None:
    import dask

    with (
        dask.config.set({"distributed.scheduler.active-memory-manager.interval": "50ms"}),  # pyright: ignore[reportPrivateImportUsage]
        workers(2) as client,
    ):
        cluster = soac.Cluster(client, BLOCKS, 1, default=0)
        array = cluster.array(np.zeros((1 << 16, 2)))
        other = client.scatter(np.zeros(10), broadcast=True)
        assert comes(lambda: len(client.who_has(other)[other.key]) == 1)
        held = client.who_has([piece.handle for piece in array.pieces.pieces]).values()
        assert {len(places) for places in held} == {2}


def test_what_all_workers_have_lost_is_said() -> None:
    with workers(1) as client:
        cluster = soac.Cluster(client, BLOCKS, 1, default=0)
        xs = cluster.array(XS)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        assert comes(lambda: any(piece.handle.status != "finished" for piece in xs.pieces.pieces))
        with pytest.raises(soac.SoacError, match="R0304"):
            cluster.run(soac.compile(SUMS), [xs])


def test_a_slow_worker_does_not_stop_the_rest() -> None:
    with workers(2) as client:
        slow = next(iter(client.run(os.getpid).values()))

        def run(text: str, args: Any, settings: Any) -> Any:
            time.sleep(1 if os.getpid() == slow else 0.01)
            return *worker.run(text, args, settings), os.getpid()

        def picked(values: Any) -> int:
            return values[-1]

        prog = soac.compile("entry main [n] (xs: [n]i64) = (map (+ 1) xs, map (* 2) xs)")
        cluster = soac.Cluster(client, 40, 1, default=0)
        cluster.engine = engine = Dask(client, run=run)
        made: list[Any] = []
        plain = engine.client.submit

        def submit(function: Any, *args: Any, **how: Any) -> Any:
            made.append(plain(function, *args, **how))
            return made[-1]

        engine.client.submit = submit  # type: ignore[method-assign]
        _, ys = cluster.run(prog, [np.arange(100_000)])
        assert np.array_equal(ys.collect(), np.arange(0, 200_000, 2))
        pids = [value[-1] for value in client.gather(made) if isinstance(value, tuple)]
        assert len(pids) == 40
        assert pids.count(slow) < 15


def test_a_stopped_worker_does_not_stop_the_rest() -> None:
    import dask

    with dask.config.set({"distributed.scheduler.worker-ttl": "3s"}), workers(2) as client:  # pyright: ignore[reportPrivateImportUsage]
        cluster = soac.Cluster(client, BLOCKS, 1, default=0)
        prog = soac.compile(SUMS)
        xs = cluster.array(XS.repeat(100))
        wanted = [int(value) for value in cluster.run(prog, [xs])]
        stopped = next(iter(client.run(os.getpid).values()))
        os.kill(stopped, signal.SIGSTOP)
        try:
            assert [int(value) for value in cluster.run(prog, [xs])] == wanted
        finally:
            with suppress(ProcessLookupError):
                os.kill(stopped, signal.SIGCONT)


def test_connections_are_encrypted(tmp_path: Path) -> None:
    openssl = shutil.which("openssl") or pytest.skip("there is no openssl")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([openssl, *words, "-keyout", key, "-out", cert], check=True, capture_output=True)
    sides = {f"tls_{side}_{what}": str(path) for side in ("scheduler", "worker", "client") for what, path in
             (("key", key), ("cert", cert))}  # fmt: skip
    security = distributed.Security(require_encryption=True, tls_ca_file=str(cert), **sides)
    (tmp_path / "sums.soac").write_text(SUMS, encoding="utf-8")
    np.save(tmp_path / "xs.npy", XS)
    names = {"CA_FILE": cert, "CLIENT__CERT": cert, "CLIENT__KEY": key}
    env = os.environ | {"PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}
    env |= {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(path) for name, path in names.items()}
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", security=security, protocol="tls://"
    ) as local:
        command = [sys.executable, "-m", "soac", "run", "sums.soac", "xs.npy", "--cluster", local.scheduler_address]
        assert local.scheduler_address.startswith("tls://")
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.split()) == (0, [f"{np.sum(XS * XS)}i64"]), done.stderr
