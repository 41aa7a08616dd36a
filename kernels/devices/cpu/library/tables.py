"""The tables that the machine code of a library reads, as LLVM constants: rows of the structs in `types.ll`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field

from .....ir.errors import NOWHERE, Loc
from .....ir.records import dataclass
from ....kernel_ir.nodes import Kernel
from ....kernel_ir.values import symbol_of
from ....llvm.text import Code, Module, memory_type
from ..host.layout import NativeFun
from ..runtime import assembly
from .failures import Shown, of_host, of_kernel
from .interface import Entry, Interface, Value, identifier

STRUCT = re.compile(r"^%(\w+) = type \{ (.*) \}  ; ([^-\n]*)", re.MULTILINE)
NONE = "null"

SITES = {
    "target": Shown("S0101", "this processor has no code in the library, or not that of the target asked for"),
    "memory": Shown("R0301", "out of memory"),
    "setting": Shown("C0101", "no setting of this name, or a negative value"),
    "file": Shown("T0105", "cannot read the tuning file"),
    "line": Shown("T0101", "a setting is NAME=INTEGER, without spaces, from 0 to 2^63-1"),
}
"""Failures of the interface itself, by the names of their symbols in the files (`@soac_site_NAME`)."""


BULK = tuple(f"bulk.{name}" for name in assembly.BULK[: assembly.IN_LIBRARIES])
"""The symbols of the kernels of bulk operations, as the runtime numbers them."""


@dataclass(slots=True)
class Data:
    """Global constants under construction. `structs`: of each, the types of its fields by their names."""

    structs: Mapping[str, Mapping[str, str]]
    lines: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)


def structs_of(types: str) -> Mapping[str, Mapping[str, str]]:
    """The structs of a file with the names of their fields."""
    return {name: dict(zip(names.split(), listed.split(", "))) for name, listed, names in STRUCT.findall(types)}


def row(data: Data, struct: str, **values: object) -> str:
    """A constant of a struct."""
    fields = data.structs[struct]
    return f"%{struct} {{ {', '.join(f'{type_} {values[name]}' for name, type_ in fields.items())} }}"


def rows(data: Data, name: str, type_: str, listed: Sequence[str], kind: str = "internal") -> str:
    """A constant array called `name`, of elements that each begin with their type; its symbol."""
    inner = f" [ {', '.join(listed)} ]" if listed else " zeroinitializer"
    data.lines.append(f"@{name} = {kind} constant [{len(listed)} x {type_}]{inner}")
    return f"@{name}"


def table(data: Data, name: str, struct: str, listed: Sequence[str]) -> str:
    """Rows and how many there are."""
    start = rows(data, name, f"%{struct}", listed)
    return row(data, "Table", rows=start, count=len(listed)).removeprefix("%Table ")


def text(data: Data, shown: str) -> str:
    """A constant string; its symbol."""
    if shown not in data.texts:
        data.texts[shown] = f"@text.{len(data.texts)}"
        encoded = shown.encode() + b"\0"
        escaped = "".join(f"\\{byte:02X}" for byte in encoded)
        data.lines.append(f'{data.texts[shown]} = private unnamed_addr constant [{len(encoded)} x i8] c"{escaped}"')
    return data.texts[shown]


# ---- the tables of the whole library -----------------------------------------------------------------------------


def library_data(
    types: str,
    interface: Interface,
    natives: Sequence[NativeFun],
    kernels: Mapping[str, Kernel],
    targets: Iterable[str],
    sites: Mapping[str, Shown] = SITES,
    own: Collection[str] = (),
) -> str:
    """Entries, settings, sites and targets (by their symbols), with the functions that callers see; `own`: targets of
    the same module."""
    data = Data(structs_of(types))
    for name, site in sites.items():
        data.lines.append(f"@soac_site_{name} = hidden constant {site_row(data, site)}")
    listed = [
        row(data, "Setting", name=text(data, s.name), default=s.default, preset=s.preset or 0,
            is_set=int(s.preset is not None))
        for s in interface.settings
    ]  # fmt: skip
    rows(data, "soac_settings", "%Setting", listed, "hidden")
    described = [entry_row(data, k, interface, info, kernels) for k, info in enumerate(natives)]
    rows(data, "soac_entries", "%Entry", described, "hidden")
    names = tuple(targets)
    data.lines += [f"@{name} = external hidden constant %Target" for name in names if name not in own]
    rows(data, "soac_targets", "ptr", [f"ptr @{name}" for name in names], "hidden")
    return "\n".join([*data.lines, *(wrapper(k, entry) for k, entry in enumerate(interface.entries))])


def entry_row(data: Data, k: int, interface: Interface, info: NativeFun, kernels: Mapping[str, Kernel]) -> str:
    """`%Entry` number `k`."""
    entry, defaults = interface.entries[k], {s.name: s.default for s in interface.settings}
    settings = {name: number for number, name in enumerate(defaults)}
    of_kernels = [sites_table(data, f"sites.{k}.{n}", map(of_kernel, kernels[name].sites))
                  for n, name in enumerate(info.kernels)]  # fmt: skip
    uses = [
        row(data, "Use", setting=settings[s.name], is_size=int(s.size is not None),
            default=defaults[s.name] if s.size is None else s.size)
        for s in info.settings
    ]  # fmt: skip
    unsuited = Shown("R0105", f"invalid size: the shapes of the arguments do not fit `{entry.signature}`")
    data.lines.append(f"@unsuited.{k} = internal constant {site_row(data, unsuited)}")
    return row(
        data, "Entry",
        words=info.words, first_setting=info.first_setting, record=info.record,
        threads=settings.get(f"{entry.name}.threads", 0),
        params=table(data, f"params.{k}", "Value", [value_row(data, v) for v in entry.params]),
        results=table(data, f"results.{k}", "Value", [value_row(data, v) for v in entry.results]),
        uses=table(data, f"uses.{k}", "Use", uses),
        sites=rows(data, f"sites.{k}", "%Site", [site_row(data, of_host(site)) for site in info.sites]),
        calls=rows(data, f"calls.{k}", "ptr", [f"ptr {text(data, listed(loc.as_call))}" for loc in info.calls]),
        kernels=rows(data, f"kernels.{k}", "%Table", [f"%Table {one}" for one in of_kernels]),
        unsuited=f"@unsuited.{k}",
    )  # fmt: skip


def value_row(data: Data, value: Value) -> str:
    """`%Value`."""
    return row(data, "Value", word=value.word, rank=value.rank, bytes=value.prim.bytes)


def sites_table(data: Data, name: str, sites: Iterable[Shown]) -> str:
    """A table of `%Site`."""
    return table(data, name, "Site", [site_row(data, site) for site in sites])


def site_row(data: Data, site: Shown) -> str:
    """`%Site`."""
    loc = site.loc
    return row(
        data, "Site",
        code=text(data, site.code), text=text(data, site.text), kinds=text(data, site.kinds),
        file=text(data, loc.file) if loc != NOWHERE else NONE, line=loc.line, column=loc.col,
        calls=text(data, listed(loc.calls)) if loc.calls else NONE,
    )  # fmt: skip


def listed(calls: Iterable[Loc]) -> str:
    """Places, a line each."""
    return "\n".join(map(str, calls))


def wrapper(k: int, entry: Entry) -> str:
    """The function of entry number `k` that callers see: context, places of results, arguments."""
    code = Code(Module())
    results = [f"%r{n}" for n, _ in enumerate(entry.results)]
    params = [("ptr" if value.rank else memory_type(value.prim), f"%p{n}") for n, value in enumerate(entry.params)]
    places = [
        name if value.rank else stored(code, *one) for value, one in zip(entry.params, params) for name in one[1:]
    ]
    args = ", ".join((pointers(code, places), pointers(code, results)))
    status = code.op(f"call i32 @soac_library_call(ptr %context, i64 {k}, {args})")
    listed = ", ".join(("ptr %context", *(f"ptr {r}" for r in results), *map(" ".join, params)))
    return f"define i32 @{entry.symbol}({listed}) {{\nentry:\n{code.text()}  ret i32 {status}\n}}\n"


def stored(code: Code, type_: str, value: str) -> str:
    """A value in memory; where."""
    slot = code.slot(type_, 8)
    code.do(f"store {type_} {value}, ptr {slot}")
    return slot


def pointers(code: Code, places: Sequence[str]) -> str:
    """An argument: where a table of these places is."""
    slot = code.slot(f"[{len(places)} x ptr]", 8)
    for k, place in enumerate(places):
        code.do(f"store ptr {place}, ptr {code.op(f'getelementptr ptr, ptr {slot}, i64 {k}')}")
    return f"ptr {slot}"


# ---- the table of a target ---------------------------------------------------------------------------------------


def target_symbol(name: str) -> str:
    """What a target's table is called."""
    return f"soac_target_{identifier(name)}"


def target_data(types: str, name: str, level: int, natives: Sequence[NativeFun]) -> str:
    """The table of a target: where its host functions and kernels are."""
    data = Data(structs_of(types))
    used = dict.fromkeys(symbol_of(kernel) for info in natives for kernel in info.kernels)
    data.lines += [f'declare i64 @"{info.symbol}"(ptr)' for info in natives]
    data.lines += [f'declare void @"{symbol}"(ptr, i64, i64, i64)' for symbol in (*used, *BULK)]
    forms = [[symbol_of(kernel) for kernel in info.kernels for _ in ("near", "far")] for info in natives]
    kernels = [functions(data, f"kernels.{k}", symbols) for k, symbols in enumerate(forms)]
    target = row(
        data, "Target",
        name=text(data, name), level=level,
        hosts=functions(data, "hosts", (info.symbol for info in natives)),
        kernels=rows(data, "kernels", "ptr", [f"ptr {one}" for one in kernels]),
        bulk=functions(data, "bulk", BULK),
    )  # fmt: skip
    return "\n".join([*data.lines, f"@{target_symbol(name)} = constant {target}", ""])


def functions(data: Data, name: str, symbols: Iterable[str]) -> str:
    """A table of functions."""
    return rows(data, name, "ptr", [f'ptr @"{symbol}"' for symbol in symbols])
