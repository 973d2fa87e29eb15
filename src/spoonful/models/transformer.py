"""DCP-v2's pointer: a transformer that makes each cloud's embeddings look at the other cloud.

The module tree, and with it the parameters' names, is that of the published network. There is
no dropout: the published code takes the option and ignores it.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from spoonful.models.norms import LayerNorm


class Transformer(nn.Module):
    """An encoder-decoder run in both directions at once.

    Args:
        emb_dims: size of the embeddings.
        n_blocks: encoder layers, and decoder layers.
        n_heads: attention heads.
        ff_dims: hidden size of the feed-forward parts.
    """

    def __init__(self, emb_dims: int, n_blocks: int, n_heads: int, ff_dims: int) -> None:
        super().__init__()
        self.model = _EncoderDecoder(emb_dims, n_blocks, n_heads, ff_dims)
        _start_alike(self)

    def forward(self, embeddings: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """The changes to add to the embeddings of both clouds.

        Args:
            embeddings: (2B, N, C): B sources, then their B targets.
            mask: (2B, N) bool, False for padding, or None.

        Returns:
            (2B, N, C), in the same order.
        """
        memory: Tensor = self.model.encoder(embeddings, mask)
        other_mask = None if mask is None else _swap(mask)
        out: Tensor = self.model.decoder(embeddings, _swap(memory), mask, other_mask)
        return out


def _start_alike(transformer: nn.Module) -> None:
    """Give all attention layers one start, and all feed-forward parts another, as published.

    The published network is built from deep copies of one attention module, itself four copies of
    one linear layer: queries, keys, values and outputs of all layers start with the same weights.
    """
    linears: list[nn.Module] = []
    forwards: list[nn.Module] = []
    for part in transformer.modules():
        if isinstance(part, _Attention):
            linears += part.linears
        elif isinstance(part, _FeedForward):
            forwards.append(part)
    for alike in (linears, forwards):
        for part in alike[1:]:
            part.load_state_dict(alike[0].state_dict())


def _swap(both: Tensor) -> Tensor:
    """Put the targets before the sources, and the other way round."""
    half = both.shape[0] // 2
    return both.roll(half, dims=0)


class _EncoderDecoder(nn.Module):
    def __init__(self, size: int, n_blocks: int, n_heads: int, ff_dims: int) -> None:
        super().__init__()
        self.encoder = _Stack(_EncoderLayer, size, n_blocks, n_heads, ff_dims)
        self.decoder = _Stack(_DecoderLayer, size, n_blocks, n_heads, ff_dims)


class _Stack(nn.Module):
    """Layers of one kind, then a norm; all layers read the same further inputs."""

    def __init__(
        self, kind: type[nn.Module], size: int, n_blocks: int, n_heads: int, ff_dims: int
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(kind(size, n_heads, ff_dims) for _ in range(n_blocks))
        self.norm = LayerNorm(size)

    def forward(self, x: Tensor, *others: Tensor | None) -> Tensor:
        for layer in self.layers:
            x = layer(x, *others)
        out: Tensor = self.norm(x)
        return out


class _EncoderLayer(nn.Module):
    def __init__(self, size: int, n_heads: int, ff_dims: int) -> None:
        super().__init__()
        self.self_attn = _Attention(size, n_heads)
        self.feed_forward = _FeedForward(size, ff_dims)
        self.sublayer = nn.ModuleList(_Sublayer(size) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        normed = self.sublayer[0].norm(x)  # type: ignore[operator]
        x = x + self.self_attn(normed, normed, mask)
        x = x + self.feed_forward(self.sublayer[1].norm(x))  # type: ignore[operator]
        return x


class _DecoderLayer(nn.Module):
    def __init__(self, size: int, n_heads: int, ff_dims: int) -> None:
        super().__init__()
        self.self_attn = _Attention(size, n_heads)
        self.src_attn = _Attention(size, n_heads)
        self.feed_forward = _FeedForward(size, ff_dims)
        self.sublayer = nn.ModuleList(_Sublayer(size) for _ in range(3))

    def forward(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, memory_mask: Tensor | None
    ) -> Tensor:
        normed = self.sublayer[0].norm(x)  # type: ignore[operator]
        x = x + self.self_attn(normed, normed, mask)
        x = x + self.src_attn(self.sublayer[1].norm(x), memory, memory_mask)  # type: ignore[operator]
        x = x + self.feed_forward(self.sublayer[2].norm(x))  # type: ignore[operator]
        return x


class _Sublayer(nn.Module):
    """Only a norm, at the place in the tree where the published network has it."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm = LayerNorm(size)


class _Attention(nn.Module):
    """Multi-head attention; `linears` are those of queries, keys, values and output."""

    def __init__(self, size: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.linears = nn.ModuleList(nn.Linear(size, size) for _ in range(4))

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        query, key, value, out = self.linears
        attended = F.scaled_dot_product_attention(
            self._heads(query(x)),
            self._heads(key(memory)),
            self._heads(value(memory)),
            attn_mask=None if mask is None else mask[:, None, None, :],
        )
        result: Tensor = out(attended.transpose(1, 2).flatten(-2))
        return result

    def _heads(self, x: Tensor) -> Tensor:
        """(B, N, C) to (B, heads, N, C / heads)."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)


class _FeedForward(nn.Module):
    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.w_1 = nn.Linear(size, hidden)
        self.w_2 = nn.Linear(hidden, size)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.w_2(F.relu(self.w_1(x)))
        return out
