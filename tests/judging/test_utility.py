"""What outputs are good for, against loops that are obviously right."""

import math

import numpy as np
import pytest
from playground import KNOWN, facts

from dpaudit.defences import make
from dpaudit.journal import Journal
from dpaudit.judging.utility import (
    BINS,
    LEAST,
    calibration_error,
    distributions,
    negative_log_likelihood,
    utility,
)
from dpaudit.outputs import with_statistics
from dpaudit.seeds import trials


def outputs(models=3, samples=6, records=80, classes=4, seed=0):
    """MC outputs on test records, (models, T, records, classes), and right labels."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(classes, size=records)
    logits = draw.normal(size=(models, samples, records, classes)) + np.eye(classes)[labels]
    p = np.exp(logits)
    return p / p.sum(axis=-1, keepdims=True), labels


def measured(path, defence, shown, labels, name="test_mc", seed=0, **settings):
    with Journal.play(path, {"seed": seed, "models": 8, **settings}) as journal:
        known = {**KNOWN, "test_y": np.asarray(labels)}
        journal.settle(facts(), known)
        for row, trial in enumerate(trials(seed, 8)):
            extra = {name: shown[row]} if row < len(shown) else {}
            journal.add(trial, {"logits": np.zeros(3), **extra}, seconds=0.1)
    with Journal.read(path) as journal:
        return utility(journal, known, make(defence))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


# ---------------------------------------------------------------- the measures


def error_by_hand(p, labels):
    bins = [[] for _ in range(BINS)]
    for row, label in zip(p, labels, strict=True):
        most = max(row)
        right = list(row).count(most) == 1 and row[label] == most
        bins[min(int(most * BINS), BINS - 1)].append((right, most))
    return sum(
        len(b) / len(p) * abs(np.mean([r for r, _ in b]) - np.mean([c for _, c in b]))
        for b in bins
        if b
    )


def test_calibration_error_is_that_of_a_loop():
    shown, labels = outputs()
    for model in shown:
        p = model.mean(axis=0)
        right = p.argmax(axis=1) == labels
        assert calibration_error(p, right) == pytest.approx(error_by_hand(p, labels))


def test_whoever_is_as_sure_as_right_is_calibrated():
    p = np.array([[0.75, 0.25]] * 4 + [[0.5, 0.5]] * 2)
    assert calibration_error(p, np.array([1, 1, 1, 0, 1, 0])) == pytest.approx(0)
    assert calibration_error(np.array([[1.0, 0.0]] * 2), np.array([0, 1])) == pytest.approx(0.5)


def test_likelihood_is_that_of_a_loop_and_never_infinite():
    p = np.array([[0.7, 0.3], [0.2, 0.8], [1.0, 0.0]])
    by_hand = -(math.log(0.7) + math.log(0.8) + math.log(LEAST)) / 3
    assert negative_log_likelihood(p, np.array([0, 1, 1])) == pytest.approx(by_hand)


def test_outputs_are_scaled_and_such_as_hold_nothing_say_nothing():
    rows = [[0.2, 0.2], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [-0.5, 3.0]]
    expected = [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]
    np.testing.assert_allclose(distributions(np.array(rows)), expected)


# ---------------------------------------------------------------- of a journal


def test_every_measure_is_the_mean_over_models_of_a_loop(path):
    shown, labels = outputs()
    got = measured(path, "quantize:0.1", shown, labels)
    errors, nats, correlations, changes = [], [], [], []
    for model in shown:
        seen = with_statistics({"mc": np.moveaxis(model, 1, 0)})
        mean, std = (np.rint(seen[name] / 0.1) * 0.1 for name in ("mean", "std"))
        p = mean / mean.sum(axis=1, keepdims=True)
        ties = [sorted(row)[-1] == sorted(row)[-2] for row in mean]
        gaps = np.where(ties, -1, labels)
        errors.append(calibration_error(p, mean.argmax(axis=1) == gaps))
        nats.append(np.mean([-math.log(max(p[i, c], LEAST)) for i, c in enumerate(labels)]))
        x, y = seen["std"].ravel(), std.ravel()
        correlations.append(np.mean((x - x.mean()) * (y - y.mean())) / np.sqrt(x.var() * y.var()))
        changes.append(np.mean(np.abs(x - y)))
    assert got.calibration_error == pytest.approx(np.mean(errors))
    assert got.negative_log_likelihood == pytest.approx(np.mean(nats))
    assert got.std_correlation == pytest.approx(np.mean(correlations))
    assert got.std_change == pytest.approx(np.mean(changes))


def test_without_a_defence_the_uncertainty_is_unchanged(path):
    got = measured(path, "none", *outputs())
    assert got.std_correlation == pytest.approx(1)
    assert got.std_change == 0


@pytest.mark.parametrize(
    ("defence", "undefined"),
    [
        ("mean-std", []),
        ("mean-only", ["std_correlation", "std_change"]),
        (
            "label-only",
            ["calibration_error", "negative_log_likelihood", "std_correlation", "std_change"],
        ),
        ("quantize:1", ["calibration_error", "negative_log_likelihood", "std_correlation"]),
        ("top-k:2", []),
        ("noise:0.1", []),
        ("clip-confidence:0.7", []),
        ("temperature:3", []),
        ("fewer-samples:1", ["std_correlation"]),
        ("fewer-samples:3 + mean-std", []),
    ],
)
def test_what_is_not_defined_is_none_and_the_rest_is_a_number(path, defence, undefined):
    got = vars(measured(path, defence, *outputs()))
    assert [name for name, value in got.items() if value is None] == undefined
    assert all(math.isfinite(value) for value in got.values() if value is not None)


@pytest.mark.parametrize("samples", [1, 3, 1000])
def test_a_network_that_releases_few_passes_is_as_useful_as_those(path, tmp_path, samples):
    shown, labels = outputs()
    got = measured(path, "none", shown, labels, samples=samples)
    alone = measured(tmp_path / "alone.sqlite", "none", shown[:, :samples], labels)
    assert got == alone


def test_labels_alone_keep_the_accuracy(path, tmp_path):
    shown, labels = outputs()
    none = measured(path, "none", shown, labels)
    label = measured(tmp_path / "other.sqlite", "label-only", shown, labels)
    assert (label.accuracy, label.undecidable) == (none.accuracy, none.undecidable)


def test_a_network_without_dropout_has_no_uncertainty(path):
    shown, labels = outputs(samples=1)
    got = measured(path, "temperature:1", shown[:, 0], labels, "test_probabilities")
    assert got.std_correlation is None
    assert got.std_change is None
    by_hand = [error_by_hand(model[0], labels) for model in shown]
    assert got.calibration_error == pytest.approx(np.mean(by_hand))


def test_one_pass_on_test_records_has_no_correlation(path):
    shown, labels = outputs(samples=1)
    got = measured(path, "none", shown, labels)
    assert got.std_correlation is None
    assert got.std_change == 0


def test_a_diverged_model_leaves_no_measure_without_a_number(path):
    shown, labels = outputs(models=2)
    shown[1] = np.nan
    got = vars(measured(path, "none", shown, labels))
    assert all(math.isfinite(value) for value in got.values())
    assert got["std_correlation"] == pytest.approx(1)


def test_noise_on_test_records_is_new_for_each_and_the_same_again(path, tmp_path):
    """All records are alike: noise of 0.3 makes some labels wrong, not all or none."""
    p = np.tile([0.8, 0.2], (2, 4, 100, 1))
    a = measured(path, "noise:0.3", p, np.zeros(100, int))
    b = measured(tmp_path / "again.sqlite", "noise:0.3", p, np.zeros(100, int))
    assert a == b
    assert 0.8 < a.accuracy + a.undecidable <= 1
    assert 0 < a.accuracy < 1
