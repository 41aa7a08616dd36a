"""The statements of one body while they are being fused: who makes and who uses a name, and what may move where.

What is known of a statement (`Node`) is found once; that of a fused statement follows from its two parts, so that long
chains of SOACs are fused in linear time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace

from ...ir.core import Body, Hist, Screma, Soac, Stm
from ...ir.records import dataclass
from ...ir.traverse import all_exps, bodies, free_in_stm
from ...ir.types import Name, Names, Type, Var
from ..aliasing.classes import Sharing, perhaps_overwritten_by
from ..aliasing.fresh import are_apart
from .rules import mapped_results


@dataclass(slots=True)
class Context:
    """What fusion needs to know of the whole program."""

    names: Names
    sharing: Sharing
    types: dict[Name, Type]
    fired: list[str] = field(default_factory=list)
    """The rules that have fused, by name."""


@dataclass(frozen=True, slots=True)
class Node:
    """A statement with the names it needs, those it needs other than as inputs of its SOAC, and those it overwrites
    (at any depth)."""

    stm: Stm
    free: frozenset[Name]
    beside: frozenset[Name]
    overwritten: frozenset[Name]

    @property
    def made(self) -> frozenset[Name]:
        return frozenset(param.name for param in self.stm.pat)


def node_of(stm: Stm) -> Node:
    """A statement with its free names, those it uses other than as inputs of its SOAC, and those it overwrites."""
    free = frozenset(free_in_stm(stm))
    exps = [exp for body in bodies(stm.exp) for exp in all_exps(body)]
    overwritten = frozenset(name for exp in (stm.exp, *exps) for name in perhaps_overwritten_by(exp))
    return Node(stm, free, _beside_inputs(stm) if isinstance(stm.exp, Soac) else free, overwritten)


def _beside_inputs(stm: Stm) -> frozenset[Name]:
    soac = stm.exp
    assert isinstance(soac, Soac)
    bare = replace(soac, arrays=(), map=replace(soac.map, params=()))
    return frozenset(free_in_stm(replace(stm, exp=bare))) - {param.name for param in soac.map.params}


def fused_node(stm: Stm, producer: Node, consumer: Node) -> Node:
    """What is known of a statement fused from two."""
    free = producer.free | (consumer.free - producer.made)
    beside = producer.beside | (consumer.beside - producer.made)
    return Node(stm, free, beside, producer.overwritten | consumer.overwritten)


@dataclass(slots=True)
class Scope:
    """The statements so far, by number in order of execution; one that moves gets a new number."""

    context: Context
    results: frozenset[Name]
    made: dict[Name, Stm]
    """What the body binds, before fusion."""
    nodes: list[Node | None] = field(default_factory=list)
    maker: dict[Name, int] = field(default_factory=dict)
    users: dict[Name, list[int]] = field(default_factory=dict)
    waiting: Counter[Name] = field(default_factory=Counter)
    """How many statements to come use a name."""
    overwriting: list[int] = field(default_factory=list)
    readers: dict[Name, list[int]] = field(default_factory=dict)
    """The Scremas and histograms that have an array as input."""
    behind: list[Node] = field(default_factory=list)
    """What goes behind the statement that is being fused."""

    def append(self, node: Node) -> None:
        number = len(self.nodes)
        self.nodes.append(node)
        for name in node.made:
            self.maker[name] = number
        for name in node.free:
            self.users.setdefault(name, []).append(number)
        if node.overwritten:
            self.overwriting.append(number)
        if isinstance(node.stm.exp, Screma | Hist):
            for array in node.stm.exp.arrays:
                self.readers.setdefault(array, []).append(number)

    def add(self, node: Node) -> None:
        """Puts a statement next, and behind it what has to follow it."""
        self.append(node)
        following, self.behind = self.behind, []
        for moved in following:
            self.append(moved)

    def replace(self, number: int, node: Node) -> None:
        """Puts a statement that needs the same in the place of another."""
        self.nodes[number] = node
        for name in node.made:
            self.maker[name] = number

    def remove(self, number: int) -> Node:
        node = self.nodes[number]
        assert node is not None
        self.nodes[number] = None
        return node

    def maker_of(self, name: Name) -> tuple[int, Node] | None:
        """The statement that binds `name`, if it is in this body and still in its place."""
        number = self.maker.get(name)
        node = None if number is None else self.nodes[number]
        return None if number is None or node is None else (number, node)

    def is_needed(self, name: Name) -> bool:
        """Whether anything but the statement being fused uses `name`."""
        if name in self.results or self.waiting[name] > 0:
            return True
        placed = any(self.nodes[k] is not None for k in self.users.get(name, ()))
        return placed or any(name in node.free for node in self.behind)

    def dependents(self, node: Node) -> list[int]:
        """The statements so far that need a result of `node`, directly or not, in order."""
        found: set[int] = set()
        pending = [node]
        while pending:
            for name in pending.pop().made:
                for k in self.users.get(name, ()):
                    user = self.nodes[k]
                    if user is not None and k not in found:
                        found.add(k)
                        pending.append(user)
        return sorted(found)


def scope_of(body: Body, nodes: list[Node], context: Context) -> Scope:
    """An empty scope that expects the statements of `body`."""
    results = frozenset(atom.name for atom in body.result if isinstance(atom, Var))
    scope = Scope(context, results, {p.name: node.stm for node in nodes for p in node.stm.pat})
    for node in nodes:
        scope.waiting.update(node.free)
    return scope


def may_move(number: int, producer: Node, consumer: Node, dependents: list[int], scope: Scope) -> bool:
    """Whether the producer can be executed where the consumer is, and its dependents after that: the consumer needs
    none of these, and no array that they read is overwritten on the way."""
    moved = [node for k in dependents if (node := scope.nodes[k]) is not None]
    if any(not node.made.isdisjoint(consumer.free) for node in moved):
        return False
    if scope.behind and any(node.overwritten for node in (*moved, *scope.behind)):
        return False
    sharing = scope.context.sharing
    reading = [name for node in (producer, *moved) for name in node.free if sharing.consumed(name)]
    if not reading:
        return True
    still = set(dependents)
    between = [scope.nodes[k] for k in scope.overwriting if k > number and k not in still]
    writing = [node for node in (*between, consumer) if node is not None]
    return not any(overwrites(node, x, sharing, scope.made) for node in writing for x in reading)


def overwrites(node: Node, array: Name, sharing: Sharing, made: Mapping[Name, Stm]) -> bool:
    """Whether a statement may overwrite memory of an array. `made`: the statements around it."""
    return any(sharing.same(array, y) and not (y in node.free and are_apart(array, y, made)) for y in node.overwritten)


def is_row_by_row(producer: Node, consumer: Node) -> bool:
    """Whether the consumer uses of the producer only mapped results, and these only as its inputs."""
    soac = consumer.stm.exp
    assert isinstance(soac, Soac)
    made = producer.made
    if not made.isdisjoint(consumer.beside):
        return False
    return made.intersection(soac.arrays) <= mapped_results(producer.stm)
