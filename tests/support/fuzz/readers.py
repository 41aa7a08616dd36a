"""The readers of the project, each with the inputs that it is tried on: what it reads is a value, or refused.

`weight`: its share of the inputs where all readers are run; what is slow gets less.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from hashlib import sha256
from math import inf
from pathlib import Path
from random import Random

import numpy as np

from benchmarks.synthetic import MadeUp
from benchmarks.synthetic import entry as made_up
from soac import program_cache
from soac.autotune import store
from soac.autotune.search import Problem, Search
from soac.autotune.store import Facts, Planned, open_beside, open_study, storing
from soac.autotune.tuning import read_tuning
from soac.commands.benchcmp import command as benchcmp
from soac.data.dataset_types import bounds_of, drawn_of, read_as, wanted_of
from soac.data.read_write import Format, ValueType, read_values, write_values
from soac.data.value import type_of
from soac.failures import show_diagnostics
from soac.frontend.compile import compile_source
from soac.frontend.formatting.layout import format_text
from soac.frontend.source.text import Reach, decode_source
from soac.ir.check import Stage, check
from soac.ir.errors import NOWHERE, CompileError, Diagnostic, IRError, Label, SoacError
from soac.ir.parse import parse_prog
from soac.ir.scalar import DTYPES
from soac.ir.show import show
from soac.ir.types import Prim
from soac.kernels.devices import disk_cache
from soac.kernels.devices.cpu import image
from soac.kernels.devices.cpu.kernel_code import KernelCode
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.kernel_ir.show import show_kernel
from soac.testing.blocks import parse_tests
from soac.testing.scripts import read_script
from tests.support.fuzz.command_line import run_line, words_of
from tests.support.fuzz.mutate import MOST, Corpus, by_bytes, changed, corpus_of
from tests.support.prims import PRIMS

ROOT = Path(__file__).parents[3]
LIMIT = 64 << 20  # bytes that a file may declare, as with `--max-input`


class Refused(Enum):
    """A reader has said what is wrong."""

    REFUSED = "refused"


Make = Callable[[Random], bytes]
Read = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Reader:
    """`make`: an input; `read`: a value, `Refused`, or a fault."""

    name: str
    weight: int
    make: Make
    read: Read


def refusing(read: Read, *errors: type[Exception]) -> Read:
    """A reader whose diagnostics are shown, as the command line does it; `errors` are refusals without one."""

    def reading(data: bytes) -> object:
        try:
            return read(data)
        except SoacError as error:
            show_diagnostics(error.diagnostics)
        except errors:
            pass
        return Refused.REFUSED

    return reading


def changing(load: Callable[[], Corpus]) -> Make:
    return lambda source: changed(load(), source)


def files(pattern: str, most: int = 20_000) -> tuple[bytes, ...]:
    found = (path.read_bytes() for path in sorted(ROOT.glob(pattern)))
    return tuple(one for one in found if len(one) <= most)


# ---- texts of the language and of the IRs


@cache
def sources() -> Corpus:
    folders = ("programs/*.soac", "tests/regress/**/*.soac", "tests/conformance/**/*.soac")
    return corpus_of([one for folder in folders for one in files(folder, 4000)])


def read_program(data: bytes) -> object:
    return compile_source(decode_source(data, "a.soac"), "a.soac", Reach.PROJECT)


def read_and_format(data: bytes) -> object:
    return format_text(decode_source(data, "a.soac"), "a.soac")


@cache
def core_texts() -> Corpus:
    folders = ("tests/ir/programs/*.ir", "tests/regress/*.ir", "tests/property/**/*.ir")
    found = (re.sub(rb"(?m)^--.*\n", b"", one) for folder in folders for one in files(folder))
    return corpus_of([one for one in found if len(one) < 6000])


def read_core(data: bytes) -> object:
    prog = parse_prog(data.decode())
    check(prog, Stage.FLAT if b"guard" in data or b"^" in data else Stage.CORE)
    return show(prog)


@cache
def kernel_texts() -> Corpus:
    pairs = files("tests/kernels/passes/golden/**/*.kir")
    return corpus_of([half for pair in pairs for half in pair.split(b"\n=>") if half.lstrip().startswith(b"kernel")])


def read_kernel(data: bytes) -> object:
    return show_kernel(parse_kernel(data.decode()))


BLOCKS = (
    b"-- ==\n-- tags { slow }\n-- entry: f g\n-- \"small\" nobench input { 3 [1, 2] } output { 6 }\n"
    b"-- random input { [1000]f32 5i64 } auto output\n-- input @data/big.in.gz output @data/big.out\n"
    b"-- input { 0 } error: division by zero\n-- structure gpu { SegMap 1 /If/True/SegRed 1 }\n"
    b"-- warning: deprecated\n",
    b"-- ==\n-- error: [[:digit:]]+(a|b)*\\.x$\ndef main = 1\n",
    b"-- ==\n-- property: holds\n\n-- ==\n"
    b"-- script input { let (x, y) = f 10 in g x (h [1, 2] \"a\") } output { true }\n",
)  # fmt: skip


@cache
def blocks() -> Corpus:
    with_block = [one for one in sources().whole if b"-- ==" in one]
    return corpus_of([*BLOCKS, *BLOCKS, *with_block])


def read_blocks(data: bytes) -> object:
    return parse_tests(decode_source(data, "a.soac"), "a.soac")


SCRIPTS = (
    b"f 10 (g xs)", b"let (x, y) = f [1, 2] in g x (h y empty([0][2]f32)) -- end", b'($loaddata "a", $loadbytes "b.c")',
    b"let a = 1.5f32 in let b = (a, -f64.inf, true) in f () b 0x1f [[1i8], [2]]",
)  # fmt: skip


@cache
def scripts() -> Corpus:
    return corpus_of(SCRIPTS)


def read_one_script(data: bytes) -> object:
    return read_script(data.decode(), script_fault)


def script_fault(message: str) -> CompileError:
    return CompileError(Diagnostic("E0301", message, Label(NOWHERE, "")))


# ---- values


@cache
def values() -> tuple[tuple[object, ...], ...]:
    source = np.random.default_rng(0)
    plain = [
        (source.random(shape) * 300 - 150).astype(DTYPES[prim])
        for prim in PRIMS
        for shape in ((3,), (2, 3), (0, 4), (2, 1, 2))
    ]
    return (
        *((one,) for one in plain),
        tuple(one[0] for one in plain[::4][:4]),
        (np.float32("nan"), plain[9], plain[17]),
    )


@cache
def texts_of_values() -> Corpus:
    own = (b'"abc\\n" [[1, 2], [3, 4]] -- a comment\n 0x1f 1e5 -f32.inf [f16.nan, 1]', b"[1_000, -2i32] true [1.0f32]")
    return corpus_of([*own, *(write_values(some, Format.TEXT) for some in values())])  # type: ignore[arg-type]


@cache
def binaries() -> Corpus:
    return corpus_of([write_values(some, Format.BINARY) for some in values()])  # type: ignore[arg-type]


@cache
def npys() -> Corpus:
    found = (some for some in values() if len(some) == 1 and type_of(some[0]).prim is not Prim.BF16)  # type: ignore[arg-type]
    singles = [write_values(some, Format.NPY) for some in found]  # type: ignore[arg-type]
    return corpus_of(singles)


EXPECTED = (None, None, [ValueType(Prim.I32, 1)], [ValueType(Prim.F32, 2), ValueType(Prim.I64, 0)])


def read_data(data: bytes) -> object:
    found = read_values(data, "a.in", EXPECTED[len(data) % 4], limit=LIMIT)
    wanted = read_as(data, "a.in", [w for w in [wanted_of("[]f64")] if w]) if len(data) % 8 == 0 else None
    return write_values(found, Format.TEXT), wanted


TAGS = [prim.value.rjust(4) for prim in Prim]


def make_binary(source: Random) -> bytes:
    """A header of any version, rank, type and dimensions, and some bytes; or a changed one."""
    if source.random() < 0.5:
        return changed(binaries(), source)
    rank = source.choice((0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 7, 64, 65, 255))
    sizes = (1, 2, 3) if source.random() < 0.6 else (0, 1, 2, 3, 5, 2**31, 2**62, -1, source.getrandbits(64) - 2**63)
    dims = [source.choice(sizes) for _ in range(rank)]
    kind = (
        source.choice([*(prim.value for prim in Prim), *(prim.value for prim in Prim), "q99", "f3 2"])
        .rjust(4)
        .encode()[:4]
    )
    head = b"b" + bytes([source.choice((2,) * 20 + (1, 3, 9)), rank]) + kind + struct.pack(f"<{rank}q", *dims)
    size = np.prod(dims, dtype=object) * {b"bool": 1}.get(kind, int(kind[2:]) // 8 if kind[2:].strip().isdigit() else 0)
    exact = [int(size)] * 6 if 0 <= size <= MOST // 2 else []
    body = source.choice((0, 1, 8, 24, 100, 4096, *exact))
    return head + (bytes(body) if source.random() < 0.5 else source.randbytes(body))


def make_npy(source: Random) -> bytes:
    """A header with any entries, and some bytes; or a changed one."""
    if source.random() < 0.5:
        return by_bytes(source.choice(npys().whole), source)
    descr = source.choice(
        ("<i4", ">f8", "|b1", "|O", "<f2", "=u8", "<c8", "<U3", "|V5", "<M8[s]", "[('a', '<i4')]", "x")
    )
    shape = source.choice(
        ("(3,)", "(2, 3)", "()", "(0, 4)", "(-1,)", "(2**62, 4)", "(4611686018427387904,) ", "3", "(3")
    )
    order = source.choice(("False", "True", "None", "1"))
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    header = changed(corpus_of([header.encode()]), source).decode("latin-1") if source.random() < 0.5 else header
    body = header.encode("latin-1").ljust(117) + b"\n"
    version = source.choice(((1, 0), (1, 0), (1, 0), (2, 0), (3, 0), (9, 9)))
    length = struct.pack("<H" if version == (1, 0) else "<I", min(source.choice((*[len(body)] * 8, 65535, 3)), 65535))
    return b"\x93NUMPY" + bytes(version) + length + body + source.randbytes(source.choice((0, 12, 24, 64)))


def make_npz(source: Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", source.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for k in range(source.randrange(3)):
            archive.writestr(source.choice((f"{k}.npy", f"../{k}.npy", f"{k}", f"/{k}.npy")), make_npy(source))
    return by_bytes(file.getvalue(), source) if source.random() < 0.7 else file.getvalue()


def make_gzip(source: Random) -> bytes:
    inner = source.choice((changing(texts_of_values), make_binary, make_npy))
    data = inner(source) if source.randrange(400) else bytes(source.choice((1 << 20, 1 << 24, 1 << 27)))
    packed = b"".join(gzip.compress(data, 1) for _ in range(source.choice((1, 1, 1, 2))))
    return by_bytes(packed, source)[:MOST] if source.random() < 0.7 else packed[:MOST]


TYPES = (
    b"[10][20]f32", b"[1000]i64", b"i32=0:99", b"f64=-1e5:1e5", b"[]i64", b"[ 3 ]u8", b"bool",
    b"u64=0:18446744073709551615",
)  # fmt: skip


@cache
def type_words() -> Corpus:
    return corpus_of(TYPES)


def read_types(data: bytes) -> object:
    word = data.decode("utf-8", "surrogateescape")
    return str(drawn_of(word)), str(wanted_of(word)), bounds_of(word)


# ---- files of tuning


NAMES = ("main.red.suff_outer_0", "main.red.suff_intra_1", "main.threads", "main.tile_2")
SIDECAR = json.dumps({"device": "cpu", "described": "2 cores", "program": "x", "entries": {"main": {"runs": 3}}})


@cache
def tunings() -> Corpus:
    text = "".join(f"{name}={k}\n" for k, name in enumerate(NAMES))
    return corpus_of([text.encode(), (text.replace("\n", "\r\n") + "\n").encode(), b"main.threads=9223372036854775807"])


@cache
def sidecars() -> Corpus:
    return corpus_of([SIDECAR.encode(), json.dumps({"program": [[{}]], "device": None}).encode()])


def make_tuning(source: Random) -> bytes:
    """The file and its sidecar, a NUL in between."""
    return changed(tunings(), source).replace(b"\0", b"") + b"\0" + changed(sidecars(), source)


def read_one_tuning(data: bytes) -> object:
    text, _, beside = data.partition(b"\0")
    path = Path("a.soac.tuning")
    path.write_bytes(text)
    path.with_name(path.name + ".json").write_bytes(beside)
    found, warnings = read_tuning(path, NAMES, "def main = 1", "2 cores")
    show_diagnostics(warnings)
    return found


FACTS = Facts("program", "made up", "1")


@cache
def study() -> tuple[bytes, tuple[tuple[int, str, bytes], ...]]:
    """A database with a search in it, and what its trials store: number of the row, key, text."""
    folder = Path("study-of-fuzz")
    folder.mkdir(exist_ok=True)
    branches, truth = made_up(5, cases=1)
    problem = Problem(branches, ("#0",), {})
    with open_beside(folder / "db") as storage:
        sampler = Planned(1)
        Search(open_study(storage, "made up", FACTS, sampler), sampler, MadeUp(truth), inf, print).see_versions(problem)
    with sqlite3.connect(folder / "db") as database:
        database.execute("pragma wal_checkpoint(truncate)")
        rows = database.execute("select trial_user_attribute_id, key, value_json from trial_user_attributes").fetchall()
    database.close()
    data = (folder / "db").read_bytes()
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    return data, tuple((number, key, text.encode()) for number, key, text in rows)


def make_study(source: Random) -> bytes:
    """Changed bytes of the database, or a changed text of a trial, put in by SQL (a number in front says where)."""
    data, rows = study()
    if source.random() < 0.5:
        return b"\0" * 8 + by_bytes(data, source)
    number, _, text = source.choice(rows)
    text = changed(corpus_of([text]), source)
    return struct.pack("<q", number) + text


def read_study(data: bytes) -> object:
    (number,) = struct.unpack("<q", data[:8])
    for file in Path().glob("a.db*"):
        file.unlink()
    Path("a.db").write_bytes(data[8:] if not number else study()[0])
    if number:
        with sqlite3.connect("a.db") as database:
            change = "update trial_user_attributes set value_json = ? where trial_user_attribute_id = ?"
            database.execute(change, (data[8:].decode("utf-8", "replace"), number))
        database.close()
    store.WAITS = ()  # a database that cannot be opened is not tried again
    with storing(), open_beside(Path("a.db")) as storage:
        sampler = Planned(1)
        found = open_study(storage, "made up", FACTS, sampler)
        return Search(found, sampler, MadeUp(()), inf, print).timed()


@cache
def times() -> Corpus:
    text = {"a.soac": {"main #0": [0.1, 0.2, 0.3], "f [10]f32": [1e-6]}, "b.soac": {"main": [1, 2, 3]}}
    return corpus_of([json.dumps(text).encode(), json.dumps(text, indent=1).encode()])


def read_times(data: bytes) -> object:
    for name, content in (("before", data), ("after", times().whole[0])):
        Path(name).write_bytes(content)
    return benchcmp.main(["before", "after"], standalone_mode=False)


# ---- the cache


CACHED = "def main [n] (xs: [n]f32) (i: i64): f32 = reduce (+) 0 xs + xs[i]\n"


def places() -> tuple[str, str]:
    """Where the cache keeps a program, and its entry point."""
    program = program_cache.key(CACHED, "a.soac", Reach.PROJECT)
    return program, program_cache.place_of(program_cache.made_from(program, ()), "main")


@cache
def entries() -> tuple[bytes, ...]:
    """What the cache keeps of a program, and of its entry point."""
    import numpy as np

    import soac

    soac.compile(CACHED, "a.soac").main(np.ones(1, np.float32), 0)
    found = [disk_cache.get(jit.user_cache(), place) for place in places()]
    assert None not in found, "the cache is not used: set SOAC_CACHE_DIR"
    return tuple(one for one in found if one is not None)


@cache
def bodies() -> Corpus:
    return corpus_of([one[program_cache.DIGEST :] for one in entries()])


def make_entry(source: Random) -> bytes:
    """A file of the cache: changed anywhere, or with a changed body under digests that are right."""
    body = changed(bodies(), source)
    if source.random() < 0.2:
        return by_bytes(source.choice(entries()), source)
    return sha256(body).digest() + body


def read_entry(data: bytes) -> object:
    program, entry = places()
    cache_here = disk_cache.Cache(Path("cache"))
    real, jit.user_cache = jit.user_cache, lambda: cache_here  # type: ignore[assignment]
    try:
        disk_cache.put(cache_here, program, data)
        disk_cache.put(cache_here, entry, data)
        program_cache.find(CACHED, "a.soac", Reach.PROJECT, lambda: Refused.REFUSED)  # type: ignore[arg-type,return-value]
        return program_cache.read(
            entry, program_cache.StoredEntry, lambda one: image.stored_code(one.image, KernelCode())
        )
    finally:
        jit.user_cache = real


def read_object(data: bytes) -> object:
    """An entry's file as others may leave it."""
    cache_here = disk_cache.Cache(Path("cache"))
    Path("cache").mkdir(mode=0o700, exist_ok=True)
    (Path("cache") / f"k{disk_cache.SUFFIX}").write_bytes(data)
    return disk_cache.get(cache_here, "k")


@cache
def objects() -> Corpus:
    return corpus_of([disk_cache._header(part) + part for part in (b"abc", bytes(100), *entries())])  # pyright: ignore


READERS = {
    reader.name: reader
    for reader in (
        Reader("source", 60, changing(sources), refusing(read_program)),
        Reader("format", 10, changing(sources), refusing(read_and_format)),
        Reader("data-text", 160, changing(texts_of_values), refusing(read_data)),
        Reader("data-binary", 180, make_binary, refusing(read_data)),
        Reader("npy", 100, make_npy, refusing(read_data)),
        Reader("npz", 50, make_npz, refusing(read_data)),
        Reader("gzip", 60, make_gzip, refusing(read_data)),
        Reader("types", 50, changing(type_words), refusing(read_types)),
        Reader("tuning", 50, make_tuning, refusing(read_one_tuning)),
        Reader("study", 1, make_study, refusing(read_study)),
        Reader("times", 10, changing(times), refusing(read_times)),
        Reader("cache-entry", 20, make_entry, refusing(read_entry)),
        Reader("cache-object", 30, changing(objects), refusing(read_object)),
        Reader("core", 40, changing(core_texts), refusing(read_core, IRError, UnicodeDecodeError)),
        Reader("kernel", 40, changing(kernel_texts), refusing(read_kernel, IRError, UnicodeDecodeError)),
        Reader("test-block", 70, changing(blocks), refusing(read_blocks)),
        Reader("script", 80, changing(scripts), refusing(read_one_script, IRError, UnicodeDecodeError)),
        Reader("command-line", 5, words_of, refusing(run_line)),
    )
}
"""Every reader of text or bytes that come from outside."""
