"""The paper's experiment on points of a sphere: what comes out, and which claims hold.

Expected values are those of an independent reproduction, of one data set or a few. Ours are kept
with their deviation from data set to data set, which is the simulation error that they are held
to. Aggregates at epsilon 5, 10 and 50 are furthest; they share data and tests, so that they are one
deviation and not three. That the .973 and the pooled .987 were of the same data set cannot be: on
the same data they hardly differ.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import f, t

from dpaudit.papers.ensemble import Weighting
from dpaudit.papers.ensemble.logistic_regression import ObjectiveNoise
from reproductions.ensembles.exchange import Exchange
from reproductions.ensembles.experiment import measured
from reproductions.ensembles.sources import sphere

RESULTS = Path(__file__).parent / "results" / "ensembles.json"
KEPT = {row["name"]: row for row in json.loads(RESULTS.read_text())["experiments"]}

GRID = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0)
LAMBDAS = {
    0.1: "Fig. 3: sphere",
    0.01: "sphere, lam 0.01",
    1e-3: "sphere, lam 0.001",
    1e-5: "sphere, lam 1e-05",
}
EXPECTED = {
    "aggregated": (0.70, 0.86, 0.87, 0.94, 0.96, 0.97, 0.973),
    "private": (0.48, 0.54, 0.59, 0.67, 0.80, 0.84, 0.86),
    "pooled": (0.987, 0.987, 0.991, 0.997),
    "local": (0.872, 0.902, 0.922, 0.927),
    "cold": (0.93,),
}
"""For each epsilon, or for each regularisation; `cold` is beta .1, at epsilon 50."""


def kept(kind):
    """Means of ours, and their deviations."""
    if kind == "cold":
        row = KEPT["sphere, beta .1"]
        return np.array([row["aggregated"][-1][0]]), np.array([row["aggregated_error"][-1]])
    if kind in ("aggregated", "private"):
        row = KEPT[LAMBDAS[0.1]]
        return np.array(row[kind])[:, 0], np.array(row[f"{kind}_error"])
    rows = [KEPT[name] for name in LAMBDAS.values()]
    means = [np.ravel(row[kind])[0] for row in rows]
    return np.array(means), np.array([row[f"{kind}_error"] for row in rows])


def usual_of(found, kind):
    """Whether one run is as ours are: within 4.8 deviations, 1 in 20,000 for all of the tables."""
    mean, deviation = kept(kind)
    return (np.abs(np.asarray(found) - mean) < 4.8 * deviation).all()


@pytest.fixture(scope="module")
def split():
    return sphere(0)


@pytest.fixture(scope="module")
def exchange(split):
    return Exchange.of(split.train, 100)


@pytest.fixture(scope="module")
def usual(split, exchange):
    return measured(exchange, split.test, GRID, 0.1, Weighting(), seed=0)


def means(accuracies):
    return np.array([a.mean for a in accuracies])


@pytest.mark.parametrize("kind", EXPECTED)
def test_what_another_reproduction_has_is_within_the_simulation_error_of_ours(kind):
    """A draw is as far from the mean of so many as their deviation and that of the mean together.

    The furthest of all values is the .973, at 2.4 deviations. Were they draws of ours, any would be
    beyond the bar in at most 5 % of reproductions.
    """
    mean, deviation = kept(kind)
    runs, values = KEPT[LAMBDAS[0.1]]["runs"], sum(map(len, EXPECTED.values()))
    bar = t.isf(0.05 / 2 / values, runs - 1) * math.sqrt(1 + 1 / runs)
    assert (np.abs(EXPECTED[kind] - mean) < bar * deviation).all()


def test_aggregates_and_private_learners_are_as_right_as_usual(usual):
    assert usual_of(means(usual.aggregated), "aggregated")
    assert usual_of(means(usual.private), "private")


def test_with_little_noise_an_aggregate_is_nearly_as_right_as_if_taught_all_data(usual):
    assert abs(usual.pooled - usual.aggregated[-1].mean) < 0.0075


def test_learners_without_noise_are_as_right_as_usual(split, exchange):
    found = [measured(exchange, split.test, (), lam, Weighting(), seed=0) for lam in LAMBDAS]
    assert usual_of([one.pooled for one in found], "pooled")
    assert usual_of([one.local.mean for one in found], "local")


@pytest.mark.verify
def test_what_another_reproduction_has_could_be_a_draw_of_ours():
    """By Hotelling's T^2 of all values of a kind together; and ours are what they are said to be.

    Figures were rounded to .01, so that each has the variance of that besides. A false alarm of any
    part: one of 10,000 seeds.
    """
    number, runs = 24, []
    for seed in range(2000, 2000 + number):
        split = sphere(seed)
        exchange = Exchange.of(split.train, 100)
        runs.append(measured(exchange, split.test, GRID, 0.1, Weighting(), seed))
    for kind in ("aggregated", "private"):
        mean, deviation = kept(kind)
        found = np.array([means(getattr(run, kind)) for run in runs])
        off = found.mean(axis=0) - mean
        few = math.sqrt(1 / number + 1 / KEPT[LAMBDAS[0.1]]["runs"])
        assert (np.abs(off) < 4.8 * deviation * few).all()
        away = EXPECTED[kind] - found.mean(axis=0)
        spread = (1 + 1 / number) * (np.cov(found.T) + np.eye(len(GRID)) * 0.01**2 / 12)
        squared = away @ np.linalg.solve(spread, away)
        d = len(GRID)
        assert f.sf(squared * (number - d) / (d * (number - 1)), d, number - d) > 1e-4


def test_aggregates_are_the_better_the_larger_epsilon_is(usual):
    """C1, with so much regularisation that noise falls with epsilon."""
    assert np.diff([ObjectiveNoise.of(epsilon, 50, 0.1).epsilon for epsilon in GRID]).min() > 0
    assert np.diff(means(usual.aggregated)).min() > -0.01


def test_aggregates_beat_learning_alone_from_epsilon_2_on(usual):
    """C2: about as good at 1, where it breaks even."""
    assert (means(usual.aggregated)[3:] > usual.local.mean + 0.04).all()
    assert abs(means(usual.aggregated)[2] - usual.local.mean) < 0.06
    assert (means(usual.aggregated) > means(usual.private) + 0.1).all()


def test_a_low_temperature_is_worse_where_there_is_little_noise(split, exchange, usual):
    cold = measured(exchange, split.test, (50.0,), 0.1, Weighting(beta=0.1), seed=0)
    assert usual_of([cold.aggregated[0].mean], "cold")
    assert cold.aggregated[0].mean < usual.aggregated[-1].mean - 0.02


def test_alone_they_do_as_badly_as_the_paper_says_only_if_one_class_is_rare():
    """.559 by the paper, where a balanced sphere gives .87 to .93: its shape, with an offset."""
    split = sphere(0, offset=0.6).with_intercept()
    found = measured(Exchange.of(split.train, 100), split.test, (), 1e-6, Weighting(), 0)
    assert 0.54 < found.local.mean < 0.66
    assert found.pooled > 0.94
