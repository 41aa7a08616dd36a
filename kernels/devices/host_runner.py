"""Runs host programs: every statement becomes a Python closure over numbered slots, once per program.

Scalars are Python values, arrays the device's. A slot of an array is emptied after its last use, so that memory goes
back to the device. Guards are decided here: by a forced version, else by threshold <= parallelism; each decision is
traced.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from ...ir import core, scalar
from ...ir.arrays import settled
from ...ir.core import Fix, ForLoop
from ...ir.depth import allow_depth
from ...ir.errors import RunError, run_error
from ...ir.interpret import Thresholds, prepare
from ...ir.ops import can_fail
from ...ir.records import dataclass
from ...ir.recursion import too_many_calls
from ...ir.types import Atom, Const, Name, Var
from ..host_ir.liveness import conjunction, dead_after
from ..host_ir.nodes import (
    HostBody,
    HostCall,
    HostCallee,
    HostFun,
    HostIf,
    HostLoop,
    HostStm,
    Interpret,
    Launch,
    Over,
    Workers,
)
from ..host_ir.timing_events import Begin, End, Event, Note
from .device import Device, KernelCall, OutOfMemory, default_of
from .run_errors import check_bounds, room_error, show_scalar


@dataclass(slots=True)
class Run:
    """One call of an entry point: settings, what it has decided so far; with a `log` it is timed by `clock`, and its
    events are put there. `calls`: how many calls of each recursive function are open."""

    device: Device
    thresholds: Mapping[str, int]
    forced: Mapping[str, bool]
    threads: int
    log: list[Event] | None = None
    clock: Callable[[], float] = time.monotonic
    trace: list[tuple[str, int, bool]] = field(default_factory=list)
    calls: dict[Name, int] = field(default_factory=dict[Name, int])


Env = list[Any]
Step = Callable[[Env, Run], None]


@dataclass(frozen=True, slots=True)
class Code:
    """An entry, compiled."""

    fun: HostFun
    function: Function

    def shown(self, results: list[Any], own: Callable[[Any], Any]) -> list[Any]:
        """What the user sees: scalars of NumPy's types, arrays as `own` gives them, without sizes that are only
        sizes."""
        wanted = [k for result in self.fun.entry.results for k in result.components]
        typed = [(results[k], self.fun.results[k].type) for k in wanted]
        return [own(value) if t.shape else scalar.DTYPES[t.prim].type(value) for value, t in typed]


@dataclass(frozen=True, slots=True)
class Function:
    """A compiled host function: its frame before a call, where its parameters are, its body."""

    frame: Env
    params: tuple[int, ...]
    block: Block

    def call(self, args: Iterator[Any], run: Run) -> list[Any]:
        """Its results. An iterator keeps no array beyond its last use."""
        env = self.frame.copy()
        for slot, arg in zip(self.params, args, strict=True):
            env[slot] = arg
        self.block.run(env, run)
        return [env[slot] for slot in self.block.results]


@dataclass(frozen=True, slots=True)
class Block:
    """A compiled body: its statements, a step for each, and the slots to empty after it."""

    stms: tuple[HostStm, ...]
    steps: tuple[tuple[Step, tuple[int, ...]], ...]
    results: tuple[int, ...]

    def run(self, env: Env, run: Run) -> None:
        at = 0
        try:
            for at, (step, dead) in enumerate(self.steps):  # noqa: B007  (said of a step that fails)
                step(env, run)
                for slot in dead:
                    env[slot] = None
        except OutOfMemory as why:
            raise no_room(why, self.stms[at]) from None


@dataclass(frozen=True, slots=True)
class Callee:
    """A compiled function that others of the program call, and itself."""

    fun: HostCallee
    function: Function

    def call(self, args: list[Any], run: Run) -> list[Any]:
        """Its results; R0107 where too many of its calls are open."""
        open_calls = run.calls.get(self.fun.name, 0)
        if open_calls >= self.fun.depth:
            raise too_many_calls(self.fun.name.base, self.fun.depth, self.fun.loc)
        taken = (run.device.dense(x) if p.type.shape else x for p, x in zip(self.fun.params, args, strict=True))
        run.calls[self.fun.name] = open_calls + 1
        try:
            return self.function.call(taken, run)
        except RecursionError:
            raise too_many_calls(self.fun.name.base, open_calls, self.fun.loc) from None
        finally:
            run.calls[self.fun.name] = open_calls


def compile_host(fun: HostFun) -> Code:
    """A host function as steps; it may be run many times, also by several threads."""
    compiler = HostCompiler()
    if fun.callees:
        allow_depth()
    for callee in fun.callees:
        inner = HostCompiler(callees=compiler.callees)
        compiler.callees[callee.name] = Callee(callee, inner.function(callee.params, callee.body))
    return Code(fun, compiler.function(fun.params, fun.body))


@dataclass(slots=True)
class HostCompiler:
    """A host function under construction: slots by name and by constant, the frame that a call begins with, and the
    thresholds that each condition of guards is made of."""

    slots: dict[Name, int] = field(default_factory=dict)
    consts: dict[Const, int] = field(default_factory=dict)
    frame: Env = field(default_factory=list)
    guards: dict[Name, tuple[str, ...]] = field(default_factory=dict)
    callees: dict[Name, Callee] = field(default_factory=dict[Name, Callee])

    def function(self, params: tuple[core.Param, ...], body: HostBody) -> Function:
        return Function(self.frame, tuple(self.slot(p.name) for p in params), self.block(body))

    def slot(self, name: Name) -> int:
        if name not in self.slots:
            self.slots[name] = len(self.frame)
            self.frame.append(None)
        return self.slots[name]

    def get(self, atom: Atom) -> int:
        """The slot of an atom; that of a constant holds it from the start."""
        if isinstance(atom, Var):
            return self.slot(atom.name)
        if atom not in self.consts:
            self.consts[atom] = len(self.frame)
            self.frame.append(atom.value)
        return self.consts[atom]

    def gets(self, atoms: tuple[Atom, ...]) -> tuple[int, ...]:
        return tuple(self.get(a) for a in atoms)

    def values(self, atoms: tuple[Atom, ...]) -> Callable[[Env], tuple[int, ...]]:
        slots = self.gets(atoms)
        return lambda env: tuple([env[s] for s in slots])

    def shape(self, sizes: tuple[Atom, ...]) -> Callable[[Env], tuple[int, ...]]:
        values = self.values(sizes)
        return lambda env: settled(values(env))

    def block(self, body: HostBody) -> Block:
        dead = dead_after(body)
        steps = tuple((self.step(s), tuple(self.slot(n) for n in d)) for s, d in zip(body.stms, dead, strict=True))
        return Block(body.stms, steps, self.gets(body.result))

    def bind(self, stm: HostStm, value: Callable[[Env, Run], Any]) -> Step:
        slot = self.slot(stm.pat[0].name)

        def step(env: Env, run: Run) -> None:
            env[slot] = value(env, run)

        return step

    def step(self, stm: HostStm) -> Step:
        exp = stm.exp
        match exp:
            case Launch():
                return self.launch(exp)
            case HostIf():
                return self.branch(stm, exp)
            case HostLoop():
                return self.loop(stm, exp)
            case Interpret():
                return self.interpret(stm, exp)
            case HostCall():
                return self.call(stm, exp)
            case core.PrimOp():
                return self.primop(stm, exp)
            case core.Index():
                return self.index(stm, exp)
            case core.Update():
                return self.update(stm, exp)
            case core.Assert():
                return self.check(stm, exp)
            case core.GuardCmp():
                return self.guard(stm, exp)
            case _:
                return self.bind(stm, self.bulk(stm, exp))

    # ---- scalars --------------------------------------------------------------------------------------------------

    def primop(self, stm: HostStm, exp: core.PrimOp) -> Step:
        args, meaning, loc = self.gets(exp.args), scalar.meaning(exp.op, exp.prim), stm.loc
        if (guards := conjunction(exp, self.guards)) is not None:
            self.guards[stm.pat[0].name] = guards
        slot = self.slot(stm.pat[0].name)
        if can_fail(exp.op, exp.prim):

            def value(env: Env, run: Run) -> Any:
                try:
                    return meaning(*[env[a] for a in args])
                except scalar.ScalarFailure as failure:
                    raise run_error(failure.code, failure.text, loc) from None

            return self.bind(stm, value)
        if len(args) == 2:
            x, y = args

            def binary(env: Env, run: Run) -> None:
                env[slot] = meaning(env[x], env[y])

            return binary

        def step(env: Env, run: Run) -> None:
            env[slot] = meaning(*[env[a] for a in args])

        return step

    def check(self, stm: HostStm, exp: core.Assert) -> Step:
        cond, code, loc = self.get(exp.cond), exp.code, stm.loc
        parts = tuple(p if isinstance(p, str) else self.get(p) for p in exp.parts)

        def value(env: Env, run: Run) -> Any:
            if not env[cond]:
                text = "".join(p if isinstance(p, str) else show_scalar(env[p]) for p in parts)
                raise run_error(code, text, loc)
            return True

        return self.bind(stm, value)

    def guard(self, stm: HostStm, exp: core.GuardCmp) -> Step:
        name, par, pays = exp.threshold, self.get(exp.par), self.get(exp.pays)
        self.guards[stm.pat[0].name] = (name,)

        def value(env: Env, run: Run) -> bool:
            size = env[par]
            taken = False if size < 0 else run.forced.get(name)
            if taken is None:
                setting = run.thresholds.get(name)
                pays_here = bool(env[pays]) and default_of(run.device, name, run.threads) <= size
                taken = pays_here if setting is None else setting <= size
            run.trace.append((name, size, taken))
            if run.log is not None:
                run.log.append(Note(name, size, taken))
            return taken

        return self.bind(stm, value)

    # ---- arrays ---------------------------------------------------------------------------------------------------

    def bulk(self, stm: HostStm, exp: core.Basic | Over | Workers) -> Callable[[Env, Run], Any]:
        match exp:
            case core.Copied(atom):
                get = self.get(atom)
                return lambda env, run: env[get]
            case core.Convert(source, target, arg):
                get, convert = self.get(arg), scalar.conversion(source, target)
                return lambda env, run: convert(env[get])
            case core.Iota(count, start, step, prim):
                width, first, by = self.shape((count,)), self.get(start), self.get(step)
                return lambda env, run: run.device.iota(width(env)[0], env[first], env[by], prim)
            case core.Replicate(shape, value):
                widths, get, prim = self.shape(shape), self.get(value), stm.pat[0].type.prim
                return lambda env, run: run.device.replicate(widths(env), env[get], prim)
            case core.Scratch(type_) | Over(type_):
                widths = self.shape(type_.shape)
                return lambda env, run: run.device.scratch(type_.prim, widths(env))
            case core.ArrayLit(elems, row):
                gets, widths = self.gets(elems), self.shape(stm.pat[0].type.shape)
                return lambda env, run: run.device.literal([env[g] for g in gets], row.prim, widths(env))
            case core.Rearrange(perm, array):
                slot = self.slot(array)
                return lambda env, run: run.device.rearrange(env[slot], perm)
            case core.Reshape(shape, array):
                slot, widths = self.slot(array), self.shape(shape)
                return lambda env, run: run.device.reshape(env[slot], widths(env))
            case core.Concat(arrays, _):
                slots, type_ = tuple(self.slot(a) for a in arrays), stm.pat[0].type
                widths = self.shape(type_.shape)
                return lambda env, run: run.device.concat([env[s] for s in slots], type_.prim, widths(env))
            case core.SizeParam(name, default):
                return lambda env, run: run.thresholds.get(name, 0) or default
            case Workers():
                return lambda env, run: run.threads
            case core.Copy(array):
                slot = self.slot(array)
                return lambda env, run: run.device.copy(env[slot])
            case _:
                raise AssertionError(f"not a bulk operation: {exp}")

    def place(self, dims: tuple[core.DimIndex, ...]) -> Callable[[Env], tuple[int | tuple[int, int, int], ...]]:
        """Indices as ints, slices as (start, count, stride)."""
        if all(isinstance(d, Fix) for d in dims):
            return self.values(tuple(d.index for d in dims if isinstance(d, Fix)))
        slots = tuple(
            self.get(d.index) if isinstance(d, Fix) else self.gets((d.start, d.count, d.stride)) for d in dims
        )
        return lambda env: tuple([env[s] if isinstance(s, int) else (env[s[0]], env[s[1]], env[s[2]]) for s in slots])

    def index(self, stm: HostStm, exp: core.Index) -> Step:
        slot, place, safe, loc = self.slot(exp.array), self.place(exp.dims), exp.safe, stm.loc
        is_scalar = not stm.pat[0].type.shape

        def value(env: Env, run: Run) -> Any:
            array, dims = env[slot], place(env)
            if not safe:
                check_bounds(dims, array.shape, loc)
            if is_scalar:
                return run.device.read(array, dims)  # type: ignore[arg-type]
            return run.device.view(array, as_slices(dims))

        return self.bind(stm, value)

    def update(self, stm: HostStm, exp: core.Update) -> Step:
        slot, place, safe, loc = self.slot(exp.array), self.place(exp.dims), exp.safe, stm.loc
        get = self.get(exp.value)

        def value(env: Env, run: Run) -> Any:
            array, dims = env[slot], place(env)
            if not safe:
                check_bounds(dims, array.shape, loc)
            run.device.write(array, as_slices(dims), env[get])
            return array

        return self.bind(stm, value)

    # ---- launches and control -------------------------------------------------------------------------------------

    def launch(self, exp: Launch) -> Step:
        blocks, scalars = self.get(exp.blocks), self.gets(exp.scalars)
        arrays, kernel = tuple(self.slot(a) for a in exp.arrays), exp.kernel
        units, work, sizes = self.get(exp.units), exp.work, tuple(size.name for size in exp.sizes)

        def step(env: Env, run: Run) -> None:
            count = env[blocks]
            if count > 0:
                held, values = [env[s] for s in arrays], [env[s] for s in scalars]
                asked = [run.thresholds.get(name, 0) for name in sizes]
                run.device.launch(KernelCall(kernel, count, held, values, work * env[units], asked))

        return step

    def branch(self, stm: HostStm, exp: HostIf) -> Step:
        cond, then, orelse = self.get(exp.cond), self.block(exp.then), self.block(exp.orelse)
        slots = tuple(self.slot(p.name) for p in stm.pat)
        dense = tuple(bool(p.type.shape) for p in stm.pat)

        def step(env: Env, run: Run) -> None:
            block = then if env[cond] else orelse
            block.run(env, run)
            store(env, run, slots, dense, [env[r] for r in block.results])

        guards = self.guards.get(exp.cond.name) if isinstance(exp.cond, Var) else None
        return step if guards is None else timed(step, guards)

    def loop(self, stm: HostStm, exp: HostLoop) -> Step:
        inits = self.gets(exp.inits)
        params = tuple(self.slot(p.name) for p in exp.params)
        slots = tuple(self.slot(p.name) for p in stm.pat)
        dense = tuple(bool(p.type.shape) for p in stm.pat)
        form = exp.form
        if isinstance(form, ForLoop):
            index, bound, cond = self.slot(form.index), self.get(form.bound), 0
        else:
            index, bound, cond = 0, None, self.slot(form.cond)
        body = self.block(exp.body)

        def advance(env: Env, run: Run) -> None:
            body.run(env, run)
            store(env, run, params, dense, [env[r] for r in body.results])

        def step(env: Env, run: Run) -> None:
            store(env, run, params, dense, [env[i] for i in inits])
            if bound is not None:
                for i in range(env[bound]):
                    env[index] = i
                    advance(env, run)
            else:
                while env[cond]:
                    advance(env, run)
            for slot, param in zip(slots, params, strict=True):
                env[slot] = env[param]

        return step

    def call(self, stm: HostStm, exp: HostCall) -> Step:
        """The callee is looked up when it is called: it may not be compiled yet."""
        args, slots = self.gets(exp.args), tuple(self.slot(p.name) for p in stm.pat)
        dense, loc, name = tuple(bool(p.type.shape) for p in stm.pat), stm.loc, exp.function

        def step(env: Env, run: Run) -> None:
            try:
                results = self.callees[name].call([env[a] for a in args], run)
            except RunError as error:
                raise RunError(*[diag.called(loc.as_call) for diag in error.diagnostics]) from None
            store(env, run, slots, dense, results)

        return step

    def interpret(self, stm: HostStm, exp: Interpret) -> Step:
        """The oracle runs the statement on the values of what it uses."""
        prepared = prepare(core.Prog((), (exp.fun, *exp.callees), 0))
        args = tuple((self.slot(n), p.type) for n, p in zip(exp.args, exp.fun.params, strict=True))
        slots = tuple(self.slot(p.name) for p in stm.pat)
        dense = tuple(bool(p.type.shape) for p in stm.pat)

        def step(env: Env, run: Run) -> None:
            device = run.device
            values = [device.to_host(env[s]) if t.shape else scalar.DTYPES[t.prim].type(env[s]) for s, t in args]
            results, _ = prepared.run(str(exp.fun.name), values, Thresholds())
            for slot, is_array, value in zip(slots, dense, results, strict=True):
                env[slot] = device.from_host(value) if is_array else value.item()

        return step


def timed(step: Step, guards: tuple[str, ...]) -> Step:
    """`step`, which logs when it begins and ends if the run is timed."""

    def step_and_log(env: Env, run: Run) -> None:
        if run.log is None:
            step(env, run)
            return
        run.log.append(Begin(guards, run.clock()))
        step(env, run)
        run.log.append(End(run.clock()))

    return step_and_log


def store(env: Env, run: Run, slots: tuple[int, ...], dense: tuple[bool, ...], values: list[Any]) -> None:
    """Bind results; arrays bound by control flow are dense, so that kernels may take them as they are."""
    for slot, is_array, value in zip(slots, dense, values, strict=True):
        env[slot] = run.device.dense(value) if is_array else value


def as_slices(dims: tuple[Any, ...]) -> tuple[int | slice, ...]:
    """(start, count, stride) as Python slices."""
    return tuple(as_slice(*d) if isinstance(d, tuple) else d for d in dims)


def as_slice(start: int, count: int, stride: int) -> slice:
    """The elements start, start + stride, .. (`count` of them) as a slice. Raises NotImplementedError for a stride of
    0."""
    if count == 0:
        return slice(0, 0, 1)
    if stride == 0:
        raise NotImplementedError("slice with stride 0")
    end = start + count * stride
    return slice(start, end if end >= 0 else None, stride)


def no_room(why: OutOfMemory, stm: HostStm) -> RunError:
    """R0301 for the arrays of a statement."""
    names = ", ".join(f"`{p.name.base}`" for p in stm.pat if p.type.shape)
    inside = "arrays inside a kernel, or " if isinstance(stm.exp, Launch) else ""
    return room_error(why, names or f"{inside}a copy of an argument", stm.loc)
