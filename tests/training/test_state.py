"""A checkpoint is data: no pickle runs code, and what is damaged is one sentence."""

import io
import json
import pickle
import struct
import zipfile
from collections import OrderedDict

import pytest
import torch
from refusals import refuses
from safetensors.torch import save_file
from torch import nn

from dpaudit.errors import BadInput
from dpaudit.training import state

NET = nn.Linear(3, 2)
WHOLE = {name: tensor.detach() for name, tensor in NET.state_dict().items()}


def same(found):
    return found.keys() == WHOLE.keys() and all((found[n] == WHOLE[n]).all() for n in WHOLE)


def refusal_of(path, code):
    """What is said of a file that is refused with this code."""
    with refuses(code, value=str(path)) as error:
        state.read(path)
    said = str(error.value)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said
    return said


# ---------------------------------------------------------------- formats


@pytest.mark.parametrize("prefix", ["", "_module.", "module.", "_orig_mod.", "module._module."])
@pytest.mark.parametrize("suffix", [".pt", ".pth", ".safetensors"])
def test_what_wrappers_put_before_names_is_taken_off(tmp_path, prefix, suffix):
    path = tmp_path / f"model{suffix}"
    saved = {f"{prefix}{name}": tensor for name, tensor in WHOLE.items()}
    save_file(saved, path) if suffix == ".safetensors" else torch.save(saved, path)
    assert same(state.unwrap(state.read(path), WHOLE))


@pytest.mark.parametrize("wrapped", ["", "_module.", "module."])
@pytest.mark.parametrize("own", ["module.", "_module.net."])
def test_a_network_may_have_such_names_itself(own, wrapped):
    """An attribute that is called module, saved bare or by a wrapper; or a wrapper itself."""
    wants = [f"{own}{name}" for name in WHOLE]
    for before in (own, f"{wrapped}{own}", own.removeprefix("module.")):
        saved = {f"{before}{name}": tensor for name, tensor in WHOLE.items()}
        assert list(state.unwrap(saved, wants)) == wants


def test_a_prefix_that_not_all_names_have_is_a_name():
    saved = {"module.a": torch.ones(1), "b": torch.ones(1)}
    assert set(state.unwrap(saved, ["a", "b"])) == {"module.a", "b"}


@pytest.mark.parametrize("name", state.WRAPPED)
def test_parameters_beside_other_things_are_found(tmp_path, name):
    kept = {name: OrderedDict(WHOLE), "epoch": 3, "optimizer": {"lr": 0.1}}
    torch.save(kept, tmp_path / "a.pt")
    assert same(state.read(tmp_path / "a.pt"))


def test_the_old_format_is_read(tmp_path):
    torch.save(WHOLE, tmp_path / "a.pt", _use_new_zipfile_serialization=False)
    assert same(state.read(tmp_path / "a.pt"))


# ---------------------------------------------------------------- hostile files


class Evil:
    """Writes a file when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (open, (str(self.mark), "w"))


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".bin", ".safetensors"])
@pytest.mark.parametrize("how", ["torch", "torch old", "pickle", "inside"])
def test_a_pickle_that_runs_code_on_load_does_not_run(tmp_path, how, suffix):
    mark, path = tmp_path / "ran", tmp_path / f"evil{suffix}"
    evil = Evil(mark)
    if how == "pickle":
        path.write_bytes(pickle.dumps(evil))
    elif how == "inside":
        torch.save({**WHOLE, "extra": evil}, path)
    else:
        torch.save(evil, path, _use_new_zipfile_serialization=how == "torch")
    said = refusal_of(path, "file-damaged" if suffix == ".safetensors" else "holds-code")
    assert not mark.exists()
    if suffix != ".safetensors":
        assert state.SAVE in said


def test_a_whole_module_is_refused_with_the_recipe(tmp_path):
    torch.save(NET, tmp_path / "a.pt")
    assert refusal_of(tmp_path / "a.pt", "holds-code").endswith(state.SAVE)


@pytest.mark.filterwarnings("ignore:.torch.jit")
def test_torchscript_is_refused(tmp_path):
    torch.jit.script(NET).save(tmp_path / "a.pt")
    assert "TorchScript" in refusal_of(tmp_path / "a.pt", "holds-code")


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_an_empty_file_is_said_to_be_empty(tmp_path, suffix):
    (tmp_path / f"a{suffix}").touch()
    refusal_of(tmp_path / f"a{suffix}", "file-empty")


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
def test_a_file_that_is_cut_short_is_said_to_be(tmp_path, suffix, share):
    path = tmp_path / f"a{suffix}"
    save_file(WHOLE, path) if suffix == ".safetensors" else torch.save(WHOLE, path)
    content = path.read_bytes()
    path.write_bytes(content[: max(1, int(share * len(content)))])
    refusal_of(path, "file-damaged")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"hello", "file-damaged"),
        (b"\x80", "file-damaged"),
        (b"\x00" * 100, "holds-code"),  # torch's reader knows no such operation
        (b"PK\x03\x04rubbish", "file-damaged"),
    ],
)
def test_what_is_no_checkpoint_is_refused(tmp_path, content, code):
    (tmp_path / "a.pt").write_bytes(content)
    refusal_of(tmp_path / "a.pt", code)


def test_an_archive_that_declares_more_than_it_holds_is_refused(tmp_path):
    """Compressed zeros: a few bytes that would fill the memory."""
    plain = io.BytesIO()
    torch.save(torch.zeros(1_000_000), plain)
    with (
        zipfile.ZipFile(plain) as archive,
        zipfile.ZipFile(tmp_path / "a.pt", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for entry in archive.infolist():
            packed.writestr(entry.filename, archive.read(entry))
    refusal_of(tmp_path / "a.pt", "file-inflates")


@pytest.mark.parametrize("shape", [[10**9, 10**9], [2**62, 4], [-1, 3]])
def test_a_huge_shape_in_a_header_takes_no_memory(tmp_path, shape):
    header = {"weight": {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}}
    text = json.dumps(header).encode()
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"\0" * 4)
    refusal_of(tmp_path / "a.safetensors", "file-damaged")


def test_a_header_of_huge_length_takes_no_memory(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", 2**60) + b"{}")
    refusal_of(tmp_path / "a.safetensors", "file-damaged")


@pytest.mark.parametrize("held", [[], {}, {"a": 1}, torch.ones(2), {"state_dict": {"a": "b"}}, 3])
def test_what_holds_no_tensors_by_name_is_refused(tmp_path, held):
    torch.save(held, tmp_path / "a.pt")
    refusal_of(tmp_path / "a.pt", "no-tensors")


def test_no_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(BadInput, match=r"a\.pt: ") as missing:
        state.read(tmp_path / "a.pt")
    assert isinstance(missing.value.__cause__, FileNotFoundError)
    (tmp_path / "b.pt").mkdir()
    with pytest.raises(BadInput, match=r"b\.pt: .* folder"):
        state.read(tmp_path / "b.pt")
