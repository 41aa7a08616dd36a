"""LLVM text to machine code in this process, by llvmlite, with compiled objects cached on disk.

Compiling is parse, verify, optimise, emit an object; running is loading an object, whether fresh or cached. Every
symbol that an object leaves undefined must be on the allow-list: LLVM would give an unknown one an address that dies
when called. The processor's whole vector width is used (`-prefer-256-bit`), and no instructions of SSE4a: LLVM shuffles
bytes by `insertq`, which has no form for AVX and takes 115 ns on Zen 3 where 256 bits are in use.
"""

from __future__ import annotations

import os
from enum import Enum
from functools import cache as memoised

import llvmlite
import llvmlite.binding as llvm

from .....ir.errors import IRError
from .....ir.records import dataclass
from ... import disk_cache as disk
from ...disk_cache import Cache
from .object_symbols import undefined_symbols

ALLOWED = frozenset(
    {
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp",
        "exp2", "expm1", "hypot", "ldexp", "lgamma", "log", "log10", "log1p", "log2", "pow", "sin", "sincos", "sinh",
        "tan", "tanh", "tgamma", "fmod", "fmodf", "fma", "fmaf", "floor", "floorf", "ceil", "ceilf", "trunc", "truncf",
        "roundeven", "roundevenf", "memcmp", "memcpy", "memset", "memmove", "sqrt", "sqrtf",
        "pthread_create", "pthread_detach", "pthread_mutex_init", "pthread_mutex_lock", "pthread_mutex_unlock",
        "pthread_cond_init", "pthread_cond_wait", "pthread_cond_broadcast", "sched_yield", "pthread_self",
        "sched_getcpu", "sched_getaffinity", "pthread_setaffinity_np",
        "pthread_getattr_np", "pthread_attr_getstack", "pthread_attr_destroy",
        "aligned_alloc", "calloc", "free", "realloc", "madvise", "clock_gettime",
        "PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_CheckSignals", "PyErr_Clear", "PyErr_Occurred",
        "PyCapsule_GetPointer", "PyCapsule_New", "PyList_New", "PyList_SetItem", "PyLong_AsLongLong",
        "PyLong_FromLongLong", "PyThread_get_thread_ident", "Py_DecRef", "Py_IncRef",
    }
)  # fmt: skip
"""Symbols of the C library and the interpreter that generated code may call."""

OWN_SYMBOLS = "soac_"
"""How the names of the pool's and the runtime's functions begin, which host programs call."""

LOADER_SYMBOLS = frozenset({"_GLOBAL_OFFSET_TABLE_"})
"""Symbols that the loader itself provides."""

LONG_TEXT = 150_000
"""Modules of more characters get the short pipeline and a lower level of code generation: compile time matters more
than the last per cent."""


class Effort(Enum):
    """What LLVM does with a module: kernels get its whole pipeline; functions that were written by hand in its language
    are left as they are; host programs run each statement once and are to be there soon, and so are kernels of little
    work (`quick_code.py`)."""

    FULL = "full"
    AS_WRITTEN = "as-written"
    QUICK = "quick"


def may_be_quick() -> bool:
    """Whether kernels may have code of little effort: `SOAC_EFFORT=full` says no."""
    return os.environ.get("SOAC_EFFORT") != "full"


class Unlinkable(IRError):
    """Generated code calls what it must not."""


@dataclass(slots=True)
class CompiledKernels:
    """Machine code, valid as long as this object is alive."""

    engine: llvm.ExecutionEngine
    addresses: dict[str, int]

    def address(self, name: str) -> int:
        """The address of the kernel `name`."""
        return self.addresses[name]


@dataclass(frozen=True, slots=True)
class Host:
    """What code is made for; `apart`: for a file, at any address, and not for this process."""

    triple: str
    cpu: str
    features: str
    apart: bool = False


@memoised
def host() -> Host:
    """The processor of this process. LLVM is initialised on the way."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten().replace("+sse4a", "-sse4a")
    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), features + ",-prefer-256-bit" if features else "")


@dataclass(frozen=True, slots=True)
class Source:
    """Modules as text, which are linked to one, and the key of its code in the cache."""

    texts: tuple[str, ...]
    effort: Effort
    key: str


def source_of(text: str, effort: Effort) -> Source:
    """One module with its key: of its text, the effort, and all that `identity` names."""
    return Source((text,), effort, disk.key_of(text, effort.value, *identity()))


def load_text(
    text: str, names: tuple[str, ...], cache: Cache | None = None, effort: Effort = Effort.FULL
) -> CompiledKernels:
    """The functions `names` of a module given as text."""
    return load_source(source_of(text, effort), names, cache)


def load_source(source: Source, names: tuple[str, ...], cache: Cache | None = None) -> CompiledKernels:
    """The functions `names` of a module, from the cache or compiled."""
    cache = user_cache() if cache is None else cache
    found = load_stored(source.key, names, cache)
    if found is not None:
        return found
    fresh = compile_object(source.texts, host(), source.effort)
    disk.put(cache, source.key, fresh)
    loaded = load_object(fresh, names)
    if loaded is None:
        raise IRError(f"a compiled module lacks one of {', '.join(names)}")
    return loaded


def load_stored(key: str, names: tuple[str, ...], cache: Cache | None = None) -> CompiledKernels | None:
    """The functions `names` of a module whose code the cache has under `key`."""
    found = disk.get(user_cache() if cache is None else cache, key)
    return None if found is None else load_object(found, names)


@memoised
def user_cache() -> Cache:
    """The cache of the user, found once for the process."""
    return disk.user_cache()


@memoised
def identity() -> tuple[str, ...]:
    """Everything but the text that decides about the object."""
    here = host()
    version = ".".join(map(str, llvm.llvm_version_info))
    return "jit-12", llvmlite.__version__, version, here.triple, here.cpu, here.features, str(LONG_TEXT)


# ---- compile -----------------------------------------------------------------------------------------------------


def has_avx512(target: Host) -> bool:
    """Whether a processor has vectors of 512 bits, and products of them added in one instruction."""
    return "+avx512f" in target.features.split(",")


def has_shifts(target: Host) -> bool:
    """Whether a processor takes a vector out of two neighbouring ones in one instruction: of those of x86, with
    AVX-512; what AVX2 does in its place takes longer than to load."""
    return not target.triple.startswith("x86_64") or has_avx512(target)


def register_bytes(target: Host) -> int:
    """Of all vector registers of a processor."""
    found = set(target.features.split(","))
    if not target.triple.startswith("x86_64"):
        return 32 * 16
    return 32 * 64 if "+avx512f" in found else 16 * 32 if "+avx" in found else 16 * 16


def target_machine(target: Host, level: int = 2) -> llvm.TargetMachine:
    """LLVM's code generator for a target at a level of 0 to 3."""
    model = ("pic", "default") if target.apart else ("default", "jitdefault")
    return llvm.Target.from_triple(target.triple).create_target_machine(
        target.cpu, target.features, level, *model, jit=not target.apart
    )


def is_long(texts: tuple[str, ...]) -> bool:
    """Whether a module is too long for LLVM's whole pipeline: more than LONG_TEXT characters."""
    return any(len(text) > LONG_TEXT for text in texts)


def code_level(texts: tuple[str, ...], effort: Effort) -> int:
    """How much LLVM's code generator does."""
    if effort is Effort.QUICK:
        return 0
    return 1 if effort is Effort.AS_WRITTEN or is_long(texts) else 2


def optimised(
    texts: tuple[str, ...], machine: llvm.TargetMachine, target: Host, effort: Effort = Effort.FULL
) -> llvm.ModuleRef:
    """The modules as one, verified and after LLVM's passes."""
    from .avx2 import for_avx2, has_avx2_alone  # the cache mostly has the code
    from .extrema import MARK, by_range, has_range, written_out
    from .lookups import for_lookups
    from .narrow_gathers import for_narrow_gathers
    from .partial_rows import for_partial_rows
    from .quick_gathers import with_called_gathers

    ranges = has_range(target.features)
    if target.triple.startswith("x86_64") and not ranges:
        texts = tuple(map(written_out, texts))
    if has_avx2_alone(target.triple, target.features):
        texts = tuple(map(for_avx2, texts))
    texts = tuple(for_lookups(text, target.triple, target.features) for text in texts)
    texts = tuple(for_narrow_gathers(text, target.triple, target.features) for text in texts)
    texts = tuple(for_partial_rows(text, target.triple, target.features) for text in texts)
    if effort is Effort.QUICK and not has_avx512(target):
        texts = tuple(map(with_called_gathers, texts))
    module, *others = map(verified, texts)
    for other in others:
        module.link_in(other)
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(2))
    pipeline(texts, builder, effort).run(module, builder)
    return verified(by_range(str(module))) if ranges and any(MARK in text for text in texts) else module


def verified(text: str) -> llvm.ModuleRef:
    """A module parsed and verified; raises IRError with LLVM's message where it is refused."""
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise IRError(f"LLVM refuses generated code: {error}") from error
    return module


def pipeline(texts: tuple[str, ...], builder: llvm.PassBuilder, effort: Effort) -> llvm.ModulePassManager:
    """The passes for modules of this length and effort."""
    if effort is not Effort.FULL:
        return quick_pipeline()
    return short_pipeline() if is_long(texts) else builder.getModulePassManager()


def quick_pipeline() -> llvm.ModulePassManager:
    """Stack slots become registers."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    return passes


def short_pipeline() -> llvm.ModulePassManager:
    """The passes that code of this kind needs most."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_new_gvn_pass()
    passes.add_simplify_cfg_pass()
    passes.add_aggressive_dce_pass()
    return passes


def compile_object(
    texts: tuple[str, ...], target: Host, effort: Effort = Effort.FULL, others: frozenset[str] = frozenset()
) -> bytes:
    """Object code of modules that are linked to one, which may call `others` too."""
    machine = target_machine(target, code_level(texts, effort))
    data = machine.emit_object(optimised(texts, machine, target, effort))
    check_symbols(data, others)
    return data


def check_symbols(data: bytes, others: frozenset[str] = frozenset()) -> None:
    """Refuse an object that calls what is not on the list, nor among `others`."""
    undefined = (undefined_symbols(data) or frozenset()) - ALLOWED - LOADER_SYMBOLS - others
    strangers = {name for name in undefined if not name.startswith(OWN_SYMBOLS)}
    if strangers:
        raise Unlinkable(f"generated code calls {', '.join(sorted(strangers))}, not on the list")


# ---- load --------------------------------------------------------------------------------------------------------


def load_object(data: bytes, names: tuple[str, ...]) -> CompiledKernels | None:
    """Machine code from an object; None if it is not one of ours after all."""
    load_libm()
    machine = target_machine(host())
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    try:
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
    except RuntimeError:
        return None
    addresses = {name: engine.get_function_address(name) for name in names}
    return CompiledKernels(engine, addresses) if all(addresses.values()) else None


@memoised
def load_libm() -> None:
    """Make the functions of libm visible to generated code, where the process has not loaded them by itself."""
    if llvm.address_of_symbol("lgamma"):
        return
    try:
        llvm.load_library_permanently("libm.so.6")
    except RuntimeError:  # another C library: found by starting a compiler
        import ctypes.util

        library = ctypes.util.find_library("m")
        if library is not None:
            llvm.load_library_permanently(library)
