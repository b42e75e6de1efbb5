"""Judge a journal: rules fixed on one half of the trials, bounded on the other.

The law that is kept here: a rule is fixed without the trials that judge it, and one bound
decides. Its attack is named in the configuration or picked on the choosing half. A later
judgement of the same journal with another primary is numbered and decides only at a/2^looks.
"""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import expit

from dpaudit import checks, registry
from dpaudit.attacks.expressions import parse
from dpaudit.config import Config
from dpaudit.errors import BadInput
from dpaudit.estimators.published import published
from dpaudit.journal import Journal
from dpaudit.protocols import Attack, Criterion, Estimator
from dpaudit.rates import BoundCriterion
from dpaudit.trials import Trials
from dpaudit.types import IN, OUT, Array, Bound, Claim, Report, Verdict


@dataclass(frozen=True)
class Choice:
    """What a judgement is free to choose: attacks, which of them decides, how, how surely."""

    attacks: Sequence[str] = Config.attacks
    primary: str = "auto"
    estimator: str = "clopper-pearson"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.one_of("primary", self.primary, ("auto", *self.attacks)),
                checks.in_range("confidence", self.confidence, 0.5, 1, ends="()"),
            ]
        )

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
            f" go on with {_way_on(journal.path.parent)}"
        )
    claim = Claim.from_dict(facts["claim"])
    seen, known = journal.observations(), journal.known
    attacks = choice.make_attacks()
    for name, attack in attacks.items():
        if lacking := attack.needs - seen.keys():
            what = ", ".join(sorted(lacking))
            raise BadInput(f"attack {name} needs {what}, which is not released here")
    choice.make_estimator(choice.confidence)  # refused, if at all, before a look is numbered
    trials = {name: Trials(a.features(seen, known), worlds) for name, a in attacks.items()}
    # By the index's parity: settled before anything was seen, and both halves are balanced.
    choosing = {name: t[indices % 2 == 0] for name, t in trials.items()}
    judging = {name: t[indices % 2 == 1] for name, t in trials.items()}

    # Not at the confidence asked for: a primary has one rule, whatever the look's confidence.
    criterion = BoundCriterion(claim.delta)
    primary = choice.primary
    if primary == "auto":
        primary = pick(attacks, choosing, criterion)
    rules = {name: choosing[name].fit(attack, criterion) for name, attack in attacks.items()}
    looks = journal.look(primary, choice.estimator)
    bounds = []
    for name, rule in rules.items():
        confidence = deciding(choice.confidence, looks) if name == primary else choice.confidence
        bound = choice.make_estimator(confidence).bound(judging[name].count(rule), claim.delta)
        bounds.append(replace(bound, attack=name, rule=repr(rule)))
    decisive = list(attacks).index(primary)
    return Report(
        claim=claim,
        verdict=verdict(claim, bounds[decisive]),
        primary=decisive,
        bounds=bounds,
        published=[
            published(name, a, trials[name], claim.delta, seed) for name, a in attacks.items()
        ],
        looks=looks,
        models={
            "in": int((worlds == IN).sum()),
            "out": int((worlds == OUT).sum()),
            "choosing": int((indices % 2 == 0).sum()),
            "judging": int((indices % 2 == 1).sum()),
        },
        data=facts["data"],
        canary=facts["canary"],
        adversary=facts["adversary"],
        backend=facts["backend"],
        seconds={"training": journal.seconds(), "judging": time.perf_counter() - started},
        utility=_utility(seen.get("accuracy"), worlds),
        versions=facts["versions"],
        seed=seed,
        next_steps=next_steps(claim, bounds[decisive], facts["canary"]["name"]),
        warnings=facts["warnings"],
    )


def pick(
    attacks: Mapping[str, Attack], choosing: Mapping[str, Trials], criterion: Criterion
) -> str:
    """The attack that does best within the choosing half, rule and errors on different trials.

    Each quarter judges the rules of the other, so that an attack which can tune more does not
    look better for that alone.
    """

    def worth(name: str) -> float:
        # Trials come in turn from both worlds, two to an index.
        quarter = (np.arange(len(choosing[name])) // 2) % 2 == 0
        halves = choosing[name][quarter], choosing[name][~quarter]
        if not all(map(len, halves)):
            return 0.0
        counts = [b.count(a.fit(attacks[name], criterion)) for a, b in (halves, halves[::-1])]
        fp, out, fn, inn = np.sum([astuple(c) for c in counts], axis=0)
        return float(criterion(fp, out, fn, inn))

    return max(attacks, key=worth)


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
        takes = "more than can be trained" if needed is None else f"about {needed:,} (--models)"
        steps.append(
            f"Nothing above {bound.ceiling:.2f} can be shown with these models; a ceiling above "
            f"{claim.epsilon:.2f} takes {takes}."
        )
    else:
        steps.append(
            "Try another canary or more models (--canary, --models) before you rely on it."
        )
    if canary != "none":
        steps.append("See what selection alone gives: the same line with --canary none.")
    steps.append("Judge again without training: dpaudit report RUN --attack 'mean & inv_std'.")
    return steps


def models_needed(epsilon: float, delta: float, confidence: float) -> int | None:
    """The least number of models, to two digits, whose judging half has a ceiling above epsilon.

    For Clopper-Pearson, half of the models choosing the rule. No error in n trials leaves a rate
    of U = 1 - (a/2)^(1/n), and ln((1-d-U)/U) is above epsilon iff U < (1-d)/(1+e^epsilon). None
    above some 10^13 models, which nobody trains.
    """
    rate = (1 - delta) * float(expit(-epsilon))
    if rate < 1e-12:
        return None
    n = math.floor(math.log((1 - confidence) / 2) / math.log1p(-rate)) + 1
    tens: int = 10 ** max(0, len(str(4 * n)) - 2)
    return -(-4 * n // tens) * tens


def _way_on(folder: Path) -> str:
    """How the run in a folder is played to its end."""
    config = folder / "config.toml"
    if config.is_file():
        return shlex.join(["dpaudit", "run", "--config", str(config), "--out", str(folder)])
    return "the same call of dpaudit.play"


def _utility(accuracy: Array | None, worlds: Array) -> dict[str, float]:
    if accuracy is None:
        return {}
    return {
        "accuracy": float(np.mean(accuracy)),
        "accuracy_in": float(np.mean(accuracy[worlds == IN])),
        "accuracy_out": float(np.mean(accuracy[worlds == OUT])),
    }
