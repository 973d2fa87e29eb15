"""Published checkpoints load by name; nothing else loads, and nothing runs."""

from __future__ import annotations

import os
import pickle

import pytest
import torch

from models.helpers import DATA, golden, small_dcp, small_rpmnet
from spoonful.models import DCP, RPMNet, load_published


def same(model: torch.nn.Module, state: dict[str, torch.Tensor]) -> bool:
    """True if all weights are equal, where those below 1e-20 count as zero."""
    return all(
        torch.allclose(value, state[name], rtol=0, atol=1e-20)
        for name, value in model.state_dict().items()
    )


save_file = pytest.importorskip("safetensors.torch").save_file


def test_published_names_fit_ours_exactly():
    assert same(
        load_published(DATA / "dcp_v1_weights.safetensors", DCP.v1()), golden("dcp_v1_weights")
    )
    assert same(
        load_published(DATA / "rpmnet_weights.safetensors", RPMNet()), golden("rpmnet_weights")
    )


@pytest.mark.parametrize("prefix", ["", "module."], ids=["plain", "data-parallel"])
@pytest.mark.parametrize("wrap", [False, True], ids=["bare", "wrapped"])
@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "old-format"])
def test_all_published_layouts_are_understood(tmp_path, prefix, wrap, zipped):
    state = {k: v + 1 for k, v in small_rpmnet().state_dict().items()}
    content = {prefix + name: value for name, value in state.items()}
    if wrap:
        content = {"state_dict": content, "step": 3, "optimizer": {"state": {}, "lr": [1e-4]}}
    path = tmp_path / "model-best.pth"
    torch.save(content, path, _use_new_zipfile_serialization=zipped)
    assert same(load_published(path, small_rpmnet()), state)


def test_safetensors_are_understood(tmp_path):
    state = {k: v + 1 for k, v in small_dcp().state_dict().items()}
    save_file(state, tmp_path / "dcp.safetensors")
    assert same(load_published(tmp_path / "dcp.safetensors", small_dcp()), state)


class Bomb:
    def __init__(self, path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_weights_that_only_cost_time_are_zero_after_loading(tmp_path):
    model = small_dcp()
    state = model.state_dict()
    name = next(name for name in state if name.endswith("linears.0.weight"))
    state[name] = torch.full_like(state[name], 1e-30)
    state[name][0] = 1e-10
    path = tmp_path / "decayed.pt"
    torch.save(state, path)
    found = load_published(path, small_dcp()).state_dict()[name]
    torch.testing.assert_close(found[0], state[name][0])
    assert not found[1:].any()


def test_a_checkpoint_cannot_run_code(tmp_path):
    hole = tmp_path / "hole"
    torch.save({"state_dict": small_dcp().state_dict(), "extra": Bomb(hole)}, tmp_path / "bad.t7")
    with pytest.raises(ValueError, match="refused"):
        load_published(tmp_path / "bad.t7", small_dcp())
    (tmp_path / "worse.t7").write_bytes(pickle.dumps(Bomb(hole), protocol=2))
    with pytest.raises(ValueError, match=r"refused|not a torch checkpoint"):
        load_published(tmp_path / "worse.t7", small_dcp())
    assert not hole.exists()


def test_another_models_checkpoint_is_named_as_such(tmp_path):
    path = tmp_path / "dcp.t7"
    torch.save(small_dcp().state_dict(), path)
    with pytest.raises(ValueError, match=r"checkpoint of this RPMNet: .* missing .* unexpected"):
        load_published(path, small_rpmnet())
    with pytest.raises(ValueError, match="of another shape"):
        load_published(path, DCP(emb_dims=64, ff_dims=48))
    with pytest.raises(ValueError, match="unexpected"):
        load_published(path, small_dcp(pointer="identity"))


def test_files_that_are_no_checkpoints_are_named_as_such(tmp_path):
    with pytest.raises(FileNotFoundError, match="no checkpoint at"):
        load_published(tmp_path / "none.t7", small_dcp())
    (tmp_path / "empty.t7").write_bytes(b"")
    with pytest.raises(ValueError, match=r"not a torch checkpoint|refused"):
        load_published(tmp_path / "empty.t7", small_dcp())
    torch.save([1, 2], tmp_path / "list.t7")
    with pytest.raises(ValueError, match="holds no state dict, but a list"):
        load_published(tmp_path / "list.t7", small_dcp())
