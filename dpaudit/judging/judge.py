"""Judge a journal: rules fixed on one half of the trials, bounded on the other.

The law that is kept here: a rule is fixed without the trials that judge it, and one bound
decides. Its attack is named in the configuration or picked on the choosing half; its estimator
is the first of the attack's panel. Of m attacks that are all to decide each has a/m. A later
judgement of the same journal with another primary is numbered and decides only at a/2^looks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dpaudit.accounting.curves import within_reach
from dpaudit.config.settings import ALL
from dpaudit.errors import BadInput
from dpaudit.estimators.published import published
from dpaudit.estimators.selections import chooses, promises
from dpaudit.estimators.trials import Trials
from dpaudit.journal import Journal
from dpaudit.judging.advice import RAW_BREAKS, next_steps
from dpaudit.judging.choice import Choice
from dpaudit.judging.panel import EstimatorPanel, pick
from dpaudit.judging.run_data import RunData, fitting_names, read
from dpaudit.judging.warnings import suspicions, untested
from dpaudit.protocols import Attack
from dpaudit.results import Bound, Evidence, Report, Scores, Verdict
from dpaudit.types import IN, OUT, Array, Claim, Observations

RAW = (
    "floating-point side channel (--raw-scores): scores were not rounded, so that what decides may "
    "be the low bits of released numbers. A leak that only raw scores show is one of the "
    "implementation's arithmetic, not of the mechanism"
)


def judge(journal: Journal, choice: Choice) -> Report:
    """The report of a complete journal."""
    started = time.perf_counter()
    undefended = read(journal)
    played = undefended.after(choice.defence_plugin)
    claim = played.claim
    attacks = choice.fitting(played.seen)
    panels = choice.panels(attacks, claim, played.seed)
    trials = {name: played.trials(name, attack) for name, attack in attacks.items()}

    look = _look(choice, attacks, panels, trials)
    fixed = {
        name: panels[name].fix(attack, trials[name], always=look.picked and name == look.attack)
        for name, attack in attacks.items()
    }
    deciders = list(attacks) if choice.primary == ALL else [look.attack]
    sure, looks = choice.confidence, 1
    if choice != (own := Choice.configured(played.settings)) and look != _own(own, undefended):
        _refuse_too_many(journal.upcoming(look.name, look.estimator), sure, panels, deciders)
        looks = journal.look(look.name, look.estimator)
    surest = deciding(sure, looks, len(deciders))
    judged = [
        (rule, bound)
        for name, rule in fixed.items()
        for bound in panels[name].bounds(rule, surest if name in deciders else sure, sure)
    ]
    for counted in deciders:
        if (panel := panels[counted].counts_panel()) is not None:
            rule = panel.fix(attacks[counted], trials[counted], always=False)
            judged += [(rule, bound) for bound in panel.bounds(rule, sure, sure)]
    bounds = [bound for _, bound in judged]
    first = [[bound.attack for bound in bounds].index(name) for name in deciders]
    decisive = max(first, key=lambda i: (bounds[i].epsilon, bounds[i].ceiling))
    idle = untested(played.settled.untested, undefended.seen)
    return make_report(
        *(journal, choice, played, started, bounds),
        released=undefended.seen,
        scores=[rule.trials.scores(rule.rule) for rule, _ in judged],
        cuts=[rule.rule.cut if b.counts else None for rule, b in judged],
        primary=decisive,
        deciders=first if len(first) > 1 else (),
        untested=idle,
        # The formula would describe the leak of single steps; and what tunes nothing has no such
        # estimate.
        published=[
            published(name, a, trials[name], claim.delta, played.seed)
            for name, a in ({} if claim.by_step else attacks).items()
            if a.fitted
        ],
        why=panels[bounds[decisive].attack].why(choice.estimator),
        looks=looks,
        next_steps=next_steps(
            *(played.settled, bounds[decisive], max(bounds[i].ceiling for i in first), attacks),
            others=fitting_names(played.seen),
            breaks=RAW_BREAKS if choice.raw_scores else "",
            untested=bool(idle),
        ),
    )


def make_report(
    journal: Journal,
    choice: Choice,
    played: RunData,
    started: float,
    bounds: Sequence[Bound],
    *,
    released: Observations,
    scores: Sequence[Scores],
    cuts: Sequence[float | None] = (),
    primary: int = 0,
    deciders: Sequence[int] = (),
    untested: str = "",
    **own: Any,
) -> Report:
    """Build the report of a judgement from what all kinds of them tell, and from its `own` fields.

    `started` is the time of the performance counter when the judgement began, `released` what
    was seen before any defence. Each bound has its `scores`, and a cut if any has one.
    """
    claim, settled = played.claim, played.settled
    reach = max(bounds[i].ceiling for i in (primary, *deciders))
    own = {
        "models": played.models,
        "utility": accuracies(played.seen.get("accuracy"), played.worlds),
        **own,
    }
    return Report(
        claim=claim,
        verdict=verdict(claim, bounds[primary], reach, bool(untested)),
        untested=untested,
        primary=primary,
        deciders=deciders,
        bounds=bounds,
        data=settled.data,
        canary=settled.canary.to_dict(),
        adversary=settled.adversary,
        attacker=settled.attacker,
        deployment=settled.deployment,
        training=settled.training,
        backend=asdict(settled.backend),
        versions=settled.versions,
        seconds={"training": journal.seconds(), "judging": time.perf_counter() - started},
        seed=played.seed,
        warnings=[
            *([RAW] if choice.raw_scores else []),
            *settled.warnings,
            *suspicions(released),
            *without_curve(claim),
        ],
        defence=choice.defence,
        evidence=Evidence(
            scores=scores,
            cuts=cuts or [None for _ in bounds],
            canary=played.known.get("canary"),
            original=played.known.get("original"),
        ),
        **own,
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
    looks: int, sure: float, panels: Mapping[str, EstimatorPanel], deciders: Sequence[str]
) -> None:
    """Refuse a look that would have to be surer than can be computed, before it is numbered."""
    try:
        for name in deciders:
            panels[name].refuse(deciding(sure, looks, len(deciders)))
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


def _own(own: Choice, undefended: RunData) -> Look | None:
    """Who decides as the run was configured; None where that cannot be found out any more.

    The first look is always theirs, whoever judges first.
    """
    try:
        played = undefended.after(own.defence_plugin)
        attacks = own.fitting(played.seen)
        panels = own.panels(attacks, played.claim, played.seed)
    except BadInput:
        return None
    return _look(own, attacks, panels, {n: played.trials(n, a) for n, a in attacks.items()})


def _look(
    choice: Choice,
    attacks: Mapping[str, Attack],
    panels: Mapping[str, EstimatorPanel],
    trials: Mapping[str, Trials],
) -> Look:
    """Who decides: named beforehand, or picked on the choosing half."""
    primary = choice.primary
    if primary == ALL:
        by = dict.fromkeys(panel.names[0] for panel in panels.values())
        everyone = f"all of {', '.join(attacks)}"
        return Look(
            *(everyone, ", ".join(by), choice.defence),
            held_out=True,
            picked=False,
            raw=choice.raw_scores,
        )
    if primary == "auto":
        primary = pick(attacks, panels, {name: t.halves()[0] for name, t in trials.items()})
    picked = choice.primary == "auto" and len(attacks) > 1
    panel = panels[primary]
    held_out = picked or chooses(attacks[primary], panel.takes)
    return Look(primary, panel.names[0], choice.defence, held_out, picked, choice.raw_scores)


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
