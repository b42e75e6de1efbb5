import pytest
import torch
from refusals import refuses
from torch import nn

from dpaudit.training.networks import NETWORKS, build


def parameters(model):
    return sum(p.numel() for p in model.parameters())


def test_the_papers_network_is_layer_by_layer_that_of_its_table():
    table = nn.Sequential(
        nn.Conv2d(3, 64, 5),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(64, 64, 5),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.MaxPool2d(2, 2),
        nn.Flatten(),
        nn.Linear(1600, 512),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(512, 10),
    )
    model = build("cnn-paper", (3, 32, 32), classes=10, dropout=0.5)
    assert repr(model) == repr(table)
    assert parameters(model) == 932_170


@pytest.mark.parametrize("side", [8, 16])
def test_the_small_network_on_small_images_pools_by_two(side):
    expected = nn.Sequential(
        nn.Conv2d(1, 16, 3, 1, 1),
        nn.ReLU(),
        nn.Dropout(0.25),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(16, 32, 3, 1, 1),
        nn.ReLU(),
        nn.Dropout(0.25),
        nn.MaxPool2d(2, 2),
        nn.Flatten(),
        nn.Linear(32 * (side // 4) ** 2, 64),
        nn.ReLU(),
        nn.Dropout(0.25),
        nn.Linear(64, 10),
    )
    assert repr(build("cnn-small", (1, side, side), classes=10, dropout=0.25)) == repr(expected)


@pytest.mark.parametrize(("side", "flat"), [(17, 32), (28, 512)])
def test_the_small_network_on_larger_images_strides_by_two(side, flat):
    expected = nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, 3),
        nn.ReLU(),
        nn.Dropout(0.25),
        nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, 2, 0),
        nn.ReLU(),
        nn.Dropout(0.25),
        nn.MaxPool2d(2, 1),
        nn.Flatten(),
        nn.Linear(flat, 32),
        nn.ReLU(),
        nn.Dropout(0.25),
        nn.Linear(32, 10),
    )
    assert repr(build("cnn-small", (1, side, side), classes=10, dropout=0.25)) == repr(expected)


SMALLEST = {"cnn-small": 4, "cnn-paper": 16, "mlp": 1, "logreg": 1}


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_a_network_takes_records_of_every_size_from_its_smallest_on(name):
    least = SMALLEST[name]
    shapes = [(1, side, side) for side in range(least, 34)]
    for shape in [*shapes, (3, least, 30), (2, 40, max(17, least))]:
        model = build(name, shape, classes=4, dropout=0.5).eval()
        assert model(torch.zeros(2, *shape)).shape == (2, 4)


@pytest.mark.parametrize("name", ["cnn-small", "cnn-paper"])
def test_records_that_are_too_small_are_refused_with_a_way_out(name):
    for side in range(1, SMALLEST[name]):
        with refuses("too-small", "network", (1, 30, side)) as caught:
            build(name, (1, 30, side), classes=4, dropout=0.5)
        assert name in str(caught.value)
        assert "--network mlp" in str(caught.value)


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_the_dropout_that_is_asked_for_is_in_the_network(name):
    for p in (0.0, 0.3):
        layers = build(name, (1, 28, 28), classes=4, dropout=p)
        rates = {layer.p for layer in layers if isinstance(layer, nn.Dropout)}
        assert rates == {p}


def test_an_unknown_network_is_refused_with_the_nearest_known_one():
    with refuses("unknown-name", "network", "cnn_small") as caught:
        build("cnn_small", (1, 8, 8), classes=10, dropout=0.5)
    assert "'cnn-small'" in str(caught.value)


@pytest.mark.parametrize("shape", [(), (16,), (4, 4), (1, 1, 4, 4)])
def test_a_convolutional_network_refuses_what_is_no_image(shape):
    with refuses("shape-mismatch", "network", shape):
        build("cnn-small", shape, classes=2, dropout=0.5)
