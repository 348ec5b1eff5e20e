"""The two LXMERT models, pretrained and from scratch: their losses and their answers to a batch."""

import torch
import torch.nn.functional as F
from torch import Tensor

from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.models.batch import Batch
from clevrhope.models.image_sets import ImageSetModel, SetLayers
from clevrhope.models.lxmert.config import LENGTH_OF_SETS, LxmertConfig
from clevrhope.models.lxmert.network import Body, answer_head, draw_weights
from clevrhope.models.lxmert.pretrained import check_file, load_pretrained
from clevrhope.models.lxmert.recipe import PRETRAINED, SCRATCH
from clevrhope.models.lxmert.word_pieces import WordPieces
from clevrhope.models.recipe import Recipe


class LxmertScratch(ImageSetModel):
    """LXMERT-s, trained from scratch. Weights are named as in transformers' `LxmertForQuestionAnswering`."""

    recipe: Recipe = SCRATCH
    feature_kind: str = "frcnn"
    name = "lxmert_s"
    settings = LxmertConfig

    def __init__(self, config: LxmertConfig, vocab: Vocab) -> None:
        super().__init__()
        self.config = config
        self.feature_kind = config.features
        self.answers = vocab.answers()[len(SPECIAL_TOKENS) :]
        """The answers that the head scores: all except the special tokens."""
        self.words = vocab.questions()
        self.pieces = WordPieces(self.words, config.length)
        self.lxmert = Body(config)
        self.answer_head = answer_head(config, len(self.answers))
        self.apply(draw_weights)

    @property
    def is_static(self) -> bool:
        """As in `protocol.Model`: True for questions about one image, whose numbers of pieces are equal."""
        return self.set_layers is None

    @staticmethod
    def vocab_rows(vocab: Vocab) -> dict[str, list[str]]:
        """As in `protocol.Model`."""
        answers = vocab.answers()[len(SPECIAL_TOKENS) :]
        return {"answer_head.logit_fc.3.weight": answers, "answer_head.logit_fc.3.bias": answers}

    def add_set_layers(self) -> None:
        """As in `ImageSetModel`, with LXMERT's layer sizes; the model then accepts longer questions."""
        config = self.config
        self.pieces = WordPieces(self.words, max(config.length, LENGTH_OF_SETS))
        self.set_layers = SetLayers(
            config.hidden, heads=config.heads, intermediate=config.intermediate, dropout=config.dropout
        )

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
        vectors = vectors.to(self.lxmert.encoder.visn_fc.visn_fc.weight.dtype)
        return self.lxmert(pieces, word_mask, vectors, boxes, box_mask)  # type: ignore[no-any-return]

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
        """Checks that a file of weights exists; raises the errors of `check_file`."""
        check_file(self.config.weights)

    def begin(self) -> None:
        """Loads the published weights; raises the errors of `load_pretrained`."""
        load_pretrained(self, self.config.weights, self.answers)
