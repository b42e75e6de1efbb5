import math
from itertools import product

import numpy as np
import pytest
from refusals import refuses

from dpaudit.papers.local import Population
from dpaudit.papers.local.matrices import (
    binary,
    generalised_response,
    local_dp,
    optimised_unary,
    unary,
)

MADE = [generalised_response, unary, optimised_unary]


def naive(p):
    """Local differential privacy by its definition, one ratio after the other."""
    reports, values = p.shape
    return max(
        abs(math.log(p[o, d] / p[o, e]))
        for o, d, e in product(range(reports), range(values), range(values))
    )


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("values", [2, 3, 6])
@pytest.mark.parametrize("epsilon", [0.1, 1, 2, 4])
def test_a_matrix_of_an_epsilon_has_that_epsilon(make, values, epsilon):
    p = make(values, epsilon)
    np.testing.assert_allclose(p.sum(axis=0), 1)
    assert local_dp(p) == pytest.approx(epsilon)
    assert naive(p) == pytest.approx(epsilon)


def test_binary_answers_have_the_known_strengths():
    assert local_dp(binary(0.6)) == pytest.approx(math.log(1.5))
    assert local_dp(binary(0.8)) == pytest.approx(math.log(4))
    assert local_dp(binary(0.2)) == pytest.approx(math.log(4))
    assert local_dp(binary(0.5)) == 0


def test_an_honest_answer_hides_nothing_and_a_coin_everything():
    """The paper's first example has the two the other way round."""
    assert local_dp(binary(1.0)) == math.inf
    assert local_dp(binary(0.5)) == 0


def test_a_report_that_nobody_gives_says_nothing():
    p = np.array([[0.6, 0.4], [0.4, 0.6], [0, 0]])
    assert local_dp(p) == pytest.approx(math.log(1.5))


def test_bits_are_flipped_one_by_one():
    p = unary(3, 2.0)
    flipped = 1 / (1 + math.e)
    # Value 1 is written 010 and reported as 110: one bit of three flipped, the last.
    assert p[0b110, 1] == pytest.approx((1 - flipped) ** 2 * flipped)


@pytest.mark.parametrize(
    ("make", "refusal"),
    [
        (lambda: binary(1.2), ("out-of-range", None, 1.2)),
        (lambda: generalised_response(1, 1.0), ("too-small", "values", 1)),
        (lambda: generalised_response(3, 0.0), ("out-of-range", None, 0.0)),
        (lambda: unary(13, 1.0), ("too-large", "values", 13)),
        (lambda: Population([np.ones((2, 2))], [1]), ("not-normalised", "matrix", 2.0)),
        (
            lambda: Population([np.array([[1.5, 0], [-0.5, 1]])], [1]),
            ("not-probabilities", "matrix"),
        ),
        (lambda: Population([np.full((2, 2), np.nan)], [1]), ("not-probabilities", "matrix")),
        (lambda: Population([np.ones((1, 1))], [1]), ("shape-mismatch", "matrix", (1, 1))),
        (lambda: Population([binary(0.6)], [1, 2]), ("shape-mismatch", "shares", 2)),
        (lambda: Population([binary(0.6)], [0]), ("not-positive", "shares")),
        (
            lambda: Population([binary(0.6), generalised_response(3, 1)], [1, 1]),
            ("shape-mismatch", "matrices"),
        ),
        (lambda: Population([], []), ("shape-mismatch", "matrices")),
        (
            lambda: Population([unary(10, 1)], [1]).log_probabilities(2),
            ("too-costly", "reports", 2),
        ),
    ],
)
def test_what_is_no_population_is_refused_in_one_sentence(make, refusal):
    with refuses(*refusal):
        make()
