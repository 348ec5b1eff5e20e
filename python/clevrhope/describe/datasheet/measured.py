"""What was measured of a sub-dataset in, the sections of its datasheet that are tables of numbers out."""

from collections import Counter
from collections.abc import Iterator, Sequence

from clevrhope.describe.distributions import (
    asked_for,
    distances,
    images_and_lengths,
    relations_named,
    sorted_pair,
)
from clevrhope.describe.markdown import code, decimal, escape, listed, number, percent, table
from clevrhope.describe.measure import SplitStats, mean
from clevrhope.describe.sub_dataset import SubDataset
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS, TRAIN
from clevrhope.splits.palettes import Palette, parse_pool_name

ENOUGH_TO_TELL = 20
"""Questions from which a family's one answer is no chance."""


def _pair_columns(hop: Hop, split: str) -> tuple[str, ...]:
    if hop.pair is None:
        return ()
    kind = SPLITS[split]
    return tuple(f"one in {hop.corners}" if each == "in one" else each for each in (kind.shown, kind.asked))


def composition(data: SubDataset) -> str:
    """A table of the splits' sizes, and of where a pair is."""
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
    head = ["split", "pool", "questions", "images", "questions an image", "objects an image"]
    head += [] if data.hop.pair is None else ["pair in image", "pair in question"]
    return table(head, rows)


def seen(data: SubDataset) -> str:
    """Tables of the palette's values: how many objects have each combination, in train and second tests."""
    palette = data.palette
    if palette is None or len(palette.types) != 2 or not data.splits:
        return ""
    trained_on = next((each for each in data.splits if SPLITS[each.split].asked != "always"), None)
    if trained_on is None:
        return ""
    text = (
        f"Objects in the images of {code(trained_on.split)} with each combination of "
        f"{listed([escape(kind) for kind in palette.types])}; what is empty never occurs in them."
    )
    if palette.held_out is not None:
        text += (
            " Questions of all splits name no combination that is empty, nor a value that has none, but for "
            "the pair out of distribution. Of the four images at a place of the minimal sets three or all "
            "show what was seen; the fourth shows the pair, or is left out."
        )
    parts = [text, _combinations(data, palette, trained_on)]
    second = data.second_palette if data.hop.pair is None else ""
    other = next((each for each in data.splits if parse_pool_name(each.pool)[1] == second), None)
    if second and other is not None:
        parts += [f"The same of {code(other.split)}:", _combinations(data, palette, other)]
    return "\n\n".join(["## What was seen?", *parts])


def _combinations(data: SubDataset, palette: Palette, shown: SplitStats) -> str:
    """The palette's first type down, its second across: objects of a split with each combination."""
    first, second = palette.types
    values = [data.made_with.attributes[kind] for kind in palette.types]

    def cell(a: str, b: str) -> str:
        n = shown.pairs.get(sorted_pair((first, a), (second, b)), 0)
        held_out = "held out" if palette.held_out == (a, b) else ""
        return held_out if not n else f"{number(n)} {held_out}".strip()

    rows = [(escape(a), *(cell(a, b) for b in values[1])) for a in values[0]]
    return table([f"{escape(first)}, {escape(second)}", *map(escape, values[1])], rows)


def _why_they_differ(data: SubDataset) -> str:
    if data.made_with.match == "objects":
        return (
            "By `--match objects` scenes were thinned until all numbers of objects are equally likely in "
            "every split, so images with the pair hold no more objects than others. A question that names "
            "the pair still tends to be longer. A comparison across pairs should keep these numbers in view."
        )
    return (
        "Holding a pair out by choosing scenes changes more than the pair: an image that has it tends to "
        "hold more objects, and a question that names it tends to be longer. A comparison across pairs "
        "should keep these numbers in view."
    )


def compared(data: SubDataset) -> str:
    """The sets of whole scenes beside each other: in- and out-of-distribution, or train and its tests."""
    columns = [each for each in data.splits if SPLITS[each.split].drawn != "places"]
    if not columns:
        return ""
    if data.hop.pair is None:
        parts = ["## How do its splits differ?", *_why_plain_ones_differ(data)]
    else:
        parts = ["## How do in- and out-of-distribution sets differ beyond the pair?", _why_they_differ(data)]
    parts += images_and_lengths(columns, data.made_with.attributes, data.hop.pair or ())
    parts += [distances(a, b) for a, b in _beside(data)]
    if data.families_never:
        parts.append(
            f"{len(data.families_never)} of the {len(data.families)} families can never mention the pair, "
            "because their templates keep one of its types empty. `complex_ood` leaves them out by analysis: "
            f"{_families_by_file(data, data.families_never)}."
        )
    return "\n\n".join(parts)


def _beside(data: SubDataset) -> Iterator[tuple[SplitStats, SplitStats]]:
    """Splits of which it is said how far apart they are."""
    for kind in SPLITS.values():
        reference, split = data.split(kind.reference), data.split(kind.name)
        if kind.drawn == "stream" and reference is not None and split is not None:
            yield reference, split


def _why_plain_ones_differ(data: SubDataset) -> Iterator[str]:
    second = data.second_palette
    if second:
        yield (
            f"{data.second_splits} show the combinations of {code(second)}, the others those of "
            f"{code(data.hop.palette)}; in all else they are drawn alike."
        )
    else:
        yield "They are drawn alike, from pools of their own; what differs is chance."


def baselines(data: SubDataset) -> str:
    """What answers can be had without looking; and how frequent they and the types of questions are."""
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
    answers = sorted({answer for each in data.splits for answer in each.answers}, key=_answer_order)
    shares = [
        (
            escape(answer),
            *(percent(each.answers.get(answer, 0) / max(each.n_questions, 1)) for each in data.splits),
        )
        for answer in answers
    ]
    return "\n\n".join(
        [
            "## What does a guesser reach?",
            "The first two are chosen on the split itself, so they get a little more than an honest guesser "
            "would; the third learned on `train`. Report them beside accuracies.",
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
            table(["answer", *(code(each.split) for each in data.splits)], shares),
            "What is asked for (share of the questions):",
            asked_for(data.splits),
        ]
    )


def _answer_order(answer: str) -> tuple[int, int, str]:
    """Yes and no, then integers by size, then values by name."""
    if answer in ("yes", "no"):
        return (0, answer == "no", "")
    return (1, int(answer), "") if answer.isdecimal() else (2, 0, answer)


def relations(data: SubDataset) -> str:
    """How many questions turn on the relations that they name."""
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
            'A question may name a relation ("left of the cube") that its answer does not turn on: '
            "without it, the answer would be the same. CLEVR never told which; here each question records "
            "it for each of its relations (`relation_needed`). A model that ignores relations gets the "
            "others right.",
            table(["split", "questions with a relation", "of all", "every relation needed"], rows),
            "Relations that questions name (share of the questions), and how many spatial ones one names:",
            relations_named(data.splits),
        ]
    )


def _family_name(data: SubDataset, index: int) -> str:
    family = data.families.get(index)
    return str(index) if family is None else f"{code(family.file)} {family.index}"


def _families_by_file(data: SubDataset, indices: Sequence[int]) -> str:
    """Families as one lists them: each file once, with the places in it."""
    places: dict[str, list[str]] = {}
    for index in indices:
        places.setdefault(data.families[index].file, []).append(str(data.families[index].index))
    return "; ".join(f"{code(file)} {listed(numbers)}" for file, numbers in places.items())


def _families_with_one_answer(data: SubDataset) -> Iterator[str]:
    """A sentence on families whose questions all have one answer: balance then lets few of them pass."""
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
            f"Families with one answer to all questions about several objects: {', '.join(named)}. Where no "
            "other answer can come, balance passes few of them."
        )


def families(data: SubDataset) -> str:
    """How many questions each family has in each split."""
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
