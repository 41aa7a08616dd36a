"""Wrong rules, each a change of one place in the compiler: the property tests must find every one.

A fault is planted by compiling the changed source of its module and giving the functions of the running module the
code of the changed ones; what a `with` planted is gone after it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

ROOT = Path(__file__).parents[3]


class Group(Enum):
    """What a wrong rule is wrong about."""

    NESTS = "nests"
    RULES = "rules"
    FUSION = "fusion"
    GUARDS = "guards"
    SEMANTICS = "semantics"


@dataclass(frozen=True, slots=True)
class Fault:
    """`old` becomes `new` in a file of the compiler. `device`: it shows when a program runs on the CPU device."""

    group: Group
    name: str
    file: str
    old: str
    new: str
    device: bool = False

    @property
    def source(self) -> str:
        """The changed source."""
        text = (ROOT / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise LookupError(f"{self.name}: {self.file} has {text.count(self.old)} places {self.old!r}")
        return text.replace(self.old, self.new)


FAULTS: tuple[Fault, ...] = (
    # ---- nests
    Fault(
        Group.NESTS,
        "map context dropped",
        "flatten/context/distribute.py",
        "emit_segmap(flow, nest.dims, tuple(p for _, p in together)",
        "emit_segmap(flow, nest.dims[-1:], tuple(p for _, p in together)",
    ),
    Fault(
        Group.NESTS,
        "order of the context swapped",
        "flatten/rules/maps.py",
        "Elem(elem.array, (*elem.indices, index))",
        "Elem(elem.array, (index, *elem.indices))",
    ),
    Fault(
        Group.NESTS,
        "free variable of the inner lambda not replicated",
        "flatten/context/distribute.py",
        "flow.emit((param,), Replicate(nest.widths, source))",
        "flow.emit((param,), Replicate(nest.widths[:1], source))",
    ),
    Fault(
        Group.NESTS,
        "row that others still read overwritten",
        "flatten/context/distribute.py",
        "return not looked_at.isdisjoint(made_of(array, flow.output.stms))",
        "return False",
    ),
    Fault(
        Group.NESTS,
        "elements of an array that others read overwritten",
        "flatten/rules/maps.py",
        "if flow.known.uses.get(array, 0) > 1 and elem",
        "if flow.known.uses.get(array, 0) > 9 and elem",
    ),
    Fault(
        Group.NESTS,
        "expensive value computed from another depth of the nest",
        "flatten/context/distribute.py",
        "_materialise(flow, nest.outer(depth), (*names",
        "_materialise(flow, nest.outer(1), (*names",
    ),
    Fault(
        Group.NESTS,
        "index array started at 0",
        "flatten/context/segop_bodies.py",
        "if iota.start != Const(prim, 0):",
        "if iota.start == Const(prim, 0):",
    ),
    Fault(
        Group.NESTS,
        "index of the nest taken for a value from before it",
        "flatten/context/distribute.py",
        "if isinstance(source, Var) and (source.name in nest.indices or source.name in flow.known.coordinates):",
        "if source is None:",
    ),
    # ---- reductions and scans
    Fault(
        Group.RULES,
        "neutral element skipped on an empty segment",
        "ir/parallel.py",
        "for total, value in zip(totals, values):\n                total.append(value)",
        "for total, value in zip(totals, values):\n                total.append(value if shape[-1] else 0 * value + 1)",
    ),
    Fault(
        Group.RULES,
        "order of operands swapped",
        "flatten/memory/thread_fusion.py",
        "[*(Var(p.name) for p in accumulators), *values[taken]]",
        "[*values[taken], *(Var(p.name) for p in accumulators)]",
    ),
    Fault(
        Group.RULES,
        "components of a tuple swapped",
        "flatten/rules/interchange.py",
        "result = tuple(body.result[k] for k in rows.picked)",
        "result = tuple(body.result[k] for k in rows.picked[::-1])",
    ),
    Fault(
        Group.RULES,
        "exclusive scan for inclusive",
        "flatten/memory/thread_fusion.py",
        "made.elements.update(zip((p.name for p in stm.pat[taken]), nexts, strict=True))",
        "made.elements.update(zip((p.name for p in stm.pat[taken]), (Var(p.name) for p in accumulators), strict=True))",
    ),
    Fault(
        Group.RULES,
        "flag of a segment off by one",
        "flatten/irregular/soacs.py",
        'inner.op("flag", Op.EQ, Var(k), i64(0))',
        'inner.op("flag", Op.EQ, Var(k), i64(1))',
    ),
    Fault(
        Group.RULES,
        "operator on rows reduced elementwise at one place",
        "flatten/rules/interchange.py",
        "element_of(array, flow.known.types[array].shape, (Var(j.name),))",
        "element_of(array, flow.known.types[array].shape, (i64(0),))",
    ),
    Fault(
        Group.RULES,
        "map of a redomap dropped",
        "flatten/rules/reductions.py",
        "emit_segred(flow, enter(flow, nest, exp), exp.reds, pat, exp.map.body, exp.map.ret)",
        "emit_segred(flow, enter(flow, nest, exp), exp.reds, pat, Body((), tuple(Var(exp.map.params[0].name) for _ in"
        " exp.map.ret)), exp.map.ret)",
    ),
    Fault(
        Group.RULES,
        "scan of rows not turned back",
        "flatten/rules/interchange.py",
        "Rearrange((1, 0, *range(2, param.type.rank)), array)",
        "Rearrange((0, 1, *range(2, param.type.rank)), array)",
    ),
    # ---- fusion
    Fault(
        Group.FUSION,
        "consumer duplicated by fusion",
        "flatten/fusion/driver.py",
        "scope.behind = [scope.remove(k) for k in dependents] + scope.behind",
        "scope.behind = [node for k in dependents if (node := scope.nodes[k])] + scope.behind",
    ),
    Fault(
        Group.FUSION,
        "fusion across an overwriting",
        "flatten/fusion/graph.py",
        "sharing.same(array, y) and not (y in node.free and are_apart(array, y, made))",
        "False",
    ),
    Fault(
        Group.FUSION,
        "fusion with a statement that needs what is between",
        "flatten/fusion/graph.py",
        "if any(not node.made.isdisjoint(consumer.free) for node in moved):",
        "if any(node.made.issuperset(consumer.free) for node in moved):",
    ),
    Fault(
        Group.FUSION,
        "fusion that forgets what others need",
        "flatten/fusion/driver.py",
        "kept = frozenset(name for name in mapped_results(producer.stm) if scope.is_needed(name))",
        "kept = frozenset(name for name in mapped_results(producer.stm) if name in scope.results)",
    ),
    Fault(
        Group.FUSION,
        "view of a nest whose elements are rows",
        "flatten/simplify/map_views.py",
        "Reshape((size, *t.shape), xs), t.array_of(size)",
        "Reshape((size,), xs), Type(t.prim, (size,))",
    ),
    # ---- loops and branches
    Fault(
        Group.RULES,
        "map-loop interchange with a variant trip count",
        "flatten/versions/parallelism.py",
        "return not variant(bound) and sizes_stay and",
        "return sizes_stay and",
    ),
    Fault(
        Group.RULES,
        "distribution across a branch of variant condition",
        "flatten/versions/parallelism.py",
        "if variant(cond) or not regular():",
        "if not regular():",
    ),
    Fault(
        Group.RULES,
        "loop that keeps its first values",
        "flatten/rules/control.py",
        "        flow.context.walk(flow, nest, body.stms, body.result)\n        return tuple(Var(name) for name in "
        "expand(flow, nest, body.result))\n\n    flow.emit(flow.bind(nest, stm.pat), Loop(",
        "        flow.context.walk(flow, nest, body.stms, body.result)\n        return tuple(Var(p.name) for p in "
        "carried)\n\n    flow.emit(flow.bind(nest, stm.pat), Loop(",
    ),
    # ---- bulk operations
    Fault(
        Group.RULES,
        "rearrange by the inverse permutation",
        "flatten/rules/bulk.py",
        "whole_perm = (*range(outer), *(outer + k for k in perm))",
        "whole_perm = (*range(outer), *(outer + perm.index(k) for k in range(len(perm))))",
    ),
    Fault(
        Group.RULES,
        "reversed slice treated as identity",
        "flatten/rules/bulk.py",
        "all_dims: tuple[DimIndex, ...] = (*whole(outer), *dims)",
        "all_dims: tuple[DimIndex, ...] = (*whole(outer), *whole(param.type.shape))",
    ),
    Fault(
        Group.RULES,
        "second part of a concatenation at the offset of the first",
        "flatten/rules/bulk.py",
        'inner.op("p", Op.SUB, indices[0], offset)',
        'inner.op("p", Op.MIN, indices[0], offset)',
    ),
    Fault(
        Group.RULES,
        "failing operation moved out of its branch",
        "flatten/context/recompute_cost.py",
        "return not can_fail(op, prim)",
        "return True",
    ),
    Fault(
        Group.RULES,
        "tile beyond the end of a row",
        "flatten/tiling/block.py",
        "return Part(start, let.op(Op.MIN, step, let.op(Op.SUB, width, start)))",
        "return Part(start, step)",
    ),
    # ---- guards
    Fault(Group.GUARDS, "guard > for >=", "ir/interpret.py", "[threshold] <= par if", "[threshold] < par if"),
    Fault(
        Group.GUARDS,
        "guard on the wrong dimension",
        "flatten/versions/guards.py",
        "return product_of(flow, nest.widths)",
        "return product_of(flow, nest.widths[:1])",
    ),
    Fault(
        Group.GUARDS,
        "both branches of a guard identical",
        "flatten/versions/guards.py",
        "lambda to: guarded(flow, to, rest, last))\n    if not alike(flow, then, orelse):",
        "first.emit)\n    if then is not orelse:",
    ),
    Fault(
        Group.GUARDS,
        "one name for the thresholds of two nests",
        "ir/thresholds.py",
        "counts.get(first, -1) + 1",
        "max(counts.get(first, -1), 0)",
    ),
    Fault(
        Group.GUARDS,
        "block version chosen where it does not fit",
        "flatten/versions/intra.py",
        'flow.op("par", Op.SELECT, fits, par, too_many)',
        'flow.op("par", Op.SELECT, fits, par, par)',
    ),
    # ---- semantics
    Fault(
        Group.SEMANTICS,
        "write out of range kept",
        "kernels/schedule/soacs.py",
        "    inside = in_range(b, indices, dests[0].shape)\n    with b.nested() as stms:\n        write_at",
        "    last = b.op(Op.SUB, Prim.I64, dests[0].shape[0], Const(Prim.I64, 1))\n"
        "    indices = (b.op(Op.MAX, Prim.I64, ZERO, b.op(Op.MIN, Prim.I64, indices[0], last)), *indices[1:])\n"
        "    inside = in_range(b, indices, dests[0].shape)\n    with b.nested() as stms:\n        write_at",
        device=True,
    ),
    Fault(
        Group.SEMANTICS,
        "truncating division for floor",
        "kernels/llvm/integers.py",
        'return v.ins("sub", prim, quotient, _extend(v, prim, _rounds_up(v, prim, y, rest)))',
        "return quotient",
        device=True,
    ),
    Fault(
        Group.SEMANTICS,
        "nan propagated by max",
        "kernels/llvm/ops.py",
        'Op.MAX: "maximumnum"',
        'Op.MAX: "maximum"',
        device=True,
    ),
    Fault(
        Group.SEMANTICS,
        "result tuple reordered",
        "flatten/versions/guards.py",
        "return tuple(Var(p.name) for p in results)",
        "return tuple(Var(p.name) for p in reversed(results))",
    ),
)


# ---- planting --------------------------------------------------------------------------------------------------------


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """The compiler with a fault."""
    module = import_module(module_of(fault.file))
    undo = replace_code(module, executed(fault.source, module))
    try:
        yield
    finally:
        for owner, name, before in reversed(undo):
            setattr(owner, name, before)


def module_of(file: str) -> str:
    return "soac." + file.removesuffix(".py").replace("/", ".")


def executed(source: str, module: ModuleType) -> dict[str, Any]:
    """The names of the module as the changed source makes them."""
    made = ModuleType(module.__name__)
    made.__dict__.update(__package__=module.__package__, __file__=module.__file__, __spec__=module.__spec__)
    before = sys.modules[module.__name__]
    sys.modules[module.__name__] = made  # dataclasses look their module up
    try:
        exec(compile(source, str(module.__file__), "exec"), made.__dict__)  # noqa: S102  the source is ours
    finally:
        sys.modules[module.__name__] = before
    return made.__dict__


Undo = list[tuple[Any, str, Any]]
"""What was replaced: where, its name, and what it was."""


def replace_code(module: ModuleType, changed: dict[str, Any]) -> Undo:
    """Functions of the module get the code of the changed ones, constants their values; classes do so for their
    methods."""
    undo: Undo = []
    for name, now in list(vars(module).items()):
        if name in changed and not name.startswith("__"):
            _replace(module, name, now, changed[name], undo)
    return undo


def _replace(owner: Any, name: str, now: Any, changed: Any, undo: Undo) -> None:
    function, new = _function(now), _function(changed)
    if (
        function is not None
        and new is not None
        and function.__module__ == vars(owner).get("__module__", owner.__name__)
    ):
        old, code = function.__code__, new.__code__
        if old != code and old.co_freevars == code.co_freevars:
            undo.append((function, "__code__", old))
            function.__code__ = code
    elif isinstance(now, type) and isinstance(changed, type) and now.__module__ == changed.__module__:
        for method, one in list(vars(now).items()):
            _replace(now, method, one, vars(changed).get(method), undo)
    elif name.isupper() and isinstance(now, dict) and all(isinstance(value, str) for value in now.values()):
        undo.append((owner, name, now))
        setattr(owner, name, changed)


def _function(value: Any) -> FunctionType | None:
    """The function of a method, a property, or what a decorator made of it."""
    if isinstance(value, property):
        value = value.fget
    if hasattr(value, "__wrapped__"):
        value = unwrap(value)
    return value if isinstance(value, FunctionType) else None
