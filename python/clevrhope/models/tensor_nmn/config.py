"""Settings and stages of a Tensor-NMN, by default those of the code that CLEVR-HOPE followed. No torch."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from clevrhope.errors import ConfigError
from clevrhope.models.maps import MapsConfig
from clevrhope.models.recipe import Optimiser, Recipe, Stage

Form = Literal["auto", "bucketed", "gathered"]
"""How modules are run; `clevrhope.models.tensor_nmn.modules` describes the forms."""

GeneratorKind = Literal["attention", "attention_one_layer", "plain"]

ModuleInit = Literal["torch", "he"]
"""How the weights of modules are initialised; `clevrhope.models.tensor_nmn.modules` describes the ways."""


@dataclass(frozen=True)
class TensorNmnConfig(MapsConfig):
    """Settings of a Tensor-NMN, in addition to those of `MapsConfig`.

    Attributes:
        classifier_channels: channels of the classifier's maps.
        classifier_hidden: units of its hidden layer.
        module_init: how the modules' initial weights are drawn.
        form: how modules are run; "auto" chooses by the device.
        stages: "all" for the three stages of the public code, or "engine" for an engine on true programs and
            no generator.
        generator: "attention" with two layers; "attention_one_layer"; or "plain", two layers without
            attention. The paper's number of parameters, 42 million, matches the last two, but no public class
            as published; the public trainer can use the first two.
        generator_words: size of the generator's embeddings.
        generator_hidden: units of the generator's LSTMs, in each direction.
        longest_program: the most tokens of a program that the generator predicts, including <START> and
            <END>.
        baseline_decay: decay of the moving average of rewards.
    """

    classifier_channels: int = 512
    classifier_hidden: int = 1024
    module_init: ModuleInit = "torch"
    form: Form = "auto"
    stages: Literal["all", "engine"] = "all"
    generator: GeneratorKind = "attention"
    generator_words: int = 300
    generator_hidden: int = 256
    longest_program: int = 30
    baseline_decay: float = 0.9

    least: ClassVar = {**MapsConfig.least, "longest_program": 2}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.baseline_decay < 1.0:
            raise ConfigError(f"baseline_decay is {self.baseline_decay}; expected 0 or more, below 1")


_BATCH = 64

GENERATOR = Stage(
    name="generator",
    updates=200_000,
    batch_size=_BATCH,
    loss="generator_loss",
    trains=("generator",),
    optimiser=Optimiser(rate=7e-4),
)

ENGINE = Stage(
    name="engine",
    updates=500_000,
    batch_size=_BATCH,
    loss="engine_loss",
    trains=("engine",),
    optimiser=Optimiser(rate=1e-4),
    # No paper states the learning rate of the next stage, so the weights before it are evaluated as well.
    evaluated=True,
)

REINFORCE = Stage(
    name="reinforce",
    updates=100_000,
    batch_size=_BATCH,
    loss="reinforce_loss",
    trains=("generator", "engine"),
    optimiser=Optimiser(rate=5e-4),
    evaluated=True,
    # The learning rate is the public trainer's default, five times that of the engine's own stage.
)

THREE_STAGES = Recipe(stages=(GENERATOR, ENGINE, REINFORCE))
ENGINE_ALONE = Recipe(stages=(ENGINE,))
