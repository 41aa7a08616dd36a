"""The objects of a library for a GPU: host functions, the runtime, the C interface, tables, images of the kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from .....ir.machine import BLOCK
from ....cuda_c.module import CudaKernel, Grid, cuda_kernel, cuda_module
from ....host_ir.launch_parameters import Kind, fitting_block, size_kind
from ....host_ir.nodes import HostProgram
from ....kernel_ir.nodes import FailureSite, Kernel, Space
from ....passes.pipeline import CUDA_PASSES, all_ready
from ....schedule.cuda.bulk_copies import bulk_kernels
from ...cpu.host.emit import emit_host
from ...cpu.host.layout import NativeFun
from ...cpu.library import failures, targets
from ...cpu.library.failures import Shown, of_kernel
from ...cpu.library.interface import Interface, interface_of
from ...cpu.library.objects import FOLDER as SHARED_FOLDER
from ...cpu.library.objects import Built, compiled, named, shared_constants
from ...cpu.library.tables import NONE, SITES, Data, library_data, row, rows, site_row, structs_of, text
from ...cpu.runtime import assembly
from ...cpu.runtime.jit import Effort, Host
from .. import libcuda
from ..host import runtime
from ..host.launches import cuda_backend
from ..host.limits import BULK, FIRST_STACK, MOST_SHARED
from ..host.structs import LISTS, VARIANTS, variant_number

FOLDER = files(__name__.rpartition(".")[0])
PARTS = ("types", "settings", "failures", "calls")
"""Files of the CPU's libraries that these share."""

FUNCTIONS = (
    *libcuda.FUNCTIONS.values(), "cuInit", "cuDeviceGet", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuStreamCreate",
    "cuStreamDestroy_v2", "cuModuleLoadData", "cuModuleUnload", "cuModuleGetFunction", "cuFuncGetAttribute",
    "cuFuncSetAttribute", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemGetInfo_v2", "cuMemHostAlloc", "cuMemFreeHost",
    "cuPointerGetAttribute",
)  # fmt: skip
"""What a library looks for in the driver's."""

TARGETS = ("soac_target_cuda",)

OWN_SITES = {
    "driver": Shown("S0101", "no NVIDIA driver: libcuda.so.1 is not on this machine, or does not start"),
    "gpu": Shown("S0101", "the NVIDIA driver shows no GPU of this number"),
    "image": Shown("S0101", "the library has no code for this GPU, or not that asked for"),
    "refused": Shown("R0302", f"the driver of the GPU refuses: error {failures.NEXT}", kinds=failures.SIGNED),
}


@dataclass(frozen=True, slots=True)
class Image:
    """Compiled kernels. `arch`: of the GPUs that take it, such as 90 for sm_90; 0 for PTX, for newer ones too."""

    name: str
    arch: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Form:
    """A kernel for blocks of `asked` threads, which take turns or not, with wide indices or not, with arrays of a block
    that may be in global memory or not, under a name of its own in the images."""

    kernel: int
    asked: int
    grid: Grid
    wide: bool
    far: bool
    source: Kernel
    text: CudaKernel


def build(
    program: HostProgram,
    name: str,
    host: Host,
    images: Callable[[str, Sequence[Kernel]], Sequence[Image]],
    default: Callable[[str], int],
    presets: Mapping[str, int],
) -> Built:
    """A library of all entries of a program, which must have a native form. `images` compiles a module of CUDA C, given
    its kernels, those for bulk operations last."""
    targets.prepare()
    kernels = all_ready(program.kernels, CUDA_PASSES)
    by_name = {kernel.name: kernel for kernel in kernels}
    forms = tuple(forms_of(kernels, sizes_of(presets)))
    bounds = {kernels[form.kernel].name: form.text.bound for form in forms if not form.wide and not form.far}
    listing, natives = emit_host(program, cuda_backend(by_name, bounds))
    interface = interface_of(name, natives, default, presets, threads=False)
    bulk = all_ready(bulk_kernels(), CUDA_PASSES)
    texts = [form.text for form in forms]
    texts += [cuda_kernel(kernel, BLOCK.threads, 0, Grid.TURNS, wide=True) for kernel in bulk]
    made = images(cuda_module(texts), [*(form.source for form in forms), *bulk])
    base = base_texts(interface, natives, kernels, forms, made, host.triple)
    objects = {
        "library.o": compiled(tuple(named(one, name, "cuda") for one in base), host, Effort.FULL),
        "host.o": compiled((named(listing, name, "cuda"),), host, Effort.QUICK),
    }
    return Built(interface, objects)


def sizes_of(presets: Mapping[str, int]) -> tuple[int, ...]:
    """The numbers of threads of a block that the library has code for: the usual one first."""
    asked = (value for key, value in presets.items() if size_kind(key) is Kind.BLOCK_SIZE and value)
    return tuple(dict.fromkeys((BLOCK.threads, *map(fitting_block, asked))))


def forms_of(kernels: Sequence[Kernel], sizes: Sequence[int]) -> Iterator[Form]:
    """Each kernel for each number of threads, in blocks that do not take turns, and in those that do; with indices of
    64 bits too where it has others, and with arrays of a block in global memory where it has them in shared memory."""
    first = 0
    for k, kernel in enumerate(kernels):
        for asked in sizes:
            for grid in Grid:
                usual = cuda_kernel(kernel, asked, first, grid)
                for wide in (False, True) if usual.bound else (False,):
                    for far in (False, True) if usual.near else (False,):
                        form = f"{asked}_{grid.value}{'_wide' * wide}{'_far' * far}"
                        renamed = replace(kernel, name=f"{kernel.name}_{form}")
                        text = cuda_kernel(renamed, asked, first, grid, wide, far)
                        yield Form(k, asked, grid, wide, far, renamed, text)
        first += len(kernel.sites) + 1


# ---- the module of the library ---------------------------------------------------------------------------------------


def base_texts(
    interface: Interface,
    natives: Sequence[NativeFun],
    kernels: Sequence[Kernel],
    forms: Sequence[Form],
    images: Sequence[Image],
    triple: str,
) -> tuple[str, ...]:
    """The runtime, the functions that callers see, and their tables."""
    types = (SHARED_FOLDER / "types.ll").read_text(encoding="utf-8")
    own = (FOLDER / "gpu.ll").read_text(encoding="utf-8")
    parts = [(SHARED_FOLDER / f"{part}.ll").read_text(encoding="utf-8") for part in PARTS]
    shared = [(runtime.FOLDER / f"{part}.ll").read_text(encoding="utf-8") for part in runtime.PARTS]
    parts += shared
    sites = {**{key: site for key, site in SITES.items() if key != "target"}, **OWN_SITES}
    by_name = {kernel.name: kernel for kernel in kernels}
    parts += [own, library_data(types, interface, natives, by_name, TARGETS, sites, TARGETS)]
    parts.append(device_data("\n".join((types, own, *shared)), natives, kernels, forms, images))
    known = {
        **shared_constants(interface, triple), **runtime.CONSTANTS,
        **{name: k for k, name in enumerate(FUNCTIONS)}, "FUNCTIONS": len(FUNCTIONS),
        "GPU_FUNCTIONS": 8 * len(libcuda.FUNCTIONS),
        "LISTS": LISTS, "VARIANTS": VARIANTS,
        "IMAGES": len(images), "KERNELS": len(kernels), "KERNELS_ROOM": max(1, len(kernels)),
        "FORMS": len(forms), "FORMS_ROOM": max(1, len(forms)), "SITES": len(all_sites(kernels)),
        "RECORD_ROOM": runtime.CONSTANTS["RECORD_BYTES"] + 8, "MOST_SHARED": BLOCK.opt_in,
        "FIRST_BLOCK": FIRST_STACK[Space.SHARED], "FIRST_THREAD": FIRST_STACK[Space.PRIVATE],
    }  # fmt: skip
    base = assembly.filled(once("\n".join(parts)), known)
    return tuple(one.replace("@soac_host_", "@soac_cuda_") for one in (base, *runtime.shared_modules(triple)))


def once(text: str) -> str:
    """A module of several files, in which types and functions of others are declared once."""
    seen: set[str] = set()
    kept: list[str] = []
    for line in text.splitlines():
        key = line.split(" = type ")[0] if line.startswith("%") else line
        if line.startswith("declare ") or (line.startswith("%") and " = type " in line):
            if key in seen:
                continue
            seen.add(key)
        kept.append(line)
    return "\n".join(kept) + "\n"


def all_sites(kernels: Sequence[Kernel]) -> list[tuple[int, FailureSite | None]]:
    """The failure sites of all kernels by number, with the number of the kernel; the last of each is for its stacks."""
    return [(k, site) for k, kernel in enumerate(kernels) for site in (*kernel.sites, None)]


def device_data(
    types: str, natives: Sequence[NativeFun], kernels: Sequence[Kernel], forms: Sequence[Form], images: Sequence[Image]
) -> str:
    """The tables that `gpu.ll` reads."""
    data, numbers = Data(structs_of(types)), {kernel.name: k for k, kernel in enumerate(kernels)}
    names(data, "driver_names", FUNCTIONS)
    names(data, "soac_bulk_names", BULK)
    limits = [row(data, "Limits", most=MOST_SHARED[k.collective], threads=BLOCK.threads) for k in kernels]
    rows(data, "soac_limits", "%Limits", limits)
    rows(data, "soac_forms", "%Form", [form_row(data, form) for form in forms])
    rows(data, "soac_images", "%Image", [image_row(data, image) for image in images])
    sites = all_sites(kernels)
    shown = (of_kernel(site) if site else SITES["memory"] for _, site in sites)
    rows(data, "soac_all_sites", "%Site", [site_row(data, site) for site in shown])
    rows(data, "soac_stack_of", "i64", [f"i64 {-1 if site else k}" for k, site in sites])
    launched = []
    for k, info in enumerate(natives):
        start = rows(data, f"launched.{k}", "i64", [f"i64 {numbers[name]}" for name in info.kernels])
        launched.append(row(data, "Table", rows=start, count=len(info.kernels)))
    rows(data, "soac_launched", "%Table", launched)
    data.lines += [f'declare i64 @"{info.symbol}"(ptr)' for info in natives]
    hosts = rows(data, "hosts", "ptr", [f'ptr @"{info.symbol}"' for info in natives])
    target = row(data, "Target", name=text(data, "cuda"), level=0, hosts=hosts, kernels="null", bulk="null")
    data.lines.append(f"@soac_target_cuda = internal constant {target}")
    return "\n".join(data.lines).replace("@text.", "@device_text.").replace("@site.", "@device_site.")


def names(data: Data, symbol: str, listed: Iterable[str]) -> str:
    """A table of texts."""
    return rows(data, symbol, "ptr", [f"ptr {text(data, name)}" for name in listed])


def form_row(data: Data, form: Form) -> str:
    """`%Form`."""
    made, number = form.text, variant_number(form.asked, form.grid is Grid.TURNS, form.wide, form.far)
    variant = row(
        data, "Variant", code=NONE, threads=made.threads, together=made.together, turns=int(made.take_turns),
        fails=int(made.fails), stacks=int(bool(made.stacks)), shared_left=0, near=int(made.near),
    )  # fmt: skip
    shown = variant.removeprefix("%Variant ")
    return row(data, "Form", name=text(data, made.name), kernel=form.kernel, number=number, variant=shown)


def image_row(data: Data, image: Image) -> str:
    """`%Image`; the driver reads it where it is, so that it begins at a multiple of 16 bytes."""
    symbol = f"@image.{len(data.lines)}"
    shown = "".join(f"\\{byte:02X}" for byte in image.data + b"\0")
    data.lines.append(f'{symbol} = internal constant [{len(image.data) + 1} x i8] c"{shown}", align 16')
    return row(data, "Image", name=text(data, image.name), arch=image.arch, code=symbol)
