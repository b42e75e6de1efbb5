"""Warnings about the models of a run."""

import pytest

from dpaudit.judging.warnings import low_accuracy


@pytest.mark.parametrize(
    ("utility", "warned"),
    [
        ({"accuracy": 0.75, "accuracy_without_noise": 0.97}, True),
        ({"accuracy": 0.88, "accuracy_without_noise": 0.97}, False),
        ({"accuracy": 0.75}, False),
        ({"accuracy_without_noise": 0.97}, False),
    ],
)
def test_an_accuracy_far_below_that_without_noise_is_warned_of(utility, warned):
    found = low_accuracy(utility)
    assert len(found) == warned
    assert all("75 %" in text and "97 %" in text for text in found)
