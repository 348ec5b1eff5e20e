"""Collects predictions into an array of answers for each model and test set, and records all problems."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.question_kinds import NONCE, SINGLE, kind_of
from clevrhope.dataset.suite_questions import DIGITS
from clevrhope.errors import ClevrhopeError, PredictionsError, command_line, shown
from clevrhope.metrics.answer_key import AnswerKey, has_to_be_answered
from clevrhope.metrics.predictions import first_row, read_predictions
from clevrhope.metrics.rows import Block, Indices, Target
from clevrhope.runtime.digits import number_order
from clevrhope.runtime.progress import Advance, Progress, Silent
from clevrhope.runtime.settings import suggestion
from clevrhope.splits.nonce.kinds import condition_and_control, is_nonce

AnswerNumbers = npt.NDArray[np.int16]
"""(N,) the number of the predicted answer to each question of a test set, or a constant below."""

NOT_GIVEN, NOT_AN_ANSWER = -1, -2


CONDITIONS = ("instruction", "jpeg", "support")
"""What a model was asked under: columns that all requests, and all predictions that are compared, share."""

EXAMPLES = 3
"""Number of problems of each kind that a message names; all are counted."""

_SINGULAR_AND_PLURAL: Mapping[str, tuple[str, str]] = {
    "hops missing": ("HOP without predictions", "HOPs without predictions"),
    "missing": ("question missing", "questions missing"),
    "doubled": ("prediction doubled", "predictions doubled"),
    "hop": ("prediction for an unknown HOP", "predictions for unknown HOPs"),
    "split": ("prediction for an unknown split", "predictions for unknown splits"),
    "question": ("prediction for an unknown question", "predictions for unknown questions"),
    "answer": ("unknown answer", "unknown answers"),
    "target": ("target that is not the right answer", "targets that are not the right answers"),
    "suite": (
        "prediction about other questions than the suite has now",
        "predictions about other questions than the suite has now",
    ),
}
"""Kind -> its name in messages."""


@dataclass
class Problems:
    """Problems in the input, counted by kind, with the first few of each kind."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    """Kinds with more examples than a message names."""
    _unknown: set[tuple[str, ...]] = field(default_factory=set)

    def note(self, kind: str, n: int, examples: Iterable[str]) -> None:
        """Adds n problems of a kind; takes no more of `examples` than a message needs."""
        if not n:
            return
        self.counts[kind] = self.counts.get(kind, 0) + n
        named = self.examples.setdefault(kind, [])
        for example in examples:
            if len(named) >= EXAMPLES:
                self.cut.add(kind)
                return
            named.append(example)

    def note_unknown(self, kind: str, n: int, example: str, *name: str) -> None:
        """Adds n problems with an unknown name, which is an example only once."""
        self.note(kind, n, [] if name in self._unknown else [example])
        self._unknown.add(name)

    def summary(self) -> str:
        """All problems as part of a sentence."""
        return ", ".join(
            f"{n:,} {_SINGULAR_AND_PLURAL[kind][n != 1]} ({'; '.join(self.examples[kind])}"
            f"{'; ...' * (kind in self.cut)})"
            for kind, n in self.counts.items()
        )


class Collector:
    """Collects blocks of predictions, using two bytes for each question and model."""

    def __init__(
        self, key: AnswerKey, hops: Iterable[str] | None = None, *, suite: str | None = None
    ) -> None:
        """Accepts predictions about the given HOPs and, if one is named, about a suite.

        Args:
            key: the right answers.
            hops: the HOPs to score, all of the folder's if None. Predictions about other HOPs are ignored,
                even if the folder lacks them, because a model's file may cover more HOPs.
            suite: the suite to score; its predictions are collected along with those about the splits' own
                questions. Predictions about other suites are ignored.
        """
        self._key = key
        self._suite = suite
        self._only_some = hops is not None
        self.hops = tuple(key.splits) if hops is None else tuple(dict.fromkeys(hops))
        self.given: dict[Target, AnswerNumbers] = {}
        self.n_predictions = 0
        self.n_left_aside = 0
        self.n_of_suites = 0
        """Predictions about suites that are not looked at."""
        self.other_suites: set[str] = set()
        """The names of these suites."""
        self.n_of_others = 0
        """Predictions about questions of other kinds than are scored."""
        self.problems = Problems()

    def add(self, block: Block) -> None:
        """Adds the predictions of a block."""
        numbers = np.asarray(
            [self._key.answers.get(text, NOT_AN_ANSWER) for text in block.answers], dtype=np.int16
        )
        for target, suite_file, rows in _by_target(block):
            if self._is_scored(target, block, rows) and self._fits(target, suite_file, block, rows):
                self._add(target, block, rows, numbers)

    def _is_scored(self, target: Target, block: Block, rows: Indices) -> bool:
        key, kind = self._key, kind_of(target.split)
        if target.suite is not None and target.suite != self._suite:
            self.n_of_suites += len(rows)
            self.other_suites.add(target.suite)
            return False
        splits = key.splits.get(target.hop)
        if splits is not None and target.suite is not None:
            splits = key.suite_splits(target.hop, target.suite)
        place = block.place(rows[0])
        if self._only_some and target.hop not in self.hops:
            self.n_left_aside += len(rows)
        elif kind is not key.kind and (
            key.kind is not SINGLE or kind is NONCE or target.split in kind.splits
        ):
            self.n_of_others += len(rows)
        elif splits is None:
            example = f'{place}: "{target.hop}"{_near_name(target.hop, key.splits)}'
            self.problems.note_unknown("hop", len(rows), example, target.hop)
        elif target.split not in splits:
            known = _near_name(target.split, splits) or f", known: {', '.join(splits) or 'none'}"
            of = target.hop if target.suite is None else f"suite {target.suite} of {target.hop}"
            example = f'{place}: "{target.split}" of {of}{known}'
            self.problems.note_unknown("split", len(rows), example, of, target.split)
        else:
            return True
        return False

    def _fits(self, target: Target, suite_file: str | None, block: Block, rows: Indices) -> bool:
        """Whether rows about a suite refer to its current file; True if they do not name one."""
        if target.suite is None or suite_file is None:
            return True
        now = self._key.suite_sha256(target.hop, target.suite, target.split)
        if any(digest.startswith(suite_file) for digest in now):
            return True
        example = (
            f"{block.place(rows[0])}: {target.hop} {target.split}, answered for a file with SHA-256 "
            f"{suite_file[:DIGITS]}; it has {now[0][:DIGITS]}"
        )
        self.problems.note_unknown("suite", len(rows), example, *target[:2], suite_file)
        return False

    def _add(self, target: Target, block: Block, rows: Indices, numbers: AnswerNumbers) -> None:
        if target.suite is None:
            n, name = len(self._key.test_set(target.hop, target.split)), f"{target.hop} {target.split}"
        else:
            n = len(self._key.pairs(target.hop, target.suite, target.split))
            name = f"{target.hop} {target.split} of suite {target.suite}"
        given = self.given.setdefault(target, np.full(n, NOT_GIVEN, dtype=np.int16))
        index = block.question_index[rows]
        inside = (index >= 0) & (index < n)
        outside = rows[~inside]
        self.problems.note(
            "question",
            len(outside),
            (f"{block.place(k)}: {block.question_index[k]} of {name}, which has {n:,}" for k in outside),
        )
        rows, index = rows[inside], index[inside]
        is_first = np.zeros(len(rows), dtype=bool)
        is_first[np.unique(index, return_index=True)[1]] = True
        again = rows[~is_first | (given[index] != NOT_GIVEN)]
        self.problems.note(
            "doubled", len(again), (f"{block.place(k)}: {target} {block.question_index[k]}" for k in again)
        )
        answers = numbers[block.answer[rows]]
        unknown = rows[answers == NOT_AN_ANSWER]
        self.problems.note("answer", len(unknown), (self._unknown_answer(block, k) for k in unknown))
        given[index] = answers
        if block.right:
            self._check_right(target, block, rows, index)
        self.n_predictions += len(rows)

    def _check_right(self, target: Target, block: Block, rows: Indices, index: Indices) -> None:
        """Notes rows whose right answers, by their file, are not those of the dataset."""
        table = self._key.test_set(target.hop, target.split)
        for k, number in zip(rows.tolist(), table.answers[index].tolist(), strict=True):
            said, right = block.right[k], table.answer_names[number]
            if said not in (None, right):
                example = f'{block.place(k)}: "{said}" where the dataset has "{right}"'
                self.problems.note("target", 1, [example])

    def _unknown_answer(self, block: Block, k: int) -> str:
        text = block.answers[block.answer[k]]
        shown = text if len(text) <= 40 else f"{text[:37]}..."
        return f'{block.place(k)}: "{shown}"{_near_name(text[:40], self._key.answers)}'

    def finish(self, *, partial: bool, what: str) -> None:
        """Checks that there are no problems; `partial` allows missing predictions. `what` begins the message.

        Raises:
            PredictionsError: there are problems; the message counts each kind and names the first few.
        """
        problems = self.problems
        if not (problems.counts or self.n_predictions):
            about = f" about {', '.join(self.hops)}" if self.n_left_aside else ""
            raise PredictionsError(f"{what}: no predictions{about}{self._but_others()}")
        if not partial:
            self._note_missing()
        if not problems.counts:
            return
        remedies = []
        if "target" in problems.counts:
            remedies.append("give the dataset that was answered")
        if problems.counts.keys() - {"suite", "target"}:
            remedies.append(
                "each question of each test set needs one prediction per run, with an answer of vocab.json"
            )
        if "suite" in problems.counts:
            command = command_line("evaluate", "RUN", "--suite", self._suite)
            remedies.append(f"the suite was made anew since, so answer it again: {command}")
        if "missing" in problems.counts or "hops missing" in problems.counts:
            remedies.append("--hop scores some HOPs only, --partial scores what is there")
        raise PredictionsError(f"{what}: {problems.summary()}; {'; '.join(remedies)}", counts=problems.counts)

    def _but_others(self) -> str:
        """The part of the "no predictions" message about the predictions that there are."""
        others = []
        if self.n_of_others:
            others.append(
                f"{self.n_of_others:,} of another kind: --covr scores sets of images, --nonce episodes, and "
                "neither scores single images"
            )
        if self.other_suites:
            names = ", ".join(sorted(self.other_suites))
            others.append(f"{self.n_of_suites:,} about paired tests, which --suite {names} scores")
        return f" (but {' and '.join(others)})" if others else ""

    def hops_missing(self) -> tuple[str, ...]:
        """HOPs without any prediction."""
        answered = {target.hop for target in self.given}
        return tuple(hop for hop in self.hops if self._key.splits[hop] and hop not in answered)

    def _note_missing(self) -> None:
        missing = self.hops_missing()
        self.problems.note("hops missing", len(missing), missing)
        models = dict.fromkeys(target._replace(split="") for target in self.given)
        for model in models:
            for split in self._key.splits[model.hop]:
                if kind_of(split) is NONCE and not has_to_be_answered(split):
                    continue  # controls may be about some of the episodes
                target = model._replace(split=split)
                given = self.given.get(target)
                if given is None:
                    n = len(self._key.test_set(target.hop, split)) if has_to_be_answered(split) else 0
                    self.problems.note("missing", n, [f"{target}: all {n:,}"])
                elif n_missing := int(np.count_nonzero(given == NOT_GIVEN)):
                    first = np.flatnonzero(given == NOT_GIVEN)[:EXAMPLES].tolist()
                    and_more = ", ..." if n_missing > EXAMPLES else ""
                    named = f"{target}: {', '.join(map(str, first))}{and_more}"
                    self.problems.note("missing", n_missing, [named])


def _by_target(block: Block) -> Iterator[tuple[Target, str | None, Indices]]:
    """The rows of each target, in order, with the digest of the suite's file that they name."""
    order = np.argsort(block.target, kind="stable")
    bounds = np.searchsorted(block.target[order], np.arange(len(block.targets) + 1))
    for k, (target, suite_file) in enumerate(zip(block.targets, block.suite_files, strict=True)):
        yield target, suite_file, order[bounds[k] : bounds[k + 1]]


def _near_name(name: str, known: Iterable[str]) -> str:
    """A suggestion of the known name that is meant, to stand in a list inside brackets."""
    near = suggestion(name, known).strip(" ()")
    return f", {near}" if near else ""


def collect(
    files: Iterable[Path],
    key: AnswerKey,
    hops: Iterable[str] | None = None,
    *,
    suite: str | None = None,
    partial: bool,
    progress: Progress | None = None,
) -> Collector:
    """All predictions of files; arguments as for `Collector` and its `finish`.

    Raises:
        PredictionsError: as for `read_predictions` and `finish`.
    """
    collector = Collector(key, hops, suite=suite)
    files = list(files)
    with (progress or Silent()).stage("Reading predictions", total=0, unit="predictions") as advance:
        rows = {file: first_row(file) for file in files}
        _check_one_condition(rows)
        for file in files:
            key.check_asked_of(file, rows[file].get("asked_of"))
            _add_all(read_predictions(file), collector, advance)
    if key.kind.of_sets:  # a file covers the HOPs of its model alone, not all HOPs of the folder
        about = {target.hop for target in collector.given}
        collector.hops = tuple(hop for hop in key.splits if hop in (hops or about))
    collector.finish(partial=partial, what=", ".join(map(str, files)))
    return collector


def _check_one_condition(rows: Mapping[Path, Mapping[str, Any]]) -> None:
    """Checks that files that answer requests have the same instruction and the same form of images.

    Raises:
        PredictionsError: two of the files, whose first rows are given, do not.
    """
    asked = {file: row for file, row in rows.items() if row.get("asked_of") is not None}
    for key in CONDITIONS:
        found = {"none" if row.get(key) is None else shown(row[key]): file for file, row in asked.items()}
        if len(found) > 1:
            (one, first), (other, second), *_ = found.items()
            raise PredictionsError(
                f"{second}: {key} is {other}, but {one} in {first}; accuracies with different "
                "ones are not comparable, so score these files by themselves"
            )


def collect_with_suites(
    file: Path, key: AnswerKey
) -> tuple[Collector, dict[str, Collector | ClevrhopeError]]:
    """The predictions of a file that is read once: those about test sets, and those about each suite as well.

    A suite whose own files cannot be read has the error in place of its predictions. The predictions about
    test sets are checked, but may be incomplete; those about suites are for `score_suite` to check.

    Raises:
        PredictionsError: as for `collect`.
    """
    first = first_row(file)
    key.check_asked_of(file, first.get("asked_of"))
    blocks = list(read_predictions(file))
    own = _add_all(blocks, Collector(key))
    condition, _ = condition_and_control(str(first.get("split")))
    if is_nonce(condition) and not own.n_predictions:
        command = command_line("score", key.folder, file, "--nonce")
        raise PredictionsError(
            f"{file}: it answers episodes, but report shows questions about single images and about sets of "
            f"images; to score episodes: {command}"
        )
    own.finish(partial=True, what=str(file))
    of_suites: dict[str, Collector | ClevrhopeError] = {}
    for suite in sorted(own.other_suites):
        try:
            of_suites[suite] = _add_all(blocks, Collector(key, suite=suite))
        except ClevrhopeError as error:
            of_suites[suite] = error
    return own, of_suites


def _add_all(blocks: Iterable[Block], collector: Collector, advance: Advance | None = None) -> Collector:
    for block in blocks:
        collector.add(block)
        if advance:
            advance(len(block))
    return collector


def train_sizes(given: Iterable[Target], hop: str) -> list[int | None]:
    """The train sizes of a HOP's predictions: an unknown size first, then in ascending order."""
    sizes = {target.train_size for target in given if target.hop == hop}
    return sorted(sizes, key=lambda size: -1 if size is None else size)


def runs_of(given: Iterable[Target], hop: str, size: int | None) -> list[str | None]:
    """The runs of a HOP and train size: the unnamed run first, then by number, then the others by name."""

    def rank(run: str | None) -> tuple[int, tuple[tuple[int, str], ...], str]:
        if run is None:
            return (0, (), "")
        return (1, number_order(run), run) if run.isdecimal() else (2, (), run)

    runs = {target.run for target in given if (target.hop, target.train_size) == (hop, size)}
    return sorted(runs, key=rank)
