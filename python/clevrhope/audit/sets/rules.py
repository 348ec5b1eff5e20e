"""The table of rules for questions over several images: line of the report, column, function and sentence."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clevrhope.audit.sets.batch import DISTRACTORS, NOWHERE, QUESTION, Batch, Flags
from clevrhope.splits.covr.kinds import COVR_KINDS

FILES, PROGRAMS, CUTS, PAIR = (
    f"several images: {name}" for name in ("files", "programs", "distractors", "pair")
)

MOST_OBJECTS = 64
"""Maximum number of objects in a set."""

_SPECIAL = 4
"""How many numbers of a vocabulary are special tokens, and not words, functions or answers."""

UNIQUE = (
    "verify_attr",
    "choose_attr",
    "query_attr",
    "verify_same_attr",
    "query_object",
    "choose_object",
    "choose_relation",
)
"""Templates about the unique object that fits a description."""

DECIDED = ("verify_logic", "verify_quantifier", "verify_quantifier_attr")
"""Templates whose answer one image can decide, so that it need not change without the last leaf."""


@dataclass(frozen=True)
class Rule:
    """A row of the table."""

    line: str
    problem: str
    """The sentence of a fault; it may name the `words` and `noun` for what is held out, and the `pool`."""
    value: str
    """The column, or attribute of a batch, that shows a fault."""
    wrong: Callable[[Batch], Flags]
    """(N,) which rows break the rule."""


def _unknown(name: str, last: Callable[[Batch], int]) -> Rule:
    """The rule that tokens are in the vocabulary."""

    def wrong(batch: Batch) -> Flags:
        found: Flags = ((batch[name] < 0) | (batch[name] > last(batch))).any(axis=1)
        return found

    return Rule(FILES, f"{name}: tokens that are not in covr/vocab.json", name, wrong)


def _not_of_pair(name: str, what: str) -> Rule:
    """The rule that the two questions of a pair have the same tokens."""

    def wrong(batch: Batch) -> Flags:
        first, second = batch.halves(name)
        return batch.second((first != second).any(axis=1))

    return Rule(FILES, f"not the {what} of the question before it, its pair", "numbers", wrong)


def _same_answer(batch: Batch) -> Flags:
    first, second = batch.halves("answers")
    return batch.second(first == second)


def _no_answer(batch: Batch) -> Flags:
    known = [number for number in batch.file.vocab.answers.values() if number >= _SPECIAL]
    return ~np.isin(batch["answers"], known)


def _elsewhere(batch: Batch) -> Flags:
    """If any image shows the first described set, or else the second, the source must show it."""
    at_source = np.take_along_axis(batch.describes, batch.source, axis=1)[:, 0]
    found: Flags = batch.describes.any(axis=1) & ~at_source
    return found


def _not_unique(batch: Batch) -> Flags:
    members = np.maximum(batch.matches, 0)  # (N, 2, 5)
    n = members.sum(axis=2)
    at_source = np.take_along_axis(members, batch.source[:, None], axis=2)[:, :, 0]  # (N, 2)
    is_right = (n[:, 0] == 1) & (at_source[:, 0] == 1)
    is_right &= (batch.by_program != "verify_same_attr") | ((n[:, 1] == 1) & (at_source[:, 1] == 0))
    found: Flags = np.isin(batch.by_program, UNIQUE) & batch.is_executed & ~is_right
    return found


def _idle(batch: Batch) -> Flags:
    is_edited = batch.file.settings.distractors == "edited"
    found: Flags = batch.is_executed & (batch.found.cut == 0) & ~np.isin(batch.by_program, DECIDED)
    return found & is_edited


def _of_pair(wrong: Callable[[Batch], Flags], *, mentions: bool | None = None) -> Callable[[Batch], Flags]:
    """A rule of splits of a pair, of those that mention it, or of those that do not."""

    def of_pair(batch: Batch) -> Flags:
        split = batch.file.split
        if split.hop.held_out is None or mentions not in (None, COVR_KINDS[split.name].mentions):
            return np.zeros(len(batch), dtype=np.bool_)
        return wrong(batch)

    return of_pair


def _in_question(batch: Batch) -> Flags:
    """(N,) whether the question may and must mention the pair."""
    found: Flags = (batch["pair_places"] == QUESTION) & COVR_KINDS[batch.file.split.name].mentions
    return found


def _distractors_do_not(batch: Batch) -> Flags:
    alone = batch.shows_pair.any(axis=1) & ~(batch.shows_pair & batch.describes).any(axis=1)
    found: Flags = (batch["pair_places"] == DISTRACTORS) & batch.is_executed & ~alone
    return found


def _shows(batch: Batch) -> Flags:
    found: Flags = batch.shows_pair.any(axis=1) & (batch.file.settings.covr_hold == "both")
    return found


RULES = (
    Rule(
        FILES,
        "sources is not the place of an image",
        "sources",
        lambda b: (b["sources"] < 0) | (b["sources"] >= b.n_images),
    ),
    Rule(FILES, "answers: not in covr/vocab.json", "answers", _no_answer),
    _unknown("questions", lambda b: max(b.file.vocab.words.values(), default=0)),
    _unknown("programs", lambda b: max(b.file.vocab.functions.values(), default=0)),
    Rule(FILES, "image_idxs: not different scenes, then -1", "image_idxs", lambda b: ~b.is_set),
    Rule(
        FILES,
        "image_idxs: scenes that the files of {pool} lack",
        "image_idxs",
        lambda b: b.is_set & b.is_missing.any(axis=1),
    ),
    Rule(
        FILES,
        f"more than {MOST_OBJECTS} objects in its images",
        "n_objects",
        lambda b: b.n_objects.sum(axis=1) > MOST_OBJECTS,
    ),
    _not_of_pair("questions", "text"),
    _not_of_pair("programs", "program"),
    Rule(FILES, "the answer of the question before it, its pair", "answers", _same_answer),
    Rule(
        PROGRAMS,
        "its program is of another template than",
        "template",
        lambda b: b.template != b.by_program,
    ),
    Rule(
        PROGRAMS,
        "its program is of another structure than",
        "structures",
        lambda b: b.found.structures != b["structures"],
    ),
    Rule(PROGRAMS, "another image than the source shows what it describes", "sources", _elsewhere),
    Rule(CUTS, "not once in its source and nowhere else; by image it is there", "matches", _not_unique),
    Rule(
        CUTS,
        "cut is not what the program without its last leaf gives, but",
        "cut",
        lambda b: b.is_executed & (b.found.cut != b["cut"]),
    ),
    Rule(CUTS, "its last leaf is of no consequence", "by_program", _idle),
    Rule(
        PAIR,
        "pair_places is not 0, where the pair is held out",
        "pair_places",
        _of_pair(lambda b: b["pair_places"] != NOWHERE, mentions=False),
    ),
    Rule(PAIR, "an image shows a {noun}; images", "image_idxs", _of_pair(_shows, mentions=False)),
    Rule(
        PAIR,
        "pair_places is 0, where each question is about the pair",
        "pair_places",
        _of_pair(lambda b: b["pair_places"] == NOWHERE, mentions=True),
    ),
    Rule(
        PAIR,
        "not distractors alone show a {noun}; by image",
        "shows_pair",
        _of_pair(_distractors_do_not, mentions=True),
    ),
    Rule(PAIR, "mentions {words}: template", "template", _of_pair(lambda b: b.spoken & ~_in_question(b))),
    Rule(
        PAIR,
        "does not mention {words}: template",
        "template",
        _of_pair(lambda b: _in_question(b) & ~b.asked.by_program),
    ),
)
"""What is checked of each row."""
