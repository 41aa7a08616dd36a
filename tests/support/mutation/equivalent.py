"""Mutants that no test can find, with the reason: what they compute is the same."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Equivalent:
    """In a line of a file `old` becomes `new`."""

    file: str
    old: str
    new: str
    why: str


EQUIVALENT: tuple[Equivalent, ...] = (
    Equivalent(
        "flatten/simplify/literals.py",
        "if len(grid) > MOST or",
        "if len(grid) >= MOST or",
        "a limit of what is worth writing out: with one element less the array is made as it was, with the same values",
    ),
    Equivalent(
        "flatten/simplify/scalars.py",
        "scalar.wrapping(prim)(-total) > 0:",
        "scalar.wrapping(prim)(total) > 0:",
        "a choice between x - c and x + -c, which are the same number",
    ),
    Equivalent(
        "flatten/simplify/views.py",
        "range(len(perm))), safe)",
        "range(len(tuple((perm).index(_k) for _k in range(len(perm)))))), safe)",
        "a permutation and its inverse have the same length",
    ),
    Equivalent(
        "flatten/aliasing/classes.py",
        "if type(stm.exp) in COMPOUND:",
        "if True:",
        "expressions without bodies have no lambdas whose rows share memory: asked first, since most are such",
    ),
    Equivalent(
        "flatten/aliasing/regions.py",
        "return form_of(source, defined, depth - 1)",
        "return form_of(source, defined, depth - 0)",
        "a limit of how many copies are looked through, of which there is a finite number",
    ),
    Equivalent(
        "flatten/fusion/joins.py",
        "PARTS = 8",
        "PARTS = 9",
        "a limit: a concatenation of nine parts is read by tests for each of them, or stored, with the same values",
    ),
    Equivalent(
        "flatten/simplify/soacs.py",
        "return replace(stm, pat=tuple(stm.pat[k] for k in kept), exp=exp)",
        "return None",
        "the copies stand for the results that are the same, which nothing uses then, so that they are removed as such",
    ),
    Equivalent(
        "flatten/invariant_parts.py",
        "return 1",
        "return 2",
        "a limit of what is worth keeping: how often a branch runs",
    ),
    Equivalent(
        "flatten/irregular/control.py",
        "Op.MAX, Const(prim, 0))",
        "Op.MAX, Const(prim, 1))",
        "a round in which no point takes part gives back what it is given",
    ),
    Equivalent(
        "flatten/versions/skew.py",
        "GREATEST = 1 << 40",
        "GREATEST = 1 << 39",
        "a limit of lengths, beyond what memory holds",
    ),
    Equivalent(
        "ir/traverse.py",
        "if type(exp) not in COMPOUND:  # most are not",
        "if False:  # most are not",
        "an expression without bodies is the same object after none of them has changed",
    ),
    Equivalent(
        "ir/lambda_lifting.py",
        "if not any(free.values()):",
        "if False:",
        "where nothing is free no function is given more: the program is made again as it was",
    ),
    Equivalent(
        "kernels/passes/vectorise_accesses.py",
        "loop is not None and loop.row > 1 else None",
        "loop is not None and loop.row > 0 else None",
        "rows are at least two wide, so that the next line gives back the kernel of a loop without rows",
    ),
    Equivalent(
        "kernels/passes/vectorise_accesses.py",
        "MOST_STATEMENTS = 16, 4, 40",
        "MOST_STATEMENTS = 16, 4, 39",
        "a limit of what is written out for each element of a row",
    ),
    Equivalent(
        "kernels/passes/join_writes.py",
        "if write.chosen is None or write.size is None:",
        "if ((write.chosen is None)):",
        "where a place is chosen its size is known; said for the checker of types",
    ),
    Equivalent(
        "kernels/passes/interleave_rows.py",
        "if stride > PICKED:",
        "if stride >= PICKED:",
        "a limit: two neighbours of eight are read as rows or gathered",
    ),
    Equivalent(
        "kernels/passes/search_argreduce.py",
        "len(stm.body) > MOST:",
        "len(stm.body) >= MOST:",
        "a limit of what is worth a search: the reduction stays as it was",
    ),
    Equivalent(
        "ir/scalar.py",
        "abs(x) >> 53 and",
        "abs(x) >> 52 and",
        "of what an f64 holds the last bits are far below those of a narrower float: they may be joined in one",
    ),
    Equivalent("ir/scalar.py", "(x < 0) == (y < 0) else -q", "(x <= 0) == (y < 0) else -q", "0 is its own negative"),
    Equivalent(
        "ir/nesting.py",
        "range(MOST_LEVELS):",
        "range(MOST_LEVELS - 1):",
        "a limit: what is nested deeper is refused with a message either way",
    ),
    Equivalent(
        "ir/machine.py",
        'THREAD = LevelRow(Level.THREAD, "suff_outer", 1, 1, 0)',
        'THREAD = LevelRow(Level.THREAD, "suff_outer", 1, 1, 1)',
        "arrays that go from one collective to the next are in blocks; no rule asks how many bytes a thread holds",
    ),
    Equivalent(
        "ir/machine.py",
        '"suff_intra", 256, 1024, 48 << 10',
        '"suff_intra", 256, 1024, 47 << 10',
        "a limit: arrays of a size between are in global memory",
    ),
    Equivalent(
        "ir/floats.py",
        "STICKY = {Prim.BF16: 42",
        "STICKY = {Prim.BF16: 41",
        "with one bit more what is left of a bf16 still fits f32, below the least of which it has 15 bits",
    ),
    Equivalent(
        "ir/show.py",
        "if _is_tuple(x) and _is_tuple(y):",
        "if ((_is_tuple(x))):",
        "both have one type; said for the checker of types",
    ),
    Equivalent(
        "kernels/passes/loop_middles.py",
        "Op.ADD if shift < 0 else Op.SUB",
        "Op.ADD if shift < 1 else Op.SUB",
        "an index is below what it is divided by, which is a condition of the cut: it is never beyond",
    ),
)

LIMITS: dict[str, tuple[str, ...]] = {
    "flatten/tiling/choose.py": ("LEAST_BLOCKS",),
    "flatten/versions/in_place.py": ("LEAST", "ROW"),
    "ir/basic.py": ("NO_DEFAULT",),
    "ir/depth.py": ("FRAMES",),
    "ir/machine.py": ("CORE",),
    "ir/records.py": ("SOME",),
    "ir/show.py": ("WIDTH",),
    "kernels/passes/choose_lanes.py": ("LONG_ROW, LONG_ROW_OF_BYTES",),
    "kernels/passes/loop_middles.py": ("BESIDE",),
    "kernels/passes/narrow_divisions.py": ("ASSUMED: Mapping[Prim, Interval]",),
}
"""Constants by file, on which no value depends: how wide a text is, from which size on something pays."""


ASSERTED = "strict=True", "strict=False"
"""That lists have one length is an assertion, and those stay."""


def reason(file: str, old: str, new: str) -> str | None:
    """Why a mutant changes nothing, given the lines where it is; nothing is known of most."""
    if old.replace(*ASSERTED, 1) == new or old.replace(*ASSERTED) == new:
        return "an assertion"
    defined, _, _ = new.partition(" = ")
    if defined in LIMITS.get(file, ()) and old.startswith(f"{defined} = "):
        return "a limit"
    for one in EQUIVALENT:
        if one.file == file and one.old in old and old.replace(one.old, one.new, 1) == new:
            return one.why
    return None
