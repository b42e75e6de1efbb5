import numpy as np
import pytest

from dpaudit import outputs
from dpaudit.outputs import deviation, softmax, with_statistics


def passes(rows=7, samples=5, classes=3, dtype=np.float32):
    return np.random.default_rng(0).uniform(size=(rows, samples, classes)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("numbers", [1, 40, 1 << 22], ids="{} at once".format)
def test_summaries_are_those_of_a_loop_in_double_precision(monkeypatch, dtype, numbers):
    """Whatever fits into memory at once."""
    monkeypatch.setattr(outputs, "CHUNK", numbers)
    mc = passes(dtype=dtype)
    got = with_statistics({"mc": mc, "logits": mc[:, 0]})
    assert got.keys() == {"mean", "std", "mc", "logits"}
    for row in range(len(mc)):
        for c in range(mc.shape[2]):
            p = [float(x) for x in mc[row, :, c]]
            mean = sum(p) / len(p)
            variance = sum((x - mean) ** 2 for x in p) / len(p)
            assert got["mean"][row, c] == pytest.approx(mean, rel=1e-12)
            assert got["std"][row, c] == pytest.approx(variance**0.5, rel=1e-9)


def test_what_has_no_passes_has_no_summary():
    seen = {"logits": np.zeros((2, 3))}
    assert with_statistics(seen) is seen


def test_a_summary_that_is_released_already_stays():
    released = np.full((7, 3), 0.5)
    assert with_statistics({"mc": passes(), "mean": released})["mean"] is released


@pytest.mark.parametrize("samples", [1, 2, 7, 1000])
def test_equal_passes_have_no_deviation_at_all(samples):
    got = with_statistics({"mc": np.full((2, samples, 3), 0.1)})
    assert not got["std"].any()
    assert deviation(np.full((2, samples), 0.37), axis=1).tolist() == [0.0, 0.0]


def test_a_diverged_model_has_no_summary_and_spoils_no_other():
    mc = passes()
    mc[3] = np.nan
    got = with_statistics({"mc": mc})
    for name in ("mean", "std"):
        np.testing.assert_array_equal(np.isnan(got[name]).all(axis=1), np.arange(7) == 3)
        assert np.isfinite(got[name][np.arange(7) != 3]).all()


def test_softmax_is_right_for_logits_of_any_size():
    np.testing.assert_allclose(softmax(np.log([[1.0, 2.0, 5.0]])), [[0.125, 0.25, 0.625]])
    assert np.array_equal(softmax(np.array([1e4, -1e4])), [1.0, 0.0])
