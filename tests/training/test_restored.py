import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dpaudit.training import restored as module
from dpaudit.training.restored import one_thread, restored


@pytest.mark.parametrize("fails", [False, True])
def test_generators_and_threads_are_as_they_were_even_after_a_failure(fails):
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        for generator in (random.seed, np.random.seed, torch.manual_seed):
            generator(7)
        with pytest.raises(ZeroDivisionError) if fails else restored(), restored():
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
    monkeypatch.setattr(module, "sys", process)
    monkeypatch.setattr(module, "_threads", [])
    try:
        torch.set_num_threads(2)
        with restored():
            process.modules["torch"] = torch
            one_thread()
            one_thread()
            torch.manual_seed(1)
            seeded = torch.get_rng_state()
        assert torch.get_num_threads() == 2
        assert not torch.equal(torch.get_rng_state(), seeded)
    finally:
        torch.set_num_threads(threads)
