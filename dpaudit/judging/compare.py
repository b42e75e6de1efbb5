"""Compare defences on a journal: the leak and the utility that remain behind each.

NoDefence is trained again. The attacker adapts: every rule is fixed anew to what a defence
releases, on the choosing half of the trials, and judged on the other half. Each bound holds at its
own confidence; none decides, so no look is numbered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpaudit.config.adversaries import ADVERSARIES, OBSERVER, PER_STEP
from dpaudit.config.settings import Judging
from dpaudit.defences import NamedDefence, NoDefence, named_defence
from dpaudit.errors import BadInput
from dpaudit.estimators.published import published_estimate
from dpaudit.journal import Journal
from dpaudit.judging.choice import Choice
from dpaudit.judging.panel import pick_attack
from dpaudit.judging.run_data import RunData, fitting_attacks, read_run, refuse_lacking
from dpaudit.judging.utility import Utility, utility
from dpaudit.protocols import Attack, Defence, lacking
from dpaudit.results import Bound, Published, Result
from dpaudit.types import Claim


@dataclass(frozen=True)
class ComparisonRow:
    """The leak and the utility that remain behind one defence.

    `strongest` does best on the choosing half, so that its bound holds although it was picked;
    None if no attack fits what is still released. `utility` is None if it was not measured.
    """

    defence: str
    bounds: Sequence[Bound]
    published: Sequence[Published]
    strongest: str | None
    utility: Utility | None


@dataclass(frozen=True)
class Comparison(Result):
    """The same trials behind several defences; the first of them is 'none'."""

    claim: Claim
    attacks: Sequence[str]
    rows: Sequence[ComparisonRow]
    models: Mapping[str, int]
    data: Mapping[str, Any]
    canary: Mapping[str, Any]
    versions: Mapping[str, str]
    seed: int


def compare(
    journal: Journal,
    defences: Sequence[str | Defence],
    choice: Choice,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> Comparison:
    """Return leak and utility of a complete journal, without a defence and with each given one.

    A defence is a text such as 'quantize:0.01', or an object. The choice's `primary` and
    `defence` have no effect. `watch` is given the numbers of defences done and of all.
    """
    chosen = [named_defence("none"), *_distinct(defences)]
    attacks = choice.attack_plugins
    data = read_run(journal)
    choice.panels(attacks, data.claim, data.seed)  # refuses before anything is computed
    released = [set(data.a_few_after(defence)) for defence in chosen]
    _refuse_insider(data, released)
    shown = {n: a for n, a in attacks.items() if not all(lacking(a, names) for names in released)}
    if choice.attacks != Judging.attacks:
        for name in [name for name in attacks if name not in shown]:
            refuse_lacking(name, attacks[name], data.seen)
    shown = shown or dict(choice.fitting(data.seen))
    rows = []
    for done, defence in enumerate(chosen):
        watch(done, len(chosen))
        # One at a time: the passes of all models behind every defence would fill memory.
        behind, measured = data.after(defence), utility(journal, data.known, defence)
        rows.append(_row(defence.name, behind, shown, choice, measured))
    watch(len(chosen), len(chosen))
    return Comparison(
        claim=data.claim,
        attacks=list(shown),
        rows=rows,
        models=data.models,
        data=data.facts.data,
        canary=data.facts.canary.to_dict(),
        versions=data.facts.versions,
        seed=data.seed,
    )


def _refuse_insider(data: RunData, released: Sequence[Collection[str]]) -> None:
    """Refuse an adversary who asks no model, if some defence leaves nothing to attack."""
    steps = data.claim.by_step
    adversary = PER_STEP if steps else ADVERSARIES.get(data.facts.attacker, OBSERVER)
    if adversary.asks or not (steps or any(not fitting_attacks(names) for names in released)):
        return
    asking = " or ".join(a.name for a in ADVERSARIES.values() if a.asks)
    text = (
        f"a defence changes what a trained model answers, and {adversary.name} guesses from "
        f"{adversary.guesses_from} instead; compare defences on a run with --adversary {asking}"
    )
    raise BadInput(text, "nothing-released", option="adversary", value=adversary.name)


def _distinct(defences: Sequence[str | Defence]) -> list[NamedDefence]:
    """Return the defences by name; refuse 'none', which is always there, and repetitions."""
    found: list[NamedDefence] = []
    for defence in map(named_defence, [defences] if isinstance(defences, str) else defences):
        name = defence.name
        if isinstance(defence.defence, NoDefence):
            text = "'none' is always included; name a defence, such as quantize:0.01"
            raise BadInput(text, "no-effect", option="defence", value=name)
        if any(name == other.name or defence.defence == other.defence for other in found):
            text = f"the defence {name} is named twice; name it once"
            raise BadInput(text, "named-twice", option="defence", value=name)
        found.append(defence)
    if not found:
        text = "name at least one defence, such as quantize:0.01"
        raise BadInput(text, "none-named", option="defence")
    return found


def _row(
    defence: str,
    data: RunData,
    attacks: Mapping[str, Attack],
    choice: Choice,
    measured: Utility | None,
) -> ComparisonRow:
    """Judge every attack that fits what is released behind a defence."""
    found = choice.candidates(data, {n: a for n, a in attacks.items() if not lacking(a, data.seen)})
    delta, sure = data.claim.delta, choice.confidence
    # On the judging half even if nothing is fitted: which attack is strongest was picked.
    return ComparisonRow(
        defence=defence,
        bounds=[
            bound
            for name, panel in found.panels.items()
            for bound in panel.bounds(
                panel.fix(found.attacks[name], found.trials[name], always=True), sure, sure
            )
        ],
        published=[
            published_estimate(name, attack, found.trials[name], delta, data.seed)
            for name, attack in found.attacks.items()
        ],
        strongest=pick_attack(found.attacks, found.panels, found.trials) if found.attacks else None,
        utility=measured,
    )
