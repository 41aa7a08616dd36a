"""An entry point of arrays and scalars, with its derivatives and batched forms as such entry points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arguments import parameter_types, to_argument
from ..checked_settings import misused
from ..derivatives import Mode, derivative, float_parameters, float_results
from ..ir.scalar import DTYPES
from ..ir.types import Const
from ..python.entry import Entry


@dataclass(slots=True, eq=False)
class Differentiable:
    """An entry and what was made of it. Where it is a derivative `of` another in some mode `by` some parameters, the
    `first` arguments are those of the other, and it is linear in the rest."""

    entry: Entry
    of: Differentiable | None = None
    mode: Mode = Mode.JVP
    by: tuple[int, ...] = ()
    first: int = 0
    made: dict[object, Differentiable] = field(default_factory=dict)

    @property
    def params(self) -> list[int]:
        """The positions of the parameters with tangents."""
        return float_parameters(self.entry.fun)

    @property
    def results(self) -> list[int]:
        """The positions of the results with tangents."""
        return float_results(self.entry.fun)

    def derivative(self, mode: Mode, by: Sequence[int]) -> Differentiable:
        """By the parameters at these positions: of the arguments, and tangents of these or adjoints of the results."""
        key = mode, tuple(by)
        if key not in self.made:
            entry = derivative(self.entry, mode, by)
            self.made[key] = Differentiable(entry, self, mode, tuple(by), len(self.entry.parameters))
        return self.made[key]

    def transposed(self) -> Differentiable:
        """The derivative in the other mode."""
        assert self.of is not None
        return self.of.derivative(Mode.VJP if self.mode is Mode.JVP else Mode.JVP, self.by)

    def batched(self, mapped: Sequence[bool]) -> Differentiable:
        """Over a leading dimension of these arguments."""
        key = tuple(mapped)
        if key not in self.made:
            self.made[key] = differentiable(self.entry.batched([0 if one else None for one in mapped]))
        return self.made[key]

    def shapes(self, given: Sequence[tuple[int, ...]]) -> list[tuple[tuple[int, ...], np.dtype]]:
        """Shapes and types of the results, for the shapes of the arguments."""
        fun = self.entry.fun
        params = fun.params[self.entry.entry.sizes :]
        known = {size: n for param, shape in zip(params, given) for size, n in zip(param.type.shape, shape)}
        found: list[tuple[tuple[int, ...], np.dtype]] = []
        for type_ in (fun.results[k].type for result in self.entry.entry.results for k in result.components):
            if any(not isinstance(size, Const) and size not in known for size in type_.shape):
                text = f"a size of the results of `{self.entry}` is computed, so that it cannot be traced"
                raise misused(text, "call it outside of `jax.jit`")
            shape = (int(size.value) if isinstance(size, Const) else known[size] for size in type_.shape)
            found.append((tuple(shape), np.dtype(DTYPES[type_.prim])))
        return found


def differentiable(entry: Entry) -> Differentiable:
    """`SettingError` C0101 for an entry with records or sums."""
    if entry.shape is not None:
        raise misused(f"`{entry}` takes or gives a record", "give it an entry point of arrays and scalars")
    return Differentiable(entry)


def as_function(entry: Entry, array: type, other: Callable[[Any], Any], run: Callable[..., Any]) -> Callable[..., Any]:
    """`run` of the entry with its derivatives and of arguments, as a function; those that are no such arrays are
    converted to arguments, and by `other`."""
    what = differentiable(entry)
    types = parameter_types(entry.fun)

    def call(*args: Any) -> Any:
        parts = enumerate(zip(args, types), 1)
        values = [arg if isinstance(arg, array) else other(to_argument(arg, t, k)) for k, (arg, t) in parts]
        results = run(what, *values, *args[len(types) :])
        return results[0] if len(results) == 1 else tuple(results)

    call.__name__ = call.__qualname__ = entry.__name__
    call.__doc__ = entry.__doc__
    return call
