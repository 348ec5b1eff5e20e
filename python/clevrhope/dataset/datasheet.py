"""What was measured in a sub-dataset's files in, its DATASHEET.md out.

The questions are those of Gebru et al., "Datasheets for Datasets" (2021), in words of our own;
`datasheet_folder` answers the ones that concern the dataset as a whole.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from clevrhope.config import PRELIM_SPLITS
from clevrhope.dataset.distributions import asked_for, distances, pictures_and_lengths, relations_named
from clevrhope.dataset.markdown import code, decimal, escape, listed, number, percent, table
from clevrhope.dataset.stats import SplitStats, mean
from clevrhope.hops import Hop
from clevrhope.palettes import Palette, split_name

PAPER = (
    "Berlot-Attwell, Agrawal, Carrell, Sharma and Saphra, "
    '"Attribute Diversity Determines the Systematicity Gap in VQA"'
)
"""The paper whose dataset this one follows."""


@dataclass(frozen=True)
class Family:
    """A question family: where its templates are."""

    file: str
    index: int
    """Its place in the file."""


@dataclass(frozen=True)
class Provenance:
    """What made the folder."""

    dataset_version: str
    software_version: str
    seed: int
    world: Mapping[str, object]
    """Fingerprint and constraints."""
    attributes: Mapping[str, Sequence[str]]
    """The world's attribute types, each with its values."""
    templates: Mapping[str, object]
    """Fingerprint and folder."""
    rendering: Mapping[str, object] | None
    """How pictures were rendered; None when none were."""
    image_files: Sequence[str]
    """Kinds of picture files that are there: "PNG", "HDF5"."""
    splits: Collection[str]
    """Names of all splits in the folder."""
    match: str = "none"
    """What all splits have alike: "none" or "objects"."""
    strictness: str = "description"
    """What pairs are held out of: "description", or "implied" likenesses too."""
    clevr: Mapping[str, object] | None = None
    """Number, share and fingerprint of CLEVR's train scenes, where the folder is bound to them."""

    @property
    def shares_clevr(self) -> bool:
        """Scenes of CLEVR are in the folder: no other pool than that of train takes any."""
        return self.clevr is not None and "train" in self.splits


@dataclass(frozen=True)
class SubDataset:
    """What was measured of one pair."""

    hop: Hop
    splits: Sequence[SplitStats]
    families: Mapping[int, Family]
    families_never: Sequence[int]
    """Families that can never mention the pair, by analysis of their templates."""
    shared_pictures: Mapping[str, tuple[int, int]]
    """Split -> its pictures, and how many of them other sub-datasets of the folder use too."""
    checked: Sequence[str]
    """What the check for leaks looked at and found in order."""
    made_with: Provenance
    from_clevr: Mapping[str, int] = field(default_factory=dict)
    """Split -> its pictures that are CLEVR's own, for each split that has some."""
    palette: Palette | None = None
    """What is seen, where that is not every combination of values but the pair."""
    plots: Sequence[str] = ()
    """Names of the files in the folder that `Layout.plots` names."""

    def split(self, name: str) -> SplitStats | None:
        """A split's numbers, or None when it was not made."""
        return next((each for each in self.splits if each.split == name), None)


def sub_datasheet(data: SubDataset) -> str:
    """The datasheet of one sub-dataset, in Markdown."""
    parts = [
        f"# Datasheet: {_title(data.hop)}",
        _motivation(data),
        _composition(data),
        _seen(data),
        _compared(data),
        _baselines(data),
        _relations(data),
        _shared(data),
        _published(data),
        _checked(data),
        _uses(data),
        made_with(data.made_with),
        _families(data),
        _plots(data.plots),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _title(hop: Hop) -> str:
    limited = f", {escape(hop.palette)}" if hop.palette else ""
    return ("nothing held out" if hop.pair is None else f"{escape(hop.words)} held out") + limited


def _motivation(data: SubDataset) -> str:
    hop = data.hop
    if hop.pair is None and hop.palette:
        why = (
            f"No pair of values is held out; the pictures show the combinations of the palette "
            f"{code(hop.palette)} alone, which are listed below. {_second_purpose(data)}"
        )
    elif hop.pair is None:
        why = (
            "A plain dataset of the same world with nothing held out: for tuning, which a held-out pair's "
            "test sets must not be used for, and as the control."
        )
    else:
        values = listed([f"{code(value)} ({kind})" for kind, value in hop.pair])
        several = "both" if len(hop.pair) == 2 else "all"
        why = (
            f"To see whether a model that has met {values} in training, but never {several} in one object "
            f"and never together in one question, can handle them together. {_diversity(data)}"
        )
    return f"## Why was it made?\n\n{why} It follows {PAPER}."


def _second_palette(data: SubDataset) -> str:
    """The palette of the second tests; "" where there are none."""
    found = {split_name(each.pool)[1] for each in data.splits} - {data.hop.palette}
    return min(found, default="")


def _second_splits(data: SubDataset) -> str:
    second = _second_palette(data)
    return listed([code(each.split) for each in data.splits if split_name(each.pool)[1] == second])


def _second_purpose(data: SubDataset) -> str:
    second = _second_palette(data)
    if not second:
        return "It is what a test on other combinations, made with --test-palette, is held against."
    return (
        f"{_second_splits(data)} show those of {code(second)}: to see whether a model that was trained on "
        "the former can handle the latter, as CLEVR's CoGenT does with its conditions A and B."
    )


def _composition(data: SubDataset) -> str:
    rows = [
        (
            code(each.split),
            code(each.pool),
            number(each.n_questions),
            number(each.n_pictures),
            decimal(each.n_questions / max(each.n_pictures, 1)),
            decimal(mean(each.objects)),
            *_pair_columns(data.hop, each.split),
        )
        for each in data.splits
    ]
    head = ["split", "pool", "questions", "pictures", "questions a picture", "objects a picture"]
    head += [] if data.hop.pair is None else ["pair in picture", "pair in question"]
    text = (
        "An instance is a question in English about a picture of simple solids, with its answer, the "
        "functional program that gives the answer, and the scene that the picture shows. Questions are in "
        "the order in which they were made; those about one picture are next to each other, and the first "
        "so many questions of a split are a sample of it, so smaller train sets are prefixes. All labels "
        "are exact, since the scene is known: the answer is the program's on the scene. Nothing is "
        "missing, and there are no people and nothing private or offensive in it."
    )
    if data.hop.pair:
        text += f" {_strictness(data)}"
    return f"## What is in it?\n\n{text}\n\n{table(head, rows)}"


def _strictness(data: SubDataset) -> str:
    if data.made_with.strictness == "implied":
        return (
            "The pair is held out by `--strictness implied`: questions with no pair in them do not ask for "
            f"one by way of likenesses either, such as for {_likened(data.hop)}."
        )
    return (
        "The pair is held out by `--strictness description`, the default and the paper's: in questions with "
        "no pair in them no description holds all of its values. By way of likenesses one may still ask for "
        f"it, such as for {_likened(data.hop)}; `--strictness implied` leaves those out too."
    )


def _likened(hop: Hop) -> str:
    """Words that ask for what is held out without a description of it."""
    *others, (kind, value) = hop.pair or ()
    described = " and ".join(f"{kind} {value}" for kind, value in others)
    return escape(f"something with {described} that has the {kind} of something with {kind} {value}")


ENOUGH_TO_TELL = 20
"""Questions from which a family's one answer is no chance."""


def _diversity(data: SubDataset) -> str:
    n = data.hop.diversity
    if data.palette is None:
        return (
            f"The types have {n} combinations of values (the pair's diversity); training shows all but one."
        )
    return (
        f"Of the types' combinations {n} are used (the diversity), the pair among them; training shows the "
        f"{n - 1} others, by drawing objects from them, so that the numbers of objects are as they were."
    )


def _seen(data: SubDataset) -> str:
    """Tables of the palette's values: how many objects have each combination, in train and second tests."""
    palette = data.palette
    if palette is None or len(palette.types) != 2 or not data.splits:
        return ""
    trained_on = next(
        (each for each in data.splits if each.split not in ("complex_ood", "minimal_ood")), None
    )
    if trained_on is None:
        return ""
    text = (
        f"Objects in the pictures of {code(trained_on.split)} with each combination of "
        f"{listed([escape(kind) for kind in palette.types])}; what is empty never occurs in them."
    )
    if palette.held_out is not None:
        text += (
            " Questions of all splits name no combination that is empty, nor a value that has none, but for "
            "the pair out of distribution. Of the four pictures at a place of the minimal sets three or all "
            "show what was seen; the fourth shows the pair, or is left out."
        )
    parts = [text, _combinations(data, palette, trained_on)]
    second = _second_palette(data) if data.hop.pair is None else ""
    other = next((each for each in data.splits if split_name(each.pool)[1] == second), None)
    if second and other is not None:
        parts += [f"The same of {code(other.split)}:", _combinations(data, palette, other)]
    return "\n\n".join(["## What was seen?", *parts])


def _combinations(data: SubDataset, palette: Palette, shown: SplitStats) -> str:
    """The palette's first type down, its second across: objects of a split with each combination."""
    first, second = palette.types
    values = [data.made_with.attributes[kind] for kind in palette.types]

    def cell(a: str, b: str) -> str:
        n = shown.pairs.get(_sorted_pair((first, a), (second, b)), 0)
        held_out = "held out" if palette.held_out == (a, b) else ""
        return held_out if not n else f"{number(n)} {held_out}".strip()

    rows = [(escape(a), *(cell(a, b) for b in values[1])) for a in values[0]]
    return table([f"{escape(first)}, {escape(second)}", *map(escape, values[1])], rows)


def _sorted_pair(a: tuple[str, str], b: tuple[str, str]) -> tuple[tuple[str, str], tuple[str, str]]:
    return (a, b) if a < b else (b, a)


_WHERE_THE_PAIR_IS: Mapping[str, tuple[str, str]] = {
    "train": ("never", "never"),
    "complex_iid": ("never", "never"),
    "complex_ood": ("always", "always"),
    "minimal_iid": ("never", "never"),
    "minimal_ood": ("one in {}", "always"),
}


def _pair_columns(hop: Hop, split: str) -> tuple[str, ...]:
    if hop.pair is None:
        return ()
    return tuple(where.format(hop.corners) for where in _WHERE_THE_PAIR_IS[split])


def _why_they_differ(data: SubDataset) -> str:
    if data.made_with.match == "objects":
        return (
            "By `--match objects` scenes were thinned until all numbers of objects are equally likely in "
            "every split, so pictures with the pair hold no more objects than others. A question that names "
            "the pair still tends to be longer. A comparison across pairs should keep these numbers in view."
        )
    return (
        "Holding a pair out by choosing scenes changes more than the pair: a picture that has it tends to "
        "hold more objects, and a question that names it tends to be longer. A comparison across pairs "
        "should keep these numbers in view."
    )


def _compared(data: SubDataset) -> str:
    """The sets of whole scenes beside each other: in- and out-of-distribution, or train and its tests."""
    columns = [each for each in data.splits if not each.split.startswith("minimal")]
    if not columns:
        return ""
    if data.hop.pair is None:
        parts = ["## How do its splits differ?", *_why_plain_ones_differ(data)]
    else:
        parts = ["## How do in- and out-of-distribution sets differ beyond the pair?", _why_they_differ(data)]
    parts += pictures_and_lengths(columns, data.made_with.attributes, data.hop.pair or ())
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
    for a, b in (("complex_iid", "complex_ood"), ("train", "test"), ("test", "test_b")):
        first, second = data.split(a), data.split(b)
        if first is not None and second is not None:
            yield first, second


def _why_plain_ones_differ(data: SubDataset) -> Iterator[str]:
    second = _second_palette(data)
    if second:
        yield (
            f"{_second_splits(data)} show the combinations of {code(second)}, the others those of "
            f"{code(data.hop.palette)}; in all else they are drawn alike."
        )
    else:
        yield "They are drawn alike, from pools of their own; what differs is chance."


def _baselines(data: SubDataset) -> str:
    train = data.split("train")
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


def _relations(data: SubDataset) -> str:
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


def _shared(data: SubDataset) -> str:
    rows = [(code(split), number(n), number(shared)) for split, (n, shared) in data.shared_pictures.items()]
    return "\n\n".join(
        [
            "## What is shared?",
            "A picture is made once for all sub-datasets of the folder; `image_idxs` is the scene's index "
            "in its pool, the same in every sub-dataset and release. No picture is in both a train and a "
            "test split"
            + (
                "."
                if data.hop.pair is None
                else ", and none in both complex sets. The two minimal sets share a pool, and pictures, "
                "as in the paper."
            ),
            table(["split", "pictures", "used by another sub-dataset of this folder too"], rows),
        ]
    )


CLEVR = (
    "Johnson, Hariharan, van der Maaten, Fei-Fei, Zitnick and Girshick, "
    '"CLEVR: A Diagnostic Dataset for Compositional Language and Elementary Visual Reasoning" (2017)'
)
"""To be named wherever its scenes or pictures are, as their licence, CC BY 4.0, asks."""


def clevr_share(split: str, n_from_clevr: int, n_pictures: int) -> str:
    """How many pictures of a split are CLEVR's; the audit reads this sentence."""
    return f"{number(n_from_clevr)} of the {number(n_pictures)} pictures of {code(split)} are CLEVR's own."


def _published(data: SubDataset) -> str:
    if data.made_with.clevr is None or data.split("train") is None:
        return ""
    parts = [
        clevr_share(each.split, data.from_clevr.get(each.split, 0), each.n_pictures)
        for each in data.splits
        if each.split == "train"
    ]
    parts.append(
        f"They and their scenes are from the train split of CLEVR ({CLEVR}), under CC BY 4.0; no other split "
        "has any, and nothing of CLEVR's val or test is in this dataset. Scenes are as published: they say "
        "nothing of camera, lights and visible pixels, and `source` names the picture. Red, green and blue "
        "of each pixel are as published; the PNG files were written anew, without opacity. Questions are "
        "new. They were rendered by CLEVR's authors with other settings than the pictures beside them, so a "
        "model might tell them apart."
    )
    return "## What is from CLEVR?\n\n" + " ".join(parts)


def _checked(data: SubDataset) -> str:
    if not data.checked:
        return ""
    lines = "\n".join(f"- {escape(line)}" for line in data.checked)
    return (
        "## How was it validated?\n\nA check that shares no code with the generator read the finished "
        f"files and found that:\n\n{lines}"
    )


def _uses(data: SubDataset) -> str:
    train = "Train a model on a train set of this folder, or on its first so many questions, and "
    if data.hop.pair is not None:
        how = (
            f"{train}report its accuracy on the test sets of the same pair: out-of-distribution minus "
            "in-distribution is the systematicity gap. There is no validation split: tune on the "
            "sub-dataset `none` or on CLEVR, never on these tests."
        )
    elif _second_palette(data):
        how = (
            f"{train}report its accuracy on `test` and `test_b`: the second minus the first is what unseen "
            "combinations cost. Tune on `val`, which shows what was trained on; `val_b` tells of "
            "the other combinations, and tuning on it spoils the comparison."
        )
    else:
        how = f"{train}report its accuracy on `test`. Tune on `val`."
    where = "its splits (they may have met the pair)" if data.hop.pair is not None else "its splits"
    minimal = ", and do not count the two minimal sets as new pictures" if data.hop.pair is not None else ""
    return "\n\n".join(
        [
            "## What is it for, and what not?",
            f"It is a diagnostic. {how}",
            f"It says nothing about models that were not trained on {where}, nor about the real world: "
            "scenes are synthetic, the vocabulary is tiny, the English is made from templates. Do not train "
            f"on the test sets{minimal}.",
        ]
    )


def made_with(made: Provenance) -> str:
    """How the folder was made, whose it is, and how it is kept: the same for each of its datasheets."""
    constraints = made.world.get("constraints", {})
    rows = [
        ("dataset version", escape(made.dataset_version)),
        ("clevrhope", escape(made.software_version)),
        ("seed", str(made.seed)),
        ("world", code(made.world.get("fingerprint", ""))),
        (
            "templates",
            f"{code(made.templates.get('folder', ''))} {code(made.templates.get('fingerprint', ''))}",
        ),
        ("pictures", _rendering(made)),
        ("`--match`", code(made.match)),
        ("`--strictness`", code(made.strictness)),
    ]
    if isinstance(constraints, Mapping):
        rows += [(escape(name), escape(value)) for name, value in constraints.items() if _is_plain(value)]
    return "\n\n".join(
        [
            "## How was it made?",
            "Scenes are sampled at random under the constraints below, each a function of world, seed, "
            "pool and index. "
            + _asked(made.splits)
            + _bound(made)
            + ("" if made.rendering is None else "Pictures are rendered from the scenes with Blender. ")
            + "Nobody was asked, watched or paid; "
            + (
                "nothing was taken from elsewhere"
                if made.clevr is None or not made.shares_clevr
                else f"{_taken(made.clevr)}, nothing else was taken from elsewhere"
            )
            + ". The "
            "settings, every file's checksum and the command's choices are in `manifest.json`; the same "
            "settings and seed give the same bytes, pixels on the same machine included.",
            table(["", "value"], rows),
            "## How is it distributed and kept?",
            "The data are under the Creative Commons Attribution licence, CC BY 4.0; clevrhope, which made "
            "them, is under the MIT licence. Blender, which renders pictures, puts no condition on "
            "them. Whoever publishes a folder maintains it; a folder can be extended with more pairs or "
            "larger sizes without moving what is there, and a change that would move it has another "
            "dataset version.",
        ]
    )


def _asked(splits: Collection[str]) -> str:
    """How questions are found, of the kinds of splits that the folder has."""
    of_groups = sorted(name for name in splits if name.startswith("minimal") or name in PRELIM_SPLITS)
    streamed = len(splits) > len(of_groups)
    parts = []
    if streamed:
        parts.append(
            "Questions are found by a search over templates and balanced over windows of "
            "250 scenes, so that no answer of a template prevails. "
        )
    if of_groups:
        names = listed([code(name) for name in of_groups])
        begin = f"Those of {names} are not: there" if streamed else f"In {names}"
        parts.append(f"{begin} the pictures of a group decide how frequent each answer is. ")
    return "".join(parts)


def _bound(made: Provenance) -> str:
    """What a folder is bound to beside its seed, the defaults too: another choice needs another folder."""
    match = (
        "scenes are thinned until all numbers of objects are equally likely in every split of whole scenes"
        if made.match == "objects"
        else "numbers of objects are left as they come"
    )
    strictness = (
        "train and IID questions ask for a held-out pair by no likeness either"
        if made.strictness == "implied"
        else "no description in a train or IID question holds all values of a held-out pair"
    )
    text = f"With `--match {made.match}` {match}; with `--strictness {made.strictness}` {strictness}. "
    if made.clevr is not None and not made.shares_clevr:
        text += (
            "By `--clevr` a train split would have scenes and pictures of CLEVR among its own; "
            "there is none in this folder, so nothing in it is CLEVR's. "
        )
    return text + "What is added to the folder has the same. "


def _taken(clevr: Mapping[str, object]) -> str:
    return (
        f"scenes of the pool `train`, at a share of {clevr['share']}, and their pictures are from CLEVR's "
        f"train split ({CLEVR}; CC BY 4.0; {number(int(str(clevr['scenes'])))} scenes, spread by a seeded "
        "permutation until they are used up)"
    )


def _rendering(made: Provenance) -> str:
    if made.rendering is None:
        return "not rendered"
    settings = ", ".join(f"{name} {value}" for name, value in made.rendering.items() if _is_plain(value))
    return escape(f"{listed(list(made.image_files))}: {settings}" if made.image_files else settings)


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


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
        if not split.split.startswith("minimal"):
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


def _families(data: SubDataset) -> str:
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


PLOTS_HEADING = "## More numbers and plots"
"""Begins a datasheet's last section, the one that drawing plots replaces."""


def with_plots(sheet: str, names: Sequence[str]) -> str:
    """A datasheet with other plots than it has: files of the folder `plots` beside it, "" for none."""
    return sheet.partition(PLOTS_HEADING)[0] + _plots(names) + "\n"


def _plots(names: Sequence[str]) -> str:
    parts = [
        PLOTS_HEADING,
        "`clevrhope stats` shows all of this, and pairs of values too, beside another dataset or CLEVR. With "
        "`--datasheet` it draws plots into this datasheet"
        + (", as it did:" if names else "; there are none yet, or what they showed has changed since."),
    ]
    parts += [f"![{escape(name.partition('.')[0])}](plots/{name})" for name in names]
    return "\n\n".join(parts)
