"""One training with many canaries, each put in by a fair coin: guess which, and judge the guesses.

Everything is fixed before the training: the score, how many canaries are called in (those that
score highest) and how many out (the lowest), and who judges. The coins are shown to nothing but
the count of right guesses.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.one_run import guessed
from dpaudit.estimators.selections import known_curve
from dpaudit.estimators.selections.guess_numbers import FIXED_BEFOREHAND, rule
from dpaudit.estimators.trials import Trials
from dpaudit.journal import Journal
from dpaudit.judging import run_data
from dpaudit.judging.advice import after_one_run
from dpaudit.judging.choice import Choice
from dpaudit.judging.judge import make_report
from dpaudit.protocols import Attack, Estimator, has_fixed_score
from dpaudit.rates import BoundCriterion
from dpaudit.results import Report, Scores
from dpaudit.types import IN, OUT, Array, Claim


def judge(journal: Journal, choice: Choice) -> Report:
    """The report of a run that was one training, judged only as it was configured."""
    started = time.perf_counter()
    seen = run_data.canaries(journal)
    choice.refuse_other(
        seen.settings,
        f"the run at {journal.path.parent} is one training with many canaries, of which nothing "
        "may be chosen once it is over: it",
    )
    attacks = choice.fitting(seen.seen)
    ((name, attack),) = refuse_choosing(attacks).items()
    scores = scored(attack, seen.trials(name, attack))
    put_in = seen.worlds == IN
    guesses = guessed(scores, put_in, int(seen.settings["guesses"]))
    claim, whole = seen.claim, journal.observations()
    # Records are the same, whichever canaries are in.
    records = {k: v for k, v in seen.settled.data.items() if k not in ("in", "out")}
    seen = replace(seen, settled=replace(seen.settled, data=records))
    bounds = [
        replace(
            estimator.bound(guesses, claim.delta),
            attack=name,
            rule=rule(guesses),
            selection=FIXED_BEFOREHAND,
            trials=(int((~put_in).sum()), int(put_in.sum())),
        )
        for estimator in estimators(claim, choice.confidence)
    ]
    shown = Scores(out=scores[~put_in], inn=scores[put_in])
    return make_report(
        *(journal, choice, seen, started, bounds),
        released=whole,
        scores=[shown for _ in bounds],
        why=_why(claim),
        models={"in": 1, "out": 0, "choosing": 0, "judging": 1},
        utility={n: float(a[0]) for n, a in whole.items() if n == "accuracy"},
        next_steps=after_one_run(claim, bounds[0]),
    )


def _why(claim: Claim) -> str:
    """Why the estimator that decides was taken."""
    if known_curve(claim) is None:
        return "one-run decides because the claim states no curve that can be computed."
    return (
        "one-run-fdp decides because the claim states its curve, by which as many right guesses "
        "show more; one-run, beside it, assumes nothing."
    )


def refuse_choosing(attacks: Mapping[str, Attack]) -> Mapping[str, Attack]:
    """The attacks, unless there is something to choose: one of several, or a rule."""
    if len(attacks) > 1 or not all(map(has_fixed_score, attacks.values())):
        raise BadInput(
            "one training leaves no canaries to choose a rule on; name one attack whose score is "
            f"fixed, such as updates, not {', '.join(attacks)}",
            "attack-chooses",
            option="attacks",
            value=list(attacks),
        )
    return attacks


def estimators(claim: Claim, confidence: float) -> Sequence[Estimator]:
    """What decides, and what assumes nothing beside it, where that does not decide."""
    free, curve = OneRun(confidence), known_curve(claim)
    return [free] if curve is None else [OneRunFDP(confidence, curve, claim.adjacency), free]


def scored(attack: Attack, canaries: Trials) -> Array:
    """One number a canary; what is no number is lower than any.

    The rule is made on worlds that have nothing to do with the coins, so that no attack, whatever
    it does with worlds, can learn from the true ones.
    """
    others = np.where(np.arange(len(canaries)) % 2, IN, OUT)
    blind = replace(canaries, worlds=others)
    rule = blind.fit(attack, BoundCriterion(0.0))
    found = blind.scores(rule)
    scores = np.empty(len(canaries))
    scores[others == IN], scores[others == OUT] = found.inn, found.out
    return np.where(np.isnan(scores), -np.inf, scores)
