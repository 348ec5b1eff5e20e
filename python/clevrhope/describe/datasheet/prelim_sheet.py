"""The datasheet of a single value's preliminary sets, from measurements of their files."""

from clevrhope.describe.datasheet.origin import PAPER, provenance_sections
from clevrhope.describe.datasheet.pair_sheet import validated, with_plots
from clevrhope.describe.datasheet.sections import composition
from clevrhope.describe.distributions import value_table
from clevrhope.describe.markdown import code, escape, number, percent, table
from clevrhope.describe.measure import SplitStats
from clevrhope.describe.sub_dataset import SubDataset
from clevrhope.splits.kinds import SPLITS

_CHOSEN = (
    "The paper's appendix B says what the questions ask and how a counting set counts. It does not give the "
    "number of sets, the five positions, or the values of the other objects. These are choices of this "
    "project: the positions are the corners and the centre of a square, turned so that no two objects are "
    "level and each is well visible; an object without the value has another one of its type, each equally "
    "likely; existence has the grids, combinations and copies that the paper's minimal sets would have for a "
    "single type."
)


def prelim_datasheet(data: SubDataset) -> str:
    """The datasheet of one value's preliminary sets, in Markdown."""
    parts = [
        f"# Datasheet: {escape(data.hop.title)}",
        _motivation(data),
        _composition(data),
        _baselines(data),
        _values(data),
        _families(data),
        validated(data),
        _uses(),
        provenance_sections(data.manifest),
    ]
    return with_plots("\n\n".join(part for part in parts if part) + "\n\n", data.plots)


def _motivation(data: SubDataset) -> str:
    ((kind, value),) = data.hop.target
    return (
        f"## Why was it made?\n\nTo see whether a model knows {code(value)} ({escape(kind)}) by itself, "
        "before it has to combine it with another value: a model that fails here says nothing about "
        f"systematic generalisation. It follows the preliminary sets of {PAPER}, appendix B."
    )


def _composition(data: SubDataset) -> str:
    how = [SPLITS[each.split].construction for each in data.splits]
    return "\n\n".join(["## What is in it?", *how, composition(data), _CHOSEN])


def _baselines(data: SubDataset) -> str:
    rows = [
        (
            code(each.split),
            f"{escape(each.majority[0])} {percent(each.majority[1])}",
            percent(each.answers.get("no", 0) / max(each.n_questions, 1)),
            ", ".join(f"{escape(answer)} {number(n)}" for answer, n in sorted(each.answers.items())),
        )
        for each in data.splits
    ]
    return "## How well does guessing do?\n\n" + table(
        ["split", "most frequent answer", "always no", "answers"], rows
    )


def _values(data: SubDataset) -> str:
    return (
        "## What do the objects look like?\n\nValues (share of the objects in the split's images; the values "
        "of each type add up to 100%; half of the objects have the value that is asked for):\n\n"
        + value_table(data.splits, data.manifest.world["attributes"])
    )


def _families(data: SubDataset) -> str:
    def name(split: SplitStats, index: int) -> str:
        where = ""
        if index in data.families:
            file, place = data.families[index]
            where = f" {code(file)} {place}"
        return f"{code(split.split)}: family {index}{where}, {number(split.families[index])} questions"

    lines = [f"- {name(each, index)}" for each in data.splits for index in sorted(each.families)]
    return "## Questions by family\n\nAll phrasings of each family are used.\n\n" + "\n".join(lines)


def _uses() -> str:
    return (
        "## What is it for, and what not?\n\nIt is a test set for models that were trained on other data, "
        "such as a train set of this folder; do not train on it. `clevrhope score` gives the accuracy on "
        "each split. The images of a group or set share everything but one value, so a model that gives the "
        "same answer for all of them does not use the images."
    )
