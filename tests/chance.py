"""Whether what was drawn is what should have been: checks that fail by chance with 1e-5 a side."""

import numpy as np
from scipy.stats import binom, chi2, norm

A = 1e-5
"""False-alarm probability of each side of each check."""


def spread_is(values, deviation):
    """Whether independent N(0, deviation^2) values spread as they should."""
    total = float(np.sum((np.asarray(values, float) / deviation) ** 2))
    return chi2.ppf(A, np.size(values)) < total < chi2.isf(A, np.size(values))


def mean_is(values, mean, deviation):
    """Whether independent values of such a deviation average to the mean."""
    z = (np.mean(values) - mean) / deviation * np.sqrt(np.size(values))
    return abs(z) < norm.isf(A)


def count_is(count, n, p):
    """Whether so many of n coins may fall with probability p."""
    return binom.ppf(A, n, p) <= count <= binom.isf(A, n, p)
