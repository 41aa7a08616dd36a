"""Programs that were compiled before: found again on disk by what they were made from, without the compiler.

    key = hash (name and text of the file, what it may import, the compiler's own files, the machine)

An entry holds what running needs (`kernels/devices/cpu/image.py`), what commands need to set parameters, and the
digests of the files that were imported: where one of them has changed, the entry does not count. Machine code lies
beside it, under keys of its own. It is data (`plain.py`), read from the user's own directory only
(`kernels/devices/disk_cache.py`).
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from .frontend.source.text import Reach, decode_source
from .ir import basic, core, entry_points, errors, ops, types
from .ir import version_tree as tree
from .ir.by_hand import digests
from .ir.errors import CompileError, Diagnostic
from .ir.records import dataclass
from .ir.version_tree import Site, sites, size_params
from .kernels.devices import disk_cache as disk
from .kernels.devices.cpu import image
from .kernels.devices.cpu.executable import Executable
from .kernels.devices.cpu.host import failure_sites as hostsites
from .kernels.devices.cpu.host import layout
from .kernels.devices.cpu.image import Image, stored_code
from .kernels.devices.cpu.kernel_code import KernelCode
from .kernels.devices.cpu.runtime import jit
from .kernels.devices.cpu.runtime.jit import CompiledKernels, Effort
from .kernels.host_ir import nodes as host
from .kernels.host_ir.launch_parameters import launch_sizes
from .kernels.kernel_ir import nodes as kir
from .kernels.kernel_ir import values as kernel_values
from .plain import Classes, NotPlain, classes_of, from_plain, plain

if TYPE_CHECKING:
    from .pipeline import Compiled


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
    """`imported`: the files that took part, with the digests of their texts."""

    image: Image
    facts: Facts
    imported: tuple[tuple[str, str], ...]


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
            tree,
            sys.modules[__name__],
        )
    )


def facts_of(compiled: Compiled) -> Facts:
    sizes = {size.name: size.default for fun in compiled.host.functions for size in launch_sizes(fun)}
    guards, said = tuple(sites(compiled.flat)), compiled.interface
    by_hand = digests(compiled.core)
    return Facts(compiled.warnings, guards, size_params(compiled.flat) | sizes, said.docs, said.types, by_hand)


def build(text: str, file: str, reach: Reach, compiled: Compiled, facts: Facts) -> Executable:
    """A compiled program ready to run on the CPU; it is kept for the next time."""
    from .kernels.devices.cpu.build import compile_kernel, compiled_code, image_of

    place, bodies = key(text, file, reach), bodies_of(compiled)
    image, host = image_of(compiled.host, compiled.core.functions, native=True)
    entry = Stored(image, facts, imported(file, compiled))
    kernels = KernelCode(
        lambda name, far, effort: compile_kernel(bodies[name], far, effort),
        made_from(place, entry.imported),
        with_quick_code(bodies.__getitem__),
    )
    code = compiled_code(image, host, kernels)
    with suppress(NotPlain):
        body = json.dumps(plain(entry, classes())).encode()
        disk.put(jit.user_cache(), place, sha256(body).digest() + body)
    return Executable.of(image, code)


def find(text: str, file: str, reach: Reach, compile: Callable[[], Compiled]) -> tuple[Executable, Facts] | None:
    """The program, if it was compiled before and nothing that it was made from has changed; `compile` does so again
    where a kernel is needed that the cache does not have."""
    place = key(text, file, reach)
    data = disk.get(jit.user_cache(), place)
    if data is None:
        return None
    try:
        return _restored(data, place, file, compile)
    except (ValueError, TypeError, LookupError, AttributeError, AssertionError, NotPlain, RecursionError):
        return None  # written by other software, or by hand: the program is compiled, and the entry written anew


def _restored(data: bytes, place: str, file: str, compile: Callable[[], Compiled]) -> tuple[Executable, Facts] | None:
    """The program of an entry, unless a file that it was made from has changed."""
    body = data[DIGEST:]
    if sha256(body).digest() != data[:DIGEST]:
        return None  # what is read below was written here, so that it is nested no deeper than programs are
    entry: Stored = from_plain(json.loads(body), classes())
    if any(digest_of_file(name) != known for name, known in entry.imported):
        return None

    def kernel(name: str) -> kir.Kernel:
        compiled = compile()
        if changed := set(imported(file, compiled)) ^ set(entry.imported):
            raise changed_meanwhile(sorted({name for name, _ in changed}))
        return bodies_of(compiled)[name]

    def made(name: str, far: bool, effort: Effort) -> tuple[str, CompiledKernels]:
        from .kernels.devices.cpu.build import compile_kernel

        return compile_kernel(kernel(name), far, effort)

    code = stored_code(entry.image, KernelCode(made, made_from(place, entry.imported), with_quick_code(kernel)))
    return None if code is None else (Executable.of(entry.image, code), entry.facts)


def with_quick_code(body: Callable[[str], kir.Kernel]) -> Callable[[str], kir.Kernel] | None:
    """What kernels of little work have quick code from; None where `SOAC_EFFORT` is `full`."""
    return body if jit.may_be_quick() else None


def bodies_of(compiled: Compiled) -> Mapping[str, kir.Kernel]:
    return {kernel.name: kernel for kernel in compiled.host.kernels}


def imported(file: str, compiled: Compiled) -> tuple[tuple[str, str], ...]:
    """The files that took part beside `file` and the library, with the digests of their texts."""
    from .frontend.library import prelude_text

    library = prelude_text()
    return tuple((n, digest(other)) for n, other in compiled.texts.items() if n != file and other != library)


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
        "program-3", str(Path(file).absolute()), file, text, reach.value, disk.compiler(), *jit.identity()
    )


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_file(name: str) -> str | None:
    """The digest of a file's text; None if it cannot be read."""
    try:
        return digest(decode_source(Path(name).read_bytes(), name))
    except (OSError, CompileError):
        return None
