"""The content of measured.json, from which every page takes its numbers, and the order of names in pages."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import pi, sqrt
from typing import Any, NamedTuple, TypeVar

from clevrhope.dataset.manifest import Manifest
from clevrhope.describe.measure import FamilyNames, Value
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import OOD, SPLITS, TRAIN

Measured = Mapping[str, Any]
"""The measurements of a split, with the keys of measured.json."""

_Key = TypeVar("_Key", bound=Hashable)

RELATION_ORDER = ("left", "right", "front", "behind")
"""Order of spatial relations; relations of equal values follow by name."""

TYPE_ORDER = ("yes/no", "count", "size", "color", "material", "shape")
"""Order of answer types, including attributes; others follow."""

VALUE_ORDER = (
    *("yes", "no"),
    *("small", "large"),
    *("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"),
    *("rubber", "metal"),
    *("cube", "sphere", "cylinder"),
)
"""Order of answers within their type; others follow."""


def ordered(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """Names in a given order, followed by any others; after yes and no, numbers are in ascending order."""

    def rank(name: str) -> tuple[int, int, str]:
        if name.isdecimal():
            return (1, int(name), "")
        if name in order:
            return (0 if name in ("yes", "no") else 2, order.index(name), "")
        return (3, 0, name)

    return sorted(set(names), key=rank)


def by_values(split: Measured) -> dict[frozenset[Value], dict[str, Any]]:
    """Two values with their attributes -> the objects that have both, and the images that show one."""
    return {frozenset(pair["values"].items()): pair for pair in split["pairs"]}


def by_family(split: Measured) -> dict[tuple[str, int], int]:
    """Template file and index in it -> questions."""
    return {(family["file"], family["place"]): family["questions"] for family in split["families"]}


DISTRIBUTIONS: Mapping[str, Callable[[Measured], Mapping[Any, int]]] = {
    "answers": lambda split: split["answers"],
    "answer types": lambda split: split["answer_types"],
    "files": lambda split: split["files"],
    "families": by_family,
    "words": lambda split: split["words"],
    "functions": lambda split: split["functions"],
    "relations": lambda split: split["relations"],
    "objects": lambda split: split["objects_an_image"],
    "values": lambda split: split["values"],
    "pairs": lambda split: {pair: each["objects"] for pair, each in by_values(split).items()},
}
"""The distributions by which two splits are compared; those of values and pairs are means over attributes."""


def guessed(split: Measured, seen: Measured | None, *, of_family: bool) -> float | None:
    """Accuracy of guessing the most frequent answers of another split, such as train; None if unknown.

    With `of_family`, families that the other split lacks get its overall most frequent answer.
    """
    if seen is None or not split["questions"]:
        return None
    if of_family and sum(family["questions"] for family in split["families"]) < split["questions"]:
        return None
    of_all = next(iter(seen["answers"]), "")
    if not of_family:
        return rounded(split["answers"].get(of_all, 0) / split["questions"])
    answers = {family["question_family_index"]: family["answers"] for family in seen["families"]}
    right = 0
    for family in split["families"]:
        known = answers.get(family["question_family_index"])
        guess = min(known, key=lambda answer: (-known[answer], answer)) if known else of_all
        right += family["answers"].get(guess, 0)
    return rounded(right / split["questions"])


def baselines(split: Measured, train: Measured | None) -> dict[str, float | None]:
    """The accuracies of guessing, from 0 to 1; None if unknown."""
    return {
        "most_frequent": guessed(split, split, of_family=False) or 0.0,
        "most_frequent_of_family": guessed(split, split, of_family=True),
        "most_frequent_in_train": guessed(split, train, of_family=False),
        "most_frequent_of_family_in_train": guessed(split, train, of_family=True),
    }


def with_baselines(split: Measured, train: Measured | None) -> dict[str, Any]:
    """The measurements with the most frequent answer and the accuracies of guessing."""
    most_frequent = next(iter(split["answers"]), "")
    return {**split, "most_frequent_answer": most_frequent, "baselines": baselines(split, train)}


def rounded(share: float) -> float | None:
    """A share with six decimals, or None for nan, which JSON lacks."""
    return None if share != share else round(share, 6)


def total_variation(a: Mapping[_Key, int], b: Mapping[_Key, int]) -> float:
    """Half the sum of the differences between two distributions' shares: 0 if alike, 1 if disjoint.

    Returns nan if one of them is empty.
    """
    n_a, n_b = sum(a.values()), sum(b.values())
    if not n_a or not n_b:
        return float("nan")
    # In whole numbers, because a sum of floats would depend on the order of a set.
    return sum(abs(a.get(key, 0) * n_b - b.get(key, 0) * n_a) for key in {*a, *b}) / (2 * n_a * n_b)


def total_variation_by_chance(a: Mapping[_Key, int], b: Mapping[_Key, int]) -> float:
    """The approximate total variation between two samples of these sizes from one distribution.

    That distribution is the two samples pooled. The difference of a share is taken as normal, with a mean
    absolute value of at most twice the share. Draws are assumed to be independent, so the result is a
    yardstick for small splits, not a test.
    """
    n_a, n_b = sum(a.values()), sum(b.values())
    if not n_a or not n_b:
        return float("nan")
    shares = [(a.get(key, 0) + b.get(key, 0)) / (n_a + n_b) for key in {*a, *b}]
    spread = 1 / n_a + 1 / n_b
    return sum(min(2 * p, sqrt(2 / pi * p * (1 - p) * spread)) for p in sorted(shares)) / 2


def distances_json(splits: Mapping[str, Measured]) -> Iterator[dict[str, Any]]:
    """How far splits are from those with which they are compared; the two of the gap come first."""
    for kind in sorted(SPLITS.values(), key=lambda kind: kind.name != OOD):
        if kind.name in splits and kind.reference in splits:
            yield distance_json(kind.name, kind.reference, splits[kind.name], splits[kind.reference])


def distance_json(a: str, b: str, first: Measured, second: Measured) -> dict[str, Any]:
    """Total variation in each of `DISTRIBUTIONS`, and roughly what chance would give at these sizes."""
    pairs = {name: (pick(first), pick(second)) for name, pick in DISTRIBUTIONS.items()}
    return {
        "a": a,
        "b": b,
        "total_variation": {name: rounded(total_variation(*two)) for name, two in pairs.items()},
        "by_chance": {name: rounded(total_variation_by_chance(*two)) for name, two in pairs.items()},
    }


def hop_json(
    hop: Hop,
    splits: Mapping[str, Measured],
    *,
    images_shared: Mapping[str, int],
    from_clevr: Mapping[int, tuple[int, int]],
    families: FamilyNames,
    never: Iterable[int],
    suites: Mapping[str, Any],
    covr: Mapping[str, Any],
) -> dict[str, Any]:
    """The measurements of a sub-dataset.

    Args:
        hop: the sub-dataset.
        splits: the measurements of its splits of questions about one image.
        images_shared: split -> its images that other sub-datasets of the folder use too.
        from_clevr: number of objects -> train images that have so many, and how many of them are CLEVR's.
        families: all families of the templates.
        never: those that can never mention what is held out.
        suites: the measurements of its suites.
        covr: the measurements of its splits over several images.
    """
    unable = frozenset(never)
    measured: dict[str, dict[str, Any]] = {}
    for name, split in splits.items():
        measured[name] = with_baselines(split, splits.get(TRAIN.name))
        measured[name]["images_shared"] = images_shared[name]
        if name == TRAIN.name and from_clevr:
            measured[name]["images_from_clevr"] = sum(n for _, n in from_clevr.values())
            measured[name]["from_clevr_by_objects"] = {
                n_objects: {"images": n, "from_clevr": n_clevr}
                for n_objects, (n, n_clevr) in from_clevr.items()
            }
    return {
        "hop": hop.name,
        "diversity": hop.diversity,
        "held_out": dict(sorted(hop.held_out or ())),
        "splits": measured,
        "distances": list(distances_json(splits)),
        "families": [
            {
                "question_family_index": index,
                "file": file.removesuffix(".json"),
                "place": place,
                "can_mention": index not in unable,
            }
            for index, (file, place) in sorted(families.items())
        ],
        "suites": suites,
        "covr": covr,
    }


class PoolStats(NamedTuple):
    """The images of a pool over all sub-datasets; the names are those in measured.json."""

    scenes_so_far: int
    """The last used index plus one."""
    images: int
    images_shared: int
    """Images that at least two sub-datasets use."""
    uses: int
    """Number of images that there would be if each sub-dataset had its own."""


def folder_json(
    hops: Sequence[Hop], manifest: Manifest, pools: Mapping[str, PoolStats], *, n_answers: int
) -> dict[str, Any]:
    """The measurements of a whole dataset; the questions of splits are as many as the manifest says."""

    def sizes(entries: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, int]]:
        return {
            hop.name: {name: each["questions"] for name, each in entries.get(hop.name, {}).items()}
            for hop in hops
        }

    return {
        "answers": n_answers,
        "diversity": {hop.name: hop.diversity for hop in hops},
        "splits": sizes(manifest.splits),
        "covr": sizes(manifest.covr),
        "pools": {name: pool._asdict() for name, pool in pools.items()},
        "bytes": _bytes_of_kinds(manifest),
    }


FILES: Mapping[str, tuple[str, str]] = {
    "questions as arrays": ("hops/", ".h5"),
    "questions in English": ("hops/", "_questions.json"),
    "questions over several images as arrays": ("covr/", ".h5"),
    "questions over several images in English": ("covr/", "_questions.json"),
    "episodes with nonce words": ("nonce/", ".h5"),
    "scenes": ("scenes/", ".json"),
    "images as PNG": ("images/", ".png"),
    "images as HDF5": ("images/", ".h5"),
    "masks, depths and normals": ("passes/", ".h5"),
}
"""Kind of files in a folder -> how their paths begin and end; the template dataset.md describes them."""


def _bytes_of_kinds(manifest: Manifest) -> dict[str, int]:
    """Kind of file -> its bytes, for the kinds in a folder; suites can be made later, and do not count."""
    found = {}
    for kind, (begin, end) in FILES.items():
        n_bytes = sum(
            record.bytes
            for file, record in manifest.files.items()
            if file.startswith(begin) and file.endswith(end) and "/suites/" not in file
        )
        if n_bytes:
            found[kind] = n_bytes
    return found
