"""Estimators of how many users have a value, and what they are worth."""

import numpy as np
import pytest
from refusals import refuses
from scipy.optimize import minimize_scalar

from dpaudit.papers.local import Population
from dpaudit.papers.local.matrices import generalised_response
from dpaudit.papers.local.users import strength
from reproductions.local.frequency import (
    error,
    hidden_mle,
    hidden_unbiased,
    public_mle,
    public_unbiased,
)
from reproductions.local.utility import as_promised, as_strong, errors

ROUNDS = 10_000
SIZES = np.array([40, 60])
FEW = np.array([[22, 31], [40, 60], [0, 0], [9, 30], [33, 20]])


def paper(x):
    return Population.of_binary([0.8, 0.6], [x, 1 - x])


POPULATION = paper(0.4)


def test_the_hidden_estimate_is_the_known_formula():
    p = 0.4 * 0.8 + 0.6 * 0.6
    share = FEW.sum(axis=1) / 100
    expected = (p - 1 + share) / (2 * p - 1)
    np.testing.assert_allclose(hidden_unbiased(POPULATION, FEW, SIZES), expected)
    np.testing.assert_allclose(hidden_mle(POPULATION, FEW, SIZES), np.clip(expected, 0, 1))


def test_the_public_estimate_is_that_of_least_printed_variance():
    truths, sizes = [0.8, 0.6, 0.4 * 0.8 + 0.6 * 0.6], [40, 60, 100]
    varied = FEW[[0, 3, 4]]  # where all reports are alike, so are all variances: 0
    for zeros, found in zip(varied, public_unbiased(POPULATION, varied, SIZES), strict=True):
        estimates = [
            (p - 1 + k / n) / (2 * p - 1)
            for p, k, n in zip(truths, [*zeros, sum(zeros)], sizes, strict=True)
        ]
        variances = [  # (19), with n the size of the group
            (e * (1 - e) + 1 / (16 * (p - 0.5) ** 2) - 0.25) / (n - 1)
            for e, p, n in zip(estimates, truths, sizes, strict=True)
        ]
        assert found == pytest.approx(estimates[int(np.argmin(variances))])


@pytest.mark.parametrize(
    "population",
    [POPULATION, Population([np.array([[0.7, 0.1], [0.3, 0.9]]), np.eye(2) * 0.5 + 0.25], [2, 3])],
    ids=["symmetric", "any"],
)
def test_the_likeliest_share_is_the_top_of_the_likelihood(population):
    for zeros, found in zip(FEW, public_mle(population, FEW, SIZES), strict=True):

        def minus_likelihood(pi, zeros=zeros):
            q = pi * population.matrices[:, 0, 0] + (1 - pi) * population.matrices[:, 0, 1]
            return -np.sum(zeros * np.log(q) + (SIZES - zeros) * np.log(1 - q))

        top = minimize_scalar(minus_likelihood, bounds=(0, 1), options={"xatol": 1e-9})
        assert minus_likelihood(found) <= top.fun + 1e-9
        assert found == pytest.approx(top.x, abs=1e-4)


def test_the_error_is_a_mean_over_all_categories_also_of_two():
    """As printed it divides by their number less two."""
    assert error(np.array([0.7, 0.3]), np.array([0.5, 0.5])) == pytest.approx(0.04)
    assert error(np.array([1, 0, 0]), np.array([0, 1, 0])) == pytest.approx(2 / 3)


def test_reports_that_say_nothing_are_refused():
    coin = Population.of_binary([0.9, 0.1], [1, 1])
    with refuses("no-information", "reports"):
        hidden_unbiased(coin, FEW, SIZES)
    nothing = Population.of_binary([0.5, 0.5], [1, 1])
    with refuses("no-information", "groups"):
        public_unbiased(nothing, FEW, SIZES)
    with refuses("no-information", "parameters"):
        public_mle(nothing, FEW, SIZES)
    with refuses("shape-mismatch", "matrices", (3, 3)):
        public_mle(Population([generalised_response(3, 1)], [1]), FEW, SIZES)


@pytest.mark.parametrize(
    ("share", "truth"),
    [
        (0.5, 0.8),  # ln(.6/(1 - p)) = ln 3, the paper's example
        (0.1, 0.75),  # nobody to hide behind: local differential privacy alone
        (0.4, 0.75),
        (0.6, 0.8),  # ln(.6 p/(.4 .4)) = ln 3
    ],
)
def test_at_the_same_promise_users_answer_as_truly_as_hiding_allows(share, truth):
    population = as_promised(np.log(3), share)
    assert population.matrices[0, 0, 0] == pytest.approx(truth, abs=1e-4)
    assert strength(population, 0) == pytest.approx(np.log(3), abs=1e-3)
    assert population.shares == pytest.approx([share, 1 - share])


def near(known):
    """Two means of 10,000 squared errors are each known to 1.5 %, or 2 % if skewed.

    Their difference is beyond 11 % with a probability below 1e-4, and the known ones are rounded.
    """
    return pytest.approx(known, rel=0.11, abs=6e-5)


@pytest.mark.parametrize(
    ("x", "hidden", "unbiased", "mle"),
    [
        (0.44, 0.0151, 0.0142, 0.0119),
        (0.46, 0.0143, 0.0152, 0.0126),
        (0.50, 0.0131, 0.0222, 0.0148),
        (0.54, 0.0118, 0.0244, 0.0183),
        (0.56, 0.0114, 0.0239, 0.0178),
        (0.60, 0.0104, 0.0148, 0.0127),
        (0.64, 0.0093, 0.0101, 0.0092),
        (0.66, 0.0091, 0.0085, 0.0079),
    ],
)
def test_errors_over_shares_at_equal_strength_are_the_known_ones(x, hidden, unbiased, mle):
    found = errors(paper(x), as_strong(paper(x)), 100, 0.5, ROUNDS, seed=1)
    assert found["hidden unbiased"] == near(hidden)
    assert found["hidden mle"] == near(hidden)
    assert found["public unbiased"] == near(unbiased)
    assert found["public mle"] == near(mle)


@pytest.mark.parametrize(
    ("users", "pi", "known"),
    [
        (100, 0.5, (1.32, 1.32, 2.15, 1.465)),
        (1000, 0.5, (1.32, 1.32, 1.75, 1.465)),
        (10_000, 0.5, (1.32, 1.32, 1.75, 1.465)),
        (1000, 0.0, (1.25, 0.63, 1.45, 0.68)),
        (1000, 1.0, (1.25, 0.63, 1.45, 0.68)),
    ],
)
def test_errors_over_values_at_equal_strength_are_the_known_ones(users, pi, known):
    public = as_strong(paper(0.5))
    assert public.matrices[:, 0, 0] == pytest.approx([0.75, 0.6])
    found = errors(paper(0.5), public, users, pi, ROUNDS, seed=2)
    names = ("hidden unbiased", "hidden mle", "public unbiased", "public mle")
    for name, value in zip(names, known, strict=True):
        assert users * found[name] == near(value), name
    assert found["hidden mle"] < found["public mle"]
    assert found["hidden unbiased"] < found["public unbiased"]


def test_hiding_pays_in_the_middle_and_not_at_the_edges():
    """The gaps are at least 8 % of errors that are known to 2 %."""
    at = {x: errors(paper(x), as_strong(paper(x)), 100, 0.5, ROUNDS, 3) for x in (0.44, 0.54, 0.66)}
    assert at[0.44]["hidden mle"] > at[0.44]["public mle"]
    assert at[0.54]["hidden mle"] < at[0.54]["public mle"]
    assert at[0.66]["hidden mle"] > at[0.66]["public mle"]
