"""Launches of turns of a loop of the host, which become graphs (`host/graphs.ll`): their memory, how a graph is made.

A graph that is made has the steps of the queue, one after the other. When it is launched again only the parameters that
have changed are set.
"""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, c_int64, c_void_p
from dataclasses import field
from typing import Any

from ....ir.records import dataclass
from .driver import DriverFault, DriverRefusal, Graphs, Step
from .host import structs
from .host.limits import MOST_GRAPHS, MOST_STEPS, STEP_ROOM

MAKE = CFUNCTYPE(c_void_p, c_int64)
DATA = STEP_ROOM * MOST_STEPS


def places() -> Any:
    """Of the parameters of steps."""
    return (ctypes.c_ubyte * DATA)()


@dataclass(slots=True)
class LaunchQueue:
    """`words`: what machine code reads; `made`: the graphs, and what they refer to, by their places; `number` of those
    that were made."""

    graphs: Graphs
    words: structs.Queue = field(default_factory=structs.Queue)
    steps: Any = field(default_factory=lambda: (structs.Step * MOST_STEPS)())
    data: Any = field(default_factory=places)
    table: Any = field(default_factory=lambda: (structs.Graph * MOST_GRAPHS)())
    kept: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    number: int = 0
    callback: Any = None

    @staticmethod
    def of(graphs: Graphs) -> LaunchQueue:
        """An empty one."""
        made = LaunchQueue(graphs)
        words = made.words
        words.launch, words.set_kernel, words.set_copy = graphs.launch, graphs.set_kernel, graphs.set_copy
        words.context = graphs.context
        words.steps, words.data = ctypes.addressof(made.steps), ctypes.addressof(made.data)
        words.graphs = ctypes.addressof(made.table)
        made.callback = MAKE(made.make)
        words.make = ctypes.cast(made.callback, c_void_p)
        return made

    def make(self, count: int) -> int:
        """The place of an executable graph of the first `count` steps; 0 where the driver has made none."""
        place = self.number % MOST_GRAPHS
        graph = self.table[place]
        try:
            if graph.handle:
                graph.count = 0
                self.graphs.drop(graph.handle)
                graph.handle = None
            handle, nodes = self.graphs.make([self.step(k) for k in range(count)])
        except (DriverRefusal, DriverFault):
            return 0
        self.number += 1
        steps, data, numbers = (structs.Step * count)(*self.steps[:count]), places(), (c_void_p * count)(*nodes)
        ctypes.memmove(data, self.data, count * STEP_ROOM)
        self.kept[place] = steps, data, numbers
        graph.handle, graph.steps, graph.data, graph.nodes = handle, *map(ctypes.addressof, (steps, data, numbers))
        graph.count = count
        return ctypes.addressof(graph)

    def step(self, k: int) -> Step:
        one, at = self.steps[k], ctypes.addressof(self.data) + k * STEP_ROOM
        return Step(one.code or 0, one.grid, one.threads, one.shared, ctypes.string_at(at, one.bytes))
