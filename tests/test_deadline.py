"""A deadline counts from its making, in shares."""

import pytest

from calipers.deadline import Deadline
from calipers.errors import ArgumentError


def test_a_share_of_the_time_passes_before_all_of_it():
    time = [100.0]
    deadline = Deadline(2.0, lambda: time[0])
    assert not deadline.passed()
    time[0] += 1.5
    assert (deadline.passed(0.75), deadline.passed(), deadline.left) == (True, False, 0.5)
    time[0] += 0.5
    assert (deadline.passed(), deadline.left) == (True, 0.0)


@pytest.mark.parametrize("within", [0, -1, float("inf"), float("nan")])
def test_no_time_and_endless_time_are_no_deadline(within):
    with pytest.raises(ArgumentError, match="within="):
        Deadline(within)
