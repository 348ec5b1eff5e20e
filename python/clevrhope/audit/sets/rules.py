"""The rules for questions over several images: a function for each line of the report."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from clevrhope.audit.checks.questions import of_tokens, wrong_answers
from clevrhope.audit.report import Found, where
from clevrhope.audit.sets.batch import DISTRACTORS, NOWHERE, QUESTION, Batch, Flags
from clevrhope.splits.covr.kinds import COVR_KINDS

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


def files(batch: Batch) -> Iterator[Found]:
    """Numbers are in their range; images are different scenes of the pool; two questions each are a pair."""
    vocab = batch.file.vocab
    images, sources, answers = (batch[name] for name in ("image_idxs", "sources", "answers"))
    for name in ("questions", "programs"):
        yield from of_tokens(name, batch[name], batch[f"{name[:-1]}_lengths"])
    no_place = (sources < 0) | (sources >= batch.n_images)
    yield from where(no_place, "sources is not the place of an image", sources)
    known = [number for number in vocab.answers.values() if number >= _SPECIAL]
    yield from where(~np.isin(answers, known), "answers: not in covr/vocab.json", answers)
    for name, numbers in (("questions", vocab.words), ("programs", vocab.functions)):
        tokens = batch[name]
        unknown = ((tokens < 0) | (tokens > max(numbers.values(), default=0))).any(axis=1)
        yield from where(unknown, f"{name}: tokens that are not in covr/vocab.json", tokens)
    yield from where(~batch.is_set, "image_idxs: not different scenes, then -1", images)
    missing = batch.is_set & batch.is_missing.any(axis=1)
    yield from where(missing, f"image_idxs: scenes that the files of {batch.file.pool.name} lack", images)
    too_many = batch.n_objects.sum(axis=1) > MOST_OBJECTS
    yield from where(too_many, f"more than {MOST_OBJECTS} objects in its images", batch.n_objects)
    end = len(batch) // 2 * 2
    seconds = range(1, end, 2)
    for name, what in (("questions", "text"), ("programs", "program")):
        differs = (batch[name][0:end:2] != batch[name][1:end:2]).any(axis=1)
        problem = f"not the {what} of the question before it, its pair"
        yield from where(differs, problem, batch.numbers[1:end:2], seconds)
    same = answers[0:end:2] == answers[1:end:2]
    yield from where(same, "the answer of the question before it, its pair", answers[1:end:2], seconds)


def programs(batch: Batch) -> Iterator[Found]:
    """Programs give the answer and are of their template; the source shows what is described, if any does."""
    structures, sources = batch["structures"], batch["sources"]
    yield from wrong_answers(batch.asked.answers, batch["answers"], batch.file.vocab.answer_names)
    other = batch.template != batch.by_program
    yield from where(other, "its program is of another template than", batch.template)
    other = batch.findings.structures != structures
    yield from where(other, "its program is of another structure than", structures)
    at_source = np.take_along_axis(batch.describes, batch.source, axis=1)[:, 0]
    elsewhere = batch.describes.any(axis=1) & ~at_source
    yield from where(elsewhere, "another image than the source shows what it describes", sources)


def distractors(batch: Batch) -> Iterator[Found]:
    """A unique object is in the source alone, and the last leaf of a program matters."""
    members = np.maximum(batch.matches, 0)  # (N, 2, 5)
    n = members.sum(axis=2)
    at_source = np.take_along_axis(members, batch.source[:, None], axis=2)[:, :, 0]  # (N, 2)
    is_right = (n[:, 0] == 1) & (at_source[:, 0] == 1)
    is_right &= (batch.by_program != "verify_same_attr") | ((n[:, 1] == 1) & (at_source[:, 1] == 0))
    wrong = np.isin(batch.by_program, UNIQUE) & batch.is_executed & ~is_right
    yield from where(wrong, "not once in its source and nowhere else; by image it is there", batch.matches)
    other = batch.is_executed & (batch.findings.cut != batch["cut"])
    yield from where(other, "cut is not what the program without its last leaf gives, but", batch["cut"])
    if batch.file.settings.distractors == "edited":
        idle = batch.is_executed & (batch.findings.cut == 0) & ~np.isin(batch.by_program, DECIDED)
        yield from where(idle, "its last leaf is of no consequence", batch.by_program)


def pair(batch: Batch) -> Iterator[Found]:
    """The held-out pair is where the split and `pair_places` say, and nowhere else."""
    hop, settings, places = batch.file.split.hop, batch.file.settings, batch["pair_places"]
    mentions = COVR_KINDS[batch.file.split.name].mentions
    is_nowhere = places == NOWHERE
    if mentions:
        yield from where(is_nowhere, "pair_places is 0, where each question is about the pair", places)
        alone = batch.shows_pair.any(axis=1) & ~(batch.shows_pair & batch.describes).any(axis=1)
        wrong = (places == DISTRACTORS) & batch.is_executed & ~alone
        yield from where(wrong, f"not distractors alone show a {hop.noun}; by image", batch.shows_pair)
    else:
        yield from where(~is_nowhere, "pair_places is not 0, where the pair is held out", places)
        if settings.covr_hold == "both":
            shows: Flags = batch.shows_pair.any(axis=1)
            yield from where(shows, f"an image shows a {hop.noun}; images", batch["image_idxs"])
    implied = batch.asked.implied & (settings.strictness == "implied")
    spoken = batch.asked.by_program | batch.asked.by_words | implied
    must = (places == QUESTION) & mentions
    yield from where(spoken & ~must, f"mentions {hop.words}: template", batch.template)
    yield from where(
        must & ~batch.asked.by_program, f"does not mention {hop.words}: template", batch.template
    )


RULES: Mapping[str, Callable[[Batch], Iterator[Found]]] = {
    "several images: files": files,
    "several images: programs": programs,
    "several images: distractors": distractors,
    "several images: pair": pair,
}
"""By line of the report."""
