"""Judge a journal: rules fixed on one half of the trials, bounded on the other.

The law that is kept here: a rule is fixed without the trials that judge it, and one bound
decides. Its attack is named in the configuration or picked on the choosing half; its estimator
is the first of the attack's jury. Of m attacks that are all to decide each has a/m. A later
judgement of the same journal with another primary is numbered and decides only at a/2^looks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpaudit import defences
from dpaudit.advice import RAW_BREAKS, next_steps
from dpaudit.choice import ALL, Choice
from dpaudit.curves import within_reach
from dpaudit.errors import BadInput
from dpaudit.estimators.published import published
from dpaudit.journal import Journal
from dpaudit.jury import Jury, pick
from dpaudit.played import Played, fitting_names, read
from dpaudit.protocols import Attack
from dpaudit.selections import chooses, promises
from dpaudit.suspicions import suspicions, untested
from dpaudit.trials import Trials
from dpaudit.types import (
    IN,
    OUT,
    Array,
    Bound,
    Claim,
    Evidence,
    Report,
    Verdict,
)

RAW = (
    "floating-point side channel (--raw-scores): scores were not rounded, so that what decides may "
    "be the low bits of released numbers. A leak that only raw scores show is one of the "
    "implementation's arithmetic, not of the mechanism"
)


def judge(journal: Journal, choice: Choice) -> Report:
    """The report of a complete journal."""
    started = time.perf_counter()
    defence = defences.make(choice.defence)
    undefended = read(journal)
    played = undefended.after(defence)
    facts, worlds, claim = played.facts, played.worlds, played.claim
    attacks = choice.fitting(played.seen)
    juries = choice.juries(attacks, claim, played.seed)
    trials = {name: played.trials(name, attack) for name, attack in attacks.items()}

    look = _look(choice, attacks, juries, trials)
    fixed = {
        name: juries[name].fix(attack, trials[name], always=look.picked and name == look.attack)
        for name, attack in attacks.items()
    }
    deciders = list(attacks) if choice.primary == ALL else [look.attack]
    sure, looks = choice.confidence, 1
    if choice != (own := Choice.configured(played.settings)) and look != _own(own, undefended):
        _refuse_too_many(journal.upcoming(look.name, look.estimator), sure, juries, deciders)
        looks = journal.look(look.name, look.estimator)
    surest = deciding(sure, looks, len(deciders))
    judged = [
        (rule, bound)
        for name, rule in fixed.items()
        for bound in juries[name].bounds(rule, surest if name in deciders else sure, sure)
    ]
    for counted in deciders:
        if (jury := juries[counted].counting()) is not None:
            rule = jury.fix(attacks[counted], trials[counted], always=False)
            judged += [(rule, bound) for bound in jury.bounds(rule, sure, sure)]
    bounds = [bound for _, bound in judged]
    first = [[bound.attack for bound in bounds].index(name) for name in deciders]
    decisive = max(first, key=lambda i: (bounds[i].epsilon, bounds[i].ceiling))
    reach = max(bounds[i].ceiling for i in first)
    idle = untested(facts, undefended.seen)
    return Report(
        claim=claim,
        verdict=verdict(claim, bounds[decisive], reach, bool(idle)),
        untested=idle,
        primary=decisive,
        bounds=bounds,
        # The formula would describe the leak of single steps; and what tunes nothing has no such
        # estimate.
        published=[
            published(name, a, trials[name], claim.delta, played.seed)
            for name, a in ({} if claim.by_step else attacks).items()
            if a.fitted
        ],
        why=juries[bounds[decisive].attack].why(choice.estimator),
        looks=looks,
        deciders=first if len(first) > 1 else (),
        models=played.models,
        **as_settled(facts),
        seconds={"training": journal.seconds(), "judging": time.perf_counter() - started},
        utility=accuracies(played.seen.get("accuracy"), worlds),
        seed=played.seed,
        next_steps=next_steps(
            *(claim, bounds[decisive], reach, facts["canary"]["name"], attacks),
            attacker=facts.get("attacker", ""),
            others=fitting_names(played.seen),
            breaks=RAW_BREAKS if choice.raw_scores else facts.get("breaks", ""),
            record="label" in facts["canary"],
            untested=bool(idle),
        ),
        warnings=[
            *([RAW] if choice.raw_scores else []),
            *facts["warnings"],
            *suspicions(undefended.seen),
            *without_curve(claim),
        ],
        defence=choice.defence,
        evidence=Evidence(
            scores=[rule.trials.scores(rule.rule) for rule, _ in judged],
            cuts=[getattr(rule.rule, "cut", None) if b.counts else None for rule, b in judged],
            canary=played.known.get("canary"),
            original=played.known.get("original"),
        ),
    )


@dataclass(frozen=True)
class Look:
    """Which bound decides: of what attack, behind which defence, by what, on which trials.

    The same attack on all trials is another bound than on the judging half: who has seen it
    picked there may not have it judged once more with the trials that picked it.
    """

    attack: str
    estimator: str
    defence: str
    held_out: bool
    picked: bool = field(compare=False)
    raw: bool = False

    @property
    def name(self) -> str:
        """Of all but the estimator, for the journal."""
        behind = "" if self.defence == "none" else f" after {self.defence}"
        unrounded = " by raw scores" if self.raw else ""
        return f"{self.attack}{unrounded}{behind}{'' if self.held_out else ' on all trials'}"


def deciding(confidence: float, looks: int, attacks: int = 1) -> float:
    """The confidence at which a look may decide: that asked for, then 1 - a/4, 1 - a/8, ...

    All looks together err with a probability of at most 1.5 a, however many there are, as long
    as none is chosen for what an earlier report happened to show of it. Several attacks that are
    all to decide share the error of their look.
    """
    if looks == attacks == 1:
        return confidence
    return 1 - (1 - confidence) / (attacks * (1 if looks == 1 else 2**looks))


def _refuse_too_many(
    looks: int, sure: float, juries: Mapping[str, Jury], deciders: Sequence[str]
) -> None:
    """Refuse a look that would have to be surer than can be computed, before it is numbered."""
    try:
        for name in deciders:
            juries[name].refuse(deciding(sure, looks, len(deciders)))
    except BadInput as error:
        raise BadInput(
            f"look {looks} at the same models cannot decide any more ({error}); train others, "
            "with another --seed",
            "no-looks-left",
            value=looks,
        ) from error


def verdict(
    claim: Claim, bound: Bound, reach: float | None = None, untested: bool = False
) -> Verdict:
    """The claim against the one bound that decides, which could have reached so much.

    A bound that assumes a curve refutes only a claim that has that curve; a bare
    (epsilon, delta) never promised it. Where nothing is promised, nothing is refuted. Where the
    canary changed nothing, and so left the claim `untested`, finding nothing says nothing.
    """
    if not claim.guarantees:
        return "NO_GUARANTEE_CLAIMED"
    if bound.epsilon > claim.epsilon:
        return "VIOLATION" if promises(claim, bound.assumption) else "INCONCLUSIVE"
    reach = bound.ceiling if reach is None else reach
    return "INCONCLUSIVE" if untested or reach < claim.epsilon else "NO_VIOLATION_FOUND"


def _own(own: Choice, undefended: Played) -> Look | None:
    """Who decides as the run was configured; None where that cannot be found out any more.

    The first look is always theirs, whoever judges first.
    """
    try:
        played = undefended.after(defences.make(own.defence))
        attacks = own.fitting(played.seen)
        juries = own.juries(attacks, played.claim, played.seed)
    except BadInput:
        return None
    return _look(own, attacks, juries, {n: played.trials(n, a) for n, a in attacks.items()})


def _look(
    choice: Choice,
    attacks: Mapping[str, Attack],
    juries: Mapping[str, Jury],
    trials: Mapping[str, Trials],
) -> Look:
    """Who decides: named beforehand, or picked on the choosing half."""
    primary = choice.primary
    if primary == ALL:
        by = dict.fromkeys(jury.names[0] for jury in juries.values())
        everyone = f"all of {', '.join(attacks)}"
        return Look(
            *(everyone, ", ".join(by), choice.defence),
            held_out=True,
            picked=False,
            raw=choice.raw_scores,
        )
    if primary == "auto":
        primary = pick(attacks, juries, {name: t.halves()[0] for name, t in trials.items()})
    picked = choice.primary == "auto" and len(attacks) > 1
    jury = juries[primary]
    held_out = picked or chooses(attacks[primary], jury.takes)
    return Look(primary, jury.names[0], choice.defence, held_out, picked, choice.raw_scores)


def as_settled(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What a report tells as it was written down before the first trial."""
    told = ("data", "canary", "adversary", "backend", "versions")
    # Not told by all mechanisms, nor by older runs.
    later = {"deployment": "", "attacker": "", "training": {}}
    return {name: facts[name] for name in told} | {n: facts.get(n, d) for n, d in later.items()}


def without_curve(claim: Claim) -> list[str]:
    """A warning where a claim's curve is not used, although it has one."""
    if claim.curve is None or within_reach(claim.curve):
        return []
    return [
        "the claim's curve would take minutes and gigabytes to compute, so that the bounds do "
        "without it and show less"
    ]


def accuracies(accuracy: Array | None, worlds: Array) -> dict[str, float]:
    """How good the models are, in all and in each world; empty where they did not say."""
    if accuracy is None:
        return {}
    return {
        "accuracy": float(np.mean(accuracy)),
        "accuracy_in": float(np.mean(accuracy[worlds == IN])),
        "accuracy_out": float(np.mean(accuracy[worlds == OUT])),
    }
