import numpy as np
import pytest
from refusals import refuses

from dpaudit.attacks import Learned, Loss, Max, Mean, Min, inv_std, max_, mean, min_, minus_loss
from dpaudit.attacks.learned import Discriminant, LearnedRule, spanned
from dpaudit.outputs import softmax, with_statistics
from dpaudit.rates import BoundCriterion, PointCriterion

BOUND = BoundCriterion(1e-5)


def discriminant(x, worlds):
    return spanned(x).discriminant(worlds)


def test_learned_score_finds_a_leak_in_the_deviation(certified):
    """The leak is in the spread of the samples alone; the mean hardly moves."""
    seeds = range(5)
    learned = np.mean([certified(Learned(), 300, s, spread=0.6) for s in seeds])
    for single in (Loss(), Mean(), Min(), Max()):
        assert learned > np.mean([certified(single, 300, s, spread=0.6) for s in seeds]) + 0.3


def test_learned_score_adds_up_what_single_statistics_see(certified):
    leak = {"shift": 1.0, "spread": 0.7}
    learned = np.mean([certified(Learned(), 300, s, **leak) for s in range(5)])
    assert learned > np.mean([certified(Mean(), 300, s, **leak) for s in range(5)]) + 0.3


def test_without_a_leak_held_out_decisions_are_at_chance(trials):
    """P[right] is exactly 1/2 on each of 20 x 200 held-out trials; within a choice the 200 are
    independent, so the share right has a standard deviation of at most .008; 4 of them."""
    right = []
    for seed in range(20):
        rule = trials(Learned(), 50, seed).fit(Learned(), PointCriterion(1e-5))
        other = trials(Learned(), 100, seed + 1000)
        right.append((rule.decide(other.features) == other.worlds).mean())
    assert abs(np.mean(right) - 0.5) < 0.032


def test_threshold_is_not_chosen_on_the_weights_own_trials(trials):
    """With 55 features and 40 trials the weights separate their own trials though nothing
    leaks; a threshold chosen there would call all of them rightly. The rule's does not."""
    own = trials(Learned(), 20, seed=2, classes=50)
    rule = own.fit(Learned(), BOUND)
    halfway = (rule.score(own.features) > 0) == own.worlds
    assert halfway.mean() > 0.9
    assert (rule.decide(own.features) == own.worlds).mean() < 0.8


def test_rule_is_strict_and_reads_as_what_it_decides():
    rule = LearnedRule("learned", Discriminant(np.array([1.0, 0.0]), np.array([1.0, 2.0])), 0.5)
    x = np.array([[1.5, 0.0], [2.0, 0.0], [0.0, 0.5], [0.0, 1.0]])
    assert rule.score(x).tolist() == [0.5, 1.0, 0.0, 1.0]
    assert rule.decide(x).tolist() == [False, True, False, True]
    assert repr(rule) == "learned > 0.5"


def test_low_bits_cannot_tell_scores_apart():
    x = 0.3 + np.arange(4)[:, None] * 1e-16
    assert len(np.unique(x)) > 1
    assert len(np.unique(Discriminant(np.zeros(1), np.ones(1)).project(x))) == 1


@pytest.mark.parametrize(("out", "inn"), [(1, 1), (1, 3), (2, 1), (2, 2), (3, 2), (2, 40)])
@pytest.mark.parametrize("classes", [2, 100])
def test_tiny_halves_give_a_rule_with_numbers(trials, out, inn, classes):
    many = trials(Learned(), 40, seed=3, classes=classes, shift=1.0)
    rule = many[np.r_[0:out, 40 : 40 + inn]].fit(Learned(), BOUND)
    assert np.isfinite(rule.score(many.features)).all()
    assert rule.decide(many.features).dtype == bool


def test_features_are_the_statistics_on_their_natural_scales(play):
    seen, _, known = play(10, seed=1, classes=4)
    x = Learned().features(seen, known)
    assert x.shape == (20, 9)
    for column, statistic in enumerate((mean, min_, max_)):
        p = statistic.compute(seen, known)
        np.testing.assert_allclose(x[:, column], np.log(p / (1 - p)), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(x[:, 3], -np.log(inv_std.compute(seen, known)), rtol=1e-6)
    np.testing.assert_allclose(x[:, 4], minus_loss.compute(seen, known))
    np.testing.assert_allclose(x[:, 5:], seen["logits"], rtol=1e-6)


@pytest.mark.parametrize("world", [0, 1])
def test_one_world_alone_is_refused(trials, world):
    both = trials(Learned(), 5, seed=3)
    with refuses("one-world"):
        both[both.worlds == world].fit(Learned(), BOUND)


def test_one_pass_certainty_and_divergence_leave_features_finite(play):
    seen, worlds, known = play(10, seed=4, samples=1)
    seen = {"logits": seen["logits"], "mc": seen["mc"]}
    seen["mc"][0] = [0.0, 0.0, 1.0]
    seen["mc"][1] = [1.0, 0.0, 0.0]
    seen["mc"][2] = np.nan
    seen["logits"][3] = [np.inf, -np.inf, 0.0]
    seen["logits"][4] = np.nan
    x = Learned().features(with_statistics(seen), known)
    assert np.isfinite(x).all()
    assert np.isfinite(Learned().fit(x, worlds, BOUND).score(x)).all()


def test_constant_features_have_no_weight():
    x = np.random.default_rng(5).normal(size=(40, 3))
    x[:, 1] = 0.1
    line = discriminant(x, np.arange(40) % 2)
    assert line.weights[1] == 0
    assert (line.weights[[0, 2]] != 0).all()


def test_nothing_but_constants_gives_a_score_of_zero():
    line = discriminant(np.full((6, 2), 0.1), np.arange(6) % 2)
    assert line.project(np.array([[5.0, -5.0]])).tolist() == [0.0]


def test_discriminant_is_the_textbook_one_where_trials_abound():
    """Two Gaussians with a common covariance: the direction is cov^-1 (m1 - m0)."""
    rng = np.random.default_rng(6)
    worlds = np.arange(40_000) % 2
    cov = np.array([[2.0, 0.9], [0.9, 1.0]])
    shift = np.array([0.5, -0.5])
    x = rng.multivariate_normal([0, 0], cov, size=40_000) + np.outer(worlds, shift)
    line = discriminant(x, worlds)
    best = np.linalg.solve(cov, shift)
    cosine = line.weights @ best / np.linalg.norm(line.weights) / np.linalg.norm(best)
    assert cosine > 0.999
    score = line.project(x)
    assert score[worlds == 1].std() == pytest.approx(1.0, abs=0.03)
    assert score[worlds == 1].mean() == pytest.approx(-score[worlds == 0].mean(), abs=1e-9)


def test_whatever_is_released_is_learned_from(play):
    seen, _, known = play(4, seed=7, classes=4)
    with refuses("missing-observations", value="logits, mean, probabilities or std"):
        Learned().features({"mc": seen["mc"]}, known)
    given = {**seen, "probabilities": softmax(seen["logits"].astype(float))}
    for names, columns in (
        (["logits"], 5),
        (["logits", "mean", "std"], 7),
        (["probabilities"], 5),
        (["mean"], 6),
        (["mean", "std"], 7),
        (["std"], 1),
    ):
        x = Learned().features({name: given[name] for name in names}, known)
        assert x.shape == (8, columns)


def test_probabilities_say_what_their_logits_say(play):
    seen, _, known = play(40, seed=7, classes=4)
    p = softmax(seen["logits"].astype(float))
    (a, b) = (
        Learned().features(released, known)
        for released in ({"probabilities": p}, {"logits": np.log(p)})
    )
    np.testing.assert_array_equal(a, b)


def test_a_probability_of_zero_is_no_outlier(play):
    _, _, known = play(4, seed=7, classes=4)
    for name in ("probabilities", "mean", "logits"):
        rows = np.array([[0.7, 0.3, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
        with np.errstate(divide="ignore"):
            said = np.log(rows) if name == "logits" else rows
        x = Learned().features({name: said}, known)
        assert np.abs(x).max() == pytest.approx(-np.log(1e-6), abs=0.1)


def test_more_features_than_trials_take_another_way_to_the_same_direction():
    draw = np.random.default_rng(8)
    x, worlds = draw.normal(size=(30, 31)), np.arange(30) % 2
    line = discriminant(x, worlds)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    m0, m1 = z[worlds == 0].mean(axis=0), z[worlds == 1].mean(axis=0)
    W = z - np.where(worlds[:, None], m1, m0)
    w = np.linalg.solve(W.T @ W / 30 + 31 / 30 * np.eye(31), m1 - m0)
    w /= np.sqrt(w @ (m1 - m0)) * x.std(axis=0)
    np.testing.assert_allclose(line.weights, w, rtol=1e-9)


def test_the_space_of_other_features_is_another():
    draw, worlds = np.random.default_rng(9), np.arange(20) % 2
    one, other = draw.normal(size=(2, 20, 30))
    first = discriminant(one, worlds).weights
    assert not np.array_equal(discriminant(other, worlds).weights, first)
    np.testing.assert_array_equal(discriminant(one, worlds).weights, first)
    np.testing.assert_array_equal(discriminant(one.copy(), worlds).weights, first)
