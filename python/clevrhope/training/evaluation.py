"""Evaluates trained runs: answers the test sets and writes the files that `clevrhope score` reads."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from clevrhope.dataset.oracle import execute_programs
from clevrhope.dataset.suite_questions import suite_columns
from clevrhope.dataset.vocab import Vocab
from clevrhope.features.device import chosen_device
from clevrhope.models.names import build_model
from clevrhope.models.protocol import answer_methods
from clevrhope.models.recipe import Precision
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.splits.covr.kinds import COVR_COLUMNS
from clevrhope.splits.kinds import SPLITS
from clevrhope.splits.minimal_groups import groups_of
from clevrhope.training.answers import BATCH, NO_ANSWER, accuracy, predict_answers, predict_programs
from clevrhope.training.checkpoints import load_weights
from clevrhope.training.data import Questions
from clevrhope.training.device import computing
from clevrhope.training.evaluated_run import EvaluatedRun
from clevrhope.training.predictions import Part, answer_lines, kept_lines, made_by_digests, write_lines
from clevrhope.training.recipe_settings import split_settings
from clevrhope.training.run_folder import RunFolder
from clevrhope.training.test_sets import PartQuestions, note_column, open_part, unknown_words

PRECISION: Precision = "float32"
"""The precision on every device, whatever was trained in: as in the original experiments."""


class PredictionFile:
    """A file of predictions."""

    def __init__(
        self,
        path: Path,
        checkpoint: str,
        way: str,
        answers: Mapping[Part, npt.NDArray[np.int64]],
        sets: Mapping[Part, Questions],
        asked: Mapping[Part, PartQuestions],
        vocab: Vocab,
    ) -> None:
        """Compares the answers that were written into it with the right ones."""
        minimal = [
            part
            for part in answers
            if not part.suite and part.split in SPLITS and SPLITS[part.split].drawn == "places"
        ]
        self.path = path
        self.checkpoint = checkpoint
        """"last", "best", the name of a stage, or that of a late checkpoint."""
        self.way = way
        """The model's way of answering; "predict" for a model with a single one."""
        self.percent = {str(part): accuracy(given, sets[part]) for part, given in answers.items()}
        """Split -> accuracy in per cent over all of its questions; the key carets/SPLIT stands for the
        questions that the suite carets made on it."""
        self.unanswered = {str(part): int((given == NO_ANSWER).sum()) for part, given in answers.items()}
        """Split -> number of questions without an answer."""
        self.constants = {part.split: _constant(sets[part], vocab) for part in minimal}
        """Split -> its most frequent right answer, and the accuracy in per cent of always giving it; only for
        splits whose images come in groups, as their answers are not balanced."""
        self.groups = {part.split: _right_groups(answers[part], sets[part], vocab) for part in minimal}
        """Likewise split -> percentage of its groups of which all answers are right."""
        self.unknown_words = unknown_words(asked[part] for part in answers)
        """Words of the questions that were read as <UNK>."""
        self.n_skipped = sum(each.n_skipped for each in asked.values())
        """Number of a suite's questions that were left out, as their images were edited pixel by pixel and
        the features are made from scenes."""


def evaluate(
    run: Path | str,
    *,
    model: str | None = None,
    dataset: Path | None = None,
    features: str | None = None,
    checkpoints: Sequence[str] | None = None,
    reaching: float | None = None,
    hop: str | None = None,
    splits: Sequence[str] | None = None,
    suite: str | None = None,
    out: Path | None = None,
    device: str = "auto",
    batch_size: int = BATCH,
    progress: Progress | None = None,
) -> tuple[PredictionFile, ...]:
    """Answers the test sets with each checkpoint of a run, in each of its model's ways.

    Args:
        run: a folder that `train` wrote.
        model: the run's class, package.module:Class, if it is one of your own: it is imported only if it is
            named here, or was imported before.
        dataset: another dataset of the same world to evaluate on, which requires `out`; or the run's own, if
            it was moved. Its templates may be others, such as CLOSURE's; words that the model does not know
            become <UNK>.
        features: a feature store, as in `TrainRequest`.
        checkpoints: names of checkpoints; None for all.
        reaching: an accuracy in per cent on the tune set, in place of `checkpoints`: chooses the last
            weights and the first two kept checkpoints in a row that reach it.
        hop: another sub-dataset of the same pair whose test sets are answered, for instance one with fewer
            combinations; None for the run's own. Predictions go to `other_hops/HOP` in the run's folder.
        splits: splits of the HOP; None for all but those trained or tuned on. Existing predictions for other
            splits are kept.
        suite: a suite of paired tests whose questions are answered. The questions of the splits themselves
            are answered only where the file of predictions lacks them; everything else in it is kept. Words,
            answers and functions that the model lacks are no error: see `map_vocab`.
        out: the folder for the files; None for the run's own.
        device: as in `TrainRequest`.
        batch_size: questions per batch.
        progress: displays progress.

    Raises:
        ConfigError: the run's class is not one of clevrhope's, and `model` is not its name; no such
            checkpoint, HOP, split, suite or device; both `checkpoints` and `reaching`, or an impossible
            accuracy; a HOP with another pair; another dataset without an `out` of its own; or chosen splits,
            while the existing file has other splits' predictions by other weights; or the run is
            deterministic, and torch has no deterministic version of an operation on this device.
        DatasetError: no such run, or a dataset, features or vocabulary that it was not trained with.
    """
    opened = EvaluatedRun(
        RunFolder(Path(run)),
        model=model,
        dataset=dataset,
        features=features,
        checkpoints=checkpoints,
        reaching=reaching,
        hop=hop,
        splits=splits,
        suite=suite,
        out=out,
    )
    layout, info, vocab = opened.layout, opened.info, opened.vocab
    where = chosen_device(device)
    config, _ = split_settings(info["settings"])
    with torch.random.fork_rng(devices=[]):  # torch's own generator stays as it is
        network = build_model(info["model"], config, vocab, sets=opened.is_of_sets).to(where)
    ways, program_ways = answer_methods(network)
    methods = {**ways, **program_ways}
    of_scenes = opened.store.info.of_scenes
    every = {
        part: open_part(layout, opened.hop, part, here=vocab, of_scenes=of_scenes) for part in opened.parts
    }
    # A suite may have no pairs on a split.
    asked = {part: each for part, each in every.items() if each.rows or not part.suite}
    made_by = {
        name: made_by_digests(
            opened.folder.checkpoint(name), opened.dataset, layout, opened.hop, opened.splits
        )
        for name in opened.checkpoints
    }
    # These are read before the first answer, so that an error does not come after hours of answering.
    of_suites = {
        part: suite_columns(part.suite, layout.suite_h5(opened.hop, *part))
        for part in (*made_by[opened.checkpoints[0]], *asked)
        if part.suite
    }
    counts = {part: len(each.rows) for part, each in asked.items()}
    kept = {
        (name, way): kept_lines(
            opened.into.prediction(name, way),
            made_by[name],
            of_suites,
            counts,
            splits=opened.splits,
            suite=suite,
        )
        for name in opened.checkpoints
        for way in methods
    }
    todo = {each: [part for part in asked if part not in lines] for each, lines in kept.items()}
    sets = {
        part: Questions(each.reader, opened.store.pool(each.reader.pool), where)
        for part, each in asked.items()
        if any(part in parts for parts in todo.values())
    }
    columns = {part: {**of_suites.get(part, {}), **_columns(info, part, asked, sets)} for part in sets}
    files = []
    total = sum(len(sets[part]) for parts in todo.values() for part in parts)
    with (
        (progress or Silent()).stage("Predicting", total=total, unit="questions") as advance,
        computing(where, precision=PRECISION, deterministic=info["deterministic"]),
    ):
        answer = partial(_answers, opened, network, batch_size=batch_size, advance=advance)
        for name in opened.checkpoints:
            load_weights(opened.folder.checkpoint(name), network)
            for way, method in methods.items():
                executes = way in program_ways
                answers = {part: answer(method, sets[part], executes=executes) for part in todo[name, way]}
                lines: dict[Part, Iterable[str]] = {**kept[name, way]}
                for part, given in answers.items():
                    row = {**columns[part], "checkpoint": name, "way": way, "made_by": made_by[name][part]}
                    lines[part] = answer_lines(opened.hop, part, asked[part].rows, given, vocab, row)
                path = opened.into.prediction(name, way)
                write_lines(path, lines)
                files.append(PredictionFile(path, name, way, answers, sets, asked, vocab))
    return tuple(files)


def _columns(
    info: Mapping[str, Any], part: Part, asked: Mapping[Part, PartQuestions], answered: Collection[Part]
) -> dict[str, Any]:
    """The columns of a part's rows that say which run they are of, and what has to be noted."""
    alike = [asked[other] for other in answered if other.suite == part.suite]
    return {
        "run": info["seed"],
        "train_size": info["size"],
        "model": info["model"],
        "seed": info["seed"],
        "features": info["features"]["kind"],
        **({name: info["covr"][each] for name, each in COVR_COLUMNS.items()} if "covr" in info else {}),
        **note_column(info["features"]["note"], alike),
    }


def _constant(questions: Questions, vocab: Vocab) -> tuple[str, float]:
    """The most frequent right answer, and the percentage of the questions that have it."""
    numbers, counts = np.unique(questions.answers, return_counts=True)
    return vocab.answers()[int(numbers[counts.argmax()])], 100 * float(counts.max()) / len(questions)


def _right_groups(given: npt.NDArray[np.int64], questions: Questions, vocab: Vocab) -> float:
    """The percentage of a minimal set's groups, of whatever size, of which all answers are right."""
    groups = groups_of(questions.answers == vocab.answer_token_to_idx.get("yes", -1))
    return 100 * float(groups.all_of(given == questions.answers).mean())


def _answers(
    run: EvaluatedRun, model: nn.Module, method: str, questions: Questions, *, executes: bool, **options: Any
) -> npt.NDArray[np.int64]:
    """(N,) answers of a model, from its scores or by executing the programs that it writes."""
    vocab = run.vocab
    if not executes:
        n_answers = len(vocab.answers())
        return predict_answers(model, method, questions, n_answers=n_answers, precision=PRECISION, **options)
    programs = predict_programs(model, method, questions, precision=PRECISION, **options).astype(np.int32)
    answers = execute_programs(
        programs, questions.image_idxs, layout=run.layout, pool=questions.pool, vocab=vocab
    )
    # The executor distinguishes programs without an answer from ill-formed ones; predictions do not.
    return np.where(answers < 0, NO_ANSWER, answers).astype(np.int64)
