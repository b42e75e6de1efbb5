"""What is learned from is no longer than 1, or refused."""

import numpy as np
import pytest
from refusals import refuses

from dpaudit.papers.ensemble.unit_rows import Rows, clip_rows, normalise_rows, with_intercept


@pytest.mark.parametrize(
    ("x", "y", "refusal"),
    [
        ([[0.8, 0.7], [3.0, 4.0]], [1, -1], ("too-long", "rows", 2)),
        ([[0.1, 0.2]], [0], ("out-of-range", "labels")),
        ([[0.1, np.nan]], [1], ("not-finite", "rows")),
        ([0.1, 0.2], [1, 1], ("shape-mismatch", "rows", ((2,), (2,)))),
        ([[0.1], [0.2]], [1], ("shape-mismatch", "rows", ((2, 1), (1,)))),
    ],
)
def test_what_would_break_the_proof_is_refused(x, y, refusal):
    with refuses(*refusal):
        Rows(np.array(x), np.array(y))


def test_rounding_of_single_precision_is_no_longer_row():
    x = normalise_rows(np.random.default_rng(0).standard_normal((500, 10))).astype(np.float32)
    rows = Rows(x, np.ones(500))
    assert np.linalg.norm(rows.x, axis=1).max() <= 1 + 1e-15
    np.testing.assert_allclose(rows.x, x, rtol=1e-6)


def test_rows_are_shortened_by_what_depends_on_no_other_row():
    x = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(clip_rows(x), [[0.6, 0.8], [0.3, 0.4], [0, 0]])
    np.testing.assert_allclose(normalise_rows(x), [[0.6, 0.8], [0.6, 0.8], [0, 0]])
    longer = with_intercept(clip_rows(x))
    assert longer.shape == (3, 3)
    np.testing.assert_allclose(longer[:, -1], np.sqrt(0.5))
    assert np.linalg.norm(longer, axis=1).max() == pytest.approx(1)


def test_organisations_are_dealt_as_many_rows_each_and_no_row_twice():
    rows = Rows(np.linspace(0, 1, 11)[:, None], np.ones(11))
    dealt = rows.dealt(3)
    assert [len(each) for each in dealt] == [3, 3, 3]
    np.testing.assert_array_equal(np.concatenate([each.x for each in dealt]), rows.x[:9])
    with refuses("too-few-records", "organisations", 12):
        rows.dealt(12)
