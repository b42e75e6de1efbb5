import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from dpaudit.attacks import (
    AllFour,
    Learned,
    Loss,
    Mean,
    MeanStd,
    MinMax,
    ThresholdAttack,
    inv_std,
    max_,
    mean,
    min_,
)
from dpaudit.attacks.rules import ThresholdRule
from dpaudit.attacks.search import ASCENT, EXACT, search
from dpaudit.attacks.statistics import AND, OR
from dpaudit.estimators.trials import Trials
from dpaudit.rates import BoundCriterion, PointCriterion
from dpaudit.results import Counts

POINT, BOUND = PointCriterion(1e-5), BoundCriterion(1e-5)


def rule_of(kind, thresholds, scales=None):
    names = tuple(f"s{i}" for i in range(len(thresholds)))
    return ThresholdRule(kind, names, thresholds, scales or (1.0,) * len(thresholds))


@pytest.mark.parametrize(
    ("kind", "thresholds", "code"),
    [
        (AND, (0.41, 3.2), "mean > 0.41 & inv_std > 3.2"),
        (OR, (0.41, 3.2), "mean > 0.41 | inv_std > 3.2"),
        (AND, (-np.inf, 3.2), "inv_std > 3.2"),
        (OR, (0.41, np.inf), "mean > 0.41"),
        (AND, (-np.inf, -np.inf), "always"),
        (OR, (np.inf, np.inf), "never"),
        (AND, (np.inf, 3.2), "mean > inf & inv_std > 3.2"),
    ],
)
def test_rule_reads_as_what_it_decides(kind, thresholds, code):
    assert repr(ThresholdRule(kind, ("mean", "inv_std"), thresholds, (1.0, 1.0))) == code


def test_decision_is_strict():
    x = np.array([[1.0, 1.0], [2.0, 1.0], [2.0, 2.0]])
    assert rule_of(AND, (1.0,)).decide(x[:, :1]).tolist() == [False, True, True]
    assert rule_of(AND, (1.0, 1.0)).decide(x).tolist() == [False, False, True]
    assert rule_of(OR, (1.0, 1.0)).decide(x).tolist() == [False, True, True]


def test_infinite_statistic_does_not_exceed_an_infinite_threshold():
    x = np.array([[np.inf, np.inf]])
    assert not rule_of(AND, (np.inf,)).decide(x[:, :1]).any()
    assert not rule_of(OR, (np.inf, np.inf)).decide(x).any()
    assert rule_of(AND, (-np.inf, 1e308)).decide(x).all()


numbers = st.sampled_from([-np.inf, -1e308, -2.0, 0.0, 1e-300, 0.5, 0.5000001, 3.0, 1e308, np.inf])


@given(
    st.sampled_from([AND, OR]),
    st.lists(st.tuples(numbers, st.sampled_from([1e-3, 1.0, 7.0])), min_size=2, max_size=4),
    st.lists(st.lists(numbers, min_size=4, max_size=4), min_size=1, max_size=6),
)
@settings(max_examples=300, deadline=None)
def test_score_of_several_is_positive_exactly_where_the_rule_says_in(kind, parts, x):
    thresholds, scales = zip(*parts, strict=True)
    rule, features = rule_of(kind, thresholds, scales), np.array(x)[:, : len(parts)]
    score = rule.score(features)
    assert not np.isnan(score).any()
    np.testing.assert_array_equal(score > 0, rule.decide(features))


def test_score_never_falls_when_a_statistic_rises():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(200, 3))
    higher = x + rng.exponential(size=x.shape) * rng.integers(0, 2, size=x.shape)
    for kind in (AND, OR):
        rule = rule_of(kind, (0.1, -0.3, 0.5), (1.0, 2.0, 0.5))
        assert (rule.score(higher) >= rule.score(x)).all()


def test_features_are_the_statistics_in_their_order(play):
    seen, _, known = play(5, seed=1)
    x = ThresholdAttack((max_, mean, inv_std)).features(seen, known)
    for values, statistic in zip(x.T, (max_, mean, inv_std), strict=True):
        np.testing.assert_array_equal(values, statistic.compute(seen, known))


def test_score_of_one_statistic_is_the_statistic(play):
    seen, worlds, known = play(20, seed=1)
    x = Mean().features(seen, known)
    rule = Mean().fit(x, worlds, POINT)
    np.testing.assert_array_equal(rule.score(x), mean.compute(seen, known))
    np.testing.assert_array_equal(rule.decide(x), rule.score(x) > rule.thresholds[0])


def test_expression_fixes_the_kind_and_a_set_leaves_it_open():
    assert ThresholdAttack(mean & inv_std).kinds == (AND,)
    assert ThresholdAttack(mean | inv_std).kinds == (OR,)
    assert ThresholdAttack((mean, inv_std)).kinds == (AND, OR)
    assert ThresholdAttack({max_, min_, mean}).statistics == (max_, mean, min_)
    assert ThresholdAttack([mean]).kinds == ThresholdAttack(mean).kinds == (AND,)
    with refuses("none-given", option="statistics"):
        ThresholdAttack([])


def test_attack_reads_as_code():
    assert repr(ThresholdAttack(mean & inv_std)) == "mean & inv_std"
    assert repr(ThresholdAttack((min_, max_))) == "{min, max}"


@pytest.mark.parametrize("criterion", [POINT, BOUND])
def test_set_is_as_good_as_the_better_of_its_two_kinds(trials, criterion):
    seen = trials(MeanStd(), 40, seed=6, shift=0.7, spread=0.8)
    type_1, type_2, either = (
        search(seen.features, seen.worlds, ThresholdAttack(form).kinds, criterion).value
        for form in (mean & inv_std, mean | inv_std, (mean, inv_std))
    )
    assert either == max(type_1, type_2)


@pytest.mark.parametrize("attack", [Loss, Mean, MeanStd, MinMax, AllFour, Learned])
def test_rule_chosen_on_one_half_judges_the_other(play, attack):
    """The rule is a function of the trial alone, and on a clear leak it keeps its power."""
    seen, worlds, known = play(200, seed=8, shift=4.0)
    trials, choosing = Trials(attack().features(seen, known), worlds), np.arange(400) % 2 == 0
    rule, other = trials[choosing].fit(attack(), BOUND), trials[~choosing]
    said, score = rule.decide(other.features), rule.score(other.features)
    assert said.dtype == bool
    assert said.shape == score.shape == (200,)
    fp, fn = np.sum(said & (other.worlds == 0)), np.sum(~said & (other.worlds == 1))
    assert other.count(rule) == Counts(fp, 100, fn, 100)
    assert BOUND(fp, 100, fn, 100) > 1.0
    for trial in (0, 77, 199):
        row = np.flatnonzero(~choosing)[trial]
        alone = attack().features({name: array[[row]] for name, array in seen.items()}, known)
        assert rule.decide(alone)[0] == said[trial]
        assert rule.score(alone)[0] == pytest.approx(score[trial], rel=1e-8)


@pytest.mark.parametrize("attack", [Loss, MeanStd, AllFour])
def test_order_of_the_trials_does_not_change_the_rule(play, attack):
    seen, worlds, known = play(30, seed=9, shift=0.5)
    order = np.random.default_rng(0).permutation(60)
    shuffled = {name: array[order] for name, array in seen.items()}
    one = attack().fit(attack().features(seen, known), worlds, POINT)
    two = attack().fit(attack().features(shuffled, known), worlds[order], POINT)
    assert (one.kind, one.thresholds, one.scales) == (two.kind, two.thresholds, two.scales)


@pytest.mark.parametrize(
    ("attack", "how"), [(MinMax(), EXACT), (AllFour(), ASCENT)], ids=["two", "four"]
)
def test_rule_is_what_the_search_finds_also_on_permuted_worlds(trials, attack, how):
    seen = trials(attack, 20, seed=10)
    for game in (seen, seen.shuffled(np.random.default_rng(0))):
        found = search(game.features, game.worlds, attack.kinds, POINT)
        rule = game.fit(attack, POINT)
        assert (rule.kind, rule.thresholds) == (found.kind, found.thresholds)
        assert rule.names == tuple(statistic.name for statistic in attack.statistics)
        assert rule.how == found.how == how


@pytest.mark.parametrize(
    ("attack", "statistics", "needs"),
    [
        (MeanStd, "mean, inv_std", {"mean", "std"}),
        (MinMax, "min, max", {"mc"}),
        (AllFour, "mean, inv_std, min, max", {"mean", "std", "mc"}),
    ],
)
def test_sets_are_those_of_the_paper_with_both_types(attack, statistics, needs):
    assert repr(attack()) == f"{{{statistics}}}"
    assert attack().kinds == (AND, OR)
    assert attack().needs == needs
    assert attack().fitted
