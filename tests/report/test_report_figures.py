from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from report_examples import bound, inconclusive, published, violation, with_evidence

from dpaudit.rates import BoundCriterion
from dpaudit.report import drawing, figure_bounds, figure_records, figure_roc, figure_scores
from dpaudit.report.figure_roc import corner, least, most, roc
from dpaudit.report.figure_scores import NO_NUMBER, AttackScores, attack_scores, histogram
from dpaudit.report.formats import shorten
from dpaudit.report.run_figures import NAMES, figures
from dpaudit.results import Counts, Growth, Scores
from dpaudit.types import Array, Claim

LOWEST = float(np.finfo(float).min)
DRAW = np.random.default_rng(11)

SCORES = {
    "few": Scores(np.array([0.1, 0.2]), np.array([0.2, 0.3])),
    "many": Scores(DRAW.normal(size=5000), DRAW.normal(1, 1, 5000)),
    "equal": Scores(np.full(9, 2.5), np.full(9, 2.5)),
    "infinite": Scores(np.array([-np.inf, 1.0, 2.0, LOWEST]), np.array([np.inf, np.inf, 1.5, 3])),
    "nothing finite": Scores(np.array([-np.inf, LOWEST]), np.array([np.inf, np.inf])),
    "far away": Scores(np.append(DRAW.normal(size=40), 1e9), np.append(DRAW.normal(size=40), -1e9)),
    "huge": Scores(np.array([-1.7e308, 0.0, 1.0]), np.array([1.7e308, 0.5, 1.0])),
    "close": Scores(1 + 1e-7 * np.arange(9.0), 1 + 1e-7 * np.arange(4.0, 13.0)),
    "two values": Scores(np.array([0.0, 0, 0, 1]), np.array([1.0, 1, 1, 0])),
}
CUTS = [None, 0.0, 0.2, 1.0, 1.5, 2.5, -40.0, 1e300, math.inf, -math.inf]


def one(scores: Scores, cut: float | None = None, **changes: Any) -> AttackScores:
    return AttackScores("loss", scores, cut, bound("loss", **changes))


# ---------------------------------------------------------------- histograms


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", SCORES)
def test_every_score_is_in_one_bin_and_on_its_side_of_the_cut(name: str, cut: float | None) -> None:
    scores = SCORES[name]
    made = histogram(scores, cut)
    assert np.all(np.diff(made.edges) > 0)
    for world, shares in (("out", made.out), ("inn", made.inn)):
        low = getattr(made.below, world, 0.0)
        high = getattr(made.above, world, 0.0)
        assert low + shares.sum() + high == pytest.approx(1)
        if cut is not None and made.edges[0] <= cut <= made.edges[-1]:
            right = shares[made.edges[:-1] >= cut].sum() + high
            assert right == pytest.approx(np.mean(getattr(scores, world) > cut))


def test_end_bins_say_what_they_hold() -> None:
    made = histogram(SCORES["infinite"], 1.0)
    assert made.below is not None
    assert made.above is not None
    assert (made.below.out, made.below.inn) == (0.5, 0.0)
    assert made.below.label == "no number\n−∞"
    assert made.above.label == "∞"
    far = histogram(SCORES["far away"], None)
    assert far.above is not None
    assert far.above.label.startswith("> ")
    assert far.edges[-1] < 10


def test_scores_without_infinities_need_no_end_bins() -> None:
    made = histogram(SCORES["many"], 0.5)
    assert (made.below, made.above) == (None, None)
    assert 0.5 in made.edges


@pytest.mark.parametrize("name", SCORES)
def test_every_kind_of_score_can_be_drawn(name: str) -> None:
    attacks = [one(SCORES[name], 0.2), one(SCORES[name], math.inf)]
    for figure in (figure_scores.draw(attacks), figure_roc.draw(attacks, Claim(8.0, 1e-5))):
        assert drawing.svg(figure).startswith(b"<svg")


def test_a_cut_that_is_not_shown_is_told() -> None:
    assert figure_scores.off_scale(one(SCORES["many"], 0.5)) == ""
    assert "always" in figure_scores.off_scale(one(SCORES["many"], -math.inf))
    assert "never" in figure_scores.off_scale(one(SCORES["many"], math.inf))
    assert "1e+06" in figure_scores.off_scale(one(SCORES["many"], 1e6))


def test_the_deciding_attack_comes_first_and_each_attack_once() -> None:
    report = inconclusive()
    assert [a.attack for a in attack_scores(with_evidence(report))] == [
        "mean+std",
        "loss",
        "min+max",
        "all-four",
    ]
    twice = inconclusive(bounds=[bound("loss"), bound("loss", estimator="gdp")], primary=1)
    (only,) = attack_scores(with_evidence(twice))
    assert only.bound.estimator == "gdp"
    assert attack_scores(report) == []


def test_what_is_no_number_ranks_below_all_else() -> None:
    report = with_evidence(
        inconclusive(bounds=[bound()], primary=0),
        scores=[Scores(np.array([math.nan, 1.0]), np.array([0.0, -math.inf]))],
        cuts=[None],
    )
    (attack,) = attack_scores(report)
    assert attack.scores.out.tolist() == [NO_NUMBER, 1.0]


# ---------------------------------------------------------------- what a claim allows


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 8.0, 1000.0, math.inf])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.2])
def test_region_is_what_the_inequalities_allow(epsilon: float, delta: float) -> None:
    claim = Claim(epsilon, delta)
    grow = math.inf if epsilon > 700 else math.exp(epsilon)

    def times(rate: float) -> float:
        return grow * rate if rate > 0 else 0.0 if epsilon < math.inf else math.inf

    def allowed(f: float, t: float) -> bool:
        pairs = ((t, f), (1 - f, 1 - t), (f, t), (1 - t, 1 - f))
        return all(a <= times(b) + delta + 1e-12 for a, b in pairs)

    for f in np.linspace(0, 1, 41):
        low, high = float(least(np.array([f]), claim)[0]), float(most(np.array([f]), claim)[0])
        assert 0 <= low <= high + 1e-12 <= 1 + 1e-12
        for t in np.linspace(0, 1, 41):
            if min(abs(t - low), abs(t - high)) > 1e-9:
                assert allowed(f, t) == (low <= t <= high), (f, t)


@pytest.mark.parametrize("name", SCORES)
def test_roc_is_that_of_every_cut(name: str) -> None:
    scores = SCORES[name]
    fpr, tpr = roc(scores)
    everything = {*scores.out.tolist(), *scores.inn.tolist()}
    if len(everything) > 100:
        everything = set(sorted(everything)[::97])
    points = set(zip(fpr.round(12).tolist(), tpr.round(12).tolist(), strict=True))
    for cut in everything:
        rates = (np.mean(scores.out > cut), np.mean(scores.inn > cut))
        assert tuple(float(np.round(rate, 12)) for rate in rates) in points
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    assert np.all(np.diff(fpr) >= 0)
    assert np.all(np.diff(tpr) >= 0)


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.05])
def test_corner_leaves_the_region_exactly_where_the_bound_exceeds_the_claim(delta: float) -> None:
    draw = np.random.default_rng(5)
    criterion, refuted = BoundCriterion(delta), 0
    for _ in range(200):
        n = int(draw.integers(5, 400))
        fp, fn = (int(k) for k in draw.integers(0, n // 2 + 1, 2))
        epsilon = max(0.0, float(criterion(np.array(fp), n, np.array(fn), n)))
        limits = corner(bound(epsilon=epsilon, counts=Counts(fp, n, fn, n)))
        assert corner is not None
        for claimed in (0.7 * epsilon - 1e-6, epsilon + 1e-6, 1.0):
            if claimed < 0 or abs(claimed - epsilon) < 1e-9:
                continue
            outside = limits[1] > float(most(np.array([limits[0]]), Claim(claimed, delta))[0])
            assert outside == (epsilon > claimed)
            refuted += outside
    assert refuted > 50


def test_no_counts_no_rectangle() -> None:
    assert corner(bound(counts=None)) is None
    assert drawing.svg(figure_roc.draw([one(SCORES["many"], counts=None)], Claim(1.0, 0.0)))


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 8.0, 1e3, math.inf])
def test_axis_of_rare_errors_shows_every_count(epsilon: float) -> None:
    floor = figure_roc.lowest([one(SCORES["many"])], Claim(epsilon, 1e-5))
    assert figure_roc.FINEST <= floor < 1 / 5000


# ---------------------------------------------------------------- bounds against the claim


@pytest.mark.parametrize(
    ("claimed", "end", "infinite"),
    [(8.0, 8.48, False), (1.0, 2.7984, False), (1000.0, 2.7984, False), (math.inf, 2.7984, True)],
)
def test_axis_has_room_for_all_but_a_claim_far_away(
    claimed: float, end: float, infinite: bool
) -> None:
    scale = figure_bounds.axis(inconclusive(claim=Claim(claimed, 1e-5)))
    assert scale.end == pytest.approx(end)
    assert (scale.infinity is not None) == infinite
    assert scale.place(math.inf) > end if infinite else scale.place(1.5) == 1.5


def test_infinite_estimates_have_a_place_of_their_own() -> None:
    report = inconclusive(
        bounds=[bound(ceiling=math.inf, counts=None)],
        primary=0,
        published=[
            published(epsilon_in_sample=math.inf, null_mean=math.nan, null_q95=math.nan),
            published("lira", null_q95=math.inf),
        ],
    )
    scale = figure_bounds.axis(report)
    assert scale.infinity is not None
    assert scale.end < scale.place(math.inf) < math.inf
    assert drawing.svg(figure_bounds.draw(report, 2))


def test_nothing_found_at_all_is_still_an_axis() -> None:
    report = inconclusive(bounds=[bound(epsilon=0.0, ceiling=0.0)], primary=0, published=[])
    assert figure_bounds.axis(report).end > 0


@pytest.mark.parametrize("bounds", [1, 2])
def test_bounds_without_an_estimate_are_around_the_name_of_their_attack(bounds: int) -> None:
    kinds = [bound(attack="loss"), bound(attack="loss", assumption="gaussian")][:bounds]
    report = inconclusive(bounds=kinds, published=[], primary=0, evidence=None)
    (axes,) = figure_bounds.draw(report, 2).axes
    heights = {
        float(y) for line in axes.lines if line.get_marker() in "so" for y in line.get_ydata()
    }
    assert len(heights) == bounds
    assert sum(heights) == pytest.approx(axes.get_yticks()[0], abs=1e-9)


# ---------------------------------------------------------------- the canary


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 32, 32), (4, 8, 8), (2, 8, 8), (1, 1, 30)])
@pytest.mark.parametrize("alone", [False, True])
def test_every_shape_of_canary_can_be_drawn(shape: tuple[int, ...], alone: bool) -> None:
    canary = np.linspace(-2, 3, math.prod(shape)).reshape(shape)
    original = None if alone else np.zeros(shape)
    figure = figure_records.draw(canary, original, ", label 3")
    titles = [axes.get_title(loc) for axes in figure.axes for loc in ("center", "left")]
    shown = [title for title in titles if title]
    assert shown[-1] == "result, label 3"
    assert len(shown) == (1 if alone else 3)
    assert drawing.svg(figure)


def test_a_canary_that_replaced_another_record_stands_beside_it() -> None:
    figure = figure_records.draw(
        np.ones((1, 2, 2)), np.zeros((1, 2, 2)), ", label 3", replaced=True
    )
    assert [axes.get_title() for axes in figure.axes] == ["in D", "in D', label 3"]


def test_pixels_are_clipped_and_colours_kept() -> None:
    record = np.zeros((4, 2, 2))
    record[0] = 7.0
    record[1] = -7.0
    assert figure_records.as_picture(record).tolist() == [[[1.0, 0.0, 0.0]] * 2] * 2
    assert figure_records.as_picture(record[:1]).tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("largest", "factor"), [(0.5, 1), (0.1, 5), (0.03, 10), (0.004, 100), (2, 0.2)]
)
def test_noise_is_shown_as_strongly_as_it_fits(largest: float, factor: float) -> None:
    noise = np.array([-largest, largest / 2])
    assert figure_records.amplification(noise) == pytest.approx(factor)
    figure = figure_records.draw(np.full((1, 2, 2), largest), np.zeros((1, 2, 2)), "")
    title = figure.axes[1].get_title("center")
    assert title == ("noise" if factor == 1 else f"noise, {factor:g} × as strong")


@pytest.mark.parametrize("broken", [math.nan, math.inf, 1e308])
def test_a_record_that_is_no_number_can_be_drawn(broken: float) -> None:
    for shape in ((1, 3, 3), (1, 1, 9)):
        record: Array = np.full(shape, broken)
        alone = inconclusive(bounds=[bound()], primary=0)
        report = with_evidence(alone, canary=record, original=-record)
        *_, picture = figures(report, 2)
        assert picture.name == "canary"
        assert drawing.png(picture.drawing)


# ---------------------------------------------------------------- all of them


def test_every_figure_is_named_beforehand() -> None:
    """A stale figure is found by its name."""
    growth = Growth(wealth=[1.0], beside=[1.0], needed=20.0, most=400)
    report = with_evidence(violation(growth=growth))
    assert tuple(picture.name for picture in figures(report, 2)) == NAMES


def test_names_in_figures_are_short_and_plain() -> None:
    assert shorten("mean & inv_std") == "mean & inv_std"
    assert shorten("x" * 100, 20) == "x" * 19 + "…"
    assert shorten("a\x1b[2J\n\udcffb") == "a [2J b"


def test_a_name_in_another_script_warns_nobody(recwarn: pytest.WarningsRecorder) -> None:
    report = inconclusive(bounds=[bound("損失 $x$")], primary=0, published=[])
    assert drawing.svg(figure_bounds.draw(report, 2))
    assert len(recwarn) == 0


# ---------------------------------------------------------------- evidence


def growing(**changes: Any) -> Any:
    """A run that was to stop once decided."""
    course = Growth(wealth=[1.0, 4.0, 25.0], beside=[1.0, 0.0, 1e300], needed=20.0, most=400)
    curve = bound("all together", estimator="auc-bet", assumption="gaussian", counts=None)
    free = bound("all together", estimator="e-process", counts=None)
    return violation(**{"bounds": [curve, free], "primary": 0, "growth": course, **changes})


def test_evidence_is_drawn_where_a_run_was_to_stop_once_decided() -> None:
    report = growing(claim=Claim(epsilon=0.1, delta=1e-5))
    drawn = {picture.name: picture for picture in figures(report, 2)}
    assert list(drawn) == ["bounds", "evidence"]
    evidence = drawn["evidence"]
    assert "After 6 models: auc-bet 25, e-process 1e+300" in evidence.alt
    assert "reaches 20 at any time with a probability of at most 0.05" in evidence.caption
    axes = evidence.drawing.axes[0]
    one, end, other, last, needed = (np.asarray(line.get_ydata()) for line in axes.lines)
    assert (end, last) == (25, 2e4), "where each course ends is marked"
    assert one.tolist() == [1, 1, 4, 25]
    assert other.tolist() == [1, 1, 1e-3, 2e4], "cut off where it says nothing"
    assert set(needed) == {20}
    assert [text.get_text() for text in axes.get_yticklabels()].count("10") == 1
    assert "evidence" not in {picture.name for picture in figures(violation(), 2)}
