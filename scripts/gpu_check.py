"""Everything that needs a GPU, by one command: `python scripts/gpu_check.py run [--part N | --steps ..] [--carry DIR]`.

    install     a virtual environment (`--venv`) with soac, its tests, NVRTC and PyCUDA
    machine     what is there: the GPU, versions of libraries
    doctor      what soac says of it, and what is missing
    device      tests of the device itself
    blocks      the test blocks of programs on every version; compute-sanitizer on those that fail
    short       benchmarks/gpu.py at a quarter of its size
    bench       benchmarks/gpu.py: against a copy of the device and against PyTorch, CuPy, JAX, Numba where installed
    profile     what Nsight Compute counts of the kernels of these contests
    tests       every version of every program against the interpreter, blocks of any size, random programs
    sanitizer   compute-sanitizer (memcheck, synccheck, racecheck, initcheck) over the programs on every version
    tune        soac autotune and, before and after it, soac bench

Parts are steps that fit together into the time that a command may take: `--limit` seconds for all of it, of which each
step gets a share of what is left; what takes longer is ended with all its processes, and what it has found until then
counts. A run leaves two files in `--out`: what was found (JSON, written after each step), and all logs in one archive.

A machine without a network gets what it lacks from `--carry`, a directory that `scripts/gpu_carry.py collect` has
filled: packages, which are put on the path of this Python where it has none of the name, and compiled kernels. Without
a GPU nothing but the installation can be done: the command says so, and ends with 3.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("memcheck", "synccheck", "racecheck", "initcheck")
PARTS = {
    1: ("machine", "doctor", "device", "blocks", "short"),
    2: ("bench", "profile"),
    3: ("tests", "sanitizer"),
    4: ("tune",),
}
SHARES = {"machine": 2, "doctor": 4, "device": 8, "blocks": 12, "short": 12, "bench": 24, "profile": 12, "tests": 18,
          "sanitizer": 18, "tune": 36, "install": 36}  # fmt: skip
"""Of the time that is left, in comparison with the steps that come after it."""
PACKING = 10.0
"""Seconds for the archive."""
BLOCKS = (
    "sumrows", "rowscan", "matmul", "softmax", "spmv", "histogram", "locvolcalib", "lud", "kmeans", "nbody", "srad",
    "p15_segscatter",
)  # fmt: skip
"""Programs with kernels of all kinds."""
TUNED = ("locvolcalib", "matmul", "softmax", "spmv", "sumrows", "histogram")
NVRTC = "nvidia-cuda-nvrtc>=13.0,<13.1"
COUNTED = (
    "gpu__time_duration.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_issued.avg.pct_of_peak_sustained_active", "sm__warps_active.avg.pct_of_peak_sustained_active",
    "lts__t_sectors_op_read.sum", "lts__t_sector_hit_rate.pct",
)  # fmt: skip
"""Of a kernel: time, bandwidth, issue, occupancy, and what L2 is asked."""
OUTCOME = re.compile(
    r"\b(PASSED|FAILED|ERROR|SKIPPED)\b\s+(\S+::\S+)|^(\S+::\S+(?: \S+)?) (PASSED|FAILED|ERROR|SKIPPED)", re.M
)


@dataclass(frozen=True)
class Options:
    """`out`: where results go; `work`: where logs are until the end, packages and compiled kernels; `venv` None: this
    interpreter is used as it is; `end`: when the command has to be done; `workers` of pytest."""

    out: Path
    work: Path
    venv: Path | None
    carry: Path | None
    end: float
    workers: int
    random: int
    log_size: int
    most_seconds: float
    tune_seconds: float
    programs: tuple[str, ...]
    tuned: tuple[str, ...]

    @property
    def python(self) -> str:
        return sys.executable if self.venv is None else str(self.venv / "bin" / "python")

    @property
    def logs(self) -> Path:
        return self.work / f"logs-{os.getpid()}"


def main() -> int:
    asked = parse()
    steps = PARTS[asked.part] if asked.part else asked.steps
    steps = [step for step in SHARES_ORDER if step in steps and not (step == "install" and asked.venv is None)]
    options = options_of(asked)
    if steps != ["install"] and (why := no_gpu()) is not None:
        print(f"nothing is checked: {why}. `--steps install` installs what a check needs.")
        return 3
    options.out.mkdir(parents=True, exist_ok=True)
    options.logs.mkdir(parents=True, exist_ok=True)
    name = f"part-{asked.part}" if asked.part else "gpu-check"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(124))
    passed: list[bool] = []
    try:
        unpack(options)
        for k, step in enumerate(steps):
            shares = sum(SHARES[later] for later in steps[k:])
            seconds = (options.end - time.monotonic()) * SHARES[step] / shares
            passed.append(take(step, options, seconds, options.out / f"{name}.json"))
    finally:
        with tarfile.open(options.out / f"{name}.tar.xz", "w:xz") as archive:
            archive.add(options.logs, name)
        shutil.rmtree(options.logs)
    return 0 if all(passed) else 1


def no_gpu() -> str | None:
    """Why there is no GPU to check. The module that knows imports nothing that would have to be installed."""
    spec = importlib.util.spec_from_file_location("soac_libcuda", ROOT / "kernels" / "devices" / "cuda" / "libcuda.py")
    assert spec is not None
    assert spec.loader is not None
    libcuda = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = libcuda
    spec.loader.exec_module(libcuda)
    try:
        libcuda.gpus()
    except libcuda.NoDriver as why:
        return str(why)
    return None


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="check this machine's GPU")
    run.add_argument("--out", type=Path, default=Path("gpu-check"))
    run.add_argument("--part", type=int, choices=list(PARTS), help="steps that fit into one command")
    run.add_argument("--steps", type=steps_of, default=list(SHARES_ORDER), help=",".join(SHARES_ORDER))
    run.add_argument("--limit", type=float, default=7200.0, help="seconds of the command")
    run.add_argument("--venv", type=Path, help="made if it is not there; without it this Python is used as it is")
    run.add_argument("--carry", type=Path, help="what `gpu_carry.py collect` has filled: no network is used")
    run.add_argument("--workers", type=int, default=min(12, os.cpu_count() or 1), help="processes of pytest")
    run.add_argument("--random", type=int, default=200, help="random programs")
    run.add_argument("--log-size", type=int, default=28, help="elements of sums and scans, as a power of two")
    run.add_argument("--most-seconds", type=float, default=1.0, help="of a contest")
    run.add_argument("--tune-seconds", type=float, default=60.0, help="of the search for thresholds of a program")
    run.add_argument("--programs", type=names_of, default=BLOCKS, help="whose test blocks are run first")
    run.add_argument("--tuned", type=names_of, default=TUNED, help="programs that are tuned")
    return parser.parse_args()


def options_of(asked: argparse.Namespace) -> Options:
    venv_, carry = (place and place.resolve() for place in (asked.venv, asked.carry))
    work = Path(tempfile.gettempdir()) / f"soac-gpu-check-{os.getuid()}"
    return Options(
        asked.out.resolve(), work, venv_, carry, time.monotonic() + asked.limit - PACKING, asked.workers, asked.random,
        asked.log_size, asked.most_seconds, asked.tune_seconds, asked.programs, asked.tuned,
    )  # fmt: skip


SHARES_ORDER = ("install", *(step for part in PARTS.values() for step in part))


def steps_of(text: str) -> list[str]:
    """A word that is no step is refused, not passed over."""
    steps = text.split(",")
    if unknown := [step for step in steps if step not in SHARES_ORDER]:
        raise argparse.ArgumentTypeError(f"no such step: {', '.join(unknown)}; there are {', '.join(SHARES_ORDER)}")
    return steps


def names_of(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := [name for name in names if not (ROOT / "programs" / f"{name}.soac").exists()]:
        raise argparse.ArgumentTypeError(f"no such program: {', '.join(unknown)}")
    return names


# ---- what is carried ---------------------------------------------------------------------------------------------


def unpack(options: Options) -> None:
    """Packages that this Python lacks, and compiled kernels; once for each state of what is carried."""
    if options.carry is None:
        return
    files = sorted([*options.carry.glob("*.whl"), *options.carry.glob("*.tar.xz")])
    state = hashlib.sha256(repr([(f.name, f.stat().st_size) for f in files]).encode()).hexdigest()
    mark = options.work / "unpacked"
    if mark.exists() and mark.read_text() == state:
        return
    for folder in ("site", "cache"):
        shutil.rmtree(options.work / folder, ignore_errors=True)
        (options.work / folder).mkdir(parents=True)
    for file in files:
        if file.suffix == ".whl":
            if not is_installed(file.name.split("-")[0]):
                with zipfile.ZipFile(file) as wheel:
                    wheel.extractall(options.work / "site")
        else:
            with tarfile.open(file) as archive:
                archive.extractall(options.work / "cache", filter="data")
    mark.write_text(state)


def is_installed(package: str) -> bool:
    try:
        importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def environment(options: Options) -> dict[str, str]:
    """Packages that are carried come last: what is there counts."""
    paths = [*filter(None, [os.environ.get("PYTHONPATH", "")]), str(ROOT), str(options.work / "site")]
    env = os.environ | {"SOAC_GPU": "1", "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "PYTHONPATH": os.pathsep.join(paths)}
    return env if options.carry is None else env | {"SOAC_CACHE_DIR": str(options.work / "cache")}


# ---- steps -------------------------------------------------------------------------------------------------------


def take(step: str, options: Options, seconds: float, file: Path) -> bool:
    """One step; its record goes into the results at once."""
    begin = time.monotonic()
    print(f"== {step}, {seconds:.0f} s at most", flush=True)
    try:
        record = WORK[step](options, begin + seconds)
    except (OSError, subprocess.SubprocessError, RuntimeError) as why:
        record = {"passed": False, "why": f"{type(why).__name__}: {why}"}
    record["seconds"] = round(time.monotonic() - begin, 1)
    results = json.loads(file.read_text()) if file.exists() else {"format": 2, "steps": {}}
    results["steps"][step] = record
    file.write_text(json.dumps(results, indent=1) + "\n")
    said = {name: value for name, value in record.items() if not isinstance(value, dict | list)}
    print(f"== {step}: {json.dumps(said)}", flush=True)
    return bool(record["passed"])


def logged(options: Options, name: str, command: list[str], end: float, more: dict[str, str] | None = None) -> int:
    """The exit code of a command run in the repository; its output goes to NAME.log. 124: its time was over, and it was
    ended with all processes that it had started."""
    with (options.logs / f"{name}.log").open("a") as log:
        print("$", *command, file=log, flush=True)
        running = subprocess.Popen(
            command, cwd=ROOT, env=environment(options) | (more or {}), stdout=log, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            return running.wait(max(1.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return 124
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()


def tail(options: Options, name: str, most: int = 2000) -> str:
    return (options.logs / f"{name}.log").read_text(errors="replace")[-most:]


def install(options: Options, end: float) -> dict[str, object]:
    """This tree of soac, and what it needs; what is installed already stays. PyCUDA is compiled."""
    assert options.venv is not None
    if not (options.venv / "bin" / "python").exists():
        venv.create(options.venv, with_pip=True)
    pip = [options.python, "-m", "pip", "install", "--quiet"]
    carried = sorted(options.carry.glob("pycuda-*.whl")) if options.carry else []
    wheels, build = options.work / "wheels", [options.python, str(ROOT / "scripts" / "gpu_carry.py"), "pycuda"]
    commands = [[*pip, "setuptools>=77", "wheel", "numpy", NVRTC]]
    commands += [] if carried else [[*build, str(wheels)]]
    commands += [[*pip, *map(str, carried or ["--find-links", str(wheels), "pycuda"])]]
    commands += [[*pip, "--no-build-isolation", "-e", f"{ROOT}[dev]"]]
    for command in commands:
        if (code := logged(options, "install", command, end)) != 0:
            return {"passed": False, "why": f"{' '.join(command[:6])} .. ended with {code}: {tail(options, 'install')}"}
    return {"passed": True}


def machine(options: Options, end: float) -> dict[str, object]:
    """Nothing of it is needed; it says what the numbers are of."""
    asked = "import importlib.metadata as m; print(*sorted(f'{d.name}=={d.version}' for d in m.distributions()))"
    for command in (["nvidia-smi"], ["nvcc", "--version"], ["lscpu"], [options.python, "-c", asked]):
        if shutil.which(command[0]):
            logged(options, "machine", command, end)
    return {"passed": True}


def doctor(options: Options, end: float) -> dict[str, object]:
    code = logged(options, "doctor", [options.python, "-m", "soac", "doctor"], end)
    text = tail(options, "doctor", 1 << 20)
    print(text, flush=True)
    return {"passed": code == 0 and "device cuda" in text and "not usable" not in text, "machine": text.splitlines()}


def pytest(options: Options, name: str, end: float, *words: str, workers: int | None = None) -> dict[str, object]:
    """What passed and what did not, by the log, in which each test is said as soon as it is done. What is skipped
    although there is a GPU (a library that is not installed) is listed."""
    number = str(options.workers if workers is None else workers)
    command = [options.python, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-n", number, "-m", "gpu", *words]
    code = logged(
        options,
        name,
        command,
        end,
        {"SOAC_GPU_RANDOM": str(options.random), "SOAC_GPU_LOG_SIZE": str(options.log_size - 2)},
    )
    found: dict[str, str] = {}
    for what, test, other, how in OUTCOME.findall(tail(options, name, 1 << 24)):
        found.setdefault(test or other, what or how)
    of = {how: sorted(test for test, what in found.items() if what == how) for how in set(found.values())}
    bad = [*of.get("FAILED", []), *of.get("ERROR", [])]
    counts = {"tests": len(found), "failed": len(bad), "skipped": len(of.get("SKIPPED", [])), "exit_code": code}
    done = {"passed": code in (0, 124) and bool(found) and not bad, "whole": code != 124}
    return {**done, **counts, "failures": bad, "left_out": of.get("SKIPPED", [])}


def device(options: Options, end: float) -> dict[str, object]:
    return pytest(options, "device", end, "tests/gpu/test_device.py", workers=0)


def blocks(options: Options, end: float) -> dict[str, object]:
    """A fault is looked at where it is: the sanitizer is put on a program that fails."""
    chosen = [f"tests/gpu/test_programs.py::test_blocks[{name}]" for name in options.programs]
    record = pytest(options, "blocks", end - (end - time.monotonic()) / 4, *chosen, workers=min(8, options.workers))
    failures = record["failures"]
    assert isinstance(failures, list)
    failed = [name for name in options.programs if any(f"[{name}]" in failure for failure in failures)]
    return {**record, **({"memcheck": watched(options, "memcheck", failed, end)} if failed else {})}


def tests(options: Options, end: float) -> dict[str, object]:
    chosen = "equals or random or blocks_of_any_size and (64 or 1024)"
    return pytest(options, "tests", end, "tests/gpu", "-k", chosen)


def sanitizer(options: Options, end: float) -> dict[str, object]:
    found: dict[str, object] = {}
    every = sorted(path.stem for path in (ROOT / "programs").glob("*.soac"))
    chosen = [*options.programs, *(name for name in every if name not in options.programs)]
    for k, tool in enumerate(TOOLS):
        here = time.monotonic() + (end - time.monotonic()) / (len(TOOLS) - k)
        found[tool] = watched(options, tool, chosen if options.programs == BLOCKS else list(options.programs), here)
    codes = [tool["exit_code"] for tool in found.values() if isinstance(tool, dict)]
    return {"passed": all(code in (0, 124) for code in codes), "whole": 124 not in codes, "tools": found}


def watched(options: Options, tool: str, programs: list[str], end: float) -> dict[str, object]:
    """The small cases of programs on every version under a tool; how many it has come to."""
    command = find_sanitizer()
    if command is None:
        return {"exit_code": -1, "why": "compute-sanitizer is not on this machine: it is part of the CUDA toolkit"}
    more = ["--leak-check", "no"] if tool == "memcheck" else []
    files = [f"programs/{name}.soac" for name in programs]
    sanitize = [options.python, "-m", "tests.support.gpu.sanitize", *files]
    name = f"sanitizer-{tool}"
    watching = [command, "--tool", tool, "--error-exitcode", "9", "--print-limit", "20", *more]
    code = logged(options, name, [*watching, *sanitize], end)
    done = re.findall(r"^(programs/\S+\.soac): ", tail(options, name, 1 << 24), re.M)
    return {"exit_code": code, "programs": len(done), "of": len(files)}


def find_sanitizer() -> str | None:
    named = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT") if os.environ.get(name)]
    roots = [*named, *sorted(Path("/usr/local").glob("cuda*"), reverse=True)]
    places = [str(root / folder) for root in roots for folder in ("bin", "compute-sanitizer")]
    return shutil.which("compute-sanitizer", path=os.pathsep.join([os.environ.get("PATH", ""), *places]))


def contests(options: Options, name: str, log_size: int, end: float, *words: str) -> dict[str, object]:
    """Rows are written as soon as they are there."""
    file = options.logs / f"{name}.json"
    sizes = ["--log-size", str(log_size), "--log-edge", str(max(4, log_size * 3 // 7))]
    effort = ["--most-seconds", str(options.most_seconds)]
    command = [options.python, "-m", "benchmarks.gpu", "--json", str(file), *sizes, *effort, *words]
    code = logged(options, name, command, end)
    found = written(file)
    return {"passed": code in (0, 124) and bool(found), "whole": code != 124, "exit_code": code, **found}


def written(file: Path) -> dict[str, object]:
    """What a step has written; nothing if it was ended before, or while it wrote."""
    try:
        return json.loads(file.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}


def short(options: Options, end: float) -> dict[str, object]:
    return contests(options, "short", options.log_size - 2, end, "--locvolcalib", "none")


def bench(options: Options, end: float) -> dict[str, object]:
    large = "small,medium,large" if options.log_size > 20 else "none"
    return contests(options, "bench", options.log_size, end, "--locvolcalib", large)


def profile(options: Options, end: float) -> dict[str, object]:
    """One launch of each kernel of the contests."""
    tool = shutil.which("ncu")
    if tool is None:
        return {"passed": True, "why": "Nsight Compute is not on this machine"}
    contest = [options.python, "-m", "benchmarks.gpu", "--json", str(options.logs / "profile.json"), "--no-peers"]
    sizes = ["--log-size", str(options.log_size - 2), "--log-edge", str(max(4, options.log_size * 3 // 7))]
    locvolcalib = ["--locvolcalib", "medium" if options.log_size > 20 else "none", "--most-seconds", "0.001"]
    each = ["--kernel-id", ":::1", "--clock-control", "none", "--csv", "--metrics", ",".join(COUNTED)]
    code = logged(options, "profile", [tool, *each, *contest, *sizes, *locvolcalib], end)
    return {"passed": code in (0, 124), "whole": code != 124, "exit_code": code}


def tune(options: Options, end: float) -> dict[str, object]:
    """Beside copies of the programs, so that the repository stays as it is; the tuning files are kept with the logs."""
    copies = options.logs / "programs"
    shutil.copytree(ROOT / "programs" / "lib", copies / "lib")
    codes: dict[str, int] = {}
    seconds: dict[str, object] = {}
    for k, name in enumerate(options.tuned):
        seconds_each = (end - time.monotonic()) / (len(options.tuned) - k)
        path = Path(shutil.copy(ROOT / "programs" / f"{name}.soac", copies))
        search = [options.python, "-m", "soac", "autotune", "--device", "cuda"]
        search += ["--timeout", str(int(options.tune_seconds)), str(path)]
        for which, share in (("untuned", 0.2), ("tune", 0.6), ("tuned", 0.2)):
            file, here = copies / f"{name}-{which}.json", time.monotonic() + share * seconds_each
            timing = [options.python, "-m", "soac", "bench", "--device", "cuda", "--json", str(file)]
            timing += ["--most-seconds", str(options.most_seconds), str(path)]
            codes[f"{name} {which}"] = logged(options, f"tune-{name}", search if which == "tune" else timing, here)
            if times := written(file):
                seconds[f"{name} {which}"] = times
    good = all(code in (0, 124) for code in codes.values()) and bool(seconds)
    return {"passed": good, "whole": 124 not in codes.values(), "exit_codes": codes, "seconds_of_runs": seconds}


WORK: dict[str, Callable[[Options, float], dict[str, object]]] = {
    "install": install, "machine": machine, "doctor": doctor, "device": device, "blocks": blocks, "short": short,
    "bench": bench, "profile": profile, "tests": tests, "sanitizer": sanitizer, "tune": tune,
}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
