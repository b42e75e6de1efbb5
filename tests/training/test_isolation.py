import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dpaudit.training import isolation
from dpaudit.training.isolation import isolated, one_thread


@pytest.mark.parametrize("fails", [False, True])
def test_generators_and_threads_are_as_they_were_even_after_a_failure(fails):
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        for generator in (random.seed, np.random.seed, torch.manual_seed):
            generator(7)
        with pytest.raises(ZeroDivisionError) if fails else isolated(), isolated():
            random.seed(1)
            np.random.seed(1)
            torch.manual_seed(1)
            torch.set_num_threads(1)
            torch.rand(3)
            assert not fails or 1 / 0
        drawn = random.random(), np.random.random(), torch.rand(1).item()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    for generator in (random.seed, np.random.seed, torch.manual_seed):
        generator(7)
    assert drawn == (random.random(), np.random.random(), torch.rand(1).item())


def test_torch_that_is_imported_meanwhile_is_left_as_after_an_import(monkeypatch):
    threads = torch.get_num_threads()
    process = SimpleNamespace(modules={})
    monkeypatch.setattr(isolation, "sys", process)
    monkeypatch.setattr(isolation, "_threads", [])
    try:
        torch.set_num_threads(2)
        with isolated():
            process.modules["torch"] = torch
            one_thread()
            one_thread()
            torch.manual_seed(1)
            seeded = torch.get_rng_state()
        assert torch.get_num_threads() == 2
        assert not torch.equal(torch.get_rng_state(), seeded)
    finally:
        torch.set_num_threads(threads)
