"""Files of predictions in; the accuracies, gaps and matched gaps of each run on each held-out pair out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.vocab import NO_ANSWER
from clevrhope.errors import ClevrhopeError, ConfigError, PredictionsError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.baselines import BASELINES, train_accuracy_floor
from clevrhope.metrics.collapse import is_collapsed
from clevrhope.metrics.collector import NOT_GIVEN, AnswerNumbers, Collector
from clevrhope.metrics.matched_gap import MatchedGap, Matcher
from clevrhope.metrics.paper import size_name
from clevrhope.metrics.predictions import read_predictions
from clevrhope.report.runs import LAST, Source
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.splits.hops import parse_hop
from clevrhope.splits.kinds import IID, SYSTEMATICITY_GAPS
from clevrhope.splits.palettes import MARK, parse_diversity

QUESTION_ONLY = "question_only"
"""The model whose runs say what reading the question alone gives."""

KINDS = tuple(SYSTEMATICITY_GAPS)


@dataclass(frozen=True, slots=True)
class Result:
    """What one run's weights came to on one held-out pair.

    Attributes:
        source: the file that it is from.
        model: its name, with what tells its runs apart where they were trained in different ways, and with
            the way in which it answered where there are several.
        checkpoint: the weights, `LAST` for those at the end.
        hop: the sub-dataset, such as rubber_cylinder or cyan_cylinder-d8-grid.
        pair: the held-out pair's name, without what limits the combinations.
        types: the pair's attribute types.
        diversity: combinations of values, the pair among them; 0 where that is not known.
        mode: of controlled diversity "random" (an order drawn from the seed) or "grid"; "" of a plain pair.
        train_size: questions trained on; None for not known.
        run: what tells it from others of its kind.
        accuracies: test set -> per cent.
        n_missing: questions without a prediction, left out.
        n_asked: test set -> questions with a prediction.
        n_unanswered: test set -> those of them whose prediction is no answer, which counts as wrong.
        matched: the matched complex gap; None where it cannot be told.
        floor: complex_iid accuracy in per cent of who reads the question alone; None for not known.
        floor_from: what that is from.
        note: what has to be said with it.
    """

    source: Source
    model: str
    checkpoint: str
    hop: str
    pair: str
    types: tuple[str, ...]
    diversity: int
    mode: str
    train_size: int | None
    run: str
    accuracies: Mapping[str, float]
    n_missing: int = 0
    n_asked: Mapping[str, int] = field(default_factory=dict)
    n_unanswered: Mapping[str, int] = field(default_factory=dict)
    matched: MatchedGap | None = None
    floor: float | None = None
    floor_from: str = ""
    note: str = ""

    @property
    def size(self) -> str:
        """The train size as the paper writes it."""
        return size_name(self.train_size)

    @property
    def collapsed(self) -> bool:
        """Whether it did; never where it cannot be told, nor of what was to read questions alone."""
        if self.source.model in (QUESTION_ONLY, *BASELINES):
            return False
        iid = self.accuracies.get(IID)
        return iid is not None and self.floor is not None and is_collapsed(iid, self.floor)

    def gap(self, kind: str) -> float | None:
        """The complex or minimal gap in points; None without both of its test sets."""
        gap = SYSTEMATICITY_GAPS[kind]
        ood, iid = self.accuracies.get(gap.split), self.accuracies.get(gap.baseline)
        return None if ood is None or iid is None else ood - iid

    def rows(self) -> list[dict[str, Any]]:
        """A row an accuracy, with the columns of the paper's results."""
        return [
            {
                "model": self.model,
                "metric": "accuracy",
                "split": split,
                "hop": self.hop,
                "diversity": self.diversity,
                "train_size": self.size,
                "run": self.run,
                "checkpoint": self.checkpoint,
                "mean_percent": percent,
                "unanswered": self.n_unanswered.get(split, 0),
                "note": self.note,
            }
            for split, percent in self.accuracies.items()
        ]


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was left out, a sentence each."""

    sentences: tuple[str, ...] = ()


@dataclass
class _Dataset:
    """A dataset's right answers, and what was worked out of them."""

    key: AnswerKey
    matcher: Matcher
    floors: dict[tuple[str, int | None], float | None] = field(default_factory=dict)


def measure(sources: Iterable[Source], *, progress: Progress | None = None) -> tuple[list[Result], Skipped]:
    """The results of all files, in their order; files that cannot be scored are told of, and left out."""
    sources = list(sources)
    progress = progress or Silent()
    datasets: dict[Path, _Dataset] = {}
    found: list[Result] = []
    skipped = []
    with progress.stage("Scoring", total=len(sources), unit="files") as advance:
        for source in sources:
            try:
                place = source.dataset.resolve()
                if place not in datasets:
                    key = AnswerKey(source.dataset)
                    datasets[place] = _Dataset(key, Matcher(key))
                _check_dataset(source, datasets[place].key)
                found += _results(source, datasets[place])
            except ClevrhopeError as error:
                skipped.append(str(error))
            advance(1)
    return _with_question_only(found), Skipped(tuple(dict.fromkeys(skipped)))


def _check_dataset(source: Source, key: AnswerKey) -> None:
    """Passes where a run was trained on the dataset that is in the folder now, or says nothing of it.

    Raises:
        PredictionsError: on another one; its answers are to other questions, or about other images.
    """
    differs = key.difference_from(source.trained_on, source.hop)
    if differs:
        raise PredictionsError(
            f"{source.of}: trained on another dataset than the one that is in {key.folder} now ({differs})"
        )


def _results(source: Source, dataset: _Dataset) -> list[Result]:
    collector = Collector(dataset.key)
    for block in read_predictions(source.path):
        collector.add(block)
    collector.finish(partial=True, what=str(source.path))
    runs: dict[tuple[str, str | None, int | None], dict[str, AnswerNumbers]] = {}
    for target, given in collector.given.items():
        runs.setdefault((target.hop, target.run, target.train_size), {})[target.split] = given
    return [_result(source, dataset, hop, run, size, given) for (hop, run, size), given in runs.items()]


def _result(
    source: Source,
    dataset: _Dataset,
    hop: str,
    run: str | None,
    size: int | None,
    given: Mapping[str, AnswerNumbers],
) -> Result:
    key = dataset.key
    size = source.train_size if size is None else size
    run = run if run is not None else source.run
    nothing = key.answers.get(NO_ANSWER)
    accuracies, n_missing, n_asked, n_unanswered = {}, 0, {}, {}
    for split in key.splits[hop]:
        answers = key.test_set(hop, split).answers
        there = given[split] != NOT_GIVEN if split in given else np.zeros(len(answers), dtype=bool)
        n_missing += int(np.count_nonzero(~there))
        if there.any():
            accuracies[split] = 100 * float((given[split] == answers)[there].mean())
            n_asked[split] = int(np.count_nonzero(there))
            n_unanswered[split] = 0 if nothing is None else int(np.count_nonzero(given[split] == nothing))
    pair, types, diversity, mode = _pair(hop, key)
    if (hop, size) not in dataset.floors:
        dataset.floors[hop, size] = _floor(key.folder, hop, size)
    floor = dataset.floors[hop, size]
    return Result(
        source=source,
        model=_name(source),
        checkpoint=source.checkpoint,
        hop=hop,
        pair=pair,
        types=types,
        diversity=diversity,
        mode=mode,
        train_size=size,
        run=run or "",
        accuracies=accuracies,
        n_missing=n_missing,
        n_asked=n_asked,
        n_unanswered=n_unanswered,
        matched=dataset.matcher.gap(hop, given),
        floor=floor,
        floor_from="" if floor is None else "majority_by_family",
        note=source.note,
    )


def _name(source: Source) -> str:
    """The model's name, with its way of answering and its weights where these are not the usual ones."""
    told = [source.name]
    if source.way:
        told.append(source.way.replace("_", " "))
    if source.after:
        told.append("best weights" if source.after == "best" else f"after stage {source.after}")
    return ", ".join(told)


def _pair(hop: str, key: AnswerKey) -> tuple[str, tuple[str, ...], int, str]:
    """The pair's name and types, its diversity, and how that was brought about."""
    base, _, palette = hop.partition(MARK)
    try:
        parsed = parse_hop(hop, list(key.attributes.items()))
    except ConfigError:
        return base, (), 0, ""
    types = tuple(kind for kind, _ in parsed.pair or ())
    asked = parse_diversity(palette) if palette else None
    if asked is not None:
        return base, types, asked[0], "grid" if asked[1] == "grid" else "random"
    return base, types, parsed.diversity, palette


def _floor(folder: Path, hop: str, size: int | None) -> float | None:
    """What the most frequent answer of each family gives on complex_iid; None without a train set.

    Where the folder's train set is smaller than the run's, all of it is learned from.
    """
    for learned in (size, None):
        try:
            return train_accuracy_floor(folder, hop, IID, learned)
        except ClevrhopeError:
            continue
    return None


def _with_question_only(results: Sequence[Result]) -> list[Result]:
    """Floors from runs of the question-only model, of the same dataset, pair and train size."""
    read: dict[tuple[Path, str, int | None], list[float]] = {}
    for each in results:
        is_last = each.checkpoint == LAST and not each.source.after
        if each.source.model == QUESTION_ONLY and is_last and IID in each.accuracies:
            read.setdefault(_trained_on(each), []).append(each.accuracies[IID])
    return [
        replace(each, floor=float(np.mean(read[_trained_on(each)])), floor_from=QUESTION_ONLY)
        if _trained_on(each) in read
        else each
        for each in results
    ]


def _trained_on(result: Result) -> tuple[Path, str, int | None]:
    return result.source.dataset.resolve(), result.hop, result.train_size
