"""What stands before a tile of a chain, in CUDA C: all threads of the block look at tiles, the first warp adds them up.

A window is as many tiles as the block has threads, fewer of wide elements. The block goes back by windows until one
has a tile that has posted its total; from there on the first warp folds what the tiles hold, from the left. A total
that it comes to takes the place of what came before it, and is the same.
"""

from __future__ import annotations

from ...ir.machine import WARP
from ...ir.records import dataclass
from ..analysis.tile_items import window_tiles
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import Who
from ..kernel_ir.tile_words import word_bytes, words_of
from .operator import Names, Operator, assign, declared, operator, results, shared, step, texts
from .ops import c_type, operand
from .text import Printer, barrier, by, declare_shared


@dataclass(frozen=True, slots=True)
class Chain:
    """The names of a look-back: the type of a tile's words and its fields, the words of all tiles, the block's copy of
    those of a window of `span` tiles, and the last total that each warp has seen there."""

    stm: kir.LookBack
    op: Operator
    kind: str
    fields: Names
    words: str
    window: str
    nearest: str
    span: int

    def posted(self, status: str, values: Names) -> str:
        """Words with a status and values."""
        rest, parts = iter(values), list[str]()
        for word in words_of([v.prim for v in self.stm.outs]):
            parts += [status, *(next(rest) for _ in word)]
        return f"{self.kind}{{{', '.join(parts)}}}"


def look_back(p: Printer, stm: kir.LookBack) -> None:
    """Post what the tile holds, look back, post the total."""
    with results(p, stm.outs):
        chain = _chain(p, stm)
        place = f"&{chain.words}[{operand(stm.tile)}]"
        by(p, Who.EVERY, f"post({place}, {chain.posted('SUM', texts(stm.own))});")
        found = shared(p, chain.op.types, "found")
        acc = declared(p, chain.op.types, "acc", stm.neutral)
        start, last = _back(p, chain)
        _forward(p, chain, acc, start, last)
        with p.block(f"if ({p.me} == 0)"):
            assign(p, found, acc)
            step(p, chain.op, acc, acc, texts(stm.own))
            p.line(f"post({place}, {chain.posted('TOTAL', acc)});")
        barrier(p)
        assign(p, tuple(out.name for out in stm.outs), found)
        barrier(p)


def _chain(p: Printer, stm: kir.LookBack) -> Chain:
    prims, op, kind = [v.prim for v in stm.outs], operator(p, stm.op), p.fresh("Tile")
    fields, size = tuple(p.fresh("part") for _ in prims), word_bytes(prims)
    names = iter(fields)
    with p.block(f"struct {kind}"):
        for number, word in enumerate(words_of(prims)):
            p.line(f"alignas({size}) i32 status{number or ''};")
            for prim in word:
                p.line(f"{c_type(prim)} {next(names)};")
    p.lines[-1] += ";"
    words, window, nearest = p.fresh("words"), p.fresh("window"), p.fresh("nearest")
    p.line(f"{kind} *const {words} = ({kind} *){stm.words.name};")
    span = window_tiles(prims, p.threads)
    declare_shared(p, kind, window, span)
    declare_shared(p, "i32", nearest, p.threads // WARP.threads)
    return Chain(stm, op, kind, fields, words, window, nearest, span)


def _back(p: Printer, chain: Chain) -> tuple[str, str]:
    """Windows back to the first with a total; its first tile, and the place of the last total in it."""
    stm, nearest = chain.stm, chain.nearest
    start, last, totals = p.fresh("start"), p.fresh("last"), p.fresh("totals")
    p.line(f"i64 {start} = {operand(stm.tile)};")
    p.line(f"i32 {last} = -1;")
    with p.block("while (true)"):
        p.line(f"{start} -= {chain.span};")
        seen = _look(p, chain, start)
        p.line(f"const u32 {totals} = __ballot_sync(WHOLE_WARP, {seen}.status == TOTAL);")
        highest = f"{p.warp} * {WARP.threads} + {WARP.threads - 1} - leading_zeros({totals})"
        p.line(f"if (lane_id() == 0) {nearest}[{p.warp}] = {totals} != 0 ? {highest} : -1;")
        barrier(p)
        with p.index("w") as w:
            head = f"for (i32 {w} = 0; {w} < {p.threads // WARP.threads}; {w}++)"
            p.line(f"{head} {last} = greatest({last}, {nearest}[{w}]);")
        p.line(f"if ({last} >= 0) break;")
        barrier(p)
    return start, last


def _look(p: Printer, chain: Chain, start: str) -> str:
    """A thread's tile of the window from `start` on; what stands before the chain is nothing. Threads behind the window
    see no total."""
    ahead, seen, looks = p.fresh("ahead"), p.fresh("seen"), f"{p.me} < {chain.span}"
    every = chain.span == p.threads
    nothing = "TOTAL" if every else f"{looks} ? TOTAL : SUM"
    p.line(f"const i64 {ahead} = {start} + {p.me};")
    p.line(f"{chain.kind} {seen} = {chain.posted(nothing, texts(chain.stm.neutral))};")
    is_there = f"{'' if every else f'{looks} && '}{ahead} >= {operand(chain.stm.first)}"
    p.line(f"if ({is_there}) {seen} = wait_for(&{chain.words}[{ahead}], failures);")
    p.line(f"if ({seen}.status == FAILED) failed = true;")
    p.line(f"{'' if every else f'if ({looks}) '}{chain.window}[{p.me}] = {seen};")
    return seen


def _forward(p: Printer, chain: Chain, acc: Names, start: str, last: str) -> None:
    """`acc`, in the first warp: from the total on, all that tiles hold."""
    with p.block("while (true)"):
        with p.block(f"if ({p.warp} == 0)"):
            _fold(p, chain, acc, last)
        p.line(f"{start} += {chain.span};")
        p.line(f"if ({start} >= {operand(chain.stm.tile)}) break;")
        barrier(p)
        _look(p, chain, start)
        barrier(p)
        p.line(f"{last} = 0;")


def _fold(p: Printer, chain: Chain, acc: Names, last: str) -> None:
    one = p.fresh("one")
    values = tuple(f"{one}.{field}" for field in chain.fields)
    p.line("#pragma unroll 8")
    with p.index("k") as k, p.block(f"for (i32 {k} = {last}; {k} < {chain.span}; {k}++)"):
        p.line(f"const {chain.kind} {one} = {chain.window}[{k}];")
        with p.block(f"if ({one}.status == TOTAL)"):
            assign(p, acc, values)
        with p.block("else"):
            step(p, chain.op, acc, acc, values)
