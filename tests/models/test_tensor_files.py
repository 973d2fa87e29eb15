"""Safetensors files: whole or refused, with one class of error."""

import json

import pytest
import torch
from torch import nn

from spoonful.models import DCP, load_published
from spoonful.models.checkpoints import DamagedFile, read_tensors, write_tensors

library = pytest.importorskip("safetensors.torch")
KINDS = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8]


def tensors() -> dict[str, torch.Tensor]:
    some = {str(kind): torch.arange(6).reshape(2, 3).to(kind) for kind in KINDS}
    return some | {"bool": torch.tensor(True), "none": torch.zeros(0, 3), "b": torch.ones(4)[::2]}


def test_files_are_those_of_the_safetensors_package(tmp_path):
    write_tensors(tmp_path / "ours", tensors(), {"note": "hallo"})
    theirs = library.load_file(tmp_path / "ours")
    library.save_file({k: v.contiguous() for k, v in tensors().items()}, tmp_path / "theirs")
    ours, _ = read_tensors(tmp_path / "theirs")
    again, text = read_tensors(tmp_path / "ours")
    assert text == {"note": "hallo"}
    for found in (theirs, ours, again):
        assert found.keys() == tensors().keys()
        assert all(torch.equal(found[name], value) for name, value in tensors().items())
        assert all(found[name].dtype == value.dtype for name, value in tensors().items())


def test_any_changed_byte_and_any_cut_is_noticed(tmp_path):
    path = tmp_path / "a.safetensors"
    write_tensors(path, {"x": torch.arange(4.0)}, {"note": "hallo"})
    whole = path.read_bytes()
    for place in range(len(whole)):
        if whole[place : place + 1] == b" ":
            continue  # the header's padding has no meaning
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DamagedFile, match=r"a\.safetensors"):
            read_tensors(path, need_checksum=True)
    for length in (0, 4, 8, 60, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedFile, match=r"a\.safetensors"):
            read_tensors(path)
    path.write_bytes(whole + b"more")
    with pytest.raises(DamagedFile):
        read_tensors(path)


def test_a_tensor_without_bytes_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    header = json.dumps({"x": {"dtype": "F32", "shape": [1000], "data_offsets": [0, 0]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(DamagedFile, match=r"a\.safetensors"):
        read_tensors(path)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    write_tensors(path, {"x": torch.zeros(2)}, {})
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "no space")))
    with pytest.raises(OSError, match="no space"):
        write_tensors(path, {"x": torch.ones(2)}, {})
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]
    assert torch.equal(read_tensors(path)[0]["x"], torch.zeros(2))


def complaint(path, model) -> str:
    """The message of the ValueError; the path itself if only the value of a weight has changed."""
    try:
        load_published(path, model)
    except ValueError as error:
        return str(error)
    return str(path)


@pytest.mark.parametrize("suffix", [".safetensors", pytest.param(".t7", marks=pytest.mark.slow)])
def test_damaged_published_files_raise_one_class_of_error_with_their_name(tmp_path, suffix):
    # So few weights that most changes are to names, shapes and opcodes.
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    path = tmp_path / f"dcp{suffix}"
    if suffix == ".t7":
        torch.save(model.state_dict(), path, _use_new_zipfile_serialization=False)
    else:
        library.save_file(model.state_dict(), path)
    whole = path.read_bytes()
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        content = bytearray(whole)
        for place in torch.randint(len(whole), (2,), generator=generator).tolist():
            content[place] = int(torch.randint(256, (), generator=generator))
        cut = int(torch.randint(len(whole), (), generator=generator))
        for damaged in (content, whole[:cut]):
            path.write_bytes(damaged)
            assert str(path) in complaint(path, model)


def test_names_that_are_no_text_and_tensors_without_values_are_refused(tmp_path):
    model = DCP(emb_dims=8, ff_dims=8, n_heads=2, embedding="pointnet")
    state = model.state_dict()
    name = next(iter(state))
    for crafted in ({1: torch.zeros(1)}, {**state, name: state[name].to_sparse()}):
        torch.save(crafted, tmp_path / "a.t7")
        with pytest.raises(ValueError, match=r"a\.t7"):
            load_published(tmp_path / "a.t7", model)
