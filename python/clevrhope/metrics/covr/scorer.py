"""Scores predictions about sets of images: accuracies by model, and the table of splits by predicates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from clevrhope.dataset.covr_h5 import PAIR_PLACES, STRUCTURES
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import DatasetError
from clevrhope.metrics.collector import NOT_GIVEN, AnswerNumbers, Collector
from clevrhope.metrics.covr.key import CovrKey, SetTestSet
from clevrhope.metrics.covr.rates import (
    Flags,
    FrequentAnswers,
    accuracy_by_template,
    covr_accuracy,
    generalisation,
)
from clevrhope.metrics.covr.results import CovrCondition, CovrScores, SplitRow, SplitScores
from clevrhope.metrics.covr.runs import Training, read_training
from clevrhope.metrics.predictions import read_origin
from clevrhope.metrics.results import Accuracy
from clevrhope.metrics.scorer import (
    DEFAULT_BOOTSTRAP,
    check_draws,
    checked_names,
    collect,
    notes_of,
    runs_in_order,
)
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.splits.covr.kinds import COVR_KINDS
from clevrhope.splits.covr.selection import Predicate

TEXT_MODEL = "question_only"
"""The text-only model that the generalisation score needs."""


@dataclass(frozen=True)
class _Trained:
    """The fields that distinguish the models in files."""

    hop: str
    model: str
    train_size: int | None
    training: Training


@dataclass
class _Answers:
    """The answers of a model's runs: run -> split -> answers."""

    of_runs: dict[str | None, dict[str, AnswerNumbers]] = field(default_factory=dict)

    def right(self, questions: SetTestSet) -> tuple[Flags, Flags]:
        """(R, M) whether runs are right about the M questions that all answered; (N,) which these are."""
        there = [each[questions.split] for each in self.of_runs.values() if questions.split in each]
        given = np.stack(there) if there else np.full((1, len(questions)), NOT_GIVEN, dtype=np.int16)
        answered: Flags = (given != NOT_GIVEN).all(axis=0)
        return (given == questions.answers)[:, answered], answered


def score_covr(
    folder: Path | str,
    predictions: Sequence[Path],
    *,
    seed: int,
    bootstrap: int = DEFAULT_BOOTSTRAP,
    hops: Iterable[str] | None = None,
    predicates: Sequence[str] = (),
    names: Sequence[str] | None = None,
    partial: bool = False,
    progress: Progress | None = None,
) -> CovrScores:
    """Compares predictions about sets of images with the right answers.

    Args:
        folder: a dataset that `build --covr` wrote.
        predictions: files, each of one model; the first row of a file says what its run held out.
        seed: seed of the bootstrap.
        bootstrap: number of bootstrap samples of the source images; 0 for no intervals.
        hops: sub-datasets to score, by default all that the files are about.
        predicates: properties to score by, in addition to those that runs held out.
        names: the models' names, one for each file; by default those in the files, or the files' names.
        partial: whether to score incomplete predictions and count the missing ones.
        progress: shows the progress of the scoring.

    Raises:
        PredictionsError: predictions cannot be read, are missing or repeated, or are about unknown questions.
        ConfigError: a predicate is invalid.
        DatasetError: the folder is not a dataset with questions about sets, or a file in it is incomplete.
    """
    check_draws(bootstrap, seed)
    key = CovrKey(folder)
    progress = progress or Silent()
    wanted = None if hops is None else checked_names("--hop: no HOP", hops, tuple(key.splits))
    found: dict[_Trained, _Answers] = {}
    for file, name in zip(predictions, names or map(_model_name, predictions), strict=True):
        collector = Collector(key, wanted)
        collect([file], collector, progress)
        # A file covers only the HOPs of its model, not all HOPs of the folder.
        given = {target.hop for target in collector.given}
        collector.hops = tuple(hop for hop in key.splits if hop in (wanted or given))
        collector.finish(partial=partial, what=str(file))
        training = read_training(file)
        for target, answers in collector.given.items():
            of = found.setdefault(_Trained(target.hop, name, target.train_size, training), _Answers())
            of.of_runs.setdefault(target.run, {})[target.split] = answers
    scored = _Scored(key, found, predicates, bootstrap, seed)
    order = sorted(found, key=lambda each: tuple(key.splits).index(each.hop))  # the sort is stable
    with progress.stage("Scoring", total=len(order), unit="models") as advance:
        conditions = []
        for each in order:
            conditions.append(scored.condition(each))
            advance(1)
    notes = notes_of(predictions)
    return CovrScores(Path(folder), bootstrap, seed, tuple(conditions), tuple(scored.rows()), notes)


def _model_name(file: Path) -> str:
    return read_origin(file).model or file.stem


class _Scored:
    """The models' answers, and the predicates by which they are scored."""

    def __init__(
        self,
        key: CovrKey,
        found: Mapping[_Trained, _Answers],
        predicates: Sequence[str],
        bootstrap: int,
        seed: int,
    ) -> None:
        self.key, self.found, self.bootstrap, self.seed = key, found, bootstrap, seed
        self.predicates: dict[str, dict[str, Predicate]] = {}
        for each in found:
            texts = [*predicates, *([each.training.predicate] if each.training.predicate else [])]
            of_hop = self.predicates.setdefault(each.hop, {})
            of_hop |= {text: key.predicate(each.hop, text) for text in texts if text not in of_hop}

    def condition(self, trained: _Trained) -> CovrCondition:
        answers, splits = self.found[trained], {}
        for name in self.key.splits[trained.hop]:
            if any(name in each for each in answers.of_runs.values()):
                splits[name] = self._split(trained, self.key.test_set(trained.hop, name))
        runs = tuple(runs_in_order(answers.of_runs))
        return CovrCondition(trained.hop, trained.model, trained.train_size, trained.training, runs, splits)

    def _split(self, trained: _Trained, questions: SetTestSet) -> SplitScores:
        right, answered = self.found[trained].right(questions)
        images = questions.images[answered]
        groups = {
            "template": (questions.families, questions.templates),
            "structure": (questions.structures, STRUCTURES),
        }
        if COVR_KINDS[questions.split].mentions:
            groups["place"] = (questions.pair_places, PAIR_PLACES)
        frequent = self._frequent(trained)
        templates, expected = questions.families, questions.answers
        having: dict[str, Accuracy] = {}
        lacking: dict[str, Accuracy] = {}
        for text in self._texts(trained):
            has = self.predicates[trained.hop][text].holds(questions.description)[answered]
            for into, flags in ((having, has), (lacking, ~has)):
                if flags.any():
                    into[text] = self._accuracy(right[:, flags], images[flags])
        return SplitScores(
            all=self._accuracy(right, images),
            having=having,
            lacking=lacking,
            by={
                name: accuracy_by_template(
                    right,
                    images,
                    numbers[answered],
                    template_names=parts,
                    bootstrap=self.bootstrap,
                    seed=self.seed,
                )
                for name, (numbers, parts) in groups.items()
            },
            maj=100 * float((frequent.maj(templates) == expected).mean()),
            maj_templ=100 * float((frequent.maj_templ(templates, questions.offered) == expected).mean()),
            n_missing=int((~answered).sum()),
        )

    def _texts(self, trained: _Trained) -> Iterable[str]:
        """The predicates by which a model is scored: its own, or all predicates of its HOP."""
        return [trained.training.predicate] if trained.training.predicate else self.predicates[trained.hop]

    def _frequent(self, trained: _Trained) -> FrequentAnswers:
        return self.key.frequent_answers(trained.hop, trained.train_size)

    def _accuracy(self, right: Flags, images: Ints) -> Accuracy:
        return covr_accuracy(right, images, bootstrap=self.bootstrap, seed=self.seed)

    # The table of splits by predicates

    def rows(self) -> Iterable[SplitRow]:
        """A row for each model trained with held-out questions, and each test set that has such questions."""
        for trained in self.found:
            if trained.training.role == "split" and trained.model != TEXT_MODEL:
                for split in self.key.splits[trained.hop]:
                    if COVR_KINDS[split].role == "test":
                        yield from self._row(trained, self.key.test_set(trained.hop, split))

    def _row(self, trained: _Trained, questions: SetTestSet) -> Iterable[SplitRow]:
        training = trained.training
        predicate = self.predicates[trained.hop][training.predicate]
        has = predicate.holds(questions.description)
        others = {
            "held_out": (trained.model, training),
            "text": (TEXT_MODEL, training),
            "iid_size": (trained.model, Training("iid_size", training.predicate, training.shots)),
            "iid": (trained.model, Training()),
        }
        right: dict[str, tuple[Flags, Flags]] = {}
        for name, (model, of) in others.items():
            answers = self.found.get(_Trained(trained.hop, model, trained.train_size, of))
            if answers is not None:
                found, answered = answers.right(questions)
                if (answered & has).any():
                    right[name] = found[:, has[answered]], answered & has
        if "held_out" not in right:
            return
        accuracies = {
            name: self._accuracy(found, questions.images[rows]) for name, (found, rows) in right.items()
        }
        score = None
        if {"text", "iid_size"} <= right.keys():
            common = np.logical_and.reduce([right[name][1] for name in ("held_out", "text", "iid_size")])
            of_common = {name: found[:, common[rows]] for name, (found, rows) in right.items()}
            if common.any():
                score = generalisation(
                    model=of_common["held_out"],
                    text=of_common["text"],
                    iid_size=of_common["iid_size"],
                    images=questions.images[common],
                    bootstrap=self.bootstrap,
                    seed=self.seed,
                )
        yield SplitRow(
            hop=trained.hop,
            split=questions.split,
            predicate=training.predicate,
            model=trained.model,
            train_size=trained.train_size,
            shots=training.shots,
            filtered=self._filtered(trained, predicate),
            n_questions=int(has.sum()),
            generalisation=score,
            **{name: accuracies.get(name) for name in others},
        )

    def _filtered(self, trained: _Trained, predicate: Predicate) -> int | None:
        try:
            return self.key.n_filtered(trained.hop, predicate, trained.train_size)
        except DatasetError:
            return None
