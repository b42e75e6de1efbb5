"""Leak and utility behind defences, against loops that are obviously right."""

from unittest.mock import patch

import numpy as np
import pytest
from playground import KNOWN, LABEL, facts, observe, worlds_and_indices, write_journal
from refusals import refuses

from dpaudit.config.settings import Judging
from dpaudit.defences import MeanStd, NoDefence, Quantize
from dpaudit.errors import BadInput
from dpaudit.estimators import ClopperPearson, ExactScan
from dpaudit.journal import Journal
from dpaudit.judging.choice import Choice
from dpaudit.judging.compare import compare
from dpaudit.judging.judge import judge
from dpaudit.outputs import NO_LABEL, labels_of
from dpaudit.protocols import Defence
from dpaudit.seeds import trials
from dpaudit.types import Claim, StepsCurve

FAST = ("loss", "mean", "mean+std")
CHAIN = "mean-std + quantize:0.1"
DELTA = 1e-5


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "journal.sqlite"


def compare_run(path, *defences, attacks=FAST, permutations=5, **choice):
    few = patch("dpaudit.estimators.published.PERMUTATIONS", permutations)
    with few, Journal.read(path) as journal:
        return compare(journal, defences or ["quantize:0.1"], Choice(attacks, **choice))


def observations_of(models, shift=0.0, seed=0):
    worlds, _ = worlds_and_indices(models)
    return observe(worlds, np.random.default_rng(seed), shift)


def bounds(defended):
    return {bound.attack: bound for bound in defended.bounds}


def with_tests(path, outputs, labels, models=8, name="test_mc"):
    """A journal whose first trials also show outputs on test records."""
    seen = observations_of(models)
    with Journal.open_for_writing(path, {"seed": 0, "models": models}) as journal:
        known = KNOWN if labels is None else {**KNOWN, "test_y": np.asarray(labels)}
        journal.write_facts(facts(), known)
        for row, trial in enumerate(trials(0, models)):
            shown = {n: array[row] for n, array in seen.items()}
            if row < len(outputs):
                shown[name] = outputs[row]
            journal.add(trial, shown, seconds=0.1)
    return path


# ---------------------------------------------------------------- leak


def test_single_steps_have_no_defence_to_compare(path):
    claim = Claim(1.0, DELTA, curve=StepsCurve(0.05, 40, 1.0))
    told = {**facts(), "claim": claim.to_dict()}
    with patch("playground.facts", return_value=told):
        write_journal(path, observations_of(8), attacks=FAST)
    with refuses("nothing-released", option="adversary", value="per-step"):
        compare_run(path)


@pytest.mark.parametrize(
    ("attacker", "attack", "shown"),
    [("white-box", "updates", (5,)), ("final-weights", "weights", ())],
)
def test_no_defence_stands_before_what_insiders_see(path, attacker, attack, shown):
    name = {"updates": "updates", "weights": "moved"}[attack]
    seen = {name: np.random.default_rng(0).normal(size=(8, *shown))}
    with patch("playground.facts", return_value={**facts(), "attacker": attacker}):
        write_journal(path, seen, attacks=[attack])
    with refuses("nothing-released", option="adversary", value=attacker) as caught:
        compare_run(path, attacks=[attack])
    assert "--adversary observer or worst-case" in str(caught.value)


def test_without_a_defence_the_numbers_are_those_of_the_report(path):
    write_journal(path, observations_of(80, shift=3.0), attacks=FAST)
    comparison = compare_run(path)
    few = patch("dpaudit.estimators.published.PERMUTATIONS", 5)
    with few, Journal.read(path) as journal:
        report = judge(journal, Choice(FAST))
    first = comparison.rows[0]
    assert first.defence == "none"
    deciding = report.bounds[report.primary]
    assert next(b for b in first.bounds if b.attack == deciding.attack) == deciding
    assert first.published == report.published
    assert first.strongest == report.bounds[report.primary].attack
    assert comparison.models == report.models
    assert comparison.claim == report.claim


def test_behind_a_defence_they_are_those_of_a_run_that_released_so(path, tmp_path):
    """The attacker adapts: everything is chosen anew on the defended outputs."""
    worlds, _ = worlds_and_indices(80)
    seen = observe(worlds, np.random.default_rng(1), 3.0)
    write_journal(path, seen)
    p = seen["mc"].astype(float)
    rounded = {
        "mean": np.rint(p.mean(axis=1) / 0.1) * 0.1,
        "std": np.rint(p.std(axis=1) / 0.1) * 0.1,
    }
    so = write_journal(tmp_path / "so" / "j", rounded)
    attacks = ("mean", "mean+std")
    behind = compare_run(path, "quantize:0.1", attacks=attacks).rows[1]
    like = compare_run(so, attacks=attacks).rows[0]
    assert behind.bounds == like.bounds
    assert behind.published == like.published
    assert behind.bounds != compare_run(path, attacks=attacks).rows[0].bounds


def test_no_leak_certifies_zero_behind_every_defence(tmp_path):
    """Seeds are fixed; with others a bound would be above 0 with probability 0.11 % at most
    (`worst_alarm_rate` of test_judge), so that all 45 are 0 with at least 95 %.
    """
    found = []
    for seed in range(5):
        path = write_journal(tmp_path / str(seed) / "j", observations_of(80, seed=seed))
        for defended in compare_run(path, "quantize:0.01", "quantize:0.2").rows:
            found += [bound.epsilon for bound in defended.bounds]
    assert found == [0.0] * 45


def test_a_leak_is_certified_below_its_ceiling_and_coarse_rounding_lowers_it(path):
    """The canary's class has up to 0.1 where it is out, 0.1 to 0.3 where it is in: in a quarter
    of those it still shows after rounding to 0 or 0.5."""
    worlds, _ = worlds_and_indices(200)
    p = np.random.default_rng(0).uniform(size=200)
    p = np.where(worlds == 1, 0.1 + 0.2 * p, 0.1 * p)[:, None] * np.eye(3)[LABEL]
    p += (1 - p[:, [LABEL]]) * np.eye(3)[0]
    with np.errstate(divide="ignore"):
        seen = {"logits": np.log(p), "mean": p, "std": np.minimum(p, 1 - p)}
    write_journal(path, seen)
    none, fine, coarse = compare_run(path, "quantize:0.01", "quantize:0.5").rows
    for defended in (none, fine, coarse):
        for bound in defended.bounds:
            assert 0 <= bound.epsilon <= bound.ceiling
            made = {"exact-scan": ExactScan(), "clopper-pearson": ClopperPearson()}
            assert bound.ceiling == made[bound.estimator].ceiling(*bound.trials, DELTA)
    for attack in FAST:
        assert bounds(none)[attack].epsilon > 1
        assert bounds(fine)[attack].epsilon > 1
        assert bounds(coarse)[attack].epsilon < bounds(none)[attack].epsilon


def test_a_leak_below_half_a_unit_is_gone(path):
    worlds, _ = worlds_and_indices(80)
    mean = np.full((80, 3), 0.4)
    mean[:, LABEL] = np.where(worlds == 1, 0.21, 0.19)
    write_journal(path, {"mean": mean, "std": np.zeros((80, 3))})
    attacks, counted = ("mean", "mean+std"), "clopper-pearson"
    none, coarse = compare_run(path, "quantize:0.1", attacks=attacks, estimator=counted).rows
    assert [b.epsilon for b in none.bounds] == [b.ceiling for b in none.bounds]
    assert [b.epsilon for b in coarse.bounds] == [0, 0]
    assert [p.epsilon_in_sample for p in coarse.published] == [0, 0]


def test_bounds_are_at_the_confidence_asked_for_and_by_the_estimator(path):
    write_journal(path, observations_of(80, shift=4.0))
    sure, surer = (compare_run(path, confidence=c) for c in (0.9, 0.99))
    for a, b in zip(sure.rows, surer.rows, strict=True):
        for x, y in zip(a.bounds, b.bounds, strict=True):
            assert (x.confidence, y.confidence) == (0.9, 0.99)
            assert (x.rule, x.counts) == (y.rule, y.counts)
            assert x.epsilon > y.epsilon
            picked = x.attack == a.strongest
            assert x.selection.startswith("hold-out") or not picked


def test_diverged_models_are_attacked_like_any_other(path):
    seen = {name: array.copy() for name, array in observations_of(80, shift=4.0).items()}
    for array in seen.values():
        array[::7] = np.nan
    write_journal(path, seen)
    for defended in compare_run(path, attacks=Judging.attacks).rows:
        for bound in defended.bounds:
            assert 0 <= bound.epsilon <= bound.ceiling


def test_one_pass_is_compared_too(path):
    seen = observations_of(80, shift=4.0)
    write_journal(path, {**seen, "mc": seen["mc"][:, :1]})
    attacks, counted = ("mean", "inv_std", "mean+std"), "clopper-pearson"
    none, quantized = compare_run(path, attacks=attacks, estimator=counted).rows
    for defended in (none, quantized):
        found = bounds(defended)
        assert found["inv_std"].epsilon == 0
        assert found["mean+std"].epsilon == found["mean"].epsilon > 0


def test_strongest_is_picked_without_the_judging_half(tmp_path):
    seen = observations_of(80, shift=2.0)
    _, indices = worlds_and_indices(80)
    judging = np.flatnonzero(indices % 2 == 1)
    changed = {name: array.copy() for name, array in seen.items()}
    for array in changed.values():
        array[judging] = array[judging][np.random.default_rng(0).permutation(len(judging))]
    a, b = (
        compare_run(write_journal(tmp_path / name / "j", s), "quantize:0.05", "quantize:0.3")
        for name, s in (("a", seen), ("b", changed))
    )
    for x, y in zip(a.rows, b.rows, strict=True):
        assert x.strongest == y.strongest
        assert [bound.rule for bound in x.bounds] == [bound.rule for bound in y.bounds]
    assert a.rows[0].bounds != b.rows[0].bounds


def test_no_look_is_numbered(path):
    write_journal(path, observations_of(40), attacks=["loss"], primary="loss")
    before = path.read_bytes()
    compare_run(path, "quantize:0.1", attacks=("mean",))
    assert path.read_bytes() == before


EVERY = (
    "mean-std",
    "mean-only",
    "label-only",
    "top-k:2",
    "temperature:2",
    "noise:0.05",
    "clip-confidence:0.6",
    "fewer-samples:1",
    "mean-std + quantize:0.02",
)


def test_an_adaptive_attack_is_led_against_every_defence(path):
    """What is learned is learned from what is left, and finds a leak that is still there."""
    write_journal(path, observations_of(80, shift=6.0))
    comparison = compare_run(path, *EVERY, attacks=("learned",))
    assert [d.defence for d in comparison.rows] == ["none", *EVERY]
    for defended in comparison.rows:
        assert defended.strongest == "learned"
        assert bounds(defended)["learned"].epsilon > 0.5, defended.defence
        (estimate,) = defended.published
        assert estimate.permutations == 5


def test_a_temperature_stops_no_attacker_who_adapts(path):
    write_journal(path, {"logits": observations_of(80, shift=5.0)["logits"]})
    none, flat = compare_run(path, "temperature:4", attacks=("learned",)).rows
    assert bounds(none)["learned"].epsilon > 1
    assert bounds(flat)["learned"].epsilon > 0.8 * bounds(none)["learned"].epsilon


def test_enough_noise_leaves_nothing_to_certify(path):
    write_journal(path, observations_of(80, shift=6.0))
    none, drowned = compare_run(path, "mean-std + noise:50", attacks=("mean", "learned")).rows
    assert min(b.epsilon for b in none.bounds) > 0.5
    assert [b.epsilon for b in drowned.bounds] == [0, 0]


def test_noise_is_the_same_whenever_a_run_is_compared(path):
    write_journal(path, observations_of(40, shift=2.0))
    a, b = (compare_run(path, "noise:0.1", attacks=("mean", "loss")) for _ in range(2))
    assert a == b


def test_no_leak_certifies_zero_behind_noise_on_equal_outputs(tmp_path):
    """Trials that release the same have noise of their own, from which nothing can be learned.

    Seeds are fixed; with others a bound would be above 0 with probability 0.11 % at most
    (`worst_alarm_rate` of test_judge), so that all 10 are 0 with at least 98.9 %.
    """
    found = []
    for seed in range(5):
        same = {"mean": np.full((80, 3), 1 / 3), "std": np.full((80, 3), 0.1)}
        path = write_journal(tmp_path / str(seed) / "j", same, seed=seed)
        counted = {"attacks": ("mean", "mean+std"), "estimator": "clopper-pearson"}
        behind = compare_run(path, "noise:0.05", **counted).rows[1]
        found += [bound.epsilon for bound in behind.bounds]
    assert found == [0.0] * 10


def test_progress_is_told_defence_by_defence(path):
    write_journal(path, observations_of(8))
    told = []
    with Journal.read(path) as journal:
        compare(journal, ["mean-std"], Choice(("mean",)), lambda *done: told.append(done))
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_all_trials_are_defended_once(path):
    """What a defence releases is known from a few trials, before any work is done."""
    write_journal(path, observations_of(40))
    rows = []

    def counting(seen):
        rows.append(len(seen["mean"]))
        return {"mean": seen["mean"]}

    compare_run(path, Theirs(counting), attacks=("mean",))
    assert rows.count(40) == 1


# ---------------------------------------------------------------- which attacks


def test_an_attack_is_led_where_it_fits(path):
    write_journal(path, observations_of(40))
    comparison = compare_run(path, attacks=("min+max", "mean"))
    assert comparison.attacks == ["min+max", "mean"]
    assert [list(bounds(d)) for d in comparison.rows] == [["min+max", "mean"], ["mean"]]
    assert comparison.rows[1].strongest == "mean"


def test_no_attack_may_be_left_behind_a_defence(path):
    write_journal(path, observations_of(40))
    none, nothing_left = compare_run(path, attacks=("min+max",)).rows
    assert list(bounds(none)) == ["min+max"]
    assert (nothing_left.bounds, nothing_left.published) == ([], [])
    assert nothing_left.strongest is None


def test_of_the_default_attacks_those_take_part_that_fit(path):
    write_journal(path, {"logits": observations_of(40)["logits"]})
    assert compare_run(path, attacks=Judging.attacks).attacks == ["loss", "learned"]


@pytest.mark.parametrize(
    ("seen", "attacks", "told"),
    [
        ("logits", ("loss", "mean"), "attack mean"),
        ("accuracy", Judging.attacks, "no attack"),
        ("logits", ("losss",), "'loss'?"),
    ],
)
def test_an_attack_that_fits_nowhere_is_refused(path, seen, attacks, told):
    write_journal(path, {seen: observations_of(8)[seen]})
    with pytest.raises(BadInput) as caught:
        compare_run(path, attacks=attacks)
    assert told in str(caught.value)


# ---------------------------------------------------------------- which defences


def test_defences_come_after_none_in_the_order_given(path):
    write_journal(path, observations_of(8))
    comparison = compare_run(path, "quantize:0.5", Quantize(0.1), "quantize:0.01")
    names = [d.defence for d in comparison.rows]
    assert names == ["none", "quantize:0.5", "quantize:0.1", "quantize:0.01"]


def test_a_defence_made_already_is_the_same_as_its_text(path):
    write_journal(path, observations_of(40, shift=3.0))
    assert compare_run(path, Quantize(0.1)) == compare_run(path, "quantize:0.1")


@pytest.mark.parametrize(
    ("defences", "code", "value"),
    [
        ([], "none-named", None),
        (["none"], "no-effect", "none"),
        ([NoDefence()], "no-effect", "none"),
        (["quantize:0.1", "quantize:0.1"], "named-twice", "quantize:0.1"),
        (["quantize:0.1", "quantize:1e-1"], "named-twice", "quantize:1e-1"),
        (["quantize:0.1", Quantize(0.1)], "named-twice", "quantize:0.1"),
        ([CHAIN, MeanStd() + Quantize(0.1)], "named-twice", CHAIN),
    ],
)
def test_defences_that_cannot_be_compared_are_refused(path, defences, code, value):
    write_journal(path, observations_of(8))
    with refuses(code, option="defence", value=value), Journal.read(path) as journal:
        compare(journal, defences, Choice(FAST))


def test_one_text_is_one_defence(path):
    write_journal(path, observations_of(8))
    with Journal.read(path) as journal:
        comparison = compare(journal, "quantize:0.1", Choice(("loss",)))
    assert [d.defence for d in comparison.rows] == ["none", "quantize:0.1"]


class Theirs(Defence):
    """A third party's defence."""

    def __init__(self, theirs):
        self.theirs = theirs

    def protect(self, seen):
        return self.theirs(seen)

    def __str__(self):
        return "theirs"


def fails(seen):
    raise ZeroDivisionError("by\nzero")


@pytest.mark.parametrize(
    "protect", [fails, lambda s: None, lambda s: {"mean": s["mean"][1:]}, lambda s: {"mean": "x"}]
)
def test_a_defence_that_does_wrong_is_told_in_one_sentence(path, protect):
    write_journal(path, observations_of(8))
    with pytest.raises(BadInput, match="theirs failed: ") as caught:
        compare_run(path, Theirs(protect))
    assert "\n" not in str(caught.value)


def test_a_defence_cannot_change_what_the_others_see(path):
    def careless(seen):
        seen["mean"][:] = 0.5
        return seen

    write_journal(path, observations_of(8))
    with pytest.raises(BadInput, match="read-only"):
        compare_run(path, Theirs(careless))


# ---------------------------------------------------------------- utility


def softmax(logits):
    p = np.exp(logits)
    return p / p.sum(axis=-1, keepdims=True)


def utility_outputs(models=5, samples=6, records=150, classes=3, seed=0):
    """MC outputs on test records, as mechanisms store them: (T, records, classes), float16."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(classes, size=records)
    logits = draw.normal(size=(models, samples, records, classes)) + 0.7 * np.eye(classes)[labels]
    return softmax(logits).astype(np.float16), labels


def by_hand(outputs, labels, unit):
    """Accuracy and undecidable share, record by record."""
    right, tied = [], []
    for model in outputs:
        for r in range(model.shape[1]):
            mean = model[:, r].astype(float).mean(axis=0)
            units = [round(m / unit) for m in mean] if unit else list(mean)
            winners = [c for c, u in enumerate(units) if u == max(units)]
            tied.append(len(winners) > 1)
            right.append(winners == [labels[r]])
    return np.mean(right), np.mean(tied)


def test_accuracy_and_undecidable_share_are_those_of_a_loop(path):
    outputs, labels = utility_outputs()
    with_tests(path, outputs, labels)
    units = [None, 0.01, 0.05, 0.2, 0.5, 1]
    comparison = compare_run(path, *(f"quantize:{u}" for u in units[1:]), attacks=("loss",))
    ties = []
    for unit, defended in zip(units, comparison.rows, strict=True):
        accuracy, undecidable = by_hand(outputs, labels, unit)
        got = defended.utility
        assert got.accuracy == pytest.approx(accuracy, abs=1e-12)
        assert got.undecidable == pytest.approx(undecidable, abs=1e-12)
        assert (got.models, got.records) == (5, 150)
        ties.append(undecidable)
    assert 0 < ties[2] < ties[3] < ties[4] < 1, "the test sees ties of every share"


def test_a_tie_counts_as_an_error_and_is_told(path):
    """Three records, right label 0: clearly, by a hair that rounding takes away, wrongly."""
    p = np.array([[0.8, 0.1, 0.1], [0.41, 0.39, 0.2], [0.2, 0.7, 0.1]])
    with_tests(path, np.stack([np.stack([p, p])]), [0, 0, 0])
    none, rounded = compare_run(path, "quantize:0.1", attacks=("loss",)).rows
    assert (none.utility.accuracy, none.utility.undecidable) == pytest.approx((2 / 3, 0))
    assert (rounded.utility.accuracy, rounded.utility.undecidable) == pytest.approx((1 / 3, 1 / 3))


def test_outputs_of_a_diverged_model_have_no_label(path):
    outputs, labels = utility_outputs(models=2)
    outputs[1] = np.nan
    with_tests(path, outputs, labels)
    alone, _ = by_hand(outputs[:1], labels, None)
    none, rounded = (d.utility for d in compare_run(path, attacks=("loss",)).rows)
    assert none.accuracy == pytest.approx(alone / 2)
    assert none.undecidable == 0.5
    assert rounded.undecidable >= 0.5


def test_a_network_without_dropout_is_judged_by_its_probabilities(path):
    outputs, labels = utility_outputs(samples=1)
    with_tests(path, outputs[:, 0], labels, name="test_probabilities")
    for unit, defended in zip(
        (None, 0.2), compare_run(path, "quantize:0.2", attacks=("loss",)).rows, strict=True
    ):
        accuracy, undecidable = by_hand(outputs, labels, unit)
        got = defended.utility
        assert (got.accuracy, got.undecidable) == pytest.approx((accuracy, undecidable))
        assert (got.models, got.records) == (5, 150)


def test_fewer_records_than_labels_are_the_first(path):
    outputs, labels = utility_outputs()
    with_tests(path, outputs[:, :, :10], labels)
    got = compare_run(path, attacks=("loss",)).rows[0].utility
    assert got.accuracy == pytest.approx(by_hand(outputs[:, :, :10], labels, None)[0])
    assert got.records == 10


@pytest.mark.parametrize(
    ("outputs", "labels"), [([], None), ([], [0, 1]), (utility_outputs()[0], None)]
)
def test_without_test_outputs_or_their_labels_utility_is_not_measured(path, outputs, labels):
    with_tests(path, outputs, labels)
    assert [d.utility for d in compare_run(path).rows] == [None, None]


def test_a_defence_that_lets_no_prediction_out_has_no_utility(path):
    outputs, labels = utility_outputs()
    with_tests(path, outputs, labels)
    silent = Theirs(lambda seen: {"std": seen["std"]})
    none, theirs = compare_run(path, silent, attacks=("inv_std",)).rows
    assert none.utility is not None
    assert theirs.utility is None


@pytest.mark.parametrize("shape", [(6, 40), (6, 41, 3), (2, 6, 40, 3), (6, 0, 3)])
def test_test_outputs_of_a_strange_shape_are_refused(path, shape):
    with_tests(path, [np.zeros(shape)], np.zeros(40, int))
    with pytest.raises(BadInput, match=r"test_mc .* 40 .* 3 axes"):
        compare_run(path, attacks=("loss",))


def test_no_label_where_no_single_class_is_largest():
    rows = [[0.2, 0.8], [0.5, 0.5], [np.nan, 0.5], [0.0, 0.0], [0.9, 0.1]]
    assert labels_of(np.array(rows)).tolist() == [1, NO_LABEL, NO_LABEL, NO_LABEL, 0]
