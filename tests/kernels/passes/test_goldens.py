"""Golden pairs of passes over kernel IR: `golden/<pass>/<what>.kir` holds a kernel, `=>`, and the kernel after the
pass, or `=> the same`. `pytest --update` writes what comes out (read the diff)."""

from __future__ import annotations

from pathlib import Path

import pytest

from soac.ir.machine import CPU, CUDA
from soac.kernels.analysis.check_collectives import check_kernels
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.kernel_ir.show import show_kernel
from soac.pipeline import KERNEL_PASSES

GOLDEN = Path(__file__).parent / "golden"
PAIRS = sorted(GOLDEN.glob("*/*.kir"))
PASSES = {name: (run, machine) for machine in (CPU, CUDA) for name, run in KERNEL_PASSES[machine.name]}
ALWAYS = {"choose-lanes"}
"""Passes that have something to do for every kernel."""
SAME = "=> the same"


@pytest.mark.quick
@pytest.mark.parametrize("path", PAIRS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_pass(path: Path, update: bool) -> None:
    run, machine = PASSES[path.parent.name]
    text = path.read_text(encoding="utf-8")
    before, _, after = text.partition("\n=>")
    given = parse_kernel(before)
    check_kernels((given,), machine)
    made = run(given)
    check_kernels((made,), machine)
    found = f"{show_kernel(given)}\n\n" + (SAME if made == given else f"=>\n\n{show_kernel(made)}") + "\n"
    if update:
        path.write_text(found, encoding="utf-8")
    else:
        assert found == text
    assert after


@pytest.mark.parametrize("name", PASSES)
def test_each_pass_has_pairs(name: str) -> None:
    """Two at least, and one that it leaves as it is."""
    texts = [path.read_text(encoding="utf-8") for path in PAIRS if path.parent.name == name]
    same = [text.endswith(f"{SAME}\n") for text in texts]
    assert len(texts) >= 2
    assert not all(same)
    assert any(same) or name in ALWAYS


def test_goldens_are_of_passes() -> None:
    assert {path.parent.name for path in PAIRS} == PASSES.keys()
