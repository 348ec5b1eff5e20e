"""The two LXMERT models, from scratch and from published weights, which are read from a local file.

The file is one of `unc-nlp/lxmert-base-uncased`, in the format of safetensors or of torch, or the original
`model_LXRT.pth`, whose names begin with "bert." instead of "lxmert."; only tensors are read, and nothing is
downloaded. Its head scores 9,500 answers without naming them; `ANSWERS` has the positions of CLEVR's answers
in the public list of labels.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.errors import ConfigError
from clevrhope.features.weights import check_file_exists, load_into, read_weights
from clevrhope.models.base import SET_LAYERS
from clevrhope.models.batch import Batch
from clevrhope.models.lxmert.config import PRETRAINED, SCRATCH, LxmertConfig
from clevrhope.models.lxmert.word_pieces import WordPieceModel, WordPieces, draw_weights
from clevrhope.models.recipe import Recipe

ANSWERS: Mapping[str, int] = {
    "yes": 9471, "no": 5291,
    "0": 1, "1": 3, "2": 94, "3": 140, "4": 169, "5": 197, "6": 223, "7": 241, "8": 254, "9": 266, "10": 16,
    "gray": 3204, "red": 6906, "blue": 1285, "green": 3231, "brown": 1525, "purple": 6821, "yellow": 9433,
    "sphere": 7727, "cylinder": 2315,
    "rubber": 7174, "metal": 4942,
    "large": 4474, "small": 7603,
}  # fmt: skip
"""Answer -> its row in the published head; "cyan" and "cube" have none."""

N_PUBLISHED = 9500

_HEAD = "answer_head.logit_fc.3."
_WHAT = (
    "a file of unc-nlp/lxmert-base-uncased, model.safetensors or pytorch_model.bin, or the original "
    "model_LXRT.pth; none is downloaded"
)


class LxmertScratch(WordPieceModel):
    """LXMERT-s, trained from scratch. The network is transformers' `LxmertForQuestionAnswering`."""

    recipe: Recipe = SCRATCH
    feature_kind: str = "frcnn"
    name = "lxmert_s"
    settings = LxmertConfig

    def __init__(self, config: LxmertConfig, vocab: Vocab) -> None:
        super().__init__()
        from transformers import LxmertConfig as NetworkConfig
        from transformers import LxmertForQuestionAnswering

        self.config = config
        self.feature_kind = config.features
        self.answers = vocab.answers()[len(SPECIAL_TOKENS) :]
        """The answers that the head scores: all except the special tokens."""
        self.words = vocab.questions()
        self.pieces = WordPieces(self.words, config.length)
        network = LxmertForQuestionAnswering(
            NetworkConfig(
                hidden_size=config.hidden,
                num_attention_heads=config.heads,
                intermediate_size=config.intermediate,
                l_layers=config.language_layers,
                r_layers=config.object_layers,
                x_layers=config.cross_layers,
                hidden_dropout_prob=config.dropout,
                attention_probs_dropout_prob=config.dropout,
                num_qa_labels=len(self.answers),
            )
        )
        self.lxmert, self.answer_head = network.lxmert, network.answer_head
        # As in the public code, the rows of padding are drawn, too, but never learned.
        self.apply(draw_weights)
        for layer in self.lxmert.encoder.x_layers[-1:]:  # no score depends on what it gives for boxes
            for unused in (layer.visn_self_att, layer.visn_inter, layer.visn_output):
                unused.requires_grad_(False)

    @property
    def is_static(self) -> bool:
        """As in `protocol.Model`: True for questions about one image, whose numbers of pieces are equal."""
        return self.set_layers is None

    @staticmethod
    def vocab_rows(vocab: Vocab) -> dict[str, list[str]]:
        """As in `protocol.Model`."""
        answers = vocab.answers()[len(SPECIAL_TOKENS) :]
        return {"answer_head.logit_fc.3.weight": answers, "answer_head.logit_fc.3.bias": answers}

    def forward(self, batch: Batch) -> Tensor:
        """(B, answers) scores, without special tokens."""
        return self.answer_head(self.states(batch))  # type: ignore[no-any-return]

    def image_states(self, batch: Batch) -> Tensor:
        """(K, D) pooled states of [CLS]."""
        if batch.images is not None:
            batch = batch.single_images(self.image_places(batch))
        pieces, word_mask = self.pieces(batch.questions)
        vectors, boxes, n_boxes = (batch.features[name] for name in ("vectors", "boxes", "n_boxes"))
        box_mask = torch.arange(vectors.shape[1], device=vectors.device) < n_boxes.unsqueeze(1)
        states = self.lxmert(
            input_ids=pieces,
            attention_mask=word_mask,
            visual_feats=vectors.to(self.lxmert.dtype),
            visual_pos=boxes,
            visual_attention_mask=box_mask,
        )
        return states.pooled_output  # type: ignore[no-any-return]

    def loss(self, batch: Batch) -> Tensor:
        """Binary cross-entropy with one-hot answers, summed over answers and averaged over questions."""
        scores = self(batch).float()
        # On a CPU, `F.one_hot` reads the answers to check them.
        numbers = torch.arange(
            len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + len(self.answers), device=scores.device
        )
        targets = (batch.answers.unsqueeze(1) == numbers).to(scores.dtype)  # (B, answers)
        return F.binary_cross_entropy_with_logits(scores, targets) * len(self.answers)

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores; minus infinity for special tokens."""
        return F.pad(self(batch).float(), (len(SPECIAL_TOKENS), 0), value=-torch.inf)


class LxmertPretrained(LxmertScratch):
    """LXMERT-p, whose runs start from published weights in a local file."""

    recipe: Recipe = PRETRAINED
    name = "lxmert_p"

    def check_begin(self) -> None:
        """Checks that a file of weights is given and exists; raises ConfigError if not."""
        if not self.config.weights:
            raise ConfigError(f"lxmert_p: no pretrained weights; set weights to {_WHAT}")
        check_file_exists(Path(self.config.weights), what=_WHAT)

    def begin(self) -> None:
        """Loads the published weights; answers that the published head lacks start from zeros.

        Layers for sets of images, which were never published, are left unchanged.

        Raises:
            ConfigError: there is no such file, or a weight is missing or has another shape.
        """
        self.check_begin()
        path = Path(self.config.weights)
        weights = {published_name(name): value for name, value in read_weights(path, what=_WHAT).items()}
        for name in ("weight", "bias"):
            rows = weights.get(_HEAD + name)
            if rows is None:
                continue  # `load_into` reports it
            if rows.shape[:1] != (N_PUBLISHED,):
                shape = tuple(rows.shape)
                raise ConfigError(
                    f"{path}: weight {_HEAD}{name} has shape {shape}; expected {N_PUBLISHED} rows"
                )
            zero = torch.zeros_like(rows[0])
            chosen = [rows[ANSWERS[answer]] if answer in ANSWERS else zero for answer in self.answers]
            weights[_HEAD + name] = torch.stack(chosen)
        weights |= {name: own for name, own in self.state_dict().items() if name.startswith(SET_LAYERS)}
        load_into(self, weights, path=path, what=_WHAT)


def published_name(published: str) -> str:
    """A published weight's name here.

    The original files name the body "bert", perhaps within a parallel module; those of a finetuned model put
    it into an encoder, beside the layers of the head.
    """
    name = published.removeprefix("module.").removeprefix("lxrt_encoder.model.")
    if name.startswith("logit_fc."):
        return f"answer_head.{name}"
    return f"lxmert.{name.removeprefix('bert.')}" if name.startswith("bert.") else name
