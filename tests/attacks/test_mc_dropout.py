import numpy as np
import pytest

from dpaudit.attacks import InvStd, Max, Mean, Min, ThresholdAttack, inv_std, max_, mean, min_
from dpaudit.attacks.rules import ThresholdRule
from dpaudit.attacks.statistics import OR
from dpaudit.rates import BoundCriterion, PointCriterion

KNOWN = {"label": np.array(1)}
CRITERIA = [PointCriterion(1e-5), BoundCriterion(1e-5)]


def seen_with(p, dtype=np.float32):
    """Observations of two classes whose true class has the probabilities p (trials, T)."""
    p = np.asarray(p)
    return {"mc": np.stack([1 - p, p], axis=-1).astype(dtype)}


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
def one_pass(play):
    """T = 1: the deviation says nothing, the probability a lot."""
    return play(50, seed=3, shift=1.5, samples=1)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_inverse_deviation_of_one_pass_proves_nothing(one_pass, criterion):
    seen, worlds, known = one_pass
    attack = InvStd()
    found = attack.choose(attack.values(seen, known), worlds, criterion)
    assert max(found.value, 0.0) == 0.0


@pytest.mark.parametrize("criterion", CRITERIA)
def test_type_1_ignores_the_deviation_of_one_pass(one_pass, criterion):
    seen, worlds, known = one_pass
    both = ThresholdAttack(mean & inv_std).fit(seen, worlds, known, criterion)
    single = Mean().fit(seen, worlds, known, criterion)
    assert both.thresholds == (single.thresholds[0], -np.inf)
    np.testing.assert_array_equal(both.decide(seen), single.decide(seen))


def test_type_2_with_any_finite_threshold_says_in_always_at_one_pass(one_pass):
    seen, _, known = one_pass
    for threshold in (-1.0, 0.0, 1e300):
        rule = ThresholdRule(OR, (mean, inv_std), (0.9, threshold), (1.0, 1.0), known)
        assert rule.decide(seen).all()
        assert (rule.score(seen) == np.inf).all()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_type_2_switches_the_deviation_of_one_pass_off(one_pass, criterion):
    seen, worlds, known = one_pass
    rule = ThresholdAttack(mean | inv_std).fit(seen, worlds, known, criterion)
    assert rule.thresholds[1] == np.inf


@pytest.mark.parametrize(
    ("attack", "name"), [(Mean, "mean"), (InvStd, "inv_std"), (Min, "min"), (Max, "max")]
)
def test_single_attack_compares_its_own_statistic(play, attack, name):
    seen, worlds, known = play(20, seed=4, shift=1.0)
    rule = attack().fit(seen, worlds, known, PointCriterion(1e-5))
    assert attack().needs == {"mc"}
    assert repr(attack()) == name
    assert repr(rule).startswith(f"{name} > ")
