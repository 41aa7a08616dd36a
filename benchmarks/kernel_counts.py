"""`python -m benchmarks.kernel_counts`: what the kernels of a GPU execute in their inner loops, known without one.

Of each kernel NVRTC's PTX and cubin for sm_90 are read: the instructions of the loop that does most of its work (the
innermost one that loads or multiplies and adds most, the shortest of several; the whole kernel where no loop does a
third), its loads of global memory by their bits, registers, shared memory, bytes spilt, and the warps that a
multiprocessor of an H100 holds, of 64. Machine code is read where `nvdisasm` is (a toolkit's, or the wheel
`nvidia-cuda-nvdisasm`), else PTX.

    WORD ..             cases with these words in their names
    --pipelines 8x2     products with steps of 8 elements, 2 of them in shared memory: to be compared with the default
                        (on tensor cores steps are multiples of 16 elements, half as many of f32; 16x1 is the product
                        without asynchronous copies)
    --json FILE         all counts as data, of PTX too
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest import mock

from soac.ir.machine import CUDA
from soac.kernels.cuda_c.module import CudaKernel, cuda_kernel, cuda_module
from soac.kernels.devices.cuda.nvrtc import compile_cuda, resources
from soac.kernels.devices.cuda.ptxas_report import Resources
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.kernels.schedule.cuda import tensor_steps, tile_block
from soac.pipeline import compile_prog

from .gpu import MATMUL, ROOT, ROWS, SCAN, SUM
from .predictions import ARCH, warps_of

DOT = "def main [n] (xs: [n]f32) (ys: [n]f32): f32 = reduce (+) 0 (map2 (*) xs ys)"
FILTER = "def main [n] (xs: [n]f32): []f32 = filter (> 0) xs"
ROW_SCANS = "def main [n][m] (xss: [n][m]f32): [n][m]f32 = map (scan (+) 0) xss"

TENSOR = """def main [n][m][p] (xss: [n][p]T) (yss: SHAPE): [n][m]f32 =
  map (\\xs -> map (\\ys -> #[tensor] f32.sum (map2 (\\x y -> f32.T x * f32.T y) xs ys)) YSS) xss"""
ACROSS = TENSOR.replace("SHAPE", "[p][m]T").replace("YSS", "(transpose yss)")
ALONG = TENSOR.replace("SHAPE", "[m][p]T").replace("YSS", "yss")


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel: of which program (a text, or the name of one of `programs/`); its name, or what its head says."""

    name: str
    source: str
    says: str


CASES = (
    Case("sum", SUM, "a block for each chunk"),
    Case("dot product", DOT, "a block for each chunk"),
    Case("row sums, blocks", ROWS, "a block for each chunk"),
    Case("row sums, teams", ROWS, "a team of threads"),
    Case("scan", SCAN, "a block for each tile of a segment"),
    Case("offsets of a filter", FILTER, "a block for each tile of a segment"),
    Case("row scans", ROW_SCANS, "a block for several whole segments"),
    Case("product f32", MATMUL, "8 x 8 results"),
    Case("product f64", MATMUL.replace("f32", "f64"), "8 x 8 results"),
    Case("tensor f16", ACROSS.replace("T", "f16"), "4 x 4 sums"),
    Case("tensor bf16", ALONG.replace("T", "bf16"), "4 x 4 sums"),
    Case("tensor tf32", ACROSS.replace("f32.T ", "").replace("T", "f32"), "4 x 4 sums"),
    Case("softmax, rows in registers", "softmax", "softmax_ys_3"),
    Case("layernorm, rows in registers", "softmax", "layernorm_ys_14"),
    Case("nbody", "nbody", "main_red_3"),
    Case("nbody, tiles", "nbody", "main_step_1"),
    Case("histogram, counts", "histogram", "counts_dest_0"),
    Case("histogram, sums", "histogram", "sums_dest_2"),
    Case("mandelbrot", "mandelbrot", "main_ys_0"),
)


@dataclass(frozen=True, slots=True)
class Loop:
    """Of the loop that counts, or a kernel without one: its instructions, the loads of global memory by their bits,
    and all operations."""

    instructions: int
    loads: dict[int, int]
    operations: dict[str, int]


@dataclass(frozen=True, slots=True)
class Counted:
    case: str
    kernel: str
    ptx: Loop
    sass: Loop | None
    use: Resources
    warps: int


# ---- texts ---------------------------------------------------------------------------------------------------------


def nvdisasm() -> str | None:
    """The disassembler, if there is one."""
    wheels = (path for place in sys.path for path in Path(place or ".").glob("nvidia/*/bin/nvdisasm"))
    return shutil.which("nvdisasm") or next(map(str, wheels), None)


def sass_of(cubin: bytes) -> str | None:
    """The machine code as text."""
    program = nvdisasm()
    if program is None:
        return None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return subprocess.run([program, "-c", file.name], capture_output=True, text=True, check=True).stdout


def functions(text: str) -> dict[str, list[str]]:
    """The lines of each kernel, of PTX or of machine code."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^(?=\.visible \.entry |\.text\.|\s*\.section\s+\.text\.)", text, flags=re.MULTILINE):
        head = re.match(r"\.visible \.entry (\w+)|\.text\.(\w+):|\s*\.section\s+\.text\.(\w+)", part)
        if head is not None:
            found[next(filter(None, head.groups()))] = part.splitlines()
    return found


LABEL = re.compile(r"^\s*\.?(\$?\w*L_+\w+):|^\.(L_x_\d+):")
TARGET = re.compile(r"\bbra(?:\.uni)?\s+(\$\w+)|\bBRA\b.*?`\(\.(L_x_\d+)\)")
OPERATION = re.compile(r"^\s+(?:/\*[0-9a-f]+\*/)?\s*(?:\{\s*)?(?:@!?\S+\s+)?([A-Za-z][\w.:]*)[^:]*;")


def lines_of(text: list[str]) -> list[tuple[str, str | None, str | None]]:
    """Of each line its label, the label that it branches to, its operation: '' where it has none."""
    found: list[tuple[str, str | None, str | None]] = []
    for line in text:
        label, target, operation = LABEL.match(line), TARGET.search(line), OPERATION.match(line)
        found.append(
            (
                operation[1] if operation and not operation[1].startswith(".") else "",
                next(filter(None, label.groups())) if label else None,
                next(filter(None, target.groups())) if target else None,
            )
        )
    return found


def loops(lines: Sequence[tuple[str, str | None, str | None]]) -> Iterator[tuple[int, int]]:
    """The innermost loops: from a label to the last branch back to it, with none inside."""
    labels = {label: k for k, (_, label, _) in enumerate(lines) if label is not None}
    ends: dict[int, int] = {}
    for k, (_, _, target) in enumerate(lines):
        if target in labels and labels[target] < k:
            ends[labels[target]] = k
    spans = sorted(ends.items())
    for begin, end in spans:
        if not any(begin < b and e <= end for b, e in spans if (b, e) != (begin, end)):
            yield begin, end


def counted(text: list[str]) -> Loop:
    """Of the loop with most work, which has no barriers, or else of the whole kernel."""
    lines = lines_of(text)
    spans = [(b, e) for b, e in loops(lines) if lines[b : e + 1]]
    found = (tally([op for op, _, _ in lines[b : e + 1] if op]) for b, e in spans)
    best = max(found, key=lambda loop: (work(loop), -loop.instructions), default=None)
    whole = tally([op for op, _, _ in lines if op])
    return best if best is not None and 3 * work(best) > work(whole) else whole


def work(loop: Loop) -> int:
    """Words loaded, and multiply-adds, four for an instruction of tensor cores."""
    words = sum(bits * n // 32 for bits, n in loop.loads.items())
    scalars = sum(n for op, n in loop.operations.items() if op.startswith(("FFMA", "DFMA", "fma")))
    return words + scalars + 4 * sum(n for op, n in loop.operations.items() if op.startswith(("HMMA", "mma.sync")))


def tally(operations: list[str]) -> Loop:
    loads: Counter[int] = Counter()
    for op in operations:
        if op.startswith(("LDG.", "ld.global", "ld.relaxed", "LD.E", "LDGSTS", "cp.async.ca", "cp.async.cg")):
            loads[width(op)] += 1
    return Loop(len(operations), dict(sorted(loads.items())), dict(Counter(operations).most_common()))


def width(op: str) -> int:
    """Bits of a load."""
    if op.startswith("cp.async"):
        return 128 if ".cg." in op else 32
    lanes, each = re.search(r"\.v(\d)", op), re.search(r"\.[bfsu](\d+)", op)
    if op.startswith("LD"):
        each = re.search(r"\.[US]?(\d+)(?=\.|$)", op)
    return (int(lanes[1]) if lanes else 1) * (int(each[1]) if each else 32)


# ---- kernels -------------------------------------------------------------------------------------------------------


def texts_of(source: str) -> dict[str, CudaKernel]:
    path = ROOT / "programs" / f"{source}.soac"
    text = source if " " in source else path.read_text(encoding="utf-8")
    compiled = compile_prog(text, "case" if " " in source else str(path), machine=CUDA)
    return {kernel.name: cuda_kernel(kernel) for kernel in all_ready(compiled.host.kernels, CUDA_PASSES)}


def kernels_of(cases: Sequence[Case]) -> Iterator[Counted]:
    """The kernels of each case."""
    for case in cases:
        texts = texts_of(case.source)
        module = cuda_module(texts.values())
        ptx = functions(compile_cuda(module, "compute_90").decode())
        machine = sass_of(compile_cuda(module, ARCH))
        sass, use = functions(machine) if machine is not None else {}, resources(module, ARCH)
        for name, kernel in texts.items():
            if case.says == name or (" " in case.says and case.says in kernel.text):
                of_sass = counted(sass[name]) if name in sass else None
                threads = kernel.threads * kernel.together
                warps = warps_of(use[name], threads)
                yield Counted(case.name, name, counted(ptx[name]), of_sass, use[name], warps)


def row(one: Counted) -> str:
    loop = one.sass or one.ptx
    loads = " + ".join(f"{n} x {bits}" for bits, n in loop.loads.items()) or "none"
    fma = sum(n for op, n in loop.operations.items() if op.startswith(("FFMA", "DFMA", "fma.")))
    spills = one.use.spill_stores + one.use.spill_loads
    share = f"{fma / loop.instructions:.0%} multiply-adds" if fma > 8 else ""
    return (
        f"{one.case:<20} {one.kernel:<18} {loop.instructions:>6}  {loads:<24} {one.use.registers:>4} registers"
        f" {one.use.shared:>6} B shared {spills:>4} B spilt {one.warps:>3} warps  {share}"
    )


def pipeline(text: str) -> tuple[int, int]:
    """`8x2`"""
    depth, stages = map(int, text.split("x"))
    return depth, stages


@contextmanager
def with_pipelines(asked: Sequence[tuple[int, int]]) -> Iterator[None]:
    """Products with the first of these steps and stages that they can have; with their own where they can have none."""
    plain = tuple(one for one in asked if one[1] > 1) or tile_block.PIPELINES
    tensor = tuple(one for one in asked if one[0] % 16 == 0) or tensor_steps.PIPELINES
    with mock.patch.object(tile_block, "PIPELINES", plain), mock.patch.object(tensor_steps, "PIPELINES", tensor):
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--pipelines", type=pipeline, nargs="+", default=())
    parser.add_argument("word", nargs="*")
    asked = parser.parse_args()
    cases = [case for case in CASES if not asked.word or any(word in case.name for word in asked.word)]
    found: list[Counted] = []
    with with_pipelines(asked.pipelines):
        for one in kernels_of(cases):
            found.append(one)
            print(row(one), flush=True)
    if asked.json is not None:
        asked.json.write_text(json.dumps([asdict(one) for one in found], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
