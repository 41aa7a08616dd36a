"""Flags between blocks: one core says that something is there, another waits until it is.

A release makes what its core has written visible to whoever acquires the flag. Who waits lets others run meanwhile, and
leaves where a check of the launch has failed, since the flag may then never come. It cannot wait for ever: blocks wait
only for such as have begun, and a worker ends a block that it has begun before it looks whether it is to stop.
"""

from __future__ import annotations

from ...ir.types import Prim
from ..kernel_ir.nodes import Publish, WaitFor
from ..llvm.text import memory_type
from .checks import failing
from .memory import address, as_index
from .values import Lanes, Uniform, operand, scalar


def publish(e: Lanes, stm: Publish) -> None:
    """The flag := the value, an i32, as a release."""
    value = scalar(e, operand(e, stm.value))
    pointer = address(e, memory_type(Prim.I32), e.places[stm.array].pointer, scalar(e, as_index(e, stm.index)))
    e.code.do(f"store atomic i32 {value}, ptr {pointer} release, align 4")


def wait_for(e: Lanes, stm: WaitFor) -> None:
    """Read the flag as an acquire until it is at least `least`, and bind what was read. Leaves the kernel, without a
    failure of its own, where the launch has failed."""
    code, least = e.code, scalar(e, operand(e, stm.least))
    pointer = address(e, memory_type(Prim.I32), e.places[stm.array].pointer, scalar(e, as_index(e, stm.index)))
    code.module.declare("sched_yield", "i32", ())
    head, waiting, there = code.fresh("wait"), code.fresh("waiting"), code.fresh("there")
    code.jump(head)
    code.label(head)
    seen = code.op(f"load atomic i32, ptr {pointer} acquire, align 4")
    code.branch(code.op(f"icmp sge i32 {seen}, {least}"), there, waiting)
    code.label(waiting)
    failure = code.op("load atomic i64, ptr %record monotonic, align 8")
    with failing(e, code.op(f"icmp ne i64 {failure}, 0")):
        pass
    code.op("call i32 @sched_yield()")
    code.jump(head)
    code.label(there)
    e.env[stm.out.name] = Uniform(Prim.I32, seen)
