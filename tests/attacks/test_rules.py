import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from dpaudit.attacks.statistics import AND, OR, Statistic
from dpaudit.errors import BadInput
from dpaudit.rates import BoundCriterion, PointCriterion

POINT, BOUND = PointCriterion(1e-5), BoundCriterion(1e-5)


def column(i):
    """A statistic that is simply there: column i of the observation `x`."""
    return Statistic(f"s{i}", frozenset({"x"}), lambda seen, known: seen["x"][:, i])


def rule_of(kind, thresholds, scales=None):
    statistics = tuple(column(i) for i in range(len(thresholds)))
    return ThresholdRule(kind, statistics, thresholds, scales or (1.0,) * len(thresholds), {})


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
    assert repr(ThresholdRule(kind, (mean, inv_std), thresholds, (1.0, 1.0), {})) == code


def test_decision_is_strict():
    x = np.array([[1.0, 1.0], [2.0, 1.0], [2.0, 2.0]])
    assert rule_of(AND, (1.0,)).decide({"x": x}).tolist() == [False, True, True]
    assert rule_of(AND, (1.0, 1.0)).decide({"x": x}).tolist() == [False, False, True]
    assert rule_of(OR, (1.0, 1.0)).decide({"x": x}).tolist() == [False, True, True]


def test_infinite_statistic_does_not_exceed_an_infinite_threshold():
    seen = {"x": np.array([[np.inf, np.inf]])}
    assert not rule_of(AND, (np.inf,)).decide(seen).any()
    assert not rule_of(OR, (np.inf, np.inf)).decide(seen).any()
    assert rule_of(AND, (-np.inf, 1e308)).decide(seen).all()


numbers = st.sampled_from([-np.inf, -1e308, -2.0, 0.0, 1e-300, 0.5, 0.5000001, 3.0, 1e308, np.inf])


@given(
    st.sampled_from([AND, OR]),
    st.lists(st.tuples(numbers, st.sampled_from([1e-3, 1.0, 7.0])), min_size=2, max_size=4),
    st.lists(st.lists(numbers, min_size=4, max_size=4), min_size=1, max_size=6),
)
@settings(max_examples=300, deadline=None)
def test_score_of_several_is_positive_exactly_where_the_rule_says_in(kind, parts, x):
    thresholds, scales = zip(*parts, strict=True)
    rule, seen = rule_of(kind, thresholds, scales), {"x": np.array(x)}
    score = rule.score(seen)
    assert not np.isnan(score).any()
    np.testing.assert_array_equal(score > 0, rule.decide(seen))


def test_score_never_falls_when_a_statistic_rises():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(200, 3))
    higher = x + rng.exponential(size=x.shape) * rng.integers(0, 2, size=x.shape)
    for kind in (AND, OR):
        rule = rule_of(kind, (0.1, -0.3, 0.5), (1.0, 2.0, 0.5))
        assert (rule.score({"x": higher}) >= rule.score({"x": x})).all()


def test_score_of_one_statistic_is_the_statistic(play):
    seen, worlds, known = play(20, seed=1)
    rule = Mean().fit(seen, worlds, known, POINT)
    np.testing.assert_array_equal(rule.score(seen), mean.compute(seen, known))
    np.testing.assert_array_equal(rule.decide(seen), rule.score(seen) > rule.thresholds[0])


def test_expression_fixes_the_kind_and_a_set_leaves_it_open():
    assert ThresholdAttack(mean & inv_std).kinds == (AND,)
    assert ThresholdAttack(mean | inv_std).kinds == (OR,)
    assert ThresholdAttack((mean, inv_std)).kinds == (AND, OR)
    assert ThresholdAttack({max_, min_, mean}).statistics == (max_, mean, min_)
    assert ThresholdAttack([mean]).kinds == ThresholdAttack(mean).kinds == (AND,)
    with pytest.raises(BadInput, match="at least one statistic"):
        ThresholdAttack([])


def test_attack_reads_as_code():
    assert repr(ThresholdAttack(mean & inv_std)) == "mean & inv_std"
    assert repr(ThresholdAttack((min_, max_))) == "{min, max}"


@pytest.mark.parametrize("criterion", [POINT, BOUND])
def test_set_is_as_good_as_the_better_of_its_two_kinds(play, criterion):
    seen, worlds, known = play(40, seed=6, shift=0.7, spread=0.8)
    attacks = (mean & inv_std, mean | inv_std, (mean, inv_std))
    values = MeanStd().values(seen, known)
    type_1, type_2, either = (
        ThresholdAttack(form).choose(values, worlds, criterion).value for form in attacks
    )
    assert either == max(type_1, type_2)


@pytest.mark.parametrize("attack", [Loss, Mean, MeanStd, MinMax, AllFour, Learned])
def test_rule_chosen_on_one_half_judges_the_other(play, attack):
    """The rule is a function of the trial alone, and on a clear leak it keeps its power."""
    seen, worlds, known = play(200, seed=8, shift=4.0)
    choosing = np.arange(400) % 2 == 0
    half = {name: array[choosing] for name, array in seen.items()}
    other = {name: array[~choosing] for name, array in seen.items()}
    rule = attack().fit(half, worlds[choosing], known, BOUND)
    said, score = rule.decide(other), rule.score(other)
    assert said.dtype == bool
    assert said.shape == score.shape == (200,)
    fp, fn = np.sum(said & (worlds[~choosing] == 0)), np.sum(~said & (worlds[~choosing] == 1))
    assert BOUND(fp, 100, fn, 100) > 1.0
    for trial in (0, 77, 199):
        alone = {name: array[trial : trial + 1] for name, array in other.items()}
        assert rule.decide(alone)[0] == said[trial]
        assert rule.score(alone)[0] == pytest.approx(score[trial], rel=1e-8)


@pytest.mark.parametrize("attack", [Loss, MeanStd, AllFour])
def test_order_of_the_trials_does_not_change_the_rule(play, attack):
    seen, worlds, known = play(30, seed=9, shift=0.5)
    order = np.random.default_rng(0).permutation(60)
    shuffled = {name: array[order] for name, array in seen.items()}
    one = attack().fit(seen, worlds, known, POINT)
    two = attack().fit(shuffled, worlds[order], known, POINT)
    assert (one.kind, one.thresholds, one.scales) == (two.kind, two.thresholds, two.scales)


def test_permuted_labels_need_no_new_statistics(play):
    seen, worlds, known = play(20, seed=10)
    permuted = np.random.default_rng(0).permutation(worlds)
    attack = AllFour()
    chosen = attack.choose(attack.values(seen, known), permuted, POINT)
    fitted = attack.fit(seen, permuted, known, POINT)
    assert (chosen.kind, chosen.thresholds) == (fitted.kind, fitted.thresholds)
    assert fitted.how == chosen.how == "coordinate ascent from the best pairs"


@pytest.mark.parametrize(
    ("attack", "statistics"),
    [(MeanStd, "mean, inv_std"), (MinMax, "min, max"), (AllFour, "mean, inv_std, min, max")],
)
def test_sets_are_those_of_the_paper_with_both_types(attack, statistics):
    assert repr(attack()) == f"{{{statistics}}}"
    assert attack().kinds == (AND, OR)
    assert attack().needs == {"mc"}
    assert attack().fitted
