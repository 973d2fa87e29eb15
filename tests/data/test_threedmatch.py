"""3DMatch: logs are read, overlap is computed, pairs are in the unit ball with the true pose."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path

import pytest
import torch

from spoonful.data import scans, threedmatch
from spoonful.geometry import Pose, nearest, rotation_from_vector

RADIUS = 0.06
# Read before the tests hide it.
DATA = os.environ.get("SPOONFUL_DATA")


@pytest.fixture
def pairs(scene):
    with pytest.warns(threedmatch.MissingFragments, match="3 of 6 pairs are left out"):
        return threedmatch.load_pairs(scene, min_overlap=0.0, points=256, radius=RADIUS)


def test_the_log_maps_the_second_fragment_into_the_first(pairs):
    assert [pair.name for pair in pairs] == ["kitchen/0-1", "kitchen/0-2", "kitchen/1-2"]
    for pair in pairs:
        gap = nearest(pair.pose.apply(pair.source), pair.target).squared_distance.sqrt()
        assert gap.median() < 0.08
        wrong = nearest(pair.pose.inverse().apply(pair.source), pair.target)
        assert wrong.squared_distance.sqrt().median() > 0.15


def test_pairs_fill_the_unit_ball_and_keep_their_scale(pairs):
    for pair in pairs:
        assert pair.source.shape == pair.target.shape == (256, 3)
        reach = torch.cat([pair.source, pair.target]).norm(dim=-1).max()
        assert 0.99 < reach <= 1
        assert 0.5 < pair.frame.scale < 1.5
        rotation, _ = pair.pose
        torch.testing.assert_close(rotation @ rotation.T, torch.eye(3))


def test_overlap_decides_what_is_kept(scene, pairs):
    shares = sorted(pair.overlap for pair in pairs)
    assert 0.3 < shares[0] < shares[-1] < 0.95
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", threedmatch.MissingFragments)
        kept = threedmatch.load_pairs(
            scene, min_overlap=(shares[0] + shares[1]) / 2, points=256, radius=RADIUS
        )
    assert sorted(pair.overlap for pair in kept) == shares[1:]


def test_loading_twice_gives_the_same(scene, pairs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", threedmatch.MissingFragments)
        again = threedmatch.load_pairs(scene, min_overlap=0.0, points=256, radius=RADIUS)
    for one, other in zip(pairs, again, strict=True):
        assert torch.equal(one.source, other.source)
        assert torch.equal(one.pose.matrix(), other.pose.matrix())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spoonful.data.threedmatch.MissingFragments")
def test_scenes_are_found_in_every_layout(scene, monkeypatch):
    def found(root=None, **options):
        return [
            pair.name
            for pair in threedmatch.load_pairs(
                root, min_overlap=0.0, points=64, radius=RADIUS, **options
            )
        ]

    names = ["kitchen/0-1", "kitchen/0-2", "kitchen/1-2"]
    assert found(scene.parent) == names
    monkeypatch.setenv("SPOONFUL_DATA", str(scene.parent.parent))
    assert found() == names
    # As published: the logs beside the scene.
    logs = scene.parent / "kitchen-evaluation"
    logs.mkdir()
    (scene / "gt.log").rename(logs / "gt.log")
    assert found(scene.parent) == names
    (logs / "gt.log").unlink()
    with pytest.raises(FileNotFoundError, match=r"no scene here has a gt\.log"):
        found(scene.parent)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spoonful.data.threedmatch.MissingFragments")
def test_no_scene_is_in_both_training_and_test(scene):
    root = scene.parent

    def scenes(split):
        made = threedmatch.load_pairs(root, split=split, points=64, radius=RADIUS)
        return {pair.name.split("/")[0] for pair in made}

    # Scenes of other names: there is no telling.
    assert scenes("train") == scenes("test") == {"kitchen"}
    known = root / min(threedmatch.TEST_SCENES)
    shutil.copytree(scene, known)
    assert scenes("all") == {"kitchen", known.name}
    assert (scenes("train"), scenes("test")) == ({"kitchen"}, {known.name})
    # The folders' names come first.
    for split, name in (("train", known.name), ("test", "kitchen")):
        (root / split).mkdir()
        (root / name).rename(root / split / name)
    assert (scenes("train"), scenes("test")) == ({known.name}, {"kitchen"})
    with pytest.raises(ValueError, match="has only scenes of 3DMatch's test set"):
        threedmatch.load_pairs(root / "train", split="train")
    with pytest.raises(ValueError, match="split must be"):
        threedmatch.load_pairs(root, split="validation")


def test_fragments_of_an_overlap_list_are_in_one_frame(overlap_lists):
    with pytest.warns(threedmatch.MissingFragments, match="1 of 3 pairs are left out.*seq-01_009"):
        pairs = threedmatch.load_pairs(overlap_lists, split="train", points=128)
    found = {pair.name: pair.overlap for pair in pairs}
    scene = "7-scenes-chess/seq-"
    names = [f"{scene}01_001-seq-01_000", f"{scene}01_002-seq-01_001", f"{scene}02_001-seq-02_000"]
    assert found == dict(zip(names, (0.72, 0.31, 0.44), strict=True))
    for pair in pairs:
        gap = nearest(pair.pose.apply(pair.source), pair.target).squared_distance.sqrt()
        assert gap.median() < 0.1


@pytest.mark.filterwarnings("ignore::spoonful.data.threedmatch.MissingFragments")
def test_overlap_lists_are_for_training_only(overlap_lists):
    (pair,) = threedmatch.load_pairs(overlap_lists, split="train", points=64, min_overlap=0.5)
    assert pair.overlap == 0.72
    with pytest.raises(FileNotFoundError, match="no scene here"):
        threedmatch.load_pairs(overlap_lists, split="test")
    broken = overlap_lists / "7-scenes-chess@seq-02-0.30.txt"
    broken.write_text("\na.npz b.npz\n")
    with pytest.raises(ValueError, match="line 2: expected `a"):
        threedmatch.load_pairs(overlap_lists, split="train")


def test_without_data_the_message_says_where_it_belongs():
    with pytest.raises(FileNotFoundError, match="3dmatch was not found"):
        threedmatch.load_pairs()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: ["0 1", *lines[1:]], "line 1: expected `i j count`"),
        (lambda lines: ["0 x 4", *lines[1:]], "line 1: invalid literal"),
        (lambda lines: lines[:-1], "line 26: expected 4 rows of 4 numbers"),
        (lambda lines: [*lines[:2], lines[2] + " 5", *lines[3:]], "line 1: expected 4 rows"),
        (lambda lines: [*lines[:2], "a b c d", *lines[3:]], "line 1: could not convert"),
        (
            lambda lines: [*lines[:2], "nan 0 0 0", *lines[3:]],
            "line 1: pose has entries that are NaN",
        ),
        (lambda lines: [*lines[:2], "5 0 0 0", *lines[3:]], "line 1: pose must be a rigid motion"),
    ],
)
def test_bad_logs_are_named(scene, change, message):
    log = scene / "gt.log"
    log.write_text("\n".join(change(log.read_text().splitlines())))
    with pytest.raises(ValueError, match=message) as caught:
        threedmatch.load_pairs(scene, points=64)
    assert str(caught.value).startswith(str(log))


def test_a_log_that_is_no_text_is_named(scene):
    (scene / "gt.log").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ValueError, match=r"gt\.log: not a text file"):
        threedmatch.load_pairs(scene)


def test_mistakes_are_named(scene):
    with pytest.raises(ValueError, match="min_overlap must be between 0 and 1"):
        threedmatch.load_pairs(scene, min_overlap=30)
    with pytest.raises(ValueError, match="radius must be positive"):
        threedmatch.load_pairs(scene, radius=0.0)


# Overlap itself.


def test_overlap_is_the_share_of_the_scan_that_shares_less(generator):
    plane = torch.rand(6000, 3, generator=generator) * torch.tensor([1.0, 1.0, 0.0])
    corner = plane[(plane[:, 0] < 0.5) & (plane[:, 1] < 0.5)]
    pose = Pose(rotation_from_vector(torch.tensor([0.3, 0.2, 0.1])), torch.tensor([4.0, 5, 6]))
    for source, target in ((plane, corner), (corner, plane)):
        share = scans.overlap(source, pose.apply(target), pose, 0.03)
        assert abs(share - 0.25) < 0.05
        assert scans.overlap(source, target, pose, 0.03) == 0


def test_dense_places_count_no_more_than_sparse_ones(generator):
    # Nine tenths of the points lie in the left half; half of the surface is shared.
    many = torch.rand(9000, 3, generator=generator) * torch.tensor([0.5, 1.0, 0.0])
    few = torch.rand(4000, 3, generator=generator) * torch.tensor([0.5, 1.0, 0.0])
    uneven = torch.cat([many, few + torch.tensor([0.5, 0.0, 0.0])])
    right = uneven[uneven[:, 0] > 0.5]
    maker = scans.PairMaker({"a": uneven, "b": right}.__getitem__, points=128, radius=0.05)
    pair = maker.make("a", "b", Pose.identity(), name="uneven")
    assert abs(pair.overlap - 0.5) < 0.06


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spoonful.data.threedmatch.MissingFragments")
def test_real_fragments_overlap_as_published(tmp_path):
    root = Path(DATA or "nowhere") / "scans" / "3dmatch"
    if not root.is_dir():
        pytest.skip("no scans/3dmatch in $SPOONFUL_DATA")
    scene = root / "7-scenes-redkitchen"
    listed = {}
    for line in (scene / "gt_overlap.log").read_text().split():
        i, j, share = line.split(",")
        listed[f"{scene.name}/{i}-{j}"] = float(share)
    # The first five entries of the log, on the fragments they name.
    small = tmp_path / scene.name
    small.mkdir()
    (small / "gt.log").write_text("\n".join((scene / "gt.log").read_text().splitlines()[:25]))
    for k in range(6):
        (small / f"cloud_bin_{k}.ply").symlink_to(scene / f"cloud_bin_{k}.ply")
    pairs = threedmatch.load_pairs(small, min_overlap=0.0)
    assert len(pairs) == 5
    for pair in pairs:
        # These fragments were fused anew from the same frames: alike, not the same.
        assert abs(pair.overlap - listed[pair.name]) < 0.08
        assert pair.source.shape == (1024, 3)
