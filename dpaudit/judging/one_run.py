"""Judge one training with many canaries, each put in by a fair coin, by guesses of the coins.

All is fixed before the training: the score, the numbers of canaries called in (those that score
highest) and out (the lowest), and the estimator. Only the count of right guesses uses the coins.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.claim_curves import known_curve
from dpaudit.estimators.one_run import FIXED_BEFOREHAND, count_right, rule
from dpaudit.estimators.trials import Trials
from dpaudit.journal import Journal
from dpaudit.judging.advice import after_one_run
from dpaudit.judging.choice import Choice
from dpaudit.judging.judge import make_report
from dpaudit.judging.run_data import read_canaries
from dpaudit.protocols import Attack, Estimator, has_fixed_score
from dpaudit.rates import BoundCriterion
from dpaudit.results import Report
from dpaudit.types import IN, OUT, Array, Claim


def judge(journal: Journal, choice: Choice) -> Report:
    """Return the report of one training; only the configured choice is judged."""
    started = time.perf_counter()
    data = read_canaries(journal)
    kind = f"the run at {journal.path.parent}, one training with many canaries,"
    choice.refuse_other(data.settings, kind)
    ((name, attack),) = refuse_choosing(choice.fitting(data.seen)).items()
    canaries = data.trials(name, attack)
    scores = canary_scores(attack, canaries)
    guesses = count_right(scores, data.worlds == IN, int(data.settings["guesses"]))
    claim, whole = data.claim, journal.observations()
    # The records are the same whichever canaries are in.
    records = {k: v for k, v in data.facts.data.items() if k not in ("in", "out")}
    data = replace(data, facts=replace(data.facts, data=records))
    bounds = [
        replace(
            estimator.bound(guesses, claim.delta),
            attack=name,
            rule=rule(guesses),
            selection=FIXED_BEFOREHAND,
            trials=(canaries.of(OUT), canaries.of(IN)),
        )
        for estimator in estimators(claim, choice.confidence)
    ]
    why = "one-run decides because the claim states no curve that can be computed."
    if len(bounds) > 1:
        why = (
            "one-run-fdp decides because the claim states its curve, which makes the same "
            "guesses show more; one-run, beside it, assumes nothing."
        )
    return make_report(
        *(journal, choice, data, started, bounds),
        released=whole,
        scores=[canaries.split(scores) for _ in bounds],
        why=why,
        models={"in": 1, "out": 0, "choosing": 0, "judging": 1},
        utility={n: float(a[0]) for n, a in whole.items() if n == "accuracy"},
        advise=partial(after_one_run, claim, bounds[0]),
    )


def refuse_choosing(attacks: Mapping[str, Attack]) -> Mapping[str, Attack]:
    """Return the attacks; refuse several of them, and one whose score is not fixed."""
    if len(attacks) > 1 or not all(map(has_fixed_score, attacks.values())):
        text = (
            "one training has no canaries to choose a rule on; name one attack whose score is "
            f"fixed, such as updates, not {', '.join(attacks)}"
        )
        raise BadInput(text, "attack-chooses", option="attacks", value=list(attacks))
    return attacks


def estimators(claim: Claim, confidence: float) -> Sequence[Estimator]:
    """Return the estimator that decides; then the one that assumes nothing, if it is another."""
    free, curve = OneRun(confidence), known_curve(claim)
    return [free] if curve is None else [OneRunFDP(confidence, curve, claim.adjacency), free]


def canary_scores(attack: Attack, canaries: Trials) -> Array:
    """Return one score a canary; NaN becomes the lowest score.

    The rule is made on worlds that are independent of the coins, so that no attack can learn
    from the true ones.
    """
    others = np.where(np.arange(len(canaries)) % 2, IN, OUT)
    rule = replace(canaries, worlds=others).fit(attack, BoundCriterion(0.0))
    scores = replace(canaries, worlds=np.full(len(canaries), OUT)).scores(rule).out
    return np.where(np.isnan(scores), -np.inf, scores)
