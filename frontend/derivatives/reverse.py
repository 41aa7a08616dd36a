"""Reverse mode: adjoints from results to arguments, without a tape.

    forward sweep of a body     its statements as they are; a loop also keeps its parameters of each iteration
    backward sweep              for each statement from the last, its contributions to the adjoints of what it uses

The body of a branch, a map or a loop is run forward again where it is swept backward. The method is that of "AD for an
Array Language with Nested Parallelism" (SC 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.core import (
    Apply,
    ArrayLit,
    Body,
    Concat,
    Convert,
    Copied,
    Copy,
    Exp,
    Hist,
    If,
    Index,
    Iota,
    Lambda,
    Loop,
    PrimOp,
    Rearrange,
    Replicate,
    Reshape,
    Scatter,
    Screma,
    Stm,
    Update,
)
from ...ir.errors import IRError
from ...ir.ops import Op
from ...ir.traverse import free_names
from ...ir.types import Atom, Name, Prim, Var, i64, one, zero
from ..building.code import Code, differentiable
from .adjoints import Sweep, cut
from .branches import BranchTape, branch_adjoints, keep_branch
from .growing import in_place
from .histograms import hist_adjoints, scatter_adjoints
from .inputs import with_inputs
from .loops import LoopTape, keep_loop, loop_adjoints
from .maps import map_adjoints, row_adjoints
from .normal import Functions, normal_lambda, of_recursive_function
from .partials import partials
from .reductions import reduce_adjoints
from .scans import in_order, scan_adjoints
from .strips import in_strips

Adjoint = Atom | None
Tape = LoopTape | BranchTape


def vjp(
    code: Code, functions: Functions, f: Lambda, args: Sequence[Atom], seeds: Sequence[Adjoint]
) -> tuple[list[Atom], list[Adjoint]]:
    """The results of `f args`, and the adjoints of the arguments where the results have adjoints `seeds`."""
    f = normal_lambda(code, functions, f)
    f = replace(f, body=with_inputs(code, f.body, {}, {}))
    active = {p.name for p in f.params if differentiable(p.type)}
    for param, arg in zip(f.params, args, strict=True):
        code.emit((param,), Copied(arg))
    sweep = Sweep(code, functions, _both, active, frozenset(), _nothing_is_far)
    sweep.run(f.body, seeds)
    return list(f.body.result), [sweep.take(p.name) for p in f.params]


def _nothing_is_far(name: Name) -> Var:
    raise IRError(f"reverse mode: {name} is no array from outside of a map")


def _both(sweep: Sweep, body: Body, seeds: Sequence[Adjoint]) -> None:
    """Both sweeps of a body."""
    stms: Sequence[Stm] = body.stms
    for rewrite in (in_order, in_place, in_strips):
        stms = [one for stm in stms for one in rewrite(sweep.code, stm)]
    kept = [_forward(sweep, stm) for stm in stms]
    for atom, seed in zip(body.result, seeds, strict=True):
        sweep.add(atom, seed)
    for stm, tape in zip(reversed(stms), reversed(kept), strict=True):
        sweep.code.loc = stm.loc
        _backward(sweep, stm, tape)


def _forward(sweep: Sweep, stm: Stm) -> Tape | None:
    """Emits the statement, notes what depends on the arguments, and keeps the states of a loop, and what a branch
    computes."""
    code = sweep.code
    code.loc = stm.loc
    if not any(name in sweep.active for name in free_names(stm.exp)):
        code.keep(stm)
        return None
    sweep.active.update(p.name for p in stm.pat if differentiable(p.type))
    if isinstance(stm.exp, Loop):
        return keep_loop(sweep, stm, stm.exp)
    if isinstance(stm.exp, If):
        return keep_branch(sweep, stm, stm.exp)
    if isinstance(stm.exp, Index):
        sweep.note_view(stm.pat[0].name, stm.exp)
        old = sweep.known.get((stm.exp.array, stm.exp.dims))
        if old is not None:
            code.keep(replace(stm, exp=Copied(old)))
            return None
    value = sweep.values.get(stm.pat[0].name) if isinstance(stm.exp, PrimOp) else None
    code.keep(stm if value is None else replace(stm, exp=Copied(value)))
    return None


def _backward(sweep: Sweep, stm: Stm, tape: Tape | None) -> None:
    if isinstance(stm.exp, Screma) and not stm.exp.scans and not stm.exp.reds:
        single = sweep.take_rows([p.name for p in stm.pat])
        if single is not None:
            for place, rows in single.items():
                row_adjoints(sweep, stm.exp, place, rows)
            return
    if isinstance(stm.exp, Copied) and (single := sweep.take_rows([stm.pat[0].name])) is not None:
        for place, rows in single.items():
            assert rows[0] is not None
            sweep.add_row(stm.exp.atom, place, rows[0])
        return
    seeds = [sweep.take(p.name) for p in stm.pat]
    if all(seed is None for seed in seeds):
        return
    match stm.exp:
        case If() as exp:
            assert isinstance(tape, BranchTape)
            branch_adjoints(sweep, exp, tape, seeds)
        case Loop():
            assert isinstance(tape, LoopTape)
            loop_adjoints(sweep, tape, seeds)
        case Screma(scans=(), reds=()) as exp:
            map_adjoints(sweep, exp, seeds)
        case Screma(scans=()) as exp:
            reduce_adjoints(sweep, stm, exp, seeds)
        case Screma() as exp:
            scan_adjoints(sweep, stm, exp, seeds)
        case Hist() as exp:
            hist_adjoints(sweep, stm, exp, seeds)
        case Scatter() as exp:
            scatter_adjoints(sweep, exp, seeds)
        case Apply(function) if function in sweep.functions.closed:
            if any(map(sweep.is_active, stm.exp.args)):
                raise of_recursive_function(stm.loc)
        case Apply() as exp:
            _custom(sweep, stm, exp, seeds)
        case exp:
            (seed,) = seeds
            assert seed is not None
            _basic(sweep, stm, exp, seed)


def _basic(sweep: Sweep, stm: Stm, exp: Exp, seed: Atom) -> None:
    """Contributions of a basic operation with adjoint `seed`."""
    code = sweep.code
    match exp:
        case Copied(atom):
            sweep.add(atom, seed)
        case PrimOp(Op.SELECT, prim, (c, x, y)):
            nothing = code.zeros(code.type_of(seed))
            if sweep.is_active(x):
                sweep.add(x, code.op(Op.SELECT, c, seed, nothing))
            if sweep.is_active(y):
                sweep.add(y, code.op(Op.SELECT, c, nothing, seed))
        case PrimOp(Op.TO_BITS | Op.FROM_BITS as op, prim, (x,)):
            back = Op.FROM_BITS if op is Op.TO_BITS else Op.TO_BITS
            if sweep.is_active(x):
                sweep.add(x, code.let("adj", PrimOp(back, prim, (seed,)), code.type_of(x)))
        case PrimOp(Op.DIV, prim, (x, y)) if prim.is_float and sweep.is_active(y):
            part = code.op(Op.DIV, seed, y)
            sweep.add(x, part)
            sweep.add(y, code.op(Op.NEG, code.op(Op.MUL, Var(stm.pat[0].name), part)))
        case PrimOp(op, prim, args):
            if code.type_of(seed).prim is prim:
                factors = partials(code, op, prim, args, Var(stm.pat[0].name))
                for arg, factor in zip(args, factors, strict=True):
                    if factor is not None and sweep.is_active(arg):
                        sweep.add(arg, code.times(factor, seed))
        case Convert(source, target, arg):
            if source.is_float == target.is_float and source is not Prim.BOOL:
                sweep.add(arg, code.convert(source, seed))
        case Index(array, dims, _):
            sweep.add_at(array, dims, seed)
        case Update(array, dims, value, _):
            assert isinstance(seed, Var)
            if sweep.is_active(value):
                part = code.let("part", Index(seed.name, dims, True), code.type_of(value))
                sweep.add(value, code.copied(part) if code.type_of(value).shape else part)
            if sweep.is_active(Var(array)) and not sweep.replace(array, dims, seed):
                nothing = code.zeros(code.type_of(value))
                sweep.add(Var(array), code.let("rest", Update(seed.name, dims, nothing, True), code.types[array]))
        case Iota(count, start, step, prim):
            assert isinstance(seed, Var)
            sweep.add(start, code.sum_rows(seed))
            if sweep.is_active(step):
                numbers = code.let("is", Iota(count, zero(prim), one(prim), prim), code.types[seed.name])
                (scaled,) = code.map(count, (numbers, seed), lambda inner, xs: [inner.op(Op.MUL, *xs)])
                sweep.add(step, code.sum_rows(scaled))
        case Replicate(shape, value):
            if sweep.is_active(value):
                assert isinstance(seed, Var)
                sweep.add(value, _sum_leading(code, seed, len(shape)))
        case ArrayLit(elems, _):
            assert isinstance(seed, Var)
            for k, elem in enumerate(elems):
                if sweep.is_active(elem):
                    sweep.add(elem, code.at(seed, i64(k)))
        case Rearrange(perm, array):
            assert isinstance(seed, Var)
            sweep.add(Var(array), code.rearrange(tuple([perm.index(k) for k in range(len(perm))]), seed))
        case Reshape(_, array):
            assert isinstance(seed, Var)
            sweep.add(Var(array), code.reshape(code.types[array].shape, seed))
        case Copy(array):
            sweep.add(Var(array), seed)
        case Concat(arrays, _):
            assert isinstance(seed, Var)
            start: Atom = i64(0)
            for array in arrays:
                count = code.types[array].shape[0]
                if array in sweep.active:
                    sweep.add(Var(array), cut(code, seed, start, count))
                start = code.op(Op.ADD, start, count)
        case _:
            pass  # sizes, indices and checks: nothing flows through them


def _sum_leading(code: Code, xs: Var, dims: int) -> Atom:
    """The sum over the first `dims` dimensions."""
    type = code.types[xs.name]
    count = code.product(type.shape[:dims])
    return code.sum_rows(code.reshape((count, *type.shape[dims:]), xs))


def _custom(sweep: Sweep, stm: Stm, exp: Apply, seeds: Sequence[Adjoint]) -> None:
    """A function with a derivative of its own: that is called with the results and their adjoints."""
    code = sweep.code
    adjoint, free = sweep.functions.custom[exp.function]
    given = [code.zeros(p.type) if seed is None else seed for p, seed in zip(stm.pat, seeds, strict=True)]
    own = exp.args[free:]
    pat = [code.param("adj", code.type_of(arg)) for arg in own]
    results = code.emit(pat, Apply(adjoint, (*exp.args[:free], *[Var(p.name) for p in stm.pat], *given)))
    for arg, result in zip(own, results, strict=True):
        if differentiable(code.type_of(arg)):
            sweep.add(arg, result)
