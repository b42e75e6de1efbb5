"""Judge a journal: rules are fixed on one half of the trials and bounded on the other.

A rule is fixed without the trials that judge it, and one bound decides. Its attack is named in
the configuration or picked on the choosing half; its estimator is the first of the attack's
panel. If all m attacks decide, each has the error a/m. A later judgement of the same journal by
another primary is numbered, and decides only at a/2^looks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from dpaudit.config.settings import ALL
from dpaudit.errors import BadInput
from dpaudit.estimators.claim_curves import promises
from dpaudit.estimators.hold_out import chooses
from dpaudit.estimators.published import published_estimate
from dpaudit.journal import Journal
from dpaudit.judging.advice import RAW_BREAKS, next_steps
from dpaudit.judging.choice import Choice, DecidingAttacks
from dpaudit.judging.expectation import expectation, last_iterate
from dpaudit.judging.outcome import strength
from dpaudit.judging.panel import pick_attack
from dpaudit.judging.run_data import RunData, fitting_attacks, read_run
from dpaudit.judging.warnings import RAW, low_accuracy, run_warnings, untested
from dpaudit.results import NOTHING_TO_CHOOSE, Bound, Evidence, Expectation, Report, Scores, Verdict
from dpaudit.types import Claim, Observations


def judge(journal: Journal, choice: Choice) -> Report:
    """Return the report of a complete journal."""
    started = time.perf_counter()
    undefended = read_run(journal)
    data = undefended.after(choice.defence_plugin)
    found = choice.candidates(data)
    attacks, panels, trials = found.attacks, found.panels, found.trials
    look = _look(choice, found)
    deciders = look.deciders
    fixed = {
        name: panels[name].fix(attack, trials[name], always=look.picked and name in deciders)
        for name, attack in attacks.items()
    }
    sure, looks = choice.confidence, 1
    configured = Choice.of_settings(data.settings)
    if choice != configured and look != _configured_look(configured, undefended):
        _refuse_too_many(journal.upcoming(look.name, look.estimator), sure, found, deciders)
        looks = journal.look(look.name, look.estimator)
    surest = deciding_confidence(sure, looks, len(deciders))
    judged = [
        (rule, bound)
        for name, rule in fixed.items()
        for bound in panels[name].bounds(rule, surest if name in deciders else sure, sure)
    ]
    for name in deciders:
        if (panel := panels[name].counts_panel()) is not None:
            rule = panel.fix(attacks[name], trials[name], always=False)
            judged += [(rule, bound) for bound in panel.bounds(rule, sure, sure)]
    bounds = [bound for _, bound in judged]
    first = [[bound.attack for bound in bounds].index(name) for name in deciders]
    decisive = max(first, key=lambda i: (bounds[i].epsilon, bounds[i].ceiling))
    idle = untested(data.facts.untested, undefended.seen)
    return make_report(
        *(journal, choice, data, started, bounds),
        released=undefended.seen,
        scores=[rule.trials.scores(rule.rule) for rule, _ in judged],
        cuts=[rule.rule.cut if b.counts else None for rule, b in judged],
        primary=decisive,
        deciders=first if len(first) > 1 else (),
        untested=idle,
        # The formula would describe the leak of single steps, and needs a rule that was fitted.
        published=[
            published_estimate(name, attack, trials[name], data.claim.delta, data.seed)
            for name, attack in attacks.items()
            if attack.fitted and not data.claim.by_step
        ],
        why=panels[bounds[decisive].attack].why(choice.estimator),
        looks=looks,
        advise=partial(
            next_steps,
            *(data.facts, bounds[decisive], max(bounds[i].ceiling for i in first), attacks),
            others=fitting_attacks(data.seen),
            breaks=RAW_BREAKS if choice.raw_scores else "",
            untested=bool(idle),
        ),
    )


def make_report(
    journal: Journal,
    choice: Choice,
    data: RunData,
    started: float,
    bounds: Sequence[Bound],
    *,
    released: Observations,
    scores: Sequence[Scores],
    cuts: Sequence[float | None] = (),
    primary: int = 0,
    deciders: Sequence[int] = (),
    untested: str = "",
    advise: Callable[[Expectation | None], list[str]],
    **own: Any,
) -> Report:
    """Build the report of a judgement from the fields that all kinds share, and its `own`.

    `advise` gives the next steps, from what could be expected of a stronger test. `started` is the
    performance counter's time when it began, `released` what was seen before any defence. Each
    bound has its `scores`, and a cut if any has one.
    """
    claim, facts = data.claim, data.facts
    reach = max(bounds[i].ceiling for i in (primary, *deciders))
    raw = [RAW] if choice.raw_scores else []
    null = facts.canary.name == "none"
    reached = verdict(claim, bounds[primary], reach, bool(untested))
    found, expected = strength(claim, reached, bounds[primary], null), None
    if found == "weak" and not untested:
        trained = len(data.worlds) if journal.settings.get("canaries", 1) == 1 else 1
        fixed = bounds[primary].selection == NOTHING_TO_CHOOSE
        expected = expectation(claim, choice.confidence, facts.attacker, trained, fixed)
    utility = {**data.accuracies, **facts.utility}
    common = {"models": data.models, "utility": utility}
    return Report(
        claim=claim,
        verdict=reached,
        strength=found,
        expected=expected,
        heuristic=last_iterate(claim, facts.attacker),
        next_steps=advise(expected),
        untested=untested,
        primary=primary,
        deciders=deciders,
        bounds=bounds,
        data=facts.data,
        canary=facts.canary.to_dict(),
        adversary=facts.adversary,
        attacker=facts.attacker,
        deployment=facts.deployment,
        training=facts.training,
        backend=asdict(facts.backend),
        versions=facts.versions,
        seconds={"training": journal.seconds(), "judging": time.perf_counter() - started},
        seed=data.seed,
        warnings=[
            *raw,
            *facts.warnings,
            *run_warnings(claim, released),
            *([] if facts.canary.name == "none" else low_accuracy(utility)),
        ],
        defence=choice.defence,
        evidence=Evidence(
            scores=scores,
            cuts=cuts or [None for _ in bounds],
            canary=data.known.get("canary"),
            original=data.known.get("original"),
        ),
        **{**common, **own},
    )


def verdict(
    claim: Claim, bound: Bound, reach: float | None = None, untested: bool = False
) -> Verdict:
    """Return the verdict of the bound that decides; `reach` is the most that it could have shown.

    A bound that assumes a curve refutes only a claim that has that curve; a bare
    (epsilon, delta) never promised it. If the canary changed nothing, the claim is `untested`.
    """
    if not claim.guarantees:
        return "NO_GUARANTEE_CLAIMED"
    if bound.epsilon > claim.epsilon:
        return "VIOLATION" if promises(claim, bound.assumption) else "INCONCLUSIVE"
    reach = bound.ceiling if reach is None else reach
    return "INCONCLUSIVE" if untested or reach < claim.epsilon else "NO_VIOLATION_FOUND"


@dataclass(frozen=True)
class Look:
    """The bound that decides: its name in the journal, with attack and trials, and its estimator.

    The same attack on all trials is another bound than on the judging half: an attack that was
    seen to be picked may not be judged once more with the trials that picked it.
    """

    name: str
    estimator: str
    deciders: Sequence[str] = field(compare=False)
    picked: bool = field(compare=False)


def deciding_confidence(confidence: float, looks: int, attacks: int = 1) -> float:
    """Return the confidence at which a look decides: the requested one, then 1 - a/4, 1 - a/8, ...

    All looks together err with a probability of at most 1.5 a, however many there are, as long
    as none is chosen for what an earlier report happened to show of it. If several attacks
    decide, they share the error of their look.
    """
    if looks == attacks == 1:
        return confidence
    return 1 - (1 - confidence) / (attacks * (1 if looks == 1 else 2**looks))


def _refuse_too_many(
    looks: int, sure: float, found: DecidingAttacks, deciders: Sequence[str]
) -> None:
    """Refuse a look whose confidence cannot be computed, before it is numbered."""
    try:
        for name in deciders:
            found.panels[name].estimators(deciding_confidence(sure, looks, len(deciders)))
    except BadInput as error:
        raise BadInput(
            f"look {looks} at the same models cannot decide any more ({error}); train others, "
            "with another --seed",
            "no-looks-left",
            value=looks,
        ) from error


def _configured_look(configured: Choice, undefended: RunData) -> Look | None:
    """Return the look of the run's own choice, which is always the first; None if it fails now."""
    try:
        data = undefended.after(configured.defence_plugin)
        return _look(configured, configured.candidates(data))
    except BadInput:
        return None


def _look(choice: Choice, found: DecidingAttacks) -> Look:
    """Return the bound that decides: named beforehand, or picked on the choosing half."""
    attack, picked = choice.primary, choice.primary == "auto" and len(found.attacks) > 1
    if attack == "auto":
        attack = pick_attack(found.attacks, found.panels, found.trials)
    if attack == ALL:
        deciders, held_out = list(found.attacks), True
        attack = f"all of {', '.join(deciders)}"
    else:
        deciders = [attack]
        held_out = picked or chooses(found.attacks[attack], found.panels[attack].takes)
    raw = " by raw scores" if choice.raw_scores else ""
    defence = "" if choice.defence == "none" else f" after {choice.defence}"
    name = f"{attack}{raw}{defence}{'' if held_out else ' on all trials'}"
    estimators = dict.fromkeys(found.panels[one].names[0] for one in deciders)
    return Look(name, ", ".join(estimators), deciders, picked)
