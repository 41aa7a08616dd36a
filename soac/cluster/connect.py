"""A cluster to use: that of a scheduler, or workers on this machine."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from ..ir.cores import cores
from ..ir.errors import Diagnostic, SystemFault
from ..kernels.devices.cpu.runtime import thread_pool
from .api import BLOCKS, Cluster


@contextmanager
def connected(
    address: str | None, workers: int | None, blocks: int | None = None, threads: int | None = None
) -> Iterator[Cluster]:
    """The cluster of the scheduler at an address (`tls://` by the certificates that Dask is configured with), or of
    `workers` processes of this machine, which share its cores and end with this."""
    if importlib.util.find_spec("distributed") is None:
        hint = "`pip install 'soac[cluster]'`"
        raise SystemFault(Diagnostic("S0102", "Dask is not installed", hint=hint))
    from distributed import Client, LocalCluster

    thread_pool.the_pool()  # Ctrl-C is said to it
    if workers is None:
        with Client(address) as client:
            yield Cluster(client, blocks or BLOCKS, threads)
        return
    share = threads or max(1, cores() // workers)
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as here,
        Client(here) as client,
    ):
        yield Cluster(client, blocks or BLOCKS, share)
