"""What no accountant covers is told, with the reason."""

import torch
from torch import nn

from dpaudit.training import networks
from dpaudit.training.state import buffers, layer_warnings


def test_nothing_is_said_of_layers_that_keep_nothing():
    for layers in ([nn.InstanceNorm2d(2), nn.GroupNorm(1, 2)], [nn.Embedding(3, 2)]):
        assert layer_warnings(nn.Sequential(*layers)) == []
    assert layer_warnings(networks.build("cnn-small", (1, 8, 8), 10, 0.5)) == []


def test_layers_that_keep_statistics_of_their_records_are_told():
    (said,) = layer_warnings(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    assert "batch normalisation (1), which mixes the records of a batch" in said
    (said,) = layer_warnings(nn.Sequential(nn.InstanceNorm2d(2, track_running_stats=True)))
    assert "running statistics" in said


def test_an_embedding_that_scales_what_is_looked_up_is_told():
    (said,) = layer_warnings(nn.Sequential(nn.Embedding(3, 2, max_norm=1.0)))
    assert "an embedding with max_norm (0)" in said


def test_buffers_that_a_training_has_changed_are_told():
    class Codes(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("codebook", torch.zeros(3))
            self.register_buffer("steps", torch.tensor(0))
            self.norm = nn.BatchNorm1d(3)

    network = Codes()
    untrained = buffers(network)
    assert set(untrained) == {"codebook"}
    assert len(layer_warnings(network, untrained)) == 1
    network.codebook += 1
    _, said = layer_warnings(network, untrained)
    assert "buffers that are not those of an untrained one (codebook)" in said
