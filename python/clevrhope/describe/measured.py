"""The content of measured.json: measurements as JSON values, from which every page takes its numbers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from clevrhope.dataset.manifest import Manifest
from clevrhope.describe.covr import CovrStats
from clevrhope.describe.measure import SplitStats, total_variation, total_variation_by_chance
from clevrhope.describe.suites import SuiteStats
from clevrhope.splits.covr.kinds import COVR_TRAIN
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import OOD, SPLITS, TRAIN

FamilyNames = Mapping[int, tuple[str, int]]
"""`question_family_index` -> template file and index in it."""


@dataclass(frozen=True)
class Measured:
    """A measured split."""

    stats: SplitStats
    families: FamilyNames
    """Names of the families that occur, as far as a file gives them."""
    group: str = ""
    """The sub-dataset, or "CLEVR"."""

    def family_name(self, index: int) -> tuple[str, int]:
        """Template file without its suffix, and index in it; ("family", index) if it has no name."""
        file, place = self.families.get(index, ("family", index))
        return file.removesuffix(".json"), place

    @property
    def by_family(self) -> dict[tuple[str, int], int]:
        """Template file and index in it -> questions."""
        return {self.family_name(index): n for index, n in self.stats.families.items()}

    @property
    def by_file(self) -> dict[str, int]:
        """Template file -> questions."""
        files: dict[str, int] = {}
        for (file, _), n in self.by_family.items():
            files[file] = files.get(file, 0) + n
        return files


DISTRIBUTIONS: Mapping[str, Callable[[Measured], Mapping[Any, int]]] = {
    "answers": lambda each: each.stats.answers,
    "answer types": lambda each: each.stats.answer_types,
    "files": lambda each: each.by_file,
    "families": lambda each: each.by_family,
    "words": lambda each: each.stats.words,
    "functions": lambda each: each.stats.functions,
    "relations": lambda each: each.stats.relations,
    "objects": lambda each: each.stats.objects,
    "values": lambda each: each.stats.values,
    "pairs": lambda each: each.stats.pairs,
}
"""The distributions by which two splits are compared; those of values and pairs are means over attributes."""


def splits_json(splits: Iterable[Measured]) -> dict[str, dict[str, Any]]:
    """Split -> every count; guesses from train are of the train split among these."""
    found = {each.stats.split: each for each in splits}
    train = found[TRAIN.name].stats if TRAIN.name in found else None
    return {name: split_json(each, train) for name, each in found.items()}


def split_json(measured: Measured, train: SplitStats | None) -> dict[str, Any]:
    """Every count of a split; shares are from 0 to 1, or None if unknown."""
    stats = measured.stats
    answer, share = stats.majority
    return {
        "pool": stats.pool,
        "questions": stats.n_questions,
        "images": stats.n_images,
        "objects": stats.n_objects,
        "answers": stats.answers,
        "answer_types": stats.answer_types,
        "files": measured.by_file,
        "families": [
            {
                "question_family_index": index,
                "file": measured.family_name(index)[0],
                "place": measured.family_name(index)[1],
                "questions": sum(answers.values()),
                "answers": answers,
            }
            for index, answers in stats.answers_of_families.items()
        ],
        "words": stats.words,
        "functions": stats.functions,
        "relations": stats.relations,
        "relations_a_question": stats.relations_a_question,
        "questions_with_all_relations_needed": stats.n_all_needed,
        "objects_an_image": stats.objects,
        "questions_an_image": stats.questions_an_image,
        "values": stats.values,
        "pairs": [
            {"values": dict(pair), "objects": n, "images": stats.images_with[pair]}
            for pair, n in stats.pairs.items()
        ],
        "most_frequent_answer": answer,
        "baselines": {
            "most_frequent": rounded(share),
            "most_frequent_of_family": rounded(stats.majority_of_families),
            "most_frequent_in_train": _guessed(stats, train, by_family=False),
            "most_frequent_of_family_in_train": _guessed(stats, train, by_family=True),
        },
    }


def _guessed(stats: SplitStats, train: SplitStats | None, *, by_family: bool) -> float | None:
    return None if train is None else rounded(stats.guessed_from(train, by_family=by_family))


def rounded(share: float) -> float | None:
    """A share with six decimals, or None for nan, which JSON lacks."""
    return None if share != share else round(share, 6)


def distances_json(splits: Iterable[Measured]) -> Iterator[dict[str, Any]]:
    """How far splits are from those with which they are compared; the two of the gap come first."""
    found = {each.stats.split: each for each in splits}
    for kind in sorted(SPLITS.values(), key=lambda kind: kind.name != OOD):
        if kind.name in found and kind.reference in found:
            yield distance_json(kind.name, kind.reference, found[kind.name], found[kind.reference])


def distance_json(a: str, b: str, first: Measured, second: Measured) -> dict[str, Any]:
    """Total variation in each of `DISTRIBUTIONS`, and roughly what chance would give at these sizes."""
    pairs = {name: (pick(first), pick(second)) for name, pick in DISTRIBUTIONS.items()}
    return {
        "a": a,
        "b": b,
        "total_variation": {name: rounded(total_variation(*two)) for name, two in pairs.items()},
        "by_chance": {name: rounded(total_variation_by_chance(*two)) for name, two in pairs.items()},
    }


def suites_json(suites: Iterable[SuiteStats]) -> dict[str, dict[str, Any]]:
    """Suite -> split -> the measurements of its pairs."""
    found: dict[str, dict[str, Any]] = {}
    for each in suites:
        found.setdefault(each.suite, {})[each.split] = {
            "pairs": each.n_pairs,
            "originals": each.n_originals,
            "empty_tests": list(each.empty),
            "tests": {
                test.test: {
                    "type": test.type,
                    "tier": test.tier,
                    "relations": list(test.relations),
                    "pairs": test.n_pairs,
                    "cells": dict(test.cells),
                    "partners_yes": test.n_yes,
                    "partners_yes_or_no": test.n_yes_no,
                    "yes_share": rounded(test.yes_share),
                }
                for test in each.tests
            },
        }
    return found


def covr_json(splits: Sequence[CovrStats]) -> dict[str, dict[str, Any]]:
    """Split over several images -> every count."""
    train = next((each for each in splits if each.split == COVR_TRAIN), None)
    return {each.split: _sets(each, train) for each in splits}


def _sets(stats: CovrStats, train: CovrStats | None) -> dict[str, Any]:
    return {
        "pool": stats.pool,
        "questions": stats.n_questions,
        "images": stats.n_images,
        "images_a_question": stats.images_a_question,
        "answers": stats.answers,
        "templates": {
            template: {
                "questions": sum(answers.values()),
                "answers": answers,
                "cut": {
                    name: stats.cuts[template].get(number, 0)
                    for name, number in (("changed", 1), ("stays", 0), ("exempt", -1))
                },
            }
            for template, answers in stats.answers_of_templates.items()
        },
        "structures": stats.structures,
        "properties": stats.properties,
        "pair_places": stats.pair_places,
        "tokens": stats.words,
        "functions": stats.functions,
        "pairs_not_found": stats.skipped,
        "baselines": {
            "maj": _frequent(stats, train, by_template=False),
            "maj_templ": _frequent(stats, train, by_template=True),
        },
    }


def _frequent(stats: CovrStats, train: CovrStats | None, *, by_template: bool) -> float | None:
    """The accuracy of frequent answers of train; None if it is unknown."""
    return None if train is None else rounded(stats.guessed_from(train, by_template=by_template))


def hop_json(
    hop: Hop,
    splits: Sequence[Measured],
    *,
    images_shared: Mapping[str, int],
    from_clevr: Mapping[int, tuple[int, int]],
    families: FamilyNames,
    never: Iterable[int],
    suites: Iterable[SuiteStats],
    covr: Sequence[CovrStats],
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
    measured = splits_json(splits)
    for name, split in measured.items():
        split["images_shared"] = images_shared[name]
        if name == TRAIN.name and from_clevr:
            split["images_from_clevr"] = sum(n for _, n in from_clevr.values())
            split["from_clevr_by_objects"] = {
                n_objects: {"images": n, "from_clevr": n_clevr}
                for n_objects, (n, n_clevr) in from_clevr.items()
            }
    return {
        "hop": hop.name,
        "diversity": hop.diversity,
        "held_out": dict(sorted(hop.held_out or ())),
        "splits": measured,
        "distances": list(distances_json(splits)),
        "families": families_json(families, never),
        "suites": suites_json(suites),
        "covr": covr_json(covr),
    }


def families_json(families: FamilyNames, never: Iterable[int]) -> list[dict[str, Any]]:
    """All families of the templates; `never` are those that can never mention what is held out."""
    unable = frozenset(never)
    return [
        {
            "question_family_index": index,
            "file": file.removesuffix(".json"),
            "place": place,
            "can_mention": index not in unable,
        }
        for index, (file, place) in sorted(families.items())
    ]


def split_from_json(name: str, row: Mapping[str, Any]) -> Measured:
    """The measurements of a split from measured.json, where they are valid."""

    def numbered(key: str) -> dict[int, int]:
        return {int(value): n for value, n in row[key].items()}

    pairs = {tuple(each["values"].items()): each for each in row["pairs"]}
    stats = SplitStats(
        split=name,
        pool=row["pool"],
        n_questions=row["questions"],
        n_images=row["images"],
        answers_of_families={each["question_family_index"]: each["answers"] for each in row["families"]},
        answer_types=row["answer_types"],
        words=numbered("words"),
        functions=numbered("functions"),
        relations=row["relations"],
        relations_a_question=numbered("relations_a_question"),
        objects=numbered("objects_an_image"),
        values=row["values"],
        pairs={pair: each["objects"] for pair, each in pairs.items()},
        images_with={pair: each["images"] for pair, each in pairs.items()},
        questions_an_image=numbered("questions_an_image"),
        n_all_needed=row["questions_with_all_relations_needed"],
    )
    named = {each["question_family_index"]: (each["file"], each["place"]) for each in row["families"]}
    return Measured(stats, named)


def objects_by_values(split: Mapping[str, Any]) -> dict[frozenset[tuple[str, str]], int]:
    """Two values with their attributes -> objects that have both, of a split in measured.json."""
    return {frozenset(each["values"].items()): each["objects"] for each in split["pairs"]}


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


class KindOfFiles(NamedTuple):
    """A kind of files in a folder."""

    name: str
    begin: str
    """The beginning of their paths."""
    end: str
    path: str
    """Their paths as shown to readers."""
    content: str


KINDS_OF_FILES = (
    KindOfFiles(
        "questions as arrays",
        "hops/",
        ".h5",
        "hops/&lt;pair&gt;/&lt;split&gt;.h5",
        "questions, programs and answers as numbers of `vocab.json`, and `image_idxs`",
    ),
    KindOfFiles(
        "questions in English",
        "hops/",
        "_questions.json",
        "hops/&lt;pair&gt;/&lt;split&gt;_questions.json",
        "the same in English, as CLEVR's question files",
    ),
    KindOfFiles(
        "questions over several images as arrays",
        "covr/",
        ".h5",
        "covr/&lt;pair&gt;/&lt;split&gt;.h5",
        "questions, programs and answers as numbers of `covr/vocab.json`, and up to five `image_idxs`",
    ),
    KindOfFiles(
        "questions over several images in English",
        "covr/",
        "_questions.json",
        "covr/&lt;pair&gt;/&lt;split&gt;_questions.json",
        "the same in English, with programs as COVR's files have them",
    ),
    KindOfFiles(
        "scenes",
        "scenes/",
        ".json",
        "scenes/&lt;pool&gt;/",
        "CLEVR's scene files, with camera, lights, boxes and visible pixels; 10,000 indices each",
    ),
    KindOfFiles("images as PNG", "images/", ".png", "images/&lt;pool&gt;/", "a PNG file for each scene"),
    KindOfFiles(
        "images as HDF5",
        "images/",
        ".h5",
        "images/&lt;pool&gt;.h5",
        "images in one array: row i is scene i; rows that no split uses are empty",
    ),
    KindOfFiles(
        "masks, depths and normals",
        "passes/",
        ".h5",
        "passes/&lt;pool&gt;.h5",
        "of each pixel of an image, with the tight box and the visible share of each object; rows are "
        "numbered like those of images; the arrays' attributes say units, and values without an object",
    ),
)


def _bytes_of_kinds(manifest: Manifest) -> dict[str, int]:
    """Kind of file -> its bytes, for the kinds in a folder; suites can be made later, and do not count."""
    found = {}
    for kind in KINDS_OF_FILES:
        n_bytes = sum(
            each.bytes
            for file, each in manifest.files.items()
            if file.startswith(kind.begin) and file.endswith(kind.end) and "/suites/" not in file
        )
        if n_bytes:
            found[kind.name] = n_bytes
    return found
