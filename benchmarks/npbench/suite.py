"""What the suite has for a program: its sizes, its inputs, and its versions by library."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .cases import Case, components, one_by_one

Function = Callable[..., Any]

VARIANTS = ("numba_n", "numba_np", "numba_npr", "numba_o", "numba_op", "numba_opr")
"""Numba with whole arrays or loops, sequential, parallel or with parallel ranges."""

LIBRARIES: Mapping[str, tuple[str, ...]] = {"numpy": ("numpy",), "numba": VARIANTS, "jax": ("jax",)}


@dataclass(frozen=True, slots=True)
class Original:
    """What the suite says about a program; `folder` holds its versions."""

    folder: Path
    module: str
    function: str
    sizes: Mapping[str, Mapping[str, Any]]
    arguments: tuple[str, ...]
    makes: tuple[str, ...]
    maker: str

    def inputs(self, preset: str) -> dict[str, Any]:
        """The sizes of a preset and the arrays that the suite makes for them."""
        values: dict[str, Any] = dict(self.sizes[preset])
        if self.maker:
            make = getattr(loaded(self.folder / f"{self.module}.py"), self.maker)
            made = make(**{name: values[name] for name in inspect.signature(make).parameters if name in values})
            values |= zip(self.makes, made if isinstance(made, tuple) else (made,))
        return values

    def version(self, variant: str) -> Function | None:
        """The function of a library's variant, None where the suite has none."""
        path = self.folder / f"{self.module}_{variant}.py"
        return getattr(loaded(path), self.function, None) if path.exists() else None


@dataclass(frozen=True, slots=True)
class Peer:
    """A version of the suite: `fresh` gives arguments that it may spoil, `call` is what is timed, `fetch` makes NumPy
    arrays of what it gave."""

    variant: str
    fresh: Callable[[], list[Any]]
    call: Callable[[list[Any]], Any]
    fetch: Callable[[Any, list[Any]], list[Any]]


def original(suite: Path, case: Case) -> Original:
    """Reads the suite's description of a program."""
    path = suite / "bench_info" / f"{case.name}.json"
    info = json.loads(path.read_text(encoding="utf-8"))["benchmark"]
    making = info.get("init") or {}
    return Original(
        suite / "npbench" / "benchmarks" / info["relative_path"],
        info["module_name"],
        info["func_name"],
        info["parameters"],
        tuple(info["input_args"]),
        tuple(making.get("output_args", ())),
        making.get("func_name", ""),
    )


def loaded(path: Path) -> ModuleType:
    """A file of the suite as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"npbench_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Numba's object mode looks globals up there
    spec.loader.exec_module(module)
    return module


def peers_of(case: Case, suite: Original, values: Mapping[str, Any], variants: Iterable[str]) -> Iterator[Peer]:
    """Those of the variants that the suite has, for these inputs."""
    for variant in variants:
        function = suite.version(variant)
        if function is not None and variant == "jax":
            yield _on_jax(suite, values, function)
        elif function is not None:
            yield _in_place(case, suite, values, variant, function)


def _in_place(case: Case, suite: Original, values: Mapping[str, Any], variant: str, function: Function) -> Peer:
    """A version that may change its arguments: those that it writes to are copied before each call."""
    spoiled = {*case.changes.split(), *case.spoils.split()}

    def fresh() -> list[Any]:
        return [np.copy(values[name]) if name in spoiled else values[name] for name in suite.arguments]

    def fetch(returned: Any, args: list[Any]) -> list[Any]:
        return case.results(returned, dict(zip(suite.arguments, args)))

    return Peer(variant, fresh, lambda args: function(*args), fetch)


def _on_jax(suite: Original, values: Mapping[str, Any], function: Function) -> Peer:
    """A version without side effects; its arrays are placed beforehand and the call waits for its results."""
    import jax

    jax.config.update("jax_enable_x64", True)
    given = [values[name] for name in suite.arguments]
    args = [jax.device_put(value) if np.ndim(value) else value for value in given]

    def fetch(returned: Any, _: list[Any]) -> list[Any]:
        return components([np.asarray(part) for part in one_by_one(returned)])

    return Peer("jax", lambda: args, lambda args: jax.block_until_ready(function(*args)), fetch)
