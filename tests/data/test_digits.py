import subprocess
import sys

import numpy as np

from dpaudit.data.builtin import Digits


def test_digits_are_a_thousand_for_d_400_for_shadow_models_and_397_for_testing():
    data = Digits().load(seed=0)
    assert (data.name, data.classes, data.shape) == ("digits", 10, (1, 8, 8))
    assert [len(part) for part in (data.pool, data.shadow, data.test)] == [1000, 400, 397]
    for part in (data.pool, data.shadow, data.test):
        assert (part.x.dtype, part.y.dtype) == (np.float32, np.int64)
        assert (part.x.min(), part.x.max()) == (0, 1)
        assert set(part.y) == set(range(10))


def test_digits_are_all_of_scikit_learns():
    from sklearn.datasets import load_digits

    data = Digits().load(seed=3)
    x = np.concatenate([part.x for part in (data.pool, data.shadow, data.test)])
    images = (x[:, 0] * 16).astype(int).reshape(-1, 64)
    assert sorted(map(tuple, images)) == sorted(map(tuple, load_digits().data.astype(int)))


def test_digits_load_differently_from_another_seed():
    first, again, other = (Digits().load(seed) for seed in (1, 1, 2))
    assert np.array_equal(first.pool.x, again.pool.x)
    assert not np.array_equal(first.pool.x, other.pool.x)


def test_importing_the_loaders_imports_nothing_heavy():
    line = (
        "import sys, dpaudit.data, dpaudit.data.builtin, dpaudit.data.npz, dpaudit.data.vision;"
        "print({'PIL', 'sklearn', 'scipy', 'torch', 'torchvision'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
