"""What was measured in a folder's files in, the DATASHEET.md of the whole dataset out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clevrhope.describe.datasheet.origin import PAPER, Provenance, made_with
from clevrhope.describe.markdown import code, listed, number, percent, table
from clevrhope.describe.measure import SplitStats
from clevrhope.splits.hops import Hop


@dataclass(frozen=True)
class PoolStats:
    """Images of one pool over all sub-datasets."""

    size: int
    """Last used index plus one."""
    n_images: int
    n_shared: int
    """Images that two sub-datasets or more use."""
    n_used: int
    """Images if each sub-dataset had its own."""


@dataclass(frozen=True)
class WholeDataset:
    """What was measured of a folder."""

    hops: Sequence[tuple[Hop, Sequence[SplitStats]]]
    pools: Mapping[str, PoolStats]
    bytes_by_kind: Mapping[str, int]
    """Kind of file -> bytes in all."""
    n_answers: int
    made_with: Provenance


def folder_datasheet(data: WholeDataset) -> str:
    """The datasheet of the whole dataset, in Markdown."""
    held_out = [hop for hop, _ in data.hops if hop.pair is not None]
    alone = [hop for hop, _ in data.hops if hop.value is not None]
    plain = len(data.hops) - len(held_out) - len(alone)
    parts = [
        "# Datasheet",
        "The questions are those of Gebru et al., *Datasheets for Datasets* (2021), answered from the "
        "files of this folder. Each sub-dataset has a datasheet of its own, with its distributions, "
        "baselines and limits.",
        "## Why was it made, and by whom?",
        f"To measure systematic generalisation in visual question answering. It follows {PAPER}"
        + (
            ": for each held-out pair of attribute values a train set in which the pair never occurs, in "
            "images or in words, and four test sets. "
            if held_out
            else ", but holds no pair out. "
        )
        + "Whoever ran clevrhope with the settings below made it; no funding is "
        "recorded. It differs from the paper's own release in its scenes: "
        + (
            "all are sampled and rendered anew (part of the paper's train images are CLEVR's)"
            if not data.made_with.shares_clevr
            else "which train images are CLEVR's was drawn anew, and the others were sampled and rendered"
        )
        + ", and phrasings are those of the templates below.",
        "## What is in it?",
        f"{_contents(len(held_out), plain, len(alone))}; "
        f"{data.n_answers} possible answers; no person, nothing private, nothing offensive.",
        _sub_datasets(data),
        _files(data),
        _sharing(data),
        made_with(data.made_with),
    ]
    return "\n\n".join(parts) + "\n"


def _contents(n_pairs: int, n_plain: int, n_alone: int) -> str:
    pairs = f"{number(n_pairs)} held-out pair{'s' if n_pairs != 1 else ''}"
    plain = "a dataset with nothing held out" if n_plain == 1 else f"{n_plain} with nothing held out"
    alone = f"test sets on {number(n_alone)} value{'s' if n_alone != 1 else ''} alone"
    parts = [pairs] * bool(n_pairs) + [plain] * bool(n_plain) + [alone] * bool(n_alone)
    return listed(parts).capitalize()


def _sub_datasets(data: WholeDataset) -> str:
    names = list(dict.fromkeys(each.split for _, splits in data.hops for each in splits))
    rows = []
    for hop, splits in data.hops:
        by_name = {each.split: each for each in splits}
        cells = [number(by_name[name].n_questions) if name in by_name else "" for name in names]
        rows.append((f"[{hop.name}](hops/{hop.name}/DATASHEET.md)", hop.diversity or "", *cells))
    head = ["sub-dataset", "diversity", *(code(name) for name in names)]
    return f"Questions of each split:\n\n{table(head, rows)}"


def _files(data: WholeDataset) -> str:
    what = [
        (
            "questions as arrays",
            "hops/&lt;pair&gt;/&lt;split&gt;.h5",
            "questions, programs and answers as numbers of `vocab.json`, and `image_idxs`",
        ),
        (
            "questions in English",
            "hops/&lt;pair&gt;/&lt;split&gt;_questions.json",
            "the same in English: CLEVR's question files",
        ),
        (
            "scenes",
            "scenes/&lt;pool&gt;/",
            "CLEVR's scene files, with camera, lights, boxes and visible pixels; 10,000 indices each",
        ),
        ("images as PNG", "images/&lt;pool&gt;/", "a PNG file a scene"),
        (
            "images as HDF5",
            "images/&lt;pool&gt;.h5",
            "images in one array: row i is scene i; rows that no split uses are empty",
        ),
        (
            "masks, depths and normals",
            "passes/&lt;pool&gt;.h5",
            "of each pixel of an image, and of each object its tight box and how much of it is seen; rows "
            "as of images, units and values without an object in the arrays' attributes",
        ),
    ]
    there = {kind: size for kind, size in data.bytes_by_kind.items() if size}
    lines = "\n".join(
        [
            *(f"- {name}: {text}" for kind, name, text in what if kind in there),
            "- manifest.json: settings, seed, every file with size and SHA-256",
        ]
    )
    rows = [(kind, number(size)) for kind, size in there.items()]
    return f"{lines}\n\n{table(['kind of file', 'bytes'], rows)}"


def _sharing(data: WholeDataset) -> str:
    rows = [
        (
            code(name),
            number(pool.size),
            number(pool.n_images),
            number(pool.n_used),
            percent(pool.n_shared / pool.n_images if pool.n_images else float("nan")),
        )
        for name, pool in data.pools.items()
    ]
    head = ["pool", "scenes so far", "images", "if each sub-dataset had its own", "used by two or more"]
    return (
        "## What do the sub-datasets share?\n\nImages come from pools that all sub-datasets draw on, so "
        "the same image can be in the train sets of several pairs, or in the test sets of several, never "
        "in both. One-object images, which `minimal_iid` and `minimal_ood` share, have a pool for each "
        "two attribute "
        "types, where the paper's release keeps them apart by split. The preliminary sets have a pool of "
        "one-object and one of five-object images for each type.\n\n" + table(head, rows)
    )
