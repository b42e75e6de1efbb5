from functools import partial

import numpy as np
import pytest

from dpaudit.attacks import InvStd, Max, Mean, Min, ThresholdAttack, inv_std, max_, mean, min_
from dpaudit.attacks.rules import ThresholdRule
from dpaudit.attacks.search import search
from dpaudit.attacks.statistics import OR
from dpaudit.outputs import with_statistics
from dpaudit.rates import BoundCriterion, PointCriterion

KNOWN = {"label": np.array(1)}
CRITERIA = [PointCriterion(1e-5), BoundCriterion(1e-5)]


def seen_with(p, dtype=np.float32):
    """Observations of two classes whose true class has the probabilities p (trials, T)."""
    p = np.asarray(p)
    return with_statistics({"mc": np.stack([1 - p, p], axis=-1).astype(dtype)})


def test_statistics_are_those_of_the_true_class():
    p = np.array([[0.25, 0.5, 0.75], [0.125, 0.125, 0.5]])
    seen = seen_with(p)
    assert mean.compute(seen, KNOWN) == pytest.approx([0.5, 0.25], rel=1e-9)
    assert min_.compute(seen, KNOWN).tolist() == [0.25, 0.125]
    assert max_.compute(seen, KNOWN).tolist() == [0.75, 0.5]


def test_deviation_is_the_population_one():
    p = np.array([[0.25, 0.5, 0.75]])
    variance = (p**2).mean() - p.mean() ** 2
    assert inv_std.compute(seen_with(p), KNOWN) == pytest.approx([1 / np.sqrt(variance)], rel=1e-8)


def test_statistics_are_computed_in_double_precision():
    p = np.random.default_rng(0).uniform(size=(20, 1000)).astype(np.float32)
    exact = p.astype(float)
    assert mean.compute(seen_with(p), KNOWN) == pytest.approx(exact.mean(axis=1), rel=5e-9)
    assert inv_std.compute(seen_with(p), KNOWN) == pytest.approx(1 / exact.std(axis=1), rel=5e-9)


@pytest.mark.parametrize("samples", [1, 2, 3, 7, 10, 1000])
@pytest.mark.parametrize("p", [0.0, 0.1, 0.3, 0.37, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_samples_have_infinite_inverse_deviation(p, samples, dtype):
    """Also where the mean of equal doubles is not that number: a defence may release 0.1."""
    seen = seen_with(np.full((2, samples), p), dtype)
    assert inv_std.compute(seen, KNOWN).tolist() == [np.inf] * 2


@pytest.fixture
def one_pass(trials):
    """What an attack looks at where T = 1: the deviation says nothing, the probability a lot."""
    return partial(trials, per_world=50, seed=3, shift=1.5, samples=1)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_inverse_deviation_of_one_pass_proves_nothing(one_pass, criterion):
    seen = one_pass(InvStd())
    found = search(seen.features, seen.worlds, InvStd().kinds, criterion)
    assert max(found.value, 0.0) == 0.0


@pytest.mark.parametrize("criterion", CRITERIA)
def test_type_1_ignores_the_deviation_of_one_pass(one_pass, criterion):
    attack = ThresholdAttack(mean & inv_std)
    seen = one_pass(attack)
    both = seen.fit(attack, criterion)
    single = one_pass(Mean()).fit(Mean(), criterion)
    assert both.thresholds == (single.thresholds[0], -np.inf)
    np.testing.assert_array_equal(
        both.decide(seen.features), single.decide(one_pass(Mean()).features)
    )


def test_type_2_with_any_finite_threshold_says_in_always_at_one_pass(one_pass):
    x = one_pass(ThresholdAttack(mean | inv_std)).features
    for threshold in (-1.0, 0.0, 1e300):
        rule = ThresholdRule(OR, ("mean", "inv_std"), (0.9, threshold), (1.0, 1.0))
        assert rule.decide(x).all()
        assert (rule.score(x) == np.inf).all()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_type_2_switches_the_deviation_of_one_pass_off(one_pass, criterion):
    attack = ThresholdAttack(mean | inv_std)
    assert one_pass(attack).fit(attack, criterion).thresholds[1] == np.inf


@pytest.mark.parametrize(
    ("attack", "statistic"), [(Mean, mean), (InvStd, inv_std), (Min, min_), (Max, max_)]
)
def test_single_attack_compares_its_own_statistic(play, attack, statistic):
    seen, worlds, known = play(20, seed=4, shift=1.0)
    x = attack().features(seen, known)
    np.testing.assert_array_equal(x, statistic.compute(seen, known)[:, None])
    assert attack().needs == statistic.needs
    assert repr(attack()) == statistic.name
    rule = attack().fit(x, worlds, PointCriterion(1e-5))
    assert repr(rule).startswith(f"{statistic.name} > ")
