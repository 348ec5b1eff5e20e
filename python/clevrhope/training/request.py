"""What can be asked of a training run, as data; no torch."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from clevrhope.dataset.clevr_folder import clevr_splits, questions_file, scenes_file
from clevrhope.errors import ConfigError, shown
from clevrhope.runtime.settings import suggestion
from clevrhope.splits.kinds import SPLITS

Precision = Literal["float32", "tf32", "bf16"]
"""tf32: weights and activations of float32, matrix products of 19 bits, on GPUs that have them."""

SIDE_BY_SIDE = "CLEVRHOPE_RUNS_SIDE_BY_SIDE"
"""Environment variable: how many runs an experiment lets share a device, for features that are held on it."""

TEST_SETS = tuple(row.name for row in SPLITS.values() if row.role == "test" and "value" not in row.of)
"""What is reported; nothing may be chosen by any of them."""

(TUNE_SET,) = (row.name for row in SPLITS.values() if row.role == "tune")
"""The split of `none`, or of CLEVR, that weights can be chosen by."""

_SIZE = re.compile(r"([1-9]\d{0,14})(k?)", re.ASCII)


@dataclass(frozen=True)
class TrainRequest:
    """A run: which model on which questions, with what, into which folder.

    Attributes:
        model: a name of `clevrhope.models`, or "package.module:Class".
        dataset: the folder that `build` wrote.
        hop: the held-out pair whose train set it is, such as "rubber_cylinder".
        size: the first so many questions of it.
        seed: decides weights and the order of questions.
        out: the run's folder. One that is there is gone on with, if it is of the same request.
        updates: of all stages together; None for the recipe's. Stages keep their shares.
        settings: by name, what `--set` says: of the model, or "recipe.batch_size", "recipe.<stage>.rate" and
            the like of its recipe.
        features: a feature store's folder, or its name under the dataset's; None for the only one there is
            of the kind that the model reads.
        device: "auto" for a GPU where there is one, else as torch spells it.
        deterministic: whether a GPU is held to ways of computing that give the same bits each time.
        precision: None for the recipe's.
        tune_on: "val" to keep, beside the last weights, those that are best on the val split of `none`; or
            the folder of CLEVR v1.0, with features of the same kind, for CLEVR's val.
        tune_every: updates of the last stage between two looks at it; None for twenty looks.
        keep_last: how many checkpoints of the last stage are kept and evaluated, its end included.
        keep_every: updates between them.
        save_every: updates between two states to resume from; None for one every `SAVE_SECONDS`.
        tensorboard: whether TensorBoard's files are written beside the log.
    """

    model: str
    dataset: Path
    hop: str
    size: int
    seed: int
    out: Path
    updates: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    features: str | None = None
    device: str = "auto"
    deterministic: bool = False
    precision: Precision | None = None
    tune_on: str | None = None
    tune_every: int | None = None
    keep_last: int = 1
    keep_every: int | None = None
    save_every: int | None = None
    tensorboard: bool = False

    def __post_init__(self) -> None:
        for name in ("size", "updates", "tune_every", "keep_last", "keep_every", "save_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}; expected a whole number from 1")
        if self.seed < 0:
            raise ConfigError(f"seed is {self.seed}; expected 0 or more")
        if self.keep_last > 1 and self.keep_every is None:
            raise ConfigError(f"keep_last is {self.keep_last}, but keep_every does not say how far apart")
        check_tune_on(self.tune_on)


@dataclass(frozen=True)
class TrainSummary:
    """What a run came to.

    Attributes:
        folder: the run's.
        updates: of all stages.
        resumed_at: updates that were there when this call began; 0 for a new run.
        seconds: that this call took.
        updates_a_second: of this call's updates, looks at the tune set and saving left out.
        checkpoints: names of the weights that are kept, "last" among them.
        loss: mean of the last logged updates; None where this call made none.
    """

    folder: Path
    updates: int
    resumed_at: int
    seconds: float
    updates_a_second: float
    checkpoints: tuple[str, ...]
    loss: float | None


def check_tune_on(name: str | None) -> None:
    """Passes for None and for what weights may be chosen by.

    Raises:
        ConfigError: it is one of the test sets, or no set that there is.
    """
    if name is None or name == TUNE_SET:
        return
    if name in TEST_SETS:
        raise ConfigError(
            f'tune_on: "{name}" is a test set, and what is chosen by it can no longer be tested on it; '
            f'choose by "{TUNE_SET}", the val split of none, or by CLEVR\'s'
        )
    if not Path(name).is_dir():
        raise ConfigError(
            f'tune_on: no set "{name}"{suggestion(name, [TUNE_SET])}; there is "{TUNE_SET}", and the folder '
            "of CLEVR v1.0 stands for its val"
        )
    if TUNE_SET not in clevr_splits(Path(name)):
        raise ConfigError(
            f"tune_on: {name} is no CLEVR_v1.0 folder: expected {questions_file(Path(), TUNE_SET)} and "
            f"{scenes_file(Path(), TUNE_SET)} in it"
        )


def parse_size(text: str) -> int:
    """A number of questions: 25k, 200k, 560k or 25000.

    Raises:
        ConfigError: none of these.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ConfigError(f"size: {shown(text)} should be a number of questions, such as 25k or 25000")
    return int(match[1]) * (1000 if match[2] else 1)


def default_out(model: str, hop: str, size: int, seed: int) -> Path:
    """Where a run goes that nobody named a folder for."""
    return Path("runs", f"{model.rpartition(':')[2]}-{hop}-{size}-{seed}")
