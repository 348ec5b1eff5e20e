"""What was measured in a sub-dataset's files in, its DATASHEET.md out.

The questions are those of Gebru et al., "Datasheets for Datasets" (2021), in words of our own. Its tables of
numbers are in `datasheet_measured`, how the folder was made in `datasheet_origin`; `datasheet_folder` answers
the questions that concern the dataset as a whole.
"""

from collections.abc import Sequence

from clevrhope.describe.datasheet.measured import baselines, compared, composition, families, relations, seen
from clevrhope.describe.datasheet.origin import CLEVR, PAPER, made_with
from clevrhope.describe.markdown import code, escape, listed, number, table
from clevrhope.describe.sub_dataset import SubDataset
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import TRAIN


def sub_datasheet(data: SubDataset) -> str:
    """The datasheet of one sub-dataset, in Markdown."""
    parts = [
        f"# Datasheet: {_title(data.hop)}",
        _motivation(data),
        _composition(data),
        seen(data),
        compared(data),
        baselines(data),
        relations(data),
        _shared(data),
        _published(data),
        validated(data),
        _uses(data),
        made_with(data.made_with),
        families(data),
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
            f"No pair of values is held out; the images show the combinations of the palette "
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


def _second_purpose(data: SubDataset) -> str:
    second = data.second_palette
    if not second:
        return "It is what a test on other combinations, made with --test-palette, is held against."
    return (
        f"{data.second_splits} show those of {code(second)}: to see whether a model that was trained on "
        "the former can handle the latter, as CLEVR's CoGenT does with its conditions A and B."
    )


def _composition(data: SubDataset) -> str:
    text = (
        "An instance is a question in English about an image of simple solids, with its answer, the "
        "functional program that gives the answer, and the scene that the image shows. Questions are in "
        "the order in which they were made; those about one image are next to each other, and the first "
        "so many questions of a split are a sample of it, so smaller train sets are prefixes. All labels "
        "are exact, since the scene is known: the answer is the program's on the scene. Nothing is "
        "missing, and there are no people and nothing private or offensive in it."
    )
    if data.hop.pair:
        text += f" {_strictness(data)}"
    return f"## What is in it?\n\n{text}\n\n{composition(data)}"


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


def _shared(data: SubDataset) -> str:
    rows = [(code(split), number(n), number(shared)) for split, (n, shared) in data.shared_images.items()]
    return "\n\n".join(
        [
            "## What is shared?",
            "An image is made once for all sub-datasets of the folder; `image_idxs` is the scene's index "
            "in its pool, the same in every sub-dataset and release. No image is in both a train and a "
            "test split"
            + (
                "."
                if data.hop.pair is None
                else ", and none in both complex sets. The two minimal sets share a pool, and images, "
                "as in the paper."
            ),
            table(["split", "images", "used by another sub-dataset of this folder too"], rows),
        ]
    )


def clevr_share(split: str, n_from_clevr: int, n_images: int) -> str:
    """How many images of a split are CLEVR's; the audit reads this sentence."""
    return f"{number(n_from_clevr)} of the {number(n_images)} images of {code(split)} are CLEVR's own."


def _published(data: SubDataset) -> str:
    if data.made_with.clevr is None or data.split(TRAIN.name) is None:
        return ""
    parts = [
        clevr_share(each.split, data.from_clevr.get(each.split, 0), each.n_images)
        for each in data.splits
        if each.split == TRAIN.name
    ]
    parts.append(
        f"They and their scenes are from the train split of CLEVR ({CLEVR}), under CC BY 4.0; no other split "
        "has any, and nothing of CLEVR's val or test is in this dataset. Scenes are as published: they say "
        "nothing of camera, lights and visible pixels, and `source` names the image. Red, green and blue "
        "of each pixel are as published; the PNG files were written anew, without opacity. Questions are "
        "new. They were rendered by CLEVR's authors with other settings than the images beside them, so a "
        "model might tell them apart."
    )
    return "## What is from CLEVR?\n\n" + " ".join(parts)


def validated(data: SubDataset) -> str:
    """What the check for leaks found in order."""
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
    elif data.second_palette:
        how = (
            f"{train}report its accuracy on `test` and `test_b`: the second minus the first is what unseen "
            "combinations cost. Tune on `val`, which shows what was trained on; `val_b` tells of "
            "the other combinations, and tuning on it spoils the comparison."
        )
    else:
        how = f"{train}report its accuracy on `test`. Tune on `val`."
    where = "its splits (they may have met the pair)" if data.hop.pair is not None else "its splits"
    minimal = ", and do not count the two minimal sets as new images" if data.hop.pair is not None else ""
    return "\n\n".join(
        [
            "## What is it for, and what not?",
            f"It is a diagnostic. {how}",
            f"It says nothing about models that were not trained on {where}, nor about the real world: "
            "scenes are synthetic, the vocabulary is tiny, the English is made from templates. Do not train "
            f"on the test sets{minimal}.",
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
