"""The clipped sum is that of a loop over records, for every layer that is not refused."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from tiny import weights
from torch import nn

from dpaudit.training import backends, clipping, networks
from dpaudit.training.bookkeeping import Masks, clipped_sum, train
from dpaudit.training.job import TrainingJob, cross_entropy
from dpaudit.training.layers import ELEMENTWISE, refusal

# Even kernels with padding "same" are tested here, and torch warns that it copies their input.
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel:UserWarning")

SHAPE = (2, 6, 6)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As `fit` has it; on a busy machine two wait for each other."""
    torch.set_num_threads(1)


def head():
    return nn.Flatten(), nn.LazyLinear(3)


def network(*layers, shape=SHAPE):
    """The layers, with random weights made for records of a shape."""
    torch.manual_seed(0)
    model = nn.Sequential(*layers)
    model(torch.zeros(1, *shape))
    return model


def agrees(model, shape=SHAPE):
    """Not refused, and the same as the loop over 32 records of which half are clipped."""
    assert refusal(model, shape) is None
    return backends.failure(clipped_sum, model, shape) is None


# ---------------------------------------------------------------- the clipped sum


@settings(max_examples=60, deadline=None, derandomize=True, phases=[Phase.generate])
@given(
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.one_of(
        st.sampled_from(["valid", "same"]), st.tuples(st.integers(0, 2), st.integers(0, 2))
    ),
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    channels=st.sampled_from([(1, 3, 1), (2, 4, 1), (2, 4, 2), (3, 3, 3), (4, 2, 2)]),
    bias=st.booleans(),
)
def test_any_convolution(kernel, stride, padding, dilation, channels, bias):
    inputs, outputs, groups = channels
    stride = (1, 1) if padding == "same" else stride
    shape = (inputs, 8, 7)
    first = nn.Conv2d(inputs, outputs, kernel, stride, padding, dilation, groups, bias)
    # The second one has a gradient that came through a layer, and the first no way back.
    model = network(first, nn.Tanh(), nn.Conv2d(outputs, 2, 1, bias=bias), *head(), shape=shape)
    assert agrees(model, shape)


@pytest.mark.parametrize("kernel", [2, 4, (2, 3)])
def test_a_convolution_of_the_same_size_with_more_zeros_on_one_side(kernel):
    assert agrees(network(nn.Conv2d(2, 3, kernel, padding="same"), *head()))


@pytest.mark.parametrize("layer", ELEMENTWISE, ids=lambda layer: layer.__name__)
def test_any_activation(layer):
    assert agrees(network(nn.Conv2d(2, 3, 3), layer(), *head()))


@pytest.mark.parametrize(
    "layer",
    [
        nn.MaxPool2d(2),
        nn.MaxPool2d(3, 1, 1, ceil_mode=True),
        nn.AvgPool2d(2, 1),
        nn.AdaptiveAvgPool2d(2),
        nn.AdaptiveMaxPool2d((1, 2)),
        nn.ReLU(inplace=True),
        nn.ELU(inplace=True),
        nn.Sequential(nn.ReLU(), nn.Sequential(nn.Conv2d(3, 2, 2, bias=False))),
    ],
    ids=repr,
)
def test_pools_layers_in_place_and_nests(layer):
    before = weights(model := network(nn.Conv2d(2, 3, 3), layer, *head()))
    assert agrees(model)
    assert np.array_equal(weights(model), before)


def test_linear_layers_with_and_without_bias():
    middle = [nn.Linear(72, 7, bias=False), nn.GELU(), nn.Linear(7, 5)]
    assert agrees(network(nn.Flatten(), *middle, nn.Linear(5, 3, bias=False)))


def test_an_activation_that_stands_in_two_places():
    relu = nn.ReLU()
    assert agrees(network(nn.Conv2d(2, 3, 3), relu, nn.Conv2d(3, 3, 2), relu, *head()))


@pytest.mark.parametrize("name", sorted(networks.NETWORKS))
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_packages_networks_under_given_masks(name, dropout):
    shape = (1, 16, 16) if name == "cnn-paper" else (1, 8, 8)
    torch.manual_seed(0)
    assert agrees(networks.build(name, shape, classes=10, dropout=dropout), shape)


def test_ties_of_a_pool_go_to_the_first_as_in_the_loop():
    model = network(nn.Conv2d(2, 3, 2), nn.ReLU(), nn.MaxPool2d(2), *head())
    x, y = torch.zeros(4, *SHAPE), torch.tensor([0, 1, 2, 0])
    x[1:, :, 3:, 3:] = 1
    expected, _ = backends.clipped_sum(model, x, y, 0.5, [])
    np.testing.assert_allclose(clipped_sum(model, x, y, 0.5, []), expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_opacus_says_the_same():
    from opacus import GradSampleModule

    model = network(nn.Conv2d(2, 4, 3, 2, 1, groups=2), nn.ReLU(), nn.MaxPool2d(2), *head())
    x, y = torch.rand(20, *SHAPE), torch.arange(20) % 3
    wrapped = GradSampleModule(model, loss_reduction="sum")
    cross_entropy(wrapped(x), y).sum().backward()
    rows = torch.cat([p.grad_sample.flatten(1) for p in model.parameters()], dim=1)
    norms = rows.norm(dim=1, keepdim=True)
    clip = float(norms.median())
    expected = (rows * (clip / norms).clamp(max=1)).sum(0)
    wrapped.to_standard_module()
    np.testing.assert_allclose(clipped_sum(model, x, y, clip, []), expected, atol=1e-5)


def test_a_record_without_a_gradient_adds_nothing():
    model = network(nn.Flatten(), nn.Linear(72, 3, bias=False))
    x, y = torch.zeros(2, *SHAPE), torch.tensor([0, 1])
    assert not clipped_sum(model, x, y, 1.0, []).any()


# ---------------------------------------------------------------- descents


def job(**changes):
    """A few noisy steps with dropout; the same weights at every call."""
    torch.manual_seed(1)
    small = networks.build("cnn-small", (1, 8, 8), classes=3, dropout=0.5).train()
    x, y = torch.rand(40, 1, 8, 8), torch.arange(40) % 3
    usual = TrainingJob(small, x, y, 0.3, 5, 0.1, 1.0, 0.5, seed=7)
    return replace(usual, **changes)


def after(how):
    products = train(how)
    return weights(how.model), products


def passes(monkeypatch, records):
    """Have the passes take so many records."""
    trace = clipping.Accumulator._trace
    monkeypatch.setattr(
        clipping.Accumulator, "_trace", lambda self, shape: (trace(self, shape)[0], records)
    )


@pytest.mark.parametrize("records", [1, 3, 7])
def test_small_passes_change_no_more_than_the_last_bits(monkeypatch, records):
    whole, _ = after(job())
    passes(monkeypatch, records)
    np.testing.assert_allclose(after(job())[0], whole, rtol=0, atol=1e-6)


def test_the_sum_of_small_passes_is_that_of_all_records(monkeypatch):
    passes(monkeypatch, 5)
    assert agrees(networks.build("cnn-small", (1, 8, 8), classes=10, dropout=0.5), (1, 8, 8))


def test_the_papers_network_is_passed_in_parts_and_digits_are_not():
    paper = networks.build("cnn-paper", (3, 32, 32), classes=10, dropout=0.5)
    small = networks.build("cnn-small", (1, 8, 8), classes=10, dropout=0.5)
    assert 16 <= clipping.Accumulator(paper, (3, 32, 32)).capacity <= 64
    assert clipping.Accumulator(small, (1, 8, 8)).capacity > 512


def seen(how):
    """The batches of a descent, by labels that number the records."""
    batches = []

    def watched(logits, y):
        batches.append(y.tolist())
        return logits.sum(dim=1)

    train(replace(how, y=torch.arange(len(how.x)), loss=watched))
    return batches


@pytest.mark.parametrize("n", [15, 16, 17, 39])
def test_coins_do_not_depend_on_how_many_records_there_are(n):
    how = job(steps=40)
    short = seen(replace(job(steps=40), x=how.x[:n]))
    assert short == [[i for i in batch if i < n] for batch in seen(how)]


def test_a_record_at_the_end_that_is_never_drawn_changes_nothing():
    how = job()
    last = next(n for n in range(1, 40) if not any(n in batch for batch in seen(job())))
    with_it, without = (
        after(replace(job(), x=how.x[:n], y=how.y[:n]))[0] for n in (last + 1, last)
    )
    assert np.array_equal(with_it, without)


def test_one_more_record_in_a_batch_leaves_the_masks_of_the_others():
    layers = [(nn.Dropout(0.5), (2, 3, 3)), (nn.Dropout(0.0), (4,)), (nn.Dropout(0.2), (5,))]
    few, more = (Masks(layers, torch.Generator().manual_seed(3)).draw(n) for n in (6, 7))
    for mask, longer in zip(few, more, strict=True):
        assert torch.equal(mask, longer[:6])


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1 - 2**-20])
def test_values_are_kept_with_their_probability(p):
    """Every one of four values to a random integer; by chance it fails with 2e-5 at most."""
    masks = Masks([(nn.Dropout(p), (3, 4, 4))], torch.Generator().manual_seed(0))
    kept = masks.draw(2000)[0].expand(2000, 3, 4, 4).sum(dim=0).numpy()
    a = 1e-5 / kept.size
    assert (binom.ppf(a, 2000, 1 - p) <= kept).all()
    assert (kept <= binom.isf(a, 2000, 1 - p)).all()


def test_a_layer_that_drops_all_blanks_what_comes_through():
    torch.manual_seed(0)
    how = job(model=networks.build("mlp", (1, 8, 8), 3, dropout=1.0), noise_multiplier=0.0)
    start = weights(how.model)
    moved = after(how)[0] != start
    assert moved[-3:].all()
    assert not moved[:-3].any()


def test_noise_does_not_depend_on_the_batch():
    empty, other = (
        after(job(sample_rate=1e-12, x=torch.rand(n, 1, 8, 8), y=torch.zeros(n).long()))[0]
        for n in (1, 30)
    )
    assert np.array_equal(empty, other)


# ---------------------------------------------------------------- refusals


class Loud(nn.ReLU):
    pass


class Own(nn.Sequential):
    pass


def hooked():
    layer = nn.ReLU()
    layer.register_forward_hook(lambda module, given, output: None)
    return layer


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (nn.BatchNorm2d(3), ("BatchNorm2d", "type")),
        (nn.GroupNorm(1, 3), ("GroupNorm", "type")),
        (nn.InstanceNorm2d(3), ("InstanceNorm2d", "type")),
        (nn.PReLU(), ("PReLU", "type")),
        (nn.Dropout2d(), ("Dropout2d", "type")),
        (nn.Softmax(dim=0), ("Softmax", "type")),
        (Loud(), ("Loud", "type")),
        (Own(nn.ReLU()), ("Own", "type")),
        (nn.Sequential(nn.Sequential(nn.Bilinear(1, 1, 1))), ("Bilinear", "type")),
        (nn.MaxPool2d(2, return_indices=True), ("MaxPool2d", "indices")),
        (nn.Conv2d(3, 3, 3, padding=1, padding_mode="circular"), ("Conv2d", "padding")),
        (hooked(), ("ReLU", "hooks")),
        (nn.Flatten(0, 1), ("Flatten", "records")),
        (nn.Flatten(2), ("Linear", "dimensions")),
        (nn.Linear(4, 2), ("Linear", "dimensions")),
        (nn.Conv2d(5, 3, 3), ("Conv2d", "shape")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_taken_is_refused_by_name(layer, why):
    model = nn.Sequential(nn.Conv2d(2, 3, 3), layer, nn.Flatten(1), nn.Linear(48, 3))
    if isinstance(layer, nn.Flatten) and layer.start_dim == 2:
        model = nn.Sequential(nn.Conv2d(2, 3, 3), layer, nn.Linear(16, 3))
    found = refusal(model, SHAPE)
    assert (found.code, found.value) == ("unfit-layer", why)
    assert why[0] in str(found)


def test_networks_that_are_wrong_as_a_whole_are_refused():
    shared = nn.Linear(72, 72)
    frozen = nn.Sequential(nn.Flatten(), nn.Linear(72, 3).requires_grad_(False), nn.Linear(3, 3))
    for model, *why in [
        (nn.Sequential(nn.Flatten()), "unfit-parameters", "none"),
        (nn.Sequential(nn.Flatten(), shared, nn.ReLU(), shared), "unfit-parameters", "shared"),
        (frozen, "unfit-parameters", "frozen"),
        (nn.Sequential(nn.Conv2d(2, 3, 3)), "shape-mismatch", 3),
        (
            nn.Sequential(nn.Flatten(), nn.Linear(72, 3), nn.Linear(3, 3).double()),
            "unfit-parameters",
            "mixed",
        ),
    ]:
        found = refusal(model, SHAPE)
        assert [found.code, found.value] == why


def test_images_without_channels_are_refused_where_they_would_pass_for_one_record():
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Linear(16, 3))
    assert refusal(model, (6, 6)).value == ("Conv2d", "dimensions")


def test_everything_lies_on_the_device_of_the_parameters():
    """Without another device: on torch's device of shapes alone, of which a CPU tensor is none."""
    model = networks.build("cnn-small", (1, 8, 8), classes=3, dropout=0.5).to("meta")
    gradients = clipping.Accumulator(model, (1, 8, 8))
    x, y = torch.zeros(4, 1, 8, 8, device="meta"), torch.zeros(4, dtype=torch.long, device="meta")
    masks = [torch.ones(4, *shape, device="meta") for _, shape in gradients.dropouts]
    gradients.add(x, y, 1.0, masks, cross_entropy)
    gradients.move(0.1)
    assert gradients.sum.device.type == "meta"
    assert {p.device.type for p in model.parameters()} == {"meta"}
