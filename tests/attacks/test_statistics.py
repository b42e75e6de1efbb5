import pickle

import numpy as np
import pytest
from refusals import refuses

from dpaudit.attacks import inv_std, max_, mean, min_, minus_loss
from dpaudit.attacks.statistics import AND, LEAST, OR, Statistic
from dpaudit.outputs import with_statistics


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        (mean, "mean"),
        (mean & inv_std, "mean & inv_std"),
        (min_ | max_, "min | max"),
        (mean & inv_std & min_ & max_, "mean & inv_std & min & max"),
        (mean | (inv_std | min_) | max_, "mean | inv_std | min | max"),
        (mean & (inv_std & max_), "mean & inv_std & max"),
    ],
)
def test_expression_reads_back_as_code(expression, code):
    assert repr(expression) == code


def test_composition_keeps_kind_and_order():
    assert (mean & inv_std & max_).kind == AND
    assert (mean & inv_std & max_).statistics == (mean, inv_std, max_)
    assert (mean | max_).kind == OR


@pytest.mark.parametrize(
    "mixed",
    [
        lambda: mean & inv_std | max_,
        lambda: mean | inv_std & max_,
        lambda: (mean | inv_std) & (min_ | max_),
        lambda: (mean & inv_std) | (min_ & max_),
        lambda: max_ & (mean | min_),
    ],
)
def test_mixing_all_and_any_is_refused(mixed):
    with refuses("mixed-operators"):
        mixed()


@pytest.mark.parametrize("other", [3, "max", None])
def test_only_statistics_compose(other):
    with pytest.raises(TypeError):
        mean & other
    with pytest.raises(TypeError):
        (mean | max_) | other


def test_low_bits_cannot_tell_trials_apart():
    noisy = Statistic("noisy", frozenset(), lambda seen, known: 0.3 + np.arange(4) * 1e-16)
    assert len(np.unique(noisy.compute({}, {}))) == 1


def test_diverged_model_counts_as_least_like_in():
    def formula(seen, known):
        return np.array([np.nan, -np.inf, np.inf, 1.0])

    values = Statistic("diverged", frozenset(), formula).compute({}, {})
    assert values.tolist() == [LEAST, LEAST, np.inf, 1.0]


def test_diverged_logits_and_samples_give_numbers_without_warnings(play):
    seen, _, known = play(3, seed=0)
    for poison in (np.nan, np.inf, -np.inf):
        poisoned = {name: array.copy() for name, array in seen.items()}
        poisoned["logits"][1], poisoned["mc"][1, 3] = poison, poison
        poisoned = with_statistics({name: poisoned[name] for name in ("logits", "mc")})
        for statistic in (minus_loss, mean, inv_std, min_, max_):
            values = statistic.compute(poisoned, known)
            assert not np.isnan(values).any()
            clean = statistic.compute(seen, known)
            np.testing.assert_array_equal(np.delete(values, 1), np.delete(clean, 1))


def test_missing_observation_is_named():
    with refuses("missing-observations", value=("mean",)):
        mean.compute({"logits": np.zeros((1, 2))}, {"label": np.array(0)})


@pytest.mark.parametrize("label", [-1, 3])
def test_label_outside_the_classes_is_refused(play, label):
    seen, _, _ = play(1, seed=0, classes=3)
    with refuses("out-of-range", option="label", value=label):
        mean.compute(seen, {"label": np.array(label)})
    with refuses("needs-label"):
        mean.compute(seen, {})


def test_label_may_be_a_number_or_an_array_of_one(play):
    seen, _, _ = play(5, seed=0)
    for statistic in (mean, minus_loss):
        plain = statistic.compute(seen, {"label": np.array(1)})
        boxed = statistic.compute(seen, {"label": np.array([1])})
        np.testing.assert_array_equal(plain, boxed)


@pytest.mark.parametrize("statistic", [minus_loss, mean, inv_std, min_, max_])
def test_statistics_travel_to_other_processes(statistic, play):
    seen, _, known = play(4, seed=1)
    travelled = pickle.loads(pickle.dumps(statistic))
    assert repr(travelled) == repr(statistic)
    np.testing.assert_array_equal(travelled.compute(seen, known), statistic.compute(seen, known))
