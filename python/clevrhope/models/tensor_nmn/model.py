"""Tensor-NMN: the losses of its three training stages, and its answers on true or predicted programs."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from clevrhope.dataset.vocab import Vocab
from clevrhope.models.base import BaseModel
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Recipe
from clevrhope.models.stack import answer_losses
from clevrhope.models.stems import Generators
from clevrhope.models.tensor_nmn.config import ENGINE_ALONE, THREE_STAGES, GeneratorKind, TensorNmnConfig
from clevrhope.models.tensor_nmn.engine import Engine
from clevrhope.models.tensor_nmn.generator import ProgramGenerator, Written
from clevrhope.models.tensor_nmn.levels import Plan

GENERATORS: Mapping[GeneratorKind, Mapping[str, Any]] = {
    "attention": {"n_layers": 2, "attention": True},
    "attention_one_layer": {"n_layers": 1, "attention": True},
    "plain": {"n_layers": 2, "attention": False},
}


class ProgramPlan(NamedTuple):
    """What an update needs to know about a batch on the CPU."""

    lengths: Tensor  # (B,) of the questions
    true_programs: Plan


class TensorNmn(BaseModel):
    """A program generator and an engine of modules.

    An ill-formed program, one that is not a tree of functions, has no answer: its row of scores is NaN.
    """

    name = "tensor_nmn"
    settings = TensorNmnConfig
    recipe: Recipe = THREE_STAGES
    feature_kind: str = "resnet101"
    ways: Mapping[str, str] = {"true_programs": "predict_true_programs", "predicted_programs": "predict"}
    program_ways: Mapping[str, str] = {"symbolic": "predict_programs"}
    stack_losses: Mapping[str, str] = {}

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
            self.ways, self.program_ways = {"true_programs": "predict_true_programs"}, {}
            if config.features == "pixels":
                self.stack_losses = {"engine_loss": "stack_engine_losses"}
        else:
            self.generator = ProgramGenerator(
                len(vocab.questions()),
                len(vocab.programs()),
                word_size=config.generator_words,
                hidden=config.generator_hidden,
                **GENERATORS[config.generator],
            )
        self.register_buffer("baseline", torch.zeros(()))
        self.register_buffer("ill_formed", torch.zeros(()))

    def plan(self, batch: Batch) -> ProgramPlan:
        """As in `protocol.Model`."""
        return ProgramPlan(super().plan(batch), self.engine.plan(batch.programs))

    def generator_loss(self, batch: Batch) -> Tensor:
        """The generator's cross-entropy on true programs, summed over tokens and averaged over questions."""
        assert self.generator is not None  # only a recipe with a generator has this stage
        return self.generator.loss(batch.questions, self.planned(batch).lengths, batch.programs)

    def engine_loss(self, batch: Batch) -> Tensor:
        """The engine's mean cross-entropy of the answers on true programs."""
        scores, rows = self.engine(batch.features, self.planned(batch).true_programs)
        return _cross_entropy(scores, batch.answers[rows])

    loss = engine_loss

    def stack_plan(self, batch: Batch) -> Plan:
        """As in `protocol.Model`; errors as for `Engine.plan_stack`."""
        return self.engine.plan_stack(batch.programs)

    def stack_engine_losses(self, batch: Batch, generators: Generators) -> Tensor:
        """(M,) `engine_loss` of each model of a stack, on its own part of the questions."""
        scores = self.engine.stack_scores(batch.features, batch.plan, generators)
        return answer_losses(scores, batch.answers, len(generators))

    def reinforce_loss(self, batch: Batch) -> Tensor:
        """The engine's cross-entropy on programs that the generator samples, and REINFORCE for the generator.

        The reward is 1 for a correct answer, and 0 for a wrong one or for an ill-formed program, which does
        not enter the engine's loss. The baseline is a moving average of the rewards of earlier batches (a
        choice of this project: computed from a batch's own rewards, the baseline would depend on the
        samples).
        """
        drawn = self._write(batch, sample=True)
        scores, rows = self.engine(batch.features, self.engine.plan(drawn.programs))
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
        """(B, A) scores on the generator's most likely programs, or without a generator on the true ones."""
        if self.generator is None:
            return self.predict_true_programs(batch)
        return self._predict(batch, self.engine.plan(self.predict_programs(batch)))

    def predict_true_programs(self, batch: Batch) -> Tensor:
        """(B, A) scores on the true programs."""
        return self._predict(batch, self.planned(batch).true_programs)

    def predict_programs(self, batch: Batch) -> Tensor:
        """(B, P) int64 tokens of the generator's most likely programs, some of which may be ill-formed."""
        return self._write(batch, sample=False).programs

    def log_values(self) -> Mapping[str, Tensor]:
        """Moving averages of the share of ill-formed programs among those sampled, and of their reward."""
        return {"ill_formed": self.ill_formed, "reward": self.baseline} if self.generator else {}

    def _write(self, batch: Batch, *, sample: bool) -> Written:
        assert self.generator is not None
        lengths, longest = self.planned(batch).lengths, self.config.longest_program
        return self.generator.write(batch.questions, lengths, longest, sample=sample)

    def _predict(self, batch: Batch, plan: Plan) -> Tensor:
        scores: Tensor
        scores, rows = self.engine(batch.features, plan)
        return scores.new_full((len(batch), scores.shape[1]), torch.nan).index_copy(0, rows, scores)


def _cross_entropy(scores: Tensor, answers: Tensor) -> Tensor:
    """The mean over the rows; 0, with gradients of 0, if there are none."""
    return F.cross_entropy(scores, answers, reduction="sum") / max(len(answers), 1)
