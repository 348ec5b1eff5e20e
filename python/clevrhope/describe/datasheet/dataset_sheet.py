"""The datasheet of a whole dataset, from measurements of its files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from clevrhope.dataset.manifest import Manifest
from clevrhope.describe.covr import CovrStats
from clevrhope.describe.datasheet.origin import PAPER, provenance_sections, shares_clevr
from clevrhope.describe.markdown import code, listed, number, percent, table
from clevrhope.describe.measure import SplitStats
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SHARED_PLACES, SPLITS


@dataclass(frozen=True)
class PoolStats:
    """The images of a pool over all sub-datasets."""

    size: int
    """The last used index plus one."""
    n_images: int
    n_shared: int
    """Images that at least two sub-datasets use."""
    n_used: int
    """Number of images that there would be if each sub-dataset had its own."""


@dataclass(frozen=True)
class WholeDataset:
    """The measurements of a folder."""

    hops: Sequence[tuple[Hop, Sequence[SplitStats]]]
    pools: Mapping[str, PoolStats]
    n_answers: int
    manifest: Manifest
    covr: Mapping[str, Sequence[CovrStats]] = field(default_factory=dict)
    """HOP -> its splits of questions over several images."""


def folder_datasheet(data: WholeDataset) -> str:
    """The datasheet of the whole dataset, in Markdown."""
    held_out = [hop for hop, _ in data.hops if hop.pair is not None]
    n_values = sum(hop.value is not None for hop, _ in data.hops)
    n_plain = len(data.hops) - len(held_out) - n_values
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
        + "It was made by whoever ran clevrhope with the settings below; no funding is "
        "recorded. It is not the authors' own release, and differs from it in its scenes: "
        + (
            "all are newly sampled and rendered (some of the authors' train images are CLEVR's)"
            if not shares_clevr(data.manifest)
            else "the train images that are CLEVR's were newly drawn, and the others were sampled and "
            "rendered"
        )
        + ". Its phrasings are those of the templates below; docs/official.md of clevrhope lists every rule "
        "that differs by default.",
        "## What is in it?",
        f"{_contents(len(held_out), n_plain, n_values)}; {_questions(data)}"
        f"{data.n_answers} possible answers; no people, and nothing private or offensive.",
        _sub_datasets(data),
        *_over_several_images(data),
        _files(data.manifest),
        _sharing(data),
        provenance_sections(data.manifest),
    ]
    return "\n\n".join(parts) + "\n"


def _questions(data: WholeDataset) -> str:
    """The numbers of questions and images if there are questions over several images; else nothing."""
    n_single = sum(each.n_questions for _, splits in data.hops for each in splits)
    n_sets = sum(each.n_questions for splits in data.covr.values() for each in splits)
    n_images = sum(pool.n_images for pool in data.pools.values())
    if not n_sets:
        return ""
    return (
        f"{number(n_single)} questions about one image and {number(n_sets)} over several images, "
        f"{number(n_images)} images; "
    )


def _contents(n_pairs: int, n_plain: int, n_values: int) -> str:
    pairs = f"{number(n_pairs)} held-out pair{'s' if n_pairs != 1 else ''}"
    plain = "a dataset with nothing held out" if n_plain == 1 else f"{n_plain} with nothing held out"
    values = f"test sets on {number(n_values)} single value{'s' if n_values != 1 else ''}"
    parts = [pairs] * bool(n_pairs) + [plain] * bool(n_plain) + [values] * bool(n_values)
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


def _over_several_images(data: WholeDataset) -> Iterator[str]:
    """A table of the questions over several images, if there are any."""
    there = {hop: splits for hop, splits in data.covr.items() if splits}
    if not there:
        return
    names = list(dict.fromkeys(each.split for splits in there.values() for each in splits))
    rows = []
    for hop, splits in there.items():
        by_name = {each.split: each for each in splits}
        cells = [number(by_name[name].n_questions) if name in by_name else "" for name in names]
        rows.append((code(hop), *cells))
    head = ["over several images", *(code(name) for name in names)]
    yield f"Questions over several images, in the folder `covr`:\n\n{table(head, rows)}"


def _files(manifest: Manifest) -> str:
    sizes = bytes_of_kinds(manifest)
    lines = [f"- {name}: {text}" for kind, _, _, name, text in KINDS if kind in sizes]
    rows = [(kind, number(n_bytes)) for kind, n_bytes in sizes.items()]
    lines.append("- manifest.json: settings, seed, and every file with its size and SHA-256")
    return "\n".join(lines) + f"\n\n{table(['kind of file', 'bytes'], rows)}"


def bytes_of_kinds(manifest: Manifest) -> dict[str, int]:
    """Kind of file -> its bytes, for the kinds in a folder; suites can be made later, and do not count."""
    found = {}
    for kind, begin, end, _, _ in KINDS:
        n_bytes = sum(
            each.bytes
            for file, each in manifest.files.items()
            if file.startswith(begin) and file.endswith(end) and "/suites/" not in file
        )
        if n_bytes:
            found[kind] = n_bytes
    return found


KINDS = (
    (
        "questions as arrays",
        "hops/",
        ".h5",
        "hops/&lt;pair&gt;/&lt;split&gt;.h5",
        "questions, programs and answers as numbers of `vocab.json`, and `image_idxs`",
    ),
    (
        "questions in English",
        "hops/",
        "_questions.json",
        "hops/&lt;pair&gt;/&lt;split&gt;_questions.json",
        "the same in English, as CLEVR's question files",
    ),
    (
        "questions over several images as arrays",
        "covr/",
        ".h5",
        "covr/&lt;pair&gt;/&lt;split&gt;.h5",
        "questions, programs and answers as numbers of `covr/vocab.json`, and up to five `image_idxs`",
    ),
    (
        "questions over several images in English",
        "covr/",
        "_questions.json",
        "covr/&lt;pair&gt;/&lt;split&gt;_questions.json",
        "the same in English, with programs as COVR's files have them",
    ),
    (
        "scenes",
        "scenes/",
        ".json",
        "scenes/&lt;pool&gt;/",
        "CLEVR's scene files, with camera, lights, boxes and visible pixels; 10,000 indices each",
    ),
    ("images as PNG", "images/", ".png", "images/&lt;pool&gt;/", "a PNG file for each scene"),
    (
        "images as HDF5",
        "images/",
        ".h5",
        "images/&lt;pool&gt;.h5",
        "images in one array: row i is scene i; rows that no split uses are empty",
    ),
    (
        "masks, depths and normals",
        "passes/",
        ".h5",
        "passes/&lt;pool&gt;.h5",
        "of each pixel of an image, with the tight box and the visible share of each object; rows are "
        "numbered like those of images; the arrays' attributes say units, and values without an object",
    ),
)
"""Kinds of files: the beginning and end of their paths, the paths as shown to readers, and their content."""


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
    names = listed([code(name) for name, kind in SPLITS.items() if kind.drawn == "places"])
    one_object = (
        f"All objects are shown at the same places in one pool, {code(SHARED_PLACES)}, which {names} of all "
        "pairs share, as in the original."
        if data.manifest.settings.minimal_pool == "shared"
        else f"Every two attribute types have a pool of one-object images, which {names} share; in the "
        "original all pairs share the same images of one object."
    )
    head = ["pool", "scenes so far", "images", "if each sub-dataset had its own", "used by two or more"]
    return (
        "## What do the sub-datasets share?\n\nAll sub-datasets draw images from the same pools, so an image "
        "can be in the train sets of several pairs or in the test sets of several, but never in both. "
        f"{one_object} Preliminary sets, if any, have a pool of one-object images and one of five-object "
        "images for each attribute type.\n\n" + table(head, rows)
    )
