"""Judge a journal: rules fixed on one half of the trials, bounded on the other.

The law that is kept here: a rule is fixed without the trials that judge it, and one bound
decides. Its attack is named in the configuration or picked on the choosing half. A later
judgement of the same journal with another primary is numbered and decides only at a/2^looks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import astuple

import numpy as np

from dpaudit import defences
from dpaudit.advice import next_steps
from dpaudit.choice import Choice
from dpaudit.estimators.published import published
from dpaudit.journal import Journal
from dpaudit.played import Played, read
from dpaudit.protocols import Attack, Criterion
from dpaudit.rates import BoundCriterion
from dpaudit.selections import HoldOut, promises, refuse_other_curve
from dpaudit.trials import Trials
from dpaudit.types import (
    IN,
    OUT,
    Array,
    Bound,
    Claim,
    Evidence,
    Observations,
    Report,
    Verdict,
)


def judge(journal: Journal, choice: Choice) -> Report:
    """The report of a complete journal."""
    started = time.perf_counter()
    defence = defences.make(choice.defence)
    undefended = read(journal)
    played = undefended.after(defence)
    facts, worlds, claim = played.facts, played.worlds, played.claim
    # Refused, if at all, before a look is numbered.
    refuse_other_curve(choice.make_estimator(choice.confidence), claim)
    attacks = choice.fitting(played.seen)
    trials = {name: played.trials(name, attack) for name, attack in attacks.items()}
    choosing = {name: t.halves()[0] for name, t in trials.items()}

    criterion = BoundCriterion(claim.delta)
    primary = choice.primary
    if primary == "auto":
        primary = pick(attacks, choosing, criterion)
    picked = choice.primary == "auto" and len(attacks) > 1
    fixed = {
        name: HoldOut(always=picked and name == primary).fix(attack, trials[name], claim.delta)
        for name, attack in attacks.items()
    }
    own = Choice.configured(played.settings)
    look = (primary, choice.estimator, choice.defence)
    looks = 1
    if look != (
        _own_primary(own, choice, primary, undefended, criterion),
        own.estimator,
        own.defence,
    ):
        looks = journal.look(_through(primary, choice.defence), choice.estimator)
    bounds = []
    for name, rule in fixed.items():
        confidence = deciding(choice.confidence, looks) if name == primary else choice.confidence
        bounds.append(rule.bound(choice.checked_estimator, claim.delta, confidence))
    decisive = list(attacks).index(primary)
    return Report(
        claim=claim,
        verdict=verdict(claim, bounds[decisive]),
        primary=decisive,
        bounds=bounds,
        published=[
            published(name, a, trials[name], claim.delta, played.seed)
            for name, a in attacks.items()
        ],
        looks=looks,
        models=played.models,
        data=facts["data"],
        canary=facts["canary"],
        adversary=facts["adversary"],
        backend=facts["backend"],
        seconds={"training": journal.seconds(), "judging": time.perf_counter() - started},
        utility=_utility(played.seen.get("accuracy"), worlds),
        versions=facts["versions"],
        seed=played.seed,
        next_steps=next_steps(claim, bounds[decisive], facts["canary"]["name"], attacks),
        warnings=[*facts["warnings"], *_diverged(undefended.seen), *_repeated(undefended.seen)],
        defence=choice.defence,
        evidence=Evidence(
            scores=[f.trials.scores(f.rule) for f in fixed.values()],
            cuts=[getattr(f.rule, "cut", None) for f in fixed.values()],
            canary=played.known.get("canary"),
            original=played.known.get("original"),
        ),
    )


def pick(
    attacks: Mapping[str, Attack], choosing: Mapping[str, Trials], criterion: Criterion
) -> str:
    """The attack that does best within the choosing half, rule and errors on different trials.

    Each quarter judges the rules of the other, so that an attack which can tune more does not
    look better for that alone.
    """

    def worth(name: str) -> float:
        halves = choosing[name].halves()
        if not all(map(len, halves)):
            return 0.0
        counts = [b.count(a.fit(attacks[name], criterion)) for a, b in (halves, halves[::-1])]
        fp, out, fn, inn = np.sum([astuple(c) for c in counts], axis=0)
        return float(criterion(fp, out, fn, inn))

    return max(attacks, key=worth)


def deciding(confidence: float, looks: int) -> float:
    """The confidence at which a look may decide: that asked for, then 1 - a/4, 1 - a/8, ...

    All looks together err with a probability of at most 1.5 a, however many there are.
    """
    return confidence if looks == 1 else 1 - (1 - confidence) / 2**looks


def verdict(claim: Claim, bound: Bound) -> Verdict:
    """The claim against the one bound that decides.

    A bound that assumes a curve refutes only a claim that has that curve; a bare
    (epsilon, delta) never promised it.
    """
    if bound.epsilon > claim.epsilon:
        return "VIOLATION" if promises(claim, bound.assumption) else "INCONCLUSIVE"
    return "INCONCLUSIVE" if bound.ceiling < claim.epsilon else "NO_VIOLATION_FOUND"


def _own_primary(
    own: Choice, choice: Choice, primary: str, undefended: Played, criterion: Criterion
) -> str:
    """The attack that decides as the run was configured: the first look is always its."""
    if own.primary != "auto":
        return own.primary
    same = tuple(own.attacks) == tuple(choice.attacks) and own.defence == choice.defence
    if same and choice.primary == "auto":
        return primary
    played = undefended.after(defences.make(own.defence))
    attacks = {n: a for n, a in own.make_attacks().items() if a.needs <= played.seen.keys()}
    choosing = {name: played.trials(name, a).halves()[0] for name, a in attacks.items()}
    return pick(attacks, choosing, criterion) if attacks else "none fits"


def _through(attack: str, defence: str) -> str:
    """A look's name: an attack on defended outputs is another one."""
    return attack if defence == "none" else f"{attack} after {defence}"


def _diverged(seen: Observations) -> list[str]:
    """A warning where models released what is no number."""
    released = [a.reshape(len(a), -1) for a in seen.values() if a.dtype.kind == "f" and a.size]
    bad = np.any([~np.isfinite(a).all(axis=1) for a in released], axis=0) if released else None
    if bad is None or not bad.any():
        return []
    return [f"{bad.sum()} of {len(bad)} models diverged (they release NaN or infinity); lower --lr"]


def _repeated(seen: Observations) -> list[str]:
    """A warning where models are equal to the last bit: their randomness was not their own."""
    logits = seen.get("logits")
    if logits is None or logits.dtype.kind != "f":
        return []
    usable = logits[np.isfinite(logits).all(axis=tuple(range(1, logits.ndim)))]
    repeated = len(usable) - len(np.unique(usable, axis=0))
    if not repeated:
        return []
    return [
        f"{repeated} of {len(logits)} models say exactly the same of the canary as another one; "
        "trials that share their randomness prove nothing"
    ]


def _utility(accuracy: Array | None, worlds: Array) -> dict[str, float]:
    if accuracy is None:
        return {}
    return {
        "accuracy": float(np.mean(accuracy)),
        "accuracy_in": float(np.mean(accuracy[worlds == IN])),
        "accuracy_out": float(np.mean(accuracy[worlds == OUT])),
    }
