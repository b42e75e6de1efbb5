"""Outcomes, deltas and confidences for property tests, their extremes included."""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st

from dpaudit.results import Counts, Guesses

DELTA = 1e-5
KNOWN = Counts(fp=5, out=500, fn=60, inn=500)

steady = settings(deadline=None, derandomize=True, database=None, max_examples=30)


@st.composite
def counts(draw, largest=2000):
    out, inn = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    return Counts(draw(st.integers(0, out)), out, draw(st.integers(0, inn)), inn)


@st.composite
def guesses(draw, largest=1500):
    m = draw(st.integers(1, largest))
    r = draw(st.integers(1, m))
    return Guesses(m, r, draw(st.integers(0, r)))


deltas = st.one_of(
    st.sampled_from([1e-300, 1e-12, 1e-5, 1e-5, 1e-3, 0.999999, 1 - 2**-53]),
    st.floats(1e-9, 0.999),
)
"""Above 0, because a Gaussian curve has no epsilon there."""

confidences = st.floats(0.5, 0.9999)


@contextmanager
def common_random_numbers():
    """Simulations that have the same draws for all trials: then a bound is monotone in them."""
    with ExitStack() as entered:
        for module in ("rank_test", "exact_scan"):
            name = f"dpaudit.estimators.{module}.own_seed"
            entered.enter_context(patch(name, lambda seed, inn: seed))
        yield
