"""LXMERT's layers, from WordPieces and boxes to scores.

Names and shapes of weights are those of transformers' `LxmertForQuestionAnswering`, so published weights load
unchanged; attention uses torch's fused kernels. The boxes' half of the last cross layer has no effect on the
scores, so it is not computed and its weights are frozen.
"""

from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope.models.lxmert.config import LxmertConfig
from clevrhope.models.lxmert.word_pieces import VOCABULARY_SIZE

N_POSITIONS = 512
N_TYPES = 2
VECTOR_SIZE, BOX_SIZE = 2048, 4
_EPSILON = 1e-12
_DEVIATION = 0.02
"""Standard deviation of new weights, which are normally distributed."""


class Attention(nn.Module):
    """Multi-head attention of (B, N, D) to (B, M, D), without the output layer."""

    def __init__(self, config: LxmertConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.query = nn.Linear(config.hidden, config.hidden)
        self.key = nn.Linear(config.hidden, config.hidden)
        self.value = nn.Linear(config.hidden, config.hidden)

    def forward(self, x: Tensor, context: Tensor, mask: Tensor) -> Tensor:
        """(B, N, D) of values; `mask` is (B, 1, 1, M) bool, false at padding of `context`."""
        query, key, value = (
            layer(source).unflatten(2, (self.heads, -1)).transpose(1, 2)  # (B, heads, N or M, D / heads)
            for layer, source in ((self.query, x), (self.key, context), (self.value, context))
        )
        dropout = self.dropout if self.training else 0.0
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
        return attended.transpose(1, 2).flatten(2)


class Residual(nn.Module):
    """A dense layer with a residual connection and layer norm."""

    def __init__(self, size_in: int, config: LxmertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(size_in, config.hidden)
        self.LayerNorm = nn.LayerNorm(config.hidden, eps=_EPSILON)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, hidden: Tensor, residual: Tensor) -> Tensor:
        """(B, N, size_in) and (B, N, D) to (B, N, D)."""
        return self.LayerNorm(self.dropout(self.dense(hidden)) + residual)  # type: ignore[no-any-return]


def _intermediate(config: LxmertConfig) -> nn.Module:
    """The wide feed-forward layer, (B, N, D) to (B, N, intermediate)."""
    return nn.Sequential(OrderedDict(dense=nn.Linear(config.hidden, config.intermediate), gelu=nn.GELU()))


class AttentionLayer(nn.Module):
    """Attention with its residual connection; its weights are published under "self" or "att"."""

    def __init__(self, config: LxmertConfig, name: str) -> None:
        super().__init__()
        self.name = name
        self.add_module(name, Attention(config))
        self.output = Residual(config.hidden, config)

    def forward(self, x: Tensor, context: Tensor, mask: Tensor) -> Tensor:
        """(B, N, D) attending to (B, M, D); `mask` as in `Attention`."""
        return self.output(self.get_submodule(self.name)(x, context, mask), x)  # type: ignore[no-any-return]


class Layer(nn.Module):
    """A layer over words only, or over boxes only."""

    def __init__(self, config: LxmertConfig) -> None:
        super().__init__()
        self.attention = AttentionLayer(config, "self")
        self.intermediate = _intermediate(config)
        self.output = Residual(config.intermediate, config)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, N, D) to the same shape."""
        x = self.attention(x, x, mask)
        return self.output(self.intermediate(x), x)  # type: ignore[no-any-return]


class CrossLayer(nn.Module):
    """A layer over both: each attends to the other, with shared weights, and then to itself."""

    def __init__(self, config: LxmertConfig, *, last: bool) -> None:
        super().__init__()
        self.last = last
        self.visual_attention = AttentionLayer(config, "att")
        self.lang_self_att = AttentionLayer(config, "self")
        self.visn_self_att = AttentionLayer(config, "self")
        self.lang_inter = _intermediate(config)
        self.lang_output = Residual(config.intermediate, config)
        self.visn_inter = _intermediate(config)
        self.visn_output = Residual(config.intermediate, config)
        if last:
            for unused in (self.visn_self_att, self.visn_inter, self.visn_output):
                unused.requires_grad_(False)

    def forward(
        self, words: Tensor, word_mask: Tensor, boxes: Tensor, box_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """(B, N, D) words and (B, M, D) boxes to the same shapes; the last layer leaves boxes unchanged."""
        language = self.visual_attention(words, boxes, box_mask)
        language = self.lang_self_att(language, language, word_mask)
        language = self.lang_output(self.lang_inter(language), language)
        if self.last:
            return language, boxes
        vision = self.visual_attention(boxes, words, word_mask)
        vision = self.visn_self_att(vision, vision, box_mask)
        return language, self.visn_output(self.visn_inter(vision), vision)


class Embeddings(nn.Module):
    """Embeds WordPieces and their positions."""

    def __init__(self, config: LxmertConfig) -> None:
        super().__init__()
        # As published, row 0 of each is for padding and is never learned, not even for position 0.
        self.word_embeddings = nn.Embedding(VOCABULARY_SIZE, config.hidden, padding_idx=0)
        self.position_embeddings = nn.Embedding(N_POSITIONS, config.hidden, padding_idx=0)
        self.token_type_embeddings = nn.Embedding(N_TYPES, config.hidden, padding_idx=0)
        self.LayerNorm = nn.LayerNorm(config.hidden, eps=_EPSILON)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, pieces: Tensor) -> Tensor:
        """(B, N) to (B, N, D)."""
        positions = torch.arange(pieces.shape[1], device=pieces.device)
        types = torch.zeros_like(positions)
        added = self.position_embeddings(positions) + self.token_type_embeddings(types)
        return self.dropout(self.LayerNorm(self.word_embeddings(pieces) + added))  # type: ignore[no-any-return]


class BoxEmbeddings(nn.Module):
    """Embeds box vectors and box coordinates."""

    def __init__(self, config: LxmertConfig) -> None:
        super().__init__()
        self.visn_fc = nn.Linear(VECTOR_SIZE, config.hidden)
        self.visn_layer_norm = nn.LayerNorm(config.hidden, eps=_EPSILON)
        self.box_fc = nn.Linear(BOX_SIZE, config.hidden)
        self.box_layer_norm = nn.LayerNorm(config.hidden, eps=_EPSILON)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, vectors: Tensor, boxes: Tensor) -> Tensor:
        """(B, M, 2048) vectors and (B, M, 4) boxes to (B, M, D)."""
        both = self.visn_layer_norm(self.visn_fc(vectors)) + self.box_layer_norm(self.box_fc(boxes))
        return self.dropout(both / 2)  # type: ignore[no-any-return]


class Encoder(nn.Module):
    """The layers over words, over boxes and over both."""

    def __init__(self, config: LxmertConfig) -> None:
        super().__init__()
        self.visn_fc = BoxEmbeddings(config)
        self.layer = nn.ModuleList(Layer(config) for _ in range(config.language_layers))
        n_cross = config.cross_layers
        self.x_layers = nn.ModuleList(CrossLayer(config, last=k == n_cross - 1) for k in range(n_cross))
        self.r_layers = nn.ModuleList(Layer(config) for _ in range(config.object_layers))

    def forward(
        self, words: Tensor, word_mask: Tensor, vectors: Tensor, coordinates: Tensor, box_mask: Tensor
    ) -> Tensor:
        """The final states of the words, (B, N, D)."""
        boxes = self.visn_fc(vectors, coordinates)
        for layer in self.layer:
            words = layer(words, word_mask)
        for layer in self.r_layers:
            boxes = layer(boxes, box_mask)
        for layer in self.x_layers:
            words, boxes = layer(words, word_mask, boxes, box_mask)
        return words


class Body(nn.Module):
    """All of LXMERT except the head that scores answers."""

    def __init__(self, config: LxmertConfig) -> None:
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.pooler = nn.Sequential(
            OrderedDict(dense=nn.Linear(config.hidden, config.hidden), tanh=nn.Tanh())
        )

    def forward(
        self, pieces: Tensor, word_mask: Tensor, vectors: Tensor, coordinates: Tensor, box_mask: Tensor
    ) -> Tensor:
        """(B, N) pieces, (B, M, 2048) vectors and (B, M, 4) boxes to (B, D); masks are false at padding."""
        word_mask, box_mask = word_mask[:, None, None], box_mask[:, None, None]  # (B, 1, 1, N or M)
        words = self.encoder(self.embeddings(pieces), word_mask, vectors, coordinates, box_mask)
        return self.pooler(words[:, 0])  # type: ignore[no-any-return]  # [CLS] stands for the question


def answer_head(config: LxmertConfig, n_answers: int) -> nn.Module:
    """The head that scores answers, (B, D) to (B, answers)."""
    layers = nn.Sequential(
        nn.Linear(config.hidden, 2 * config.hidden),
        nn.GELU(),
        nn.LayerNorm(2 * config.hidden, eps=_EPSILON),
        nn.Linear(2 * config.hidden, n_answers),
    )
    return nn.Sequential(OrderedDict(logit_fc=layers))


def draw_weights(module: nn.Module) -> None:
    """Initialises a layer: weights normal with deviation 0.02, biases 0. For `nn.Module.apply`."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=_DEVIATION)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
