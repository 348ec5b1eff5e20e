"""VisualBERT: one stream of WordPieces and boxes, for questions about one image or about several.

The network is transformers' `VisualBertModel`. An answer is scored from the last state of [CLS]; for several
images, from the states of all of them, as in COVR (Bogin et al. 2021). Source: Li et al. 2019 and its public
code. Like the original, it sees the vectors of boxes but not where they are.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from clevrhope.dataset.vocab import Vocab
from clevrhope.features.weights import check_file_exists, load_into, read_weights
from clevrhope.models.batch import Batch
from clevrhope.models.lxmert.config import TransformerSettings
from clevrhope.models.lxmert.word_pieces import WordPieceModel, WordPieces, draw_weights
from clevrhope.models.object_transformer import AttributeTokens
from clevrhope.models.recipe import Optimiser, Schedule, single_stage

_BODY = "visual_bert."
"""Prefix of the published weights' names; everything else is new on this package's questions."""
_WHAT = (
    "a file of uclanlp/visualbert-vqa-coco-pre, pytorch_model.bin or model.safetensors; none is downloaded"
)


@dataclass(frozen=True)
class VisualBertConfig(TransformerSettings):
    """Settings of VisualBERT; the defaults are the published model.

    Attributes:
        features: "frcnn" boxes; "scene-boxes", the true ones; or the objects' true "attributes" and places,
            which no VisualBERT has, so that none of the errors is due to perception.
        weights: a file of published weights; empty to start from random ones.
        length: WordPieces per question, including special tokens and padding; longer questions are cut. If
            questions are about sets of images, at least `LENGTH_OF_SETS`.
        hidden: units of all layers.
        heads: attention heads of each layer.
        intermediate: units of the feed-forward layers.
        layers: the number of layers.
        dropout: dropout in all layers, attention included.
    """

    features: Literal["frcnn", "scene-boxes", "attributes"] = "frcnn"
    weights: str = ""
    length: int = 49
    hidden: int = 768
    heads: int = 12
    intermediate: int = 3072
    layers: int = 12
    dropout: float = 0.1


class VisualBert(WordPieceModel):
    """VisualBERT with a linear head over the state of [CLS]."""

    name = "visualbert"
    settings = VisualBertConfig
    recipe = single_stage(
        updates=100_000,
        batch_size=64,
        optimiser=Optimiser(kind="bert_adam", rate=2e-5, epsilon=1e-6, decay=0.01, clip_norm=0.25),
        schedule=Schedule("warmup_linear", warmup=0.1),
    )

    def __init__(self, config: VisualBertConfig, vocab: Vocab) -> None:
        super().__init__()
        from transformers import VisualBertConfig as BodyConfig
        from transformers import VisualBertModel

        self.config = config
        self.feature_kind = config.features
        self.words = vocab.questions()
        self.pieces = WordPieces(self.words, config.length)
        self.objects: AttributeTokens | None = None
        if config.features == "attributes":
            self.objects = AttributeTokens(config.hidden, vocab)
        body = BodyConfig(
            hidden_size=config.hidden,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            intermediate_size=config.intermediate,
            hidden_dropout_prob=config.dropout,
            attention_probs_dropout_prob=config.dropout,
            visual_embedding_dim=2048 if self.objects is None else config.hidden,
        )
        self.visual_bert = VisualBertModel(body, add_pooling_layer=False)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden, len(vocab.answers()))
        draw_weights(self.classifier)

    @staticmethod
    def vocab_rows(vocab: Vocab) -> dict[str, list[str]]:
        """As in `protocol.Model`."""
        return {"classifier.weight": vocab.answers(), "classifier.bias": vocab.answers()}

    def check_begin(self) -> None:
        """Checks that the file of weights exists if one is named; raises ConfigError if not."""
        if self.config.weights:
            check_file_exists(Path(self.config.weights), what=_WHAT)

    def begin(self) -> None:
        """Loads the published weights if a file is named; the head and layers for sets stay new.

        Raises:
            ConfigError: there is no such file, or a weight is missing or has another shape.
        """
        if not self.config.weights:
            return
        path = Path(self.config.weights)
        weights = read_weights(path, what=_WHAT)
        new = {name: own for name, own in self.state_dict().items() if not name.startswith(_BODY)}
        load_into(self, {**weights, **new}, path=path, what=_WHAT)

    def image_states(self, batch: Batch) -> Tensor:
        """(K, D) last states of [CLS]."""
        if batch.images is not None:
            batch = batch.single_images(self.image_places(batch))
        pieces, word_mask = self.pieces(batch.questions)  # (K, L), (K, L)
        features = batch.features
        vectors = features["vectors"] if self.objects is None else self.objects(features)  # (K, M, V)
        box_mask = torch.arange(vectors.shape[1], device=vectors.device) < features["n_boxes"].unsqueeze(1)
        states = self.visual_bert(
            input_ids=pieces,
            attention_mask=word_mask.long(),
            visual_embeds=vectors.to(self.classifier.weight.dtype),
            visual_attention_mask=box_mask.long(),
            visual_token_type_ids=box_mask.new_ones(box_mask.shape, dtype=torch.int64),
        ).last_hidden_state
        return states[:, 0]  # type: ignore[no-any-return]

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores."""
        return self.classifier(self.dropout(self.states(batch)))  # type: ignore[no-any-return]
