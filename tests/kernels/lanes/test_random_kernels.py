"""Random kernels: lanes against the one-thread-at-a-time interpreter, in several shapes of lanes and all tail sizes."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from soac.ir import scalar
from soac.ir.core import Level
from soac.ir.ops import Op, result_type
from soac.ir.types import Const, Prim, i64
from soac.kernels.kernel_ir.nodes import (
    Alloc,
    Assign,
    BlockReduce,
    BlockScan,
    BoundsCheck,
    Check,
    Declare,
    For,
    KArray,
    KConvert,
    Kernel,
    KIf,
    KLambda,
    KLet,
    KLoad,
    KOp,
    KStm,
    KVar,
    KWhile,
    Operand,
    Space,
    Store,
    Threads,
)  # fmt: skip
from soac.kernels.passes.choose_lanes import LaneSettings
from tests.support.kernel_interpreter import compiled, failure_of, interpret

ROW = 8  # each thread owns this many elements of the outputs
SIZES = (0, 1, 5, 15, 16, 17, 31, 33, 64, 65, 130)
TYPES = (Prim.I32, Prim.I64, Prim.U8, Prim.I16, Prim.F32, Prim.F64)
SHAPES = (
    LaneSettings(width=16, unroll=1),
    LaneSettings(width=8, unroll=2),
    LaneSettings(width=16, unroll=4),
    LaneSettings(width=4, unroll=1, peel_limit=0),
    LaneSettings(width=8, unroll=4, peel_limit=0),
)


@dataclass
class Maker:
    """Makes one kernel. Variables in scope are kept by type; what is mutable, apart."""

    rng: random.Random
    count: int = 0
    sites: dict[int, tuple[Prim, ...]] = field(default_factory=dict)
    in_lambda: bool = False
    private: list[KArray] = field(default_factory=list)

    def fresh(self, base: str, prim: Prim) -> KVar:
        self.count += 1
        return KVar(f"{base}{self.count}", prim)

    def const(self, prim: Prim) -> Const:
        return Const(prim, _small(prim, self.rng.randrange(0, 12)))

    def operand(self, scope: list[KVar], prim: Prim) -> Operand:
        options = [v for v in scope if v.prim is prim]
        if options and self.rng.random() < 0.8:
            return self.rng.choice(options)
        return self.const(prim)

    def prim(self) -> Prim:
        return self.rng.choice(TYPES)


X = {p: KArray(f"x_{p.value}", p, Space.GLOBAL) for p in TYPES}
Y = {p: KArray(f"y_{p.value}", p, Space.GLOBAL) for p in TYPES}
N, IX = KVar("n", Prim.I64), KVar("i", Prim.I64)
INT_OPS = (Op.ADD, Op.SUB, Op.MUL, Op.MIN, Op.MAX, Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR, Op.USHR)
FLOAT_OPS = (Op.ADD, Op.SUB, Op.MIN, Op.MAX)
COMPARE = (Op.LT, Op.LE, Op.EQ, Op.NE, Op.GT)


def _small(prim: Prim, value: int) -> int | float:
    return float(value) if prim.is_float else value


def let(m: Maker, out: list[KStm], prim: Prim, rhs) -> KVar:
    var = m.fresh("t", prim)
    out.append(KLet(var, rhs))
    return var


def make_index(m: Maker, scope: list[KVar], out: list[KStm], size: int) -> Operand:
    """An index below `size`, a power of two."""
    value = m.operand(scope, Prim.I64)
    return let(m, out, Prim.I64, KOp(Op.AND, Prim.I64, (value, i64(size - 1))))


def make_value(m: Maker, scope: list[KVar], out: list[KStm]) -> KVar:
    """A new variable, of some operation on what is in scope."""
    prim, choice = m.prim(), m.rng.random()
    x, y = m.operand(scope, prim), m.operand(scope, prim)
    if choice < 0.40:
        op = m.rng.choice(FLOAT_OPS if prim.is_float else INT_OPS)
        return let(m, out, prim, KOp(op, prim, (x, y)))
    if choice < 0.50:
        return let(m, out, prim, KConvert((s := m.prim()), prim, m.operand(scope, s)))
    if choice < 0.60:
        cond = make_cond(m, scope, out)
        return let(m, out, prim, KOp(Op.SELECT, prim, (cond, x, y)))
    if choice < 0.70 and prim.is_int:
        return let(m, out, prim, KOp(m.rng.choice((Op.DIV, Op.MOD, Op.QUOT, Op.REM)), prim, (x, divisor(m, out, y))))
    if choice < 0.78:
        return let(m, out, prim, KOp(m.rng.choice((Op.ABS, Op.NEG, Op.SGN)), prim, (x,)))
    if m.in_lambda:
        return let(m, out, prim, KOp(Op.ADD, prim, (x, y)))
    if choice < 0.90:
        return let(m, out, prim, KLoad(X[prim], make_index(m, scope, out, 64)))
    if m.private and choice < 0.97:
        array = m.rng.choice(m.private)
        return let(m, out, array.prim, KLoad(array, make_index(m, scope, out, ROW)))
    return let(m, out, prim, KLoad(X[prim], IX))


def make_linear(m: Maker, out: list[KStm]) -> KVar:
    """One of two strides over the lanes, by a choice that is the same for all of them."""
    far = let(m, out, Prim.I64, KOp(Op.MUL, Prim.I64, (IX, i64(m.rng.choice((-1, 1, 2, 3))))))
    near = let(m, out, Prim.I64, KOp(Op.ADD, Prim.I64, (IX, m.rng.choice((N, i64(5))))))
    same = let(m, out, Prim.BOOL, KOp(Op.LT, Prim.I64, (N, i64(m.rng.randrange(70)))))
    return let(m, out, Prim.I64, KOp(Op.SELECT, Prim.I64, (same, *m.rng.sample((far, near), 2))))


def divisor(m: Maker, out: list[KStm], y: Operand) -> Operand:
    """A number that is not zero, by a check or by construction."""
    prim = y.prim
    if not m.in_lambda and m.rng.random() < 0.3:
        site = len(m.sites)
        m.sites[site] = (prim,)
        out.append(Check(let(m, out, Prim.BOOL, KOp(Op.NE, prim, (y, Const(prim, 0)))), site, (y,)))
        return y
    return let(m, out, prim, KOp(Op.OR, prim, (y, Const(prim, 1))))


def make_cond(m: Maker, scope: list[KVar], out: list[KStm]) -> KVar:
    prim = m.prim()
    args = m.operand(scope, prim), m.operand(scope, prim)
    return let(m, out, Prim.BOOL, KOp(m.rng.choice(COMPARE), prim, args))


def make_block(m: Maker, scope: list[KVar], mutable: list[KVar], depth: int) -> tuple[KStm, ...]:
    out: list[KStm] = []
    scope, mutable = list(scope), list(mutable)
    for _ in range(m.rng.randrange(1, 6)):
        make_statement(m, scope, mutable, out, depth)
    return tuple(out)


def make_statement(m: Maker, scope: list[KVar], mutable: list[KVar], out: list[KStm], depth: int) -> None:
    choice = m.rng.random()
    if choice < 0.35:
        scope.append(make_value(m, scope, out))
    elif choice < 0.45 or not mutable:
        var = m.fresh("v", m.prim())
        out.append(Declare(var, m.operand(scope, var.prim)))
        scope.append(var)
        mutable.append(var)
    elif choice < 0.60:
        var = m.rng.choice(mutable)
        same = [v for v in (make_value(m, scope, out) for _ in range(3)) if v.prim is var.prim]
        out.append(Assign(var, same[0] if same else m.operand(scope, var.prim)))
    elif choice < 0.68 and not m.in_lambda:
        make_store(m, scope, out)
    elif choice < 0.72 and not m.in_lambda:
        make_bounds_check(m, scope, out)
    elif depth < 3:
        make_control(m, scope, mutable, out, depth)


def make_store(m: Maker, scope: list[KVar], out: list[KStm]) -> None:
    if m.private and m.rng.random() < 0.5:
        array = m.rng.choice(m.private)
        index = i64(m.rng.randrange(ROW)) if m.rng.random() < 0.5 else make_index(m, scope, out, ROW)
        out.append(Store(array, index, m.operand(scope, array.prim)))
        return
    prim = m.prim()
    base = let(m, out, Prim.I64, KOp(Op.MUL, Prim.I64, (IX, i64(ROW))))
    place = let(m, out, Prim.I64, KOp(Op.ADD, Prim.I64, (base, make_index(m, scope, out, ROW))))
    value = make_linear(m, out) if prim is Prim.I64 else m.operand(scope, prim)
    out.append(Store(Y[prim], place, value))


def make_bounds_check(m: Maker, scope: list[KVar], out: list[KStm]) -> None:
    """Mostly fulfilled; sometimes of a linear index."""
    site = len(m.sites)
    linear = let(m, out, Prim.I64, KOp(Op.SUB, Prim.I64, (N, IX)))
    index = m.rng.choice([IX, linear, make_index(m, scope, out, 64)])
    size = m.rng.choice([i64(1 << 40), let(m, out, Prim.I64, KOp(Op.ADD, Prim.I64, (N, i64(1)))), i64(63)])
    value = m.operand(scope, m.prim())
    m.sites[site] = (Prim.I64, Prim.I64, value.prim)
    out.append(BoundsCheck(index, size, site, (index, size, value)))


def make_control(m: Maker, scope: list[KVar], mutable: list[KVar], out: list[KStm], depth: int) -> None:
    choice = m.rng.random()
    if choice < 0.45:
        cond = make_cond(m, scope, out)
        orelse = make_block(m, scope, mutable, depth + 1) if m.rng.random() < 0.5 else ()
        out.append(KIf(cond, make_block(m, scope, mutable, depth + 1), orelse))
    elif choice < 0.55 and not m.in_lambda:
        make_branch_of_its_own(m, scope, mutable, out, depth)
    elif choice < 0.75:
        index = m.fresh("k", Prim.I64)
        bound = make_index(m, scope, out, 4) if m.rng.random() < 0.6 else i64(3)
        out.append(For(index, bound, make_block(m, [*scope, index], mutable, depth + 1)))
    else:
        make_while(m, scope, mutable, out, depth)


def make_branch_of_its_own(m: Maker, scope: list[KVar], mutable: list[KVar], out: list[KStm], depth: int) -> None:
    """A branch that allocates: threads that do not take it would have no memory for as many elements as they say."""
    few, many = make_index(m, scope, out, 4), m.operand(scope, Prim.I64)
    cond = make_cond(m, scope, out)
    large = let(m, out, Prim.I64, KOp(Op.OR, Prim.I64, (many, i64(1 << 40))))
    count = let(m, out, Prim.I64, KOp(Op.SELECT, Prim.I64, (cond, few, large)))
    body: list[KStm] = []
    whole = let(m, body, Prim.I64, KOp(Op.ADD, Prim.I64, (count, i64(ROW))))
    prim, k = m.prim(), m.fresh("k", Prim.I64)
    array = KArray(m.fresh("p", prim).name, prim, Space.PRIVATE)
    body += [Alloc(array, whole), For(k, i64(ROW), (Store(array, k, m.operand(scope, prim)),))]
    before, m.private = m.private, [*m.private, array]
    body += make_block(m, scope, mutable, depth + 1)
    m.private = before
    out.append(KIf(cond, tuple(body), ()))


def make_while(m: Maker, scope: list[KVar], mutable: list[KVar], out: list[KStm], depth: int) -> None:
    counter = m.fresh("w", Prim.I64)
    out.append(Declare(counter, make_index(m, scope, out, 4) if m.rng.random() < 0.5 else i64(0)))
    before: list[KStm] = []
    inner = [*scope, counter]
    less = let(m, before, Prim.BOOL, KOp(Op.LT, Prim.I64, (counter, i64(6))))
    cond = let(m, before, Prim.BOOL, KOp(Op.AND, Prim.BOOL, (less, make_cond(m, inner, before))))
    body = list(make_block(m, inner, mutable, depth + 1))
    more = let(m, body, Prim.I64, KOp(Op.ADD, Prim.I64, (counter, i64(1))))
    out.append(KWhile(tuple(before), cond, (*body, Assign(counter, more))))
    if m.rng.random() < 0.3:
        scope.append(counter)


def thread_body(m: Maker, scope: list[KVar]) -> tuple[list[KStm], list[KVar]]:
    """The start of a thread: loads, a private array, then random statements."""
    out: list[KStm] = []
    scope = [*scope, IX]
    for prim in TYPES:
        scope.append(let(m, out, prim, KLoad(X[prim], IX)))
    scope += [linear := make_linear(m, out), let(m, out, Prim.I64, KOp(Op.REM, Prim.I64, (linear, i64(7))))]
    mutable = [m.fresh("v", p) for p in (Prim.I32, Prim.F32, Prim.I64)]
    out += [Declare(v, m.operand(scope, v.prim)) for v in mutable]
    m.private = []
    prim, k = m.prim(), m.fresh("k", Prim.I64)
    array = KArray(m.fresh("p", prim).name, prim, Space.PRIVATE)
    count: Operand = i64(ROW)
    if m.rng.random() < 0.4:
        count = let(m, out, Prim.I64, KOp(Op.ADD, Prim.I64, (make_index(m, scope, out, 4), i64(ROW))))
    out += [Alloc(array, count), For(k, i64(ROW), (Store(array, k, m.operand(scope, prim)),))]
    m.private = [array]
    out += make_block(m, [*scope, *mutable], mutable, 0)
    store_private(m, array, out)
    return out, [*scope, *mutable]


def store_private(m: Maker, array: KArray, out: list[KStm]) -> None:
    """The private array goes to the thread's row of the output."""
    base, place, value = (m.fresh("t", p) for p in (Prim.I64, Prim.I64, array.prim))
    k = m.fresh("k", Prim.I64)
    body = (
        KLet(base, KOp(Op.MUL, Prim.I64, (IX, i64(ROW)))),
        KLet(place, KOp(Op.ADD, Prim.I64, (base, k))),
        KLet(value, KLoad(array, k)),
        Store(Y[array.prim], place, value),
    )
    out.append(For(k, i64(ROW), body))


def store_all(m: Maker, scope: list[KVar], out: list[KStm]) -> None:
    base = let(m, out, Prim.I64, KOp(Op.MUL, Prim.I64, (IX, i64(ROW))))
    for prim in TYPES:
        out.append(Store(Y[prim], base, m.operand(scope, prim)))


def make_operator(m: Maker, prims: tuple[Prim, ...], scope: list[KVar]) -> KLambda:
    """Associative and commutative, componentwise; written with control to exercise it."""
    left = tuple(m.fresh("a", p) for p in prims)
    right = tuple(m.fresh("b", p) for p in prims)
    body: list[KStm] = []
    results: list[Operand] = []
    for x, y in zip(left, right, strict=True):
        if m.rng.random() < 0.5:
            results.append(let(m, body, x.prim, KOp(Op.ADD, x.prim, (x, y))))
            continue
        var = m.fresh("r", x.prim)
        less = m.fresh("c", Prim.BOOL)
        body += [Declare(var, x), KLet(less, KOp(Op.LT, x.prim, (x, y))), KIf(less, (Assign(var, y),), ())]
        results.append(var)
    return KLambda(left, right, tuple(body), tuple(results))


def make_collective(m: Maker) -> list[KStm]:
    prims = tuple(m.prim() for _ in range(m.rng.randrange(1, 3)))
    op = make_operator(m, prims, [])
    neutral = tuple(Const(p, _small(p, 0)) for p in prims)
    out, scope = thread_body(m, [])
    values: list[Operand] = []
    for prim in prims:  # small and not negative: 0 is neutral for the maximum too, float sums are exact
        small = let(m, out, Prim.I32, KOp(Op.AND, Prim.I32, (m.operand(scope, Prim.I32), Const(Prim.I32, 15))))
        values.append(let(m, out, prim, KConvert(Prim.I32, prim, small)))
    results = tuple(m.fresh("o", p) for p in prims)
    if m.rng.random() < 0.5:
        op_order = m.rng.random() < 0.5
        stms: list[KStm] = [BlockReduce(results, IX, i64(0), N, tuple(out), tuple(values), op, neutral, op_order)]
    else:
        scanned = tuple(m.fresh("s", p) for p in prims)
        after: list[KStm] = []
        store_all(m, list(scanned), after)
        stms = [
            BlockScan(scanned, results, IX, i64(0), N, tuple(out), tuple(values), op, neutral, neutral, tuple(after))
        ]
    return [*stms, *(Store(Y[v.prim], i64(1), v) for v in results)]


def make_kernel(seed: int) -> tuple[Kernel, dict[int, tuple[Prim, ...]]]:
    m = Maker(random.Random(seed))
    if m.rng.random() < 0.5:
        body = make_collective(m)
    else:
        inner, scope = thread_body(m, [])
        store_all(m, scope, inner)
        body = [Threads(IX, i64(0), N, tuple(inner))]
    arrays = (*X.values(), *Y.values())
    return Kernel("k", KVar("b", Prim.I64), arrays, (N,), tuple(body), (), Level.BLOCK), m.sites


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    size = max(SIZES) + 64
    data = {a.name: rng.integers(0, 50, size).astype(scalar.DTYPES[p]) for p, a in X.items()}
    return data | {a.name: np.zeros(ROW * size, scalar.DTYPES[p]) for p, a in Y.items()}


@pytest.mark.parametrize("seed", range(24))
def test_random_kernels_agree(seed: int) -> None:
    check_seed(seed)


def check_seed(seed: int) -> None:
    kernel, sites = make_kernel(seed)
    rng = np.random.default_rng(seed)
    runner = compiled(kernel, SHAPES[seed % len(SHAPES)])
    for n in random.Random(seed).sample(SIZES, 4):
        ours, theirs = inputs(rng), {}
        theirs = {name: a.copy() for name, a in ours.items()}
        failures = interpret(kernel, theirs, {"n": n}, 1)
        record = runner(ours, {"n": n}, 1)
        if failures:
            assert failure_of(record, sites) in failures
            continue
        assert record[0] == 0, (seed, n)
        for name, expected in theirs.items():
            np.testing.assert_array_equal(ours[name], expected, f"seed {seed}, n {n}, {name}")


def test_result_types_of_generated_operations() -> None:
    """The generator relies on it."""
    assert all(result_type(op, Prim.I32) is Prim.I32 for op in INT_OPS)
