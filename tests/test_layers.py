"""The structure of the code: imports go down a fixed order of packages, files form no cycles, nothing is evaluated,
and what may be imported where. `docs/developing.md` has the map."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from soac.ir.collector import paused_collector

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parents[1]
FOLDERS = ("ir", "frontend", "flatten", "kernels", "autotune", "soac")

LAYERS: tuple[tuple[str, ...], ...] = (
    ("ir",),
    ("frontend.source",),
    ("frontend.parsing",),
    ("frontend.formatting",),
    ("frontend.typing",),
    ("frontend.uniqueness",),
    ("frontend.modules", "frontend.building"),
    ("frontend.accumulators",),
    ("frontend.derivatives",),
    ("frontend.elaborate",),
    ("frontend",),
    ("flatten.aliasing",),
    ("flatten.simplify",),
    ("flatten.context",),
    ("flatten.fusion",),
    ("flatten.versions",),
    ("flatten.rules",),
    ("flatten.irregular", "flatten.memory"),
    ("flatten.tiling",),
    ("flatten",),
    ("kernels.kernel_ir", "kernels.llvm"),
    ("kernels.host_ir", "kernels.analysis"),
    ("kernels.passes",),
    ("kernels.schedule",),
    ("kernels.schedule.cpu",),
    ("kernels.schedule.cuda",),
    ("kernels.lanes", "kernels.cuda_c"),
    ("kernels",),
    ("kernels.devices",),
    ("kernels.devices.cpu.runtime",),
    ("kernels.devices.cpu.host",),
    ("kernels.devices.cuda.host",),
    ("kernels.devices.cpu",),
    ("kernels.devices.cuda",),
    ("kernels.devices.cpu.library",),
    ("kernels.devices.cuda.library",),
    ("kernels.tracer",),
    ("autotune",),
    ("soac.data",),
    ("soac.python",),
    ("soac",),
    ("soac.frameworks",),
    ("soac.performance",),
    ("soac.library",),
    ("soac.cluster",),
    ("soac.reports",),
    ("soac.testing",),
    ("soac.lsp",),
    ("soac.tuning",),
    ("soac.page",),
    ("soac.commands",),
)
"""Packages from the lowest to the highest; those of one row do not import each other."""

MOST_LINES = 500
MOST_MACHINE_CODE = 60
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "yaml"}
DEVICE_MODULES = {"ctypes", "llvmlite", "pycuda"}
PRINTERS = ("kernels.lanes", "kernels.cuda_c")
COMMAND_LINE = ("soac.commands", "soac.cli", "soac.__main__")

SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
SOURCES = [path for path in SOURCES if not any(part.is_symlink() for part in path.relative_to(ROOT).parents)]
NAMES = {str(path.relative_to(ROOT)): path for path in SOURCES}


def module_of(path: Path) -> str:
    """`kernels.passes.place_fences` for kernels/passes/place_fences.py; packages without `__init__`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in SOURCES}
PACKAGES = {module_of(path) for path in SOURCES if path.name == "__init__.py"}


@cache
def nodes_of(module: str) -> tuple[ast.Import | ast.ImportFrom | ast.Name | ast.Constant, ...]:
    """What the tests look at of the syntax tree of a module, whose file is read once for all of them: imports, names
    that are called, and texts. The trees themselves would be in memory, and walked by the collector, to the end."""
    with paused_collector():
        return tuple(_looked_at(ast.parse(MODULES[module].read_text(encoding="utf-8"))))


def _looked_at(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom | ast.Name | ast.Constant]:
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Constant(str()):
                yield node
            case ast.Call(ast.Name() as called):
                yield called


def package_of(module: str) -> str:
    return module if module in PACKAGES else module.rpartition(".")[0]


@cache
def imports_of(module: str) -> tuple[tuple[int, str], ...]:
    """Line and absolute module of every import: `ir.core`, `numpy`, ..; what is imported from a package is the module
    of that name, if there is one."""
    return tuple(_imports(module))


def _imports(module: str) -> Iterator[tuple[int, str]]:
    for node in nodes_of(module):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(module, node.level, node.module or "")
            for alias in node.names:
                below = f"{base}.{alias.name}".removeprefix(".")
                yield node.lineno, below if below in MODULES else base


def absolute(module: str, level: int, name: str) -> str:
    """The module that a relative import names. The folders of the root are inside of `soac` for Python."""
    if level == 0:
        return name
    package = package_of(module)
    inside = package.split(".") if package.startswith("soac") else ["soac", *package.split(".")]
    parts = [*inside[: len(inside) - level + 1], *(name.split(".") if name else [])]
    if len(parts) > 1 and parts[1] in FOLDERS[:-1]:
        parts = parts[1:]
    return ".".join(parts)


def layer_of(module: str) -> int:
    package = package_of(module)
    return next(k for k, row in enumerate(LAYERS) if package in row)


def test_every_package_has_a_layer() -> None:
    named = [package for row in LAYERS for package in row]
    assert len(named) == len(set(named))
    assert set(named) <= PACKAGES
    without_modules = {p for p in PACKAGES if not any(package_of(m) == p for m in MODULES if m not in PACKAGES)}
    assert set(named) == PACKAGES - without_modules


def test_imports_go_down() -> None:
    for module in MODULES.keys() - PACKAGES:
        for line, name in imports_of(module):
            if name not in MODULES or name in PACKAGES or package_of(name) == package_of(module):
                continue
            assert layer_of(name) < layer_of(module), f"{module}:{line} imports {name}: imports go down"


def test_relative_imports_inside() -> None:
    for module in MODULES:
        for node in nodes_of(module):
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert (node.module or "").split(".")[0] not in ("soac", *FOLDERS), f"{module}:{node.lineno}"


def test_files_form_no_cycle() -> None:
    """Also not by imports for types alone."""
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, "cycle: " + " -> ".join([*path[path.index(module) :], module])
        if module in done:
            return
        for _, name in imports_of(module):
            if name in MODULES and name != module:
                visit(name, (*path, module))
        done.add(module)

    for module in MODULES:
        visit(module, ())


def test_what_may_be_imported() -> None:
    for module, line, name in ((m, *found) for m in MODULES for found in imports_of(m)):
        where, top = f"{module}:{line} imports {name}", name.split(".")[0]
        assert top not in FORBIDDEN_MODULES, where
        assert top != "tests", where
        if top in DEVICE_MODULES:
            assert module.startswith("kernels.devices."), f"{where}: under kernels/devices only"
        if top == "click":
            assert module.startswith(COMMAND_LINE), f"{where}: in the command line only"
        if module.startswith(PRINTERS):
            assert not name.startswith(("kernels.passes", "kernels.schedule")), f"{where}: printers print"
        if module.startswith("kernels.schedule"):
            assert not name.startswith(PRINTERS), f"{where}: schedules import no printer"


def test_benchmarks_import_no_tests() -> None:
    for path in sorted((ROOT / "benchmarks").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names):
                    named = [alias.name for alias in names]
                case ast.ImportFrom(module):
                    named = [module or ""]
                case _:
                    continue
            assert not any(name.split(".")[0] == "tests" for name in named), f"{path.name}:{node.lineno}"


def test_nothing_is_evaluated() -> None:
    """No eval or exec anywhere: a program is data until it is run."""
    for module, node in ((m, node) for m in MODULES for node in nodes_of(m)):
        if isinstance(node, ast.Name):
            own = node.id == "compile" and module.startswith("soac")  # `soac.compile` takes the text of a program
            assert own or node.id not in FORBIDDEN_CALLS, f"{module}:{node.lineno} calls {node.id}"


def test_files_are_short() -> None:
    """No more than MOST_LINES lines."""
    for module, path in MODULES.items():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= MOST_LINES, f"{module} has {lines} lines"


MACHINE_CODE = re.compile(
    r"^(define .*@|declare .*@|%\w+ = type |  %\S+ = (load|getelementptr|icmp|call) )", re.MULTILINE
)


def test_machine_code_is_no_python_text() -> None:
    """It is in files of its own: `.ll`."""
    for module, node in ((m, node) for m in MODULES for node in nodes_of(m)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and MACHINE_CODE.search(node.value):
            assert len(node.value.splitlines()) <= MOST_MACHINE_CODE, f"{module}:{node.lineno}"


def test_packages_say_what_they_are() -> None:
    """What comes in, what goes out, what holds afterwards."""
    for package in PACKAGES:
        doc = ast.get_docstring(ast.parse(MODULES[package].read_text(encoding="utf-8")))
        assert doc, f"{package} has no docstring"
        if package != "soac":  # the public interface
            assert all(word in doc for word in ("In:", "Out:", "Holds:")), package


def test_no_prefix_repeats_its_folder() -> None:
    for module in MODULES:
        folder, _, name = module.rpartition(".")
        if module not in PACKAGES and folder:
            assert not name.startswith(f"{folder.rpartition('.')[2]}_"), module


HOUSE = {"test_layers.py", "test_words.py", "test_docstrings.py", "test_quick.py", "test_types.py"}
APART = {"conformance", "gpu", "property", "support"}
"""Folders of tests that mirror none of the project: a corpus, what needs a GPU, laws of all passes, helpers."""


def test_tests_mirror_the_packages() -> None:
    """`tests/X/test_*.py` are for the folder X; what is no test is in `tests/support`."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        folder = path.relative_to(ROOT / "tests").parent
        top = folder.parts[0] if folder.parts else ""
        if path.name.startswith("test_"):
            assert top != "support", path
            assert path.name in HOUSE if not top else top in APART or (ROOT / folder).is_dir(), path
        else:
            assert top == "support" or path.name in ("conftest.py", "known.py"), path


def test_every_folder_is_linked() -> None:
    for folder in FOLDERS[:-1]:
        link = ROOT / "soac" / folder
        assert link.is_symlink()
        assert link.readlink() == Path("..") / folder


def test_ci_runs_the_command_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    last_line = (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().splitlines()[-1]
    assert last_line.endswith("pytest")
    assert last_line in map(str.strip, readme.splitlines())
