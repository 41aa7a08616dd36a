"""Programs that were compiled before: found again on disk by what they were made from, without the compiler.

    key = hash (name and text of the file, what it may import, the compiler's own files, the machine)

What is stored under it has the signatures of the entry points, what commands need to set parameters, and the digests of
the files that were imported: where one of them has changed, it does not count. Beside it, under keys of their own, are
the entry points that were called, each with what running needs (`kernels/devices/cpu/image.py`) in the versions that
calls needed (`kernels/devices/cpu/by_entry.py`); the sizes of launches, for which all versions are lowered; and machine
code. It is data (`plain.py`), read from the user's own directory only (`kernels/devices/disk_cache.py`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .autotune.tuning import program_digest
from .frontend.source.text import Reach, decode_source
from .ir import basic, core, entry_points, errors, ops, types
from .ir import version_tree as tree
from .ir.by_hand import digests
from .ir.collector import paused_collector
from .ir.depth import allow_depth
from .ir.errors import CompileError, Diagnostic
from .ir.reached_sides import Side, Wanted, Way, reached_sides
from .ir.records import dataclass
from .ir.version_tree import Site, sites, size_params
from .kernels.devices import disk_cache as disk
from .kernels.devices.cpu import image
from .kernels.devices.cpu.by_entry import ByEntry, Part
from .kernels.devices.cpu.executable import WORKERS, CpuDevice, Executable
from .kernels.devices.cpu.host import failure_sites as hostsites
from .kernels.devices.cpu.host import layout
from .kernels.devices.cpu.image import Image, stored_code
from .kernels.devices.cpu.kernel_code import KernelCode
from .kernels.devices.cpu.runtime import jit
from .kernels.devices.cpu.runtime.jit import CompiledKernels, Effort
from .kernels.host_ir import nodes as host
from .kernels.host_ir.launch_parameters import launch_sizes
from .kernels.kernel_ir import beside_code as kernel_notes
from .kernels.kernel_ir import nodes as kir
from .kernels.kernel_ir import values as kernel_values
from .plain import Classes, NotPlain, classes_of, from_plain, plain

if TYPE_CHECKING:
    from .pipeline import Compiled, Flat

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Facts:
    """What commands ask of a program before they run it: warnings, guards, sizes that may be set, and what it says to
    callers: comments of entry points, and names of types by their texts (`frontend/interface.py`). `by_hand`: the
    digests of kernels by hand."""

    warnings: tuple[Diagnostic, ...]
    sites: tuple[Site, ...]
    sizes: Mapping[str, int]
    docs: Mapping[str, str]
    types: Mapping[str, str]
    by_hand: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stored:
    """A program: its entry points without bodies. `imported`: the files that took part, with the digests of their
    texts; `facts` without the sizes of launches."""

    entries: tuple[core.FunDef, ...]
    facts: Facts
    imported: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry point that is ready to run, in the versions that the `sides` of guards lead to; None: in all."""

    image: Image
    sides: tuple[Side, ...] | None


class LaunchSizes(Mapping[str, int]):
    """Sizes that may be set, found when somebody asks for them."""

    def __init__(self, find: Callable[[], Mapping[str, int]]) -> None:
        self._found = cache(find)

    def __getitem__(self, name: str) -> int:
        return self._found()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())


DIGEST = 32  # bytes in front of an entry's body: its SHA-256


@cache
def classes() -> Classes:
    """What an entry may be made of."""
    return classes_of(
        (
            basic,
            core,
            entry_points,
            errors,
            ops,
            types,
            host,
            hostsites,
            image,
            layout,
            kir,
            kernel_values,
            kernel_notes,
            tree,
            sys.modules[__name__],
        )
    )


def facts_of(compiled: Compiled) -> Facts:
    return facts_with(compiled, sizes_of(compiled.flat, compiled.host))


def facts_with(flat: Flat | Compiled, sizes: Mapping[str, int]) -> Facts:
    said = flat.interface
    return Facts(flat.warnings, tuple(sites(flat.flat)), sizes, said.docs, said.types, digests(flat.core))


def sizes_of(flat: core.Prog, program: host.HostProgram) -> dict[str, int]:
    """The sizes that may be set, with their defaults: those of a flat program, and those of its launches."""
    return size_params(flat) | {size.name: size.default for fun in program.functions for size in launch_sizes(fun)}


def build(text: str, file: str, reach: Reach, flat: Flat) -> tuple[ByEntry, Facts]:
    """A compiled program ready to run on the CPU; it is kept for the next time."""
    place, facts = key(text, file, reach), facts_with(flat, {})
    entries = tuple(replace(fun, body=core.Body((), ())) for fun in flat.core.functions if fun.entry)
    program = Stored(entries, facts, imported(file, flat.texts))
    write(place, program)
    return restored(program, place, lambda: flat)


def find(text: str, file: str, reach: Reach, compile: Callable[[], Flat]) -> tuple[ByEntry, Facts] | None:
    """The program, if it was compiled before and nothing that it was made from has changed; `compile` does so again
    where code is needed that the cache does not have."""
    place = key(text, file, reach)

    def used(program: Stored) -> tuple[ByEntry, Facts] | None:
        if any(digest_of_file(name) != known for name, known in program.imported):
            return None

        def again() -> Flat:
            flat = compile()
            if changed := set(imported(file, flat.texts)) ^ set(program.imported):
                raise changed_meanwhile(sorted({name for name, _ in changed}))
            return flat

        return restored(program, place, again)

    return read(place, Stored, used)


def restored(program: Stored, place: str, flat: Callable[[], Flat]) -> tuple[ByEntry, Facts]:
    """A program whose entries are found in the cache, or made from what `flat` gives."""
    made_of = made_from(place, program.imported)

    functions = {fun.entry.name: fun for fun in program.entries if fun.entry}
    sizes = LaunchSizes(lambda: found_sizes(disk.key_of("sizes", made_of), flat))
    device = CpuDevice(KernelCode(), {}, WORKERS)
    made = ByEntry(functions, device, lambda entry, way: part_of(made_of, entry, way, flat))
    return made, replace(program.facts, sizes=sizes)


def found_sizes(place: str, flat: Callable[[], Flat]) -> Mapping[str, int]:
    """The sizes of a program that may be set, from the cache or by lowering all of it."""
    found = read(place, dict, checked_sizes)
    if found is None:
        from .kernels.lower import lower

        allow_depth()
        prog = flat().flat
        with paused_collector():
            found = sizes_of(prog, lower(prog))
        write(place, found)
    return found


def checked_sizes(found: dict[Any, Any]) -> dict[str, int]:
    """Sizes that were kept, if they are that. Raises ValueError or TypeError."""
    return {str(name): int(default) for name, default in found.items()}


def part_of(made_of: str, entry: str, way: Way | None, flat: Callable[[], Flat]) -> Part:
    """An entry in the versions that a call needs, or in all: from the cache, which may have more or others than the
    call needs, or made and stored there."""
    place = place_of(made_of, entry)

    def used(found: StoredEntry) -> Part | None:
        is_whole, sides = found.sides is None, found.sides
        program = cache(lambda: part_lowered(flat(), entry, sides))
        code = stored_code(found.image, kernels_of(made_of, entry, sides, program)) if is_whole or way else None
        return None if code is None else Part(Executable.of(found.image, code), is_whole)

    return read(place, StoredEntry, used) or new_part(place, made_of, entry, way, flat())


def place_of(made_of: str, entry: str) -> str:
    """Where the cache has an entry of a program."""
    return disk.key_of("entry", made_of, entry)


@paused_collector()
def new_part(place: str, made_of: str, entry: str, way: Way | None, flat: Flat) -> Part:
    """An entry that the cache does not have, or not so."""
    from .kernels.devices.cpu.build import compiled_code, image_of
    from .kernels.lower_parts import leaves_out

    functions = tuple(fun for fun in flat.core.functions if fun.entry and fun.entry.name == entry)
    sides = None if way is None else tuple(sorted(reached_sides(flat.flat, flat_function(flat, entry), way)))
    program = part_lowered(flat, entry, sides)
    if not leaves_out(program):
        sides = None
    image, source = image_of(program, functions, native=True)
    code = compiled_code(image, source, kernels_of(made_of, entry, sides, lambda: program))
    write(place, StoredEntry(image, sides))
    return Part(Executable.of(image, code), sides is None)


def flat_function(flat: Flat, entry: str) -> core.FunDef:
    return next(fun for fun in flat.flat.functions if fun.entry and fun.entry.name == entry)


def part_lowered(flat: Flat, entry: str, sides: tuple[Side, ...] | None) -> host.HostProgram:
    """The host program of an entry in some versions."""
    from .kernels.lower import lower

    allow_depth()
    with paused_collector():
        return lower(flat.flat, wanted=Wanted(entry, None if sides is None else frozenset(sides)))


def kernels_of(
    made_of: str, entry: str, sides: tuple[Side, ...] | None, program: Callable[[], host.HostProgram]
) -> KernelCode:
    """The code of the kernels of an entry, from the cache or from its host program."""

    def body(name: str) -> kir.Kernel:
        return next(kernel for kernel in program().kernels if kernel.name == name)

    def made(name: str, far: bool, effort: Effort) -> tuple[str, CompiledKernels]:
        from .kernels.devices.cpu.build import compile_kernel

        return compile_kernel(body(name), far, effort)

    own = disk.key_of(made_of, entry, "all" if sides is None else repr(sides))
    return KernelCode(made, own, with_quick_code(body))


def with_quick_code(body: Callable[[str], kir.Kernel]) -> Callable[[str], kir.Kernel] | None:
    """What kernels of little work have quick code from; None where `SOAC_EFFORT` is `full`."""
    return body if jit.may_be_quick() else None


# ---- what is on disk -------------------------------------------------------------------------------------------------


def write(place: str, value: object) -> None:
    """Keeps a value in the cache, if it has a plain form."""
    with suppress(NotPlain):
        body = json.dumps(plain(value, classes())).encode()
        disk.put(jit.user_cache(), place, sha256(body).digest() + body)


def read(place: str, kind: type[T], use: Callable[[T], R | None]) -> R | None:
    """What `use` makes of the value that was kept. One that other software has written, or somebody by hand, is none:
    then it is made anew."""
    data = disk.get(jit.user_cache(), place)
    if data is None or sha256(data[DIGEST:]).digest() != data[:DIGEST]:
        return None  # what is read below was written here, so that it is nested no deeper than programs are
    try:
        found = from_plain(json.loads(data[DIGEST:]), classes())
        return use(found) if isinstance(found, kind) else None
    except (ValueError, TypeError, LookupError, AttributeError, AssertionError, NotPlain, RecursionError):
        return None


def imported(file: str, texts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The files that took part beside `file` and the library, with the digests of their texts."""
    from .frontend.library import prelude_text

    library = prelude_text()
    return tuple((n, program_digest(other)) for n, other in texts.items() if n != file and other != library)


def made_from(place: str, imported: Sequence[tuple[str, str]]) -> str:
    """The key of a program with its imports, whose kernels the cache has under names that begin with it."""
    return disk.key_of(place, *(part for pair in imported for part in pair))


def changed_meanwhile(names: Sequence[str]) -> CompileError:
    """What a call raises whose kernels would have to be made from other files than the program was."""
    listed = ", ".join(f"`{name}`" for name in names)
    text = f"{listed} changed after the program was loaded, and a version that has not run yet needs it"
    return CompileError(Diagnostic("E0003", text, hint="load the program again"))


def key(text: str, file: str, reach: Reach) -> str:
    return disk.key_of(
        "program-4", str(Path(file).absolute()), file, text, reach.value, disk.compiler(), *jit.identity()
    )


def digest_of_file(name: str) -> str | None:
    """The digest of a file's text; None if it cannot be read."""
    try:
        return program_digest(decode_source(Path(name).read_bytes(), name))
    except (OSError, CompileError):
        return None
