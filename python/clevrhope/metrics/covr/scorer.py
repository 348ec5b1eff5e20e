"""Scores predictions about sets of images: accuracies by model, and the table of splits by predicates."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.question_kinds import PAIR_PLACES, STRUCTURES
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import DatasetError, MismatchedRunsError, PredictionsError, shown
from clevrhope.metrics.collector import (
    NOT_GIVEN,
    AnswerNumbers,
    check_draws,
    checked_names,
    collect,
    notes_of,
    runs_in_order,
)
from clevrhope.metrics.covr.key import CovrKey, SetTestSet
from clevrhope.metrics.measures import ACCURACY, GENERALISATION, formulas
from clevrhope.metrics.predictions import first_row, read_origin
from clevrhope.metrics.results import (
    Condition,
    Constant,
    Part,
    PredicateScores,
    Results,
    Scored,
    Scores,
    SplitScores,
    Training,
)
from clevrhope.metrics.shares import GroupFigures, score_flags
from clevrhope.metrics.test_sets import DEFAULT_BOOTSTRAP
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.settings import join_or
from clevrhope.splits.covr.kinds import COVR_COLUMNS, COVR_KINDS
from clevrhope.splits.covr.selection import Predicate

TEXT_MODEL = "question_only"
"""The text-only model that the generalisation score needs."""

ROLES = ("split", "iid_size")
"""Values of the column `covr_role`: trained without the property, or on as many questions drawn with it."""

Flags = npt.NDArray[np.bool_]


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
) -> Results:
    """Compares predictions about sets of images with the right answers.

    The groups of a split's scores are all questions, those with a property ("predicate") and those without it
    ("not predicate"), and the parts "template", "structure" and "place" (of a held-out pair). The bootstrap
    draws source images, each with all of its questions, because a question is made from its source image and
    the other images of its set are chosen for it.

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
        MismatchedRunsError: there is no question that all runs of a model answered.
        ConfigError: a predicate is invalid.
        DatasetError: the folder is not a dataset with questions about sets, or a file in it is incomplete.
    """
    check_draws(bootstrap, seed)
    key = CovrKey(folder)
    progress = progress or Silent()
    wanted = None if hops is None else checked_names("--hop: no HOP", hops, tuple(key.splits))
    found: dict[_Trained, _Answers] = {}
    for k, file in enumerate(predictions):
        name = names[k] if names else read_origin(file).model or file.stem
        given = collect([file], key, wanted, partial=partial, progress=progress).given
        training = read_training(file)
        for target, answers in given.items():
            of = found.setdefault(_Trained(target.hop, name, target.train_size, training), _Answers())
            of.of_runs.setdefault(target.run, {})[target.split] = answers
    scorer = _Scorer(key, found, predicates, bootstrap, seed)
    order = sorted(found, key=lambda each: tuple(key.splits).index(each.hop))  # the sort is stable
    with progress.stage("Scoring", total=len(order), unit="models") as advance:
        conditions = []
        for each in order:
            conditions.append(scorer.condition(each))
            advance(1)
    return Results(
        folder=Path(folder),
        bootstrap=bootstrap,
        seed=seed,
        conditions=tuple(conditions),
        predicates=tuple(scorer.predicate_scores()),
        notes=notes_of(predictions),
    )


def read_training(path: Path) -> Training:
    """The training that a file's first row names, or training on all questions if it names none.

    Raises:
        PredictionsError: a column has an invalid value.
    """
    row = first_row(path)
    role, predicate, shots = (row.get(name) for name in COVR_COLUMNS)
    if role is None:
        return Training()
    if role not in ROLES:
        raise PredictionsError(f'{path}:1: "covr_role" is {shown(str(role))}; expected {join_or([*ROLES])}')
    if not isinstance(predicate, str) or not isinstance(shots, int) or shots < 0:
        raise PredictionsError(
            f'{path}:1: with "covr_role", "covr_split" has to be a predicate, such as "has-quant", and '
            f'"shots" a whole number from 0; they are {shown(str(predicate))} and {shown(str(shots))}'
        )
    return Training(role, predicate, shots)


class _Scorer:
    """Scores the models' answers, by predicates and breakdowns."""

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

    def condition(self, trained: _Trained) -> Condition:
        of_runs = self.found[trained].of_runs
        splits = {
            name: self._split(trained, self.key.test_set(trained.hop, name))
            for name in self.key.splits[trained.hop]
            if any(name in each for each in of_runs.values())
        }
        return Condition(
            hop=trained.hop,
            train_size=trained.train_size,
            runs=tuple(runs_in_order(of_runs)),
            splits=splits,
            model=trained.model,
            training=trained.training,
        )

    def _split(self, trained: _Trained, questions: SetTestSet) -> SplitScores:
        right, answered = self.found[trained].right(questions)
        if not answered.any():
            raise MismatchedRunsError(
                f"{trained.hop} {questions.split}: no question that all runs of {trained.model} answered"
            )
        images = questions.images[answered]
        own = trained.training.predicate  # a model is scored by its own predicate, or by all of its HOP
        texts = [own] if own else self.predicates[trained.hop]
        groups: list[tuple[Part, Flags]] = [(Part(), np.ones(right.shape[1], dtype=np.bool_))]
        for text in texts:
            has = self.predicates[trained.hop][text].holds(questions.description)[answered]
            groups += [(Part("predicate", text), has), (Part("not predicate", text), ~has)]
        breakdowns = {
            "template": (questions.families, questions.templates),
            "structure": (questions.structures, STRUCTURES),
        }
        if COVR_KINDS[questions.split].mentions:
            breakdowns["place"] = (questions.pair_places, PAIR_PLACES)
        for by, (numbers, names) in breakdowns.items():
            groups += [(Part(by, name), numbers[answered] == k) for k, name in enumerate(names)]
        frequent = self.key.frequent_answers(trained.hop, trained.train_size)
        baselines = {
            "maj": frequent.maj(questions.families),
            "maj_templ": frequent.maj_templ(questions.families, questions.offered),
        }
        return SplitScores(
            parts={
                part: self._accuracy(right[:, flags], images[flags]) for part, flags in groups if flags.any()
            },
            n=len(questions),
            n_missing=int((~answered).sum()),
            constants={
                name: Constant("", 100 * float((given == questions.answers).mean()))
                for name, given in baselines.items()
            },
        )

    def _accuracy(self, right: Flags, images: Ints) -> Scored:
        """The accuracy of R runs on N questions, from (R, N) flags; each group draws its own images."""
        found = self._figures({"given": np.ones_like(right), "right": right}, images).scored()
        counts = {"n_questions": len(images), "n_images": len(np.unique(images))}
        runs = tuple(Scores(run.measures, counts) for run in found.runs)
        return Scored(runs, Scores(found.mean.measures, counts))

    def _figures(self, flags: Mapping[str, Any], images: Ints) -> GroupFigures:
        table = GENERALISATION if "text" in flags else ACCURACY
        draws: dict[str, Any] = {"bootstrap": self.bootstrap, "seed": (self.seed, *b"covr")}
        whole = {"": np.zeros(len(images), dtype=np.int32)}
        return score_flags(flags, formulas(table), whole, images, **draws)[""][0]

    # The table of splits by predicates

    def predicate_scores(self) -> Iterator[PredicateScores]:
        """Scores of each model trained with held-out questions on each test set that has such questions."""
        for trained in self.found:
            if trained.training.role == "split" and trained.model != TEXT_MODEL:
                for split in self.key.splits[trained.hop]:
                    if COVR_KINDS[split].role == "test":
                        yield from self._of_predicate(trained, self.key.test_set(trained.hop, split))

    def _of_predicate(self, trained: _Trained, questions: SetTestSet) -> Iterator[PredicateScores]:
        training = trained.training
        predicate = self.predicates[trained.hop][training.predicate]
        has = predicate.holds(questions.description)
        models = {
            "text": (TEXT_MODEL, training),
            "held_out": (trained.model, training),
            "iid_size": (trained.model, Training("iid_size", training.predicate, training.shots)),
            "iid": (trained.model, Training()),
        }
        right: dict[str, tuple[Flags, Flags]] = {}
        for name, (model, of) in models.items():
            answers = self.found.get(_Trained(trained.hop, model, trained.train_size, of))
            if answers is not None:
                found, answered = answers.right(questions)
                if (answered & has).any():
                    right[name] = found[:, has[answered]], answered & has
        if "held_out" in right:
            yield PredicateScores(
                hop=trained.hop,
                split=questions.split,
                predicate=training.predicate,
                model=trained.model,
                train_size=trained.train_size,
                shots=training.shots,
                filtered=self._filtered(trained, predicate),
                n_questions=int(has.sum()),
                accuracies={
                    name: self._accuracy(found, questions.images[rows]).mean
                    for name, (found, rows) in right.items()
                },
                generalisation=self._generalisation(right, questions),
            )

    def _generalisation(
        self, right: Mapping[str, tuple[Flags, Flags]], questions: SetTestSet
    ) -> Scores | None:
        """The score on the questions that the runs of all three models answered; None if there are none."""
        names = ("held_out", "text", "iid_size")
        if not right.keys() >= {*names}:
            return None
        common = np.logical_and.reduce([right[name][1] for name in names])
        if not common.any():
            return None
        of_common = {name: right[name][0][:, common[right[name][1]]] for name in names}
        # Means over runs as whole numbers, whose sums are exact.
        unit = lcm(*(len(each) for each in of_common.values()))
        images = questions.images[common]
        flags = {"questions": np.full((1, len(images)), unit)} | {
            name: each.sum(axis=0, keepdims=True) * (unit // len(each)) for name, each in of_common.items()
        }
        scores = self._figures(flags, images).scores()
        counts = {"n_questions": len(images), "n_images": len(np.unique(images))}
        return Scores(scores.measures, counts)

    def _filtered(self, trained: _Trained, predicate: Predicate) -> int | None:
        try:
            return self.key.n_filtered(trained.hop, predicate, trained.train_size)
        except DatasetError:
            return None
