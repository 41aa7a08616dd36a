"""How the CPU runs segops."""

from __future__ import annotations

from ....ir import core
from ...host_ir.overwrite import overwrite_operands
from ..kernel_builder import InnerSchedules
from ..table import Schedules
from .lanes_over_rows import SEGRED, SEGSCAN
from .seghist import SEGHIST
from .segmap import SEGMAP
from .segscatter import SEGSCATTER
from .unroll_and_jam_loop import gen_soac

SCHEDULES = Schedules(
    {
        core.SegMap: SEGMAP,
        core.SegRed: SEGRED,
        core.SegScan: SEGSCAN,
        core.SegScatter: SEGSCATTER,
        core.SegHist: SEGHIST,
    },
    InnerSchedules(gen_soac, None),
    None,
    lambda program, names: overwrite_operands(program),
)
