"""The sections of a sub-dataset's datasheet that are tables of numbers."""

from collections import Counter
from collections.abc import Iterator, Sequence

from clevrhope.describe.distributions import (
    answer_type_table,
    distances,
    images_and_lengths,
    ordered,
    relation_table,
    share_table,
    sorted_pair,
)
from clevrhope.describe.markdown import code, decimal, escape, listed, number, percent, table
from clevrhope.describe.measure import SplitStats, mean
from clevrhope.describe.sub_dataset import SubDataset
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import OOD, SPLITS, TRAIN
from clevrhope.splits.palettes import Palette, parse_pool_name

ENOUGH_TO_TELL = 20
"""Number of a family's questions from which a single answer to all of them is no coincidence."""


def _pair_columns(hop: Hop, split: str) -> tuple[str, ...]:
    if hop.pair is None:
        return ()
    kind = SPLITS[split]
    return tuple(f"one in {hop.corners}" if each == "in one" else each for each in (kind.shown, kind.asked))


def composition(data: SubDataset) -> str:
    """A table of the splits' sizes and of the occurrences of the pair."""
    rows = [
        (
            code(each.split),
            code(each.pool),
            number(each.n_questions),
            number(each.n_images),
            decimal(each.n_questions / max(each.n_images, 1)),
            decimal(mean(each.objects)),
            *_pair_columns(data.hop, each.split),
        )
        for each in data.splits
    ]
    head = ["split", "pool", "questions", "images", "questions per image", "objects per image (mean)"]
    head += [] if data.hop.pair is None else ["pair in image", "pair in question"]
    return table(head, rows)


def palette(data: SubDataset) -> str:
    """The section on the palette: the number of objects with each combination, in train and second tests."""
    if data.palette is None or len(data.palette.types) != 2:
        return ""
    trained_on = next((each for each in data.splits if SPLITS[each.split].asked != "always"), None)
    if trained_on is None:
        return ""
    text = (
        f"Objects in the images of {code(trained_on.split)} with each combination of "
        f"{listed([escape(kind) for kind in data.palette.types])}; combinations without a number never occur."
    )
    if data.palette.held_out is not None:
        text += (
            " No question names a combination without a number, or a value that has none, except the pair "
            "out of distribution. At least three of the four images at a place of the minimal sets show seen "
            "combinations; the fourth may show the pair, or be left out."
        )
    parts = [text, _combinations(data, data.palette, trained_on)]
    second = data.second_palette if data.hop.pair is None else ""
    other = next((each for each in data.splits if parse_pool_name(each.pool)[1] == second), None)
    if second and other is not None:
        parts += [f"The same for {code(other.split)}:", _combinations(data, data.palette, other)]
    return "\n\n".join(["## What was seen?", *parts])


def _combinations(data: SubDataset, palette: Palette, shown: SplitStats) -> str:
    """A split's objects by combination: rows for the palette's first attribute, columns for its second."""
    first, second = palette.types
    values = [data.manifest.world["attributes"][kind] for kind in palette.types]

    def cell(a: str, b: str) -> str:
        n = shown.pairs.get(sorted_pair((first, a), (second, b)), 0)
        held_out = "held out" if palette.held_out == (a, b) else ""
        return held_out if not n else f"{number(n)} {held_out}".strip()

    rows = [(escape(a), *(cell(a, b) for b in values[1])) for a in values[0]]
    return table([f"{escape(first)}, {escape(second)}", *map(escape, values[1])], rows)


_WHY_THEY_DIFFER = (
    "Each number of objects is as frequent as the others in every split of whole scenes, as nearly as the "
    "number of images allows, so images with the pair do not have more objects than others. Questions that "
    "name the pair still tend to be longer. A comparison across pairs should take these numbers into account."
)


def differences(data: SubDataset) -> str:
    """The section that compares sets of full scenes: in- and out-of-distribution, or train and tests."""
    columns = [each for each in data.splits if SPLITS[each.split].drawn != "places"]
    if not columns:
        return ""
    if data.hop.pair is None:
        parts = ["## How do its splits differ?", *_why_plain_ones_differ(data)]
    else:
        parts = ["## How do in- and out-of-distribution sets differ beyond the pair?", _WHY_THEY_DIFFER]
    parts += images_and_lengths(columns, data.manifest.world["attributes"], data.hop.pair or ())
    parts += [distances(a, b) for a, b in _compared(data)]
    if data.families_never:
        parts.append(
            f"{len(data.families_never)} of the {len(data.families)} families can never mention the pair, "
            f"because their templates keep one of its types empty. {code(OOD)} leaves them out by analysis: "
            f"{_families_by_file(data, data.families_never)}."
        )
    return "\n\n".join(parts)


def _compared(data: SubDataset) -> Iterator[tuple[SplitStats, SplitStats]]:
    """The pairs of splits between which distances are given."""
    for kind in SPLITS.values():
        reference, split = data.split(kind.reference), data.split(kind.name)
        if kind.drawn == "stream" and reference is not None and split is not None:
            yield reference, split


def _why_plain_ones_differ(data: SubDataset) -> Iterator[str]:
    second = data.second_palette
    if second:
        yield (
            f"{data.second_splits} show the combinations of {code(second)}, the others those of "
            f"{code(data.hop.palette)}; otherwise they are drawn in the same way."
        )
    else:
        yield "They are drawn in the same way from pools of their own, so they differ only by chance."


def baselines(data: SubDataset) -> str:
    """The section on the accuracy of guessing and on the frequencies of answers and answer types."""
    train = data.split(TRAIN.name)
    rows = [
        (
            code(each.split),
            f"{escape(each.majority[0])} {percent(each.majority[1])}",
            percent(each.majority_of_families),
            percent(each.guessed_from(train) if train else float("nan")),
            percent(each.answers.get("no", 0) / max(each.n_questions, 1)),
        )
        for each in data.splits
    ]
    answers = ordered((answer for each in data.splits for answer in each.answers), ("yes", "no"))
    return "\n\n".join(
        [
            "## How well does guessing do?",
            "The first two are chosen on the split itself, so they overstate what guessing achieves, most of "
            "all where a family has only a few questions; "
            f"the third is learned on {code(TRAIN.name)}, and the fourth always answers no. Report them with "
            "accuracies.",
            table(
                [
                    "split",
                    "most frequent answer",
                    "most frequent answer of each family",
                    "of each family in `train`",
                    "always no",
                ],
                rows,
            ),
            "Answers (share of the questions):",
            share_table(
                data.splits,
                [(answer, answer) for answer in answers],
                lambda s: s.answers,
                lambda s: s.n_questions,
                "answer",
            ),
            "Answer types (share of the questions):",
            answer_type_table(data.splits),
        ]
    )


def relations(data: SubDataset) -> str:
    """The section on how many questions need the relations that they name."""
    rows = [
        (
            code(each.split),
            number(each.n_relational),
            percent(each.n_relational / max(each.n_questions, 1)),
            percent(each.all_needed),
        )
        for each in data.splits
    ]
    return "\n\n".join(
        [
            "## Are the relations needed?",
            'A question may name a relation ("left of the cube") that its answer does not need: without it, '
            "the answer would be the same. CLEVR does not say which relations are needed; here each question "
            "does (`relation_needed`). A model that ignores relations can still answer the other questions.",
            table(
                ["split", "questions with a relation", "share of all questions", "every relation needed"],
                rows,
            ),
            "Relations named, and numbers of spatial ones in a question (share of the questions):",
            relation_table(data.splits),
        ]
    )


def _family_name(data: SubDataset, index: int) -> str:
    if index not in data.families:
        return str(index)
    file, place = data.families[index]
    return f"{code(file)} {place}"


def _families_by_file(data: SubDataset, indices: Sequence[int]) -> str:
    """Families as a list in a sentence: each file once, with the indices in it."""
    places: dict[str, list[str]] = {}
    for index in indices:
        file, place = data.families[index]
        places.setdefault(file, []).append(str(place))
    return "; ".join(f"{code(file)} {listed(numbers)}" for file, numbers in places.items())


def _families_with_one_answer(data: SubDataset) -> Iterator[str]:
    """A sentence on families whose questions all have one answer, of which balancing admits only few."""
    found: dict[int, Counter[str]] = {}
    for split in data.splits:
        if SPLITS[split.split].drawn != "places":
            for family, answers in split.answers_of_families.items():
                found.setdefault(family, Counter()).update(answers)
    named = [
        f"{index} {_family_name(data, index)} (always {next(iter(answers))})"
        for index, answers in sorted(found.items())
        if len(answers) == 1 and answers.total() >= ENOUGH_TO_TELL
    ]
    if named:
        yield (
            f"Families with one answer to all questions about several objects: {', '.join(named)}. If only "
            "one answer is possible, balance admits few questions."
        )


def families(data: SubDataset) -> str:
    """The section on how many questions each family has in each split."""
    rows = [
        (
            f"{index} {_family_name(data, index)}",
            *(number(each.families.get(index, 0)) for each in data.splits),
        )
        for index in sorted(data.families)
    ]
    return "\n\n".join(
        [
            "## Questions by family",
            "The number before the name is `question_family_index`; the name is `template_filename` with the "
            "place in that file.",
            *_families_with_one_answer(data),
            table(["family", *(code(each.split) for each in data.splits)], rows),
        ]
    )
