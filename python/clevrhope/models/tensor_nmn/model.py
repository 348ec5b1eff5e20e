"""A batch in, losses of the three stages and answers on true or predicted programs out."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope.config.options import read_options
from clevrhope.dataset.vocab import Vocab
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Recipe
from clevrhope.models.tensor_nmn.config import NAME, GeneratorKind, TensorNmnConfig
from clevrhope.models.tensor_nmn.engine import Engine, Scores
from clevrhope.models.tensor_nmn.generator import ProgramGenerator
from clevrhope.models.tensor_nmn.recipe import ENGINE_ALONE, THREE_STAGES

GENERATORS: Mapping[GeneratorKind, Mapping[str, Any]] = {
    "attention": {"n_layers": 2, "attention": True},
    "attention_one_layer": {"n_layers": 1, "attention": True},
    "plain": {"n_layers": 2, "attention": False},
}


class TensorNmn(nn.Module):
    """Tensor-NMN: a program generator and an engine of modules.

    An ill-formed program, one that is no tree of functions, yields no answer: its row of scores is NaN.
    """

    recipe: Recipe = THREE_STAGES
    feature_kind: str = "resnet101"
    ways: Mapping[str, str] = {"true_programs": "predict_true_programs", "predicted_programs": "predict"}
    program_ways: Mapping[str, str] = {"symbolic": "predict_programs"}

    ENGINE_WAYS: ClassVar[Mapping[str, str]] = {"true_programs": "predict_true_programs"}

    baseline: Tensor
    ill_formed: Tensor

    def __init__(self, config: TensorNmnConfig, vocab: Vocab) -> None:
        super().__init__()
        self.config = config
        self.feature_kind = config.features
        self.engine = Engine(config, vocab.programs(), len(vocab.answers()))
        if config.stages == "engine":
            self.generator = None
            self.recipe = ENGINE_ALONE
            self.ways, self.program_ways = self.ENGINE_WAYS, {}
        else:
            n_words, n_tokens = len(vocab.questions()), len(vocab.programs())
            self.generator = ProgramGenerator(
                n_words,
                n_tokens,
                word_size=config.generator_words,
                hidden=config.generator_hidden,
                **GENERATORS[config.generator],
            )
        self.register_buffer("baseline", torch.zeros(()))
        self.register_buffer("ill_formed", torch.zeros(()))

    @classmethod
    def build(cls, config: Mapping[str, Any], vocab: Vocab) -> Self:
        """A new model; `TensorNmnConfig` says what can be set.

        Raises:
            ConfigError: a setting that there is not, or a wrong value.
        """
        return cls(read_options(TensorNmnConfig, config, model=NAME), vocab)

    def generator_loss(self, batch: Batch) -> Tensor:
        """The generator's, on true programs."""
        return self._generator().loss(batch.questions, batch.question_lengths, batch.programs)

    def engine_loss(self, batch: Batch) -> Tensor:
        """The engine's, on true programs: mean cross-entropy of the answers."""
        scores, rows = self._run(batch, batch.programs)
        return _cross_entropy(scores, batch.answers[rows])

    loss = engine_loss

    def reinforce_loss(self, batch: Batch) -> Tensor:
        """Of both, on programs that the generator draws: the engine's cross-entropy, and REINFORCE.

        A right answer is a reward of 1. A draw counts by how far its reward is above a moving average of the
        rewards before it (a choice: with its own reward in it, the average would lean towards the draw). An
        ill-formed program has the reward 0 and no part in the engine's loss.
        """
        generator = self._generator()
        drawn = generator.write(
            batch.questions, batch.question_lengths, self.config.longest_program, sample=True
        )
        scores, rows = self._run(batch, drawn.programs)
        answers = batch.answers[rows]
        with torch.no_grad():
            rewards = torch.zeros_like(drawn.log_probabilities)
            rewards[rows] = (scores.argmax(1) == answers).to(rewards.dtype)
            advantages = rewards - self.baseline
            if self.training:
                weight = 1.0 - self.config.baseline_decay
                self.baseline.lerp_(rewards.mean(), weight)
                self.ill_formed.lerp_(rewards.new_tensor(1.0 - len(rows) / len(batch)), weight)
        return _cross_entropy(scores, answers) - (advantages * drawn.log_probabilities).mean()

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores on the generator's likeliest programs; on true ones where there is no generator."""
        if self.generator is None:
            return self.predict_true_programs(batch)
        return self._predict(batch, self.predict_programs(batch))

    def predict_true_programs(self, batch: Batch) -> Tensor:
        """(B, A) scores on the programs that are given."""
        return self._predict(batch, batch.programs)

    def predict_programs(self, batch: Batch) -> Tensor:
        """(B, P) int64 tokens: the generator's likeliest program for each question, some maybe ill-formed."""
        longest = self.config.longest_program
        written = self._generator().write(batch.questions, batch.question_lengths, longest, sample=False)
        return written.programs

    def log_values(self) -> Mapping[str, Tensor]:
        """Beside the loss, moving averages of drawn programs' ill-formed share and of their reward."""
        return {"ill_formed": self.ill_formed, "reward": self.baseline} if self.generator else {}

    def _predict(self, batch: Batch, programs: Tensor) -> Tensor:
        scores, rows = self._run(batch, programs)
        every = scores.new_full((len(batch), scores.shape[1]), torch.nan)
        return every.index_copy(0, rows, scores)

    def _run(self, batch: Batch, programs: Tensor) -> Scores:
        made: Scores = self.engine(batch.features, programs)
        return made

    def _generator(self) -> ProgramGenerator:
        if self.generator is None:
            raise RuntimeError(
                f'{NAME} was built with stages="{self.config.stages}": it has no program generator'
            )
        return self.generator


def _cross_entropy(scores: Tensor, answers: Tensor) -> Tensor:
    """Mean over the rows; 0, with gradients of 0, where there are none."""
    return F.cross_entropy(scores, answers, reduction="sum") / max(len(answers), 1)
