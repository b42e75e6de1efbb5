"""Judge a journal: rules fixed on one half of the trials, bounded on the other.

The law that is kept here: a rule is fixed without the trials that judge it, and one bound
decides. Its attack is named in the configuration or picked on the choosing half. A later
judgement of the same journal with another primary is numbered and decides only at a/2^looks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpaudit import checks, registry
from dpaudit.attacks.expressions import parse
from dpaudit.config import Config
from dpaudit.errors import BadInput
from dpaudit.estimators.clopper_pearson import ClopperPearson
from dpaudit.estimators.published import published
from dpaudit.journal import Journal
from dpaudit.rates import BoundCriterion
from dpaudit.types import (
    IN,
    OUT,
    Attack,
    Bound,
    Claim,
    Counts,
    Estimator,
    Report,
    Trials,
    Verdict,
)


@dataclass(frozen=True)
class Choice:
    """What a judgement is free to choose: attacks, which of them decides, how, how surely."""

    attacks: Sequence[str] = Config.attacks
    primary: str = "auto"
    estimator: str = "clopper-pearson"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        checks.refuse([checks.one_of("primary", self.primary, ("auto", *self.attacks))])

    def make_attacks(self) -> dict[str, Attack]:
        """The attacks by name; an expression such as 'mean & inv_std' is one too."""
        return {
            name: parse(name) if set(name) & set("&|") else registry.make("attacks", name)
            for name in self.attacks
        }

    def make_estimator(self, confidence: float) -> Estimator:
        """The estimator at some confidence."""
        estimator = registry.make("estimators", self.estimator, confidence=confidence)
        if not hasattr(estimator, "bound"):
            raise BadInput(f"{self.estimator} is a description, not a bound: it decides nothing")
        made: Estimator = estimator
        return made


def judge(journal: Journal, choice: Choice) -> Report:
    """The report of a complete journal."""
    started = time.perf_counter()
    facts, seed, models = journal.facts, journal.settings["seed"], journal.settings["models"]
    worlds, indices = journal.trials()
    if facts is None or len(worlds) < models:
        raise BadInput(
            f"the run at {journal.path.parent} is not complete ({len(worlds)} of {models} models);"
            f" go on with: dpaudit run --config {journal.path.parent / 'config.toml'}"
        )
    claim = Claim.from_dict(facts["claim"])
    trials = Trials(journal.observations(), worlds, journal.known)
    # By the index's parity: settled before anything was seen, and both halves are balanced.
    choosing, judging = trials[indices % 2 == 0], trials[indices % 2 == 1]
    attacks = choice.make_attacks()
    for name, attack in attacks.items():
        if lacking := attack.needs - trials.seen.keys():
            raise BadInput(f"attack {name} needs {', '.join(lacking)}, which is not released here")

    criterion = BoundCriterion(claim.delta, choice.confidence)
    primary = choice.primary
    if primary == "auto":
        primary = pick(attacks, choosing, criterion)
    looks = journal.look(primary, choice.estimator)
    bounds = []
    for name, attack in attacks.items():
        confidence = deciding(choice.confidence, looks) if name == primary else choice.confidence
        rule = choosing.fit(attack, criterion)
        bound = choice.make_estimator(confidence).bound(judging.count(rule), claim.delta)
        bounds.append(replace(bound, attack=name, rule=repr(rule)))
    decisive = list(attacks).index(primary)
    return Report(
        claim=claim,
        verdict=verdict(claim, bounds[decisive]),
        primary=decisive,
        bounds=bounds,
        published=[published(name, a, trials, claim.delta, seed) for name, a in attacks.items()],
        looks=looks,
        models={
            "in": int((worlds == IN).sum()),
            "out": int((worlds == OUT).sum()),
            "choosing": len(choosing),
            "judging": len(judging),
        },
        data=facts["data"],
        canary=facts["canary"],
        adversary=facts["adversary"],
        backend=facts["backend"],
        seconds={"training": journal.seconds(), "judging": time.perf_counter() - started},
        utility=_utility(trials),
        versions=facts["versions"],
        seed=seed,
        next_steps=next_steps(claim, bounds[decisive], facts["canary"]["name"]),
        warnings=facts["warnings"],
    )


def pick(attacks: Mapping[str, Attack], choosing: Trials, criterion: BoundCriterion) -> str:
    """The attack that does best within the choosing half, rule and errors on different trials.

    Each quarter judges the rules of the other, so that an attack which can tune more does not
    look better for that alone.
    """
    if len(choosing) < 4:
        return next(iter(attacks))
    # Trials come in turn from both worlds.
    quarter = (np.arange(len(choosing)) // 2) % 2 == 0
    halves = (choosing[quarter], choosing[~quarter])

    def worth(attack: Attack) -> float:
        a, b = (there.count(here.fit(attack, criterion)) for here, there in (halves, halves[::-1]))
        both = Counts(a.fp + b.fp, a.out + b.out, a.fn + b.fn, a.inn + b.inn)
        return float(criterion(np.array(both.fp), both.out, np.array(both.fn), both.inn))

    return max(attacks, key=lambda name: worth(attacks[name]))


def deciding(confidence: float, looks: int) -> float:
    """The confidence at which a look may decide: that asked for, then 1 - a/4, 1 - a/8, ..."""
    return confidence if looks == 1 else 1 - (1 - confidence) / 2**looks


def verdict(claim: Claim, bound: Bound) -> Verdict:
    """The claim against the one bound that decides."""
    if bound.epsilon > claim.epsilon:
        return "VIOLATION"
    return "INCONCLUSIVE" if bound.ceiling < claim.epsilon else "NO_VIOLATION_FOUND"


def next_steps(claim: Claim, bound: Bound, canary: str) -> list[str]:
    """What a reader can do now."""
    steps = []
    if bound.epsilon > claim.epsilon:
        steps.append(
            "Look for what breaks the claim: per-sample clipping, the noise's scale, the sampling "
            "that the accountant assumes, the number of steps."
        )
    elif bound.ceiling < claim.epsilon:
        needed = models_needed(claim.epsilon, claim.delta, bound.confidence)
        steps.append(
            f"Nothing above {bound.ceiling:.2f} can be shown with these models; a ceiling above "
            f"{claim.epsilon:.2f} takes about {needed:,} (--models)."
        )
    else:
        steps.append(
            "Try another canary or more models (--canary, --models) before you rely on it."
        )
    if canary != "none":
        steps.append("See what selection alone gives: the same line with --canary none.")
    steps.append("Judge again without training: dpaudit report RUN --attack 'mean & inv_std'.")
    return steps


def models_needed(epsilon: float, delta: float, confidence: float) -> int:
    """The least number of models, to two digits, whose judging half has a ceiling above epsilon.

    For the assumption-free bound on two rates, half of the models choosing the rule.
    """
    ceiling = ClopperPearson(confidence).ceiling
    low, high = 1, 2
    while ceiling(high, high, delta) <= epsilon:
        low, high = high, 2 * high
        if high > 10**12:
            break
    while high - low > max(1, high // 200):
        middle = (low + high) // 2
        low, high = (middle, high) if ceiling(middle, middle, delta) <= epsilon else (low, middle)
    tens = max(1, int(10 ** (len(str(4 * high)) - 2)))
    return -(-4 * high // tens) * tens


def _utility(trials: Trials) -> dict[str, float]:
    accuracy = trials.seen.get("accuracy")
    if accuracy is None:
        return {}
    return {
        "accuracy": float(np.mean(accuracy)),
        "accuracy_in": float(np.mean(accuracy[trials.worlds == IN])),
        "accuracy_out": float(np.mean(accuracy[trials.worlds == OUT])),
    }
