"""What `gpu_check.py` takes along to a machine without a network, and a rehearsal of it on one without a GPU.

    collect DIR [--python PYTHON]     packages for that Python, PyCUDA built, and kernels compiled for sm_90
    rehearse DIR [--python PYTHON]    a layout as on that machine, with a stand-in for the driver: all parts are run,
                                      with the options of `gpu_check.py run` that stand behind `--`
    pycuda DIR [--python PYTHON]      PyCUDA alone, built for that Python

The machine is taken to have what comes with PyTorch, CuPy, JAX and Numba there: NumPy, llvmlite, NVRTC, pytest,
pytest-xdist and hypothesis are not carried. Of PyCUDA there is only source. It links to the driver's library, which is
not on every machine, and so is linked to the stand-in of the tests, whose name is the same. What is collected has to
fit `--most-mib`.

A rehearsal copies the repository into a folder of its own, with a Python that has what the machine has, puts stand-ins
for nvidia-smi, compute-sanitizer and ncu on the path, emulates kernels, takes away the network where it may, and ends
with 1 unless each part has ended within its limit, has left few files, and found nothing wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYCUDA = "pycuda>=2024.1"
BUILD = ("setuptools>=77", "wheel", "numpy")
HEADER_WHEELS = ("nvidia-cuda-runtime>=13.0,<13.1", "nvidia-cuda-profiler-api>=13.0,<13.1")
HEADERS = ("cuda.h", "cudaProfiler.h")
PACKAGES = (
    "lark", "click", "rich", "markdown-it-py", "mdurl", "pygments", "platformdirs", "mpmath",
    "optuna", "sqlalchemy", "greenlet", "alembic", "mako", "markupsafe", "colorlog", "tqdm", "pyyaml", "packaging",
    "typing-extensions", "pytools", "siphash24",
)  # fmt: skip
"""What soac, Optuna and PyCUDA import, but for what the machine has."""
THERE = ("numpy", "llvmlite", "pytest", "pytest-xdist", "hypothesis", "nvidia-cuda-nvrtc>=13.0,<13.1")
MOST_FILES, MOST_FILE_MIB = 8, 16
"""Files that a part may leave, and how large one may be."""


def main() -> int:
    asked = parse()
    folder = asked.folder.resolve()
    match asked.command:
        case "pycuda":
            pycuda(asked.python, folder)
            return 0
        case "collect":
            return collect(folder, asked.python, asked.most_mib, asked.programs)
        case _:
            return rehearse(folder, asked)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("collect", "rehearse", "pycuda"):
        command = commands.add_parser(name)
        command.add_argument("folder", type=Path)
        command.add_argument("--python", default=sys.executable, help="of the version that the machine has")
        if name == "collect":
            command.add_argument("--most-mib", type=float, default=60.0, help="that may be carried")
            command.add_argument("--programs", type=lambda text: text.split(","), help="whose kernels are compiled")
        if name == "rehearse":
            command.add_argument("--out", type=Path, default=Path("gpu-rehearsal"))
            command.add_argument("--limit", type=float, default=540.0, help="seconds of a part")
            command.add_argument("--parts", default="1,2,3,4")
            command.add_argument("--as-it-is", action="store_true", help="with the packages of that Python")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    return parser.parse_args(sys.argv[1:end], argparse.Namespace(words=sys.argv[end + 1 :]))


# ---- what is carried ---------------------------------------------------------------------------------------------


def collect(folder: Path, python: str, most_mib: float, programs: list[str] | None) -> int:
    """Exit code 1 if it is more than may be carried."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", str(folder)]
    subprocess.run([*pip, *PACKAGES], check=True)
    if not any(folder.glob("pycuda-*.whl")):
        pycuda(python, folder)
    compiled_kernels(folder / "kernels.tar.xz", programs)
    files = sorted(folder.iterdir(), key=lambda file: -file.stat().st_size)
    for file in files:
        print(f"{file.stat().st_size / 2**20:7.2f} MiB  {file.name}")
    whole = sum(file.stat().st_size for file in files) / 2**20
    print(f"{whole:7.2f} MiB, {len(files)} files, of {most_mib:g} MiB")
    return int(whole > most_mib)


def compiled_kernels(target: Path, programs: list[str] | None) -> None:
    """A cache with the kernels of programs, of the contests and of bulk operations, as a machine with sm_90 asks for
    them: those of the version of NVRTC that is here."""
    with tempfile.TemporaryDirectory() as cache:
        names = programs or sorted(path.stem for path in (ROOT / "programs").glob("*.soac"))
        env = os.environ | {"SOAC_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)}
        begin = time.monotonic()
        subprocess.run([sys.executable, "-m", "tests.support.gpu.fill", *names], cwd=ROOT, env=env, check=True)
        with tarfile.open(target, "w:xz") as archive:
            for path in sorted(Path(cache).iterdir()):
                archive.add(path, path.name)
        print(f"kernels of {len(names)} programs in {time.monotonic() - begin:.0f} s", flush=True)


# ---- PyCUDA ------------------------------------------------------------------------------------------------------


def pycuda(python: str, target: Path) -> None:
    """A wheel for that Python, without what only debuggers read."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        venv_python = made_venv(python, work / "python", (*BUILD, *(() if toolkit() else HEADER_WHEELS)))
        build_pycuda(venv_python, work, target)


def made_venv(python: str, folder: Path, packages: Iterable[str]) -> str:
    """The Python of a new virtual environment with these packages."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    made = str(folder / "bin" / "python")
    subprocess.run([made, "-m", "pip", "install", "--quiet", *packages], check=True)
    return made


def build_pycuda(python: str, work: Path, target: Path) -> None:
    """Its build ignores CUDA_ROOT of the environment and guesses from where nvcc is found, so that all of it is said in
    `siteconf.py`. An empty library to link to would leave it without a reference to the driver's."""
    command = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", PYCUDA]
    subprocess.run([*command, "--no-build-isolation", "-d", str(work)], check=True)
    archive = next(iter(sorted(work.glob("pycuda-*.tar.gz"))))
    with tarfile.open(archive) as packed:
        packed.extractall(work, filter="data")
    source = work / archive.name.removesuffix(".tar.gz")
    (source / "siteconf.py").write_text(
        f"CUDA_ROOT = {str(cuda_headers(python))!r}\n"
        "CUDA_ENABLE_CURAND = False\n"
        f"CUDADRV_LIB_DIR = [{str(stand_in(work / 'libcuda', 'libcuda.so'))!r}]\n"
    )
    build = [python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(target)]
    flags = {"CFLAGS": "-g0", "CXXFLAGS": "-g0", "LDFLAGS": "-Wl,-s"}
    subprocess.run([*build, str(source)], env=os.environ | flags, check=True)


def stand_in(folder: Path, name: str) -> Path:
    """A directory with a stand-in for the driver's library: every function that PyCUDA calls."""
    folder.mkdir(parents=True, exist_ok=True)
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise RuntimeError("install g++ or clang++")
    source = ROOT / "tests" / "support" / "emulator" / "libcuda.cpp"
    flags = ["-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    subprocess.run([compiler, *flags, "-o", str(folder / name), str(source), "-ldl"], check=True)
    return folder


def cuda_headers(python: str) -> Path:
    """Where `include` with CUDA's headers is: a toolkit, or wheels of the environment that builds."""
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]
    site = Path(subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip())
    roots = [root for root in [toolkit()] if root is not None]
    for root in (*roots, *sorted(site.glob("nvidia/cu[0-9]*"))):
        if has_headers(root):
            return root
    wheels = " ".join(f"'{wheel}'" for wheel in HEADER_WHEELS)
    raise RuntimeError(f"{' and '.join(HEADERS)} are nowhere: install the CUDA toolkit, or pip install {wheels}")


def has_headers(root: Path) -> bool:
    return all((root / "include" / header).exists() for header in HEADERS)


def toolkit() -> Path | None:
    """A CUDA toolkit with headers."""
    named = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT") if os.environ.get(name)]
    roots = [*named, *sorted(Path("/usr/local").glob("cuda*"), reverse=True)]
    return next((root for root in roots if has_headers(root)), None)


# ---- a rehearsal -------------------------------------------------------------------------------------------------


def rehearse(carry: Path, asked: argparse.Namespace) -> int:
    """Each part as on the machine; a table of what they took and left."""
    out = asked.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        layout = Path(folder)
        python, env = laid_out(layout, asked.python, asked.as_it_is)
        shutil.copytree(carry, layout / "repo" / "carry")
        faults = [rehearsed(part, layout, python, env, out, asked) for part in asked.parts.split(",")]
    for fault in filter(None, faults):
        print(f"WRONG: {fault}")
    return int(any(faults))


def laid_out(layout: Path, python: str, as_it_is: bool) -> tuple[str, dict[str, str]]:
    """The repository as it is carried, a Python, tools and the driver's library; the environment of commands."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    for name in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
        if name and os.path.lexists(ROOT / name):
            (layout / "repo" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, layout / "repo" / name, follow_symlinks=False)
    stand_in(layout / "lib", "libcuda.so.1")
    made = python if as_it_is else made_venv(python, layout / "python", THERE)
    (layout / "site").mkdir()
    shutil.copy(ROOT / "tests" / "support" / "emulator" / "as_gpu.py", layout / "site" / "sitecustomize.py")
    (layout / "bin").mkdir()
    for tool, text in TOOLS.items():
        (layout / "bin" / tool).write_text(f"#!/bin/sh\n{text}\n")
        (layout / "bin" / tool).chmod(0o755)
    (layout / "tmp").mkdir()
    path = os.pathsep.join([str(layout / "bin"), str(Path(made).parent), "/usr/local/bin", "/usr/bin", "/bin"])
    env = {"PATH": path, "HOME": str(layout / "tmp"), "TMPDIR": str(layout / "tmp"), "PIP_NO_INDEX": "1",
           "LD_LIBRARY_PATH": str(layout / "lib"), "PYTHONPATH": str(layout / "site"), "LANG": "C.UTF-8",
           "STAND_IN_MIB": "2048"}  # fmt: skip
    return made, env


TOOLS = {
    "nvidia-smi": "echo stand-in",
    "compute-sanitizer": 'while [ "$1" != "${1#--}" ]; do case $1 in --*) shift 2;; esac; done; exec "$@"',
    "ncu": 'while :; do case $1 in --csv) shift;; --*) shift 2;; *) exec "$@";; esac; done',
}
"""Stand-ins: they run what they are to watch."""


def rehearsed(
    part: str, layout: Path, python: str, env: dict[str, str], out: Path, asked: argparse.Namespace
) -> str | None:
    """What is wrong with a part: too slow, too much, or a step that has not passed."""
    mine, begin = out / f"out-{part}", time.monotonic()
    command = [python, "scripts/gpu_check.py", "run", "--part", part, "--out", str(mine), "--carry", "carry"]
    done = subprocess.run(
        [*without_network(), *command, "--limit", str(asked.limit), *asked.words], cwd=layout / "repo", env=env,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    seconds = time.monotonic() - begin
    print(done.stdout, end="")
    files = sorted(mine.rglob("*")) if mine.exists() else []
    sizes = {file.name: file.stat().st_size / 2**20 for file in files}
    print(f"-- part {part}: {seconds:.0f} s of {asked.limit:g}, exit code {done.returncode}, "
          f"{', '.join(f'{name} {size:.3f} MiB' for name, size in sizes.items())}", flush=True)  # fmt: skip
    results = mine / f"part-{part}.json"
    if not results.exists():
        return f"part {part} has left no results"
    steps = json.loads(results.read_text())["steps"]
    bad = [step for step, record in steps.items() if not record["passed"]]
    if bad or done.returncode != 0:
        return f"part {part} ended with {done.returncode}: {', '.join(bad)}"
    if seconds > asked.limit:
        return f"part {part} took {seconds:.0f} s of {asked.limit:g}"
    if len(files) > MOST_FILES or max(sizes.values()) > MOST_FILE_MIB:
        return f"part {part} has left {len(files)} files of up to {max(sizes.values()):.1f} MiB"
    return None


def without_network() -> list[str]:
    """What a command starts with that is to have no network; nothing where that is not allowed."""
    tried = ["unshare", "--net", "--map-root-user"]
    allowed = shutil.which("unshare") and subprocess.run([*tried, "true"], capture_output=True).returncode == 0
    return tried if allowed else []


if __name__ == "__main__":
    sys.exit(main())
