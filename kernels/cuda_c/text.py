"""What printers of CUDA C share: lines, arrays of a block or a thread, checks, barriers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from ...ir.errors import Loc
from ...ir.machine import WARP
from ...ir.types import Const
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import Who, children, solo, statements
from ..kernel_ir.nodes import KArray, Kernel, KStm, KVar, Operand, Space
from ..kernel_ir.shared_stack import UNIT, is_static
from ..kernel_ir.traverse import names_in
from .inline_expressions import bare, number
from .names import WORD, free_name
from .ops import c_type, operand

STACKS = {Space.SHARED: "stack", Space.PRIVATE: "own"}
"""What the stacks are called."""
MOST_ROUNDS = 8
"""Rounds of a thread loop that are worth being code of their own."""


@dataclass(slots=True)
class Printer:
    """The text of one kernel so far. `run` prints statements; `declared`: names that stand before the statement that
    binds them; `waits`: for other blocks; `staged`: bytes of shared memory that tiles take; `noted`: the last comment;
    `half`: the variable by which reductions alternate, if there are any; `alone`: a statement that has a block of the
    text for itself; `warps` > 0: the kernel's block is a warp, of which a block of threads has `warps`; `stacks`: of
    the block and of threads, as far as there are any; `enough`: those that have room for all arrays, as the launch
    tells how much these take, that of the block in shared memory; `torn`: a thread may fail where others wait for it;
    `loose`: one may have done so since the last barrier; `word`: bytes of the words of a thread's stack, where there is
    one, and `beside`: threads whose words are neighbours; `distributed`: what holds a distributed array for all the
    indices that a thread takes."""

    kernel: Kernel
    threads: int
    run: Callable[[Printer, tuple[KStm, ...], Who], None]
    first_site: int = 0
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    names: set[str] = field(default_factory=set)
    alone: KStm | None = None
    warps: int = 0
    stacks: frozenset[Space] = frozenset()
    enough: frozenset[Space] = frozenset()
    word: int = 0
    beside: int = WARP.threads
    torn: bool = False
    loose: bool = False
    declared: set[str] = field(default_factory=set)
    waits: bool = False
    staged: int = 0
    noted: str = ""
    half: str = ""
    distributed: dict[str, str] = field(default_factory=dict)
    rounds: dict[str, int] = field(default_factory=dict)

    @property
    def me(self) -> str:
        """The number of a thread in the kernel's block."""
        return "lane_id()" if self.warps else "threadIdx.x"

    @property
    def warp(self) -> str:
        """The number of a warp in the kernel's block."""
        return "0" if self.warps else "warp_id()"

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """`head { .. }`"""
        self.line(f"{head} {{" if head else "{")
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    def note(self, what: Loc | str) -> None:
        """A comment with a place of the source, where it is not that of the comment before; how the whole kernel
        works is said at its head."""
        place = self.noted if isinstance(what, str) else place_text(what)
        if place != self.noted:
            self.line(place)
        self.noted = place

    def fresh(self, base: str) -> str:
        """A name that nothing else has."""
        name = free_name(base, self.names)
        self.names.add(name)
        return name

    @contextmanager
    def index(self, base: str) -> Iterator[str]:
        """A name that nothing else has in a loop; what comes after it may have it."""
        name = self.fresh(base)
        yield name
        self.names.remove(name)


def thread_steps(p: Printer, index: KVar, lo: Operand, hi: Operand) -> str:
    """The head of a loop in which the block's threads take turns."""
    start = p.me if isinstance(lo, Const) and lo.value == 0 else f"{operand(lo)} + {p.me}"
    i = index.name
    return f"for ({c_type(index.prim)} {i} = {start}; {i} < {number(operand(hi))}; {i} += {p.threads})"


@contextmanager
def threads_loop(p: Printer, stm: kir.Threads) -> Iterator[None]:
    """The loop; its body alone where each thread takes one index. A number of rounds, each with its own code, where
    the indices of a distributed array must be known, or where all threads take as many indices."""
    i, used = stm.index, [a for a in words_in(stm.body) if a in p.distributed]
    match stm.lo, stm.hi:
        case Const(value=0), Const(value=n) if n == p.threads:
            split = p.loose or (p.torn and fails(p, stm.body))
            inside = nullcontext() if stm is p.alone and not split else apart_if(p, "", stm.body)
            with inside:
                p.line(f"const {c_type(i.prim)} {i.name} = {p.me};")
                yield
        case Const(value=0), Const(value=n) if not used and n % p.threads == 0 and 0 < n <= MOST_ROUNDS * p.threads:
            with in_rounds(p, i, stm.hi, stm.body, int(n)):
                yield
        case _ if used:
            with in_rounds(p, i, stm.hi, stm.body, max(p.rounds[name] for name in used)):
                yield
        case _:
            with apart_for(p, thread_steps(p, i, stm.lo, stm.hi), stm.body):
                yield


@contextmanager
def in_rounds(p: Printer, index: KVar, hi: Operand, body: tuple[KStm, ...], most: int) -> Iterator[None]:
    """The body for each index below `hi`, which is at most `most`, in rounds that are code of their own."""
    p.line("#pragma unroll")
    with p.index("round") as number, p.block(f"for (i32 {number} = 0; {number} < {-(-most // p.threads)}; {number}++)"):
        p.line(f"const {c_type(index.prim)} {index.name} = {number} * {p.threads} + {p.me};")
        for name in dict.fromkeys(name for name in words_in(body) if name in p.distributed):
            p.line(f"auto &{name} = {p.distributed[name]}[{number}];")
        whole = isinstance(hi, Const) and hi.value == most and most % p.threads == 0
        split = p.loose or (p.torn and fails(p, body))
        with (
            nullcontext()
            if whole and not split
            else apart_if(p, "" if whole else f"{index.name} < {operand(hi)}", body)
        ):
            yield


def only(stms: tuple[KStm, ...]) -> KStm | None:
    """The statement that a list consists of, if it is one."""
    return stms[0] if len(stms) == 1 else None


def place_text(loc: Loc) -> str:
    """The comment that names a place of the source."""
    return f"// {printable(loc.file)}:{loc.line}"


def printable(text: str) -> str:
    """A text of the user's that cannot end a comment, or go on with it in the next line."""
    return "".join(c if c.isascii() and (c.isalnum() or c in " ./:_-") else "_" for c in text)


# ---- failures ----------------------------------------------------------------------------------------------------


def can_fail(p: Printer) -> bool:
    """Whether a kernel needs a record of failures: it has checks or stacks, or waits for other blocks."""
    return bool(p.kernel.sites) or any(may_lack(p, space) for space in p.stacks) or p.waits


def may_lack(p: Printer, space: Space) -> bool:
    """Whether a stack may have too little room: it has not where a launch tells what its arrays take."""
    return space not in p.enough


def fails(p: Printer, stms: tuple[KStm, ...]) -> bool:
    """Whether who executes these statements may fail."""
    return any(
        isinstance(s, kir.Check | kir.BoundsCheck)
        or (isinstance(s, kir.Alloc) and not is_static(s) and may_lack(p, s.array.space))
        for s in statements(stms)
    )


def tears(p: Printer, stms: tuple[KStm, ...]) -> bool:
    """Whether a thread may fail in statements of the block where others do not."""
    return any(
        fails(p, (s,)) if solo(s) or is_apart(s) else any(tears(p, inner) for inner in children(s)) for s in stms
    )


def meets(stms: tuple[KStm, ...]) -> bool:
    """Whether threads wait for each other, or exchange values."""
    return any(
        isinstance(s, MEETING) or solo(s) or (isinstance(s, kir.Atomic) and s.out) or any(map(meets, children(s)))
        for s in stms
        if not isinstance(s, kir.Threads)
    )


MEETING = (
    kir.Fence, kir.BlockReduce, kir.BlockScan, kir.WaitFor, kir.LookBack, kir.TeamReduce, kir.WarpTurns,
    kir.Shuffle, kir.Mma,
)  # fmt: skip


def is_apart(stm: KStm) -> bool:
    """Whether its lists are executed by each thread for itself."""
    return isinstance(stm, kir.Threads | kir.BlockReduce | kir.BlockScan | kir.TeamReduce | kir.WarpTurns)


@contextmanager
def apart_if(p: Printer, cond: str, stms: tuple[KStm, ...]) -> Iterator[None]:
    """`if (cond) { .. }` around what threads execute for themselves: one that fails leaves it, and goes on to where all
    meet; it takes part in nothing else before, but where a warp exchanges values."""
    conditions = " && ".join(["!failed"] * p.loose + [cond] * bool(cond))
    head = f"if ({conditions})" if conditions else ""
    if not (p.torn and fails(p, stms)):
        with p.block(head):
            yield
        return
    with p.block(f"{head} do".lstrip()):
        yield
    p.lines[-1] += " while (false);"
    p.loose = True


@contextmanager
def apart_for(p: Printer, head: str, stms: tuple[KStm, ...]) -> Iterator[None]:
    """`for (..) { .. }`, as `apart_if`."""
    with p.block(f"if (!failed) {head}" if p.loose else head):
        yield
    p.loose = p.loose or (p.torn and fails(p, stms))


def after_loop(p: Printer, stms: tuple[KStm, ...], who: Who) -> None:
    """A thread that has failed in a loop leaves what is around it, too."""
    if p.torn and who is not Who.EVERY and fails(p, stms):
        p.line("if (failed) break;")


def fail(p: Printer, what: str, who: Who) -> None:
    """Records a failure. What is uniform fails in all threads, and they end; so does one for which none waits."""
    p.line(f"fail(failures, {what});")
    if who is Who.EVERY or not p.torn:
        p.line("return;")
    else:
        p.line("failed = true;")
        p.line("break;")


# ---- lists and barriers ------------------------------------------------------------------------------------------


def statements_text(p: Printer, stms: tuple[KStm, ...], who: Who) -> None:
    """A list of statements; what it takes from the stacks it gives back."""
    with stack_scope(p, stms):
        p.run(p, stms, who)


@contextmanager
def stack_scope(p: Printer, stms: tuple[KStm, ...]) -> Iterator[None]:
    """What `stms` take from the stacks is given back at the end."""
    spaces = {s.array.space for s in stms if isinstance(s, kir.Alloc) and not is_static(s)}
    marks = {STACKS[space]: p.fresh("mark") for space in STACKS if space in spaces}
    for stack, mark in marks.items():
        p.line(f"const auto {mark} = {stack};")
    yield
    for stack, mark in marks.items():
        p.line(f"{stack} = {mark};")


def by(p: Printer, who: Who, text: str) -> None:
    """What writes memory: of the block, the first thread."""
    p.line(f"if ({p.me} == 0) {text}" if who is Who.EVERY else text)


def barrier(p: Printer) -> None:
    """All threads of the block; where one has failed, none goes on."""
    for line in barrier_lines(p):
        p.line(line)
    p.loose = False


def barrier_lines(p: Printer) -> list[str]:
    """A barrier of the block, or of the warp that is one; where a thread may have failed, all leave there with it."""
    if p.warps:
        return ["__syncwarp();", *["if (__any_sync(WHOLE_WARP, failed)) return;"] * p.torn]
    return ["if (__syncthreads_or(failed)) return;" if p.torn else "__syncthreads();"]


def declare_shared(p: Printer, type_: str, name: str, count: int | None = None, aligned: str = "") -> None:
    """A variable in shared memory, or an array of `count` elements; of warps that are blocks each has its own."""
    size, kind = "" if count is None else f"[{count}]", f"{aligned}__shared__ {type_}"
    if not p.warps:
        p.line(f"{kind} {name}{size};")
        return
    every = p.fresh(f"{name}_all")
    p.line(f"{kind} {every}[{p.warps}]{size};")
    p.line(f"{type_} {f'(&{name})' if size else f'&{name}'}{size} = {every}[warp_id()];")


def check(p: Printer, ok: str, site: int, values: tuple[Operand, ...], who: Who) -> None:
    """Fail with the site and up to 15 values, unless the text `ok` holds."""
    said = "".join(f", {operand(v)}" for v in values[:15])
    with p.block(f"if (!({ok}))"):
        fail(p, f"{p.first_site + site + 1}{said}", who)


def alloc(p: Printer, stm: kir.Alloc, who: Who) -> None:
    """An array of the block or of a thread."""
    array, t = stm.array, c_type(stm.array.prim)
    if is_static(stm):
        if array.name not in p.declared:
            declare_array(p, stm)
        return
    size = f"greatest<i64>(0, {bare(stm.count)}) * (i64)sizeof({t})"
    kind = "" if array.name in p.declared else f"{t} *const "
    if array.space is Space.PRIVATE:
        kind = "" if array.name in p.declared else f"const {own_type(p, array)} "
        take = "take_own" if may_lack(p, array.space) else "next_own"
        p.line(f"{kind}{array.name} = {{own.words, {take}<{p.word}>(memory, own, {size})}};")
        if may_lack(p, array.space):
            _out_of_memory(p, array, size, who)
    elif may_lack(p, array.space):
        p.line(f"{kind}{array.name} = ({t} *)take({STACKS[array.space]}, {size});")
        _out_of_memory(p, array, size, who)
    else:
        place = f"shared_memory + take_near<{p.threads}>(memory, {STACKS[array.space]}, {size})"
        p.line(f"{kind}{array.name} = ({t} *)({place});")


def own_type(p: Printer, array: KArray) -> str:
    """The type of an array on a thread's stack."""
    beside = "" if p.beside == WARP.threads else f", {p.beside}"
    return f"Own<{c_type(array.prim)}, {p.word}{beside}>"


def declare_array(p: Printer, stm: kir.Alloc) -> None:
    """An array of constant size."""
    assert isinstance(stm.count, Const)
    t, count = c_type(stm.array.prim), max(1, int(stm.count.value))
    if stm.array.space is not Space.SHARED:
        p.line(f"{t} {stm.array.name}[{count}];")
        return
    size = max(stm.align * stm.array.prim.bytes, UNIT if count * stm.array.prim.bytes >= UNIT else 1)
    aligned = f"alignas({size}) " if size > stm.array.prim.bytes else ""
    declare_shared(p, t, stm.array.name, -(-count // stm.align) * stm.align, aligned)


def declare(p: Printer, stms: tuple[KStm, ...], wanted: set[str]) -> None:
    """Declarations of what `stms` bind, ahead of them, as far as it is wanted behind the block that they stand in."""
    for stm in stms:
        match stm:
            case kir.KLet(var, _) | kir.Declare(var, _) if var.name in wanted:
                p.line(f"{c_type(var.prim)} {var.name};")
                p.declared.add(var.name)
            case kir.Alloc(array, _) if array.name in wanted:
                if is_static(stm):
                    declare_array(p, stm)
                elif array.space is Space.PRIVATE:
                    p.line(f"{own_type(p, array)} {array.name};")
                else:
                    p.line(f"{c_type(array.prim)} *{array.name};")
                p.declared.add(array.name)
            case _:
                pass


def words_in(node: object) -> Iterator[str]:
    """The names of all variables and arrays that a piece of kernel IR mentions, in its expressions too."""
    return (word for name in names_in(node) for word in WORD.findall(name))


def _out_of_memory(p: Printer, array: KArray, size: str, who: Who) -> None:
    """The site behind those of the kernel; which stack, and how much would do as far as is known."""
    site, is_own = p.first_site + len(p.kernel.sites) + 1, int(array.space is Space.PRIVATE)
    lacks, needs = f"{array.name} == nullptr", f"lacking(memory.block_size, {STACKS[array.space]}, {size})"
    if is_own:
        lacks, needs = f"{array.name}.first == NOWHERE", f"lacking<{p.word}>(own, {size})"
    with p.block(f"if ({lacks})"):
        fail(p, f"{site}, {is_own}, {needs}", who)
