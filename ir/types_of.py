"""The types of what an expression gives, from the types of the names that it uses.

Sizes are as exact as the expression tells: results of branches and loops are typed by names of their bodies and
parameters, which the pattern of the statement replaces by names of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from .core import (
    Accumulate,
    Apply,
    ArrayLit,
    Assert,
    Basic,
    Concat,
    Convert,
    Copied,
    Copy,
    Exp,
    Fix,
    FunDef,
    GuardCmp,
    Hist,
    If,
    Index,
    Iota,
    Loop,
    PrimOp,
    Rearrange,
    Replicate,
    Reshape,
    Scatter,
    Scratch,
    Screma,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegScatter,
    SizeParam,
    Update,
    WithAcc,
)
from .errors import IRError
from .ops import result_type
from .rename import substitute_type
from .traverse import type_of
from .types import BOOL, I64, Name, Type, i64, scalar

Types = Mapping[Name, Type]


def types_of(exp: Exp, types: Types, functions: Mapping[Name, FunDef]) -> tuple[Type, ...]:
    """The types of the results of `exp`; `types` must hold the names bound in its branches too."""
    match exp:
        case If(_, then, _):
            return tuple(type_of(a, types) for a in then.result)
        case Loop(params, _, _, _):
            return tuple(p.type for p in params)
        case Apply(function, args):
            if function not in functions:
                raise IRError(f"there is no function {function}")
            fun = functions[function]
            given = dict(zip((p.name for p in fun.params), args))
            return tuple(substitute_type(r.type, given) for r in fun.results)
        case Screma(width, _, f, scans):
            operated = [t.array_of(width) if scans else t for op in exp.ops for t in op.op.ret]
            return (*operated, *[t.array_of(width) for t in f.ret[exp.num_ops :]])
        case WithAcc(width, _, f, dests):
            return (*[types[xs] for xs in dests], *[t.array_of(width) for t in f.ret[len(dests) :]])
        case Accumulate(accs):
            return tuple(types[xs] for xs in accs)
        case Hist() | Scatter() | SegScatter() | SegHist():
            return tuple(types[xs] for xs in exp.dests)
        case SegMap(_, space, _, ret) | SegScan(_, space, _, _, ret):
            return tuple(t.array_of(*space.widths) for t in ret)
        case SegRed(_, space, _, _, ret):
            count = exp.num_reds
            reduced = tuple(t.array_of(*space.widths[:-1]) for t in ret[:count])
            return reduced + tuple(t.array_of(*space.widths) for t in ret[count:])
        case _:
            return (type_of_basic(exp, types),)


def type_of_basic(exp: Basic, types: Types) -> Type:
    """The type of the one result of a basic operation."""
    match exp:
        case Copied(atom):
            return type_of(atom, types)
        case PrimOp(op, prim, _):
            return scalar(result_type(op, prim))
        case Convert(_, target, _):
            return scalar(target)
        case Index(array, dims, _):
            return Type(types[array].prim, tuple(d.count for d in dims if not isinstance(d, Fix)))
        case Update(array, _, _, _) | Copy(array):
            return types[array]
        case Iota(count, _, _, prim):
            return Type(prim, (count,))
        case Replicate(shape, value):
            return type_of(value, types).array_of(*shape)
        case Scratch(type_):
            return type_
        case ArrayLit(elems, row):
            return row.array_of(i64(len(elems)))
        case Rearrange(perm, array):
            return Type(types[array].prim, tuple(types[array].shape[k] for k in perm))
        case Reshape(shape, array):
            return Type(types[array].prim, shape)
        case Concat(arrays, width):
            return types[arrays[0]].row().array_of(width)
        case Assert() | GuardCmp():
            return BOOL
        case SizeParam():
            return I64
