"""Tensor-NMN's execution engine, which runs programs on image features and scores the answers."""

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor, nn

from clevrhope import _core
from clevrhope.models.stems import make_stem
from clevrhope.models.tensor_nmn.bank import Bank, ModuleBank
from clevrhope.models.tensor_nmn.config import TensorNmnConfig
from clevrhope.models.tensor_nmn.forms import run_bucketed, run_gathered, run_modules
from clevrhope.models.tensor_nmn.levels import Plan, PlanIndices, plan_levels

FORMS: Mapping[str, Callable[[Bank, Tensor, Plan, PlanIndices], Tensor]] = {
    "module": run_modules,
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
