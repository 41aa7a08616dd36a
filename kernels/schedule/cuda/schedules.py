"""How GPUs run segops."""

from __future__ import annotations

from ....ir import core
from ..cpu.segscatter import BY_POINTS
from ..cpu.unroll_and_jam_loop import gen_soac
from ..kernel_builder import InnerSchedules
from ..table import Schedules
from .inner_points import points
from .mapping import best_layout
from .scalars_by_address import by_address
from .seghist import SEGHIST
from .segmap import SEGMAP
from .segred import SEGRED
from .segscan import SEGSCAN

SCHEDULES = Schedules(
    {
        core.SegMap: SEGMAP,
        core.SegRed: SEGRED,
        core.SegScan: SEGSCAN,
        core.SegScatter: BY_POINTS,
        core.SegHist: SEGHIST,
    },
    InnerSchedules(gen_soac, points),
    best_layout,
    by_address,
)
