"""COVR's scores: accuracies, baselines, and the generalisation score of runs with held-out questions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial as partial_function
from math import lcm
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.answer_counts import answer_counts, maj, maj_templ
from clevrhope.dataset.covr_questions import offered_answers
from clevrhope.dataset.question_kinds import SETS, Numbers
from clevrhope.errors import PredictionsError
from clevrhope.metrics.answer_key import AnswerKey, Breakdown, drawn_images
from clevrhope.metrics.collector import NOT_GIVEN, AnswerNumbers, collect
from clevrhope.metrics.measures import ACCURACY, GENERALISATION, GENERALISATION_SCORES
from clevrhope.metrics.pairs import Booleans
from clevrhope.metrics.predictions import first_row, notes_of, said_of_all
from clevrhope.metrics.results import (
    Condition,
    Constant,
    Model,
    Part,
    PredicateScores,
    Results,
    Scores,
    SplitScores,
    Training,
)
from clevrhope.metrics.rows import Target
from clevrhope.metrics.scoring import (
    DEFAULT_BOOTSTRAP,
    answers_of_runs,
    check_draws,
    checked_hops,
    conditions_of,
    question_condition,
)
from clevrhope.metrics.shares import Flags, Measures, score_flags
from clevrhope.runtime.forms import COUNT, TEXT, Fields, check_form, one_of
from clevrhope.runtime.progress import Progress
from clevrhope.splits.covr.kinds import COVR_COLUMNS, COVR_KINDS, COVR_TRAIN
from clevrhope.splits.covr.selection import Predicate, resolved_predicate

TEXT_MODEL = "question_only"
"""The text-only model that the generalisation score needs."""

_Right = tuple[Booleans, Booleans]
"""(R, M) whether R runs are right about the M questions that all answered; (N,) which these are."""

ROLES = ("split", "iid_size")
"""Values of the column `covr_role`: trained without the property, or on as many questions drawn with it."""

_TRAINING = Fields({"covr_role": one_of(ROLES), "covr_split": TEXT, "shots": COUNT})
"""The columns of the first row of a run that did not train on all questions."""


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
        ConfigError: a predicate is invalid.
        SplitError: a predicate holds for all questions or for none.
        DatasetError: the folder is not a dataset with questions about sets, or a file in it is incomplete.
    """
    check_draws(bootstrap, seed)
    scorer = _Scorer(AnswerKey(folder, SETS), predicates, bootstrap, seed)
    key, wanted = scorer.key, checked_hops(scorer.key, hops)
    files: dict[tuple[str, Training], list[Path]] = {}
    for k, path in enumerate(predictions):
        name = names[k] if names else said_of_all(path, "model") or path.stem
        files.setdefault((name, read_training(path)), []).append(path)
    collected = {
        model: collect(of_model, key, wanted, partial=partial, progress=progress)
        for model, of_model in files.items()
    }
    for hop in dict.fromkeys(hop for collector in collected.values() for hop in collector.hops):
        scorer.check_asked(hop)
    scorer.given = {model: collector.given for model, collector in collected.items()}
    conditions: list[Condition] = []
    for (name, training), collector in collected.items():
        answered = [hop for hop in collector.hops if hop not in collector.hops_missing()]
        condition = partial_function(scorer.condition, name, training)
        conditions += conditions_of(key, collector, answered, condition, progress)
    conditions.sort(key=lambda condition: tuple(key.splits).index(condition.hop))  # the sort is stable
    return Results(
        folder=key.folder,
        bootstrap=bootstrap,
        seed=seed,
        conditions=tuple(conditions),
        predicates=tuple(row for condition in conditions for row in scorer.predicate_scores(condition)),
        n_predictions=sum(collector.n_predictions for collector in collected.values()),
        notes=notes_of(predictions),
        kind=key.kind.name,
    )


def read_training(path: Path) -> Training:
    """The training that a file's first row names, or training on all questions if it names none.

    Raises:
        PredictionsError: a column has an invalid value.
    """
    row = first_row(path)
    if row.get("covr_role") is None:
        return Training()
    check_form(row, _TRAINING, f"{path}:1", error=PredictionsError)
    return Training(*(row[name] for name in COVR_COLUMNS))


class _Scorer:
    """Scores the models' answers, by predicates and breakdowns."""

    def __init__(self, key: AnswerKey, predicates: Sequence[str], bootstrap: int, seed: int) -> None:
        self.key, self.asked = key, predicates
        self.given: Mapping[tuple[str, Training], Mapping[Target, AnswerNumbers]] = {}
        self.draws: dict[str, Any] = {"bootstrap": bootstrap, "seed": seed}

    def condition(self, name: str, training: Training, hop: str, size: int | None) -> Condition:
        """The scores of a model, by its own predicate if it has one, or else by all of them."""
        model = Model(hop, size, name, training)
        of_models = [
            training.predicate
            for (_, training), given in self.given.items()
            if training.predicate and any(target.hop == model.hop for target in given)
        ]
        texts = [model.training.predicate] if model.training.predicate else [*self.asked, *of_models]
        breakdowns = {
            f"predicate {text}": self._by_predicate(model.hop, text) for text in dict.fromkeys(texts)
        }
        breakdowns |= {name: self.key.breakdown(name, model.hop) for name in self.key.breakdowns}
        given = self.given[model.model, model.training]
        condition = question_condition(self.key, model, given, breakdowns, **self.draws)
        counts = self._train_counts(model)
        splits = {
            split: self._with_baselines(model.hop, split, scores, counts)
            for split, scores in condition.splits.items()
        }
        return replace(condition, splits=splits)

    def _by_predicate(self, hop: str, text: str) -> Breakdown:
        predicate, names = self.predicate(hop, text), ("predicate", "not predicate")
        return Breakdown(
            lambda questions: (~predicate.holds(self.key.description(questions))).astype(np.int32),
            lambda number: Part(names[number], text),
        )

    def _train_counts(self, model: Model) -> Numbers:
        """(T, A) answers of the first questions of covr_train that the model was trained on."""
        train = self.key.train_set(model.hop, COVR_TRAIN)
        rows = slice(model.train_size)
        n_answers = max(self.key.answers.values()) + 1
        return answer_counts(
            train.answers[rows], train.question_families[rows], len(train.templates), n_answers
        )

    def _with_baselines(self, hop: str, split: str, scores: SplitScores, counts: Numbers) -> SplitScores:
        questions = self.key.test_set(hop, split)
        offered = offered_answers(questions.programs, self.key.functions, self.key.answers)
        baselines = {
            "maj": maj(counts) == questions.answers,
            "maj_templ": maj_templ(counts, questions.question_families, offered) == questions.answers,
        }
        constants = {name: Constant("", 100 * float(right.mean())) for name, right in baselines.items()}
        return replace(scores, constants=constants)

    def predicate(self, hop: str, text: str) -> Predicate:
        """A predicate on the questions of a HOP.

        Raises:
            ConfigError: the text is not a predicate, or the predicate needs pairs to be drawn.
        """
        questions = self.key.test_set(hop, self.key.splits[hop][0])
        return resolved_predicate(text, self.key.description(questions).words)

    def check_asked(self, hop: str) -> None:
        """Checks that each predicate that was asked for holds for some questions of a HOP and not for all."""
        tables = [self.key.test_set(hop, split) for split in self.key.splits[hop]]
        for text in self.asked:
            self.predicate(hop, text).check_divides([self.key.description(table) for table in tables])

    # The table of splits by predicates

    def predicate_scores(self, condition: Condition) -> Iterator[PredicateScores]:
        """The scores of a model trained without a property, on each test set that has such questions."""
        model, training, hop = condition.model, condition.training, condition.hop
        if training.role != "split" or model == TEXT_MODEL:
            return
        predicate = self.predicate(hop, training.predicate)
        train = self.key.description(self.key.train_set(hop, COVR_TRAIN), limit=condition.train_size)
        models = {
            "text": (TEXT_MODEL, Training()),
            "held_out_text": (TEXT_MODEL, training),
            "held_out": (model, training),
            "iid_size": (model, replace(training, role="iid_size")),
            "iid": (model, Training()),
        }
        for split in self.key.splits[hop]:
            if COVR_KINDS[split].role != "test":
                continue
            questions = self.key.test_set(hop, split)
            has, images = predicate.holds(self.key.description(questions)), drawn_images(questions)
            right: dict[str, _Right] = {}
            for name, of_model in models.items():
                answers = answers_of_runs(self.key, self.given.get(of_model, {}), condition, split)
                answers = answers[(answers != NOT_GIVEN).any(axis=1)]
                answered = (answers != NOT_GIVEN).all(axis=0) & has
                if len(answers) and answered.any():
                    right[name] = (answers == questions.answers)[:, answered], answered
            if "held_out" in right:
                accuracies = {
                    name: self._scores({"given": np.ones_like(flags), "right": flags}, ACCURACY, images[rows])
                    for name, (flags, rows) in right.items()
                }
                yield PredicateScores(
                    *(hop, condition.train_size, model, training),
                    split=split,
                    filtered=int(predicate.holds(train).sum()),
                    n_questions=int(has.sum()),
                    accuracies=accuracies,
                    generalisation={
                        name: scores
                        for name, text in GENERALISATION_SCORES.items()
                        if (scores := self._generalisation(right, text, images)) is not None
                    },
                )

    def _generalisation(self, right: Mapping[str, _Right], text: str, images: Numbers) -> Scores | None:
        """The score on the questions that the runs of all three models answered; None if there are none."""
        names = {"held_out": "held_out", "text": text, "iid_size": "iid_size"}
        if not right.keys() >= {*names.values()}:
            return None
        common = np.logical_and.reduce([right[name][1] for name in names.values()])
        if not common.any():
            return None
        of_common = {name: right[of][0][:, common[right[of][1]]] for name, of in names.items()}
        # Means over runs as whole numbers, whose sums are exact.
        unit = lcm(*map(len, of_common.values()))
        flags: dict[str, Flags] = {"questions": np.full((1, int(common.sum())), unit)}
        for name, of_runs in of_common.items():
            flags[name] = of_runs.sum(axis=0, keepdims=True) * (unit // len(of_runs))
        return self._scores(flags, GENERALISATION, images[common])

    def _scores(self, flags: Mapping[str, Flags], measures: Measures, images: Numbers) -> Scores:
        """The means over runs of measures of N questions, from (R, N) flags."""
        draws = {"bootstrap": self.draws["bootstrap"], "seed": (self.draws["seed"], *b"covr")}
        whole = {"": np.zeros(len(images), dtype=np.int32)}
        groups = score_flags(flags, measures, whole, images.astype(np.int32), **draws)
        measured = groups[""][0].scores().measures
        return Scores(measured, {"n_questions": len(images), "n_images": len(np.unique(images))})
