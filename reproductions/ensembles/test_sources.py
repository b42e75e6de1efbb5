"""What the experiments learn from is what the paper says, as far as it says so."""

import numpy as np
from refusals import refuses

from reproductions.ensembles.sources import breast_cancer, sphere


def test_the_sphere_has_5000_points_to_learn_from_and_as_many_tests_of_either_class():
    split = sphere(0)
    assert split.train.x.shape == (5000, 10)
    np.testing.assert_allclose(np.linalg.norm(split.train.x, axis=1), 1)
    assert np.bincount((split.test.y > 0).astype(int)).tolist() == [500, 500]
    np.testing.assert_array_equal(split.test.y, np.where(split.test.x[:, 0] > 0, 1, -1))
    assert abs((split.train.y > 0).mean() - 0.5) < 0.05  # 7 deviations


def test_an_offset_leaves_few_of_one_class_but_in_the_test_set():
    split = sphere(0, offset=0.6).with_intercept()
    assert 0.013 < (split.train.y > 0).mean() < 0.037  # 2.5 %, 5 deviations
    assert (split.test.y > 0).mean() == 0.5
    assert split.train.features == 11
    with refuses("out-of-range", "offset", 1.0):
        sphere(0, offset=1.0)


def test_seeds_are_other_points_and_the_same_seed_the_same():
    a, b, c = (sphere(seed, 50, 20).train.x for seed in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, c)


def test_breast_cancer_is_split_into_400_and_169_rows_of_norm_1():
    split = breast_cancer(0)
    assert (len(split.train), len(split.test), split.train.features) == (400, 169, 30)
    np.testing.assert_allclose(np.linalg.norm(split.train.x, axis=1), 1)
    benign = np.concatenate([split.train.y, split.test.y]) > 0
    assert benign.sum() == 357
