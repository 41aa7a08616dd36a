"""The `-- ==` blocks of a program: what to run it on and what to expect.

    -- ==
    -- tags { slow }
    -- entry: f g
    -- "small" nobench input { 3 [1, 2] } output { 6 }
    -- random input { [1000]f32 5i64 } auto output
    -- input @data/big.in.gz output @data/big.out
    -- input { 0 } error: division by zero
    -- structure gpu { SegMap 1 /If/True/SegRed 1 }
    -- warning: deprecated

A block begins with a comment line that is exactly `-- ==` and goes on while lines begin with `--`. Values are kept as
text with their place, because only the program says at which types to read them; blanks stand where the `--` were, so
that a reader counts columns right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..frontend.source.diagnostics import did_you_mean
from ..ir.errors import CompileError, Diagnostic, Label, Loc
from ..ir.scanner import Scanner, loc_of
from ..ir.types import Prim
from .posix_regex import to_python


@dataclass(frozen=True, slots=True)
class ValuesText:
    """`{ 3 [1, 2] }`: the text between the braces; `line` is the line of the file on which it begins."""

    text: str
    line: int
    loc: Loc


@dataclass(frozen=True, slots=True)
class ValuesFile:
    """`@path`, relative to the program."""

    path: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class RandomType:
    """`[1000][32]f32` in a `random input`."""

    prim: Prim
    shape: tuple[int, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class RandomInput:
    """`random input { [10]f32 5i64 }`: values to draw, and values given literally."""

    items: tuple[RandomType | ValuesText, ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class ScriptInput:
    """`script input { f 10 }` or `script input @file`: an expression, kept as text."""

    text: str | ValuesFile
    loc: Loc


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression (POSIX extended, unanchored; empty means anything)."""

    regex: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class Output:
    """`output { .. }` or `output @file`."""

    values: ValuesText | ValuesFile
    loc: Loc


@dataclass(frozen=True, slots=True)
class AutoOutput:
    """`auto output`: whatever the reference (the interpreter) says."""

    loc: Loc


@dataclass(frozen=True, slots=True)
class Fails:
    """`error: REGEX` after an input: the run must fail like this."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Succeeds:
    """Nothing after the input: the run must only not fail."""


Input = ValuesText | ValuesFile | RandomInput | ScriptInput
Expected = Output | AutoOutput | Fails | Succeeds


@dataclass(frozen=True, slots=True)
class Case:
    """One run: an input and what to expect. `tags` are the words before `input` other than `random` and `script`."""

    name: str | None
    tags: tuple[str, ...]
    input: Input
    expected: Expected
    loc: Loc


@dataclass(frozen=True, slots=True)
class Structure:
    """`structure gpu { SegMap 1 /If/True/SegRed 2 }`: how often nodes occur, by path; `pipeline` None if not given."""

    pipeline: str | None
    counts: tuple[tuple[str, int], ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class TestBlock:
    """A `-- ==` block. `compile_error` excludes everything else; `entries` is `main` unless the block says so."""

    __test__ = False  # not a test class of pytest's

    tags: tuple[str, ...]
    entries: tuple[str, ...]
    cases: tuple[Case, ...]
    compile_error: Pattern | None
    properties: tuple[str, ...]
    structures: tuple[Structure, ...]
    warnings: tuple[Pattern, ...]
    loc: Loc


PIPELINES = ("gpu", "gpu-mem", "mc", "mc-mem", "seq-mem", "internalised")
FORMER = ("distributed", "kernels", "cpu", "seq")  # what older programs name; nothing is counted for them
_KEYS = (
    "tags",
    "entry:",
    "input",
    "output",
    "error:",
    "structure",
    "warning:",
    "property:",
    "random",
    "script",
    "auto",
)

_START = re.compile(r"^-- ==[ \t\r]*$", re.MULTILINE)
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[^\s{}@\":]+:?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_']*")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_LINE = re.compile(r"[^\n]*")
_PATH = re.compile(r"@[ \t]*(\S+)")
_ITEM = re.compile(r"""(?:"(?:[^"\\\n]|\\.)*"|--[^\n]*|[^{}"\-]+|-)*""")
_COUNT = re.compile(r"(\S+)\s+([0-9]{1,9})(?=\s|$)")
_RANDOM = re.compile(r"((?:\[\s*[0-9][0-9_]*\s*\]\s*)*)(?:([iuf](?:8|16|32|64)|bool)(?![\w.])|([^\s\[\]{}]+))")
_LITERAL = re.compile(r"[-+]?(?:[0-9]\S*|b?f(?:16|32|64)\.(?:nan|inf))|true|false|\"\S*")


def parse_tests(text: str, file: str) -> tuple[TestBlock, ...]:
    """All test blocks of a program. A fault in one is E0301, with its place in the comment."""
    starts = [found.start() for found in _START.finditer(text)]
    blocks = tuple(_Reader(text, file, start).block() for start in starts)
    failing = next((b for b in blocks if b.compile_error is not None), None)
    if failing is not None and len(blocks) > 1:
        other = next(b for b in blocks if b is not failing)
        raise _fault("a program that must not compile has one test block only", other.loc, "a second block")
    return blocks


def _fault(message: str, loc: Loc, label: str = "", hint: str | None = None) -> CompileError:
    return CompileError(Diagnostic("E0301", f"test block: {message}", Label(loc, label), hint=hint))


def _extent(text: str, start: int) -> int:
    """The end of the comment lines after `start`, or where the next block begins."""
    at = text.find("\n", start)
    while at >= 0 and text.startswith("--", at + 1) and not _START.match(text, at + 1):
        at = text.find("\n", at + 1)
    return len(text) if at < 0 else at


class _Reader:
    """A position in a block, whose comment signs have been replaced by blanks."""

    def __init__(self, text: str, file: str, start: int) -> None:
        end = _extent(text, start)
        body = re.sub(r"^--", "  ", text[start:end], flags=re.MULTILINE)
        self.text = "  ".join(["", body[2:].replace("==", "  ", 1)])
        self.file = file
        self.line = text.count("\n", 0, start) + 1
        self.scan = Scanner(self.text, _WORD, _SPACE, self._fault)

    # ---- small steps

    def _loc(self, start: int, end: int) -> Loc:
        return loc_of(self.text, self.file, start, end, self.line)

    def _fault(self, message: str, start: int) -> CompileError:
        return _fault(message, self._loc(start, min(start + 1, len(self.text))))

    def _after_colon(self) -> int:
        """The offset behind the colon of the key that has been read."""
        return self.text.rfind(":", 0, self.scan.pos) + 1

    def _braces(self, after: str) -> ValuesText:
        """`{ .. }` as text; blanks in front put it at its column."""
        opening = self.scan.pos
        if not self.text.startswith("{", opening):
            raise self._fault(f"expected `{{` after `{after}`", opening)
        found = _ITEM.match(self.text, opening + 1)
        assert found is not None
        if not self.text.startswith("}", found.end()):
            raise self._fault("this `{` is not closed", opening)
        loc = self._loc(opening, found.end() + 1)
        self.scan.move(found.end() + 1)
        return ValuesText(" " * loc.col + found[0], loc.line, loc)

    def _pattern(self) -> Pattern:
        """The rest of the line as a regular expression; the key before it has been read."""
        colon = self._after_colon()
        found = _LINE.match(self.text, colon)
        assert found is not None
        self.scan.move(found.end())
        regex = found[0].strip()
        start = colon + len(found[0]) - len(found[0].lstrip())
        loc = self._loc(start, start + len(regex)) if regex else self._loc(colon - 1, colon)
        try:
            re.compile(to_python(regex))
        except (re.error, OverflowError, RecursionError) as bad:
            raise _fault(f"bad regular expression: {bad}", loc) from None
        return Pattern(regex, loc)

    # ---- the block

    def block(self) -> TestBlock:
        tags = self._tags()
        error, properties, entries = None, (), ("main",)
        cases: list[Case] = []
        structures: list[Structure] = []
        warnings: list[Pattern] = []
        if self.scan.took("error:"):
            error = self._pattern()
        elif self.scan.took("property:"):
            properties = self._names("property:")
        else:
            if self.scan.took("entry:"):
                entries = self._names("entry:")
        while not self.scan.ended:
            start = self.scan.pos
            if self.scan.took("structure"):
                structures.append(self._structure(start))
            elif self.scan.took("warning:"):
                warnings.append(self._pattern())
            elif error is None and not properties:
                cases.append(self._case())
            else:
                raise self._alone(error)
        loc = Loc(self.file, self.line, 1, self.line, 6)
        return TestBlock(tags, entries, tuple(cases), error, properties, tuple(structures), tuple(warnings), loc)

    def _alone(self, error: Pattern | None) -> CompileError:
        loc = self._loc(self.scan.pos, self.scan.pos + max(1, len(self.scan.peek())))
        return _fault(f"a block with `{'property:' if error is None else 'error:'}` has no inputs", loc)

    def _unknown_key(self, start: int) -> CompileError:
        found = _WORD.match(self.text, start)
        if found is None:
            shown = self.text[start : start + 1]
            what = f"unexpected `{shown}`" if shown else "expected `input`, found the end of the block"
            return _fault(what, self._loc(start, start + 1))
        near = did_you_mean(found[0], _KEYS)
        hint = f"did you mean `{near}`?" if near else None
        return _fault(f"unknown key `{found[0]}`", self._loc(*found.span()), hint=hint)

    def _tags(self) -> tuple[str, ...]:
        if not self.scan.took("tags"):
            return ()
        return tuple(self._braces("tags").text.split())

    def _names(self, key: str) -> tuple[str, ...]:
        """Names on the rest of the line; the key before them has been read."""
        start = self._after_colon()
        line = _LINE.match(self.text, start)
        assert line is not None
        self.scan.move(line.end())
        names = tuple(line[0].split())
        bad = next((name for name in names if not _NAME.fullmatch(name)), None)
        if not names or bad is not None:
            what = f"`{bad}` is not a name" if bad else f"expected a name after `{key}`"
            raise _fault(what, self._loc(start - len(key), start))
        return names

    # ---- one case

    def _case(self) -> Case:
        start = self.scan.pos
        named = self.scan.scan(_STRING)
        tags: list[str] = []
        previous = None
        while not self.scan.took("input"):
            here = self.scan.pos
            tags.append(self._tag(previous))
            previous = here
        kinds = [t for t in tags if t in ("random", "script")]
        if len(kinds) > 1:
            raise _fault("an input is `random` or `script`, not both", self._loc(start, self.scan.pos))
        loc = self._loc(start, self.scan.pos)
        source = self._input(kinds[0] if kinds else "")
        kept = tuple(t for t in tags if t not in kinds)
        return Case(named[1] if named else None, kept, source, self._expected(), loc)

    def _tag(self, previous: int | None) -> str:
        """A word before `input`; the other keys cannot stand here. `previous` is where the last tag was."""
        word = self.scan.peek()
        if word in ("output", "auto"):
            raise _fault("`output` without `input`", self._loc(self.scan.pos, self.scan.pos + len(word)))
        if not word or word.endswith(":"):
            at_end = self.scan.ended
            raise self._unknown_key(self.scan.pos if word or at_end or previous is None else previous)
        self.scan.next()
        return word

    def _input(self, kind: str) -> Input:
        start = self.scan.pos
        if kind == "random":
            values = self._braces("random input")
            return RandomInput(tuple(self._random_items(start + 1, values)), values.loc)
        if kind == "script":
            script = self._values("script input")
            return ScriptInput(script.text.strip() if isinstance(script, ValuesText) else script, script.loc)
        return self._values("input")

    def _values(self, key: str) -> ValuesText | ValuesFile:
        return self._file(key) if self.text.startswith("@", self.scan.pos) else self._braces(key)

    def _file(self, key: str) -> ValuesFile:
        found = self.scan.scan(_PATH)
        if found is None:
            raise self._fault(f"expected `{{` or `@file` after `{key}`", self.scan.pos)
        return ValuesFile(found[1], self._loc(*found.span()))

    def _random_items(self, start: int, values: ValuesText) -> list[RandomType | ValuesText]:
        """Types to draw from, and literals with a suffix."""
        end = start + len(values.text) - values.loc.col
        items: list[RandomType | ValuesText] = []
        at = _SPACE.match(self.text, start, end).end()  # type: ignore[union-attr]
        while at < end:
            found = _RANDOM.match(self.text, at, end)
            if found is None or (found[3] and (found[1] or not _LITERAL.fullmatch(found[3]))):
                raise self._fault("expected a type with sizes, as `[1000]f32`, or a literal", at)
            loc = self._loc(*found.span())
            if found[3]:
                items.append(ValuesText(" " * (loc.col - 1) + found[3], loc.line, loc))
            else:
                shape = tuple(int(n.replace("_", "")[:19]) for n in re.findall(r"[0-9][0-9_]*", found[1]))
                items.append(RandomType(Prim(found[2]), shape, loc))
            at = _SPACE.match(self.text, found.end(), end).end()  # type: ignore[union-attr]
        return items

    def _expected(self) -> Expected:
        start = self.scan.pos
        if self.scan.took("auto"):
            if not self.scan.took("output"):
                raise self._fault("expected `output` after `auto`", self.scan.pos)
            return AutoOutput(self._loc(start, self.scan.pos))
        if self.scan.took("output"):
            loc = self._loc(start, start + len("output"))
            return Output(self._values("output"), loc)
        if self.scan.took("error:"):
            return Fails(self._pattern())
        return Succeeds()

    # ---- structure

    def _structure(self, start: int) -> Structure:
        pipeline = None
        if not self.text.startswith("{", self.scan.pos):
            pipeline = self.scan.peek()
            if pipeline not in (*PIPELINES, *FORMER):
                here = self._loc(self.scan.pos, self.scan.pos + 1)
                raise _fault(f"unknown pipeline `{pipeline}`", here, hint=f"one of {', '.join(PIPELINES)}")
            self.scan.next()
        values = self._braces("structure")
        body = values.text.strip()
        at, counts = 0, []
        while at < len(body):
            found = _COUNT.match(body, at)
            if found is None:
                raise _fault("expected a name and a number, as `SegMap 1`", values.loc)
            counts.append((found[1], int(found[2])))
            at = _SPACE.match(body, found.end()).end()  # type: ignore[union-attr]
        return Structure(pipeline, tuple(counts), self._loc(start, start + len("structure")))
