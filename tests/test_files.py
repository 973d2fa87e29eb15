"""Errors while a file is written name the file."""

import os
from pathlib import Path

import pytest
import torch

from disk import full_disk
from spoonful.data.clouds import Cloud, write_cloud
from spoonful.files import naming, replacing, write_whole
from spoonful.training.journal import Journal

FULL = Path("/dev/full")  # a file that says at each write that the disk is full


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported_with_the_files_name(tmp_path):
    (tmp_path / "log.jsonl").symlink_to(FULL)
    with pytest.raises(OSError, match=r"space.*log\.jsonl"):
        Journal(tmp_path).add({"epoch": 1})


def test_a_write_that_fails_names_the_final_file(tmp_path, monkeypatch):
    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match=r"space.*result\.json"):
        write_whole(tmp_path / "result.json", "{}")
    assert os.listdir(tmp_path) == []


def save_tensors(path: Path) -> None:
    with replacing(path) as file:
        torch.save(torch.rand(9000), file)


def save_scan(path: Path) -> None:
    pytest.importorskip("laspy")
    write_cloud(path, Cloud(torch.rand(9000, 3)))


@pytest.mark.parametrize(("name", "save"), [("a.pt", save_tensors), ("a.laz", save_scan)])
def test_a_full_disk_is_named_also_if_a_library_raises_its_own_error(tmp_path, name, save):
    with full_disk(16384), pytest.raises(OSError, match=rf"too large.*{name}"):
        save(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_an_error_that_names_a_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"), naming("other"):
        (tmp_path / "none").read_bytes()
    with pytest.raises(OSError, match=r"^a message alone$"), naming("other"):
        raise OSError("a message alone")
