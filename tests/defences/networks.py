"""What networks release, for the tests of defences, and attacks on it by hand."""

import numpy as np

from dpaudit.attacks import InvStd, Mean, MeanStd
from dpaudit.estimators.published import in_sample
from dpaudit.estimators.trials import Trials
from dpaudit.outputs import with_statistics
from dpaudit.seeds import row_seeds
from dpaudit.types import IN, OUT, OWN

KNOWN = {"label": np.array(1)}
DELTA = 1e-5


def network(rows=6, classes=4, samples=5, seed=0):
    """All that is seen of a Bayesian network and of the same network without dropout."""
    draw = np.random.default_rng(seed)
    p = draw.dirichlet(np.ones(classes), size=rows).astype(np.float32)
    return with_statistics(
        {
            "mc": draw.dirichlet(np.ones(classes), size=(rows, samples)).astype(np.float32),
            "probabilities": p,
            "logits": np.log(p),
            "accuracy": draw.uniform(size=rows),
            "hidden": draw.normal(size=(rows, 9)),
        }
    )


def numbered(seen, root=0):
    """With each row's own number, as trials have them."""
    rows = len(next(iter(seen.values())))
    return {**seen, OWN: row_seeds(root, ((0, i) for i in range(rows)))}


def plain(seen):
    """What a network without dropout releases of it."""
    return {name: seen[name] for name in ("logits", "probabilities")}


def best_by_hand(attack, x, worlds, criterion):
    """Every pair of thresholds, one after the other, strictly above, joined as the attack does."""
    cuts = [[-np.inf, *np.unique(column), np.inf] for column in x.T]
    best = -np.inf
    for kind in attack.kinds:
        joined = np.logical_and if kind == "&" else np.logical_or
        for rule in np.stack(np.meshgrid(*cuts), axis=-1).reshape(-1, x.shape[1]):
            says_in = joined.reduce(x > rule, axis=1)
            fp, fn = says_in[worlds == OUT].sum(), (~says_in)[worlds == IN].sum()
            value = criterion(fp, (worlds == OUT).sum(), fn, (worlds == IN).sum())
            best = max(best, float(value))
    return best


def one_pass_knows_its_mean_alone(kept, worlds):
    """1/std is infinite in every trial: alone it tells nothing, nor beside the mean."""
    assert not kept["std"].any()
    of_std, of_mean, of_both = (
        Trials(attack.features(kept, KNOWN), worlds) for attack in (InvStd(), Mean(), MeanStd())
    )
    assert np.isinf(of_std.features).all()
    assert in_sample(InvStd(), of_std, DELTA) == 0
    assert in_sample(MeanStd(), of_both, DELTA) == in_sample(Mean(), of_mean, DELTA) > 0
