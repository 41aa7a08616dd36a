"""From source text to core: read, parse, follow imports, add the prelude, infer, elaborate.

    compile_text   text ⟶ Prog
    load_modules   the parsed files of a program in order of dependency, the prelude (`library.py`) first

An import names a plain file beside the importing one, without its extension: `import "lib/vec"`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from ..ir.collector import paused_collector
from ..ir.contracts import contract_warnings
from ..ir.core import Prog
from ..ir.depth import allow_depth
from ..ir.errors import CompileError, Diagnostic, Label, Loc
from ..ir.records import dataclass
from .elaborate.program import elaborate
from .interface import Interface, interface_of
from .library import FIRST_ID, known_prelude, library_for
from .modules.program import Inferred, Known, infer, inferred
from .parsing.desugar_unzipped import plain_calls
from .parsing.parse import parse_module
from .source.declarations import (
    Ascribed,
    Dec,
    Functor,
    ImportDec,
    LocalDec,
    Module,
    ModuleCall,
    ModuleDec,
    ModuleExp,
    ModuleImport,
    ModuleName,
    ModuleTypeDec,
    OpenDec,
    Structure,
    TypeDec,
    ValDec,
)
from .source.text import MAX_SOURCE, Reach, decode_source

MAX_IMPORTS = 1000


@dataclass(frozen=True, slots=True)
class Compiled:
    """What compiling gives: the core, warnings, the texts of all files for messages to come, and what callers see."""

    prog: Prog
    warnings: tuple[Diagnostic, ...]
    texts: dict[str, str]
    interface: Interface


def compile_text(text: str, file: str) -> Prog:
    """The core of the program `text`; `file` is its name in messages and the place that imports start from."""
    return compile_source(text, file, Reach.PROJECT).prog


def compile_source(text: str, file: str, reach: Reach) -> Compiled:
    """As `compile_text`, with the warnings and the texts of the files that took part."""
    allow_depth()
    with paused_collector():
        own, asked = plain_calls(own_modules(text, file, reach))
        library = library_for((module.text for module in own), asked)
        try:
            return _compiled(own, reach, library)
        except CompileError:
            if library is known_prelude():
                raise
        return _compiled(own, reach, known_prelude())


def _compiled(own: tuple[Module, ...], reach: Reach, library: Known) -> Compiled:
    modules = (library.module, *own)
    typed, warnings = infer(modules, library)
    prog = elaborate(modules, typed, reach is not Reach.UNTRUSTED)
    texts = {module.file: module.text for module in modules}
    return Compiled(prog, warnings + contract_warnings(prog), texts, interface_of(modules))


def inspect_source(
    text: str, file: str, reach: Reach, texts: Mapping[Path, str] | None = None
) -> tuple[tuple[Module, ...], Inferred]:
    """The files of a program, the prelude first, and what inference found, for editors: errors of definitions are among
    it. Raises `CompileError` if a file does not parse. `texts`: what files have that are imported, if not what is on
    the disk."""
    allow_depth()
    with paused_collector():
        modules = load_modules(text, file, reach, texts)
        return modules, inferred(modules, known_prelude())


# ---- imports ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Loading:
    """The files of a program while they are being found."""

    root: Path
    reach: Reach
    next_id: int
    texts: Mapping[Path, str]
    done: list[Module] = field(default_factory=list)
    seen: dict[Path, str] = field(default_factory=dict)  # the files that are done, with their names
    open: list[tuple[Path, str]] = field(default_factory=list)  # importers of the file in hand, outermost first


def load_modules(text: str, file: str, reach: Reach, texts: Mapping[Path, str] | None = None) -> tuple[Module, ...]:
    """All files of the program with the root file `text`, each after those it imports, the prelude first."""
    own, _ = plain_calls(own_modules(text, file, reach, texts))
    return known_prelude().module, *own


def own_modules(text: str, file: str, reach: Reach, texts: Mapping[Path, str] | None = None) -> tuple[Module, ...]:
    """The files of a program without the prelude, each after those it imports."""
    place = Path(file).parent.resolve() / Path(file).name
    loading = _Loading(place.parent, reach, FIRST_ID, texts or {})
    _load(loading, text, file, place)
    return tuple(loading.done)


def read_bytes(path: Path) -> bytes:
    """The contents of a source file, one byte beyond the limit at most, which `decode_source` refuses then."""
    with path.open("rb") as file:
        return file.read(MAX_SOURCE + 1)


def _load(loading: _Loading, text: str, file: str, place: Path) -> None:
    """Parse a file, then the files it imports, then note it as done."""
    module = parse_module(text, file, loading.next_id)
    loading.next_id = module.next_id
    loading.open.append((place, file))
    imports = {dec.path: _import(loading, dec, file, place) for dec in imports_of(module.decs)}
    loading.open.pop()
    loading.seen[place] = file
    loading.done.append(replace(module, imports=tuple(imports.items())))


def imports_of(decs: tuple[Dec, ...]) -> list[ImportDec]:
    found: list[ImportDec] = []
    for dec in decs:
        match dec:
            case ImportDec():
                found.append(dec)
            case LocalDec(inner):
                found += imports_of((inner,))
            case ModuleDec(_, body) | OpenDec(body):
                found += imports_in(body)
            case ValDec() | TypeDec() | ModuleTypeDec():
                pass
    return found


def imports_in(body: ModuleExp) -> list[ImportDec]:
    """The imports in a module expression."""
    match body:
        case ModuleImport(path, loc):
            return [ImportDec(path, loc)]
        case Structure(decs):
            return imports_of(decs)
        case Ascribed(_, inner) | Functor(_, _, inner):
            return imports_in(inner)
        case ModuleCall(_, functor, arg):
            return imports_in(functor) + imports_in(arg)
        case ModuleName():
            return []


def _import(loading: _Loading, dec: ImportDec, importer: str, importer_place: Path) -> str:
    """Load what is imported, unless it has been; gives the name of the file."""
    place = _find(loading, dec, importer_place)
    if place in loading.seen:
        return loading.seen[place]
    places = [path for path, _ in loading.open]
    if place in places:
        cycle = [name for _, name in loading.open[places.index(place) :]]
        chain = " -> ".join([*cycle, cycle[0]])
        raise _fault("E0206", f"import cycle: {chain}", dec.loc, "this import closes the cycle")
    if len(loading.done) >= MAX_IMPORTS:
        raise _fault("E0207", f"more than {MAX_IMPORTS} imports", dec.loc, "")
    name = os.path.join(os.path.dirname(importer), os.path.relpath(place, importer_place.parent))
    text = loading.texts.get(place)
    _load(loading, decode_source(read_bytes(place), name) if text is None else text, name, place)
    return name


def _find(loading: _Loading, dec: ImportDec, importer: Path) -> Path:
    """The file that an import means: beside the importer, with its extension or ours."""
    base = importer.parent / dec.path
    names = [base.with_name(base.name + suffix) for suffix in dict.fromkeys((importer.suffix, ".soac", ".fut"))]
    found = next((name for name in names if name.is_file()), None)
    inside = Path(os.path.normpath(base)).is_relative_to(loading.root)
    if found is not None:
        found = found.resolve()
        inside = inside and found.is_relative_to(loading.root)
    if not inside and loading.reach is not Reach.ANYWHERE:
        message = f'import "{dec.path}" is outside the project root `{loading.root.name or loading.root}`'
        raise _fault("E0207", message, dec.loc, "imported here", "pass `--allow-outside` to allow it")
    if found is None:
        tried = ", ".join(f"`{name.name}`" for name in names)
        raise _fault("E0207", f'cannot find import "{dec.path}"', dec.loc, "imported here", f"looked for {tried}")
    return found


def _fault(code: str, message: str, loc: Loc, text: str, hint: str | None = None) -> CompileError:
    return CompileError(Diagnostic(code, message, Label(loc, text), hint=hint))
