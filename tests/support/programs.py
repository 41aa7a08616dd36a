"""Programs with test blocks as tests look at them: each opened once in a process, large data left on paper."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import prod
from pathlib import Path

from soac.frontend.source.text import Reach
from soac.session import Session, open_program
from soac.settings import Settings
from soac.testing.blocks import RandomInput, RandomType, parse_tests
from soac.testing.datasets import DataSet, data_sets

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "programs").glob("*.soac"))
DEFAULTS = Settings("cpu", None, None, use_tuning=False, params=(), forces=(), reach=Reach.PROJECT)


@cache
def opened(path: Path) -> Session:
    """The program with the defaults, on the CPU."""
    return open_program(path, DEFAULTS)


def sets_of(path: Path) -> Iterator[DataSet]:
    """All cases of the test block of a program that is `opened`."""
    session = opened(path)
    return data_sets(parse_tests(session.text, str(path)))


def drawn(given: RandomInput) -> int:
    """How many random values an input has: known before any is drawn."""
    return sum(prod(item.shape) for item in given.items if isinstance(item, RandomType))


def is_large(one: DataSet, most: int) -> bool:
    """Has it more random values than that? An input that is written out, or that a script makes, is looked at later."""
    return isinstance(one.case.input, RandomInput) and drawn(one.case.input) > most
