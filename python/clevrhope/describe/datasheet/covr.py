"""The section of a datasheet on questions over several images, from measurements of their files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from clevrhope.dataset.covr_h5 import PAIR_PLACES, STRUCTURES
from clevrhope.describe.covr import CovrStats
from clevrhope.describe.covr_paper import FILTERED, MAJ, MAJ_TEMPL, N_TRAIN
from clevrhope.describe.markdown import code, decimal, listed, number, percent, table
from clevrhope.describe.measure import mean
from clevrhope.splits.covr.kinds import COVR_KINDS, COVR_TRAIN

HEADING = "## Questions over several images"

PAPER = (
    'Bogin, Gupta, Gardner and Berant, "COVR: A Test-Bed for Visually Grounded Compositional Generalization '
    'with Real Images" (2021)'
)
"""The paper whose questions these follow."""


def covr_section(splits: Sequence[CovrStats], *, pair: bool) -> str:
    """The section; "" if there are no such questions. The audit reads its table of sizes.

    `pair` says whether a pair is held out.
    """
    return "\n\n".join([HEADING, *_parts(splits, pair=pair)]) if splits else ""


def _parts(splits: Sequence[CovrStats], *, pair: bool) -> Iterator[str]:
    yield (
        f"They follow {PAPER}. Each is about a set of up to five images: the source, on which it was made, "
        "and others that were picked for it, many of which contradict a part of what the question "
        "describes. Two questions in a row have the same text and different answers. The paper had people "
        "check its test questions; this does not apply here, since every answer is that of the program, "
        "executed on the scenes."
    )
    yield _sizes(splits)
    yield "Images per question (share of the questions):"
    sizes = sorted({n for each in splits for n in each.images_a_question})
    yield _shares(splits, sizes, lambda each: each.images_a_question)
    yield from _answers(splits)
    yield "What is described: one object, two, three in a row, or one with relations to two others:"
    yield _shares(splits, STRUCTURES, lambda each: each.structures)
    if pair:
        yield (
            "Where the pair is: mentioned in the question, or only shown in distractors, which are images "
            "without what the question describes:"
        )
        yield _shares(splits, PAIR_PLACES, lambda each: each.pair_places)
    yield (
        "Properties by which COVR's splits hold questions out (share of the questions, and of the paper's "
        f"{number(N_TRAIN)} train questions, where it has the number):"
    )
    yield _properties(splits)
    yield (
        "Is the last object of the description needed, with its relation? The share is that of the questions "
        "whose answer, or a number that it follows from, is lost or changes without it; in brackets is the "
        "share of the template's questions that have nothing to leave out:"
    )
    yield _cuts(splits)
    yield from _skipped(splits)
    yield from _guessing(splits)


def _sizes(splits: Sequence[CovrStats]) -> str:
    rows = [
        (
            code(each.split),
            COVR_KINDS[each.split].role,
            code(each.pool),
            number(each.n_questions),
            number(each.n_images),
            decimal(mean(each.images_a_question)),
            decimal(mean(each.words)),
        )
        for each in splits
    ]
    head = ["split", "for", "pool", "questions", "images", "images per question", "tokens per question"]
    return table(head, rows)


def _shares(
    splits: Sequence[CovrStats], keys: Sequence[Any], counts: Callable[[CovrStats], Mapping[Any, int]]
) -> str:
    """A table with one row for each key and one column for each split."""
    rows = [(key, *(percent(each.share(counts(each).get(key, 0))) for each in splits)) for key in keys]
    return table(["", *(code(each.split) for each in splits)], rows)


def _answers(splits: Sequence[CovrStats]) -> Iterator[str]:
    for each in splits:
        if COVR_KINDS[each.split].paraphrased:
            continue  # It has the questions of another split.
        yield f"Answers to the questions of each template of {code(each.split)}:"
        rows = [
            (
                code(template),
                number(sum(answers.values())),
                listed(
                    [f"{answer} {percent(n / sum(answers.values()), 0)}" for answer, n in answers.items()]
                ),
            )
            for template, answers in each.answers_of_templates.items()
        ]
        yield table(["template", "questions", "answers"], rows)


def _properties(splits: Sequence[CovrStats]) -> str:
    rows = [
        (
            code(name),
            *(percent(each.share(each.properties[name])) for each in splits),
            percent(FILTERED[name] / N_TRAIN) if name in FILTERED else "",
        )
        for name in splits[0].properties
    ]
    return table(["property", *(code(each.split) for each in splits), "paper"], rows)


def _cuts(splits: Sequence[CovrStats]) -> str:
    templates = dict.fromkeys(template for each in splits for template in each.cuts)
    rows = [(code(template), *(_cut(each, template) for each in splits)) for template in templates]
    return table(["template", *(code(each.split) for each in splits)], rows)


def _cut(stats: CovrStats, template: str) -> str:
    found = stats.cuts.get(template, {})
    exempt, needed = found.get(-1, 0), percent(stats.needed(template))
    if not found:
        return ""
    return f"{needed} ({percent(exempt / sum(found.values()), 0)})" if exempt else needed


def _skipped(splits: Sequence[CovrStats]) -> Iterator[str]:
    """A sentence on the questions that could not be made, if the files record them."""
    for each in splits:
        if each.skipped is None:
            continue
        lacking = [f"{code(name)} {number(n)}" for name, n in each.skipped.items() if n]
        where = f"On the windows of scenes that {code(each.split)} is from,"
        if lacking:
            yield f"{where} no attempt found these pairs of questions: {listed(lacking)}."
        else:
            yield f"{where} every pair of questions that was looked for was found."


def _guessing(splits: Sequence[CovrStats]) -> Iterator[str]:
    train = next((each for each in splits if each.split == COVR_TRAIN), None)
    if train is None:
        return
    rows = [
        (
            code(each.split),
            percent(each.guessed_from(train, by_template=False)),
            percent(each.guessed_from(train, by_template=True)),
        )
        for each in splits
        if COVR_KINDS[each.split].role != "train"
    ]
    yield (
        f"Accuracy of the most frequent answer of {code(COVR_TRAIN)} (Maj), and of the most frequent one of "
        f"each template (MajTempl). On COVR's test set they are {MAJ}% and {MAJ_TEMPL}%:"
    )
    yield table(["split", "Maj", "MajTempl"], rows)
