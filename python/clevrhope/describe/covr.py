"""Measures questions over several images as measured.json has them: answers, forms, properties and cuts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.answer_counts import answer_counts, maj, maj_templ
from clevrhope.dataset.contents import find_split
from clevrhope.dataset.covr_questions import offered_answers, read_description
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import PAIR_PLACES, SETS, STRUCTURES
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.describe.measure import counted
from clevrhope.splits.covr.fragments import steps_of
from clevrhope.splits.covr.kinds import COVR_DEV, COVR_SPLITS, COVR_TRAIN
from clevrhope.splits.covr.programs import anonymised_programs
from clevrhope.splits.covr.selection import bind_predicate

_CUTS = {"changed": 1, "numbers": 2, "stays": 0, "exempt": -1}
"""Names of the numbers of the column `cut`."""


def measure_covr(
    layout: Layout, manifest: Manifest, hop: str, splits: Sequence[str] | None = None
) -> dict[str, dict[str, Any]]:
    """Split -> the measurements of a sub-dataset's splits over several images, of the given ones or of all.

    Raises:
        DatasetError: a file is missing or damaged, or has numbers that are not in the vocabulary.
    """
    listed = manifest.covr.get(hop, {})
    names = [name for name in COVR_SPLITS if name in listed and (splits is None or name in splits)]
    if not names:
        return {}
    vocab = read_vocab(layout.covr_vocab)
    tables = {name: read_table(layout.questions_h5(hop, name), SETS, vocab=vocab) for name in names}
    measured = {split: {**_measure(table), **_composition(table, vocab)} for split, table in tables.items()}
    for split, table in tables.items():
        measured[split]["baselines"] = _guessed(table, tables.get(COVR_TRAIN), vocab)
    return measured


def count_predicates(
    layout: Layout, hop: str, splits: Sequence[str], texts: Sequence[str]
) -> dict[str, dict[str, int]]:
    """Predicate -> split -> the number of questions for which it holds.

    Raises:
        ConfigError: a text is not a predicate, or the sub-dataset lacks covr_train or covr_dev.
        SplitError: it holds for all questions or for none, or its pairs cannot be drawn.
    """
    names = dict.fromkeys(find_split(layout, hop, name) for name in (COVR_TRAIN, COVR_DEV, *splits))
    described = {name: read_description(layout, hop, name) for name in names}
    counts = {}
    for text in texts:
        predicate = bind_predicate(text, train=described[COVR_TRAIN], dev=described[COVR_DEV])
        predicate.check_divides([described[name] for name in splits])
        counts[text] = {name: int(predicate.holds(described[name]).sum()) for name in splits}
    return counts


def _measure(table: QuestionTable) -> dict[str, Any]:
    """The measurements of a split, without `baselines`."""
    answers, is_image = table.answer_names, table.image_idxs >= 0
    of_templates = Counter(_pairs(table.question_families, table.answers))
    cuts = Counter(_pairs(table.question_families, table.cut))
    templates: dict[str, dict[str, Any]] = {}
    for (number, answer), n in sorted(of_templates.items()):
        template = templates.setdefault(table.templates[number], {"questions": 0, "answers": {}})
        template["questions"] += n
        template["answers"][answers[answer]] = n
        template["cut"] = {name: cuts[number, cut] for name, cut in _CUTS.items()}
    n_with = (table.properties == 1).sum(axis=0).tolist()
    return {
        "pool": table.pool,
        "questions": len(table),
        "images": len(table.scenes),
        "images_a_question": counted(is_image.sum(axis=1)),
        "answers": {answers[answer]: n for answer, n in counted(table.answers).items()},
        "templates": templates,
        "structures": {STRUCTURES[number]: n for number, n in counted(table.structures).items()},
        "properties": dict(zip(table.property_names, n_with, strict=True)),
        "pair_places": {PAIR_PLACES[number]: n for number, n in counted(table.pair_places).items()},
        "tokens": counted(table.question_lengths - 2),  # without <START> and <END>
        "functions": counted(table.program_lengths - 2),
        "pairs_not_found": dict(zip(table.templates, table.skipped, strict=True)),
    }


def _composition(table: QuestionTable, vocab: Vocab) -> dict[str, Any]:
    """How many different texts and anonymised programs there are, and how often programs use operators.

    As in COVR's figure 6, but a step that two others use counts for each of them.
    """
    programs = anonymised_programs(steps_of(table.programs, vocab.programs()))
    n_questions = np.bincount(programs.of_questions, minlength=len(programs.texts))
    operators: dict[str, Counter[int]] = {}
    for text, n in zip(programs.texts, n_questions.tolist(), strict=True):
        for operator, times in Counter(text.split()).items():
            operators.setdefault(operator, Counter())[times] += n
    operators.pop("scene", None)  # COVR's programs have no step for it
    return {
        "texts": len(np.unique(table.questions, axis=0)),
        "anonymised_programs": len(programs.texts),
        "operators": {name: dict(sorted(operators[name].items())) for name in sorted(operators)},
    }


def _guessed(table: QuestionTable, train: QuestionTable | None, vocab: Vocab) -> dict[str, float | None]:
    """Accuracy of the answers that are most frequent in train; None without questions or train."""
    if train is None or not len(table):
        return {"maj": None, "maj_templ": None}
    places = (len(train.templates), len(vocab.answers()))
    counts = answer_counts(train.answers, train.question_families, *places)
    offered = offered_answers(table.programs, vocab.programs(), vocab.answer_token_to_idx)
    guesses = {"maj": maj(counts), "maj_templ": maj_templ(counts, table.question_families, offered)}
    return {name: round(float((guess == table.answers).mean()), 6) for name, guess in guesses.items()}


def _pairs(a: npt.NDArray[np.integer[Any]], b: npt.NDArray[np.integer[Any]]) -> Iterable[tuple[int, int]]:
    return zip(a.tolist(), b.tolist(), strict=True)
