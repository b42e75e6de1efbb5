"""What a report says by who attacks: what was played, and what may find more."""

from __future__ import annotations

from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.report import by_step, local, one_run, releases, worlds
from dpaudit.results import Report

GAME = (
    "Models were trained with and without one planted {planted}, the canary{start}. Attacks then "
    "guess from {shown} whether it had the canary: the better they guess, the more {gives} away "
    "about one record. Epsilon measures this leak: 0 is none, more is worse."
)

BEYOND = "a stronger attack or another canary may find more"


def game(report: Report) -> str:
    """What was played, and what epsilon is."""
    if worlds.is_null(report.canary):
        return worlds.GAME.format(units=one_run.unit(report))
    if report.guesses is not None:
        return one_run.GAME
    if report.claim.by_step:
        return by_step.GAME
    if local.reported(report.claim):
        return local.GAME
    if releases.released(report.claim):
        return releases.GAME
    adversary = ADVERSARIES.get(report.attacker)
    outsider = adversary is None or (adversary.asks and not adversary.crafts)
    crafted = adversary is not None and adversary.crafts
    return GAME.format(
        planted="record" if is_record(report) else "gradient",
        start=", all of them from parameters that the attacker had chosen" if crafted else "",
        shown="a model" if adversary is None else adversary.guesses_from,
        gives="a model gives" if outsider else "is given",
    )


def beyond(report: Report) -> str:
    """What may find more than was found."""
    if worlds.is_null(report.canary):
        return worlds.BEYOND
    if report.guesses is not None:
        return one_run.BEYOND
    adversary = ADVERSARIES.get(report.attacker)
    return BEYOND if adversary is None else adversary.beyond


def is_record(report: Report) -> bool:
    """Whether the canary is a record, and no gradient: only records have a label."""
    return "label" in report.canary
