"""One training with many canaries: what is fixed beforehand, who is asked, and what is refused."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from chance import count_is
from refusals import refuses
from scipy.stats import binom

from dpaudit import audit
from dpaudit.attacks.white_box import Updates
from dpaudit.config import Config
from dpaudit.errors import BadInput, JournalError, OtherConfiguration
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.trials import Trials
from dpaudit.journal import Journal
from dpaudit.judging import one_run
from dpaudit.judging.choice import Choice
from dpaudit.judging.plan import best_guess_count, plan
from dpaudit.judging.plan_request import PlanRequest
from dpaudit.results import Guesses
from dpaudit.seeds import coins, only_trial, trial_seed
from dpaudit.types import IN, INSERTED, OUT, Claim, GaussianCurve

CONFIG = Config.from_dict(
    {
        "adversary": "white-box",
        "network": "logreg",
        "batch": "full",
        "steps": 3,
        "canaries": 60,
        "guesses": 20,
        "epsilon": 4.0,
    }
)
KNOWN = {"sample_rate": np.array(1.0), "noise_multiplier": np.array(1.0)}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Data of two classes, for which logistic regression has 130 parameters."""
    path = tmp_path_factory.mktemp("data") / "small.npz"
    draw = np.random.default_rng(0)
    np.savez(path, x=draw.uniform(size=(90, 64)).astype(np.float32), y=np.arange(90) % 2)
    return str(path)


def played(config, folder):
    """In this process."""
    with ThreadPoolExecutor(1) as pool:
        return audit.run(audit.prepare(config), folder, pool)


@pytest.fixture(scope="module")
def run(small, tmp_path_factory):
    return played(CONFIG.changed(data=small), tmp_path_factory.mktemp("runs") / "run")


def content(run):
    with Journal.read(run.journal) as journal:
        return {**journal.observations(), "worlds and indices": np.array(journal.trials())}


def alike(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


# ---------------------------------------------------------------- what is played


def test_the_journal_has_one_trial_with_the_coins_of_its_seed(run):
    there = content(run)
    assert there["updates"].shape == (1, 60, 3)
    assert there["accuracy"].shape == (1,)
    assert there["worlds and indices"].tolist() == [[IN], [0]]
    assert np.array_equal(there[INSERTED][0], coins(trial_seed(0, IN, 0), 60))


def test_coins_are_fair_and_their_own(run):
    """By chance it fails with 2e-5."""
    fallen = np.concatenate([coins(only_trial(seed).seed, 1000) for seed in range(50)])
    assert count_is(int(fallen.sum()), fallen.size, 0.5)
    assert not np.array_equal(fallen[:1000], fallen[1000:2000])


def test_the_updates_point_along_those_that_were_in(run):
    there = content(run)
    (updates,), (inserted,) = there["updates"], there[INSERTED]
    assert updates[inserted].mean() > updates[~inserted].mean() + 0.5


def test_the_same_configuration_goes_on_and_ends_with_the_same(run, small, tmp_path):
    again = played(CONFIG.changed(data=small), run.path)
    other = played(CONFIG.changed(data=small), tmp_path / "other")
    assert alike(content(again), content(run))
    assert alike(content(other), content(run))
    differing = ["guesses: 20 there, 30 here"]
    with refuses("other-configuration", value=differing, kind=OtherConfiguration):
        played(CONFIG.changed(data=small, guesses=30), run.path)
    with pytest.raises(OtherConfiguration, match=r" --out$"):
        played(CONFIG.changed(data=small, confidence=0.9), run.path)


def test_a_run_that_was_killed_before_its_training_is_not_judged_and_goes_on(run, small, tmp_path):
    folder = tmp_path / "killed"
    with ThreadPoolExecutor(1) as pool:
        prepared = audit.prepare(CONFIG.changed(data=small))

        def killed(done, total):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            audit.run(prepared, folder, pool, progress=killed)
        with refuses("not-complete", option="models", value=0):
            audit.Run(folder).judge()
        audit.run(prepared, folder, pool)
    assert alike(content(audit.Run(folder)), content(run))


def test_poisson_batches_are_scored_by_their_likelihood_ratio(small, tmp_path):
    config = CONFIG.changed(data=small, batch=20, canary="random-direction")
    report = played(config, tmp_path / "run").judge()
    assert report.bounds[0].assumption == "accountant"
    there = content(audit.Run(tmp_path / "run"))
    u, q = there["updates"][0], 20 / report.data["pool"]
    s = report.claim.curve.noise_multiplier
    expected = np.log(1 - q + q * np.exp((2 * u - 1) / (2 * s * s))).sum(axis=1)
    (inserted,) = there[INSERTED]
    assert np.allclose(report.evidence.scores[0].inn, expected[inserted])
    assert np.allclose(report.evidence.scores[0].out, expected[~inserted])


# ---------------------------------------------------------------- how it is judged


def test_the_curve_of_the_claim_decides_and_what_assumes_nothing_stands_beside(run):
    report = run.judge()
    decides, beside = report.bounds
    assert (decides.estimator, beside.estimator) == ("one-run-fdp", "one-run")
    assert report.primary == 0
    g = report.guesses
    assert (g.canaries, g.guesses) == (60, 20)
    assert decides.epsilon == OneRunFDP(0.95).bound(g, 1e-5).epsilon
    assert beside.epsilon == OneRun(0.95).bound(g, 1e-5).epsilon
    assert decides.rule == "the 10 highest scores in, the 10 lowest out"
    assert sum(decides.trials) == 60
    assert not report.published
    assert "in" not in report.data


def test_without_a_curve_what_assumes_nothing_decides(small, tmp_path):
    report = played(CONFIG.changed(data=small, claim=(1.0, 0.0)), tmp_path / "run").judge()
    assert [bound.estimator for bound in report.bounds] == ["one-run"]
    bare = Claim(1.0, 1e-5)
    assert [type(e) for e in one_run.estimators(bare, 0.9)] == [OneRun]
    curved = Claim(1.0, 1e-5, curve=GaussianCurve(1.0))
    assert [type(e) for e in one_run.estimators(curved, 0.9)] == [OneRunFDP, OneRun]


def test_a_training_with_too_little_noise_is_found_out(small, tmp_path):
    less = {"epsilon": None, "noise_multiplier": 0.3, "claim": (1.0, 1e-5), "guesses": 30}
    report = played(CONFIG.changed(data=small, **less), tmp_path / "run").judge()
    assert report.verdict == "VIOLATION"


def test_the_highest_scores_are_called_in_and_the_lowest_out():
    scores = np.array([0.0, 5.0, 4.0, -1.0, -2.0, 1.0])
    put_in = np.array([True, True, False, False, True, False])
    assert one_run.count_right(scores, put_in, 4) == Guesses(6, 4, 2)
    assert one_run.count_right(scores, put_in, 1) == Guesses(6, 1, 1)
    assert one_run.count_right(scores, put_in, 3) == Guesses(6, 3, 1)
    assert one_run.count_right(scores, ~put_in, 6) == Guesses(6, 6, 4)
    for r in range(1, 7):
        ranked = sorted(range(6), key=lambda i: scores[i])
        right = sum(not put_in[i] for i in ranked[: r // 2])
        right += sum(put_in[i] for i in ranked[6 - (r - r // 2) :])
        assert one_run.count_right(scores, put_in, r) == Guesses(6, r, right)


def test_no_attack_is_shown_the_true_coins():
    class Cheat(Updates):
        """Scores trials by the worlds that it is given."""

        def fit(self, features, worlds, criterion):
            rule = super().fit(features, worlds, criterion)
            object.__setattr__(rule, "score", lambda features: worlds.astype(float))
            return rule

        __slots__ = ()

    draw = np.random.default_rng(0)
    worlds = np.where(draw.random(1000) < 0.5, IN, OUT)
    cheat = Cheat()
    canaries = Trials(draw.normal(size=(1000, 1)), worlds, "cheat")
    found = one_run.count_right(one_run.canary_scores(cheat, canaries), worlds == IN, 1000)
    assert count_is(found.correct, 1000, 0.5)


def test_what_is_no_number_scores_lowest():
    seen = {"updates": np.array([[1.0, 2.0], [np.nan, 3.0], [-5.0, 0.0]])}
    features = Updates().features(seen, KNOWN)
    scores = one_run.canary_scores(Updates(), Trials(features, np.array([0, 1, 0])))
    assert np.argsort(scores).tolist() == [1, 2, 0]


def test_nothing_else_may_be_chosen_once_it_is_over(run):
    own = run.judge()
    assert run.judge(attacks=("updates",), confidence=0.95).bounds == own.bounds
    for other in ({"confidence": 0.9}, {"attacks": ("loss",)}, {"estimator": "one-run"}):
        with refuses("fixed-choice"):
            run.judge(**other)
    with refuses("judged-otherwise", option="canaries"):
        run.compare(["quantize:0.1"])


def test_a_journal_without_its_coins_is_damaged(run, tmp_path):
    copy = tmp_path / "copy" / "journal.sqlite"
    copy.parent.mkdir()
    copy.write_bytes(run.journal.read_bytes())
    with Journal.read(copy) as journal:
        journal._db.execute("DELETE FROM seen WHERE name = 'inserted'")
    with refuses("journal-damaged", kind=JournalError):
        audit.Run(copy.parent).judge()


# ---------------------------------------------------------------- how many are guessed


@pytest.mark.parametrize("curve", [GaussianCurve(1.0), None])
def test_without_a_number_as_many_are_guessed_as_a_plan_takes_for_what_decides(curve):
    claim = Claim(3.0, 1e-5, curve=curve)
    asked = PlanRequest.of(claim, canaries=500, confidence=0.95)
    assert best_guess_count(claim, 500, 0.95) == plan(asked).rows[-1].judging


def test_the_number_is_settled_before_anything_is_played(small, tmp_path):
    prepared = audit.prepare(CONFIG.changed(data=small, guesses=None))
    assert prepared.config.attacker.guesses == best_guess_count(prepared.claim, 60, 0.95)
    assert "guesses" in prepared.config.to_dict()


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("change", "code", "option", "value"),
    [
        ({"canaries": 0}, "too-small", "canaries", 0),
        ({"canaries": 1}, "needs-option", "guesses", "canaries"),
        ({"guesses": 61}, "too-large", "guesses", 61),
        ({"guesses": 0}, "too-small", "guesses", 0),
        ({"models": 200}, "excluded-options", "models", "canaries"),
        ({"until_decided": True}, "excluded-options", "until_decided", "canaries"),
        ({"estimator": "one-run"}, "excluded-options", "estimator", "canaries"),
        ({"defence": "quantize:0.1"}, "excluded-options", "defence", "canaries"),
        ({"primary": "updates"}, "excluded-options", "primary", "canaries"),
        ({"adversary": "per-step"}, "excluded-options", "adversary", "canaries"),
        ({"adversary": "observer"}, "excluded-options", "adversary", "canaries"),
        ({"canary": "blank"}, "one-canary-only", "canary", "blank"),
        ({"attacks": ("updates", "loss")}, "attack-chooses", "attacks", ["updates", "loss"]),
        ({"attacks": ("learned",)}, "attack-chooses", "attacks", ["learned"]),
        ({"mechanism": "leaky"}, "one-canary-only", "mechanism", "leaky"),
    ],
)
def test_what_cannot_be_one_run_is_refused_in_one_sentence(
    change, code, option, value, small, plugins
):
    with refuses(code, option, value) as error:
        audit.prepare(CONFIG.changed(data=small, **change))
    assert "\n" not in str(error.value)


def test_more_canaries_than_parameters_are_refused(small):
    with pytest.raises(BadInput, match=r"131 .* 130 "):
        audit.prepare(CONFIG.changed(data=small, canaries=131))


def test_settings_of_one_run_leave_those_of_others_as_they_were():
    assert not {"canaries", "guesses"} & Config().to_dict().keys()
    assert "models" not in CONFIG.to_dict()
    assert Config.from_dict(CONFIG.to_dict()) == CONFIG
    assert CONFIG.digest() != CONFIG.changed(guesses=21).digest()


# ---------------------------------------------------------------- whether it is a bound


@pytest.mark.verify
def test_a_claim_that_holds_is_refuted_no_more_often_than_is_said(small, tmp_path):
    """200 audits of a mechanism that leaks all that it claims, by few guesses on a small claim.

    If 5 % were above the claim, more than `most` would be with a probability of at most 1e-4.
    With these seeds 2 of 200 are, by either estimator.
    """
    above, most = np.zeros(2), int(binom.isf(1e-4, 200, 0.05))
    for seed in range(200):
        config = CONFIG.changed(data=small, seed=seed, epsilon=0.5, guesses=12)
        report = played(config, tmp_path / str(seed)).judge()
        above += [bound.epsilon > report.claim.epsilon for bound in report.bounds]
    assert above.max() <= most, above


@pytest.mark.verify
def test_of_a_thousand_canaries_much_of_the_leak_is_shown(tmp_path):
    """Five audits of the embedded digits, claimed epsilon 8, by one training each.

    The seeds are fixed, so that nothing is left to chance; the means are 4.64 and 2.80.
    """
    base = {"adversary": "white-box", "batch": "full", "canaries": 1000, "guesses": 200}
    reports = [
        played(Config.from_dict({**base, "seed": seed}), tmp_path / str(seed)).judge()
        for seed in range(5)
    ]
    found = [[bound.epsilon for bound in report.bounds] for report in reports]
    by_curve, outright = np.mean(found, axis=0)
    assert by_curve >= 4.2
    assert outright >= 2.5


def test_a_choice_of_the_run_itself_is_no_other_choice():
    Choice(attacks=["updates"]).refuse_other({"attacks": ("updates",)}, "it")
    with refuses("fixed-choice"):
        Choice(attacks=["loss"]).refuse_other({"attacks": ("updates",)}, "it")
