"""Freedom: the motions that a common surface leaves free, and what holds the others."""

from __future__ import annotations

import pytest
import torch

from pipeline.floors import box, column, floor
from spoonful.data.clouds import Cloud
from spoonful.geometry import Pose, random_rotation
from spoonful.pipeline.freedom import Freedom, freedom_of, without_free
from spoonful.pipeline.prepare import prepare
from spoonful.pipeline.relief import relief_of
from spoonful.pipeline.search import Search

HERE = Pose.identity(dtype=torch.float64)


def free(source: Cloud, target: Cloud, voxel: float = 0.08) -> Freedom:
    search = Search(prepare(source, target, voxel))
    return freedom_of(search, HERE, relief_of(search, HERE))


def test_things_on_a_floor_hold_what_the_floor_leaves_free():
    bare, boxes = floor(), floor(box(1, 1), box(2.5, 1.7), box(1.4, 3))
    assert len(free(bare, bare).slides) == 2
    assert len(free(bare, bare).turns) == 1
    assert free(boxes, boxes) == Freedom()


def test_things_that_do_not_lie_on_each_other_hold_nothing():
    one, other = floor(box(1, 1), box(2.5, 1.7)), floor(box(3.2, 0.5), box(0.4, 2.8))
    found = free(one, other)
    assert len(found.slides) + len(found.turns) == 3


def test_a_column_does_not_hold_the_turns_about_itself():
    found = free(floor(column(2, 2)), floor(column(2, 2)))
    ((_, _, up),) = found.turns
    assert up > 0.99
    assert not found.slides


def test_the_relief_is_what_lies_off_the_large_planes():
    cloud = floor(box(1, 1), box(2.5, 1.7))
    search = Search(prepare(cloud, cloud, 0.08))
    here = relief_of(search, HERE)
    assert here.agreement > 0.9
    height = here.points[:, 2] + search.pair.frame.target_center[2] / 0.08
    assert float(height.min()) >= 0.9  # in voxels
    shift = Pose(torch.eye(3).double(), torch.tensor([4.0, 0, 0]).double())
    assert relief_of(search, shift).agreement < 0.6


def test_free_axes_have_no_precision_and_the_others_keep_theirs():
    generator = torch.Generator().manual_seed(0)
    rotation = random_rotation(generator=generator, dtype=torch.float64)
    normal, *along = rotation.mT.tolist()  # the target's axes of the source's x, y and z
    plane = Freedom(turns=(tuple(normal),), slides=tuple(map(tuple, along)))
    some = torch.randn(6, 9, generator=generator, dtype=torch.float64)
    # What determines the pose is the same, whatever noise says about the free axes.
    tight = [1, 2, 3]  # two tilts and the shift along the normal
    wanted = torch.linalg.inv((some @ some.mT)[tight][:, tight])
    found = without_free(torch.linalg.inv(some @ some.mT), rotation, plane)
    torch.testing.assert_close(found[tight][:, tight], wanted)
    assert float(found[[0, 4, 5]].abs().max()) < 1e-12
    ball = Freedom(turns=(tuple(normal), *plane.slides))
    assert not without_free(torch.linalg.inv(some @ some.mT), rotation, ball)[:3].any()


@pytest.mark.parametrize(("step", "slides"), [(0.0, 1), (0.25, 0)])
def test_a_slide_is_free_only_if_it_puts_no_surface_beside_the_other(step, slides):
    """A floor and a wall, with slabs on the floor of which only the tops are seen, from above."""
    generator = torch.Generator().manual_seed(0)
    x, y, u, v = 2 * torch.rand(4, 4000, generator=generator, dtype=torch.float64) - 1
    slabs = step * (torch.sin(7 * x + 1) * torch.sin(5 * y + 2) > 0.5)
    floor, wall = torch.stack([x, y, slabs], 1), torch.stack([0 * u + 1, u, v], 1)
    cloud = Cloud(torch.cat([floor, wall[:2000]]))
    found = free(cloud, cloud, 0.08)
    assert len(found.slides) == slides
    assert all(abs(y) > 0.99 for _, y, _ in found.slides)
    assert not found.turns


@pytest.mark.parametrize(("boxes", "bare"), [(0, True), (4, False)])
def test_a_corner_without_furniture_is_bare(boxes, bare):
    generator = torch.Generator().manual_seed(0)
    u, v = torch.rand(2, 1500, generator=generator, dtype=torch.float64)
    sides = [torch.stack([u, v, 0 * u], 1).roll(k, 1) for k in range(3)]
    sides += [0.2 * side + 0.2 * k + 0.05 for k in range(boxes) for side in sides[:3]]
    cloud = Cloud(torch.cat(sides))
    found = free(cloud, cloud)
    assert found == Freedom(bare=bare)
