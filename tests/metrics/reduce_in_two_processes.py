"""What each of two processes does that share their errors."""

import pytest
import torch
import torch.distributed as dist

from spoonful.geometry import Pose
from spoonful.geometry.euler import rotation_from_euler
from spoonful.metrics import PoseErrors


def collect(*shares: list[int]) -> PoseErrors:
    """Items whose pose is the identity and whose truth follows from their number."""
    errors = PoseErrors()
    for share in shares:
        if share:
            index = torch.tensor(share)
            angles = torch.stack([index, -index, 0 * index], dim=-1).double()
            truth = Pose(rotation_from_euler(angles, "zyx", degrees=True), angles)
            errors.update(Pose.identity(len(share), dtype=torch.float64), truth, index=index)
    return errors


def main(rendezvous: str, rank: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    for shares in ([[1, 3, 5], [2, 4, 5, 1]], [[1, 2], []]):
        report = collect(shares[rank]).reduce().compute()
        assert report == collect(*shares).compute(), "each process must see the whole"
        assert report.count == len({*shares[0], *shares[1]}), "items must count once"

    unnumbered = PoseErrors()
    unnumbered.update(Pose.identity(1), Pose.identity(1))
    with pytest.raises(ValueError, match="reduce needs every item's number"):
        unnumbered.reduce()
    dist.destroy_process_group()
