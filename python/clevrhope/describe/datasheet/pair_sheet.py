"""The datasheet of a sub-dataset, from measurements of its files.

Its questions follow Gebru et al., "Datasheets for Datasets" (2021), in our own words. The module `sections`
makes its tables of numbers and `origin` its sections on how the folder was made; `dataset_sheet` answers the
questions about the dataset as a whole.
"""

from collections.abc import Sequence

from clevrhope.describe.datasheet.covr import covr_section
from clevrhope.describe.datasheet.origin import CLEVR, PAPER, provenance_sections
from clevrhope.describe.datasheet.sections import (
    baselines,
    composition,
    differences,
    families,
    palette,
    relations,
)
from clevrhope.describe.datasheet.suites import BEFORE, suites_section
from clevrhope.describe.markdown import code, escape, listed, number, table
from clevrhope.describe.sub_dataset import SubDataset
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import GAPS, SPLITS, TRAIN


def sub_datasheet(data: SubDataset) -> str:
    """The datasheet of one sub-dataset, in Markdown."""
    parts = [
        f"# Datasheet: {_title(data.hop)}",
        _motivation(data),
        _composition(data),
        palette(data),
        differences(data),
        baselines(data),
        relations(data),
        _shared(data),
        _published(data),
        validated(data),
        covr_section(data.covr, pair=data.hop.pair is not None),
        suites_section(data.suites),
        _uses(data),
        provenance_sections(data.manifest),
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
            f"No pair of values is held out; the images show only the combinations of the palette "
            f"{code(hop.palette)}, which are listed below. {_second_purpose(data)}"
        )
    elif hop.pair is None:
        why = (
            "A plain dataset of the same world with nothing held out. It serves as the control, and for "
            "tuning, for which a held-out pair's test sets must not be used."
        )
    else:
        values = listed([f"{code(value)} ({kind})" for kind, value in hop.pair])
        several = "both" if len(hop.pair) == 2 else "all"
        why = (
            f"To see whether a model that has met {values} in training, but never {several} in one object "
            f"or in one description, can handle them together. {_diversity(data)}"
        )
    return f"## Why was it made?\n\n{why} It follows {PAPER}."


def _second_purpose(data: SubDataset) -> str:
    second = data.second_palette
    if not second:
        return "It serves for comparison with a test on other combinations, made with --test-palette."
    return (
        f"{data.second_splits} show those of {code(second)}. This shows whether a model that was "
        "trained on the former can handle the latter, like conditions A and B of CLEVR's CoGenT."
    )


def _composition(data: SubDataset) -> str:
    text = (
        "An instance is a question in English about an image of simple solids, with its answer, the "
        "functional program that gives the answer, and the scene that the image shows. Questions are in "
        "the order in which they were made, so those about one image are consecutive. Any prefix of a "
        "split is a sample of it, so smaller train sets are prefixes. All labels are exact: the answer is "
        "that of the program on the scene, which is known. Nothing is missing, and there are no people "
        "and nothing private or offensive in it."
    )
    if data.hop.pair:
        text += f" {_strictness(data)}"
    return f"## What is in it?\n\n{text}\n\n{composition(data)}"


def _strictness(data: SubDataset) -> str:
    if data.manifest.settings.strictness == "implied":
        return (
            "The pair is held out by `--strictness implied`: train and IID questions do not ask for it "
            f"through likenesses either, such as for {_likened(data.hop)}."
        )
    if data.manifest.settings.strictness == "chain":
        return (
            "The pair is held out by `--strictness chain`, as in the original: no chain of filters in a "
            'train or IID question has all of its values. A description that passes through "or" or "and" '
            f"may, and questions may ask for it through likenesses, such as for {_likened(data.hop)}."
        )
    return (
        "The pair is held out by `--strictness description`, the default: in train and IID questions no "
        'description has all of its values, not even one that passes through "or" or "and", which is '
        "stricter than the original. They may still ask for it through "
        f"likenesses, such as for {_likened(data.hop)}; `--strictness implied` leaves these out too."
    )


def _likened(hop: Hop) -> str:
    """Words that ask for the held-out pair without describing it."""
    *others, (kind, value) = hop.pair or ()
    described = " ".join(value for _, value in others)
    other = value if kind == "shape" else f"{value} thing"
    return escape(f"a {described} thing of the same {kind} as a {other}")


def _diversity(data: SubDataset) -> str:
    n = data.hop.diversity
    if data.palette is None:
        return f"The types have {n} combinations of values (the pair's diversity); train shows all but one."
    return (
        f"Of the types' combinations {n} are used (the diversity), the pair among them; train images show "
        f"the {n - 1} others. Objects are drawn from these, so that the numbers of objects do not change."
    )


def _shared(data: SubDataset) -> str:
    rows = [(code(split), number(n), number(shared)) for split, (n, shared) in data.shared_images.items()]
    return "\n\n".join(
        [
            "## What is shared?",
            "An image is rendered once for all sub-datasets of the folder; `image_idxs` is the scene's index "
            "in its pool, the same in every sub-dataset and release. No image is in both a train and a "
            "test split"
            + (
                "."
                if data.hop.pair is None
                else ", and none in both complex test sets. The minimal sets share a pool, and images, "
                "as in the original."
            ),
            table(["split", "images", "used by another sub-dataset of this folder too"], rows),
        ]
    )


def clevr_share(split: str, n_from_clevr: int, n_images: int) -> str:
    """A sentence on how many images of a split are CLEVR's; the audit reads it."""
    return f"{number(n_from_clevr)} of the {number(n_images)} images of {code(split)} are CLEVR's own."


def _published(data: SubDataset) -> str:
    if "clevr" not in data.manifest.world or data.split(TRAIN.name) is None:
        return ""
    n_published = sum(published for _, published in data.from_clevr.values())
    parts = [
        clevr_share(each.split, n_published, each.n_images)
        for each in data.splits
        if each.split == TRAIN.name
    ]
    shares = [
        f"{published / n:.1%} with {n_objects}" for n_objects, (n, published) in data.from_clevr.items()
    ]
    parts.append(f"Their share by number of objects: {', '.join(shares)}.")
    parts.append(
        f"They and their scenes are from the train split of CLEVR ({CLEVR}), under CC BY 4.0. No other split "
        "has any, and nothing of CLEVR's val or test is in this dataset. The scenes are as published: they "
        "lack camera, lights and visible pixels, and `source` names the image. Red, green and blue of each "
        "pixel are as published; the PNG files were rewritten without opacity. The questions are new. "
        "CLEVR's authors rendered these images with other settings than those of the other images, so a "
        "model might tell them apart."
    )
    return "## What is from CLEVR?\n\n" + " ".join(parts)


def validated(data: SubDataset) -> str:
    """The section on the statements that the check for leaks proved."""
    checked = data.manifest.checked.get(data.hop.name)
    if not checked:
        return ""
    lines = "\n".join(f"- {escape(line)}" for line in checked)
    return (
        "## How was it validated?\n\nA check that shares no code with the generator read the finished "
        f"files and found:\n\n{lines}"
    )


def _uses(data: SubDataset) -> str:
    train = "Train a model on a train set of this folder, or on a prefix of it, and "
    tuning = listed([code(each.split) for each in data.splits if SPLITS[each.split].role == "tune"])
    if data.hop.pair is not None:
        tune = (
            f"Choose settings and checkpoints on {tuning}, never on the test sets. {tuning} holds the pair "
            "out as the train set does; the paper had no validation split."
            if tuning
            else "Never choose settings or checkpoints on the test sets."
        )
        how = (
            f"{train}report its accuracy on the test sets of the same pair: the out-of-distribution minus "
            f"the in-distribution accuracy is the systematicity gap. {tune}"
        )
    elif data.second_palette:
        tests, vals = GAPS["test"], GAPS["val"]
        how = (
            f"{train}report its accuracy on {code(tests.baseline)} and {code(tests.name)}: the second minus "
            f"the first is the cost of unseen combinations. Tune on {code(vals.baseline)}, which shows the "
            f"combinations of the train set; {code(vals.name)} shows the others, and tuning on it spoils "
            "the comparison."
        )
    else:
        how = f"{train}report its accuracy on {code(GAPS['test'].baseline)}. Tune on {tuning}."
    where = "its splits (which may have seen the pair)" if data.hop.pair is not None else "its splits"
    minimal = ", and do not count the minimal sets as new images" if data.hop.pair is not None else ""
    return "\n\n".join(
        [
            BEFORE,
            f"It is a diagnostic. {how}",
            f"It says nothing about models that were not trained on {where}, nor about the real world: "
            "scenes are synthetic, the vocabulary is tiny, the English is made from templates. Do not train "
            f"on the test sets{minimal}.",
        ]
    )


PLOTS_HEADING = "## More numbers and plots"
"""Heading of a datasheet's last section, which is replaced when plots are drawn."""


def with_plots(sheet: str, names: Sequence[str]) -> str:
    """A datasheet with its plots replaced by these files of the folder `plots` beside it."""
    return sheet.partition(PLOTS_HEADING)[0] + _plots(names) + "\n"


def _plots(names: Sequence[str]) -> str:
    parts = [
        PLOTS_HEADING,
        "`clevrhope stats` shows all of this and pairs of values, also beside another dataset or CLEVR. With "
        "`--datasheet` it draws plots into this datasheet"
        + (
            ", as below:"
            if names
            else ". It has none now: none were drawn, or the questions have changed since."
        ),
    ]
    parts += [f"![{escape(name.partition('.')[0])}](plots/{name})" for name in names]
    return "\n\n".join(parts)
