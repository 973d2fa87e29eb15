"""Saved models: what is loaded is what was saved, by file, by address and by hub name."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType, SimpleNamespace

import pytest
import torch

from disk import full_disk
from models.helpers import small_dcp
from spoonful.extras import MissingExtra
from spoonful.geometry import SpoonfulLayer
from spoonful.models import DCP, PointNetLK, RegistrationModel, hub
from spoonful.models.checkpoints import DamagedFile, read_tensors, write_tensors

pytest.importorskip("safetensors")


@pytest.fixture
def saved(tmp_path):
    model = small_dcp(refine=SpoonfulLayer(3, "target"))
    return model, model.save_pretrained(tmp_path / "saved", card="A card.\n")


class FakeHub(ModuleType):
    """The functions of huggingface_hub that are used, on a folder."""

    def __init__(self, root: Path) -> None:
        super().__init__("huggingface_hub")
        self.root, self.reachable, self.full = root, True, False
        self.constants = SimpleNamespace(HF_HUB_CACHE=str(root))
        base = type("HfHubHTTPError", (OSError,), {})
        entry = type("EntryNotFoundError", (Exception,), {})
        self.kinds = SimpleNamespace(
            HfHubHTTPError=base,
            RepositoryNotFoundError=type("RepositoryNotFoundError", (base,), {}),
            RevisionNotFoundError=type("RevisionNotFoundError", (base,), {}),
            EntryNotFoundError=entry,
            LocalEntryNotFoundError=type("LocalEntryNotFoundError", (OSError, entry), {}),
        )
        self.HfApi = lambda: self

    def hf_hub_download(self, repo: str, file: str, revision: str | None = None) -> str:
        if not self.reachable:
            raise self.kinds.LocalEntryNotFoundError("no network")
        if self.full:
            raise OSError(28, "No space left on device")
        if not (self.root / repo).is_dir():
            raise self.kinds.RepositoryNotFoundError("404")
        if revision not in (None, "main"):
            raise self.kinds.RevisionNotFoundError("404")
        if not (self.root / repo / file).is_file():
            raise self.kinds.EntryNotFoundError("404")
        return str(self.root / repo / file)

    def create_repo(self, repo: str, *, private: bool, exist_ok: bool) -> str:
        if not self.reachable:
            raise RuntimeError("no route to host")
        if not repo.startswith("me/"):
            raise self.kinds.HfHubHTTPError("403 Forbidden")
        (self.root / repo).mkdir(parents=True, exist_ok=exist_ok)
        return f"https://hub/{repo}"

    def upload_folder(self, *, repo_id: str, folder_path: Path, allow_patterns: list[str]) -> None:
        for name in allow_patterns:
            shutil.copy(folder_path / name, self.root / repo_id / name)


@pytest.fixture
def fake(tmp_path, monkeypatch):
    made = FakeHub(tmp_path / "hub")
    monkeypatch.setitem(sys.modules, "huggingface_hub", made)
    # The library's own module has no attribute `errors` until it is imported.
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", made.kinds)
    return made


def same(a: RegistrationModel, b: RegistrationModel) -> bool:
    return all(map(torch.equal, a.state_dict().values(), b.state_dict().values()))


def test_a_saved_model_comes_back_with_its_class_layer_and_weights(saved):
    model, folder = saved
    for where in (folder, str(folder), folder / hub.FILE):
        found = RegistrationModel.from_pretrained(where)
        assert isinstance(found, DCP)
        assert not found.training
        assert (found.refine.iterations, found.refine.form) == (3, "target")
        assert same(found, model)
    with pytest.raises(
        ValueError,
        match=r"holds a model of class DCP; PointNetLK.from_pretrained reads PointNetLK\. ",
    ):
        PointNetLK.from_pretrained(folder)


def test_the_saved_layer_is_the_one_the_model_has_now(saved, tmp_path):
    model, _ = saved
    model.refine = SpoonfulLayer(7)
    found = DCP.from_pretrained(model.save_pretrained(tmp_path / "again"))
    assert found.refine.iterations == 7


def test_a_model_goes_to_the_hub_and_back(saved, fake, tmp_path):
    model, folder = saved
    assert hub.push(folder, "me/dcp") == "https://hub/me/dcp"
    for name in ("me/dcp", "hub:me/dcp", "me/dcp@main"):
        assert same(RegistrationModel.from_pretrained(name), model)
    pulled = hub.pull("me/dcp", tmp_path / "pulled")
    assert same(RegistrationModel.from_pretrained(pulled), model)
    assert (pulled / hub.CARD).read_text() == "A card.\n"


def test_mistakes_with_the_hub_are_named_and_leave_nothing(saved, fake, tmp_path):
    _, folder = saved
    (fake.root / "me" / "empty").mkdir(parents=True)
    for name, kind, message in (
        ("me/none", ValueError, "the hub has no model me/none"),
        ("me/empty", ValueError, "me/empty has no such file"),
        ("me/empty@v9", ValueError, "me/empty has no such revision"),
        ("not a name", ValueError, "no model at 'not a name'"),
        ("./none", ValueError, "no model at"),
        ("http://host/x", ValueError, "needs its checksum"),
        ("https://host/x#sha256=../../x", ValueError, "no model at"),
    ):
        with pytest.raises(kind, match=message):
            hub.pull(name, tmp_path / "pulled")
    fake.full = True
    with pytest.raises(OSError, match=r"me/dcp cannot be stored in .*hub: No space left"):
        hub.pull("me/dcp", tmp_path / "pulled")
    fake.full = fake.reachable = False
    with pytest.raises(OSError, match="cannot be reached, and me/dcp is not in its cache"):
        hub.pull("me/dcp", tmp_path / "pulled")
    with pytest.raises(OSError, match="the hub did not answer for me/dcp: no route to host"):
        hub.push(folder, "me/dcp")
    fake.reachable = True
    assert not (tmp_path / "pulled").exists()
    with pytest.raises(OSError, match="the hub refused them/dcp: 403"):
        hub.push(folder, "them/dcp")
    with pytest.raises(ValueError, match="repo must be a hub name USER/NAME, got 'dcp'"):
        hub.push(folder, "dcp")
    with pytest.raises(ValueError, match=r"has no model\.safetensors"):
        hub.push(tmp_path, "me/dcp")


class HubHandler(SimpleHTTPRequestHandler):
    """Serves a folder USER/NAME/FILE by the addresses and headers of the hub."""

    commit = "0" * 40

    def do_HEAD(self) -> None:
        user, name, _, revision, file = self.path.strip("/").split("/", 4)
        if not Path(self.directory, user, name).is_dir():
            self.refuse("RepoNotFound")
        elif revision not in ("main", self.commit):
            self.refuse("RevisionNotFound")
        elif not Path(self.directory, user, name, file).is_file():
            self.refuse("EntryNotFound")
        else:
            super().do_HEAD()

    def translate_path(self, path: str) -> str:
        return super().translate_path(re.sub("/resolve/[^/]+/", "/", path))

    def refuse(self, why: str) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", why)
        self.end_headers()

    def end_headers(self) -> None:
        self.send_header("X-Repo-Commit", self.commit)
        self.send_header("ETag", '"1"')
        super().end_headers()


HUB_SCRIPT = """
from spoonful.models import RegistrationModel
model = RegistrationModel.from_pretrained("me/dcp")
print(type(model).__name__)
for name in ("me/none", "me/empty", "me/dcp@v9"):
    try:
        RegistrationModel.from_pretrained(name)
    except ValueError as error:
        print(error)
"""


@pytest.mark.slow
def test_the_library_of_the_hub_is_used_as_it_expects(saved, tmp_path):
    pytest.importorskip("huggingface_hub")
    _, folder = saved
    shutil.copytree(folder, tmp_path / "hub" / "me" / "dcp")
    (tmp_path / "hub" / "me" / "empty").mkdir()
    handler = partial(HubHandler, directory=str(tmp_path / "hub"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        # The library reads its settings when it is imported.
        address = f"http://127.0.0.1:{server.server_port}"
        settings = {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "cache"), "no_proxy": "*"}
        done = subprocess.run(
            [sys.executable, "-c", HUB_SCRIPT],
            env=os.environ | settings,
            capture_output=True,
            text=True,
            check=True,
        )
        server.shutdown()
    kind, no_model, no_file, no_revision = done.stdout.splitlines()
    assert kind == "DCP"
    assert "no model me/none" in no_model
    assert "me/empty has no such file" in no_file
    assert "me/dcp has no such revision" in no_revision


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"spoonful\[hub\]"):
        DCP.from_pretrained("me/dcp")


@pytest.mark.slow
def test_an_address_needs_the_right_checksum(saved, tmp_path, monkeypatch):
    pytest.importorskip("pooch")
    model, folder = saved
    monkeypatch.setattr(hub, "cache", lambda: tmp_path / "cache")
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/{hub.FILE}"
    digits = hashlib.sha256((folder / hub.FILE).read_bytes()).hexdigest()
    try:
        with pytest.raises(OSError, match="its SHA-256 is"):
            DCP.from_pretrained(f"{address}#sha256={'0' * 64}")
        with full_disk(), pytest.raises(OSError, match=rf"too large.*models.{digits}"):
            DCP.from_pretrained(f"{address}#sha256={digits}")
        assert not list((tmp_path / "cache" / "models").iterdir())
        assert same(DCP.from_pretrained(f"{address}#sha256={digits}"), model)
    finally:
        server.shutdown()
        server.server_close()
    # Now from the cache.
    assert same(DCP.from_pretrained(f"{address}#sha256={digits.upper()}"), model)


def test_what_cannot_be_saved_or_loaded_says_why(saved, tmp_path):
    class Layer(SpoonfulLayer):
        pass

    with pytest.raises(TypeError, match=r"refine must be plain numbers.* got Layer"):
        small_dcp(refine=Layer()).save_pretrained(tmp_path / "no")
    assert not (tmp_path / "no").exists()
    write_tensors(tmp_path / "bare.safetensors", {}, {})
    with pytest.raises(ValueError, match="does not say which model it is"):
        DCP.from_pretrained(tmp_path / "bare.safetensors")
    write_tensors(tmp_path / "odd.safetensors", {}, {"model": '{"class": "DCP", "arguments": 3}'})
    with pytest.raises(DamagedFile, match="describes no model"):
        DCP.from_pretrained(tmp_path / "odd.safetensors")


@pytest.mark.parametrize("name", ["n_blocks", "emb_dims", "n_heads"])
@pytest.mark.parametrize("value", [10**9, 10**30, -1, "x"])
def test_crafted_arguments_raise_one_error_before_memory_is_allocated(saved, name, value):
    _, folder = saved
    tensors, text = read_tensors(folder / hub.FILE)
    about = json.loads(text["model"])
    about["arguments"][name] = value
    write_tensors(folder / hub.FILE, tensors, {"model": json.dumps(about)})
    with pytest.raises(ValueError, match=re.escape(str(folder / hub.FILE))):
        RegistrationModel.from_pretrained(folder)


def test_a_full_disk_leaves_the_old_file(saved, monkeypatch):
    model, folder = saved
    before = (folder / hub.FILE).read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        model.save_pretrained(folder)
    assert (folder / hub.FILE).read_bytes() == before
    assert len(list(folder.iterdir())) == 2


@pytest.mark.slow
def test_the_command_pushes_and_pulls_a_shipped_model(fake, tmp_path, capsys):
    pytest.importorskip("typer")
    yaml = pytest.importorskip("yaml")
    from spoonful.cli.app import run
    from spoonful.evaluation import open_method

    assert run(["models", "push", "pointnetlk", "me/lk"]) == 0
    assert run(["models", "pull", "me/lk", str(tmp_path / "lk")]) == 0
    about = yaml.safe_load((tmp_path / "lk" / hub.CARD).read_text().split("---")[1])
    assert about["library_name"] == "spoonful"
    assert about["license"] == "apache-2.0"
    (model,) = about["model-index"]
    assert model["results"][0]["metrics"][0]["type"] == "rotation_degrees"
    expected = open_method("pointnetlk").weights
    for name in (str(tmp_path / "lk"), "hub:me/lk", "label=hub:me/lk"):
        assert open_method(name).weights == expected
    assert run(["models", "pull", "me/none", str(tmp_path / "none")]) == 2
    assert "the hub has no model me/none" in capsys.readouterr().err
