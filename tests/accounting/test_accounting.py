import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from dpaudit import accounting
from dpaudit.accounting import (
    NUMERICAL,
    curve,
    epsilon,
    epsilons,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    noise_multiplier,
)
from dpaudit.types import DPSGDCurve, GaussianCurve

DELTA = 1e-5


# ---------------------------------------------------------------- numerical accountants


@pytest.mark.parametrize(
    ("s", "steps", "expected"),
    [
        (0.5, 11_718, 25.6491),
        (0.5, 11_700, 25.6295),
        (0.5, 11_760, 25.6950),
        (math.sqrt(0.5), 11_718, 7.8203),
    ],
)
def test_rdp_gives_the_papers_epsilon(s, steps, expected):
    papers = curve(s, 256 / 50_000, steps)
    assert epsilon(papers, DELTA, "rdp") == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("accountant", "within"), [("pld", 1e-4), ("prv", 0.02)])
def test_tight_accountants_know_the_answer_for_adding_or_removing_a_record(accountant, within):
    """Under replacement it would be about twice as large."""
    found = epsilon(curve(1.0, 0.1, 100), DELTA, accountant)
    assert found == pytest.approx(7.0466, abs=within)


@pytest.mark.parametrize(("s", "q", "steps"), [(1.0, 0.1, 100), (2.0, 0.5, 20), (0.7, 0.01, 200)])
def test_pld_is_never_above_rdp(s, q, steps):
    c = curve(s, q, steps)
    assert epsilon(c, DELTA, "pld") <= epsilon(c, DELTA, "rdp")


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_more_noise_or_fewer_steps_or_smaller_batches_cost_less(accountant):
    spent = [
        epsilon(curve(s, q, steps), DELTA, accountant)
        for s, q, steps in [(3, 0.2, 20), (4, 0.2, 20), (4, 0.2, 10), (4, 0.1, 10)]
    ]
    assert spent == sorted(spent, reverse=True)
    assert len(set(spent)) == len(spent)


def test_next_to_no_noise_is_refused_before_the_grid_takes_gigabytes():
    with refuses("too-little-noise", option="noise_multiplier", value=0.001):
        epsilon(curve(0.001, 0.256, 234), DELTA)


@pytest.mark.parametrize(("rate", "steps"), [(0.256, 10**6), (1e-5, 10**8), (0.16, 10**26)])
def test_more_steps_than_a_grid_can_hold_are_refused_before_it_is_made(rate, steps):
    with refuses("too-costly", option="steps", value=steps):
        epsilon(curve(2.0, rate, steps), DELTA)


def test_an_infinite_epsilon_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setitem(accounting._ACCOUNTANTS, "pld", lambda c, delta: math.inf)
    with refuses("no-finite-epsilon", option="noise_multiplier", value=0.2) as caught:
        epsilon(curve(0.2, 0.5, 10), DELTA)
    assert "pld" in str(caught.value)
    assert "10 steps" in str(caught.value)


def test_an_accountant_that_fails_is_left_out_of_those_beside(monkeypatch):
    def breaks(c, delta):
        raise FloatingPointError("out of range")

    monkeypatch.setitem(accounting._ACCOUNTANTS, "rdp", breaks)
    monkeypatch.setitem(accounting._ACCOUNTANTS, "prv", lambda c, delta: math.nan)
    monkeypatch.setitem(accounting._ACCOUNTANTS, "pld", lambda c, delta: 2.0)
    assert epsilons(curve(1.0, 0.5, 10), DELTA, NUMERICAL) == {"pld": 2.0}


# ---------------------------------------------------------------- full batches


def exact_delta(mu, e):
    """Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu), to 60 digits."""
    with mpmath.workdps(60):
        mu, e = mpmath.mpf(mu), mpmath.mpf(e)
        phi = mpmath.ncdf
        return float(phi(mu / 2 - e / mu) - mpmath.exp(e) * phi(-mu / 2 - e / mu))


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 3.021022, 15.5, 200.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
def test_the_gaussian_epsilon_solves_the_high_precision_formula(mu, delta):
    found = gaussian_epsilon(mu, delta)
    if found == 0:
        assert exact_delta(mu, 0) <= delta
    else:
        assert exact_delta(mu, found) == pytest.approx(delta, rel=1e-5)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-5), (1.0, 1e-5), (30.0, 1e-9)])
def test_the_gaussian_mu_spends_what_it_may_and_hardly_less(epsilon, delta):
    assert gaussian_epsilon(gaussian_mu(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-7)
    assert gaussian_epsilon(gaussian_mu(epsilon, delta), delta) <= epsilon


def test_the_gaussian_epsilon_is_the_known_answer():
    assert gaussian_epsilon(3.021022, DELTA) == pytest.approx(16.82697, abs=1e-4)


@given(mu=st.floats(0.05, 50), delta=st.floats(1e-10, 0.01))
def test_gaussian_delta_undoes_gaussian_epsilon(mu, delta):
    e = gaussian_epsilon(mu, delta)
    if e > 0:
        assert gaussian_delta(mu, e) == pytest.approx(delta, rel=1e-4)
    else:
        assert gaussian_delta(mu, 0.0) <= delta


@pytest.mark.parametrize("accountant", NUMERICAL)
def test_full_batches_are_accounted_exactly_whoever_is_asked(accountant):
    full = curve(4.0, 1.0, 64)
    assert full == GaussianCurve(mu=2.0)
    assert epsilon(full, DELTA, accountant) == gaussian_epsilon(2.0, DELTA)


def test_full_batches_are_the_limit_of_large_ones():
    nearly = epsilon(DPSGDCurve(sample_rate=0.9999, steps=4, noise_multiplier=2.0), DELTA)
    assert nearly == pytest.approx(gaussian_epsilon(1.0, DELTA), rel=1e-3)


# ---------------------------------------------------------------- noise from epsilon


@pytest.mark.parametrize(
    ("accountant", "target", "q", "steps"),
    [
        ("pld", 8.0, 0.256, 234),
        ("pld", 1.0, 256 / 50_000, 11_718),
        ("pld", 0.1, 256 / 50_000, 11_718),
        ("pld", 20.0, 0.256, 234),
        ("rdp", 2.0, 0.01, 1000),
        ("rdp", 0.5, 0.01, 100),
        ("prv", 2.0, 0.1, 2),
        ("pld", 8.0, 1.0, 60),
        ("rdp", 0.01, 1.0, 60),
        ("prv", 500.0, 1.0, 60),
    ],
)
def test_the_least_noise_reaches_its_target_and_wastes_nothing(accountant, target, q, steps):
    s = noise_multiplier(target, q, steps, DELTA, accountant)
    assert 0.99 * target <= epsilon(curve(s, q, steps), DELTA, accountant) <= target
    assert s == pytest.approx(float(f"{s:.4g}"), rel=1e-12)


def test_an_epsilon_that_needs_no_noise_is_refused():
    with refuses("too-little-noise", option="epsilon", value=1e6):
        noise_multiplier(1e6, 1.0, 10, DELTA)


def test_an_epsilon_that_no_noise_reaches_is_refused(monkeypatch):
    """Of the orders that Opacus looks at none can tell so small an epsilon from 0."""
    monkeypatch.setitem(accounting._ACCOUNTANTS, "rdp", lambda c, delta: 0.1)
    with refuses("unreachable-epsilon", option="epsilon", value=1e-3) as caught:
        noise_multiplier(1e-3, 0.5, 1, DELTA, "rdp")
    assert "1,000,000" in str(caught.value)
