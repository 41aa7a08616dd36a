"""The objects of a library: for each target host functions, kernels and their table; once the runtime and what callers
see. What others see of them begins with the library's name, so that several libraries go into one program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

from .....ir.errors import MAX_CALLS
from .....ir.records import dataclass
from ....host_ir.nodes import HostProgram
from ....kernel_ir.nodes import Kernel
from ....lanes.module import emit
from ....limits import MAX_THREADS
from ....passes.pipeline import CPU_PASSES, ready
from ....schedule.cpu.bulk_copies import bulk_kernel
from ... import disk_cache as disk
from ..arena import RESERVED, SMALLEST
from ..build import kernel_text
from ..host.emit import emit_host
from ..host.layout import NativeFun
from ..runtime import assembly, jit
from ..runtime.jit import Effort, Host
from . import failures, targets
from .interface import OF_THREADS, Interface, identifier, interface_of
from .tables import library_data, target_data, target_symbol
from .targets import BASES, Target

FOLDER = files(__name__.rpartition(".")[0])
RUNTIME = ("memory", "descriptors", "copies", "calls", "stack", "trace", "thread_pool")
PARTS = ("types", "contexts", "settings", "failures", "calls")
"""Files of this folder; that of the machine comes behind them."""

MESSAGE = 1024
"""Bytes of a message, of the name of a tuning file and of its lines."""

_CALLED = """
calloc free mmap munmap sysconf snprintf strtod strtol strcmp strncmp strlen strspn strcspn strpbrk fopen fgets rewind
fclose pthread_mutex_destroy pthread_atfork dlopen dlsym __extendhfsf2 __truncsfhf2 __truncdfhf2
"""
OTHERS = frozenset(_CALLED.split())
"""What a library calls beside what programs do in Python: of C, and for halves, where a processor has none, of the
compiler's own library."""

X86_FEATURES = {
    "V2_FEATURES": 1 << 0 | 1 << 9 | 1 << 13 | 1 << 19 | 1 << 20 | 1 << 23,  # SSE3 to 4.2, CMPXCHG16B, POPCNT
    "V2_EXTENDED": 1 << 0,  # LAHF
    "V3_FEATURES": 1 << 12 | 1 << 22 | 1 << 27 | 1 << 28 | 1 << 29,  # FMA, MOVBE, OSXSAVE, AVX, F16C
    "V3_EXTENDED": 1 << 5,  # LZCNT
    "V3_MORE": 1 << 3 | 1 << 5 | 1 << 8,  # BMI, AVX2, BMI2
    "V3_REGISTERS": 0x6,
    "V4_MORE": 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | 1 << 31,  # AVX512: F, DQ, CD, BW, VL
    "V4_REGISTERS": 0xE6,
}
LINUX = {"CORES": 84, "READ_WRITE": 0x3, "RESERVE_ONLY": 0x4022}
"""Numbers of the system: what `sysconf` is asked for, and how `mmap` reserves address space."""


@dataclass(frozen=True, slots=True)
class Built:
    """What is in a library, and its objects, by names."""

    interface: Interface
    objects: Mapping[str, bytes]


def build(
    program: HostProgram,
    name: str,
    chosen: Sequence[Target],
    default: Callable[[str], int],
    presets: Mapping[str, int],
) -> Built:
    """A library of all entries of a program, which must have a native form, for targets of one machine. `default`: of
    a threshold; `presets`: what settings are from the start."""
    targets.prepare()
    host, natives = emit_host(program)
    interface = interface_of(name, natives, default, presets)
    kernels = {kernel.name: kernel for kernel in program.kernels}
    made = [ready(kernel, CPU_PASSES) for kernel in program.kernels]
    objects = {"library.o": base_object(interface, natives, kernels, chosen)}
    for target in chosen:
        prefix = identifier(target.name)
        texts = {kernel.name: kernel_text(kernel, target.host) for kernel in made}
        objects |= {f"{prefix}.{key}.o": data for key, data in target_objects(name, target, natives, host, texts)}
    return Built(interface, objects)


def base_object(
    interface: Interface, natives: Sequence[NativeFun], kernels: Mapping[str, Kernel], chosen: Sequence[Target]
) -> bytes:
    """The runtime, the functions that callers see, and their tables."""
    triple = chosen[0].host.triple
    parts = [(FOLDER / f"{part}.ll").read_text(encoding="utf-8") for part in (*PARTS, triple.split("-")[0])]
    parts.append(library_data(parts[0], interface, natives, kernels, [target_symbol(t.name) for t in chosen]))
    known = {
        **shared_constants(interface, triple), **LINUX, **X86_FEATURES, "TARGETS": len(chosen),
        "MAX_THREADS": MAX_THREADS, "RESERVED": RESERVED, "SMALLEST": SMALLEST,
    }  # fmt: skip
    texts = [assembly.module(one, triple) for one in RUNTIME]
    texts.append(assembly.filled("\n".join(parts), known))
    return compiled(tuple(named(text, interface.name, "") for text in texts), BASES[triple], Effort.FULL)


def shared_constants(interface: Interface, triple: str) -> dict[str, object]:
    """What the files stand for that libraries of all devices share."""
    return {
        **assembly.constants(triple), "CALLED": assembly.CALLED, "MAX_CALLS": MAX_CALLS,
        "PROGRAM": interface.name, "ENTRIES": len(interface.entries), "SETTINGS": len(interface.settings),
        "MESSAGE": MESSAGE, "MESSAGE_END": MESSAGE - 1, "OF_THREADS": OF_THREADS, "SIGNED": ord(failures.SIGNED),
        "UNSIGNED": ord(failures.UNSIGNED), "TRUTH": ord(failures.TRUTH), "FLOAT": ord(failures.FLOAT),
    }  # fmt: skip


def target_objects(
    name: str, target: Target, natives: Sequence[NativeFun], host: str, kernels: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    """The objects of a target with their names: its table, its host functions, its kernels."""
    types = (FOLDER / "types.ll").read_text(encoding="utf-8")
    structs = "\n".join(line for line in types.splitlines() if line.startswith(("%Target", "%Table")))
    table = f"{structs}\n{target_data(types, target.name, target.level, natives)}"
    sources = [("table", table, Effort.QUICK), ("host", host, Effort.QUICK)]
    sources += [(f"kernel.{key}", text, Effort.FULL) for key, text in kernels.items()]
    sources += [(f"bulk.{key}", text, Effort.FULL) for key, text in bulk_texts().items()]
    for key, text, effort in sources:
        yield key, compiled((named(text, name, identifier(target.name)),), target.host, effort)


@cache
def bulk_texts() -> Mapping[str, str]:
    """The kernels of bulk operations. They are the same for all libraries, and the first that is linked serves all."""
    texts = {name: emit((bulk_kernel(name),)) for name in assembly.BULK[: assembly.IN_LIBRARIES]}
    shared = {key: re.sub(r"^define void", "define weak_odr void", t, flags=re.MULTILINE) for key, t in texts.items()}
    return {key: text.replace('@"kernel.', '@"bulk.') for key, text in shared.items()}


@cache
def bulk_digest() -> str:
    """What tells them from those of other versions of soac."""
    return disk.key_of(*bulk_texts().values())[:16]


OWN = re.compile(r"^define (?:weak_odr )?(?!internal|weak_odr)(?=.*@\"?(?:soac_|host\.|kernel\.|bulk\.))", re.MULTILINE)
"""How the functions begin that only objects of a library see."""


def named(text: str, library: str, target: str) -> str:
    """A module whose symbols that others see begin with the name of the library, and of a target of it."""
    text = OWN.sub(r"\g<0>hidden ", text)
    text = re.sub(r'@"(?=(host|kernel)\.)', f'@"soac_{library}_{target}_', text)
    text = re.sub(r'@"(?=bulk\.)', f'@"soac_{bulk_digest()}_{target}_', text)
    return text.replace("@soac_", f"@soac_{library}_")


def compiled(texts: tuple[str, ...], target: Host, effort: Effort) -> bytes:
    """An object of modules that are linked to one, from the cache or compiled."""
    cache, made_for = jit.user_cache(), (target.triple, target.cpu, target.features, effort.value)
    key = disk.key_of("library-1", *jit.identity(), *made_for, *texts)
    return disk.stored(cache, key, lambda: jit.compile_object(texts, target, effort, OTHERS))
