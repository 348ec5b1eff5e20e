"""COVR's scores: accuracy by template, the two baselines of frequent answers, and the generalisation score.

Intervals draw source images, each with all of its questions: a question is made from its source image, and
the other images of its set are chosen for it.
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
    """(N,) the scene index of each question's source image, from (N, 5) images and (N,) places among them."""
    images: Numbers = image_idxs[np.arange(len(sources)), sources]
    return images


@dataclass(frozen=True)
class FrequentAnswers:
    """The most frequent answers of a train set: COVR's baselines Maj and MajTempl (its table 6).

    Attributes:
        counts: (T, A) how often each answer is given to questions of each template.
    """

    counts: npt.NDArray[np.int64]

    @property
    def answer(self) -> int:
        """The most frequent answer of all questions; of equally frequent ones the first."""
        return int(self.counts.sum(axis=0).argmax())

    def maj(self, templates: Numbers) -> npt.NDArray[np.int64]:
        """(N,) Maj's answers to questions of (N,) templates."""
        return np.full(len(templates), self.answer)

    def maj_templ(self, templates: Numbers, offered: Numbers) -> npt.NDArray[np.int64]:
        """(N,) MajTempl's answers.

        Args:
            templates: (N,) of the questions.
            offered: (N, 2) the answers that a question of choice offers, of which the more frequent one is
                given; -1 in rows of other questions. The answer to a template without any is Maj's.
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
    """The frequent answers of (N,) train questions, one at least."""
    counts = np.zeros((n_templates, n_answers), dtype=np.int64)
    np.add.at(counts, (templates, answers), 1)
    return FrequentAnswers(counts)


def covr_accuracy(right: Flags, images: Numbers, *, bootstrap: int, seed: int) -> Accuracy:
    """The accuracy on N questions, in the mean over R runs.

    Args:
        right: (R, N) whether each answer of each run is right.
        images: (N,) source images.
        bootstrap: the number of samples behind the interval; 0 for none.
        seed: of the samples.

    Raises:
        MismatchedRunsError: there are not as many images as questions, or there is no question or run.
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
    """The accuracy on the questions of each template that has some, by name, in the templates' order.

    Args:
        right: (R, N) whether each answer of each run is right.
        images: (N,) source images.
        templates: (N,) numbers of templates.
        template_names: names by number.
        bootstrap: the number of samples behind each interval; 0 for none.
        seed: of the samples.

    Raises:
        MismatchedRunsError: as `covr_accuracy`.
    """
    _check(images, right)
    return {
        template_names[template]: covr_accuracy(
            right[:, templates == template], images[templates == template], bootstrap=bootstrap, seed=seed
        )
        for template in np.unique(templates)
    }


def generalisation_score(*, model: float, text: float, iid_size: float) -> float | None:
    """How much of what training on the property would bring is there without it, in per cent.

    Source: Bogin et al. 2021, where plots of it are clipped to 0 to 100. It is not clipped here: it is
    negative where the model does worse than one without images, and over 100 where it does better than one
    that was trained on as many questions with the property among them.

    Args:
        model: accuracy of the model, trained without the property.
        text: accuracy of a model of the text alone, trained in the same way.
        iid_size: accuracy of a model that was trained on as many questions, drawn with the property.

    Returns:
        The score; None unless images help at all, so that `iid_size` is above `text`.
    """
    return 100 * (model - text) / (iid_size - text) if iid_size > text else None


@dataclass(frozen=True)
class Generalisation:
    """The generalisation score of a split.

    Attributes:
        score: as `generalisation_score` gives it.
        interval: of the score; samples in which it is not defined are left out. None where the score is None.
        model: per cent of right answers in the mean over runs, as are the next two.
        text: of the model of the text alone.
        iid_size: of the model that was trained with the property.
        n_questions: questions with the property that were asked.
        n_images: source images of these.
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
    """The score on the N test questions with the property, of which all three share the samples.

    Args:
        model: (R, N) whether each answer is right, of runs that were trained without the property.
        text: the same of runs of the text alone; R may differ.
        iid_size: the same of runs that were trained with the property.
        images: (N,) source images.
        bootstrap: the number of samples behind the interval; 0 for none.
        seed: of the samples.

    Raises:
        MismatchedRunsError: the three are not about as many questions as there are images, or there is none.
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
    """(M, 1 + K) by image: its questions, and the right answers of all runs of K models."""
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
