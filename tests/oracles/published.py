"""The published networks, written out step by step: oracles for ours, as slow as they are plain.

DCP: https://github.com/WangYueFt/dcp (MIT); RPM-Net: https://github.com/yewzijian/RPMNet (MIT).
Everything is a function of a state dict with the published names. Clouds are (B, N, 3).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

State = dict[str, Tensor]


def conv(state: State, name: str, x: Tensor) -> Tensor:
    """A 1x1 convolution on channels-first x."""
    function = F.conv2d if x.ndim == 4 else F.conv1d
    weight = state[f"{name}.weight"]
    return function(x, weight, state.get(f"{name}.bias"))


def batch_norm(state: State, name: str, x: Tensor, training: bool) -> Tensor:
    """Batch norm that, in training, updates the running statistics in `state`."""
    if training:
        state[f"{name}.num_batches_tracked"] += 1
    return F.batch_norm(
        x,
        state[f"{name}.running_mean"],
        state[f"{name}.running_var"],
        state[f"{name}.weight"],
        state[f"{name}.bias"],
        training,
    )


def dgcnn(state: State, points: Tensor, training: bool) -> Tensor:
    x = points.mT
    inner = -2 * x.mT @ x
    square = x.square().sum(1, keepdim=True)
    index = (-square - inner - square.mT).topk(20, dim=-1).indices
    neighbors = torch.stack([cloud[i] for cloud, i in zip(points, index, strict=True)])
    centers = points.unsqueeze(2).expand_as(neighbors)
    x = torch.cat([neighbors, centers], dim=3).permute(0, 3, 1, 2)
    pooled = []
    for layer in range(1, 5):
        x = conv(state, f"emb_nn.conv{layer}", x)
        x = F.relu(batch_norm(state, f"emb_nn.bn{layer}", x, training))
        pooled.append(x.max(dim=-1, keepdim=True).values)
    x = conv(state, "emb_nn.conv5", torch.cat(pooled, dim=1))
    return F.relu(batch_norm(state, "emb_nn.bn5", x, training)).squeeze(-1)


def pointnet(state: State, points: Tensor, training: bool) -> Tensor:
    x = points.mT
    for layer in range(1, 6):
        x = conv(state, f"emb_nn.conv{layer}", x)
        x = F.relu(batch_norm(state, f"emb_nn.bn{layer}", x, training))
    return x


def linear(state: State, name: str, x: Tensor) -> Tensor:
    return F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])


def layer_norm(state: State, name: str, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return state[f"{name}.a_2"] * centred / (x.std(-1, keepdim=True) + 1e-6) + state[f"{name}.b_2"]


def attention(state: State, name: str, query: Tensor, memory: Tensor, heads: int) -> Tensor:
    parts = [
        linear(state, f"{name}.linears.{i}", x).unflatten(-1, (heads, -1)).transpose(1, 2)
        for i, x in enumerate((query, memory, memory))
    ]
    scores = parts[0] @ parts[1].mT / parts[0].shape[-1] ** 0.5
    mixed = (torch.softmax(scores, dim=-1) @ parts[2]).transpose(1, 2).flatten(-2)
    return linear(state, f"{name}.linears.3", mixed)


def feed_forward(state: State, name: str, x: Tensor) -> Tensor:
    return linear(state, f"{name}.w_2", F.relu(linear(state, f"{name}.w_1", x)))


def transformer(state: State, source: Tensor, target: Tensor, heads: int) -> Tensor:
    """Decode `target` with the encoded `source` as memory."""
    name = "pointer.model.encoder.layers.0"
    normed = layer_norm(state, f"{name}.sublayer.0.norm", source)
    x = source + attention(state, f"{name}.self_attn", normed, normed, heads)
    normed = layer_norm(state, f"{name}.sublayer.1.norm", x)
    x = x + feed_forward(state, f"{name}.feed_forward", normed)
    memory = layer_norm(state, "pointer.model.encoder.norm", x)
    name = "pointer.model.decoder.layers.0"
    normed = layer_norm(state, f"{name}.sublayer.0.norm", target)
    x = target + attention(state, f"{name}.self_attn", normed, normed, heads)
    normed = layer_norm(state, f"{name}.sublayer.1.norm", x)
    x = x + attention(state, f"{name}.src_attn", normed, memory, heads)
    normed = layer_norm(state, f"{name}.sublayer.2.norm", x)
    x = x + feed_forward(state, f"{name}.feed_forward", normed)
    return layer_norm(state, "pointer.model.decoder.norm", x)


def svd_pose(source: Tensor, matches: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Kabsch by SVD and autograd, with weights (B, N) that need not sum to 1."""
    share = (weights / weights.sum(-1, keepdim=True)).unsqueeze(-1)
    source_mean, match_mean = (source * share).sum(1), (matches * share).sum(1)
    cross = (source - source_mean[:, None]).mT @ ((matches - match_mean[:, None]) * share)
    U, _, Vh = torch.linalg.svd(cross)
    sign = torch.det(Vh.mT @ U.mT)
    flip = torch.diag_embed(torch.stack([torch.ones_like(sign), torch.ones_like(sign), sign], -1))
    rotation = Vh.mT @ flip @ U.mT
    return rotation, match_mean - (rotation @ source_mean.unsqueeze(-1)).squeeze(-1)


def dcp(
    state: State,
    source: Tensor,
    target: Tensor,
    *,
    training: bool,
    embedding: str = "dgcnn",
    pointer: str = "transformer",
    heads: int = 4,
) -> tuple[Tensor, Tensor]:
    embed = dgcnn if embedding == "dgcnn" else pointnet
    of_source = embed(state, source, training).mT
    of_target = embed(state, target, training).mT
    if pointer == "transformer":
        to_target = transformer(state, of_source, of_target, heads)
        to_source = transformer(state, of_target, of_source, heads)
    else:
        to_source, to_target = of_source, of_target
    of_source, of_target = of_source + to_source, of_target + to_target
    if "head.proj_rot.weight" in state:
        return mlp_pose(state, of_source, of_target, training)
    scores = torch.softmax(of_source @ of_target.mT / of_source.shape[-1] ** 0.5, dim=-1)
    return svd_pose(source, scores @ target, torch.ones_like(source[..., 0]))


def mlp_pose(
    state: State, of_source: Tensor, of_target: Tensor, training: bool
) -> tuple[Tensor, Tensor]:
    x = torch.cat([of_source.amax(1), of_target.amax(1)], dim=-1)
    for layer in (0, 3, 6):
        x = linear(state, f"head.nn.{layer}", x)
        x = F.relu(batch_norm(state, f"head.nn.{layer + 1}", x, training))
    quaternion = linear(state, "head.proj_rot", x)
    x_, y, z, w = (quaternion / quaternion.norm(dim=-1, keepdim=True)).unbind(-1)
    rotation = torch.stack(
        [
            w * w + x_ * x_ - y * y - z * z,
            2 * x_ * y - 2 * w * z,
            2 * w * y + 2 * x_ * z,
            2 * w * z + 2 * x_ * y,
            w * w - x_ * x_ + y * y - z * z,
            2 * y * z - 2 * w * x_,
            2 * x_ * z - 2 * w * y,
            2 * w * x_ + 2 * y * z,
            w * w - x_ * x_ - y * y + z * z,
        ],
        dim=-1,
    )
    return rotation.unflatten(-1, (3, 3)), linear(state, "head.proj_trans", x)


def ball_query(points: Tensor, radius: float, k: int) -> Tensor:
    """First-come neighbours by sorting, without the point itself, which fills what is left."""
    count = points.shape[1]
    own = torch.arange(count, device=points.device).reshape(1, -1, 1)
    index = own.mT.expand(len(points), count, count).clone()
    index[torch.cdist(points, points) > radius] = count
    index = torch.where(index == own, count, index).sort(dim=-1).values[..., :k]
    return torch.where(index == count, own, index)


def angle(a: Tensor, b: Tensor) -> Tensor:
    return torch.atan2(torch.linalg.cross(a, b).norm(dim=-1), (a * b).sum(-1))


def group_norm_stack(state: State, name: str, x: Tensor, layers: int, groups: list[int]) -> Tensor:
    for i in range(layers):
        x = conv(state, f"{name}.{3 * i}", x)
        weight, bias = state[f"{name}.{3 * i + 1}.weight"], state[f"{name}.{3 * i + 1}.bias"]
        x = F.relu(F.group_norm(x, groups[i], weight, bias))
    return x


def rpm_features(state: State, points: Tensor, normals: Tensor) -> Tensor:
    index = ball_query(points, 0.3, 64)
    take = lambda values: torch.stack([v[i] for v, i in zip(values, index, strict=True)])  # noqa: E731
    d, others = take(points) - points.unsqueeze(2), take(normals)
    own = normals.unsqueeze(2).expand_as(others)
    ppf = torch.stack([angle(own, d), angle(others, d), angle(own, others), d.norm(dim=-1)], -1)
    x = torch.cat([points.unsqueeze(2).expand_as(d), d, ppf], dim=-1).permute(0, 3, 2, 1)
    x = group_norm_stack(state, "feat_extractor.prepool", x, 3, [8, 8, 8]).amax(2)
    x = group_norm_stack(state, "feat_extractor.postpool", x, 2, [8, 8])
    x = conv(state, "feat_extractor.postpool.6", x).mT
    return x / x.norm(dim=-1, keepdim=True)


def rpm_parameters(state: State, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    both = torch.cat([F.pad(source, (0, 1), value=0), F.pad(target, (0, 1), value=1)], dim=1).mT
    x = group_norm_stack(state, "weights_net.prepool", both, 5, [8, 8, 8, 8, 16]).amax(-1)
    for i in (0, 3):
        x = linear(state, f"weights_net.postpool.{i}", x)
        name = f"weights_net.postpool.{i + 1}"
        x = F.relu(F.group_norm(x, 16, state[f"{name}.weight"], state[f"{name}.bias"]))
    beta, alpha = F.softplus(linear(state, "weights_net.postpool.6", x)).unbind(-1)
    return beta, alpha


def sinkhorn(affinity: Tensor, iterations: int = 5, slack: bool = True) -> Tensor:
    """Normalise rows and columns in turn, rewriting the matrix, with a slack row and column."""
    if not slack:
        for _ in range(iterations):
            affinity = affinity - affinity.logsumexp(-1, keepdim=True)
            affinity = affinity - affinity.logsumexp(-2, keepdim=True)
        return affinity.exp()
    x = F.pad(affinity, (0, 1, 0, 1))
    for _ in range(iterations):
        x = torch.cat(
            [x[..., :-1, :] - x[..., :-1, :].logsumexp(-1, keepdim=True), x[..., -1:, :]], -2
        )
        x = torch.cat([x[..., :-1] - x[..., :-1].logsumexp(-2, keepdim=True), x[..., -1:]], -1)
    return x[..., :-1, :-1].exp()


def rpmnet(
    state: State,
    source: Tensor,
    target: Tensor,
    source_normals: Tensor,
    target_normals: Tensor,
    iterations: int,
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Rotation, translation and match matrix of each outer iteration."""
    moved, moved_normals = source, source_normals
    found = []
    for _ in range(iterations):
        beta, alpha = rpm_parameters(state, moved, target)
        f, g = (
            rpm_features(state, moved, moved_normals),
            rpm_features(state, target, target_normals),
        )
        distance = f.square().sum(-1)[:, :, None] + g.square().sum(-1)[:, None] - 2 * f @ g.mT
        shares = sinkhorn(-beta[:, None, None] * (distance - alpha[:, None, None]))
        weights = shares.sum(-1)
        rotation, translation = svd_pose(
            source, shares @ target / (weights.unsqueeze(-1) + 1e-5), weights
        )
        found.append((rotation, translation, shares))
        moved = source @ rotation.detach().mT + translation.detach().unsqueeze(1)
        moved_normals = source_normals @ rotation.detach().mT
    return found
