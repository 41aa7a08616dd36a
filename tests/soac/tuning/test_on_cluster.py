"""`soac autotune --cluster`: one study for all workers, a device each, and the guards of the cluster."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import optuna
import pytest

import soac
from soac.autotune.measure import Version
from soac.autotune.store import open_storage, timed_of
from soac.cluster.engine import Inline
from soac.commands.cluster import Where, tuned
from soac.frontend.source.text import Reach
from soac.settings import Settings
from soac.tuning.on_cluster import OnCluster
from tests.support.command_line import caller

TEXT = """
-- ==
-- input { [[1f32, 2f32], [3f32, 4f32]] }
-- random input { [40][30]f32 }
-- random input { [3][900]f32 }
def main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss
"""
SETTINGS = Settings("cpu", None, None, True, (), (), Reach.PROJECT)
GUARD = "main.ys.suff_node_0"


def test_both_sides_of_the_guards_are_run() -> None:
    cluster = soac.Cluster(Inline(), blocks=4, threads=1)
    one = OnCluster(cluster, soac.compile(TEXT), "main", [GUARD], [[cluster.array(np.ones((8, 4), np.float32))]])
    for side in (False, True):
        log = []
        one.run(0, Version({GUARD: side}, {}), log)
        assert (log[0].threshold, log[0].par, log[0].taken) == (GUARD, 32, side)


def test_a_run_reads_what_was_tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a cluster; elsewhere the guards of one are no unknown names."""
    file = tmp_path / "sums.soac"
    file.write_text(TEXT, encoding="utf-8")
    (tmp_path / "sums.soac.tuning").write_text(f"{GUARD}=77\n", encoding="utf-8")
    assert tuned(Where(None, 2, None), SETTINGS, file).thresholds == {GUARD: 77}
    assert tuned(Where(None, 2, None, {GUARD: 5}), SETTINGS, file).thresholds == {GUARD: 5}
    assert caller(monkeypatch)("run", file, "[[1f32, 2f32]]").clean().out == "[3.0f32]\n"


@pytest.mark.slow
def test_workers_share_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    file = tmp_path / "sums.soac"
    file.write_text(TEXT, encoding="utf-8")
    words = ("--workers", "2", "--runs", "2", "--trials", "1", "--storage", f"sqlite:///{tmp_path}/times.db")
    said = caller(monkeypatch)("autotune", file, *words).out
    assert "main on 2 workers: guards suff_node = " in said
    assert f"{GUARD}=" in (tmp_path / "sums.soac.tuning").read_text()
    storage = open_storage(f"sqlite:///{tmp_path}/times.db")
    studies = {
        name: optuna.load_study(study_name=name, storage=storage) for name in optuna.get_all_study_names(storage)
    }
    assert len(studies) == 2
    for study in studies.values():
        requests = [(t.request.phase, t.request.case, str(t.request.version)) for t in timed_of(study.get_trials())]
        assert len(requests) == len(set(requests)) >= 3  # each run was made by one of them
