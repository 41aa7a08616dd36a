"""The emitter of one host function: scalars in stack slots, arrays as descriptors in the frame, failures.

A descriptor (`descriptors.py`) is buffer, address, sizes, strides; all of a function have the same number of words, so
that the frame can be released as a whole. `bind` makes an array dense, as what branches and loops bind must be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from .....ir.core import Param
from .....ir.errors import Loc
from .....ir.records import dataclass
from .....ir.types import Atom, Const, Name, Prim, Var
from ....host_ir.nodes import HostBody, HostCallee, HostLoop, HostStm, Launch, statements
from ....llvm.convert import convert, from_memory, to_memory, to_record
from ....llvm.text import SCALAR, Code, Vec, literal, llvm_type, memory_type
from ..runtime.assembly import Status, Word
from .failure_sites import MemorySite, Site, recorded
from .layout import Setting

BUFFER, DATA, SIZES = 0, 1, 2
"""Words of a descriptor; the strides stand behind the sizes."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar variable: its stack slot."""

    prim: Prim
    slot: str


@dataclass(frozen=True, slots=True)
class Array:
    """An array variable: its descriptor, and whether it is known to be dense."""

    pointer: str
    prim: Prim
    rank: int
    dense: bool


@dataclass(frozen=True, slots=True)
class Backend:
    """What of host programs depends on the device. `is_here`: kernels use the memory of the host program; `functions`:
    of its runtime, which are called `soac_NAME_..` there; `record`: words of a failure record; `read` gives what is at
    an address and `write` changes it; `fill` writes a scalar to all of an array, `constants` bytes; `launch` launches a
    kernel, `end` waits for what a call began."""

    name: str
    is_here: bool
    functions: Mapping[str, tuple[str, tuple[str, ...]]]
    record: int
    read: Callable[[Emitter, Prim, str], str]
    write: Callable[[Emitter, Prim, str, str], None]
    fill: Callable[[Emitter, Array, Atom], None]
    constants: Callable[[Emitter, Array, bytes], None]
    launch: Callable[[Emitter, HostStm, Launch], None]
    end: Callable[[Emitter], None]


@dataclass(frozen=True, slots=True)
class Callee:
    """A function that an entry calls: its symbol, and which word counts its open calls (`callees.py`)."""

    symbol: str
    place: int
    fun: HostCallee


@dataclass(slots=True)
class Emitter:
    """`words`: of a descriptor. `slots`: words of the longest table of a launch; `passed`: of the longest of a call.
    `first_setting`: where thresholds and sizes start in the state. `far`: the kernels with a second form, which is for
    calls whose last scalar holds. `guards`: the thresholds behind a condition; `branches`: those behind the branches
    that guards decide, by number; `calls`: the places of calls, by number; `what`: the arrays that the statement at
    hand makes, in words; `loops`: how many loops are around it; `again`: the arrays that take the memory that they had
    in the iteration before; `in_frame`: those that have memory in the frame."""

    backend: Backend
    code: Code
    words: int
    first_setting: int
    scalars: dict[Name, Scalar] = field(default_factory=dict)
    arrays: dict[Name, Array] = field(default_factory=dict)
    far: frozenset[str] = frozenset()
    kernels: dict[str, int] = field(default_factory=dict)
    settings: list[Setting] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    guards: dict[Name, tuple[str, ...]] = field(default_factory=dict)
    branches: list[tuple[str, ...]] = field(default_factory=list)
    calls: list[Loc] = field(default_factory=list)
    callees: Mapping[Name, Callee] = field(default_factory=dict[Name, Callee])
    descriptors: int = 0
    slots: int = 2
    passed: int = 0
    what: str = ""
    loops: int = 0
    again: set[Name] = field(default_factory=set[Name])
    in_frame: frozenset[Name] = frozenset()

    @property
    def one(self) -> Vec:
        """Instructions on scalars."""
        return Vec(self.code, SCALAR)


def params_of(body: HostBody) -> Iterator[Param]:
    """All that a body binds, at any depth."""
    for stm in statements(body):
        yield from stm.pat
        if isinstance(stm.exp, HostLoop):
            yield from stm.exp.params


def highest_rank(params: Iterable[Param], body: HostBody) -> int:
    """The most dimensions that an array of a function has, at any depth; 0 without arrays."""
    return max((p.type.rank for p in (*params, *params_of(body))), default=0)


def locals_of(h: Emitter) -> list[str]:
    """The first lines of a function: its tables, its status, and where failures are recorded."""
    return [
        f"  %table = alloca [{h.slots} x i64], align 16",
        f"  %passed = alloca [{h.passed} x i64], align 8",
        "  %status = alloca i64, align 8",
        f"  %record.place = getelementptr i64, ptr %state, i64 {int(Word.RECORD)}",
        "  %record = load ptr, ptr %record.place",
    ]


# ---- scalars -----------------------------------------------------------------------------------------------------


def value(h: Emitter, atom: Atom) -> str:
    """The text of a scalar: a literal, or what its slot holds now."""
    match atom:
        case Const(prim, constant):
            return literal(prim, constant)
        case Var(name):
            scalar = h.scalars[name]
            return h.code.op(f"load {llvm_type(scalar.prim)}, ptr {scalar.slot}")


def prim_of(h: Emitter, atom: Atom) -> Prim:
    """The type of a scalar."""
    return atom.prim if isinstance(atom, Const) else h.scalars[atom.name].prim


def number(h: Emitter, atom: Atom) -> str:
    """An integer as an i64."""
    return convert(h.one, prim_of(h, atom), Prim.I64, value(h, atom))


def bind_scalar(h: Emitter, name: Name, prim: Prim, text: str) -> None:
    """A scalar := a text; its slot of 8 bytes is made where it is first bound."""
    if name not in h.scalars:
        h.scalars[name] = Scalar(prim, h.code.slot(llvm_type(prim), 8))
    h.code.do(f"store {llvm_type(prim)} {text}, ptr {h.scalars[name].slot}")


def is_array(h: Emitter, atom: Atom) -> bool:
    """Whether an atom names an array."""
    return isinstance(atom, Var) and atom.name in h.arrays


def operand(h: Emitter, atom: Atom) -> Array:
    """The descriptor of an atom that is an array."""
    assert isinstance(atom, Var)
    return h.arrays[atom.name]


def read_scalar(h: Emitter, prim: Prim, pointer: str) -> str:
    """What memory holds at a place."""
    stored = h.code.op(f"load {memory_type(prim)}, ptr {pointer}, align 1")
    return from_memory(h.one, prim, stored)


def write_scalar(h: Emitter, prim: Prim, text: str, pointer: str) -> None:
    """Store a scalar, at any address."""
    h.code.do(f"store {memory_type(prim)} {to_memory(h.one, prim, text)}, ptr {pointer}, align 1")


# ---- arrays ------------------------------------------------------------------------------------------------------


def descriptor(h: Emitter, prim: Prim, rank: int, dense: bool) -> Array:
    """A new descriptor in the frame, empty from the start."""
    at, h.descriptors = h.descriptors * h.words, h.descriptors + 1
    pointer = f"%d{at}"
    h.code.entry.append(f"  {pointer} = getelementptr i64, ptr %frame, i64 {at}")
    return Array(pointer, prim, rank, dense)


def declare_array(h: Emitter, param: Param, dense: bool) -> Array:
    """A descriptor for a name, empty from the start; `dense`: what it will hold is known to be dense."""
    h.arrays[param.name] = descriptor(h, param.type.prim, param.type.rank, dense)
    return h.arrays[param.name]


def place(h: Emitter, pointer: str, word: int) -> str:
    """ptr: word number `word` behind a pointer."""
    return h.code.op(f"getelementptr i64, ptr {pointer}, i64 {word}") if word else pointer


def get(h: Emitter, array: Array, word: int) -> str:
    """i64: a word of a descriptor."""
    return h.code.op(f"load i64, ptr {place(h, array.pointer, word)}")


def put(h: Emitter, array: Array, word: int, text: str) -> None:
    """A word of a descriptor := an i64."""
    h.code.do(f"store i64 {text}, ptr {place(h, array.pointer, word)}")


def size(h: Emitter, array: Array, k: int) -> str:
    """i64: the elements of dimension `k`."""
    return get(h, array, SIZES + k)


def stride(h: Emitter, array: Array, k: int) -> str:
    """i64: the bytes from one element of dimension `k` to the next."""
    return get(h, array, SIZES + array.rank + k)


def call(h: Emitter, name: str, *args: str) -> None:
    """A function of the runtime."""
    h.code.call_void(name, tuple(zip(h.backend.functions[name][1], args, strict=True)))


def ask(h: Emitter, name: str, *args: str) -> str:
    """The i64 that a function of the runtime gives."""
    return h.code.call(name, "i64", tuple(zip(h.backend.functions[name][1], args, strict=True)))


def release(h: Emitter, array: Array) -> None:
    """Give the reference to the buffer back, if there is one; the descriptor holds none then."""
    if h.loops and h.backend.is_here:
        call(h, "soac_host_spare", "%state", array.pointer)
    else:
        call(h, "soac_host_release", array.pointer)


def forget(h: Emitter, name: Name) -> None:
    """What was used last: its memory is given back, or put by for the next iteration."""
    if name in h.again:
        call(h, "soac_host_put_by", h.arrays[name].pointer)
    elif name not in h.in_frame:
        release(h, h.arrays[name])


def move(h: Emitter, target: Array, source: Array) -> None:
    """The target gets the reference, address, sizes and strides of the source, which holds no reference then."""
    call(h, "soac_host_move", target.pointer, source.pointer, str(source.rank))


def obtain(h: Emitter, how: str, target: Array, source: Array, loc: Loc) -> None:
    """target = source by `fresh` (a copy), `bind` (a copy if need be) or `give` (for results)."""
    size_of = str(source.prim.bytes)
    status = ask(h, f"soac_host_{how}", "%state", target.pointer, source.pointer, str(source.rank), size_of)
    unless_memory(h, status, source, loc)


def allocate(h: Emitter, array: Array, loc: Loc, how: str = "scratch", *others: str) -> None:
    """Memory for the sizes in the descriptor: `again` takes what was put by, `over` that of another descriptor."""
    status = ask(h, f"soac_host_{how}", "%state", array.pointer, *others, str(array.rank), str(array.prim.bytes))
    unless_memory(h, status, array, loc)


def unless_memory(h: Emitter, status: str, array: Array, loc: Loc) -> None:
    """Fail with the sizes of `array` if there was no memory for it."""
    site = MemorySite(array.prim, array.rank, loc, h.what)
    fail_if(h, h.code.op(f"icmp ne i64 {status}, 0"), site, lambda: sizes(h, array))


def sizes(h: Emitter, array: Array) -> tuple[str, ...]:
    """The sizes of all dimensions."""
    return tuple(size(h, array, k) for k in range(array.rank))


# ---- failures ----------------------------------------------------------------------------------------------------


def fail_if(h: Emitter, bad: str, site: Site, values: Callable[[], tuple[str, ...]]) -> None:
    """Leave with the site and its values if `bad` holds; the values are computed then."""
    code, number = h.code, len(h.sites)
    h.sites.append(site)
    with code.rarely(bad, code.fresh("fail"), code.fresh("fine")):
        for k, (prim, text) in enumerate(zip(recorded(site), values(), strict=True), start=1):
            code.do(f"store i64 {to_record(h.one, prim, text)}, ptr {place(h, '%record', k)}")
        code.do(f"store i64 {number}, ptr {place(h, '%state', Word.FAILED)}")
        code.do(f"store i64 {int(Status.SITE)}, ptr %status")
        code.jump("leave")


def stop_if(h: Emitter, status: str) -> None:
    """Leave with a status of the runtime if it is not FINE."""
    fine = h.code.fresh("fine")
    h.code.do(f"store i64 {status}, ptr %status")
    h.code.branch_rarely(h.code.op(f"icmp ne i64 {status}, 0"), "leave", fine)
    h.code.label(fine)
