"""An entry point as a function of Python: signature, annotations, documentation, keywords, records and sums, `out`.

Where all parameters and results are arrays and scalars, a call hands its arguments to machine code as they are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir.core import FunDef
from ..ir.errors import DataError, Diagnostic, Label
from ..ir.records import dataclass
from ..kernels.devices.device import Call, OnDevice
from .forms import is_plain, unique_names

if TYPE_CHECKING:
    from .classes import Classes
    from .forms import Form

Axes = int | Sequence[int | None]


@dataclass(frozen=True, slots=True)
class Owner:
    """What an entry asks of its program: the call with the settings of now, an entry that maps it over leading
    dimensions, the classes of records and sums, and the program itself."""

    prepare: Callable[[str], Call]
    batch: Callable[[str, Axes], Entry]
    classes: Callable[[], Classes]
    program: object


@dataclass(frozen=True, slots=True)
class Shape:
    """The forms of parameters and results, one of which is a record or a sum."""

    params: tuple[Form, ...]
    results: tuple[Form, ...]


class Entry:
    """An entry point of a program: `prog.main(xs, k=2)`, `prog.main(xs, 2, out=ys)`.

    Arguments are NumPy arrays of the types of the entry, lists and numbers; a record is a dict or has its fields as
    attributes, a sum is an object of the class of a constructor (`prog.types`), `{"circle": 1.0}` or `"none"`. Results
    are arrays and scalars, named tuples for records and constructors, and a tuple where there are several. `out` takes
    arrays that results are copied to, None for those that are to be new."""

    def __init__(self, fun: FunDef, doc: str, owner: Owner) -> None:
        assert fun.entry is not None
        self.entry = fun.entry
        self.fun = fun
        self.owner = owner
        self.call: Call = self._first
        self.__name__ = self.__qualname__ = fun.entry.name
        self.comment = doc
        self.__doc__ = doc or str(self)  # `help` shows the class of what has none
        self.parameters = unique_names(param.name for param in fun.entry.params)
        texts = [part.text for part in (*fun.entry.params, *fun.entry.results)]
        self.shape = None if all(map(is_plain, texts)) else shape_of(fun)

    # ---- calls ---------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named or self.shape is not None:
            return self._called(args, named)
        results = self.call(args)
        return results[0] if len(results) == 1 else tuple(results)

    def reset(self) -> None:
        """The settings of the program have changed."""
        self.call = self._first

    def _first(self, args: Sequence[Any]) -> list[Any]:
        self.call = self.owner.prepare(self.__name__)
        return self.call(args)

    def _called(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        out = named.pop("out") if "out" in named and "out" not in self.parameters else None
        given = self._bound(args, named) if named else args
        results = tuple(self.call(given)) if self.shape is None else self._structured(self.shape, given)
        result = results[0] if len(results) == 1 else results
        return result if out is None else copied(result, out)

    def components(self, args: Sequence[Any]) -> Sequence[Any]:
        """The components of arguments, as `Program.call` takes them."""
        if self.shape is None:
            return args
        from .values import to_components

        if len(args) != (number := len(self.parameters)):
            raise self._misuse(f"it takes {number} argument{'' if number == 1 else 's'}, got {len(args)}")
        return to_components(self.fun, self.shape.params, args, self.owner.classes())

    def _structured(self, shape: Shape, args: Sequence[Any]) -> tuple[Any, ...]:
        from .values import from_components

        parts = iter(self.call(self.components(args)))
        return tuple([from_components(form, parts, self.owner.classes()) for form in shape.results])

    def _bound(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        """Arguments in order; `DataError` D0113 for a keyword that is unknown, missing or given twice."""
        rest = self.parameters[len(args) :]
        unknown = [name for name in named if name not in rest]
        missing = [name for name in rest if name not in named]
        if unknown or missing or len(args) > len(self.parameters):
            said = [f"there is no argument `{name}` left to give" for name in unknown]
            raise self._misuse("; ".join(said + [f"`{name}` is missing" for name in missing]) or "too many arguments")
        return [*args, *(named[name] for name in rest)]

    def _misuse(self, text: str) -> DataError:
        return DataError(Diagnostic("D0113", f"`{self}`: {text}", Label(self.fun.loc, "")))

    def batched(self, in_axes: Axes = 0) -> Entry:
        """This entry mapped over the leading dimension of its arguments by the compiler; `in_axes` has 0 for each
        argument that has one more dimension, None for one that all calls share."""
        return self.owner.batch(self.__name__, in_axes)

    # ---- what it is ----------------------------------------------------------------------------------------------

    @property
    def program(self) -> Any:
        """The program that this is an entry of."""
        return self.owner.program

    def __getattr__(self, name: str) -> Any:
        """`__signature__`, of entries alone: tools that look at the class are not to find it there."""
        if name != "__signature__":
            raise AttributeError(f"an entry point has no attribute `{name}`", name=name, obj=self)
        kind, types = inspect.Parameter.POSITIONAL_OR_KEYWORD, self.__annotations__
        params = [inspect.Parameter(name, kind, annotation=types[name]) for name in self.parameters]
        return inspect.Signature(params, return_annotation=types["return"])

    @property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        from .annotations import annotations_of

        return annotations_of(self.fun, self.parameters, self.owner.classes())

    def __repr__(self) -> str:
        return f"<soac entry {self}>"

    def __str__(self) -> str:
        """The signature in the language: `main(xs: [n]f32, k: i32) -> [n]f32`."""
        listed = ", ".join(f"{p.name}: {'*' * p.unique}{p.text}" for p in self.entry.params)
        results = ", ".join(result.text for result in self.entry.results)
        return f"{self.entry.name}({listed}) -> {results if len(self.entry.results) == 1 else f'({results})'}"

    def _repr_html_(self) -> str:
        import html

        doc = "".join(f"<br>{html.escape(line)}" for line in self.comment.splitlines())
        return f"<code>{html.escape(str(self))}</code>{doc}"

    def __reduce__(self) -> tuple[Callable[[Any, str], Entry], tuple[Any, str]]:
        return entry_of, (self.program, self.__name__)


def entry_of(program: Any, name: str) -> Entry:
    """An entry that was copied or pickled."""
    return program[name]


def shape_of(fun: FunDef) -> Shape:
    from .forms import form_of

    assert fun.entry is not None
    params = tuple(form_of(param.text) for param in fun.entry.params)
    return Shape(params, tuple(form_of(result.text) for result in fun.entry.results))


# ---- out ---------------------------------------------------------------------------------------------------------


def copied(result: Any, out: Any) -> Any:
    """`result` with its arrays in those of `out`, where there are such; `DataError` D0104 if one does not suit."""
    if out is None:
        return result
    if isinstance(result, tuple):
        if not isinstance(out, tuple | list) or len(out) != len(result):
            raise bad_out(f"`out` is a tuple of {len(result)}, with None for what is to be new")
        parts = [copied(part, place) for part, place in zip(result, out)]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    found = result.numpy() if isinstance(result, OnDevice) else np.asarray(result)
    if not isinstance(out, np.ndarray) or out.dtype != found.dtype or out.shape != found.shape:
        given = f"{out.dtype}{list(out.shape)}" if isinstance(out, np.ndarray) else type(out).__name__
        raise bad_out(f"`out` is {given}, the result is {found.dtype}{list(found.shape)}")
    if not out.flags.writeable:
        raise bad_out("`out` is read-only")
    out[...] = found
    return out


def bad_out(text: str) -> DataError:
    return DataError(Diagnostic("D0104", text, hint="give arrays of NumPy of the results' types"))
