"""Tensor-NMN's execution engine, which runs programs on image features and scores the answers."""

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor, nn

from clevrhope import _core
from clevrhope.errors import ConfigError
from clevrhope.models.stack import by_model, by_question, run_layers
from clevrhope.models.stems import Generators, PixelStem, make_stem
from clevrhope.models.tensor_nmn.config import TensorNmnConfig
from clevrhope.models.tensor_nmn.levels import Plan, PlanIndices, plan_levels
from clevrhope.models.tensor_nmn.modules import Bank, ModuleBank, run_bucketed, run_gathered

FORMS: Mapping[str, Callable[[Bank, Tensor, Plan, PlanIndices], Tensor]] = {
    "bucketed": run_bucketed,
    "gathered": run_gathered,
}


class Engine(nn.Module):
    """Stem, modules and classifier.

    Args:
        config: settings of the model.
        program_tokens: the program tokens of vocab.json, in order.
        n_answers: number of answers in vocab.json, including special tokens, as in the public code.
    """

    def __init__(self, config: TensorNmnConfig, program_tokens: Sequence[str], n_answers: int) -> None:
        super().__init__()
        self.config = config
        self.arities = _core.program_arities(program_tokens)
        height, width = config.map_size
        self.stem = make_stem(config)
        self.bank = ModuleBank(self.arities, config.channels, config.module_init)
        self.classifier = nn.Sequential(
            nn.Conv2d(config.channels, config.classifier_channels, 1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(config.classifier_channels * (height // 2) * (width // 2), config.classifier_hidden),
            nn.ReLU(),
            nn.Linear(config.classifier_hidden, n_answers),
        )

    @property
    def form(self) -> str:
        """How modules are run on the model's device."""
        if self.config.form != "auto":
            return self.config.form
        return "gathered" if self.bank.first_weights.is_cuda else "bucketed"

    def plan(self, programs: Tensor) -> Plan:
        """The order of the nodes of (B, P) programs; waits for programs that are on a GPU."""
        return plan_levels(programs, self.arities, by_token=self.form == "bucketed")

    def forward(self, features: Mapping[str, Tensor], plan: Plan) -> tuple[Tensor, Tensor]:
        """Scores (R, A) of the R well-formed programs of a plan, and their rows (R,) in the batch."""
        maps = self.stem(features)  # (B, C, H, W)
        indices = plan.on(maps.device)
        answers = FORMS[self.form](self.bank.weights(), maps, plan, indices)  # (R, C, H, W)
        return self.classifier(answers), indices.well_formed

    def plan_stack(self, programs: Tensor) -> Plan:
        """The order of the nodes of a stack's (M * B, P) programs by levels, on the CPU.

        Raises:
            ConfigError: a program is not a tree of functions.
        """
        plan = plan_levels(programs, self.arities)
        if plan.n_roots < len(programs):
            raise ConfigError(
                "a program of the train set is not a tree of functions, so models cannot be trained together"
            )
        return plan

    def stack_scores(self, features: Mapping[str, Tensor], plan: Plan, generators: Generators) -> Tensor:
        """Scores (M * B, A) of a stack of engines with stems for pixels.

        Args:
            features: features of the images of M * B questions, with those of each model consecutive.
            plan: the plan of their programs, from `plan_stack`.
            generators: one for each model.
        """
        stem, n_models = self.stem, len(generators)
        assert isinstance(stem, PixelStem)
        images = by_question(stem.images(features, generators), n_models)
        maps = by_model(run_layers(stem.layers, images))  # (M * B, C, H, W)
        indices = plan.on(maps.device)
        models = indices.rows // (len(maps) // n_models)
        modules = indices.tokens + len(self.arities) * models
        answers = run_gathered(self.bank.joined(), maps, plan, indices._replace(tokens=modules))
        return by_model(run_layers(self.classifier, by_question(answers, n_models)))
