import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.estimators import Point
from dpaudit.results import Counts

DELTA = 1e-5


def test_known_answer():
    """Three other packages agree on it."""
    value = Point().epsilon(Counts(fp=5, out=500, fn=60, inn=500), DELTA)
    assert value == pytest.approx(4.477325, abs=5e-7)


@pytest.mark.parametrize(
    ("counts", "value"),
    [
        (Counts(fp=0, out=50, fn=10, inn=50), math.log((1 - DELTA) / 0.2)),
        (Counts(fp=10, out=50, fn=0, inn=50), math.log((1 - DELTA) / 0.2)),
        (Counts(fp=0, out=50, fn=0, inn=50), 0.0),
        (Counts(fp=50, out=50, fn=50, inn=50), 0.0),
        (Counts(fp=25, out=50, fn=25, inn=50), 0.0),
    ],
)
def test_a_direction_without_evidence_is_skipped(counts, value):
    assert Point().epsilon(counts, DELTA) == pytest.approx(value)


@given(st.integers(1, 200), st.integers(1, 200), st.data(), st.floats(0, 0.999))
def test_estimate_is_a_number_that_is_not_negative(out, inn, data, delta):
    fp, fn = data.draw(st.integers(0, out)), data.draw(st.integers(0, inn))
    assert 0 <= Point().epsilon(Counts(fp, out, fn, inn), delta) < math.inf


def test_point_is_no_bound():
    """Law 1: what may not be printed as a bound has no way to make one."""
    assert not hasattr(Point(), "bound")
