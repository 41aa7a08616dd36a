"""The LLVM modules of the runtime: the files `*.ll` beside this one, with their constants filled in.

A file is a module of its own, in which `$NAME$` is a constant and `$Struct.field$` the number of a field. The names of
the fields stand behind the type:

    %Buffer = type { i64, i64, i64, ptr }  ; references class capacity given

An operand may be a place, whose address is computed before the instruction (`addressed`):

    load i64, ptr %buffer->Buffer.capacity    a field
    load i64, ptr %state[$THREADS_WORD$]      a word of 8 bytes
    load %Entry, ptr @soac_entries[%Entry %k] an element of another type
    store ptr %x, ptr %rows[%k]->Row.slots[3] a field of an element, a word of an array that is a field

So may a function that is called: `call i32 *%gpu->Gpu.wait(ptr %stream)` loads it. An operand may be an instruction in
parentheses, which is executed before (`unnested`): `ret i64 (sext i32 (load i32, ptr %found) to i64)`. Where a block
has no end, it goes on with the next one, the last one returns, and the first is `entry` (`branched`):

    goto %fail unless %fine && icmp eq ..     else the next line; `if` (with `||`) and `unless` (with `&&`) take values
                                              and instructions
    ret i64 0 if icmp eq i64 %count, 0        likewise
    for %k < %count { .. }                    k from 0; `%next.k` is the place behind the body
    for %k < %count, i64 %sum = 0 then %more { .. }   with a value for each turn

Functions of other modules need no declaration (`declared`). Lines that begin with `linux:` are those of Linux alone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from importlib.resources import files

from ....host_ir.copy_sizes import BAND, CHUNK, DOWN, FAR_BYTES, LINE, ROWS, WIDTHS
from ....host_ir.launch_parameters import TASKS
from ....limits import MAX_THREADS

FOLDER = files(__name__.rpartition(".")[0])
MODULES = ("memory", "descriptors", "copies", "calls", "stack", "trace", "python_call", "python_results")
"""What host programs and their callers link to; the pool is apart."""


class Word:
    """The words of a state; after them parameters, results and thresholds (`host/emit.py`). Numbers, and no enum, since
    every call uses them."""

    ARENAS = 0  # table of arenas
    THREADS = 1  # how many a launch may use
    KERNELS = 2  # table of addresses
    RECORD = 3  # address of the failure record
    STOP = 4  # address of the pool's stop flag
    LISTEN = 5  # look for signals? The main thread does
    NEXT_LOOK = 6  # when, in nanoseconds
    TRACE = 7  # pairs: 2 * guard + taken, parallelism; when timed, also `mark` of a site, nanoseconds
    TRACED = 8  # how many
    TRACE_ROOM = 9  # for how many there is room
    FAILED = 10  # which site of the host or which kernel
    THREAD = 11  # Python's state of this thread, while it is without the lock of the interpreter
    TIMED = 12  # note when each execution of a guard site begins and ends?
    NEED = 13  # what gives the code for a launch of a kernel that has none for all, by its number
    LOST = 14  # a copy was not made, since its kernel could not be compiled
    DEVICE = 15  # the GPU of the call
    SKIP = 16  # how many iterations do not look at the clock
    SEEN = 17  # when one has looked last, in nanoseconds
    CALLS = 18  # the number of the call
    CODE = 19  # the code for a launch that has asked
    SPENT = 20  # how long that took, in nanoseconds
    SPARED = 21  # how many buffers are put by for the next that is asked for,
    SPARES = 22  # which are these (`memory.ll`)
    FIRST = SPARES + 4  # what follows


CALLED = -(1 << 62)
"""What a note of a call that has failed begins with in the trace, before its number."""


class Status(IntEnum):
    """What a host program returns."""

    UNSUITED = -1  # sizes that do not fit each other; and arguments that do not suit, a call that is under way
    FINE = 0
    SITE = 1  # a check of the host failed
    KERNEL = 2  # a check of a kernel failed
    STOPPED = 3
    MEMORY = 4
    NO_CODE = 5  # a kernel could not be compiled
    DRIVER = 6  # the driver of the GPU has refused something


INLINE_WORK = 200_000.0
"""Cost units (kernels/analysis/cost.py) below which a launch begins on the calling thread alone."""

MEMORY = {
    "HEADER": 64,  # bytes of a buffer before its elements
    "LISTS": 512,  # of free buffers
    "LIMIT": 1 << 32,  # bytes of free buffers that are kept; what exceeds them goes back to the system
    "HUGE": 1 << 22,  # bytes from which memory is asked for in large pages: first touches cost less
    "LARGE": 1 << 16,  # bytes of buffers that begin at quarters of a page, in the order 0, 2, 1, 3
    "MOST_SPARES": Word.FIRST - Word.SPARES,
    "SPARE": 2 * 4096 + 127, "IN_PAGE": 4096 - 1, "HALF": 4096 // 2, "QUARTER": 4096 // 4,
}  # fmt: skip

KINDS = ("copy", "transpose", "iota", "tiles_8", "tiles_16", *(f"points_{width}" for width in WIDTHS))
BULK = tuple(f"{kind}_{size}" for kind in KINDS for size in (1, 2, 4, 8))
"""The kernels of bulk operations, by the numbers that the runtime knows them by: kinds of 4."""

IN_LIBRARIES = 4 * KINDS.index("points_5")
"""The number of those that a library has, which has all from the beginning; the plain copy stands for the others."""

COPIES = {
    "BULK": len(BULK), "BOTH": 2 * len(BULK), "IN_LIBRARIES": IN_LIBRARIES, "POINTS": 4 * KINDS.index("points_2"),
    "TILES": 4 * KINDS.index("tiles_8"),
    "NARROWEST": WIDTHS[0], "WIDEST": WIDTHS[-1],
    "SHARED": 1 << 20,  # bytes from which several threads share a copy
    "LITTLE": 1 << 24,  # bytes that code of little effort moves, at most
    "FAR_BYTES": FAR_BYTES, "TASKS": TASKS, "LINE": LINE, "CHUNK": CHUNK, "ROWS": ROWS, "BAND": BAND, "DOWN": DOWN,
}  # fmt: skip

CALLS = {
    "INLINE_WORK": f"{INLINE_WORK:e}",
    "WORTH_SHARING": 20_000,  # nanoseconds left of a launch from which other threads are woken for it
    "CLOCK": time.CLOCK_MONOTONIC,
    "LOOK_EVERY": 50_000_000,  # nanoseconds between two looks for signals in a loop of the host
    "SHORT": 1_000_000,  # nanoseconds between two looks at the clock, below which
    "SHORT_TURNS": 31,  # the next iterations, of this number, do not look at it
}

STACKS = {
    "STACK_OF_ANY": 1 << 18,  # bytes that calls take before the thread is asked how large its stack is
    "STACK_LEFT": 1 << 17,  # bytes that calls leave at least, else an eighth
}

PYTHON = {
    "REFERENCES": object.__basicsize__ - 8,  # bytes of an object's header before its type
    "SMALL": 1 << 10,  # elements of a result below which memory of NumPy's costs less than a buffer
    # places in the table of NumPy's C interface, and flags of arrays
    "PyArray_Type": 2, "PyArray_Scalar": 60, "PyArray_NewFromDescr": 94, "PyArray_SetBaseObject": 282,
    "NPY_ARRAY_CARRAY_RO": 0x0101, "NPY_ARRAY_CARRAY": 0x0501,
}  # fmt: skip

GATE_GENERATION, GATE_OPEN, GATE_LIMIT = 1 << 40, 1 << 36, 1 << 16
"""Parts of the pool's gate (`thread_pool.py`)."""

POOL = {
    "GENERATION": GATE_GENERATION, "GENERATION_SHIFT": GATE_GENERATION.bit_length() - 1, "OPEN": GATE_OPEN,
    "CLOSE": ~GATE_OPEN, "LIMIT_SHIFT": GATE_LIMIT.bit_length() - 1, "LIMIT_MASK": GATE_OPEN // GATE_LIMIT - 1,
    "JOINED": GATE_LIMIT - 1, "MAX_THREADS": MAX_THREADS,
    "SPINS": 4000,  # looks at the gate, with a pause after each, before a worker sleeps: about 100 µs
    "PATIENCE": 1 << 12,  # looks at the last worker's end, before the caller lets others run in between
}  # fmt: skip

PAUSES = {"x86_64": "llvm.x86.sse2.pause()", "i686": "llvm.x86.sse2.pause()"}
"""The instruction that says to a processor that a thread waits."""


def module(name: str, triple: str) -> str:
    """The module in the file `name`.ll, for a target."""
    text = (FOLDER / f"{name}.ll").read_text(encoding="utf-8")
    return filled(re.sub(r"^linux:(.*\n)", r"\1" if "linux" in triple else "", text, flags=re.M), constants(triple))


def filled(text: str, known: Mapping[str, object]) -> str:
    """A module with its constants, `known` or numbers of fields, and addresses of places."""
    known = {**known, **dict(fields(text))}
    return declared(re.sub(r"\$([\w.]+)\$", lambda use: str(known[use[1]]), addressed(unnested(branched(text)))))


LABEL = re.compile(r" *([\w.]+):")
GOTO = re.compile(r" *(?:goto %([\w.]+)|(ret [^;]*?)) (if|unless) ([^;]*[^; ])")
FOR = re.compile(r" *for %(\w+) < ([^ ,]+)(?:, (\w+) (%\w+) = (\S+) then (\S+))? {")
ENDS = ("br ", "ret ", "switch ", "unreachable")
"""Instructions that end a block."""


def branched(text: str) -> str:
    """A module with all labels, branches and counters."""
    lines, made, loops = text.splitlines(), _Blocks(), list[str]()
    for line, following in zip(lines, (*lines[1:], "")):
        if line.startswith("define "):
            made.lines.append(line)
            if following != "entry:":
                made.begin("entry")
        elif found := GOTO.match(line):
            onward, target = LABEL.match(following), found[1] or made.returned(found[2])
            *first, last = re.split(r" (?:&&|\|\|) ", found[4])
            for condition in first:
                made.goto(target, found[3], condition, f"on.{len(made.lines)}")
            made.goto(target, found[3], last, onward[1] if onward else f"on.{len(made.lines)}")
        elif found := FOR.match(line):
            made.loop(*found.groups())
            loops.append(found[1])
        elif loops and line.strip() == "}":
            made.end_loop(loops.pop())
        elif found := LABEL.match(line):
            made.begin(found[1])
        else:
            if line == "}" and made.block:
                made.lines.append("  ret void")
            if line == "}":
                made.lines, made.returns = made.lines + made.returns, []
            made.lines.append(line)
            if line.lstrip().startswith(ENDS) or line == "}":
                made.block = ""
    return "\n".join(made.lines)


class _Blocks:
    """Lines of a module so far; `block`: the label of the block that has no end yet, or none; `returns`: blocks for
    the end of the function."""

    def __init__(self) -> None:
        self.lines, self.returns = list[str](), list[str]()
        self.block = ""

    def begin(self, label: str) -> None:
        if self.block:
            self.lines.append(f"  br label %{label}")
        self.lines.append(f"{label}:")
        self.block = label

    def returned(self, text: str) -> str:
        """The label of a block that returns."""
        label = f"ret.{len(self.lines)}"
        self.returns += [f"{label}:", f"  {text}"]
        return label

    def goto(self, target: str, word: str, condition: str, onward: str) -> None:
        if not condition.startswith("%"):
            self.lines.append(f"  %is.{onward} = {condition}")
            condition = f"%is.{onward}"
        yes, no = (target, onward) if word == "if" else (onward, target)
        self.lines.append(f"  br i1 {condition}, label %{yes}, label %{no}")
        self.block = ""
        if onward.startswith("on."):
            self.begin(onward)

    def loop(self, k: str, bound: str, type_: str | None, var: str, first: str, then: str) -> None:
        before = self.block
        self.begin(f"each.{k}")
        self.lines.append(f"  %{k} = phi i64 [ 0, %{before} ], [ %after.{k}, %next.{k} ]")
        if type_:
            self.lines.append(f"  {var} = phi {type_} [ {first}, %{before} ], [ {then}, %next.{k} ]")
        self.lines.append(f"  %more.{k} = icmp slt i64 %{k}, {bound}")
        self.lines.append(f"  br i1 %more.{k}, label %body.{k}, label %end.{k}")
        self.block = ""
        self.begin(f"body.{k}")

    def end_loop(self, k: str) -> None:
        self.begin(f"next.{k}")
        self.lines += [f"  %after.{k} = add i64 %{k}, 1", f"  br label %each.{k}"]
        self.block = ""
        self.begin(f"end.{k}")


OPERATIONS = (
    "add|sub|mul|sdiv|udiv|srem|urem|and|or|xor|shl|lshr|ashr|icmp|fcmp|select|load|call|zext|sext|trunc|ptrtoint|inttoptr|"
    "uitofp|sitofp|fptosi|fpext|fadd|fsub|fmul|fdiv|extractvalue|insertvalue|getelementptr|bitcast|shufflevector|insertelement"
)
NESTED = re.compile(rf"\(((?:{OPERATIONS}) [^()]*(?:\((?!(?:{OPERATIONS}) )[^()]*\)[^()]*)*)\)")
"""An instruction in parentheses with none inside of it."""


def unnested(text: str) -> str:
    """A module in which each instruction in parentheses has a line of its own, before the one that it is in."""
    return _before(text, NESTED, "in", lambda found: found[1])


def _before(text: str, pattern: re.Pattern[str], prefix: str, made: Callable[[re.Match[str]], str]) -> str:
    """A module with a line of its own for what is `made` of each match, and a name in the place of that."""
    lines: list[str] = []
    for line in text.splitlines():
        while found := pattern.search(line):
            name = f"%{prefix}.{len(lines)}"
            lines.append(f"  {name} = {made(found)}")
            line = f"{line[: found.start()]}{name}{line[found.end() :]}"
        lines.append(line)
    return "\n".join(lines)


PLACE = re.compile(r"(?<=ptr )([%@]\w+)(?=\[|->)(?:\[(?:(%?\w+) )?([^]\s]+)\])?(?:->(\w+)\.(\w+)(?:\[([^]]+)\])?)?")


CALLED_PLACE = re.compile(r"^(.*call \w+) \*([^(]+)\(", re.MULTILINE)


def addressed(text: str) -> str:
    """A module in which the address of each place is computed in a line of its own, before the one that mentions it."""
    text = CALLED_PLACE.sub(lambda c: f"  %to.{c.start()} = load ptr, ptr {c[2]}\n{c[1]} %to.{c.start()}(", text)
    return _before(text, PLACE, "at", lambda place: _address(*place.groups()))


def _address(
    base: str, element: str | None, index: str | None, struct: str | None, field: str | None, inner: str | None
) -> str:
    if struct is None:
        return f"getelementptr {element or 'i64'}, ptr {base}, i64 {index}"
    within = "" if inner is None else f", i64 {inner}"
    return f"getelementptr %{struct}, ptr {base}, i64 {index or 0}, i32 ${struct}.{field}${within}"


CALLED_FUNCTION = re.compile(r"\bcall ([^@%()]+) @([\w.]+)\((.*)\)")
HAS_FUNCTION = re.compile(r"^(?:define|declare) [^@]*@([\w.]+)\(", re.MULTILINE)
TYPE = re.compile(r"(?:^|, )(<[^>]*>|[%\w]+) ")


def declared(text: str, others: str = "") -> str:
    """A module, or a part of one beside `others`, with a declaration of each function that it calls and that there is
    not, by its first call."""
    known = {name for part in (text, others) for name in HAS_FUNCTION.findall(part)}
    found: dict[str, str] = {}
    for result, name, given in CALLED_FUNCTION.findall(text):
        if name not in known:
            found.setdefault(name, f"declare {result} @{name}({', '.join(TYPE.findall(given))})")
    return "\n".join((text.rstrip("\n"), *found.values(), "")) if found else text


def constants(triple: str) -> Mapping[str, object]:
    """What `$NAME$` stands for in the files: words of the state, statuses, numbers of the runtime's parts, and the
    instruction that a processor has for waiting."""
    words = {f"{name}_WORD": word for name, word in vars(Word).items() if isinstance(word, int)}
    statuses = {status.name: int(status) for status in Status}
    pause = PAUSES.get(triple.split("-")[0])
    texts = {"PAUSE": f"call void @{pause}" if pause else ""}
    return {**words, **statuses, **MEMORY, **COPIES, **CALLS, **STACKS, **PYTHON, **POOL, **texts}


def fields(text: str) -> Iterator[tuple[str, int]]:
    """The numbers of the fields of the structs in a module."""
    for name, listed in re.findall(r"^%(\w+) = type \{.*\}  ; (.*)$", text, re.MULTILINE):
        yield from ((f"{name}.{field}", number) for number, field in enumerate(listed.split()))
