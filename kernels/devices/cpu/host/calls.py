"""What callers of compiled host programs put into a state, and read from it: settings, guards reached, events."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping

from .....ir.errors import MAX_CALLS, RunError
from ....host_ir.timing_events import Begin, End, Event, Note
from ...device import Trace
from ..runtime.assembly import CALLED, Word
from .layout import BEGIN, NativeFun, setting_word

ALWAYS, NEVER = 0, (1 << 63) - 1
"""Thresholds of guards that are forced."""

Default = Callable[[str], int]
Settings = tuple[Mapping[str, int], Mapping[str, bool]]
Words = ctypes.Array[ctypes.c_int64]


def set_settings(info: NativeFun, words: Words, settings: Settings, default: Default) -> None:
    """Thresholds and sizes, each with whether it is a default, and in place of the threshold of a forced guard one that
    decides."""
    thresholds, forced = settings
    for which, setting in enumerate(info.settings):
        name = setting.name
        if setting.size is not None:
            value = thresholds.get(name, 0) or setting.size
        elif name in forced:
            value = ALWAYS if forced[name] else NEVER
        else:
            value = max(ALWAYS, min(NEVER, thresholds[name] if name in thresholds else default(name)))
        is_default = name not in thresholds and name not in forced
        at = setting_word(info.first_setting, which)
        words[at], words[at + 1] = value, int(is_default)


def take_trace(info: NativeFun, memory: Words) -> Trace:
    """The guards reached: threshold, parallelism, first branch taken."""
    count = memory[Word.TRACED]
    if not count:
        return ()
    pairs, guards = (ctypes.c_int64 * (2 * count)).from_address(memory[Word.TRACE])[:], info.settings
    return tuple([(guards[w >> 1].name, par, bool(w & 1)) for w, par in zip(pairs[::2], pairs[1::2]) if w >= 0])


def take_events(info: NativeFun, memory: Words, unit: float = 1e-9) -> Iterator[Event]:
    """The guards reached and the branches that they decided, in order; times are multiples of `unit`."""
    count = memory[Word.TRACED]
    pairs = (ctypes.c_int64 * (2 * count)).from_address(memory[Word.TRACE]) if count else ()
    for k in range(0, 2 * count, 2):
        word, value = pairs[k], pairs[k + 1]
        if word == CALLED:
            return
        if word >= 0:
            yield Note(info.settings[word >> 1].name, value, bool(word & 1))
        elif (-1 - word) % 2 == BEGIN:
            yield Begin(info.branches[(-1 - word) // 2], value * unit)
        else:
            yield End(value * unit)


def called(error: BaseException, info: NativeFun, memory: Words) -> BaseException:
    """The error of a failure, with the calls that led to it: the last notes of the trace, the innermost first."""
    count = memory[Word.TRACED]
    if not isinstance(error, RunError) or not count:
        return error
    notes = (ctypes.c_int64 * (2 * count)).from_address(memory[Word.TRACE])
    first = count
    while first and notes[2 * first - 2] == CALLED:
        first -= 1
    numbers = notes[2 * first + 1 : 2 * (first + MAX_CALLS) : 2]
    calls = tuple([call for number in numbers for call in info.calls[number].as_call])
    return RunError(*[diag.called(calls) for diag in error.diagnostics])
