"""Compare defences on a journal: what still leaks through each, and what it costs.

A defence is post-processing, so nothing is trained again. The attacker adapts: every rule is
fixed anew, on the choosing half of the trials, to what the defence lets out, and judged on the
other half. Each bound holds at its own confidence; none of them decides, so no look is numbered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpaudit.config.adversaries import ADVERSARIES, OBSERVER, PER_STEP
from dpaudit.config.settings import Judging
from dpaudit.defences import Named, Nothing, named
from dpaudit.errors import BadInput
from dpaudit.estimators.published import published
from dpaudit.journal import Journal
from dpaudit.judging.choice import Choice
from dpaudit.judging.panel import pick
from dpaudit.judging.run_data import RunData, fitting_names, read
from dpaudit.judging.utility import Utility, utility
from dpaudit.protocols import Attack, Defence, lacking
from dpaudit.results import Bound, Published
from dpaudit.types import Claim


@dataclass(frozen=True)
class Defended:
    """What is left of leak and utility behind one defence.

    Bounds and estimates of the attacks that fit what is still released. `strongest` is the one
    that does best on the choosing half, so that its bound holds although it was picked; None
    where no attack fits. `utility` is None where it was not measured.
    """

    defence: str
    bounds: Sequence[Bound]
    published: Sequence[Published]
    strongest: str | None
    utility: Utility | None


@dataclass(frozen=True)
class Comparison:
    """The same trials behind several defences; the first of them is 'none'."""

    claim: Claim
    attacks: Sequence[str]
    defended: Sequence[Defended]
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
    """Leak and utility of a complete journal, without a defence and with each of those given.

    A defence is a text such as 'quantize:0.01', or made already. Of the choice, what decides
    (`primary`, `defence`) has no say here. `watch` is told how many defences are done, and of
    how many.
    """
    chosen = [named("none"), *_distinct(defences)]
    attacks = choice.attack_plugins
    played = read(journal)
    choice.panels(attacks, played.claim, played.seed)  # refused, if at all, before all else
    released = [set(played.a_few_after(defence)) for defence in chosen]
    _refuse_insider(played, released)
    shown = _fitting_somewhere(attacks, played, released, choice)
    defended = []
    for done, defence in enumerate(chosen):
        watch(done, len(chosen))
        # One at a time: all passes of all models behind every defence would be too much to hold.
        view, measured = played.after(defence), utility(journal, played.known, defence)
        defended.append(_defended(defence.name, view, shown, choice, measured))
    watch(len(chosen), len(chosen))
    return Comparison(
        claim=played.claim,
        attacks=list(shown),
        defended=defended,
        models=played.models,
        data=played.settled.data,
        canary=played.settled.canary.to_dict(),
        versions=played.settled.versions,
        seed=played.seed,
    )


def _refuse_insider(played: RunData, released: Sequence[Collection[str]]) -> None:
    """Refuse defences that let nothing out of what an adversary sees who asks no model."""
    steps = played.claim.by_step
    adversary = PER_STEP if steps else ADVERSARIES.get(played.settled.attacker, OBSERVER)
    if adversary.asks or not (steps or any(not fitting_names(names) for names in released)):
        return
    asking = " or ".join(a.name for a in ADVERSARIES.values() if a.asks)
    raise BadInput(
        f"a defence changes what a trained model answers, and {adversary.name} guesses from "
        f"{adversary.guesses_from} instead; compare defences on a run with --adversary {asking}",
        "nothing-released",
        option="adversary",
        value=adversary.name,
    )


def _distinct(defences: Sequence[str | Defence]) -> list[Named]:
    """The defences by name; 'none', which is always there, and a second mention are refused."""
    given = [defences] if isinstance(defences, str) else defences
    found: list[Named] = []
    for defence in map(named, given):
        if isinstance(defence.defence, Nothing):
            said = "'none' is compared with anyway; name a defence, such as quantize:0.01"
            raise BadInput(said, "no-effect", option="defence", value=defence.name)
        for other in found:
            if other.name == defence.name or other.defence == defence.defence:
                said = f"the defence {defence.name} is named twice; name it once"
                raise BadInput(said, "named-twice", option="defence", value=defence.name)
        found.append(defence)
    if not found:
        said = "name at least one defence, such as quantize:0.01"
        raise BadInput(said, "none-named", option="defence")
    return found


def _fitting_somewhere(
    attacks: Mapping[str, Attack],
    played: RunData,
    released: Sequence[Collection[str]],
    choice: Choice,
) -> Mapping[str, Attack]:
    """The attacks that see enough behind one defence at least; a named one must."""
    fitting = {n: a for n, a in attacks.items() if not all(lacking(a, names) for names in released)}
    if choice.attacks != Judging.attacks:
        for name in (name for name in attacks if name not in fitting):
            played.trials(name, attacks[name])  # says what it lacks
    return fitting or choice.fitting(played.seen)


def _defended(
    defence: str,
    view: RunData,
    attacks: Mapping[str, Attack],
    choice: Choice,
    measured: Utility | None,
) -> Defended:
    """Every attack that fits, from scratch on what a defence lets out."""
    fitting = {n: attack for n, attack in attacks.items() if not lacking(attack, view.seen)}
    trials = {name: view.trials(name, attack) for name, attack in fitting.items()}
    choosing = {name: t.halves()[0] for name, t in trials.items()}
    panels = choice.panels(fitting, view.claim, view.seed)
    strongest = pick(fitting, panels, choosing) if fitting else None
    delta, sure = view.claim.delta, choice.confidence

    def bounds(name: str, attack: Attack) -> list[Bound]:
        # On the other half even where nothing is fitted: which one is strongest was picked.
        fixed = panels[name].fix(attack, trials[name], always=True)
        return panels[name].bounds(fixed, sure, sure)

    return Defended(
        defence=defence,
        bounds=[bound for name, a in fitting.items() for bound in bounds(name, a)],
        published=[published(n, a, trials[n], delta, view.seed) for n, a in fitting.items()],
        strongest=strongest,
        utility=measured,
    )
