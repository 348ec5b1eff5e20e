"""The request for a training run and its summary, as data. No torch."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from clevrhope.dataset.suite_questions import augmented_split, suite_of_split
from clevrhope.errors import ConfigError, shown
from clevrhope.runtime.paths import is_name
from clevrhope.runtime.settings import check_at_least, suggestion
from clevrhope.splits.covr.kinds import COVR_DEV, COVR_TRAIN, is_covr
from clevrhope.splits.hops import NONE
from clevrhope.splits.kinds import SPLITS, TRAIN, splits_of_dataset
from clevrhope.splits.palettes import MARK

Precision = Literal["float32", "tf32", "bf16"]
"""tf32: float32 weights and activations, with 19-bit matrix products on GPUs that support them."""

SIDE_BY_SIDE = "CLEVRHOPE_RUNS_SIDE_BY_SIDE"
"""Environment variable: the number of an experiment's runs that hold features on the same device."""

TEST_SETS = tuple(row.name for row in SPLITS.values() if row.role == "test" and "value" not in row.of)
"""The splits that results are reported on; no weights may be chosen by them."""

(TUNE_SET,) = (row.name for row in SPLITS.values() if row.role == "tune" and "plain" in row.of)
"""Stands for the tune set of a run's own HOP; it is also the name of the tune set of `none`."""

TUNE_SET_OF_NONE = f"{NONE}:{TUNE_SET}"
"""The tune set of `none`, for a run on a held-out pair; it shows the pair."""

COLLAPSED = 95.0
"""A model that gives this percentage of the tune set's questions the same answer, or more, has collapsed."""

_SIZE = re.compile(r"([1-9]\d{0,14})(k?)", re.ASCII)


@dataclass(frozen=True)
class TrainRequest:
    """A request to train a model on a dataset into a folder.

    Attributes:
        model: a name in `clevrhope.models.names.MODELS`, or "package.module:Class".
        dataset: a folder that `build` wrote.
        hop: the held-out pair whose train set is used, such as "rubber_cylinder".
        size: number of questions, the first ones of the train set; those that a suite added to them are not
            counted.
        seed: decides the initial weights and the order of questions.
        out: the run's folder; a run that it holds is resumed if it has the same request.
        updates: updates in all stages together; None for the recipe's. Stages keep their shares.
        settings: settings by name, as for `--set`: those of the model, and those of its recipe such as
            "recipe.batch_size" or "recipe.<stage>.rate".
        features: a feature store's folder, or its name in the dataset's folder; None for the only store of
            the kind that the model reads.
        device: "auto" for a GPU if there is one, or a device as torch spells it.
        deterministic: whether a GPU may only use operations that give the same bits each time.
        precision: None for the recipe's.
        threads: number of CPU threads of training; another number may give other last bits.
        tune_on: the tune set; the best weights on it are kept besides the last ones. "val" is the HOP's own
            split for tuning: val_iid, which holds the pair out, or val of `none`. "none:val" is that of
            `none`, which shows the pair. A run on covr_train can only use "covr_dev", its own HOP's.
        tune_every: updates of the last stage between two evaluations on the tune set; None for twenty
            evaluations.
        keep_last: number of checkpoints of the last stage to keep and evaluate, its end included.
        keep_every: updates between them.
        save_every: updates between two states to resume from; None for one every `SAVE_SECONDS`.
        drop_types: type of questions, such as "color" or "count" -> the share of them that is left out of the
            `size` questions, see `clevrhope.training.train_sets`.
        split: "train"; a train set with questions of a suite, such as "train_carets", whose vocabulary the
            model then has; or "covr_train", whose questions are about sets of images.
        covr_split: the property held out of covr_train, such as `compscope & has-quant-all`; None for none.
        shots: number of questions with this property that are trained on nevertheless; None for 0.
        iid_size_of: in place of `covr_split`: trains on as many questions as a run that holds this property
            out, but taken from all questions.
        init_from: the folder of a finished run of the same model whose last weights a new run starts from.
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
    threads: int = 1
    tune_on: str | None = None
    tune_every: int | None = None
    keep_last: int = 1
    keep_every: int | None = None
    save_every: int | None = None
    drop_types: Mapping[str, float] = field(default_factory=dict)
    split: str = TRAIN.name
    covr_split: str | None = None
    shots: int | None = None
    iid_size_of: str | None = None
    init_from: Path | None = None

    def __post_init__(self) -> None:
        counts = ("size", "updates", "tune_every", "keep_last", "keep_every", "save_every", "threads")
        check_at_least(1, **{name: getattr(self, name) for name in counts})
        check_at_least(0, seed=self.seed, shots=self.shots)
        if self.keep_last > 1 and self.keep_every is None:
            raise ConfigError(
                f"--keep-last: {self.keep_last} checkpoints, but --keep-every does not say how far apart"
            )
        check_train_split(self.split)
        if not self.is_of_sets:
            check_tune_on(self.tune_on)
        elif self.tune_on not in (None, COVR_DEV):
            raise ConfigError(
                f"--tune-on: {shown(self.tune_on)} is not for runs on {COVR_TRAIN}"
                f"{suggestion(self.tune_on, [COVR_DEV])}; their weights can be chosen by {COVR_DEV}"
            )
        self._check_covr_split()
        if self.drop_types and self.is_of_sets:
            raise ConfigError(
                f"--drop-type: it leaves out questions of {TRAIN.name}, but the split is {COVR_TRAIN}; use "
                "--covr-split to hold out questions of that one"
            )

    def _check_covr_split(self) -> None:
        """Checks that the options about covr_train fit together."""
        given = {"--covr-split": self.covr_split, "--iid-size-of": self.iid_size_of}
        options = [name for name, text in given.items() if text is not None]
        if len(options) > 1:
            raise ConfigError("--covr-split and --iid-size-of: a run cannot have both; give one of the two")
        if options and not self.is_of_sets:
            raise ConfigError(
                f"{options[0]}: it is about questions of {COVR_TRAIN}, but the split is {shown(self.split)}; "
                f"add --split {COVR_TRAIN}"
            )
        if self.shots is not None and not options:
            raise ConfigError(
                "--shots: it is the number of held-out questions to train on nevertheless, but nothing is "
                "held out; add --covr-split or --iid-size-of"
            )

    @property
    def is_of_sets(self) -> bool:
        """Whether the questions are about sets of images."""
        return is_covr(self.split)


@dataclass(frozen=True)
class TrainSummary:
    """The result of a call of `train`.

    Attributes:
        folder: the run's folder.
        updates: updates in all stages.
        resumed_at: updates that had been made before this call; 0 for a new run.
        seconds: duration of this call.
        updates_a_second: speed of this call's updates, without tuning and saving.
        checkpoints: names of all checkpoints, including "last".
        loss: mean loss of the last logged updates; None if this call made none.
        most_frequent: percentage of questions of the tune set that get one answer from the last weights, the
            most frequent one; None without a tune set.
    """

    folder: Path
    updates: int
    resumed_at: int
    seconds: float
    updates_a_second: float
    checkpoints: tuple[str, ...]
    loss: float | None
    most_frequent: float | None = None

    @property
    def has_collapsed(self) -> bool:
        """Whether the last weights give nearly all questions of the tune set the same answer."""
        return self.most_frequent is not None and self.most_frequent >= COLLAPSED


def check_train_split(name: str) -> None:
    """Checks that a name is that of a train set: train, one with questions of a suite, or covr_train.

    Raises:
        ConfigError: it is not.
    """
    if name in (TRAIN.name, COVR_TRAIN) or is_name(suite_of_split(name) or ""):
        return
    example = augmented_split("carets")
    raise ConfigError(
        f"--split: {shown(name)} is not a train set{suggestion(name, [TRAIN.name, example, COVR_TRAIN])}; "
        f"there is {TRAIN.name}, and with questions of a suite {example}, for one, and {COVR_TRAIN}, whose "
        "questions are about sets of images"
    )


def check_tune_on(name: str | None) -> None:
    """Checks that weights may be chosen by a set; None for no choice.

    Raises:
        ConfigError: it is a test set, or there is no such set.
    """
    if name in (None, TUNE_SET, TUNE_SET_OF_NONE):
        return
    if name in TEST_SETS:
        raise ConfigError(
            f'--tune-on: "{name}" is a test set, and weights that are chosen by it cannot be tested on it; '
            f'use "{TUNE_SET}", the HOP\'s own split for tuning'
        )
    known = [TUNE_SET, TUNE_SET_OF_NONE]
    raise ConfigError(
        f'--tune-on: no set "{name}"{suggestion(name, known)}; there are "{TUNE_SET}", the HOP\'s own split '
        f'for tuning, and "{TUNE_SET_OF_NONE}"'
    )


def check_reaching(reaching: float | None, checkpoints: Sequence[str] | None) -> None:
    """Checks an accuracy by which checkpoints are chosen; None for no such choice.

    Raises:
        ConfigError: it is not a percentage, or checkpoints are named as well.
    """
    if reaching is None:
        return
    if not 0 <= reaching <= 100:
        raise ConfigError(f"--reaching is {reaching:g}; expected an accuracy from 0 to 100 per cent")
    if checkpoints:
        raise ConfigError("--checkpoint and --reaching: both choose checkpoints; give one of the two")


def chosen_splits(
    there: Sequence[str], hop: str, wanted: Sequence[str] | None, *, place: str = ""
) -> tuple[str, ...]:
    """The wanted splits of a pair, by default its test sets and covr_dev; messages begin with `place`.

    Raises:
        ConfigError: there is no such split, or it is for training or tuning.
    """
    known = tuple(
        name for name in there if (name != COVR_TRAIN if is_covr(name) else SPLITS[name].is_test_set)
    )
    for name in wanted or ():
        if name not in known:
            raise ConfigError(
                f"{place}no test set {shown(name)} of {hop}{suggestion(name, known)}; "
                f"there: {', '.join(known)}"
            )
    return tuple(wanted or known)


def tune_split(hop: str) -> str:
    """The tune set of a HOP: val_iid of a pair, val of `none`."""
    own = splits_of_dataset("plain" if hop.partition(MARK)[0] == NONE else "pair")
    (name,) = (split for split in own if SPLITS[split].role == "tune")
    return name


def tune_set_name(request: TrainRequest) -> str | None:
    """The name of a run's tune set in its files."""
    return tune_split(request.hop) if request.tune_on == TUNE_SET else request.tune_on


def parse_size(text: str, *, option: str = "--size") -> int:
    """Parses a number of questions such as 25k or 25000; raises ConfigError for another form."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ConfigError(f"{option}: {shown(text)} should be a number of questions, such as 25k or 25000")
    return int(match[1]) * (1000 if match[2] else 1)


def default_out(
    model: str, hop: str, size: int, seed: int, split: str = TRAIN.name, covr_part: str = ""
) -> Path:
    """The default folder of a run; `covr_part` is what `covr_part_name` gives."""
    of = "-".join(filter(None, (hop, "" if split == TRAIN.name else split, covr_part)))
    return Path("runs", f"{model.rpartition(':')[2]}-{of}-{size}-{seed}")


def covr_part_name(covr_split: str | None, iid_size_of: str | None, shots: int | None) -> str:
    """The part of a folder's name that says what is held out of covr_train; "" for nothing."""
    text = covr_split or iid_size_of
    if not text:
        return ""
    name = re.sub(r"[^\w-]+", "-", text, flags=re.ASCII).strip("-")
    if re.search(r"[^\w:+-]", text, re.ASCII):  # the name would not tell !a from a, or a & b from a | b
        digest = sha256("".join(text.split()).encode()).hexdigest()
        name = f"{name[:80]}-{digest[:6]}"
    return f"{'size-of' if iid_size_of else 'without'}-{name}{f'-{shots}' if shots else ''}"


def parse_drops(texts: Sequence[str]) -> dict[str, float]:
    """The share to drop of each type, from texts such as "color=0.9".

    Raises:
        ConfigError: a text has another form, a share is not above 0 and at most 1, or a type occurs twice.
    """
    drops: dict[str, float] = {}
    for text in texts:
        name, equals, number = text.partition("=")
        try:
            share = float(number)
        except ValueError:
            share = math.nan
        if not (name and equals) or not 0 < share <= 1:
            raise ConfigError(
                f"--drop-type: {shown(text)} should be a type of questions and a share above 0 and at most "
                "1, such as color=0.9"
            )
        if name in drops:
            raise ConfigError(f"--drop-type: {shown(name)} is given twice")
        drops[name] = share
    return drops
