"""How values lie across the lanes."""

from __future__ import annotations

import pytest

from soac.ir.ops import Op
from soac.ir.types import Prim
from soac.kernels.analysis.cost import GATHER, cost
from soac.kernels.analysis.uniformity import (
    Across,
    Affine,
    Uniform,
    Varying,
    dead_after,
    find_facts,
    joined,
    of_operation,
)
from soac.kernels.kernel_ir.nodes import Kernel, KVar
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.kernel_ir.traverse import statements

U, U4, A, A1, V = Uniform(), Uniform(4), Affine(None), Affine(1), Varying()


@pytest.mark.parametrize(
    ("op", "args", "found"),
    [
        (Op.ADD, (A1, U), A1),
        (Op.SUB, (U, A1), Affine(-1)),
        (Op.SUB, (A1, A1), Affine(0)),
        (Op.ADD, (Affine(2), A), A),
        (Op.MUL, (A1, U4), Affine(4)),
        (Op.MUL, (U, A1), A),
        (Op.MUL, (A1, A1), V),
        (Op.NEG, (Affine(3),), Affine(-3)),
        (Op.QUOT, (A1, U4), V),
        (Op.QUOT, (U, U4), U),
        (Op.ADD, (V, U), V),
    ],
)
def test_operations(op: Op, args: tuple[Across, ...], found: Across) -> None:
    assert of_operation(op, Prim.I64, args) == found
    if found != U:
        assert of_operation(op, Prim.F64, args) == V, "floats round"


def test_joined() -> None:
    """The join is commutative, idempotent and above both."""
    order = {U: 0, U4: 0, A1: 1, Affine(-1): 1, A: 2, V: 3}
    for x in order:
        for y in order:
            assert joined(x, y) == joined(y, x)
            assert order[joined(x, y)] >= max(order[x], order[y])
        assert joined(x, x) == x


def body_of(text: str) -> Kernel:
    return parse_kernel(f"kernel k(block; ys: [i64], xs: [i64]; n: i64) {{{text}}}")


def test_what_loops_assign() -> None:
    """A counter of all lanes is uniform; what is assigned in a loop that lanes leave one by one is not, where it is
    read before the assignment too."""
    kernel = body_of("""
  threads i in 0..n {
    let m: i64 = xs[i]
    var all: i64 = 0
    var own: i64 = 0
    for j < n {
      let a: i64 = add_i64 all i
      let b: i64 = add_i64 own n
      all := j
    }
    for k < m {
      own := k
    }
    ys[i] := own
  }
""")
    facts = find_facts(kernel.body)
    assert {name: facts.of(KVar(name, Prim.I64)) for name in ("i", "m", "all", "own", "a", "b", "n")} == {
        "i": A1, "m": V, "all": U, "own": V, "a": A1, "b": V, "n": U,
    }  # fmt: skip
    loops = [stm for stm in statements(kernel.body) if id(stm) in dead_after(kernel.body)]
    assert [sorted(dead_after(kernel.body)[id(loop)]) for loop in loops] == [["all"], []]


def test_copies_of_a_loop_with_the_same_names() -> None:
    """A variable is what it is in any of the copies."""
    kernel = body_of("""
  threads i in 0..n {
    let a: i64 = sub_i64 i 1
    ys[a] := 0
  }
  threads i in 0..n {
    let a: i64 = max_i64 i 1
    ys[a] := 0
  }
""")
    assert find_facts(kernel.body).of(KVar("a", Prim.I64)) == V


@pytest.mark.parametrize(("index", "weighs"), [("sub_i64 n i", 2.0), ("add_i64 n i", 1.0), ("mul_i64 n i", GATHER)])
def test_what_a_load_costs(index: str, weighs: float) -> None:
    """Elements in falling order are loaded as a vector and turned round."""

    def total(where: str) -> float:
        load = f"let at: i64 = {index} let x: i64 = xs[{where}] ys[i] := x"
        return cost(body_of(f"threads i in 0..16 {{ {load} }}").body)

    assert total("at") - total("i") == weighs - 1.0
