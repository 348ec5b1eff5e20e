"""COVR's scores: accuracy by template, the two baselines of frequent answers, and the generalisation score.

The bootstrap draws source images, each with all of its questions, because a question is made from its source
image and the other images of its set are chosen for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.errors import MismatchedRunsError
from clevrhope.metrics.bootstrap import Floats, interval, ratio, resample
from clevrhope.metrics.results import Accuracy, Interval

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.integer[Any]]


def source_images(image_idxs: Numbers, sources: Numbers) -> Numbers:
    """(N,) the scene index of each question's source image, from (N, 5) images and (N,) indices into them."""
    images: Numbers = image_idxs[np.arange(len(sources)), sources]
    return images


@dataclass(frozen=True)
class FrequentAnswers:
    """The most frequent answers of a train set: COVR's baselines Maj and MajTempl (its table 6).

    Attributes:
        counts: (T, A) how often each answer occurs among the questions of each template.
    """

    counts: npt.NDArray[np.int64]

    @property
    def answer(self) -> int:
        """The most frequent answer over all questions; the first one in a tie."""
        return int(self.counts.sum(axis=0).argmax())

    def maj(self, templates: Numbers) -> npt.NDArray[np.int64]:
        """(N,) Maj's answers to questions with these (N,) templates."""
        return np.full(len(templates), self.answer)

    def maj_templ(self, templates: Numbers, offered: Numbers) -> npt.NDArray[np.int64]:
        """(N,) MajTempl's answers.

        Args:
            templates: (N,) the questions' templates.
            offered: (N, 2) the two answers that a choose question offers, of which MajTempl gives the more
                frequent one; -1 in the rows of other questions. For a template without train questions, it
                gives Maj's answer.
        """
        counts = np.where(self.counts.any(axis=1, keepdims=True), self.counts, self.counts.sum(axis=0))
        of_template = counts.argmax(axis=1)[templates]
        n_first, n_second = (counts[templates, answers] for answers in offered.T)
        chosen = np.where(n_first >= n_second, offered[:, 0], offered[:, 1])
        answers: npt.NDArray[np.int64] = np.where(offered[:, 0] < 0, of_template, chosen)
        return answers


def frequent_answers(
    answers: Numbers, templates: Numbers, *, n_templates: int, n_answers: int
) -> FrequentAnswers:
    """The most frequent answers of N >= 1 train questions."""
    counts = np.zeros((n_templates, n_answers), dtype=np.int64)
    np.add.at(counts, (templates, answers), 1)
    return FrequentAnswers(counts)


def covr_accuracy(right: Flags, images: Numbers, *, bootstrap: int, seed: int) -> Accuracy:
    """The accuracy on N questions, as the mean over R runs.

    Args:
        right: (R, N) whether each answer of each run is right.
        images: (N,) source images.
        bootstrap: number of bootstrap samples; 0 for no interval.
        seed: seed of the bootstrap.

    Raises:
        MismatchedRunsError: the numbers of images and questions differ, or there is no question or run.
    """
    _check(images, right)
    by_run = 100 * right.mean(axis=1)
    sums = _image_sums(images, [right])
    drawn = resample(sums, n_samples=bootstrap, seed=_stream(seed))
    return Accuracy(
        percent=float(by_run.mean()),
        interval=interval(100 * ratio(drawn[:, 1], len(right) * drawn[:, 0])),
        n_questions=right.shape[1],
        n_pictures=len(sums),
        deviation=float(by_run.std(ddof=1)) if len(right) > 1 else None,
    )


def accuracy_by_template(
    right: Flags,
    images: Numbers,
    templates: Numbers,
    *,
    template_names: Sequence[str],
    bootstrap: int,
    seed: int,
) -> dict[str, Accuracy]:
    """The accuracy on each template that has questions, by its name, in the order of the templates.

    Args:
        right: (R, N) whether each answer of each run is right.
        images: (N,) source images.
        templates: (N,) numbers of templates.
        template_names: names by number.
        bootstrap: number of bootstrap samples; 0 for no intervals.
        seed: seed of the bootstrap.

    Raises:
        MismatchedRunsError: as for `covr_accuracy`.
    """
    _check(images, right)
    return {
        template_names[template]: covr_accuracy(
            right[:, templates == template], images[templates == template], bootstrap=bootstrap, seed=seed
        )
        for template in np.unique(templates)
    }


def generalisation_score(*, model: float, text: float, iid_size: float) -> float | None:
    """The share of the gain from training on the property that a model reaches without it, in per cent.

    Source: Bogin et al. 2021, whose plots clip it to 0 to 100. It is not clipped here: it is negative if the
    model does worse than a text-only model, and over 100 if it does better than a model trained on as many
    questions drawn with the property.

    Args:
        model: accuracy of the model, trained without the property.
        text: accuracy of a text-only model, trained on the same questions.
        iid_size: accuracy of a model trained on as many questions, drawn with the property.

    Returns:
        The score; None unless `iid_size` is above `text`, that is, unless images help.
    """
    return 100 * (model - text) / (iid_size - text) if iid_size > text else None


@dataclass(frozen=True)
class Generalisation:
    """The generalisation score of a split.

    Attributes:
        score: the score, as from `generalisation_score`.
        interval: its interval, without the samples in which it is undefined; None if the score is None.
        model: accuracy of the model in per cent, as the mean over runs.
        text: accuracy of the text-only model, likewise.
        iid_size: accuracy of the model that was trained with the property, likewise.
        n_questions: number of test questions with the property.
        n_images: number of their source images.
    """

    score: float | None
    interval: Interval | None
    model: float
    text: float
    iid_size: float
    n_questions: int
    n_images: int


def generalisation(
    *, model: Flags, text: Flags, iid_size: Flags, images: Numbers, bootstrap: int, seed: int
) -> Generalisation:
    """The score on the N test questions with the property; all three models share the bootstrap samples.

    Args:
        model: (R, N) whether each answer is right, for runs that were trained without the property.
        text: the same for text-only runs; R may differ.
        iid_size: the same for runs that were trained with the property.
        images: (N,) source images.
        bootstrap: number of bootstrap samples; 0 for no interval.
        seed: seed of the bootstrap.

    Raises:
        MismatchedRunsError: an array does not have a column for each image, or there is no question or run.
    """
    runs = [model, text, iid_size]
    _check(images, *runs)
    found = [100 * float(right.mean()) for right in runs]
    sums = _image_sums(images, runs)
    drawn = resample(sums, n_samples=bootstrap, seed=_stream(seed))
    drawn_model, drawn_text, drawn_iid = (
        100 * ratio(drawn[:, 1 + k], len(right) * drawn[:, 0]) for k, right in enumerate(runs)
    )
    is_defined = drawn_iid > drawn_text
    gained, possible = (drawn_model - drawn_text)[is_defined], (drawn_iid - drawn_text)[is_defined]
    score = generalisation_score(model=found[0], text=found[1], iid_size=found[2])
    return Generalisation(
        score=score,
        interval=None if score is None else interval(100 * gained / possible),
        model=found[0],
        text=found[1],
        iid_size=found[2],
        n_questions=len(images),
        n_images=len(sums),
    )


def _image_sums(images: Numbers, runs: Sequence[Flags]) -> Floats:
    """(M, 1 + K) for each image, the number of its questions and the right answers of K models' runs."""
    _, at = np.unique(images, return_inverse=True)
    columns = [np.ones(len(images)), *(right.sum(axis=0) for right in runs)]
    return np.stack([np.bincount(at, column) for column in columns], axis=1)


def _stream(seed: int) -> tuple[int, ...]:
    return (seed, *b"covr")


def _check(images: Numbers, *runs: Flags) -> None:
    for right in runs:
        if right.ndim != 2 or right.shape[1] != len(images) or not right.size:
            raise MismatchedRunsError(
                f"answers of shape {right.shape} to questions on {len(images)} source images; expected "
                "(runs, questions), with an image for each question, and at least one of each"
            )
