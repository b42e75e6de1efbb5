"""The generators that are compared, and what classifiers learn from what they draw."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from functools import cache

import numpy as np
from p3gm_data import Table

from dpaudit.p3gm import Design, fit, noise_multiplier, without_noise
from dpaudit.p3gm.generator import with_labels
from dpaudit.training.variational import Steps
from dpaudit.types import Records

EPSILON, DELTA = 1.0, 1e-5
METHODS = ("original", "vae", "pgm", "p3gm", "ae", "dp-vae")
"""Real records, two generators without privacy, and three that keep (1, 1e-5)."""

PCA_NOISE, EM_NOISE, LABEL_NOISE = 10.0, 60.0, 50.0
COMPONENTS, ITERATIONS = 3, 5
BATCH, EPOCHS, RATE = 200, 8, 3e-3

PUBLISHED: Mapping[tuple[str, str], tuple[float, ...]] = {
    ("credit", "vae"): (0.9558, 0.5466),
    ("credit", "pgm"): (0.9387, 0.6649),
    ("credit", "p3gm"): (0.9232, 0.5208),
    ("credit", "original"): (0.9663, 0.8927),
    ("esr", "p3gm"): (0.8243, 0.7559),
    ("esr", "original"): (0.8698, 0.8098),
    ("adult", "p3gm"): (0.8321, 0.5917),
    ("adult", "original"): (0.9119, 0.7844),
    ("isolet", "p3gm"): (0.6855, 0.3287),
    ("isolet", "original"): (0.9891, 0.9623),
    ("mnist", "vae"): (0.8571,),
    ("mnist", "p3gm"): (0.7946,),
    ("fashion-mnist", "vae"): (0.7854,),
    ("fashion-mnist", "p3gm"): (0.7311,),
}
"""The paper's Tables 2 to 4: AUROC and AUPRC, means of four classifiers, or accuracy."""


@cache
def _noise(mu: float, q: float, steps: int) -> float:
    return noise_multiplier(EPSILON, mu, q, steps, DELTA)


def design(method: str, n: int, features: int, radius: float) -> Design:
    """The generator of a name for so many records; all that is private spends the same."""
    q = min(1.0, BATCH / n)
    count = max(1, int(EPOCHS / q))
    phases = method in ("pgm", "p3gm", "ae")
    mu = 1 / LABEL_NOISE
    if phases:
        mu = math.hypot(mu, 1 / PCA_NOISE, math.sqrt(3 * ITERATIONS) / EM_NOISE)
    private = Design(
        model={"pgm": "p3gm", "p3gm": "p3gm", "ae": "ae"}.get(method, "vae"),
        latent=min(10, features),
        hidden=200,
        components=COMPONENTS,
        iterations=ITERATIONS,
        steps=Steps(count, q, q * n, RATE, 1.0, _noise(mu, q, count)),
        radius=radius,
        pca_noise=PCA_NOISE,
        em_noise=EM_NOISE,
        label_noise=LABEL_NOISE,
    )
    return without_noise(private) if method in ("vae", "pgm") else private


def synthetic(method: str, train: Records, table: Table, radius: float, seed: int) -> Records:
    """As many records as there are to train on, by a method; or these themselves."""
    if method == "original":
        return train
    made = fit(design(method, len(train), train.x.shape[1], radius), train, table.classes, seed)
    return made.sample(len(train), seed, proportioned=True)


def typical_length(some: Records, classes: int) -> float:
    """What records are divided by: the median length of some that are left out for it."""
    return float(np.median(np.linalg.norm(with_labels(some, classes), axis=1)))


def scores(learned: Records, test: Records, classes: int) -> tuple[float, ...]:
    """Of two classes AUROC and AUPRC, means of four classifiers; of more, accuracy."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classifiers that have not converged
        if classes > 2:
            return (_network().fit(learned.x, learned.y).score(test.x, test.y),)
        if len(np.unique(learned.y)) < 2:
            return 0.5, float(np.mean(test.y))
        found = []
        for one in _classifiers():
            said = one.fit(learned.x, learned.y).predict_proba(test.x)[:, 1]
            found.append((roc_auc_score(test.y, said), average_precision_score(test.y, said)))
    return tuple(float(x) for x in np.mean(found, axis=0))


def _classifiers():  # type: ignore[no-untyped-def]
    from sklearn.ensemble import (
        AdaBoostClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
    )
    from sklearn.linear_model import LogisticRegression

    return [
        LogisticRegression(max_iter=500),
        AdaBoostClassifier(random_state=0),
        GradientBoostingClassifier(random_state=0),
        HistGradientBoostingClassifier(random_state=0),
    ]


def _network():  # type: ignore[no-untyped-def]
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(hidden_layer_sizes=(100,), max_iter=40, random_state=0)
