"""Dataclasses made quickly are those of `dataclasses`."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import FrozenInstanceError, field, replace
from typing import Any, ClassVar

import pytest

from soac.ir.records import SOME, dataclass


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    parts: tuple[int, ...] = ()
    held: list[int] = field(default_factory=list, compare=False)


@dataclass(frozen=True, slots=True)
class Deeper(Node):
    depth: int = 0

    def __post_init__(self) -> None:
        if self.depth < 0:
            raise ValueError("above the root")


@dataclass(slots=True)
class State:
    count: Any = 0


def test_a_node_is_a_dataclass() -> None:
    node = Node("a", (1,))
    assert [f.name for f in dataclasses.fields(node)] == ["name", "parts", "held"]
    assert repr(node) == "Node(name='a', parts=(1,), held=[])"
    assert replace(node, name="b") == Node("b", (1,)) != node
    assert Node.__match_args__ == ("name", "parts", "held")
    assert not hasattr(node, "__dict__")
    with pytest.raises(TypeError):
        Node()  # type: ignore


@pytest.mark.parametrize("wrong", [((), {}), ((1, 2, 3, 4), {}), ((1,), {"a": 1}), ((1,), {"c": 1})])
def test_the_first_one_of_a_class_has_the_right_arguments(wrong: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    @dataclass(frozen=True, slots=True)
    class First:
        a: int
        b: int = 2
        held: list[int] = field(default_factory=list)

    with pytest.raises(TypeError):
        First(*wrong[0], **wrong[1])
    assert (First(1).a, First(a=1).b, First(1, b=3).b) == (1, 2, 3)


def test_a_deep_one_has_a_text() -> None:
    """As `dataclasses` writes it, however deep it is."""
    value: Any = State(1)
    for _ in range(5000):
        value = State((value,))
    text = repr((value, State([]), State([value, ()])))
    assert text.count("State(count=") == 2 * 5001 + 2
    assert text.startswith("(State(count=(State(")
    assert text.endswith("1)" + ",))" * 5000 + ", ()]))")


def test_values_are_compared_by_class_and_fields() -> None:
    assert Node("a", held=[1]) == Node("a", held=[2])
    assert hash(Node("a", held=[1])) == hash(Node("a"))
    assert Node("a") != Deeper("a")
    assert len({Deeper("a"), Deeper("a", depth=1), Deeper(name="a", depth=1)}) == 2


def test_a_frozen_one_stays_as_it_is() -> None:
    for change in (lambda n: setattr(n, "name", "b"), lambda n: delattr(n, "name")):
        with pytest.raises(FrozenInstanceError):
            change(Node("a"))
    with pytest.raises(ValueError, match="root"):
        Deeper("a", depth=-1)


def test_one_that_is_not_frozen_has_no_hash() -> None:
    state = State()
    state.count += 1
    assert state == State(1)
    with pytest.raises(TypeError):
        hash(state)


def test_copies_are_equal() -> None:
    node = Deeper("a", (1, 2), [3], 4)
    assert copy.deepcopy(node) == node
    assert copy.copy(node).held is node.held


@dataclass(slots=True)
class Counter:
    """Of what is seen."""

    name: str
    count: int = field(default=3, init=False)
    seen: set[int] = field(default_factory=set, init=False)
    limits: dict[str, int] = field(default_factory=dict)
    LEVELS: ClassVar[tuple[int, ...]] = (1, 2)


@dataclass(slots=True)
class Waiting:
    """As `Counter`, with no base and no pseudo-field, so that its slots are made here."""

    name: str
    count: int = field(default=3, init=False)
    seen: set[int] = field(default_factory=set, init=False)
    limits: dict[str, int] = field(default_factory=dict)
    last: int | None = None


@pytest.mark.parametrize("cls", [Counter, Waiting])
def test_fields_that_are_no_arguments(cls: type[Counter]) -> None:
    one, other = cls("a"), cls("a", limits={"b": 1})
    assert (one.count, one.seen, one.limits, other.limits) == (3, set(), {}, {"b": 1})
    one.seen.add(1)
    assert not other.seen
    assert cls.__match_args__[:2] == ("name", "limits")
    with pytest.raises(TypeError, match="count"):
        cls("a", count=1)  # type: ignore
    with pytest.raises(TypeError, match=rf"{cls.__name__}\.__init__\(\) missing .*'name'"):
        cls()  # type: ignore


def test_a_pseudo_field_is_none() -> None:
    assert Counter.LEVELS == (1, 2)
    assert "LEVELS" not in [f.name for f in dataclasses.fields(Counter)]


def test_a_default_that_changes_is_refused() -> None:
    with pytest.raises(ValueError, match="some"):

        @dataclass(slots=True)
        class Wrong:  # type: ignore
            some: list[int] = []  # noqa: RUF012


@dataclass(frozen=True, slots=True)
class Full:
    """Names that the text of an `__init__` might use itself, fields that are made, and one that no argument gives."""

    given: int
    put: int = 3
    made: list[int] = field(default_factory=list)
    none: int | None = None
    sum: int = field(init=False, default=7)
    kinds: dict[str, int] = field(init=False, default_factory=dict)
    last: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "sum", self.given + self.put)


def test_fields_have_what_is_given_or_their_defaults() -> None:
    one, other = Full(1), Full(1, 2, [4], 5, last=6)
    assert (one.given, one.put, one.made, one.none, one.sum, one.kinds, one.last) == (1, 3, [], None, 4, {}, 2)
    assert (other.put, other.made, other.none, other.sum, other.last) == (2, [4], 5, 3, 6)
    assert Full(1).made is not one.made
    assert replace(other, given=9).sum == 11
    with pytest.raises(TypeError, match="given"):
        Full()  # type: ignore
    with pytest.raises(TypeError):
        Full(1, sum=3)  # type: ignore


@dataclass(frozen=True, slots=True)
class Wide:
    a: int
    b: int
    c: int
    d: int
    e: int
    f: int
    g: int = 6
    h: int = 7


def test_eight_fields_need_no_init_of_dataclasses() -> None:
    given = Wide.__init__
    assert dataclasses.astuple(Wide(*range(6))) == tuple(range(8))
    assert Wide.__init__ is given


@pytest.mark.parametrize("cls", [Deeper, Waiting, Full])
def test_many_objects_are_made_as_the_first_ones(cls: type[Any]) -> None:
    """Field by field; then by the `__init__` of `dataclasses`."""
    made = [cls("a") if cls is not Full else cls(1) for _ in range(2 * SOME)]
    assert cls.__init__.__code__.co_varnames[:2] == ("self", dataclasses.fields(cls)[0].name)
    assert made[0] == made[-1]
    assert repr(made[0]) == repr(made[-1])
