"""Which tests run which lines: a pytest plugin, `pytest -n 0 -p tests.support.mutation.record`.

Writes a coverage database with a context for each test, and seconds of processor time of the tests that pass, into
the folder that $SOAC_MUTATION_RECORD names.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).parents[3]
DATABASE, SECONDS = "coverage.db", "seconds.json"


class Recorder:
    """The coverage of one run, with the test that runs as its context."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.took: dict[str, float] = {}
        self.failed: set[str] = set()
        include = [f"{ROOT}/{folder}/*" for folder in ("flatten", "ir", "kernels")]
        self.coverage = coverage.Coverage(data_file=str(out / DATABASE), include=include, config_file=False)
        self.coverage.set_option("run:relative_files", True)
        self.coverage.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        start = time.process_time()
        try:
            return (yield)
        finally:
            self.took[item.nodeid] = round(time.process_time() - start, 3)
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        passed = {name: took for name, took in self.took.items() if name not in self.failed}
        (self.out / SECONDS).write_text(json.dumps(passed, indent=0), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(Path(os.environ["SOAC_MUTATION_RECORD"])))
