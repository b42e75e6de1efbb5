"""One report of each verdict, as an audit would make them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.judging.outcome import strength
from dpaudit.rates import BoundCriterion
from dpaudit.results import Bound, Counts, Evidence, Published, Report, Scores
from dpaudit.types import Claim, DPSGDCurve


def bound(attack: str = "loss", *, fp: int = 3, fn: int = 9, n: int = 25, **changes: Any) -> Bound:
    """A Clopper-Pearson bound from counts on n models per world."""
    criterion = BoundCriterion(delta=1e-5)
    made = Bound(
        epsilon=max(0.0, float(criterion(np.array(fp), n, np.array(fn), n))),
        delta=1e-5,
        confidence=0.95,
        estimator="clopper-pearson",
        assumption="none",
        selection="hold-out",
        ceiling=float(criterion(np.array(0), n, np.array(0), n)),
        attack=attack,
        rule="loss < 1.234",
        counts=Counts(fp=fp, out=n, fn=fn, inn=n),
    )
    return replace(made, **changes)


def published(attack: str = "loss", **changes: Any) -> Published:
    made = Published(
        attack=attack,
        epsilon_in_sample=1.12,
        epsilon_in_sample_std=0.27,
        chunks=10,
        null_mean=1.04,
        null_q95=1.63,
        permutations=200,
    )
    return replace(made, **changes)


def inconclusive(**changes: Any) -> Report:
    made = Report(
        claim=Claim(
            epsilon=8.0,
            delta=1e-5,
            curve=DPSGDCurve(sample_rate=0.064, steps=938, noise_multiplier=0.93),
            source="RDP accountant of Opacus",
            beside={"pld": 7.41, "prv": 7.43},
        ),
        verdict="INCONCLUSIVE",
        strength="weak",
        primary=1,
        bounds=[
            bound("loss", fp=10, fn=11),
            bound("mean+std", fp=2, rule="mean > 0.412 & inv_std > 6.1"),
            bound("min+max", fp=11, fn=12),
            bound("all-four", fp=4, fn=7),
        ],
        published=[
            published("loss"),
            published("mean+std", epsilon_in_sample=2.01, null_mean=1.62, null_q95=2.18),
            published("min+max", epsilon_in_sample=1.71, null_mean=1.58, null_q95=2.2),
            published("all-four", epsilon_in_sample=2.31, null_mean=2.06, null_q95=2.64),
        ],
        looks=1,
        models={"in": 50, "out": 50, "choosing": 50, "judging": 50},
        data={"name": "digits", "pool": 1000, "shadow": 400, "test": 397, "shape": [1, 8, 8]},
        canary={
            "name": "adv-maxloss",
            "made": "the record with the largest mean loss over 10 shadow models, then 40 steps "
            "of adversarial noise",
            "label": 8,
        },
        adversary="the probabilities of the canary's class in 1,000 passes with dropout on",
        backend={"name": "vmap", "reason": "fastest on this machine"},
        seconds={"training": 203.7, "judging": 1.24},
        utility={"accuracy": 0.812},
        versions={"dpaudit": "0.1.0", "python": "3.12.3", "torch": "2.9.0"},
        seed=1,
        next_steps=[
            "Train more models: about 44,000 could certify 8.00 (dpaudit run --models 44000).",
            "See beforehand what a number of models can show: dpaudit plan.",
        ],
        warnings=[
            "the models without the canary reach only 81.2 % accuracy: a weak model hides a leak"
        ],
    )
    return judged(made, **changes)


def judged(report: Report, **changes: Any) -> Report:
    """The report with these changes, and the strength that follows from them."""
    made = replace(report, **changes)
    decisive, null = made.bounds[made.primary], made.canary.get("name") == "none"
    return replace(made, strength=strength(made.claim, made.verdict, decisive, null))


def no_violation_found(**changes: Any) -> Report:
    made = inconclusive(
        claim=Claim(epsilon=2.0, delta=1e-5, source="PLD accountant"),
        verdict="NO_VIOLATION_FOUND",
        bounds=[
            bound(name, fp=20, fn=fn, n=250)
            for name, fn in (("loss", 170), ("mean+std", 110), ("learned", 100))
        ],
        published=[
            published("loss"),
            published("mean+std", epsilon_in_sample=2.4, null_mean=1.62, null_q95=2.18),
            published("learned", epsilon_in_sample=2.9, null_mean=1.9, null_q95=2.5),
        ],
        models={"in": 500, "out": 500, "choosing": 500, "judging": 500},
        next_steps=["Try a stronger canary: --canary mislabelled."],
        warnings=[],
    )
    return judged(made, **changes)


def violation(**changes: Any) -> Report:
    made = no_violation_found(
        claim=Claim(epsilon=1.0, delta=1e-5, unit="one parameter", source="theorem 4"),
        verdict="VIOLATION",
        next_steps=["Look for a wrong noise scale or a wrong clipping in the training code."],
    )
    return judged(made, **changes)


def scores(bound: Bound, cut: float = 0.0, seed: int = 0) -> Scores:
    """Scores that the rule 'score > cut' judges as the bound's counts say."""
    draw = np.random.default_rng(seed)
    c = bound.counts or Counts(fp=0, out=25, fn=0, inn=25)
    far = np.abs(draw.normal(1.0, 0.6, c.out + c.inn)) + 1e-3
    out, inn = far[: c.out], far[c.out :]
    out[c.fp :] *= -1
    inn[: c.fn] *= -1
    return Scores(out=cut + out, inn=cut + inn)


def with_evidence(report: Report, *, shape: tuple[int, ...] = (1, 8, 8), **changes: Any) -> Report:
    """The report with what its figures are drawn from."""
    draw = np.random.default_rng(7)
    original = draw.random(shape)
    made = Evidence(
        scores=[scores(b, cut=i, seed=i) for i, b in enumerate(report.bounds)],
        cuts=[float(i) for i in range(len(report.bounds))],
        canary=np.clip(original + 0.1 * np.sign(draw.normal(size=shape)), 0, 1).astype(np.float32),
        original=original.astype(np.float32),
    )
    return replace(report, evidence=replace(made, **changes))


def objects(schema: Any) -> Any:
    """Every sub-schema, with the properties that it names."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema
        for item in schema.values():
            yield from objects(item)
    elif isinstance(schema, list):
        for item in schema:
            yield from objects(item)
