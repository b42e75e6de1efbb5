"""What each defence makes of a classifier's outputs, against loops that are obviously right."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import (
    DELTA,
    KNOWN,
    best_by_hand,
    network,
    one_pass_knows_its_mean_alone,
    plain,
)

from dpaudit.attacks import Loss, Mean, MeanStd
from dpaudit.defences import ClipConfidence, FewerSamples, LabelOnly, Temperature, TopK, make
from dpaudit.estimators.published import in_sample
from dpaudit.estimators.trials import Trials
from dpaudit.outputs import with_statistics
from dpaudit.rates import PointCriterion
from dpaudit.types import IN, OUT

rows = st.lists(st.floats(0.001, 1), min_size=2, max_size=6).map(
    lambda w: (np.array(w) / np.sum(w))[None]
)


# ---------------------------------------------------------------- label-only


def test_of_a_label_nothing_but_the_largest_class_is_left():
    p = np.array([[0.2, 0.7, 0.1], [0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [np.nan, 0.5, 0.5]])
    kept = LabelOnly().protect({"probabilities": p, "mean": p[::-1]})
    assert kept["probabilities"].tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert kept["mean"].tolist() == kept["probabilities"][::-1].tolist()


def test_an_attack_on_labels_sees_whether_it_is_the_canarys():
    seen = network(rows=40, seed=3)
    kept = LabelOnly().protect(seen)
    for attack, name in ((Loss(), "probabilities"), (Mean(), "mean")):
        score = attack.features(kept, KNOWN)[:, 0]
        right = seen[name].argmax(axis=1) == 1
        assert len(np.unique(score)) == 2
        assert score[right].min() > score[~right].max()


# ---------------------------------------------------------------- top-k


@given(rows, st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_the_k_largest_stay_as_they_are_and_others_are_zero(p, k):
    kept = TopK(k).protect({"probabilities": p})["probabilities"][0]
    order = sorted(range(p.size), key=lambda c: (-p[0, c], c))
    for c in range(p.size):
        assert kept[c] == (p[0, c] if c in order[:k] else 0)


def test_deviations_are_shown_of_the_k_largest_means_alone():
    seen = network(classes=5)
    kept = TopK(2).protect(seen)
    shown = kept["mean"] > 0
    assert (shown.sum(axis=1) == 2).all()
    np.testing.assert_array_equal(kept["std"], np.where(shown, seen["std"], 0))


def test_a_canary_that_is_not_among_the_k_is_seen_as_least_likely():
    p = np.array([[0.6, 0.1, 0.3], [0.2, 0.5, 0.3]])
    score = Loss().features(TopK(2).protect({"logits": np.log(p)}), KNOWN)[:, 0]
    assert score[0] == np.finfo(float).min
    assert score[1] == pytest.approx(math.log(0.5 / 0.8))


# ---------------------------------------------------------------- temperature


@given(rows, st.floats(0.2, 20))
@settings(max_examples=60, deadline=None)
def test_a_temperature_is_a_power_that_adds_up_to_one_and_can_be_undone(p, tau):
    q = Temperature(tau).protect({"probabilities": p})["probabilities"]
    powers = [x ** (1 / tau) for x in p[0]]
    np.testing.assert_allclose(q[0], np.array(powers) / sum(powers), rtol=1e-9)
    back = Temperature(1 / tau).protect({"probabilities": q})["probabilities"]
    np.testing.assert_allclose(back, p, rtol=1e-6)


def test_logits_are_divided_and_every_pass_is_flattened():
    seen = network()
    kept = Temperature(2.0).protect(seen)
    np.testing.assert_allclose(kept["logits"], seen["logits"] / 2)
    roots = np.sqrt(seen["mc"].astype(float))
    np.testing.assert_allclose(kept["mc"], roots / roots.sum(axis=-1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("text", ["temperature:2", "clip-confidence:0.6"])
def test_without_passes_the_mean_is_changed_and_its_deviation_left_out(text):
    seen = network()
    kept = make(text).protect({name: seen[name] for name in ("mean", "std")})
    assert kept.keys() == {"mean"}
    np.testing.assert_allclose(kept["mean"].sum(axis=1), 1)


# ---------------------------------------------------------------- clip-confidence


@given(rows, st.floats(0.51, 1))
@settings(max_examples=60, deadline=None)
def test_the_largest_is_capped_and_the_rest_shared_in_proportion(p, most):
    q = ClipConfidence(most).protect({"probabilities": p})["probabilities"][0]
    assert q.sum() == pytest.approx(1)
    assert q.max() <= most
    assert q.argmax() == p.argmax()
    if p.max() <= most:
        assert q.tolist() == p[0].tolist()
    else:
        others = np.arange(p.size) != p.argmax()
        np.testing.assert_allclose(q[others] / q[others].sum(), p[0, others] / p[0, others].sum())


def test_a_sure_pass_is_shared_evenly():
    sure = np.array([[[0.0, 1.0, 0.0], [0.1, 0.9, 0.0]]])
    kept = ClipConfidence(0.8).protect({"mc": sure, "mean": sure.mean(1), "std": sure.std(1)})
    np.testing.assert_allclose(kept["mc"][0], [[0.1, 0.8, 0.1], [0.2, 0.8, 0.0]], rtol=1e-6)
    assert kept["std"][0, 1] == 0, "both passes are as sure as they may be"


# ---------------------------------------------------------------- fewer-samples


def test_the_first_passes_are_kept_and_the_plain_output_stays():
    seen = network(samples=6)
    kept = FewerSamples(2).protect(seen)
    np.testing.assert_array_equal(kept["mc"], seen["mc"][:, :2])
    for name in plain(seen):
        np.testing.assert_array_equal(kept[name], seen[name])


def test_no_more_passes_are_kept_than_there_are():
    seen = network(samples=6)
    np.testing.assert_array_equal(FewerSamples(50).protect(seen)["mc"], seen["mc"])


def leaking(per_world=60, samples=8, seed=1):
    """Models that are surer of the canary, class 1, where they have seen it."""
    draw = np.random.default_rng(seed)
    worlds = np.repeat([OUT, IN], per_world)
    logits = draw.normal(size=(2 * per_world, 1, 3)) + 2.0 * worlds[:, None, None] * np.eye(3)[1]
    logits = logits + 0.3 * draw.normal(size=(2 * per_world, samples, 3))
    p = np.exp(logits)
    return {"mc": p / p.sum(axis=-1, keepdims=True)}, worlds


@pytest.mark.parametrize("text", ["fewer-samples:1", "fewer-samples:1 + quantize:0.1"])
def test_one_pass_has_no_deviation_to_tell_anything_from(text):
    seen, worlds = leaking()
    one_pass_knows_its_mean_alone(make(text).protect(seen), worlds)


@pytest.mark.parametrize(
    ("text", "attack"),
    [
        ("label-only", Mean()),
        ("quantize:0.5", MeanStd()),
        ("quantize:1", MeanStd()),
        ("top-k:1", Mean()),
        ("top-k:1 + quantize:0.25", MeanStd()),
    ],
)
def test_a_search_among_ties_finds_what_a_search_by_hand_finds(text, attack):
    seen, worlds = leaking()
    trials = Trials(attack.features(make(text).protect(with_statistics(seen)), KNOWN), worlds)
    assert len(np.unique(trials.features, axis=0)) < len(worlds), "there are ties"
    point = PointCriterion(DELTA)
    best = best_by_hand(attack, trials.features, worlds, point)
    assert in_sample(attack, trials, DELTA) == pytest.approx(best)
