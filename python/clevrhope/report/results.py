"""Results: the accuracies, gaps and matched gaps of each run on each held-out pair."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np

from clevrhope.dataset.contents import same_hop
from clevrhope.dataset.vocab import NO_ANSWER
from clevrhope.errors import ClevrhopeError, PredictionsError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.baselines import BASELINES, answers_by_family
from clevrhope.metrics.collector import NOT_GIVEN, AnswerNumbers, Collector, collect_with_suites
from clevrhope.metrics.covr import read_training
from clevrhope.metrics.estimates import Estimate, QuestionOnly, estimates, mean_of, mean_of_runs
from clevrhope.metrics.matched_gap import MatchedGap, Matcher
from clevrhope.metrics.measures import MINIMAL_GROUPS
from clevrhope.metrics.published import size_name
from clevrhope.metrics.rows import Target
from clevrhope.metrics.text_tables import described
from clevrhope.report.runs import Source
from clevrhope.report.setups import dropped
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.splits.kinds import IID, OOD, SPLITS, SYSTEMATICITY_GAPS
from clevrhope.splits.palettes import MARK, parse_diversity

QUESTION_ONLY = "question_only"
"""The model whose runs are the question-only baseline."""

BY_FAMILY = "majority_by_family"
"""The baseline that stands in for it where there are no such runs."""

FLOORS = (QUESTION_ONLY, *BASELINES)
"""Models that see no image, whose gaps are no result of their own."""

KINDS = tuple(SYSTEMATICITY_GAPS)

Keys = Callable[[Path], AnswerKey]
"""Takes a dataset's folder, gives its answer key."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run's weights on a held-out pair.

    Attributes:
        source: The file of predictions, its checkpoint, and what must be said wherever the result is shown.
        model: Name of the model, with how its runs were trained and how it answered if these differ.
        hop: The sub-dataset, such as rubber_cylinder or cyan_cylinder-d8-grid.
        held_out: Name of the held-out pair, without its palette.
        types: Attribute types of the pair.
        diversity: Number of combinations of values, including the pair; 0 if unknown.
        mode: "random" or "grid" for controlled diversity; "" for a plain pair.
        train_size: Number of questions trained on; None if unknown.
        run: Name of the run among others of its kind.
        accuracies: Test set -> accuracy in per cent, with its draws.
        groups: A measure of `measures.MINIMAL_GROUPS` -> minimal set -> that measure in per cent.
        constants: Test set -> accuracy in per cent of always giving its most frequent answer; only for the
            minimal sets, whose answers are not balanced.
        n_missing: Number of questions without a prediction, which are left out.
        n_asked: Test set -> number of questions with a prediction.
        n_unanswered: Test set -> number of predictions that are not an answer, which count as wrong.
        matched: The matched complex gap; None if it is unknown.
        blind: The runs of question_only on the same sub-dataset, at the train size nearest to this one's; if
            there are none, the most frequent answer of each family in train; None without a train set.
        suites: Suite that the file also has predictions about -> these, with those of all of its runs, or why
            the suite cannot be read.
        trained_diversity: Diversity of the sub-dataset that the run was trained on; 0 if unknown.
        answers: Test set -> (N,) the answers to it.
        as_in_rows: Run and train size as the rows of predictions say them; None for what they do not say.
    """

    source: Source
    model: str
    hop: str
    held_out: str
    types: tuple[str, ...]
    diversity: int
    mode: str
    train_size: int | None
    run: str
    accuracies: Mapping[str, Estimate]
    groups: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    n_missing: int = 0
    n_asked: Mapping[str, int] = field(default_factory=dict)
    n_unanswered: Mapping[str, int] = field(default_factory=dict)
    matched: MatchedGap | None = None
    blind: QuestionOnly | None = None
    suites: Mapping[str, Collector | ClevrhopeError] = field(default_factory=dict, repr=False, compare=False)
    trained_diversity: int = 0
    answers: Mapping[str, AnswerNumbers] = field(default_factory=dict, repr=False, compare=False)
    as_in_rows: tuple[str | None, int | None] = (None, None)

    @property
    def floor(self) -> float | None:
        """Complex_iid accuracy of the question-only baseline in per cent; None if unknown."""
        return self.blind.accuracies[IID].value if self.blind else None

    @property
    def size(self) -> str:
        """The train size as the paper writes it."""
        return size_name(self.train_size)

    @property
    def combinations(self) -> str:
        """The pair whose combinations are controlled, as "cyan_cylinder, grid"; "" for a plain pair."""
        if not self.mode:
            return ""
        return self.held_out if self.mode == "random" else f"{self.held_out}, {self.mode}"

    @property
    def collapsed(self) -> bool:
        """Whether the run collapsed; False if that is unknown, and for question-only models and baselines.

        A run has collapsed if its complex IID accuracy is below that of the question-only baseline: it
        learned less than the questions alone give. A run is never judged on an OOD split, since leaving out
        what is bad there would make every gap smaller. The paper's tables contain such runs (8 of 87 cells of
        LXMERT-p have a deviation over 20 points); the rule is a choice of this project.
        """
        if self.source.model in FLOORS:
            return False
        iid = self.accuracies.get(IID)
        return iid is not None and self.floor is not None and iid.value < self.floor

    def gap(self, kind: str) -> Estimate | None:
        """The complex or minimal gap in points; None unless both of its test sets are there."""
        gap = SYSTEMATICITY_GAPS[kind]
        ood, iid = self.accuracies.get(gap.name), self.accuracies.get(gap.baseline)
        return None if ood is None or iid is None else ood.minus(iid)

    def figure(self, measure: str, split: str) -> Estimate | None:
        """A figure of the run; None where it does not have it.

        Args:
            measure: "accuracy", or "blind" for that of the question alone; one of `groups`; "gap", or of the
                questions that have a match "matched_gap" and "plain_gap".
            split: the test set; of a gap, "complex" or "minimal".
        """
        if measure == "accuracy":
            return self.accuracies.get(split)
        if measure == "blind":
            return self.blind.accuracies.get(split) if self.blind else None
        if measure == "gap":
            return self.gap(split)
        if measure in MINIMAL_GROUPS:
            return self.groups.get(measure, {}).get(split)
        if self.matched is None:
            return None
        return self.matched.points if measure == "matched_gap" else self.matched.plain

    @property
    def is_elsewhere(self) -> bool:
        """Whether the test sets are of another sub-dataset of the pair than the run was trained on."""
        return bool(self.source.hop) and not same_hop(self.source.hop, self.hop)

    @property
    def sub_dataset(self) -> tuple[Path, str]:
        """The dataset and HOP that it was trained on."""
        return self.source.dataset.resolve(), self.hop


Item = TypeVar("Item")
Key = TypeVar("Key")


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items by key; keys and items are in the order in which they come."""
    found: dict[Key, list[Item]] = {}
    for each in items:
        found.setdefault(key(each), []).append(each)
    return found


def means_by(
    key: Callable[[Result], Key], results: Iterable[Result], measure: str, split: str
) -> dict[Key, float]:
    """The mean of a figure over the results of each key that have it; `measure` as for `Result.figure`."""
    found = [(key(each), it.value) for each in results if (it := each.figure(measure, split)) is not None]
    means = grouped(found, lambda pair: pair[0]).items()
    return {name: mean_of([value for _, value in of]).value for name, of in means}


def measure(
    sources: Iterable[Source], *, progress: Progress | None = None, keys: Keys | None = None
) -> tuple[list[Result], tuple[str, ...]]:
    """The results of all files in their order, and a sentence for each file that cannot be scored.

    `keys` is given to share the answer keys with other functions.
    """
    sources = list(sources)
    if not sources:
        return [], ()
    keys, progress = keys or cache(AnswerKey), progress or Silent()
    matchers, floors = cache(Matcher), cache(_by_family)
    found: list[Result] = []
    skipped = []
    with progress.stage("Scoring", total=len(sources), unit="files") as advance:
        for source in sources:
            try:
                key = keys(source.dataset)
                check_dataset(source, key)
                found += [*_results(source, key, matchers(key), floors)]
            except ClevrhopeError as error:
                skipped.append(str(error))
            advance(1)
    return _with_question_only(found), tuple(dict.fromkeys(skipped))


def runs_about_sets(sources: Iterable[Source], *, keys: Keys) -> Iterator[Result]:
    """The runs of files about sets of images that name suites: they have no accuracies, which are COVR's.

    The model's name says what a run held out. Files that cannot be read are left to `measure_covr`.
    """
    for source in sources:
        with suppress(ClevrhopeError):
            key, training = keys(source.dataset), read_training(source.path)
            collector, suites = collect_with_suites(source.path, key)
            held_out = "" if training.role == "all" else f", trained {described(training)}"
            runs = dict.fromkeys(target._replace(split="") for target in collector.given)
            for target in runs if suites and source.is_last else ():
                yield _without_accuracies(source, f"{source.name}{held_out}", target, key, suites)


def _without_accuracies(
    source: Source,
    model: str,
    target: Target,
    key: AnswerKey,
    suites: Mapping[str, Collector | ClevrhopeError],
) -> Result:
    """A result with what is known of a run without its answers."""
    held_out, types, diversity, mode = _pair(target.hop, key)
    return Result(
        source=source,
        model=model,
        hop=target.hop,
        held_out=held_out,
        types=types,
        diversity=diversity,
        mode=mode,
        train_size=source.train_size if target.train_size is None else target.train_size,
        run=(source.run if target.run is None else target.run) or "",
        accuracies={},
        suites=suites,
        trained_diversity=_pair(source.hop, key)[2] if source.hop else diversity,
        as_in_rows=(target.run, target.train_size),
    )


def check_dataset(source: Source, key: AnswerKey) -> None:
    """Checks that a run was trained on the dataset that is in the folder now, if it says so.

    Raises:
        PredictionsError: it was trained on another one, with other questions or images.
    """
    if differs := key.difference_from(source.trained_on, source.hop):
        raise PredictionsError(
            f"{source.origin}: trained on another dataset than the one that is in {key.folder} now "
            f"({differs})"
        )


def _results(
    source: Source,
    key: AnswerKey,
    matcher: Matcher,
    floor_of: Callable[[AnswerKey, str, int | None], QuestionOnly | None],
) -> Iterator[Result]:
    collector, of_suites = collect_with_suites(source.path, key)
    way = source.way and f", {source.way.replace('_', ' ')}"
    after = "best weights" if source.after == "best" else f"after stage {source.after}"
    runs: dict[Target, dict[str, AnswerNumbers]] = {}
    for target, answers in collector.given.items():
        runs.setdefault(target._replace(split=""), {})[target.split] = answers
    for target, given in runs.items():
        hop = target.hop
        model = f"{source.name}{way}{source.after and f', {after}'}"
        result = _without_accuracies(source, model, target, key, of_suites)
        measured = estimates(key, hop, given)
        found = measured.pop("accuracy")
        n_missing, n_asked, n_unanswered = _counts(source, key, hop, given)
        minimal = {each: key.test_set(hop, each).answers for each in found if SPLITS[each].drawn == "places"}
        yield replace(
            result,
            accuracies=found,
            groups=measured,
            constants={
                split: 100 * float(np.bincount(each).max()) / len(each) for split, each in minimal.items()
            },
            n_missing=n_missing,
            n_asked=n_asked,
            n_unanswered=n_unanswered,
            matched=matcher.gap(hop, given, found.get(IID)),
            blind=floor_of(key, hop, result.train_size),
            answers=given,
        )


def _counts(
    source: Source, key: AnswerKey, hop: str, given: Mapping[str, AnswerNumbers]
) -> tuple[int, dict[str, int], dict[str, int]]:
    """`n_missing`, `n_asked` and `n_unanswered` of a result."""
    nothing = key.answers.get(NO_ANSWER)
    n_missing, n_asked, n_unanswered = 0, {}, {}
    for split in key.splits[hop]:
        answers = key.test_set(hop, split).answers
        there = given[split] != NOT_GIVEN if split in given else np.zeros(len(answers), dtype=bool)
        is_asked = SPLITS[split].is_test_set and hop == (source.hop or hop)
        n_missing += int(np.count_nonzero(~there)) if is_asked or there.any() else 0
        if there.any():
            n_asked[split] = int(np.count_nonzero(there))
            n_unanswered[split] = 0 if nothing is None else int(np.count_nonzero(given[split] == nothing))
    return n_missing, n_asked, n_unanswered


def _pair(hop: str, key: AnswerKey) -> tuple[str, tuple[str, ...], int, str]:
    """The pair's name, types and diversity, and the mode of controlled diversity."""
    base, _, palette = hop.partition(MARK)
    if (parsed := key.parsed(hop)) is None:
        return base, (), 0, ""
    types = tuple(kind for kind, _ in parsed.held_out or ())
    if limit := parse_diversity(palette):
        return base, types, limit[0], "random" if limit[1] == "nested" else limit[1]
    return base, types, parsed.diversity, palette


def _by_family(key: AnswerKey, hop: str, size: int | None) -> QuestionOnly | None:
    """The most frequent answer of each family in train, on the complex test sets; None without a train set.

    If the folder's train set is smaller than the run's, all of it is used.
    """
    splits = [split for split in (IID, OOD) if split in key.splits[hop]]
    for n_questions in (size, None) if IID in splits else ():
        with suppress(ClevrhopeError):
            given = {split: answers_by_family(key.folder, hop, split, n_questions) for split in splits}
            return QuestionOnly(estimates(key, hop, given)["accuracy"], n_questions, BY_FAMILY)
    return None


def _with_question_only(results: Sequence[Result]) -> list[Result]:
    """The results with the accuracies of question-only runs that were trained on the same sub-dataset."""
    runs: dict[tuple[Path, str], dict[tuple[int, str], list[Result]]] = {}
    for each in results:
        is_whole = each.source.is_last and not each.is_elsewhere and not dropped(each.source.setup)
        if each.source.model == QUESTION_ONLY and is_whole and IID in each.accuracies:
            of_place = runs.setdefault(each.sub_dataset, {})
            of_place.setdefault((each.train_size or 0, each.model), []).append(each)
    return [_beside(each, runs.get(each.sub_dataset, {})) for each in results]


def _beside(result: Result, known: Mapping[tuple[int, str], Sequence[Result]]) -> Result:
    """The result with the question-only runs of the nearest train size.

    Of two sizes as near, it is the larger; of runs that were trained in different ways, the first by name.
    """
    if not known:
        return result
    size = result.train_size or 0
    nearest = known[min(known, key=lambda key: (abs(key[0] - size), -key[0], key[1]))]
    splits = set.intersection(*(set(each.accuracies) for each in nearest))
    means = {split: mean_of_runs([each.accuracies[split] for each in nearest], stream=1) for split in splits}
    return replace(result, blind=QuestionOnly(means, nearest[0].train_size))
