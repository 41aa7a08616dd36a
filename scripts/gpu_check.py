"""Everything that needs a GPU, by one command: `python scripts/gpu_check.py run [--wheels DIR] [--steps ..]`.

    install     a virtual environment with soac, its tests, NVRTC and PyCUDA
    doctor      what this machine is, and what is missing
    tests       pytest -m gpu: every version of every program against the interpreter, and the device itself
    sanitizer   compute-sanitizer (memcheck, racecheck, synccheck, initcheck) over the programs on every version
    bench       benchmarks/gpu.py: against a copy of the device and against PyTorch, CuPy, JAX, Numba where installed
    programs    soac autotune and soac bench of every program of programs/

Each step writes its log to the output directory, and what it found to `gpu-check.json` there as soon as it is done, so
that a run that is cut off has not been for nothing; a later run with other `--steps` adds to it. Without a GPU nothing
but the installation can be done: the command says so, and ends with 3.

A machine without a network takes packages from `--wheels`. `python scripts/gpu_check.py collect DIR` on a machine that
has one puts them there: wheels of everything, and PyCUDA, of which there is only source, built. PyCUDA links to the
driver's library, which is not on every machine, and so is linked to the stand-in of the tests, whose name is the same.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
import venv
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
STEPS = ("install", "doctor", "tests", "sanitizer", "bench", "programs")
NVRTC = "nvidia-cuda-nvrtc>=13.0,<13.1"
HEADER_WHEELS = ("nvidia-cuda-runtime>=13.0,<13.1", "nvidia-cuda-profiler-api>=13.0,<13.1")
HEADERS = ("cuda.h", "cudaProfiler.h")
PYCUDA = "pycuda>=2024.1"
BUILD = ("setuptools>=77", "wheel", "numpy")


@dataclass(frozen=True)
class Options:
    """`out`: where logs and results go; `venv` None: this interpreter is used as it is."""

    out: Path
    venv: Path | None
    wheels: Path | None
    timeout: float
    random: int
    data: Path | None
    log_size: int

    @property
    def python(self) -> str:
        return sys.executable if self.venv is None else str(self.venv / "bin" / "python")


def main() -> int:
    asked = parse()
    if asked.command == "collect":
        collect(asked.wheels.resolve())
        return 0
    venv_, wheels, data = (place and place.resolve() for place in (asked.venv, asked.wheels, asked.data))
    options = Options(asked.out.resolve(), venv_, wheels, asked.timeout, asked.random, data, asked.log_size)
    steps = [step for step in STEPS if step in asked.steps and not (step == "install" and options.venv is None)]
    if steps != ["install"] and (why := no_gpu()) is not None:
        print(f"nothing is checked: {why}. `--steps install` installs what a check needs.")
        return 3
    options.out.mkdir(parents=True, exist_ok=True)
    passed = [take(step, options) for step in steps]
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
    run.add_argument("--venv", type=Path, help="made if it is not there; without it this Python is used as it is")
    run.add_argument("--wheels", type=Path, help="a directory that `collect` has filled: no network is used")
    run.add_argument("--steps", type=steps_of, default=list(STEPS), help=",".join(STEPS))
    run.add_argument("--timeout", type=float, default=1800.0, help="seconds of a step")
    run.add_argument("--random", type=int, default=1000, help="random programs")
    run.add_argument("--data", type=Path, help="the published data sets")
    run.add_argument("--log-size", type=int, default=28, help="elements of sums and scans, as a power of two")
    collecting = commands.add_parser("collect", help="fill a directory for machines without a network")
    collecting.add_argument("wheels", type=Path)
    return parser.parse_args()


def steps_of(text: str) -> list[str]:
    """A word that is no step is refused, not passed over."""
    steps = text.split(",")
    if unknown := [step for step in steps if step not in STEPS]:
        raise argparse.ArgumentTypeError(f"no such step: {', '.join(unknown)}; there are {', '.join(STEPS)}")
    return steps


# ---- steps -------------------------------------------------------------------------------------------------------


def take(step: str, options: Options) -> bool:
    """One step; its record goes into the results."""
    begin = time.monotonic()
    print(f"== {step}", flush=True)
    try:
        record = WORK[step](options)
    except (OSError, subprocess.SubprocessError, RuntimeError) as why:
        record = {"passed": False, "why": f"{type(why).__name__}: {why}"}
    record["seconds"] = round(time.monotonic() - begin, 1)
    file = options.out / "gpu-check.json"
    results = json.loads(file.read_text()) if file.exists() else {"format": 1, "steps": {}}
    results["steps"][step] = record
    file.write_text(json.dumps(results, indent=1) + "\n")
    said = {name: value for name, value in record.items() if not isinstance(value, dict | list)}
    print(f"== {step}: {json.dumps(said)}", flush=True)
    return bool(record["passed"])


def install(options: Options) -> dict[str, object]:
    """soac as it lies here, and what it needs; what is installed already stays."""
    assert options.venv is not None
    if not (options.venv / "bin" / "python").exists():
        venv.create(options.venv, with_pip=True)
    pip = [options.python, "-m", "pip", "install", "--quiet"]
    source = ["--no-index", "--find-links", str(options.wheels)] if options.wheels else []
    logged(options, "install", [*pip, *source, *BUILD, NVRTC])
    if logged(options, "pycuda", [options.python, "-c", "import pycuda"], must=False) != 0:
        if options.wheels is None or not any(options.wheels.glob("pycuda-*.whl")):
            build_pycuda(options.python, options.wheels, options.out / "pycuda", options.out / "pycuda-wheel")
            source += ["--find-links", str(options.out / "pycuda-wheel")]
        logged(options, "install", [*pip, *source, "pycuda"])
    logged(options, "install", [*pip, *source, "--no-build-isolation", "-e", f"{ROOT}[dev]"])
    return {"passed": True}


def doctor(options: Options) -> dict[str, object]:
    log = fresh(options, "doctor.log")
    code = logged(options, "doctor", [options.python, "-m", "soac", "doctor"], must=False)
    text = log.read_text()
    print(text, flush=True)
    return {"passed": code == 0 and "device cuda" in text and "not usable" not in text, "machine": text.splitlines()}


def tests(options: Options) -> dict[str, object]:
    """What is skipped although there is a GPU (a library that is not installed) is listed."""
    report = fresh(options, "tests.xml")
    command = [options.python, "-m", "pytest", "-q", "-n", "0", "-m", "gpu", "tests/gpu", f"--junitxml={report}"]
    code = logged(options, "tests", command, must=False, more={"SOAC_GPU_RANDOM": str(options.random)})
    if not report.exists():
        return {"passed": False, "why": f"no report, the exit code is {code}: see tests.log"}
    cases = list(xml.parse(report).getroot().iter("testcase"))
    failed = [name_of(case) for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = [name_of(case) for case in cases if case.find("skipped") is not None]
    counts = {"tests": len(cases), "failed": len(failed), "skipped": len(skipped)}
    return {"passed": bool(cases) and not failed, **counts, "failures": failed, "left_out": skipped}


def name_of(case: xml.Element) -> str:
    why = next((child.get("message", "") for child in case), "")
    return f"{case.get('classname')}.{case.get('name')}: {why[:300]}"


def sanitizer(options: Options) -> dict[str, object]:
    tool = find_sanitizer(options)
    if tool is None:
        return {"passed": False, "why": "compute-sanitizer is not on this machine: it is part of the CUDA toolkit"}
    programs = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "programs").glob("*.soac"))
    found: dict[str, int] = {}
    for name in TOOLS:
        watched = [tool, "--tool", name, "--error-exitcode", "9", "--print-limit", "20"]
        more = ["--leak-check", "no"] if name == "memcheck" else []
        command = [*watched, *more, options.python, "-m", "tests.gpu.sanitize", *programs]
        found[name] = logged(options, f"sanitizer-{name}", command, must=False)
    return {"passed": not any(found.values()), "exit_codes": found, "programs": len(programs)}


def find_sanitizer(options: Options) -> str | None:
    places = [Path(cuda, "bin") for cuda in cuda_roots()] + [Path(cuda, "compute-sanitizer") for cuda in cuda_roots()]
    path = os.pathsep.join([os.environ.get("PATH", ""), *map(str, places)])
    return shutil.which("compute-sanitizer", path=path)


def bench(options: Options) -> dict[str, object]:
    file = fresh(options, "bench.json")
    data = ["--data", str(options.data)] if options.data else []
    command = [options.python, "-m", "benchmarks.gpu", "--json", str(file), "--log-size", str(options.log_size), *data]
    code = logged(options, "bench", command, must=False)
    return {"passed": code == 0, **(json.loads(file.read_text()) if file.exists() else {})}


def programs(options: Options) -> dict[str, object]:
    """Thresholds are tuned beside copies of the programs, so that the repository stays as it is."""
    copies = options.out / "programs"
    shutil.copytree(ROOT / "programs", copies, dirs_exist_ok=True)
    codes: dict[str, int] = {}
    for path in sorted(copies.glob("*.soac")):
        tuning = [options.python, "-m", "soac", "autotune", "--device", "cuda", str(path)]
        codes[f"autotune {path.stem}"] = logged(options, f"autotune-{path.stem}", tuning, must=False)
    file = fresh(options, "programs.json")
    measuring = [options.python, "-m", "soac", "bench", "--device", "cuda", "--json", str(file), str(copies)]
    codes["bench"] = logged(options, "programs", measuring, must=False)
    return {"passed": codes["bench"] == 0, "exit_codes": codes,
            "seconds_of_runs": json.loads(file.read_text()) if file.exists() else {}}  # fmt: skip


WORK: dict[str, Callable[[Options], dict[str, object]]] = {
    "install": install, "doctor": doctor, "tests": tests, "sanitizer": sanitizer, "bench": bench, "programs": programs,
}  # fmt: skip


def fresh(options: Options, name: str) -> Path:
    """A file that a step is to write; that of an earlier run goes, which would pass for it."""
    (options.out / name).unlink(missing_ok=True)
    return options.out / name


def logged(
    options: Options, name: str, command: list[str], must: bool = True, more: dict[str, str] | None = None
) -> int:
    """The exit code of a command run in the repository; its output goes to NAME.log. 124: it took too long."""
    env = os.environ | {"SOAC_GPU": "1", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"} | (more or {})
    with (options.out / f"{name}.log").open("a") as log:
        try:
            code = subprocess.run(
                command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT, timeout=options.timeout
            ).returncode
        except subprocess.TimeoutExpired:
            code = 124
    if must and code != 0:
        tail = (options.out / f"{name}.log").read_text(errors="replace")[-2000:]
        raise RuntimeError(f"{' '.join(command[:6])} .. ended with {code}: {tail}")
    return code


# ---- PyCUDA ------------------------------------------------------------------------------------------------------


def build_pycuda(python: str, wheels: Path | None, work: Path, target: Path) -> None:
    """A wheel of PyCUDA in `target`, from its source, which lies in `wheels` or is downloaded.

    Its build ignores CUDA_ROOT of the environment and guesses from where nvcc is found, so that all of it is said in
    `siteconf.py`. An empty library to link to would leave it without a reference to the driver's."""
    work.mkdir(parents=True, exist_ok=True)
    archive = next(iter(sorted((wheels or work).glob("pycuda-*.tar.gz"))), None)
    if archive is None:
        command = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", PYCUDA]
        subprocess.run([*command, "--no-build-isolation", "-d", str(work)], check=True)
        archive = next(iter(sorted(work.glob("pycuda-*.tar.gz"))))
    with tarfile.open(archive) as packed:
        packed.extractall(work, filter="data")
    source = work / archive.name.removesuffix(".tar.gz")
    (source / "siteconf.py").write_text(
        f"CUDA_ROOT = {str(cuda_headers(python))!r}\n"
        "CUDA_ENABLE_CURAND = False\n"
        f"CUDADRV_LIB_DIR = [{str(stand_in(work))!r}]\n"
    )
    build = [python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(target)]
    subprocess.run([*build, str(source)], check=True)


def stand_in(work: Path) -> Path:
    """A directory with `libcuda.so` to link to: every function that PyCUDA calls, under the name of the real one."""
    folder = work / "libcuda"
    folder.mkdir(exist_ok=True)
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise RuntimeError("PyCUDA is compiled: install g++ or clang++")
    source, library = ROOT / "tests" / "emulator" / "libcuda.cpp", folder / "libcuda.so"
    flags = ["-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    subprocess.run([compiler, *flags, "-o", str(library), str(source), "-ldl"], check=True)
    return folder


def cuda_headers(python: str) -> Path:
    """Where `include` with CUDA's headers is: a toolkit, or wheels of the environment that builds."""
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]
    site = Path(subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip())
    for root in (*cuda_roots(), *sorted(site.glob("nvidia/cu[0-9]*"))):
        if all((root / "include" / header).exists() for header in HEADERS):
            return root
    wheels = " ".join(f"'{wheel}'" for wheel in HEADER_WHEELS)
    raise RuntimeError(f"{' and '.join(HEADERS)} are nowhere: install the CUDA toolkit, or pip install {wheels}")


def cuda_roots() -> Iterable[Path]:
    named = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT") if os.environ.get(name)]
    return [*named, *sorted(Path("/usr/local").glob("cuda*"), reverse=True)]


def collect(wheels: Path) -> None:
    """Everything that `install` needs, for this machine's Python and kind of system."""
    wheels.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip"]
    needed = [*BUILD, NVRTC, "pytools", "mako", "platformdirs", "pip"]
    subprocess.run([*pip, "download", "--quiet", "-d", str(wheels), *needed, f"{ROOT}[dev]"], check=True)
    work = wheels / "work"
    builder = work / "python"
    venv.create(builder, with_pip=True)
    python = str(builder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *BUILD, *HEADER_WHEELS], check=True)
    build_pycuda(python, None, work / "pycuda", wheels)
    shutil.rmtree(work)
    print(f"{len(list(wheels.iterdir()))} packages for Python {sysconfig.get_python_version()} in {wheels}")


if __name__ == "__main__":
    sys.exit(main())
