"""The search against the slow, obvious one: try every combination of thresholds."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from dpaudit.attacks import search as module
from dpaudit.attacks.search import ASCENT, EXACT, search
from dpaudit.attacks.statistics import AND, OR
from dpaudit.rates import BoundCriterion, PointCriterion

POINT, BOUND = PointCriterion(1e-5), BoundCriterion(1e-5)
BOTH = (AND, OR)


def says_in(values, kind, thresholds):
    exceeds = values > np.asarray(thresholds)
    return exceeds.all(axis=1) if kind == AND else exceeds.any(axis=1)


def value_of(values, worlds, kind, thresholds, criterion):
    said = says_in(values, kind, thresholds)
    fp, fn = (said & (worlds == 0)).sum(), (~said & (worlds == 1)).sum()
    return float(criterion(fp, (worlds == 0).sum(), fn, (worlds == 1).sum()))


def brute_force(values, worlds, kinds, criterion):
    candidates = [np.unique([*column, -np.inf, np.inf]) for column in values.T]
    return max(
        value_of(values, worlds, kind, thresholds, criterion)
        for kind in kinds
        for thresholds in product(*candidates)
    )


@st.composite
def games(draw, statistics, most=6, lowest=-np.inf):
    """At most `most` trials per world with few distinct values: ties and infinities abound."""
    out, inn = draw(st.integers(1, most)), draw(st.integers(1, most))
    numbers = st.sampled_from([lowest, -1.5, 0.0, 0.25, 0.5, 1e9, np.inf])
    row = st.lists(numbers, min_size=statistics, max_size=statistics)
    values = draw(st.lists(row, min_size=out + inn, max_size=out + inn))
    worlds = draw(st.permutations([0] * out + [1] * inn))
    return np.array(values), np.array(worlds)


criteria = st.sampled_from([POINT, BOUND])
kinds = st.sampled_from([(AND,), (OR,), BOTH])


@given(games(1), kinds, criteria)
@settings(max_examples=100, deadline=None)
def test_search_of_one_statistic_is_exact(game, kinds, criterion):
    values, worlds = game
    found = search(values, worlds, kinds, criterion)
    assert found.how == EXACT
    assert found.value == brute_force(values, worlds, kinds, criterion)


@given(games(2), kinds, criteria)
@settings(max_examples=100, deadline=None)
def test_search_of_two_statistics_is_exact(game, kinds, criterion):
    values, worlds = game
    found = search(values, worlds, kinds, criterion)
    assert found.how == EXACT
    assert found.value == brute_force(values, worlds, kinds, criterion)


@given(st.integers(1, 4).flatmap(games), kinds, criteria)
@settings(max_examples=150, deadline=None)
def test_reported_value_is_the_criterion_at_the_rules_own_counts(game, kinds, criterion):
    values, worlds = game
    found = search(values, worlds, kinds, criterion)
    assert found.kind in kinds
    for threshold, column in zip(found.thresholds, values.T, strict=True):
        assert threshold in {*column, -np.inf, np.inf}
    assert found.value == value_of(values, worlds, found.kind, found.thresholds, criterion)


@given(games(4, most=8, lowest=-2.0), criteria)
@settings(max_examples=60, deadline=None)
def test_four_statistics_never_fall_below_the_best_pair_or_single(game, criterion):
    values, worlds = game
    found = search(values, worlds, BOTH, criterion)
    assert found.how == ASCENT
    subsets = [[i] for i in range(4)] + [[i, j] for i in range(4) for j in range(i)]
    for subset in subsets:
        assert found.value >= search(values[:, subset], worlds, BOTH, criterion).value


def test_four_statistics_mostly_reach_the_brute_force():
    """Of 60 games with 6 + 6 trials the ascent finds the best rule in at least 80 %.

    Measured: 57 of 60. The few that it misses are why `how` does not say exact.
    """
    rng = np.random.default_rng(7)
    reached = []
    for criterion in (POINT, BOUND):
        for _ in range(30):
            values, worlds = rng.integers(0, 8, size=(12, 4)) / 4, np.repeat([0, 1], 6)
            best = _brute_force_by_table(values, worlds, criterion)
            found = search(values, worlds, BOTH, criterion).value
            assert found <= best
            reached.append(found == best)
    assert np.mean(reached) >= 0.8


def _brute_force_by_table(values, worlds, criterion):
    """The same as `brute_force`, with all rules of the product as one array."""
    candidates = [np.unique([*column, -np.inf, np.inf]) for column in values.T]
    thresholds = np.array(list(product(*candidates)))
    exceeds = values[None] > thresholds[:, None]
    best = -np.inf
    for said in (exceeds.all(axis=2), exceeds.any(axis=2)):
        fp, fn = said[:, worlds == 0].sum(axis=1), (~said[:, worlds == 1]).sum(axis=1)
        best = max(best, criterion(fp, (worlds == 0).sum(), fn, (worlds == 1).sum()).max())
    return best


@given(games(2), kinds, criteria, st.sampled_from([1, 3, 7, 20]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_row_blocks_and_tables_change_nothing(game, kinds, criterion, block, table):
    values, worlds = game
    whole = search(values, worlds, kinds, criterion)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        patch.setattr(module, "LARGEST_TABLE", 2**25 if table else 0)
        assert search(values, worlds, kinds, criterion) == whole


@given(st.integers(1, 4).flatmap(games), kinds, criteria, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_order_of_the_trials_changes_nothing(game, kinds, criterion, random):
    values, worlds = game
    order = random.sample(range(len(worlds)), len(worlds))
    shuffled = search(values[order], worlds[order], kinds, criterion)
    assert shuffled == search(values, worlds, kinds, criterion)


def test_ties_go_to_the_rule_with_more_statistics_switched_off():
    values = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    worlds = np.array([0, 0, 1, 1])
    off = {AND: -np.inf, OR: np.inf}
    for kind in BOTH:
        # Whichever statistic is used, the rule is the same: the last one is enough for a grid
        # (its rows are searched first to last), the first one for singles.
        assert search(values[:, :2], worlds, (kind,), BOUND).thresholds == (off[kind], 0.0)
        found = search(values, worlds, (kind,), BOUND)
        assert found.thresholds == (0.0, off[kind], off[kind])
    assert search(values, worlds, BOTH, BOUND).kind == AND
    assert search(values, worlds, (OR, AND), BOUND).kind == OR


@pytest.mark.parametrize("statistics", [1, 2, 4])
def test_hopeless_criterion_still_gives_a_legal_rule(statistics):
    def hopeless(fp, out, fn, inn):
        return np.full(np.shape(fp), -np.inf)

    values = np.random.default_rng(0).normal(size=(10, statistics))
    found = search(values, np.arange(10) % 2, BOTH, hopeless)
    assert found.value == -np.inf
    assert found.kind == AND
    assert found.thresholds == (-np.inf,) * statistics


@pytest.mark.parametrize("worlds", [np.zeros(4), np.ones(4)])
def test_one_world_alone_is_refused(worlds):
    with refuses("one-world"):
        search(np.zeros((4, 1)), worlds, (AND,), POINT)


def test_nan_and_no_kind_are_refused():
    with refuses("not-finite"):
        search(np.array([[np.nan], [0.0]]), np.array([0, 1]), (AND,), POINT)
    with refuses("none-given", option="kinds"):
        search(np.zeros((2, 1)), np.array([0, 1]), (), POINT)


def test_thousands_of_trials_are_searched_in_blocks_as_if_at_once():
    """A grid of 2,002 x 2,002 does not fit one block; the value is checked by its own counts,
    and it may not fall below any of 2,000 random rules."""
    rng = np.random.default_rng(3)
    values, worlds = rng.normal(size=(2000, 2)), np.arange(2000) % 2
    values[worlds == 1] += 0.7
    found = search(values, worlds, BOTH, BOUND)
    assert found.value == value_of(values, worlds, found.kind, found.thresholds, BOUND)
    for kind in BOTH:
        thresholds = rng.normal(size=(2000, 2))
        exceeds = values[None] > thresholds[:, None]
        said = exceeds.all(axis=2) if kind == AND else exceeds.any(axis=2)
        fp, fn = said[:, worlds == 0].sum(axis=1), (~said[:, worlds == 1]).sum(axis=1)
        assert BOUND(fp, 1000, fn, 1000).max() <= found.value
