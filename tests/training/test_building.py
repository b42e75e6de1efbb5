"""Which backend is built, and what is said of it."""

import numpy as np
import pytest
from refusals import refuses
from tiny import flat_loss, recipe, records, weights

from dpaudit.config import settings
from dpaudit.errors import BadInput
from dpaudit.training import backends
from dpaudit.training.backends import BACKENDS, FASTEST, Implementation, build
from dpaudit.training.dpsgd import fit, fit_many
from dpaudit.types import Backend

FEETLESS = BadInput("it has no feet", "no-feet")


def right(model, x, y, clip, masks):
    return backends.clipped_sum(model, x, y, clip, masks)[0]


def scaled(factor):
    """The clipped sum, off by a factor."""
    return lambda *given: factor * right(*given)


@pytest.fixture
def install(monkeypatch):
    """Backends in the place of the real ones; none of them has trained anything yet."""

    def install(**made):
        monkeypatch.setattr(backends, "BACKENDS", made)
        monkeypatch.setattr(settings, "BACKENDS", ("auto", *made))
        backends._first_use.cache_clear()

    yield install
    backends._first_use.cache_clear()


def idle(job):
    return None


def test_what_a_configuration_may_name_is_what_there_is():
    assert ("auto", *BACKENDS) == settings.BACKENDS


def test_the_first_that_can_is_taken(install):
    install(swift=Implementation(idle), slow=Implementation(idle))
    assert build(recipe()) == Backend("swift", FASTEST)


def test_one_that_cannot_take_the_network_is_passed_over_and_the_reason_says_so(install):
    install(swift=Implementation(idle, lambda model, shape: FEETLESS), slow=Implementation(idle))
    assert build(recipe()) == Backend("slow", "not swift: it has no feet")


@pytest.mark.parametrize(("factor", "taken"), [(1 + 5e-5, "swift"), (1 + 2e-4, "slow")])
def test_one_whose_gradients_are_off_is_passed_over(install, factor, taken):
    install(swift=Implementation(idle, clipped_sum=scaled(factor)), slow=Implementation(idle))
    chosen = build(recipe(network="mlp", dropout=0.5))
    assert chosen.name == taken
    if taken == "slow":
        assert "swift" in chosen.reason
        assert "0.0002" in chosen.reason


def test_not_a_number_is_off_too(install):
    install(swift=Implementation(idle, clipped_sum=scaled(np.nan)), slow=Implementation(idle))
    assert build(recipe()).name == "slow"


def test_half_of_the_records_of_the_check_are_clipped_and_dropout_is_on(install):
    seen = []

    def watched(model, x, y, clip, masks):
        total, norms = backends.clipped_sum(model, x, y, clip, masks)
        seen.append((len(x), np.mean(norms > clip), [m.float().mean().item() for m in masks]))
        return total

    install(swift=Implementation(idle, clipped_sum=watched))
    build(recipe(network="mlp", dropout=0.5))
    ((samples, clipped, kept),) = seen
    assert (samples, clipped) == (32, 0.5)
    assert kept == pytest.approx([0.5], abs=0.05)


def test_a_network_is_checked_once_a_process(install):
    checked = []
    install(swift=Implementation(idle, lambda model, shape: checked.append(shape)))
    for seed in range(3):
        fit(recipe(), records(4), seed)
    fit(recipe(lr=2.0), records(4), 0)
    assert checked == [(1, 2, 2)]


def test_a_loss_of_ones_own_is_left_to_those_that_take_any(install):
    install(swift=Implementation(idle, any_loss=False), slow=Implementation(idle))
    assert build(recipe(), flat_loss).name == "slow"
    with refuses("unfit-network", "backend", "swift") as caught:
        build(recipe(backend="swift"), flat_loss)
    assert [problem.code for problem in caught.value.problems] == ["unfit-loss"]


def test_a_named_one_is_taken_or_refused_in_one_sentence(install):
    install(swift=Implementation(idle, lambda model, shape: FEETLESS), slow=Implementation(idle))
    assert build(recipe(backend="slow")) == Backend("slow", "as configured")
    with refuses("unfit-network", "backend", "swift") as caught:
        build(recipe(backend="swift"))
    assert caught.value.problems == (FEETLESS,)
    assert "it has no feet" in str(caught.value)
    assert "--backend auto" in str(caught.value)


def test_an_unknown_one_is_refused():
    with refuses("unknown-choice", "backend", "opacuss"):
        recipe(backend="opacuss")


def test_many_models_are_trained_by_the_backend_of_their_recipe():
    how = recipe(backend="opacus", noise_multiplier=1.0)
    (model,) = fit_many(how, records(4), [1])
    assert np.array_equal(weights(model), weights(fit(how, records(4), 1).model))
