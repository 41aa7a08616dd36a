"""Few points whose work is a loop: one after the other, without lanes.

    segmap (i < n) { loop .. }    n <= most_alone    ⟶    block = i: the loop, in scalar code

The lanes of a group that is not full gather and scatter what a scalar loads and stores: two channels of sound, three
axes of a sensor, one series. More points are lanes all the same, since steps that wait for each other take no longer in
vectors.
"""

from __future__ import annotations

from ....ir.core import Body
from ...analysis.cost import NEAR, cost_at, lanes_of
from ..host_builder import Made
from ..queries import carries_floats

FEW_POINTS = "one by one"
"""What the schedule is called."""

WAITING, FLOWING = 0.7, 1.4
"""What steps of a group of lanes take of the estimate, by that of steps without: floats that wait for those of the step
before take as long in both."""


def most_alone(lanes: Made, alone: Made, body: Body) -> int:
    """How many points take less time one after the other than a group of lanes that is not full: one at least, and
    fewer than such a group has."""
    width = lanes_of(lanes.kernel.body, lanes.facts)
    group = cost_at(lanes.kernel.body, NEAR, width, frozenset(), lanes.facts, width)
    each = cost_at(alone.kernel.body, NEAR, 1, frozenset(), alone.facts, width)
    share = WAITING if carries_floats(body) else FLOWING
    return max(1, min(width - 1, int(share * group / each)))
