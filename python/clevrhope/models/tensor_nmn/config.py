"""What can be set of a Tensor-NMN; the defaults are the paper's model. No torch."""

from dataclasses import dataclass
from typing import Literal

from clevrhope.errors import ConfigError
from clevrhope.models.options import check_at_least

NAME = "tensor_nmn"

Form = Literal["auto", "module", "bucketed", "gathered"]
"""How modules are run; `clevrhope.models.tensor_nmn.forms` says what each does."""

GeneratorKind = Literal["attention", "attention_one_layer", "plain"]

ModuleInit = Literal["torch", "he"]
"""How modules' weights are drawn; `clevrhope.models.tensor_nmn.bank` says what each is."""


@dataclass(frozen=True)
class TensorNmnConfig:
    """A Tensor-NMN.

    Attributes:
        features: "resnet101" maps, or "pixels" for a stem that learns from pictures.
        picture_width: of the pictures, in pixels; for "pixels" alone, as are the next four.
        picture_height: as well.
        halvings: how often the stem halves their sides.
        stem_channels: of the stem's first convolution; each further one has twice as many, up to `channels`,
            which the last one has in any case. 0 for as many as `channels` throughout.
        shift: pixels that pictures are moved by at most, each in its own direction, in training.
        channels: of all maps.
        classifier_channels: of the classifier's maps.
        classifier_hidden: units of its hidden layer.
        module_init: how the modules' first weights are drawn.
        form: how modules are run.
        stages: "all" for the paper's three, or "engine" for an engine on true programs and no generator;
            "short_first" for that on short programs first.
        generator: "attention" with two layers; "attention_one_layer"; or "plain", two layers without it. The
            paper's number of parameters, 42 million, fits the last two, the public trainer the first two.
        generator_words: size of its embeddings.
        generator_hidden: units of its LSTMs, of each direction.
        longest_program: tokens of a program that the generator writes, <START> and <END> included.
        baseline_decay: of the moving average of rewards.
    """

    features: Literal["resnet101", "pixels"] = "resnet101"
    picture_width: int = 224
    picture_height: int = 224
    halvings: int = 4
    stem_channels: int = 0
    shift: int = 0
    channels: int = 128
    classifier_channels: int = 512
    classifier_hidden: int = 1024
    module_init: ModuleInit = "torch"
    form: Form = "auto"
    stages: Literal["all", "engine", "short_first"] = "all"
    generator: GeneratorKind = "attention"
    generator_words: int = 300
    generator_hidden: int = 256
    longest_program: int = 30
    baseline_decay: float = 0.9

    def __post_init__(self) -> None:
        check_at_least(
            NAME,
            1,
            halvings=self.halvings,
            channels=self.channels,
            classifier_channels=self.classifier_channels,
            classifier_hidden=self.classifier_hidden,
            generator_words=self.generator_words,
            generator_hidden=self.generator_hidden,
        )
        check_at_least(NAME, 0, stem_channels=self.stem_channels, shift=self.shift)
        check_at_least(NAME, 3, longest_program=self.longest_program)
        if not 0.0 <= self.baseline_decay < 1.0:
            raise ConfigError(f"{NAME}: baseline_decay is {self.baseline_decay}; expected 0 or more, below 1")
