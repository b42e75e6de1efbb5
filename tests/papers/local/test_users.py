"""Parameter Blending Privacy against its definition, and where it fails."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.papers.local import Population
from dpaudit.papers.local.matrices import binary, generalised_response, local_dp
from dpaudit.papers.local.users import blended_leak, composed_strength, strength

LN = math.log
W, S = 0, 1
BEST = math.sqrt(1.5) / (1 + math.sqrt(1.5))


def paper(x):
    """The paper's users: w answer truly with .8, s with .6; x is the share of w."""
    return Population.of_binary([0.8, 0.6], [x, 1 - x])


def naive(population, theta, reports=1, support_only=False):
    """E'(theta) by its definition, one loss after the other, over reports in their order."""
    p, shares = population.matrices, population.shares
    values, kinds = range(p.shape[2]), range(p.shape[1])

    def joint(d, parameter, seen):
        return shares[parameter] * math.prod(p[parameter, o, d] for o in seen)

    def loss(a, b):
        if a == b == 0:
            return 0.0
        return math.inf if a == 0 or b == 0 else abs(LN(a / b))

    return max(
        min(loss(joint(d, theta, seen), joint(e, other, seen)) for other in range(len(shares)))
        for d, e, seen in product(values, values, product(kinds, repeat=reports))
        if not (support_only and joint(d, theta, seen) == 0)
    )


def test_the_example_of_the_paper_has_the_known_strengths():
    assert strength(paper(0.5), W) == pytest.approx(LN(3))
    assert strength(paper(0.5), S) == pytest.approx(LN(1.5))


@pytest.mark.parametrize(
    ("x", "expected"),
    [(0.44, 1.3398), (0.46, 1.2590), (0.48, 1.1787), (0.50, 1.0986), (0.52, 1.0186)]
    + [(0.54, 0.9383), (0.56, 0.9343), (0.58, 1.0159), (0.60, 1.0986), (0.62, 1.1827)]
    + [(0.64, 1.2685), (0.66, 1.3564), (BEST, 0.8959)]
    + [(x, 1.3863) for x in (0.05, 0.2, 3 / 7, 2 / 3, 0.8, 0.99)],
)
def test_the_curve_over_shares_is_the_known_one(x, expected):
    assert strength(paper(x), W) == pytest.approx(expected, abs=5e-5)
    assert strength(paper(x), S) == pytest.approx(0.4055, abs=5e-5)


def test_the_least_strength_is_half_of_ln_6():
    assert strength(paper(BEST), W) == pytest.approx(LN(6) / 2)
    assert all(strength(paper(x), W) > LN(6) / 2 for x in np.linspace(0.01, 0.99, 99))
    assert blended_leak(paper(BEST))[0] == pytest.approx(LN(6) / 2)


@given(
    truths=st.lists(st.floats(0.05, 0.95), min_size=1, max_size=3),
    shares=st.lists(st.floats(0.1, 1), min_size=3, max_size=3),
    reports=st.integers(1, 3),
)
@settings(max_examples=40, deadline=None)
def test_enumeration_is_the_definition_and_never_above_local_dp(truths, shares, reports):
    population = Population.of_binary(truths, shares[: len(truths)])
    for theta, p in enumerate(population.matrices):
        exact = strength(population, theta, reports)
        assert exact == pytest.approx(naive(population, theta, reports), abs=1e-9)
        assert exact <= composed_strength([p] * reports) + 1e-9


def test_any_finite_domain_will_do():
    draw = np.random.default_rng(1)
    population = Population(draw.dirichlet(np.ones(4), size=(3, 3)).transpose(0, 2, 1), [1, 2, 3])
    for theta in range(3):
        assert strength(population, theta, 2) == pytest.approx(naive(population, theta, 2))


def test_one_parameter_for_all_is_local_dp():
    p = generalised_response(5, 1.5)
    assert strength(Population([p], [1]), 0) == pytest.approx(1.5)
    assert blended_leak(Population([p], [1]))[0] == pytest.approx(1.5)


def test_what_is_impossible_makes_the_strength_infinite_unless_left_out():
    honest = Population.of_binary([1.0, 0.5], [1, 1])
    assert strength(honest, 0) == naive(honest, 0) == math.inf
    assert strength(honest, 0, support_only=True) == pytest.approx(LN(2))
    assert naive(honest, 0, support_only=True) == pytest.approx(LN(2))
    assert strength(honest, 1) == 0


def test_strengths_do_not_add_up_and_local_dp_does():
    population = paper(BEST)
    one = strength(population, W)
    assert strength(population, W, 2) == pytest.approx(1.9945, abs=5e-5)
    assert strength(population, W, 2) > 2 * one + 0.2
    assert strength(population, W, 8) == pytest.approx(8.586, abs=5e-4)
    assert strength(population, W, 8) > 8 * one + 1.4
    most = composed_strength([binary(0.8)] * 8)
    assert strength(population, W, 8) <= most == pytest.approx(8 * LN(4))
    # At equal shares they happen to.
    assert strength(paper(0.5), W, 8) == pytest.approx(8 * LN(3))


def test_who_knows_the_parameter_is_not_bound():
    assert local_dp(binary(0.8)) > strength(paper(0.5), W) + 0.28
    assert blended_leak(paper(0.5).only(W))[0] == pytest.approx(LN(4))


def test_of_two_parameters_the_blend_leaks_less_than_is_promised():
    for x in np.linspace(0.01, 0.99, 99):
        assert blended_leak(paper(x))[0] <= strength(paper(x), W) + 1e-12
    assert blended_leak(paper(0.5))[0] == pytest.approx(LN(7 / 3))


def test_of_three_parameters_it_may_leak_though_nothing_is_promised():
    three = Population.of_binary([0.9, 0.9, 0.1], [1, 1, 1])
    assert [strength(three, theta) for theta in range(3)] == pytest.approx([0, 0, 0], abs=1e-12)
    assert blended_leak(three)[0] == pytest.approx(LN(19 / 11))
    merged = Population.of_binary([0.9, 0.1], [2, 1])
    assert strength(merged, 0) == pytest.approx(LN(2))
    assert blended_leak(merged)[0] == pytest.approx(LN(19 / 11))


def test_parameters_that_are_nearly_alike_are_promised_nearly_nothing():
    near = Population.of_binary([0.9, 0.89, 0.105], [1, 1, 1])
    strengths = [strength(near, theta) for theta in range(3)]
    assert min(strengths) == pytest.approx(0.047, abs=1e-3)
    assert max(strengths) == pytest.approx(0.049, abs=1e-3)
    assert blended_leak(near)[0] == pytest.approx(0.539, abs=1e-3)
