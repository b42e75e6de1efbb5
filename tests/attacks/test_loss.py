import numpy as np

from dpaudit.attacks import Loss
from dpaudit.attacks.classifier import minus_loss
from dpaudit.rates import PointCriterion


def test_statistic_is_the_negative_cross_entropy():
    logits = np.random.default_rng(0).normal(size=(20, 4)) * 3
    known = {"label": np.array(2)}
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        minus_loss.compute({"logits": logits}, known), np.log(p[:, 2]), rtol=5e-9
    )


def test_huge_logits_do_not_overflow():
    seen = {"logits": np.array([[1e4, 0.0], [-1e4, 0.0]], dtype=np.float32)}
    assert minus_loss.compute(seen, {"label": np.array(1)}).tolist() == [-1e4, 0.0]


def test_attack_says_in_where_the_loss_is_below_the_threshold(play):
    seen, worlds, known = play(50, seed=1, shift=2.0)
    x = Loss().features(seen, known)
    rule = Loss().fit(x, worlds, PointCriterion(1e-5))
    tau = -rule.thresholds[0]
    loss = -minus_loss.compute(seen, known)
    np.testing.assert_array_equal(rule.decide(x), loss < tau)
    assert repr(rule) == f"-loss > {-tau:.6g}"


def test_needs_logits_only(play):
    seen, worlds, known = play(10, seed=1)
    assert Loss().needs == {"logits"}
    x = Loss().features({"logits": seen["logits"]}, known)
    assert x.shape == (20, 1)
    assert Loss().fit(x, worlds, PointCriterion(1e-5)).score(x).shape == (20,)


def test_adding_a_constant_to_all_logits_changes_nothing(play):
    seen, _, known = play(10, seed=2)
    shifted = {"logits": seen["logits"].astype(float) + 7.0}
    np.testing.assert_allclose(
        minus_loss.compute(shifted, known), minus_loss.compute(seen, known), rtol=1e-8
    )
