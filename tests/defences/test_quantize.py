import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import best_by_hand, one_pass_knows_its_mean_alone
from refusals import refuses

from dpaudit.attacks import InvStd, Loss, Mean, MeanStd, ThresholdAttack, inv_std, mean
from dpaudit.defences import Quantize, make
from dpaudit.estimators.published import in_sample
from dpaudit.estimators.trials import Trials
from dpaudit.outputs import with_statistics
from dpaudit.rates import BoundCriterion, PointCriterion
from dpaudit.types import IN, OUT

KNOWN = {"label": np.array(1)}
DELTA = 1e-5
UNITS = [0.001, 0.01, 0.05, 0.1, 0.25, 1 / 3, 1]


def rounded(values, unit, name="mean"):
    return Quantize(unit).protect({name: np.asarray(values)})[name]


# ---------------------------------------------------------------- rounding


@pytest.mark.parametrize("unit", UNITS)
def test_multiples_of_the_unit_stay_as_they_are(unit):
    multiples = np.arange(int(1 / unit) + 1) * unit
    np.testing.assert_array_equal(rounded(multiples, unit), multiples)


@given(st.floats(0, 1), st.sampled_from(UNITS))
@settings(max_examples=300, deadline=None)
def test_rounding_is_to_the_nearest_multiple(x, unit):
    """Against exact fractions; a few last digits decide nothing where two are as near."""
    got = float(rounded([x], unit)[0])
    k = round(got / unit)
    assert got == k * unit
    assert abs(Fraction(x) - k * Fraction(unit)) <= Fraction(unit) / 2 * Fraction(1 + 1e-12)


def test_halves_go_to_the_even_multiple():
    assert rounded([0.125, 0.375, 0.625, 0.875], 0.25).tolist() == [0.0, 0.5, 0.5, 1.0]


@pytest.mark.parametrize("unit", UNITS)
def test_equal_multiples_are_equal_numbers(unit):
    """A tie must be a tie, whatever the last digits of what was rounded."""
    x = np.random.default_rng(0).uniform(size=10_000)
    assert len(np.unique(rounded(x, unit))) <= 1 / unit + 2


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_precision_of_what_is_released_does_not_show(dtype):
    got = rounded(np.array([0.3, 0.7], dtype), 0.1)
    assert got.dtype == np.float64
    assert got.tolist() == [3 * 0.1, 7 * 0.1]


@pytest.mark.parametrize("unit", [1e-18, 1e-300, 5e-324])
def test_a_unit_finer_than_the_numbers_changes_nothing(unit):
    x = np.array([0.0, 0.1, 1.0, 1e9])
    np.testing.assert_array_equal(rounded(x, unit, "values"), x)


def test_what_is_no_number_stays_none():
    got = rounded([np.nan, np.inf, -np.inf, 1e308], 0.01, "values")
    np.testing.assert_array_equal(got, [np.nan, np.inf, -np.inf, 1e308])


@pytest.mark.parametrize("unit", [0, 0.0, -1, 2, 1.0001, math.nan, math.inf, True, "0.01", None])
def test_a_unit_that_cannot_be_is_refused(unit):
    with refuses("out-of-range"):
        Quantize(unit)


@given(st.floats(0, 1, exclude_min=True))
def test_its_text_makes_it_again(unit):
    assert make(str(Quantize(unit))).defence == Quantize(unit)


def test_its_text_reads_as_typed():
    assert str(Quantize(0.01)) == "quantize:0.01"
    assert repr(Quantize(0.01)) == "Quantize(unit=0.01)"


# ---------------------------------------------------------------- what is let out


def network(rows=4, classes=3, samples=5, seed=0):
    draw = np.random.default_rng(seed)
    mc = draw.dirichlet(np.ones(classes), size=(rows, samples)).astype(np.float32)
    p = draw.dirichlet(np.ones(classes), size=rows).astype(np.float32)
    seen = {
        "mc": mc,
        "probabilities": p,
        "logits": np.log(p),
        "hidden": draw.normal(size=(rows, 9)),
    }
    return with_statistics(seen)


def test_nothing_is_let_out_that_was_not_rounded():
    seen = network()
    kept = Quantize(0.1).protect(seen)
    assert kept.keys() == {"mean", "std", "probabilities", "logits"}
    for name in ("mean", "std", "probabilities"):
        exact = np.asarray(seen[name], dtype=np.float64)
        np.testing.assert_array_equal(kept[name], np.rint(exact / 0.1) * 0.1)
    np.testing.assert_array_equal(np.exp(kept["logits"]) > 0, kept["probabilities"] > 0)
    np.testing.assert_allclose(np.exp(kept["logits"]), kept["probabilities"], rtol=1e-12)


def test_logits_alone_become_those_of_rounded_probabilities():
    seen = network()
    both = Quantize(0.1).protect({name: seen[name] for name in ("logits", "probabilities")})
    alone = Quantize(0.1).protect({"logits": seen["logits"]})
    np.testing.assert_array_equal(alone["logits"], both["logits"])


def test_no_logits_are_made_where_none_were_released():
    assert Quantize(0.1).protect({"probabilities": np.eye(2)}).keys() == {"probabilities"}


def test_released_numbers_are_rounded_too():
    got = Quantize(0.5).protect({"values": np.array([[1.2, -7.9], [3.3, 0.2]])})
    assert got["values"].tolist() == [[1.0, -8.0], [3.5, 0.0]]


def test_diverged_logits_are_no_failure():
    logits = np.array([[np.nan, 0.0], [np.inf, 0.0], [np.inf, np.inf], [0.0, 0.0]])
    got = Quantize(0.01).protect({"logits": logits})["probabilities"]
    assert np.isnan(got[:3]).any(axis=1).all()
    assert got[3].tolist() == [0.5, 0.5]


# ---------------------------------------------------------------- attacks on it


def released(unit, samples=20, classes=3, per_world=60, seed=1):
    """Quantised outputs of models that are surer of the canary where they have seen it."""
    draw = np.random.default_rng(seed)
    worlds = np.repeat([OUT, IN], per_world)
    logits = draw.normal(size=(2 * per_world, 1, classes))
    logits[:, 0, 1] += 2.0 * worlds
    noise = draw.normal(size=(2 * per_world, samples, classes))
    p = np.exp(logits + noise * np.where(worlds == IN, 0.05, 0.3)[:, None, None])
    mc = p / p.sum(axis=-1, keepdims=True)
    seen = with_statistics({"mc": mc, "logits": logits[:, 0]})
    return Quantize(unit).protect(seen), worlds


FORMS = {
    "single": InvStd(),
    "and": ThresholdAttack(mean & inv_std),
    "or": ThresholdAttack(mean | inv_std),
    "both": MeanStd(),
}


@pytest.mark.parametrize("attack", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("criterion", [PointCriterion(DELTA), BoundCriterion(DELTA)])
def test_deviations_of_zero_are_searched_like_any_other(attack, criterion):
    """1/std = inf in some trials: the rule found is as good as a search by hand finds."""
    seen, worlds = released(0.1)
    trials = Trials(attack.features(seen, KNOWN), worlds)
    x = trials.features
    assert 0 < np.isinf(x[:, -1]).sum() < len(x)
    counts = trials.count(trials.fit(attack, criterion))
    got = float(criterion(np.array(counts.fp), counts.out, np.array(counts.fn), counts.inn))
    assert got == pytest.approx(best_by_hand(attack, x, worlds, criterion))


def test_one_pass_has_no_deviation_to_tell_anything_from():
    one_pass_knows_its_mean_alone(*released(0.01, samples=1))


def test_a_unit_of_one_on_ten_classes_tells_only_who_has_more_than_half():
    seen, worlds = released(1, classes=10)
    assert not seen["std"].any()
    for name in ("mean", "probabilities"):
        assert set(np.unique(seen[name])) == {0.0, 1.0}
        assert (seen[name].sum(axis=1) <= 1).all()
    knows_nothing = Trials(InvStd().features(seen, KNOWN), worlds)
    assert in_sample(InvStd(), knows_nothing, DELTA) == 0
    for attack, name in ((Loss(), "probabilities"), (Mean(), "mean")):
        trials = Trials(attack.features(seen, KNOWN), worlds)
        rule = trials.fit(attack, BoundCriterion(DELTA))
        np.testing.assert_array_equal(rule.decide(trials.features), seen[name][:, 1] == 1)
