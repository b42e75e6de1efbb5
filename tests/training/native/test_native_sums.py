"""The kernel's clipped sum is that of a loop over records, for whatever network it takes."""

import numpy as np
import pytest
import torch
from compiled import compiled
from hypothesis import HealthCheck, given, settings
from opacus import GradSampleModule
from refusals import refuses
from sequences import NAMED, NARROWER, ODD, drawn, job, moved, named, odd, records, relative
from torch import nn

from dpaudit.training import backends, native
from dpaudit.training.job import cross_entropy
from dpaudit.training.native import compiler
from dpaudit.training.native.plan import plan

# Even kernels with padding "same" are tested here, and torch warns that it copies their input.
EVEN = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel:UserWarning")
pytestmark = [compiled, EVEN]


def error(model, shape, n=36):
    """The largest relative error, with no and with half of the records clipped."""
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        classes = model(torch.zeros(1, *shape)).shape[1]
    x, y = records(shape, n, classes)
    masks = backends.draw_masks(model, x, generator)
    unclipped, norms = backends.clipped_sum(model, x, y, 1e9, masks)
    if not norms.any():
        return float(np.abs(native.clipped_sum(model, x, y, 1.0, masks)).max())
    clip = float(np.median(norms[norms > 0]))
    errors = [relative(native.clipped_sum(model, x, y, 1e9, masks), unclipped)]
    expected, _ = backends.clipped_sum(model, x, y, clip, masks)
    errors.append(relative(native.clipped_sum(model, x, y, clip, masks), expected))
    return max(errors)


@pytest.mark.parametrize("name", NAMED)
def test_named_networks_have_the_sum_of_a_loop_over_records_and_of_opacus(name):
    model, shape = named(name)
    assert native.build(model, shape) is None
    assert error(model, shape, n=5 if name == "cnn-paper" else 36) < 2e-6
    assert error_by_opacus(model, shape) < 2e-6


@pytest.mark.parametrize("name", ODD)
def test_odd_networks_have_the_sum_of_a_loop_over_records_and_of_opacus(name):
    model, shape = odd(name)
    assert native.build(model, shape) is None
    assert error(model, shape) < 2e-6
    assert error_by_opacus(model, shape) < 2e-6


@settings(
    derandomize=True, max_examples=8, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(network=drawn())
def test_any_network_has_the_sum_of_a_loop_over_records_and_of_opacus(network):
    model, shape = network
    assert native.build(model, shape) is None
    assert error(model, shape) < 1e-5
    assert error_by_opacus(model, shape) < 1e-5


@NARROWER
@pytest.mark.parametrize("name", ["cnn-small", "cnn-small 28 x 28"])
def test_narrower_vectors_have_the_same_sum(name, monkeypatch):
    monkeypatch.setattr(compiler, "FLAGS", (*compiler.FLAGS, "-mno-avx512f"))
    assert error(*named(name)) < 2e-6


def test_the_check_of_a_backend_by_itself_finds_nothing():
    model, shape = named("cnn-small")
    assert backends.failure(native.clipped_sum, model, shape) is None


class Scale(nn.Module):
    """Dropout that happens to keep everything."""

    def __init__(self, p):
        super().__init__()
        self.scale = 1 / (1 - p)

    def forward(self, x):
        return self.scale * x


def error_by_opacus(model, shape, n=9):
    """The same against the gradients that Opacus has of each record."""
    kept = [Scale(layer.p) if isinstance(layer, nn.Dropout) else layer for layer in model]
    with torch.no_grad():
        classes = model(torch.zeros(1, *shape)).shape[1]
    x, y = records(shape, n, classes)
    masks = [mask | True for mask in backends.draw_masks(model, x, torch.Generator())]
    # Its hooks for convolutions do not take all kernels and paddings.
    wrapped = GradSampleModule(nn.Sequential(*kept), loss_reduction="sum", force_functorch=True)
    cross_entropy(wrapped(x.clone().requires_grad_()), y).sum().backward()
    g = torch.cat([p.grad_sample.flatten(1) for p in wrapped.parameters()], dim=1).double()
    wrapped.to_standard_module().zero_grad()
    clip = float(g.norm(dim=1).median())
    expected = ((clip / g.norm(dim=1).clamp(min=1e-30)).clamp(max=1) @ g).numpy()
    ours = native.clipped_sum(model, x, y, clip or 1.0, masks)
    return relative(ours, expected) if expected.any() else float(np.abs(ours).max())


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_ties_of_the_pooling_go_to_the_first_as_in_torch(value):
    """A constant image has the same value in every window, but at its border."""
    for name in ("cnn-small", "cnn-small 28 x 28"):
        model, shape = named(name, dropout=0.0)
        x, y = torch.full((6, *shape), value), torch.arange(6)
        masks = backends.draw_masks(model, x, torch.Generator())
        expected, _ = backends.clipped_sum(model, x, y, 1e9, masks)
        assert relative(native.clipped_sum(model, x, y, 1e9, masks), expected) < 2e-6


def test_a_batch_of_any_size_is_summed_to_the_last_record():
    model, shape = named("cnn-small", dropout=0.0)
    x, y = records(shape, 300)
    masks = backends.draw_masks(model, x, torch.Generator())
    for n in (1, 31, 32, 33, 300):
        part = [mask[:n] for mask in masks]
        expected, _ = backends.clipped_sum(model, x[:n], y[:n], 1.0, part)
        assert relative(native.clipped_sum(model, x[:n], y[:n], 1.0, part), expected) < 2e-6
        assert relative(-moved(model, x[:n], y[:n], clip=1.0), expected) < 1e-4
    assert not native.clipped_sum(model, x[:0], y[:0], 1.0, [m[:0] for m in masks]).any()


def test_values_that_are_no_numbers_do_no_more_than_spoil_the_sum():
    model, shape = named("cnn-small")
    x, y = records(shape, 40)
    x[3], x[4] = float("nan"), float("inf")
    masks = backends.draw_masks(model, x, torch.Generator().manual_seed(0))
    assert np.isnan(native.clipped_sum(model, x, y, 1.0, masks)).any()
    clean = [i for i in range(40) if i not in (3, 4)]
    part = [mask[clean] for mask in masks]
    expected, _ = backends.clipped_sum(model, x[clean], y[clean], 1.0, part)
    assert relative(native.clipped_sum(model, x[clean], y[clean], 1.0, part), expected) < 2e-6


def test_a_given_mask_counts_even_where_the_rate_is_zero():
    model, shape = named("mlp", dropout=0.0)
    x, y = records(shape, 5)
    masks = [torch.arange(128).repeat(5, 1) % 3 > 0]
    expected, _ = backends.clipped_sum(model, x, y, 1.0, masks)
    assert relative(native.clipped_sum(model, x, y, 1.0, masks), expected) < 2e-6


def test_a_label_that_is_no_class_is_refused():
    model, shape = named("logreg")
    x, y = records(shape, 3)
    for label in (-1, 10):
        with refuses("out-of-range", "labels"):
            moved(model, x, torch.full_like(y, label))


# ---------------------------------------------------------------- refusals


REFUSED = {
    ("unfit-layer", ("BatchNorm2d", "type")): [nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)],
    ("unfit-layer", ("Tanh", "type")): [nn.Tanh()],
    ("unfit-layer", ("Conv2d", "groups")): [nn.Conv2d(1, 2, 3), nn.Conv2d(2, 2, 3, groups=2)],
    ("unfit-layer", ("Conv2d", "dilation")): [nn.Conv2d(1, 2, 3, dilation=2)],
    ("unfit-layer", ("Conv2d", "padding")): [nn.Conv2d(1, 2, 3, 1, 1, padding_mode="circular")],
    ("unfit-layer", ("Conv2d", "place")): [nn.Flatten(), nn.Conv2d(1, 2, 3)],
    ("unfit-layer", ("MaxPool2d", "ceil mode")): [nn.MaxPool2d(2, ceil_mode=True)],
    ("unfit-layer", ("MaxPool2d", "dilation")): [nn.MaxPool2d(2, dilation=2)],
    ("unfit-layer", ("MaxPool2d", "indices")): [nn.MaxPool2d(2, return_indices=True)],
    ("unfit-layer", ("Dropout", "rate")): [nn.Dropout(1.0)],
    ("unfit-layer", ("Dropout2d", "type")): [nn.Dropout2d(0.5)],
    ("unfit-layer", ("Linear", "place")): [nn.Linear(8, 3)],
    ("unfit-layer", ("Flatten", "dimensions")): [nn.Flatten(2)],
    ("shape-mismatch", "logits"): [nn.Conv2d(1, 2, 3)],
    ("unfit-parameters", "none"): [nn.Flatten()],
    ("shape-mismatch", (5, 64)): [nn.Flatten(), nn.Linear(5, 3)],
    ("shape-mismatch", (0, 0)): [nn.Conv2d(1, 2, 9)],
    ("unfit-parameters", "precision"): [nn.Flatten(), nn.Linear(64, 3).double()],
    ("unfit-parameters", "shared"): [nn.Flatten(), *[nn.Linear(64, 64)] * 2],
    ("unfit-parameters", "frozen"): [nn.Flatten(), nn.Linear(64, 3).requires_grad_(False)],
    ("unfit-layer", ("MaxPool2d", "size")): [nn.MaxPool2d(257)],
}  # fmt: skip


@pytest.mark.parametrize(("code", "value"), REFUSED)
def test_what_it_cannot_take_is_refused_in_words(code, value):
    model = nn.Sequential(*REFUSED[code, value])
    found = native.build(model, (1, 8, 8))
    assert (found.code, found.option, found.value) == (code, "network", value)
    x, y = records((1, 8, 8), 3)
    with refuses(code, "network", value) as caught:
        native.train(job(model, x, y))
    assert str(found) in str(caught.value)


def test_hooks_are_refused():
    model, shape = named("logreg")
    model[-1].register_forward_hook(lambda layer, given, said: 2 * said)
    assert native.build(model, shape).value == ("Linear", "hooks")


def test_layers_may_be_nested_and_those_without_parameters_used_twice():
    relu, first, last = nn.ReLU(), nn.Linear(64, 64), nn.Linear(64, 3)
    nested = nn.Sequential(nn.Flatten(), nn.Sequential(relu, first), relu, last)
    assert plan(nested, (1, 8, 8)) == plan(
        nn.Sequential(nn.Flatten(), nn.ReLU(), first, nn.ReLU(), last), (1, 8, 8)
    )


def test_another_loss_is_refused():
    model, shape = named("logreg")
    with refuses("unfit-loss", "backend", "native"):
        moved(model, *records(shape, 3), loss=lambda logits, y: logits[:, 0])
