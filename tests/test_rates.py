import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from dpaudit.rates import (
    BoundCriterion,
    PointCriterion,
    epsilon_interval,
    log_ratio,
    lower_rate,
    round_scores,
    upper_rate,
)

DELTA = 1e-5


# ---------------------------------------------------------------- upper_rate


@pytest.mark.parametrize("n", [1, 2, 7, 50, 500])
@pytest.mark.parametrize("a", [0.025, 0.05, 0.3])
def test_upper_rate_is_where_so_few_errors_become_unlikely(n, a):
    """By definition P[Binomial(n, U) <= k] = a: a larger rate would be refuted by k errors."""
    k = np.arange(n)
    np.testing.assert_allclose(binom.cdf(k, n, upper_rate(k, n, a)), a, rtol=1e-8)


@pytest.mark.parametrize("n", [1, 10, 10_000])
def test_all_errors_leave_every_rate_possible(n):
    assert upper_rate(n, n, 0.025) == 1.0


def test_no_errors_have_a_closed_form():
    assert upper_rate(0, 100, 0.025) == pytest.approx(1 - 0.025 ** (1 / 100), rel=1e-12)


def test_upper_rate_rises_with_the_errors_and_covers_the_observed_rate():
    k = np.arange(201)
    u = upper_rate(k, 200, 0.025)
    assert (np.diff(u) > 0).all()
    assert (u >= k / 200).all()


def test_upper_rate_covers_the_true_rate():
    """Exact coverage by enumeration: P[U(k) < p] <= a for every p."""
    n, a = 30, 0.05
    k = np.arange(n + 1)
    u = upper_rate(k, n, a)
    for p in np.linspace(0.001, 0.999, 97):
        assert binom.pmf(k[u < p], n, p).sum() <= a + 1e-12


# ---------------------------------------------------------------- log_ratio


def test_log_ratio_is_the_larger_direction():
    one, other = np.log((1 - DELTA - 0.1) / 0.3), np.log((1 - DELTA - 0.3) / 0.1)
    assert log_ratio(0.1, 0.3, DELTA) == pytest.approx(max(one, other), rel=1e-15)
    assert log_ratio(0.3, 0.1, DELTA) == log_ratio(0.1, 0.3, DELTA)


@pytest.mark.parametrize(
    ("fpr", "fnr", "value"),
    [
        (0.0, 0.2, np.log((1 - DELTA) / 0.2)),  # a zero denominator skips its direction
        (0.2, 0.0, np.log((1 - DELTA) / 0.2)),
        (0.0, 0.0, -np.inf),  # both skipped
        (1.0, 0.0, np.log(1 - DELTA)),  # a numerator below 0 is no evidence
        (0.0, 1.0, np.log(1 - DELTA)),
        (1.0, 1.0, -np.inf),
        (1.0 - DELTA, 0.5, np.log((0.5 - DELTA) / (1 - DELTA))),  # a numerator of exactly 0
    ],
)
def test_direction_without_evidence_is_skipped(fpr, fnr, value):
    assert log_ratio(fpr, fnr, DELTA) == pytest.approx(value, rel=1e-12)


def test_log_ratio_is_never_nan_nor_plus_infinity():
    rates = np.linspace(0, 1, 51)
    for delta in (0.0, DELTA, 0.5, 1.0):
        values = log_ratio(rates[:, None], rates[None, :], delta)
        assert values.shape == (51, 51)
        assert not np.isnan(values).any()
        assert not np.isposinf(values).any()


def test_log_ratio_broadcasts_numbers_and_arrays():
    assert log_ratio(0.1, np.array([0.2, 0.3]), DELTA).shape == (2,)
    assert float(log_ratio(0, 1, DELTA)) < 0


# ---------------------------------------------------------------- criteria


def test_known_answers():
    """fp 5 and fn 60 of 500: three packages agree on the point, two on Clopper-Pearson."""
    assert PointCriterion(DELTA)(5, 500, 60, 500) == pytest.approx(4.477325, abs=1e-6)
    assert BoundCriterion(DELTA)(5, 500, 60, 500) == pytest.approx(3.599811, abs=1e-5)


@pytest.mark.parametrize(
    ("n", "ceiling"),
    [(50, 2.570), (100, 3.281), (250, 4.209), (500, 4.906), (1000, 5.601), (10_000, 7.905)],
)
def test_ceilings_without_a_single_error(n, ceiling):
    assert BoundCriterion(DELTA)(0, n, 0, n) == pytest.approx(ceiling, abs=5e-4)


@pytest.mark.parametrize("criterion", [PointCriterion(DELTA), BoundCriterion(DELTA)])
def test_criteria_are_vectorised(criterion):
    fp, fn = np.meshgrid(np.arange(8), np.arange(6), indexing="ij")
    values = criterion(fp, 7, fn, 5)
    assert values.shape == fp.shape
    assert not np.isnan(values).any()
    assert values[2, 3] == criterion(np.array(2), 7, np.array(3), 5)


def test_more_errors_never_raise_what_is_certified():
    n = 40
    fp, fn = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    values = np.maximum(BoundCriterion(DELTA)(fp, n, fn, n), 0)
    assert (np.diff(values, axis=0) <= 0).all()
    assert (np.diff(values, axis=1) <= 0).all()


def test_more_confidence_never_raises_what_is_certified():
    levels = [BoundCriterion(DELTA, c)(3, 100, 20, 100) for c in (0.5, 0.9, 0.95, 0.99)]
    assert levels == sorted(levels, reverse=True)


@pytest.mark.parametrize("criterion", [PointCriterion(DELTA), BoundCriterion(DELTA)])
@pytest.mark.parametrize(("fp", "fn"), [(20, 0), (0, 20), (20, 20), (10, 10)])
def test_useless_rules_show_no_leak(criterion, fp, fn):
    assert criterion(fp, 20, fn, 20) <= 0


# ---------------------------------------------------------------- rounded


def test_rounding_keeps_what_is_no_ordinary_number():
    kept = round_scores(np.array([np.inf, -np.inf, 0.0, np.nan]))
    np.testing.assert_array_equal(kept, [np.inf, -np.inf, 0.0, np.nan])


normal = st.floats(-1e300, 1e300).filter(lambda x: abs(x) > 1e-290)


@given(normal)
def test_rounding_moves_by_half_a_unit_of_the_ninth_digit_at_most(x):
    assert abs(round_scores(x) - x) <= 5.000001e-9 * abs(x)


@given(st.floats(allow_nan=False))
def test_rounding_twice_is_rounding_once(x):
    once = round_scores(x)
    assert not np.isnan(once)
    assert round_scores(once) == once


@given(normal)
def test_rounding_is_odd(x):
    assert round_scores(-x) == -round_scores(x)


@given(normal, normal)
def test_rounding_keeps_the_order(x, y):
    low, high = sorted([x, y])
    assert round_scores(low) <= round_scores(high)


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, -2e-308])
def test_denormal_numbers_round_to_something_at_least_as_small(tiny):
    assert abs(round_scores(tiny)) <= 1e-300


@pytest.mark.parametrize("x", [0.1, 1 / 3, -2.718281828459045, 1e-20, 123456.789, 9.999999999])
def test_rounding_merges_what_differs_in_low_bits(x):
    near = [x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf), x * (1 + 1e-14)]
    assert len(set(round_scores(np.array(near)))) == 1


def test_rounding_separates_what_differs_in_the_ninth_digit():
    assert round_scores(0.123456789) != round_scores(0.123456788)


def test_rounding_can_be_coarser():
    assert round_scores(np.array([0.123456, 12345.6]), digits=3).tolist() == [0.123, 12300.0]


# ---------------------------------------------------------------- two-sided


@pytest.mark.parametrize("n", [1, 2, 7, 50, 500])
@pytest.mark.parametrize("a", [0.0125, 0.3])
def test_lower_rate_is_the_upper_rate_of_the_right_decisions(n, a):
    k = np.arange(n + 1)
    np.testing.assert_allclose(lower_rate(k, n, a), 1 - upper_rate(n - k, n, a), atol=1e-12)
    assert lower_rate(0, n, a) == 0.0


@pytest.mark.parametrize(
    ("lower", "upper", "delta", "interval"),
    [
        ((0.1, 0.1), (0.2, 0.3), 0.0, (np.log(0.7 / 0.2), np.log(9))),
        ((0.0, 0.1), (0.2, 0.3), 0.0, (np.log(0.7 / 0.2), np.inf)),
        ((0.0, 0.6), (0.5, 1.0), 0.5, (0.0, 0.0)),
        ((0.6, 0.6), (0.7, 0.7), 0.0, (0.0, 0.0)),
        ((0.1, 1.0), (0.1, 1.0), 0.0, (0.0, 0.0)),
    ],
)
def test_interval_is_what_rates_within_limits_can_show(lower, upper, delta, interval):
    assert epsilon_interval(lower, upper, delta) == pytest.approx(interval)
