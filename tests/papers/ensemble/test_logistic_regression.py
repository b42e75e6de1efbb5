"""The minimum is exact, whatever the noise, and a term's own."""

import numpy as np
import pytest
from refusals import refuses
from scipy.optimize import minimize

from dpaudit.papers.ensemble.logistic_regression import gradient, hessian, loss, minimise
from dpaudit.papers.ensemble.unit_rows import Rows


def objective(rows, lam, b, w):
    return loss(rows.y * (rows.x @ w)).mean() + lam / 2 * np.sum(w**2) + np.dot(b, w) / len(rows)


@pytest.mark.parametrize("lam", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("d", [1, 3, 10])
def test_it_is_where_another_minimiser_ends(made, lam, d):
    rows = made(40, d)
    b = 3 * np.random.default_rng(1).standard_normal((4, d))
    for term, w in zip(b, minimise(rows, lam, b), strict=True):
        found = minimize(lambda v, t=term: objective(rows, lam, t, v), np.zeros(d), tol=1e-12)
        assert objective(rows, lam, term, w) <= found.fun + 1e-9
        np.testing.assert_allclose(w, found.x, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("size", [0.0, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("lam", [10.0, 0.1, 1e-6])
def test_its_gradient_vanishes(made, lam, size):
    rows = made(50, 5)
    b = size * np.random.default_rng(2).standard_normal((20, 5))
    left = np.linalg.norm(gradient(rows, lam, b, minimise(rows, lam, b)), axis=1)
    assert (left <= np.maximum(1e-10, 1.5e-14 * np.linalg.norm(b, axis=1) / 50)).all()


def test_a_term_is_solved_to_the_last_bit_as_it_is_alone(made):
    rows = made(50, 10)
    b = 20 * np.random.default_rng(3).standard_normal((300, 10))
    together = minimise(rows, 0.01, b)
    for i in (0, 7, 299):
        np.testing.assert_array_equal(minimise(rows, 0.01, b[i : i + 1])[0], together[i])


def test_gradient_and_hessian_are_the_derivatives(made):
    rows, b, w = made(20, 3), np.array([[1.0, -2, 3]]), np.array([[0.3, -0.2, 0.5]])
    steps = 1e-6 * np.eye(3)
    slopes = [
        (objective(rows, 0.1, b[0], w[0] + e) - objective(rows, 0.1, b[0], w[0] - e)) / 2e-6
        for e in steps
    ]
    np.testing.assert_allclose(gradient(rows, 0.1, b, w)[0], slopes, atol=1e-8)
    bent = [
        (gradient(rows, 0.1, b, w + e)[0] - gradient(rows, 0.1, b, w - e)[0]) / 2e-6 for e in steps
    ]
    np.testing.assert_allclose(hessian(rows, 0.1, w)[0], bent, atol=1e-8)


def test_without_a_term_it_is_plain_logistic_regression(made):
    from sklearn.linear_model import LogisticRegression

    rows, lam = made(60, 4), 0.01
    plain = LogisticRegression(C=1 / (lam * 60), fit_intercept=False, tol=1e-10, max_iter=1000)
    np.testing.assert_allclose(minimise(rows, lam), plain.fit(rows.x, rows.y).coef_[0], rtol=1e-4)


def test_no_regularisation_is_refused(made):
    with refuses("not-positive", value=0.0):
        minimise(made(10, 2), 0.0)


def test_records_of_one_class_and_rows_of_zeros_have_a_minimum():
    assert minimise(Rows(np.zeros((5, 2)), np.ones(5)), 0.1).tolist() == [0, 0]
    w = minimise(Rows(np.ones((5, 1)), np.ones(5)), 1e-4)
    assert w[0] > 5
