"""The host program: what is left of a flat program when every segop has become kernel launches.

The nodes of core stay (scalars, views, bulk operations, if, loop); a segop becomes `Scratch` for its results and
`Launch`. What no kernel can do (yet) is kept as it is and run by the interpreter: never refused, never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ...ir import core
from ...ir.core import ForLoop, Param, WhileLoop
from ...ir.errors import Loc
from ...ir.records import dataclass
from ...ir.show import show_atom, show_exp, show_size, show_type
from ...ir.types import Atom, Name, Type
from ..kernel_ir.nodes import Kernel


@dataclass(frozen=True, slots=True)
class Launch:
    """`launch k [blocks] (arrays) (scalars) sizes`: run the kernel's body for every block.

    `writes`: for each array, does the kernel write it. `units` is a size of the whole launch and `work` the estimated
    cost of one of them (kernels/analysis/cost.py), by which small launches begin on the calling thread alone. `sizes`:
    how the device lays blocks on its threads, as far as that may be set (kernels/host_ir/launch_parameters.py)."""

    kernel: str
    blocks: Atom
    arrays: tuple[Name, ...]
    scalars: tuple[Atom, ...]
    writes: tuple[bool, ...]
    units: Atom
    work: float
    sizes: tuple[core.SizeParam, ...]


@dataclass(frozen=True, slots=True)
class Interpret:
    """A statement that is run by the interpreter, as the body of `fun`, on `args`; `why` says what has no kernel
    form."""

    fun: core.FunDef
    callees: tuple[core.FunDef, ...]
    args: tuple[Name, ...]
    why: str


@dataclass(frozen=True, slots=True)
class HostIf:
    """One of two bodies, by a scalar of the host."""

    cond: Atom
    then: HostBody
    orelse: HostBody


@dataclass(frozen=True, slots=True)
class HostLoop:
    """A loop of the host: `params` begin as `inits`, the body gives their next values. `sizes`: how its launches come
    to the device, as those of `Launch`."""

    params: tuple[Param, ...]
    inits: tuple[Atom, ...]
    form: ForLoop | WhileLoop
    body: HostBody
    sizes: tuple[core.SizeParam, ...] = ()


@dataclass(frozen=True, slots=True)
class HostCall:
    """`call f (args)`: run the body of a callee of this function."""

    function: Name
    args: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Over:
    """`scratch t over x`: memory for an array of a type, that of `operand` if it has that type and nothing else refers
    to it."""

    type: Type
    operand: Name


@dataclass(frozen=True, slots=True)
class Workers:
    """`workers`: i64, how many threads of the host the call may use. No result depends on it."""


HostExp = core.Basic | Launch | Interpret | HostIf | HostLoop | HostCall | Over | Workers


@dataclass(frozen=True, slots=True)
class HostStm:
    """Binds the results of an expression; `loc` is where a failure is reported."""

    pat: tuple[Param, ...]
    exp: HostExp
    loc: Loc


@dataclass(frozen=True, slots=True)
class HostBody:
    """Statements in order of execution, and the atoms that the body gives."""

    stms: tuple[HostStm, ...]
    result: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class HostCallee:
    """A function that others of the program call, or itself; `depth`: how many calls of it may be open at once."""

    name: Name
    params: tuple[Param, ...]
    results: tuple[Param, ...]
    body: HostBody
    depth: int
    loc: Loc


@dataclass(frozen=True, slots=True)
class HostFun:
    """An entry point: as `core.FunDef`, with a host body, and those of the functions that it calls."""

    entry: core.Entry
    params: tuple[Param, ...]
    consumes: tuple[Name, ...]
    results: tuple[Param, ...]
    body: HostBody
    callees: tuple[HostCallee, ...] = ()

    @property
    def bodies(self) -> tuple[HostBody, ...]:
        """Its own and those of its callees."""
        return (self.body, *[callee.body for callee in self.callees])


@dataclass(frozen=True, slots=True)
class HostProgram:
    """Host functions, and the kernels that they launch by name."""

    functions: tuple[HostFun, ...]
    kernels: tuple[Kernel, ...]


def bodies_of(exp: HostExp) -> tuple[HostBody, ...]:
    """Those of a host expression."""
    match exp:
        case HostIf(_, then, orelse):
            return then, orelse
        case HostLoop(_, _, _, body):
            return (body,)
        case _:
            return ()


def map_bodies(exp: HostExp, change: Callable[[HostBody], HostBody]) -> HostExp:
    """A host expression with its bodies changed."""
    match exp:
        case HostIf(cond, then, orelse):
            return HostIf(cond, change(then), change(orelse))
        case HostLoop(body=body):
            return replace(exp, body=change(body))
        case _:
            return exp


def map_function(fun: HostFun, change: Callable[[HostBody], HostBody]) -> HostFun:
    """A host function with its body and those of its callees changed."""
    callees = tuple([replace(callee, body=change(callee.body)) for callee in fun.callees])
    return replace(fun, body=change(fun.body), callees=callees)


def statements(*bodies: HostBody) -> Iterator[HostStm]:
    """All of some bodies, those of branches and loops too."""
    for body in bodies:
        for stm in body.stms:
            yield stm
            yield from statements(*bodies_of(stm.exp))


def launches(*bodies: HostBody) -> Iterator[Launch]:
    """All launches of some bodies, those of branches and loops too."""
    return (stm.exp for stm in statements(*bodies) if isinstance(stm.exp, Launch))


def show_host(program: HostProgram) -> str:
    """The host program as text, for people (`soac dev --emit=host`)."""
    return "\n\n".join(_show_fun(f) for f in program.functions) + "\n"


def _show_fun(fun: HostFun) -> str:
    shown = [_show_definition(str(callee.name), callee) for callee in fun.callees]
    return "\n\n".join([*shown, _show_definition(fun.entry.name, fun)])


def _show_definition(name: str, fun: HostFun | HostCallee) -> str:
    params = " ".join(f"({p.name}: {show_type(p.type)})" for p in fun.params)
    results = ", ".join(show_type(r.type) for r in fun.results)
    return f"host {name} {params} : ({results}) =\n" + _show_body(fun.body, 1)


def _show_body(body: HostBody, depth: int) -> str:
    pad = "  " * depth
    lines = [pad + _show_stm(stm, depth) for stm in body.stms]
    return "\n".join([*lines, f"{pad}in {{{', '.join(map(show_atom, body.result))}}}"])


def _show_stm(stm: HostStm, depth: int) -> str:
    pat = ", ".join(f"{p.name}: {show_type(p.type)}" for p in stm.pat)
    shown = _show_exp(stm.exp, depth)
    return f"let ({pat}) = {shown}" if stm.pat else shown


def _show_exp(exp: HostExp, depth: int) -> str:
    pad = "  " * depth
    match exp:
        case Launch(kernel, blocks, arrays, scalars):
            args = ", ".join([*map(str, arrays), *map(show_atom, scalars)])
            sizes = "".join(f" {size.name}={size.default}" for size in exp.sizes)
            return f"launch {kernel}[{show_size(blocks)}]({args}){sizes}"
        case Interpret(fun, _, _, why):
            return f"interpret -- {why}\n{pad}  {show_exp(fun.body.stms[0].exp)}"
        case Over(type_, operand):
            return f"scratch {show_type(type_)} over {operand}"
        case Workers():
            return "workers"
        case HostCall(function, args):
            return f"call {function}({', '.join(map(show_atom, args))})"
        case HostIf(cond, then, orelse):
            branches = f"then\n{_show_body(then, depth + 1)}\n{pad}else\n{_show_body(orelse, depth + 1)}"
            return f"if {show_atom(cond)} {branches}"
        case HostLoop(params, inits, form, body, sizes):
            shown = ", ".join(f"{p.name} = {show_atom(i)}" for p, i in zip(params, inits, strict=True))
            how = f"for {form.index} < {show_atom(form.bound)}" if isinstance(form, ForLoop) else f"while {form.cond}"
            set_by = "".join(f" {size.name}={size.default}" for size in sizes)
            return f"loop ({shown}) {how}{set_by} do\n{_show_body(body, depth + 1)}"
        case _:
            return show_exp(exp)
