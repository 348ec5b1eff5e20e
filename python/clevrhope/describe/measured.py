"""The content of measured.json: measurements as JSON values, from which every page takes its numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from clevrhope.describe.covr import CovrStats
from clevrhope.describe.datasheet.dataset_sheet import WholeDataset, bytes_of_kinds
from clevrhope.describe.measure import SplitStats, total_variation, total_variation_by_chance
from clevrhope.describe.stats.comparison import DISTRIBUTIONS, by_file, family_name
from clevrhope.describe.stats.sources import FamilyNames, Measured
from clevrhope.describe.suites import SuiteStats
from clevrhope.splits.covr.kinds import COVR_TRAIN
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import OOD, SPLITS, TRAIN


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
        "files": by_file(measured),
        "families": [
            {
                "question_family_index": index,
                "file": family_name(measured, index)[0],
                "place": family_name(measured, index)[1],
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
        "questions_an_image": stats.questions_a_picture,
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
        "held_out": dict(sorted(hop.pair or ())),
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


def folder_json(data: WholeDataset) -> dict[str, Any]:
    """The measurements of a whole dataset."""
    return {
        "answers": data.n_answers,
        "diversity": {hop.name: hop.diversity for hop, _ in data.hops},
        "splits": {hop.name: {each.split: each.n_questions for each in splits} for hop, splits in data.hops},
        "covr": {hop: {each.split: each.n_questions for each in splits} for hop, splits in data.covr.items()},
        "pools": {
            name: {
                "scenes_so_far": pool.size,
                "images": pool.n_images,
                "images_shared": pool.n_shared,
                "uses": pool.n_used,
            }
            for name, pool in data.pools.items()
        },
        "bytes": bytes_of_kinds(data.manifest),
    }
