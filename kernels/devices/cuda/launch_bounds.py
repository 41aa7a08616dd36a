"""More registers for kernels that spill: fewer blocks at once, by one step, are asked of a multiprocessor.

The assembler chooses by itself how many warps are to be at work, and spills to have more of them; it does so too where
the text asks for a number of blocks. What it needs is known when it has compiled the kernel. With one step fewer warps
nearly all kernels keep everything in registers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .ptxas_report import Resources

REGISTERS, UNIT = 1 << 16, 8
"""Of a multiprocessor; those of a thread are given in units."""


def more_registers(text: str, uses: Mapping[str, Resources]) -> str:
    """A module in which kernels that have spilled ask for so few blocks that a thread may have a unit more; the text
    itself where none spills, or one block has all registers anyway."""
    for name, use in uses.items():
        if use.spills:
            text = re.sub(
                rf"__launch_bounds__\((\d+)(?:, (\d+))?\)(?=\s+{name}\()",
                lambda found, use=use: _bounds(int(found[1]), int(found[2] or 0), use.registers),
                text,
            )
    return text


def _bounds(threads: int, blocks: int, registers: int) -> str:
    """With fewer blocks than there were, as long as there are several; `blocks` is 0 where the text names none."""
    fewer = max(1, REGISTERS // (threads * (-(-registers // UNIT) * UNIT + UNIT)))
    return f"__launch_bounds__({threads}, {min(blocks, fewer) if blocks else fewer})"
