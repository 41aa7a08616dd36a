"""What can be reached, the nearest first."""

from soac.ir.reachable import reachable


def test_the_nearest_come_first_and_each_once() -> None:
    steps = {1: [2, 3, 2], 2: [4, 1], 3: [4], 4: []}
    assert list(reachable([1, 1], steps.__getitem__)) == [1, 2, 3, 4]
    assert list(reachable([4, 3], steps.__getitem__)) == [4, 3]
    assert not reachable([], steps.__getitem__)
