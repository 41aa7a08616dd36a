"""What the evaluator keeps: names in scope, the types of literals, steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.source_programs.scalars import Failure, Scalar
from tests.support.source_programs.values import TooLong, Undetermined, Value

MOST_STEPS = 100_000
SAMPLE_STEPS = 3_000


@dataclass(slots=True)
class State:
    """The types of literals by place, and what is counted: steps, and what was reached, by name."""

    literals: Mapping[tuple[int, int], str]
    evaluate: Callable[[State, Any, Env], Value]
    steps: int = 0
    most: int = MOST_STEPS
    operators: set[str] = field(default_factory=set)
    """Operators that the program defines."""
    lits: dict[int, Scalar] = field(default_factory=dict)


class Env:
    """Names in scope. `home` is where declarations go."""

    __slots__ = ("modules", "types", "up", "values")

    def __init__(self, up: Env | None) -> None:
        self.values: dict[str, Value] = {}
        self.types: dict[str, Any] = {}
        self.modules: dict[str, Any] = {}
        self.up = up

    def value(self, name: str) -> Value:
        env: Env | None = self
        while env is not None:
            if name in env.values:
                return env.values[name]
            env = env.up
        return None

    def module(self, name: str) -> Any:
        env: Env | None = self
        while env is not None:
            if name in env.modules:
                return env.modules[name]
            env = env.up
        return None

    def type(self, name: str) -> Any:
        env: Env | None = self
        while env is not None:
            if name in env.types:
                return env.types[name]
            env = env.up
        return None


class Wrong(Exception):
    """The evaluator cannot make sense of the program: a fault of it, or of who wrote the program."""


class Constant:
    """A definition without parameters, evaluated when it is first used."""

    __slots__ = ("_value", "make")

    def __init__(self, make: Callable[[], Value]) -> None:
        self.make, self._value = make, None

    def __call__(self) -> Value:
        if self._value is None:
            self._value = self.make()
        return self._value


def spend(st: State, steps: int) -> None:
    """Counts steps. Raises TooLong."""
    st.steps += steps
    if st.steps > st.most:
        raise TooLong


def sampled(st: State, f: Callable[[], Value]) -> Value:
    """A value to take sizes from; None if there is none to be had, as where parts of what is given are not known."""
    before, most = st.steps, st.most
    st.most = min(most, before + SAMPLE_STEPS)
    try:
        return f()
    except (Failure, Undetermined, TooLong, Wrong, TypeError, AttributeError, IndexError):
        return None
    finally:
        st.steps, st.most = before, most
