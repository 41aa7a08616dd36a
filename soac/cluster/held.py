"""What a scheduler does so that arrays that were put on two workers stay on both.

The active memory manager of Dask, which runs by default, drops all copies of a value but one; `ReduceReplicas` is the
policy that says so. It is replaced by one that leaves the arrays of a `soac.Cluster` alone.
"""

from __future__ import annotations

from typing import Any

HELD = "soac-held-"
"""How the keys of such arrays begin."""


def hold(dask_scheduler: Any) -> None:
    """Replaces the policy, on the scheduler, once."""
    from distributed.active_memory_manager import ReduceReplicas

    class ReduceOthers(ReduceReplicas):
        def run(self) -> Any:
            yield from (one for one in super().run() if not str(one.ts.key).startswith(HELD))

    manager = dask_scheduler.extensions.get("amm")
    for policy in [one for one in getattr(manager, "policies", ()) if type(one) is ReduceReplicas]:
        manager.policies.discard(policy)
        manager.add_policy(ReduceOthers())
