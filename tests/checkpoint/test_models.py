"""A model of one's own: every format and layout, its dropout, and what fails in it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refuses
from scipy.special import log_softmax
from torch import nn

from dpaudit.checkpoint.candidates import Candidates
from dpaudit.checkpoint.models import QuerySettings, fit_layout, query
from dpaudit.checkpoint.predictions import STATISTICS
from dpaudit.errors import BadInput
from dpaudit.training import networks
from dpaudit.types import Records

SHAPE, CLASSES, N = (1, 8, 8), 3, 20

MODULE = """
import torch
from torch import nn

def plain():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 3))

def rows():
    return nn.Linear(64, 3)

def normed():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 3), nn.BatchNorm1d(3))

def wrapped():
    class Told(nn.Linear):
        def forward(self, x):
            return {"logits": super().forward(x.flatten(1))}
    return Told(64, 3)

def never():
    return nn.Sequential(nn.Flatten(), nn.Dropout(0.0), nn.Linear(64, 3))

def sure():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 3), nn.Softmax(dim=1))

def broken():
    raise ValueError("no GPU")

def wants(argument):
    return plain()

def doubled(batch):
    return 2 * batch

def dropped(batch):
    return batch[:, :, :4]
"""


def subject(shape=SHAPE):
    draw = np.random.default_rng(0)
    x = draw.uniform(size=(N, *shape)).astype(np.float32)
    return Candidates(Records(x, draw.integers(0, 3, N)), np.arange(N) % 2 == 0, CLASSES, "kit", "")


@pytest.fixture
def own(tmp_path, monkeypatch):
    """MODULE:FUNCTION of a module that is written anew."""
    (tmp_path / "own_networks.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield lambda name: f"{tmp_path / 'own_networks.py'}:{name}"
    import sys

    sys.modules.pop("own_networks", None)


def saved(network, path):
    torch.manual_seed(0)
    for p in network.parameters():
        nn.init.normal_(p)
    torch.save(network.state_dict(), path)
    return network.eval()


def expected(network, x, y):
    with torch.no_grad():
        z = network(torch.as_tensor(x)).numpy()
    return log_softmax(z.astype(float), axis=1)[np.arange(len(y)), y]


@pytest.mark.parametrize("name", ["cnn-small", "mlp", "logreg"])
def test_a_named_network_says_what_it_says(tmp_path, name):
    asked = subject()
    network = saved(networks.build(name, SHAPE, CLASSES, 0.5), tmp_path / "a.pt")
    found = query(tmp_path / "a.pt", asked, QuerySettings(name))
    assert found.outputs.log_p == pytest.approx(expected(network, asked.records.x, asked.records.y))
    assert name in found.about
    assert found.outputs.statistics == {}


def test_an_own_network_is_given_pictures_as_pictures_and_rows_as_rows(tmp_path, own):
    for function, shape in (("plain", SHAPE), ("rows", (1, 1, 64))):
        asked = subject(shape)
        network = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
        saved(network if function == "plain" else network[1], tmp_path / "a.pt")
        x, y = asked.records.x, asked.records.y
        found = query(tmp_path / "a.pt", asked, QuerySettings(own(function))).outputs
        assert found.log_p == pytest.approx(expected(network, x, y), rel=1e-4)


def test_records_are_preprocessed_and_probabilities_taken(tmp_path, own):
    asked = subject()
    network = saved(nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), tmp_path / "a.pt")
    x, y = asked.records.x, asked.records.y
    how = QuerySettings(own("sure"), outputs="probabilities", preprocess=own("doubled"))
    found = query(tmp_path / "a.pt", asked, how).outputs
    assert found.log_p == pytest.approx(expected(network, 2 * x, y), rel=1e-3)


def test_passes_with_dropout_follow_the_seed(tmp_path):
    asked = subject()
    saved(networks.build("mlp", SHAPE, CLASSES, 0.5), tmp_path / "a.pt")
    first, again, other = (
        query(
            tmp_path / "a.pt", asked, QuerySettings("mlp", samples=30, seed=seed)
        ).outputs.statistics
        for seed in (0, 0, 1)
    )
    assert tuple(first) == STATISTICS
    assert (first["mean"] == again["mean"]).all()
    assert (first["mean"] != other["mean"]).any()
    assert (first["min"] <= first["mean"]).all()
    assert (first["mean"] <= first["max"]).all()


def test_a_network_without_dropout_is_said_to_have_none(tmp_path, own):
    saved(nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), tmp_path / "a.pt")
    found = query(tmp_path / "a.pt", subject(), QuerySettings(own("plain"), samples=10))
    assert "nn.Dropout" in found.warnings[0]
    assert "--samples" in found.warnings[0]
    assert found.outputs.statistics == {}


def test_a_dropout_of_nothing_is_told(tmp_path, own):
    saved(nn.Sequential(nn.Flatten(), nn.Dropout(0.0), nn.Linear(64, 3)), tmp_path / "a.pt")
    found = query(tmp_path / "a.pt", subject(), QuerySettings(own("never"), samples=10))
    assert "dropout of 0" in found.warnings[0]
    assert "nn.Dropout" not in found.warnings[0]
    assert "--samples" in found.warnings[0]
    assert found.outputs.passes is None


def test_an_answer_that_is_no_tensor_is_told(tmp_path, own):
    saved(nn.Linear(64, 3), tmp_path / "a.pt")
    with pytest.raises(BadInput, match=r"\bdict\b"):
        query(tmp_path / "a.pt", subject(), QuerySettings(own("wrapped")))


def test_batch_normalisation_is_warned_of(tmp_path, own):
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 3), nn.BatchNorm1d(3))
    saved(network, tmp_path / "a.pt")
    (said,) = query(tmp_path / "a.pt", subject(), QuerySettings(own("normed"))).warnings
    assert "GroupNorm" in said


@pytest.mark.parametrize(
    ("network", "more", "said"),
    [
        ("cnn", {}, "'cnn'.*networks"),
        ("broken", {}, ":broken .*ValueError: no GPU"),
        ("wants", {}, r":wants .*\(\)"),
        ("nobody", {}, "'nobody'.*functions"),
        ("normed", {}, r"\b2\.weight 3\b"),
        ("plain", {"preprocess": "dropped"}, r"\(20, 1, 4, 8\)"),
        ("plain", {"preprocess": "nobody"}, "'nobody'.*functions"),
        ("plain", {"outputs": "probabilities"}, "--outputs probabilities"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(tmp_path, own, network, more, said):
    saved(nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), tmp_path / "a.pt")
    name = network if network == "cnn" else own(network)
    given = {k: own(v) if k == "preprocess" else v for k, v in more.items()}
    with pytest.raises(BadInput, match=said) as error:
        query(tmp_path / "a.pt", subject(), QuerySettings(name, **given))
    assert "\n" not in str(error.value)


def test_a_checkpoint_needs_a_network(tmp_path):
    with refuses("needs-network", option="network", value=str(tmp_path / "a.pt")):
        query(tmp_path / "a.pt", subject(), QuerySettings(None))


def test_a_wrong_number_of_classes_is_told(tmp_path, own):
    saved(nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), tmp_path / "a.pt")
    four = Candidates(subject().records, subject().put_in, 4, "kit", "")
    with pytest.raises(BadInput, match=r"\(20, 3\).*\(20, 4\)"):
        query(tmp_path / "a.pt", four, QuerySettings(own("plain")))


# ---------------------------------------------------------------- ONNX


def onnx_model(path: Path, batch=None, shape=SHAPE, classes=CLASSES, first=""):
    """Logits by one matrix, as any framework may export it; perhaps with another output first."""
    onnx = pytest.importorskip("onnx")
    weight = np.random.default_rng(1).normal(size=(64, classes)).astype(np.float32)
    float32, helper, info = onnx.TensorProto.FLOAT, onnx.helper, onnx.helper.make_tensor_value_info
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"], axis=1),
        helper.make_node("MatMul", ["flat", "w"], ["z"]),
    ]
    outputs = [info("z", float32, [batch or "n", classes])]
    if first:
        nodes.append(helper.make_node("ArgMax", ["z"], [first], axis=1, keepdims=0))
        outputs.insert(0, info(first, onnx.TensorProto.INT64, [batch or "n"]))
    graph = helper.make_graph(
        nodes,
        "model",
        [info("x", float32, [batch or "n", *shape])],
        outputs,
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)
    return weight


@pytest.mark.parametrize("batch", [None, 1, 7])
@pytest.mark.parametrize("shape", [(64,), SHAPE, (8, 8), (8, 8, 1)])
@pytest.mark.parametrize("first", ["", "label"])
def test_an_onnx_model_needs_no_network(tmp_path, batch, shape, first):
    weight = onnx_model(tmp_path / "a.onnx", batch, shape, first=first)
    asked = subject()
    x, y = asked.records.x, asked.records.y
    found = query(tmp_path / "a.onnx", asked, QuerySettings()).outputs
    z = log_softmax(x.reshape(N, -1) @ weight, axis=1)[np.arange(N), y]
    assert found.log_p == pytest.approx(z, abs=1e-4)


def test_records_are_fit_layout_as_an_onnx_model_declares_them():
    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    assert (fit_layout(x, ["n", 4, 5, 3]) == np.moveaxis(x, 1, 3)).all()
    for declared in (["n", 3, 4, 5], ["n", "c", "h", "w"], ["n", 7, 7, 7], ["n", 4, 5]):
        assert fit_layout(x, declared) is x


def test_an_onnx_model_that_cannot_be_asked_is_one_sentence(tmp_path):
    onnx_model(tmp_path / "two.onnx", classes=2)
    whole = (tmp_path / "two.onnx").read_bytes()
    (tmp_path / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.onnx").touch()
    for name, code in (
        ("two", "class-mismatch"),
        ("cut", "file-damaged"),
        ("empty", "file-empty"),
        ("none", "file-missing"),
    ):
        file = tmp_path / f"{name}.onnx"
        with refuses(code, value=[2, 3] if name == "two" else str(file)):
            query(file, subject(), QuerySettings())
    with refuses("no-effect", option="network", value="mlp"):
        query(tmp_path / "two.onnx", subject(), QuerySettings("mlp"))
