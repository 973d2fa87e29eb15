"""The safetensors format, written and read with nothing but torch."""

import pytest
import torch

from spoonful.training import tensorfile

KINDS = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8]


def tensors() -> dict[str, torch.Tensor]:
    some = {str(kind): torch.arange(6).reshape(2, 3).to(kind) for kind in KINDS}
    return some | {"bool": torch.tensor(True), "none": torch.zeros(0, 3), "b": torch.ones(4)[::2]}


def test_files_are_those_of_the_safetensors_package(tmp_path):
    library = pytest.importorskip("safetensors.torch")
    tensorfile.write(tmp_path / "ours", tensors(), {"note": "hallo"})
    theirs = library.load_file(tmp_path / "ours")
    library.save_file({k: v.contiguous() for k, v in tensors().items()}, tmp_path / "theirs")
    ours, _ = tensorfile.read(tmp_path / "theirs")
    again, text = tensorfile.read(tmp_path / "ours")
    assert text == {"note": "hallo"}
    for found in (theirs, ours, again):
        assert found.keys() == tensors().keys()
        assert all(torch.equal(found[name], value) for name, value in tensors().items())
        assert all(found[name].dtype == value.dtype for name, value in tensors().items())


def test_any_changed_byte_and_any_cut_is_noticed(tmp_path):
    path = tmp_path / "a.safetensors"
    tensorfile.write(path, {"x": torch.arange(4.0)}, {"note": "hallo"})
    whole = path.read_bytes()
    for place in range(len(whole)):
        if whole[place : place + 1] == b" ":
            continue  # the header's padding says nothing
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(tensorfile.DamagedFile):
            tensorfile.read(path, ours=True)
    for length in (0, 4, 8, 60, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(tensorfile.DamagedFile, match=r"a\.safetensors"):
            tensorfile.read(path)
    path.write_bytes(whole + b"more")
    with pytest.raises(tensorfile.DamagedFile):
        tensorfile.read(path)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    tensorfile.write(path, {"x": torch.zeros(2)}, {})
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "no space")))
    with pytest.raises(OSError, match="no space"):
        tensorfile.write(path, {"x": torch.ones(2)}, {})
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]
    assert torch.equal(tensorfile.read(path)[0]["x"], torch.zeros(2))
