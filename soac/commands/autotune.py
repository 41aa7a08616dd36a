"""`soac autotune FILE`: every version of a program timed on the data sets of its test blocks, thresholds solved."""

from __future__ import annotations

import math
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import optuna
from optuna.storages import BaseStorage

from ..autotune.isolated import PATIENCE, Isolated
from ..autotune.measure import OutOfBudget, measure
from ..autotune.plan import most_versions
from ..autotune.search import Bench, Problem, Progress, Search, Tuned, tune
from ..autotune.sizes import count_tried, timed_sizes
from ..autotune.solve import weights_of
from ..autotune.store import TRIALS, Facts, Planned, Timed, open_beside, open_storage, open_study, storing
from ..autotune.tuning import program_digest, working_path, write_tuning
from ..by_hand import tunable, verified
from ..data.files import write_file
from ..devices import described
from ..failures import show_diagnostics
from ..ir.errors import Diagnostic, TuningError
from ..kernels.host_ir.launch_parameters import Kind, size_kind
from ..reports.timing import seconds_text
from ..session import Session, open_program, tuning_to_write
from ..settings import Settings
from ..terminal import is_live
from ..testing.datasets import DataSet
from ..tuning.charts import page, pictures, write_pictures
from ..tuning.isolated_run import configuration_of, starting
from ..tuning.on_cluster import Job, device_of, node_search, on_cluster, remotes, shared
from ..tuning.report import Row, counted, is_slower, lines_of, remarks, rows_of
from ..tuning.runs import (
    Replay,
    Stopwatch,
    all_sizes,
    blocks_of,
    facts_of,
    labels_of,
    problem_of,
    sets_of,
    subject_of,
)
from ..tuning.searches import Outcome, search_all
from .cluster import Where, cluster_options, opened
from .options import FILE, DataCommand, run_options

if TYPE_CHECKING:
    from ..cluster.api import Cluster

MORE_TIME = "give more time with `--timeout SECONDS`; what was timed is kept, and a search goes on where it ended"


@dataclass(frozen=True, slots=True)
class Options:
    """How long to search, and where times are kept."""

    entry: str | None
    runs: int
    timeout: float
    trials: int
    storage: str | None
    fresh: bool
    simulate: bool
    isolate: bool | None
    patience: float
    html: Path | None
    plot: Path | None


@click.command("autotune", cls=DataCommand)
@click.argument("file", type=FILE)
@click.option("-e", "--entry", metavar="NAME", help="Only this entry point; what the file says of others is kept.")
@click.option("--runs", type=click.IntRange(1, 1000), default=5, show_default=True, help="Repetitions of a timed run.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS", default=math.inf,
              help="End the search after this time, with the best so far; default: never.")  # fmt: skip
@click.option("--trials", type=click.IntRange(0, 10_000), default=12, show_default=True,
              help="Most trials of sizes.")  # fmt: skip
@click.option("--storage", metavar="URL", help="Database of timed runs, which machines may share; "
              "default: SQLite in `.soac` beside FILE.")  # fmt: skip
@click.option("--fresh", is_flag=True, help="Forget the times of earlier searches.")
@click.option("--simulate", is_flag=True, help="Search again among stored times; runs and writes nothing.")
@click.option("--isolate/--no-isolate", default=None, help="Time in a process of its own, which is started "
              "again where a run ends it or hangs; default: on a GPU.")  # fmt: skip
@click.option("--patience", type=click.FloatRange(0, min_open=True), metavar="SECONDS", default=PATIENCE,
              show_default=True, help="With --isolate: how much longer than its limit a run may take.")  # fmt: skip
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a report with pictures.")
@click.option("--plot", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Write pictures (SVG).")
@cluster_options
@run_options
def command(file: Path, where: Where | None, settings: Settings, **options: Any) -> None:
    """Time every version of FILE on the data sets of its test blocks, and write the best thresholds to FILE.tuning.

    A search that was cut off goes on where it ended. On a cluster all workers share it, each for a device of
    its own; the guards between a device and the cluster are tuned after that."""
    asked = Options(**options)
    until = time.monotonic() + asked.timeout  # compiling counts
    session = open_program(file, replace(settings, use_tuning=False))
    session = replace(session, sites=tunable(session.sites, verified(file, session.program.facts.by_hand)))
    target, kept = tuning_to_write(file, session, settings)
    with storing(), _database(file, asked) as storage, _cluster(where, settings) as cluster:
        if cluster is not None:
            settings = replace(settings, threads=cluster.threads)
        tuner = Tuner(file, session, settings, asked, storage, until, cluster)
        entries = [asked.entry] if asked.entry else session.program.entries
        try:
            for entry in entries:
                tuner.tune(entry)
        except KeyboardInterrupt:
            tuner.write(target.with_name(target.name + ".partial"), kept)
            raise
    if not tuner.report:
        _nothing_to_tune(file, session, tuner.untimed)
    show_diagnostics([_untimed(entry) for entry in tuner.untimed])
    tuner.draw()
    if not asked.simulate:
        tuner.write(target, kept)
        click.echo(f"wrote {target}")


def _nothing_to_tune(file: Path, session: Session, untimed: Sequence[str]) -> None:
    """There is nothing to write: an error, unless there was nothing to choose."""
    if untimed:
        names = ", ".join(f"`{entry}`" for entry in untimed)
        raise TuningError(Diagnostic("T0202", f"no time was left to run {names}", hint=MORE_TIME))
    if not any(has_choices(session, entry) for entry in session.program.entries):
        click.echo(f"{file}: one version only, nothing to tune")
        raise SystemExit(0)
    text = "nothing to tune with: no test block has data for an entry point with versions"
    hint = "add a `-- ==` block with an input to the program"
    raise TuningError(Diagnostic("T0201", text, hint=hint))


@contextmanager
def _database(file: Path, asked: Options) -> Iterator[BaseStorage]:
    """The database of timed runs."""
    if asked.storage is not None:
        yield open_storage(asked.storage)
        return
    with open_beside(working_path(file.resolve(), ".tuning.db")) as storage:
        yield storage


def _cluster(where: Where | None, settings: Settings) -> AbstractContextManager[Cluster | None]:
    return nullcontext() if where is None else opened(where, settings.threads)


# ---- an entry ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tuner:
    """Tunes one entry after another, and keeps what is found. `untimed`: entries for which no time was left."""

    file: Path
    session: Session
    settings: Settings
    asked: Options
    storage: BaseStorage
    until: float
    cluster: Cluster | None = None
    values: dict[str, int] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)
    untimed: list[str] = field(default_factory=list)
    sections: dict[str, tuple[Sequence[Row], Sequence[str], Mapping[str, str]]] = field(default_factory=dict)

    def tune(self, entry: str) -> None:
        sets = sets_of(self.file, self.session, entry)
        problem = problem_of(self.session, entry, sets, self.settings.threads)
        if not sets:
            return
        facts = facts_of(self.session, entry, sets, self.settings.device, self.settings.threads)
        if self.cluster is not None:
            facts = replace(facts, device=device_of(self.cluster, self.settings.device))
        is_timed = not self.asked.simulate and time.monotonic() < self.until
        if has_choices(self.session, entry):
            search = self._search(entry, facts)
            with self._bench(entry, facts, problem, sets) if is_timed else nullcontext(search.bench) as search.bench:
                self._finish(entry, search, self._run(entry, search, problem))
        if self.cluster is not None and is_timed:
            self._tune_node(self.cluster, entry, facts, sets)

    @contextmanager
    def _bench(self, entry: str, facts: Facts, problem: Problem, sets: Sequence[DataSet]) -> Iterator[Bench]:
        """What times runs: this process, one of its own, or a worker, after all workers have searched."""
        isolate = self.settings.device != "cpu" if self.asked.isolate is None else self.asked.isolate
        if self.cluster is not None:
            yield self._shared(self.cluster, entry, facts, problem)
        elif isolate:
            configuration = configuration_of(self.file, self.settings, entry, self.asked.runs)
            child = Isolated(*starting(), configuration, self.until, self.asked.patience)
            try:
                yield child
            finally:
                child.close()
        else:
            subject = subject_of(self.file, self.session, entry, sets, self.settings.threads, self.until)
            yield Stopwatch(subject, self.asked.runs)

    def _shared(self, cluster: Cluster, entry: str, facts: Facts, problem: Problem) -> Bench:
        """How runs are timed on a worker, after all workers have searched."""
        source = self.session.program.source
        job = Job(source, self.file.resolve(), entry, self.settings.threads, self.asked.runs)

        def search_for(bench: Bench) -> None:
            search = self._search(entry, facts)
            search.bench = bench
            self._run(entry, search, problem)

        found = shared(remotes(cluster, job, self.until), search_for)
        self.asked = replace(self.asked, fresh=False)
        return found

    def _tune_node(self, cluster: Cluster, entry: str, facts: Facts, sets: Sequence[DataSet]) -> None:
        """The guards between a device and the cluster, by what was found for the device."""
        program = replace(self.session.program, thresholds={**self.session.program.thresholds, **self.values})
        session = replace(self.session, program=program)
        subject = subject_of(self.file, session, entry, sets, self.settings.threads, self.until)
        one = on_cluster(cluster, subject)
        if one is None:
            return
        workers = len(cluster.client.scheduler_info(n_workers=-1)["workers"])  # type: ignore[union-attr]
        search = self._search(entry, replace(facts, device=f"{workers} workers, each {facts.device}"), " node")
        search.bench = lambda request: measure(one, request.case, request.version, self.asked.runs, request.limit)
        try:
            tuned = node_search(search, one, labels_of(sets))
        except OutOfBudget:
            return
        (value,) = tuned.solution.thresholds.values()
        self.values |= dict.fromkeys(one.names, value)
        self.report.setdefault(entry, {})["node"] = {"value": value, "before": tuned.before, "after": tuned.after}
        click.echo(f"{entry} on {workers} workers: guards suff_node = {value}")
        for label, before, after in zip(labels_of(sets), tuned.before, tuned.after, strict=True):
            click.echo(f"  {label:<44} {seconds_text(before):>10} untuned {seconds_text(after):>10} tuned")

    def _search(self, entry: str, facts: Facts, part: str = "") -> Search:
        """A search in the study of the entry; a simulated one in a study of its own, among the runs stored there."""
        name = f"{self.file.resolve().name} {entry}{part} {self.settings.device} {facts.program[:16]} {TRIALS}"
        sampler = Planned(1)
        if self.asked.fresh:
            _forget(self.storage, name)
        study = open_study(self.storage, name, facts, sampler)
        search = Search(study, sampler, Replay(()), self.until, Display(entry))
        if not self.asked.simulate:
            return search
        copy = open_study(None, name, facts, sampler)
        stored = [*search.timed(), *timed_sizes(study.get_trials(deepcopy=False))]
        return Search(copy, sampler, Replay(stored), self.until, lambda progress: None)

    def _run(self, entry: str, search: Search, problem: Problem) -> Outcome:
        """Times what is missing."""
        outcome = Outcome(problem)
        try:
            device, threads = self.settings.device, self.settings.threads
            search_all(search, outcome, lambda: blocks_of(self.session, entry, device, threads), self.asked.trials)
        except KeyboardInterrupt:
            self._keep(entry, search, outcome.problem)
            raise
        return outcome

    def _keep(self, entry: str, search: Search, problem: Problem) -> None:
        """The best so far of a search that is interrupted."""
        timed = search.timed()
        if timed:
            solution = tune(problem, timed).solution
            self.values |= {**solution.thresholds, **problem.sizes}
            self.report[entry] = {"thresholds": dict(solution.thresholds), "runs": len(timed)}

    def _finish(self, entry: str, search: Search, outcome: Outcome) -> None:
        problem, sizes, is_whole = outcome.problem, outcome.sizes, outcome.is_whole
        timed = search.timed()
        tuned = tune(problem, timed)
        if all(math.isinf(seconds) for seconds in tuned.after):
            if any(one.record.reason for one in timed):
                raise _all_failed(entry, timed)
            self.untimed.append(entry)
            return
        settings = {**tuned.solution.thresholds, **sizes}
        confirmed = search.confirm(problem, settings) if is_whole else (None,) * len(problem.labels)
        sites = [site for site in self.session.sites if site.entry == entry]
        rows = rows_of(problem, tuned, timed, confirmed, sites)
        said = self._say(entry, replace(problem, sizes=sizes), tuned, rows, search, is_whole)
        self.sections[entry] = rows, said, pictures(entry, problem, tuned, rows, sites)
        if is_slower(rows):
            click.echo("  slower than untuned in confirming runs: the defaults are kept")
        else:
            self.values |= settings
        self.report[entry] = _record(tuned, rows, timed, sizes)

    def _say(
        self, entry: str, problem: Problem, tuned: Tuned, rows: Sequence[Row], search: Search, is_whole: bool
    ) -> list[str]:
        """Shows the table; what else is to be said."""
        bound = most_versions(problem.branches) * len(problem.labels) * (2 if problem.sizes else 1)
        said = list(dict.fromkeys(remarks(problem, rows, tuned, search.timed())))
        if not is_whole:
            said.append("the time was over before every version was timed")
        said.append(counted(search.timed(), count_tried(search.study), bound))
        for line in (*lines_of(entry, rows, tuned, problem.sizes), *(f"  {line}" for line in said)):
            click.echo(line)
        return said

    def draw(self) -> None:
        """The pictures and the report that were asked for."""
        if self.asked.plot is not None:
            for _, _, drawn in self.sections.values():
                write_pictures(self.asked.plot, drawn)
        if self.asked.html is not None:
            write_file(self.asked.html, page(f"Tuning of {self.file.name}", self.sections).encode("utf-8", "replace"))

    def write(self, path: Path, kept: Mapping[str, int]) -> None:
        """The tuning file: what was found, and what an older file says of other entries."""
        others = {name: value for name, value in kept.items() if name.split(".")[0] not in self.report}
        facts = {"format": 3, "program": program_digest(self.session.text), "machine": platform.processor()}
        device = {"device": self.settings.device, "described": described(self.settings.device)}
        write_tuning(path, {**others, **self.values}, {**facts, **device, "entries": self.report})


def has_choices(session: Session, entry: str) -> bool:
    """Has an entry versions, or sizes? How a processor's cores share the work alone is not worth a search."""
    kinds = (size_kind(size.name) for size in all_sizes(session, entry))
    return any(kind not in (Kind.TASKS, Kind.CHUNK) for kind in kinds) or any(s.entry == entry for s in session.sites)


def _forget(storage: BaseStorage, name: str) -> None:
    if name in optuna.get_all_study_names(storage):
        optuna.delete_study(study_name=name, storage=storage)


def _all_failed(entry: str, timed: Sequence[Timed]) -> TuningError:
    reasons = tuple(dict.fromkeys(t.record.reason for t in timed if t.record.reason))
    return TuningError(Diagnostic("T0202", f"all runs of `{entry}` failed", notes=reasons[:10]))


def _untimed(entry: str) -> Diagnostic:
    text = f"no time was left to run `{entry}`, which keeps its settings"
    return Diagnostic("T0207", text, hint=MORE_TIME)


def _record(tuned: Tuned, rows: Sequence[Row], timed: Sequence[Timed], sizes: Mapping[str, int]) -> dict[str, Any]:
    """What the sidecar keeps of an entry."""
    return {
        "data_sets": {row.label: {"before": row.before, "after": row.after, "best": row.best} for row in rows},
        "versions": {row.label: row.version for row in rows},
        "thresholds": dict(tuned.solution.thresholds),
        "sizes": dict(sizes),
        "proved": tuned.solution.proved,
        "objective": sum(w * t for w, t in zip(weights_of(tuned.cases), tuned.after, strict=True)),
        "runs": len(timed),
    }


@dataclass(slots=True)
class Display:
    """Says on a terminal how far the search of an entry is, and about how long it will take."""

    entry: str
    begun: float = field(default_factory=time.monotonic)
    seen: int = 0

    def __call__(self, progress: Progress) -> None:
        self.seen += 1
        if not is_live(sys.stderr):
            return
        each = (time.monotonic() - self.begun) / self.seen
        left = seconds_text(max(each * (progress.most - progress.done), 1e-3))
        text = f"{self.entry}: run {progress.done} of at most {progress.most}, about {left} left"
        click.echo(f"\r\033[K{text}" if progress.done < progress.most else "\r\033[K", err=True, nl=False)
