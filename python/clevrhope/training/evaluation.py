"""Evaluates trained runs: answers the test sets and writes the files that `clevrhope score` reads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from clevrhope.dataset.contents import (
    find_hop,
    splits_in,
    suite_splits,
    suite_splits_in,
    suites_in,
)
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.identity import identity
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.oracle import execute_programs
from clevrhope.dataset.question_kinds import SETS, SINGLE
from clevrhope.dataset.question_table import QuestionTable, open_split
from clevrhope.dataset.suite_questions import open_suite, suite_columns
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.features.device import chosen_device
from clevrhope.models.names import build_model
from clevrhope.models.protocol import answer_methods
from clevrhope.models.recipe import Precision
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.splits.covr.kinds import COVR_COLUMNS, is_covr
from clevrhope.splits.kinds import SPLITS, TRAIN
from clevrhope.training.checkpoints import load_weights
from clevrhope.training.data import Questions
from clevrhope.training.device import computing
from clevrhope.training.evaluated_run import (
    check_own_checkpoint,
    checkpoints_reaching,
    chosen_checkpoints,
    dataset_difference,
    open_own_store,
    other_sub_dataset,
)
from clevrhope.training.predictions import (
    BATCH,
    NO_ANSWER,
    Part,
    accuracy,
    answer_lines,
    file_digest,
    kept_lines,
    made_by_digest,
    predict_answers,
    predict_programs,
    write_lines,
)
from clevrhope.training.recipe_settings import split_settings
from clevrhope.training.request import check_reaching, chosen_splits
from clevrhope.training.run_folder import RunFolder
from clevrhope.training.vocab_mapping import map_vocab

SKIPPED = "blur, fill and crop were left out, since features of scenes do not depend on pixels"
"""The note about visual tests that a model with features of scenes cannot answer."""


@dataclass(frozen=True)
class PredictionFile:
    """A file of predictions.

    Attributes:
        path: the file.
        checkpoint: "last", "best", the name of a stage, or that of a late checkpoint.
        way: the model's way of answering; "predict" for a model with a single one.
        percent: split -> accuracy in per cent over all of its questions; the key carets/SPLIT stands for the
            questions that the suite carets made on it.
        unanswered: split -> number of questions without an answer.
        constants: split -> its most frequent right answer, and the accuracy in per cent of always giving it;
            only for splits whose images come in groups, as their answers are not balanced.
        unknown_words: words of the questions that were read as <UNK>.
        n_skipped: number of a suite's questions that were left out, as their images were edited pixel by
            pixel and the features are made from scenes.
    """

    path: Path
    checkpoint: str
    way: str
    percent: Mapping[str, float]
    unanswered: Mapping[str, int]
    constants: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    unknown_words: tuple[str, ...] = ()
    n_skipped: int = 0


def evaluate(
    run: Path | str,
    *,
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
        ConfigError: no such checkpoint, HOP, split, suite or device; both `checkpoints` and `reaching`, or an
            impossible accuracy; a HOP with another pair; another dataset without an `out` of its own; or
            chosen splits, while the existing file has other splits' predictions by other weights; or the run
            is deterministic, and torch has no deterministic version of an operation on this device.
        DatasetError: no such run, or a dataset, features or vocabulary that it was not trained with.
    """
    folder = RunFolder(Path(run))
    info = folder.read()
    check_reaching(reaching, checkpoints)
    if reaching is None:
        names = chosen_checkpoints(folder, checkpoints)
    else:
        names = checkpoints_reaching(folder, reaching)
    root = dataset or Path(info["places"]["dataset"])
    layout = Layout(root)
    store = open_own_store(root, info, features)
    vocab = read_vocab(folder.vocab)
    for name in names:
        check_own_checkpoint(folder.checkpoint(name), info, vocab)
    trained_hop = find_hop(layout, info["hop"])
    hop = trained_hop if hop is None else other_sub_dataset(layout, hop, trained_hop)
    of_sets = is_covr(info.get("split", TRAIN.name))
    if of_sets and suite is not None:
        raise ConfigError(
            f"{folder.root}: the run is about sets of images, and the questions of the suite {suite} are "
            "about one image; choose a run on train"
        )
    built = splits_in(layout, hop, SETS if of_sets else SINGLE)
    every = chosen_splits(built, hop, None)
    tested = built if suite is None else suite_splits(layout, hop, suite)
    chosen = chosen_splits(tested, hop, splits, place=f"{root}: ")
    images = store.info.of_images
    there = read_vocab(layout.vocab)
    about = identity(Folder.open(layout.root).manifest, there, hop=trained_hop, images=images)
    differs = dataset_difference(info, layout, trained_hop, hop, every, about, images=images)
    # Reports take the predictions in a folder with a run.json for those of that run.
    if differs and (out is None or RunFolder(out).run.exists()):
        raise ConfigError(
            f"{root}: another dataset than {folder.root} was trained on ({differs}), so its predictions do "
            f"not belong in {out or folder.root}; choose a separate folder with --out"
        )
    where = chosen_device(device)
    config, _ = split_settings(info["settings"])
    with torch.random.fork_rng(devices=[]):
        model = build_model(info["model"], config, vocab, sets=of_sets)
    model.to(where)
    ways, program_ways = answer_methods(model)
    methods = {**ways, **program_ways}
    parts = [Part("", split) for split in chosen]
    parts += [Part(suite, split) for split in chosen if suite is not None]
    read = {part: _asked(layout, hop, part, here=vocab, of_scenes=store.info.of_scenes) for part in parts}
    # A suite may have no pairs on a split.
    asked = {part: each for part, each in read.items() if each.rows or not part.suite}
    into = RunFolder(out or (folder.root if hop == trained_hop else folder.other_hop(hop)))
    made_by = {name: _digests(folder.checkpoint(name), about, layout, hop, every) for name in names}
    # These are read before the first answer, so that an error does not come after hours of answering.
    of_suites = {
        part: suite_columns(part.suite, layout.suite_h5(hop, *part))
        for part in (*made_by[names[0]], *asked)
        if part.suite
    }
    kept = {
        (name, way): _kept(into.prediction(name, way), made_by[name], asked, of_suites, every, suite)
        for name in names
        for way in methods
    }
    todo = {each: [part for part in asked if part not in lines] for each, lines in kept.items()}
    sets = {
        part: Questions(each.reader, store.pool(each.reader.pool), where)
        for part, each in asked.items()
        if any(part in each for each in todo.values())
    }
    shared = {
        "run": info["seed"],
        "train_size": info["size"],
        "model": info["model"],
        "seed": info["seed"],
        "features": info["features"]["kind"],
        **({name: info["covr"][each] for name, each in COVR_COLUMNS.items()} if "covr" in info else {}),
    }
    notes = {
        of: _notes(info["features"]["note"], [asked[part] for part in sets if part.suite == of])
        for of in ("", suite or "")
    }
    precision: Precision = (
        "float32"  # on every device, whatever was trained in: as in the original experiments
    )
    files = []
    total = sum(len(sets[part]) for each in todo.values() for part in each)
    with (
        (progress or Silent()).stage("Predicting", total=total, unit="questions") as advance,
        computing(where, precision=precision, deterministic=info["deterministic"]),
    ):
        answer = partial(
            _answers, layout, vocab, model, precision=precision, batch_size=batch_size, advance=advance
        )
        for name in names:
            load_weights(folder.checkpoint(name), model)
            for way, method in methods.items():
                executes = way in program_ways
                answers = {part: answer(method, sets[part], executes=executes) for part in todo[name, way]}
                lines: dict[Part, Iterable[str]] = {**kept[name, way]}
                for part, found in answers.items():
                    columns = {
                        **of_suites.get(part, {}),
                        **shared,
                        **notes[part.suite],
                        "checkpoint": name,
                        "way": way,
                        "made_by": made_by[name][part],
                    }
                    lines[part] = answer_lines(hop, part, asked[part].rows, found, vocab, columns)
                path = into.prediction(name, way)
                write_lines(path, lines)
                file = PredictionFile(
                    path=path,
                    checkpoint=name,
                    way=way,
                    percent={str(part): accuracy(found, sets[part]) for part, found in answers.items()},
                    unanswered={
                        str(part): int((found == NO_ANSWER).sum()) for part, found in answers.items()
                    },
                    constants={
                        part.split: _constant(sets[part], vocab)
                        for part in answers
                        if not part.suite and part.split in SPLITS and SPLITS[part.split].drawn == "places"
                    },
                    unknown_words=_unknown_words([asked[part] for part in answers]),
                    n_skipped=sum(each.n_skipped for each in asked.values()),
                )
                files.append(file)
    return tuple(files)


def _constant(questions: Questions, vocab: Vocab) -> tuple[str, float]:
    """The most frequent right answer, and the percentage of the questions that have it."""
    numbers, counts = np.unique(questions.answers, return_counts=True)
    return vocab.answers()[int(numbers[counts.argmax()])], 100 * float(counts.max()) / len(questions)


@dataclass(frozen=True)
class _Asked:
    """The questions of a part, in the indices of the model's vocabulary.

    Attributes:
        reader: the questions.
        rows: their rows in the file of the split or suite.
        unknown_words: words that the model reads as <UNK>.
        n_skipped: number of questions that are left out, as the model's features are of scenes.
    """

    reader: QuestionTable
    rows: Sequence[int]
    unknown_words: tuple[str, ...]
    n_skipped: int


def _asked(layout: Layout, hop: str, part: Part, *, here: Vocab, of_scenes: bool) -> _Asked:
    """Opens the questions of a part for a model with the vocabulary `here`, and features of scenes or not."""
    n_skipped = 0
    if part.suite:
        there = read_vocab(layout.suite_vocab(hop, part.suite))
        reader, of_file, n_skipped = open_suite(
            layout, hop, part.suite, part.split, vocab=there, without_pixel_edits=of_scenes
        )
        rows: Sequence[int] = of_file.tolist()
        place = layout.suite_h5(hop, part.suite, part.split)
    else:
        there = read_vocab(layout.vocab_of(part.split))
        reader = open_split(layout, hop, part.split, vocab=there)
        rows = range(len(reader))
        place = layout.questions_h5(hop, part.split)
    if there == here:
        return _Asked(reader, rows, (), n_skipped)
    mapped, unknown = map_vocab(reader, there=there, here=here, place=str(place), may_lack=bool(part.suite))
    return _Asked(mapped, rows, unknown, n_skipped)


def _unknown_words(asked: Sequence[_Asked]) -> tuple[str, ...]:
    return tuple(sorted({word for each in asked for word in each.unknown_words}))


def _notes(of_features: str, asked: Sequence[_Asked]) -> dict[str, str]:
    """The column `note` of rows about these questions; no column if there is nothing to note."""
    words = _unknown_words(asked)
    unknown = f"{len(words)} words of the questions were read as <UNK>: {', '.join(words)}" if words else ""
    skipped = SKIPPED if any(each.n_skipped for each in asked) else ""
    note = "; ".join(filter(None, (of_features, unknown, skipped)))
    return {"note": note} if note else {}


def _digests(
    checkpoint: Path, about: Mapping[str, Any], layout: Layout, hop: str, splits: Sequence[str]
) -> dict[Part, str]:
    """The column `made_by` of a checkpoint's predictions, for every split and suite."""
    made_by = made_by_digest(checkpoint, about)
    found = {
        Part("", split): file_digest(made_by, layout.questions_h5(hop, split)) if is_covr(split) else made_by
        for split in splits
    }
    for suite in suites_in(layout, hop):
        for split in suite_splits_in(layout, hop, suite):
            found[Part(suite, split)] = file_digest(made_by, layout.suite_h5(hop, suite, split))
    return found


def _kept(
    path: Path,
    made_by: Mapping[Part, str],
    asked: Mapping[Part, _Asked],
    of_suites: Mapping[Part, Mapping[str, str]],
    every: Sequence[str],
    suite: str | None,
) -> dict[Part, list[str]]:
    """The lines of an existing file that stay when splits, or a suite's questions, are answered.

    Raises:
        ConfigError: other lines would have to stay, but are not of the same weights and dataset.
    """
    replaced = [part for part in asked if part.suite or suite is None]
    # If all splits are answered, no other line has to stay, not even those about suites.
    strict = suite is not None or not {part.split for part in asked} >= set(every)
    try:
        kept = kept_lines(path, made_by, of_suites, replaced=replaced, strict=strict)
    except DatasetError:
        if strict:
            raise
        return {}
    # Where a suite is answered, the lines about a split stay if they are there for all of its questions.
    n_wanted = {part: len(each.rows) for part, each in asked.items()}
    return {part: lines for part, lines in kept.items() if len(lines) == n_wanted.get(part, len(lines))}


def _answers(
    layout: Layout,
    vocab: Vocab,
    model: nn.Module,
    method: str,
    questions: Questions,
    *,
    executes: bool,
    **options: Any,
) -> npt.NDArray[np.int64]:
    """(N,) answers of a model, from its scores or by executing the programs that it writes."""
    if not executes:
        return predict_answers(model, method, questions, n_answers=len(vocab.answers()), **options)
    programs = predict_programs(model, method, questions, **options).astype(np.int32)
    answers = execute_programs(
        programs, questions.image_idxs, layout=layout, pool=questions.pool, vocab=vocab
    )
    # The executor distinguishes programs without an answer from ill-formed ones; predictions do not.
    return np.where(answers < 0, NO_ANSWER, answers).astype(np.int64)
