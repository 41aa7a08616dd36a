"""Kernel IR as text, and back: all programs, on both machines, as lowered and after each pass; the checker of
collectives runs in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from soac.frontend.source.text import Reach
from soac.ir.core import Level
from soac.ir.errors import CompileError, IRError, Loc
from soac.ir.machine import CPU, CUDA, Machine
from soac.ir.ops import Op
from soac.ir.show import same
from soac.ir.types import Const, Prim, i64
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.fragments import Role
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KLambda, KStm, KVar, Space
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.kernel_ir.show import show_kernel
from soac.pipeline import compile_prog, kernel_stages

ROOT = Path(__file__).parents[3]
PROGRAMS = sorted(ROOT.glob("programs/*.soac"))
FOLDERS = sorted({path.parent for path in ROOT.glob("tests/conformance/**/*.fut")})


def kernels_of(path: Path, machine: Machine) -> Iterator[Kernel]:
    """The kernels of a program, as lowered and after each pass, and checked; none where it is refused."""
    text = path.read_text(encoding="utf-8")
    try:
        compiled = compile_prog(text, str(path.relative_to(ROOT)), machine=machine, reach=Reach.ANYWHERE)
    except CompileError:
        return
    for _, kernels in kernel_stages(compiled.host.kernels, machine, checked=True):
        yield from kernels


def reads_back(kernel: Kernel) -> bool:
    text = show_kernel(kernel)
    back = parse_kernel(text)
    return same(back, kernel) and show_kernel(back) == text


@pytest.mark.parametrize("machine", (CPU, CUDA), ids=lambda machine: machine.name)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_kernels_of_programs_read_back(path: Path, machine: Machine) -> None:
    assert all(map(reads_back, kernels_of(path, machine)))


@pytest.mark.slow
@pytest.mark.parametrize("machine", (CPU, CUDA), ids=lambda machine: machine.name)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_kernels_of_the_corpus_read_back(folder: Path, machine: Machine) -> None:
    for path in sorted(folder.glob("*.fut")):
        assert all(map(reads_back, kernels_of(path, machine))), path.name


# ---- every node, with all that it may say ------------------------------------------------------------------------


def var(name: str, prim: Prim = Prim.I64) -> KVar:
    return KVar(name, prim)


B, N, J, X, Y = var("block"), var("n_1"), var("i_2"), var("x_3", Prim.F32), var("y_4", Prim.F32)
XS, FLAGS, WORDS = (
    KArray(name, prim, Space.GLOBAL) for name, prim in (("xs", Prim.F32), ("flags", Prim.I32), ("words", Prim.U64))
)
T = KArray("t.1", Prim.F32, Space.PRIVATE)
HELD = replace(T, space=Space.REGISTERS)
ZERO, ONE = i64(0), Const(Prim.F32, 1.0)
V, L, R = var("v_5", Prim.F32), var("l_6", Prim.F32), var("r_7", Prim.F32)
ADD = KLambda((L,), (R,), (kir.KLet(V, kir.KOp(Op.ADD, Prim.F32, (L, R))),), (V,))
LET_X = kir.KLet(X, kir.KLoad(XS, J))
STATEMENTS: dict[str, tuple[KStm, ...]] = {
    "operations": (
        kir.KLet(J, kir.KOp(Op.MUL, Prim.I64, (N, i64(-3)), True)),
        kir.KLet(X, kir.KConvert(Prim.I64, Prim.F32, N)),
        kir.KLet(Y, kir.KConvert(Prim.F32, Prim.F32, X)),
        kir.KLet(var("a", Prim.BOOL), kir.KAligned(XS, N, 4)),
        kir.KLet(V, kir.KConvert(Prim.F32, Prim.F32, Const(Prim.F32, float("-inf")))),
    ),
    "variables": (kir.Declare(X, Const(Prim.F32, -0.0)), kir.Assign(X, Const(Prim.F32, float("nan")))),
    "stores": (kir.Store(XS, N, ONE, True), kir.Publish(FLAGS, N, Const(Prim.I32, 1))),
    "memory": (
        kir.Alloc(T, N, 4),
        kir.Distribute(HELD, 256, 8),
        kir.Distribute(HELD, 8, 1, None, N),
        kir.Shuffle(HELD, HELD, Op.XOR, Prim.I64, N),
    ),
    "products": (
        kir.Distribute(replace(T, space=Space.REGISTERS), 256, 8, Role.LEFT),
        kir.Mma(replace(T, space=Space.REGISTERS), N, XS, i64(4), XS, ZERO),
    ),
    "checks": (kir.Check(Const(Prim.BOOL, True), 0, (N,)), kir.BoundsCheck(N, i64(4), 0, (N, ZERO))),
    "control": (
        kir.KIf(Const(Prim.BOOL, False), (), (kir.Fence(),)),
        kir.For(var("k", Prim.U8), Const(Prim.U8, 3), (), 4),
        kir.KWhile((kir.KLet(var("go", Prim.BOOL), kir.KOp(Op.LT, Prim.I64, (ZERO, N))),), var("go", Prim.BOOL), ()),
        kir.Threads(J, ZERO, N, (LET_X,), 4),
        kir.Threads(J, ZERO, i64(8), (kir.Threads(var("t"), ZERO, N, ()),), unit=Level.WARP),
        kir.Threads(J, ZERO, N, (LET_X,), 2, Level.BLOCK),
        kir.PeeledThreads(J, ZERO, N, i64(1), N, (LET_X,), (kir.Fence(),)),
    ),
    "reduce": (kir.BlockReduce((Y,), J, ZERO, N, (LET_X,), (X,), ADD, (ONE,), False, True, ADD),),
    "scan": (kir.BlockScan((Y,), (var("c", Prim.F32),), J, ZERO, N, (LET_X,), (X,), ADD, (ONE,), (ONE,), (), True),),
    "rows": (kir.RowScan((Y,), J, N, i64(7), (LET_X,), (X,), ADD, (ONE,), (kir.Store(XS, J, Y),)),),
    "atomics": (
        kir.Atomic(Op.ADD, Prim.I32, FLAGS, N, Const(Prim.I32, 1)),
        kir.Atomic(Op.MAX, Prim.I32, FLAGS, N, Const(Prim.I32, 1), var("o", Prim.I32), kir.Order.BOTH),
        kir.WaitFor(var("w", Prim.I32), FLAGS, N, Const(Prim.I32, 2)),
    ),
    "look back": (kir.LookBack((Y,), WORDS, N, ZERO, (ONE,), ADD, (ONE,)),),
    "teams": (kir.TeamReduce((Y,), i64(8), J, ZERO, N, var("k"), N, (), (ONE,), ADD, (ONE,), True, ()),),
    "turns": (kir.WarpTurns(var("w"), J, ZERO, N, (LET_X,), J, (kir.Store(XS, J, X),)),),
    "copies": (kir.AsyncCopy(XS, N, XS, ZERO, 4), kir.CommitCopies(), kir.WaitCopies(1)),
    "rows of elements": (kir.LoadRow((X, Y), XS, N), kir.StoreRow(XS, N, (Y, X))),
    "matrices": (kir.LoadMatrix((X, Y), XS, N, (ZERO, ONE), N, True),),
    "tiles": (kir.Alloc(T, N), kir.LoadTile(T, XS, ZERO, N, i64(9), N), kir.StoreTile(XS, ZERO, N, N, N, T)),
    "some of a row": (kir.StoreSome(XS, N, (ONE, ONE), (Const(Prim.BOOL, True), Const(Prim.BOOL, False))),),
    "notes": (kir.Fence(), kir.Note('a "note"'), kir.Note(Loc("a b.soac", 1, 2, 3, 4))),
}


@pytest.mark.parametrize("stms", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_statements_read_back(stms: tuple[KStm, ...]) -> None:
    loc = Loc("a.soac", 1, 2, 3, 4)
    site = kir.FailureSite("R0101", loc.called((loc, Loc("b.soac", 5, 6, 7, 8))), ("index ", Prim.I64, ' of "x"'))
    shape = kir.LaneShape(16, 4, False)
    assert reads_back(Kernel("k", B, (XS, FLAGS, WORDS), (N, kir.FAR), stms, (site,), Level.WARP, shape, (XS,)))


def test_every_statement_is_among_them() -> None:
    kinds = {type(stm) for stms in STATEMENTS.values() for stm in stms}
    assert kinds == set(kir.KStm.__args__)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernel k(block; ; ) {\n  x := 1\n}", "2:3: expected a statement, found `x`"),
        ("kernel k(block; ; n: i64) {\n  let x: i64 = add_i64 n m\n}", "2:26: expected a name or a constant"),
        ("kernel k(block; ; ) { fence", "1:28: expected a statement, found the end"),
        ("kernel k(block; ; ) {} fence", "1:24: expected the end, found `fence`"),
    ],
)
def test_faults_have_a_place(text: str, message: str) -> None:
    with pytest.raises(IRError, match=message):
        parse_kernel(text)
