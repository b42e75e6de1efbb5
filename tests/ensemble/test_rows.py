"""What is learned from is no longer than 1, or refused."""

import numpy as np
import pytest

from dpaudit.ensemble import Rows, clipped, normalised, with_intercept
from dpaudit.errors import BadInput


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        ([[0.8, 0.7], [3.0, 4.0]], [1, -1], "2 of 2 rows are longer than 1, the longest 5"),
        ([[0.1, 0.2]], [0], "labels must be -1 or 1"),
        ([[0.1, np.nan]], [1], "finite"),
        ([0.1, 0.2], [1, 1], "rows are"),
        ([[0.1], [0.2]], [1], "with a label each"),
    ],
)
def test_what_would_break_the_proof_is_refused(x, y, said):
    with pytest.raises(BadInput, match=said):
        Rows(np.array(x), np.array(y))


def test_rounding_of_single_precision_is_no_longer_row():
    x = normalised(np.random.default_rng(0).standard_normal((500, 10))).astype(np.float32)
    rows = Rows(x, np.ones(500))
    assert np.linalg.norm(rows.x, axis=1).max() <= 1 + 1e-15
    np.testing.assert_allclose(rows.x, x, rtol=1e-6)


def test_rows_are_shortened_by_what_depends_on_no_other_row():
    x = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(clipped(x), [[0.6, 0.8], [0.3, 0.4], [0, 0]])
    np.testing.assert_allclose(normalised(x), [[0.6, 0.8], [0.6, 0.8], [0, 0]])
    longer = with_intercept(clipped(x))
    assert longer.shape == (3, 3)
    np.testing.assert_allclose(longer[:, -1], np.sqrt(0.5))
    assert np.linalg.norm(longer, axis=1).max() == pytest.approx(1)


def test_organisations_are_dealt_as_many_rows_each_and_no_row_twice():
    rows = Rows(np.linspace(0, 1, 11)[:, None], np.ones(11))
    dealt = rows.dealt(3)
    assert [len(each) for each in dealt] == [3, 3, 3]
    np.testing.assert_array_equal(np.concatenate([each.x for each in dealt]), rows.x[:9])
    with pytest.raises(BadInput, match="too few records for 12 organisations"):
        rows.dealt(12)
