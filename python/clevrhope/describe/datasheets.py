"""The datasheets of a dataset, from its measured.json and manifest.

Their questions follow Gebru et al., "Datasheets for Datasets" (2021), in our own words. The text is in the
templates of `clevrhope.pages`; here is what they choose from, such as which splits are compared.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.measured import read_measured, read_measured_folder
from clevrhope.dataset.question_kinds import PAIR_PLACES, STRUCTURES
from clevrhope.describe.making_and_licence import making_and_licence
from clevrhope.describe.measured import RELATION_ORDER, by_values, ordered
from clevrhope.describe.suites import CELLS
from clevrhope.errors import with_article
from clevrhope.pages import render_markdown
from clevrhope.pages.markdown import code
from clevrhope.runtime.atomic import FileRecord, record, write_whole
from clevrhope.splits.covr.aliases import covr_paper
from clevrhope.splits.covr.kinds import COVR_KINDS
from clevrhope.splits.hops import NONE, Hop, parse_hop
from clevrhope.splits.kinds import SPLITS
from clevrhope.splits.palettes import parse_pool_name

Splits = Mapping[str, Mapping[str, Any]]
"""Split -> its measurements."""


def write_datasheet(layout: Layout, manifest: Manifest, hop: str) -> dict[str, FileRecord]:
    """Writes the datasheet of a sub-dataset from its measured.json; returns the records of both files.

    Raises:
        DatasetError: the measurements are missing or not those of this sub-dataset.
    """
    measured = layout.hop_measured(hop)
    text = hop_datasheet(manifest, read_measured(measured))
    path = layout.hop_datasheet(hop)
    write_whole(path, text.encode())
    return {layout.relative(each): record(each) for each in (measured, path)}


def hop_datasheet(manifest: Manifest, measured: Mapping[str, Any]) -> str:
    """The datasheet of one sub-dataset, in Markdown."""
    attributes = manifest.world["attributes"]
    hop = parse_hop(measured["hop"], [(kind, list(values)) for kind, values in attributes.items()])
    splits: Splits = measured["splits"]
    shared = {
        "hop": hop,
        "measured": measured,
        "kinds": SPLITS,
        "value_rows": [
            (f"{kind} {value}", value) for kind, of_kind in attributes.items() for value in of_kind
        ],
        "checked": manifest.checked.get(hop.name, ()),
        **making_and_licence(manifest),
    }
    if hop.value is not None:
        return render_markdown("value.md", **shared)
    whole = {name: each for name, each in splits.items() if SPLITS[name].drawn != "places"}
    second = _second(hop, splits)
    palette = manifest.palettes.get(hop.pools)
    return render_markdown(
        "pair.md",
        **shared,
        **_rows(splits, whole),
        **_of_sets(measured["covr"]),
        values=[f"{code(value)} ({kind})" for kind, value in hop.held_out or ()],
        likened=_likened(hop),
        strictness=manifest.settings.strictness,
        second=second,
        palette=palette,
        seen=list(_seen(hop, splits, palette, second["splits"], attributes)) if palette else [],
        occurs=_occurs(hop, splits),
        whole_scenes=whole,
        combinations=list(_combinations(hop, whole, attributes)),
        distances=list(_distances(measured["distances"])),
        never=list(_never(measured["families"])),
        tuning=[code(name) for name in splits if SPLITS[name].role == "tune"],
        cells=CELLS if hop.held_out else (),
    )


def _rows(splits: Splits, whole: Splits) -> dict[str, Any]:
    """The rows of tables of shares, as pairs of a name and its key, and the questions of each family."""

    def found(histogram: str, order: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        names = ordered((name for each in splits.values() for name in each[histogram]), order)
        return [(name, name) for name in names]

    objects = [int(n) for each in whole.values() for n in each["objects_an_image"]]
    most = max((int(n) for each in splits.values() for n in each["relations_a_question"]), default=0)
    return {
        "object_rows": [
            (str(n), str(n)) for n in range(min(objects, default=0), max(objects, default=-1) + 1)
        ],
        "answer_rows": found("answers", ("yes", "no")),
        "answer_type_rows": found("answer_types", ("yes/no", "count")),
        "relation_rows": found("relations", RELATION_ORDER),
        "spatial_rows": [(f"{n} spatial", str(n)) for n in range(most + 1)],
        "family_counts": [
            {family["question_family_index"]: family["questions"] for family in split["families"]}
            for split in splits.values()
        ],
    }


def _of_sets(splits: Splits) -> dict[str, Any]:
    """What the section on several images needs besides the measurements."""
    sizes = sorted({int(n) for each in splits.values() for n in each["images_a_question"]})
    return {
        "covr_kinds": COVR_KINDS,
        "covr": covr_paper(),
        "operators": sorted({name for each in splits.values() for name in each.get("operators", ())}),
        "set_sizes": [str(n) for n in sizes],
        "set_templates": list(dict.fromkeys(name for each in splits.values() for name in each["templates"])),
        "structures": STRUCTURES,
        "pair_places": PAIR_PLACES,
    }


def _second(hop: Hop, splits: Splits) -> dict[str, Any]:
    """The palette of the second tests, "" if there are none, and the splits with its images."""
    palettes = {parse_pool_name(each["pool"])[1] for each in splits.values()} - {hop.palette}
    palette = "" if hop.held_out is not None else min(palettes, default="")
    of_it = [name for name, each in splits.items() if parse_pool_name(each["pool"])[1] == palette]
    return {"palette": palette, "splits": of_it if palette else []}


def _occurs(hop: Hop, splits: Splits) -> dict[str, list[str]]:
    """Split -> where images show, and questions ask for, what is held out; empty if nothing is."""
    if hop.held_out is None:
        return {}
    return {
        name: [
            f"one in {hop.corners}" if each == "in one" else each
            for each in (SPLITS[name].shown, SPLITS[name].asked)
        ]
        for name in splits
    }


def _likened(hop: Hop) -> str:
    """Words that ask for the held-out pair without describing it."""
    *others, (kind, value) = hop.held_out or (("", ""),)
    described = " ".join(value for _, value in others)
    other = value if kind == "shape" else f"{value} thing"
    return f"{with_article(described)} thing of the same {kind} as {with_article(other)}"


def _seen(
    hop: Hop, splits: Splits, palette: Mapping[str, Any], second: list[str], attributes: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """The objects with each combination, in the first split without the pair and in second tests."""
    if len(palette["types"]) != 2:
        return
    first = next((name for name in splits if SPLITS[name].asked != "always"), None)
    if first is None:
        return
    first_type, second_type = palette["types"]
    first_values, second_values = attributes[first_type], attributes[second_type]
    held_out = tuple(palette.get("held_out") or ())
    for name in (first, *second[:1]):
        pairs = by_values(splits[name])

        def cell(a: str, b: str, pairs: Mapping[Any, Mapping[str, int]] = pairs) -> tuple[int, bool]:
            pair = pairs.get(frozenset({(first_type, a), (second_type, b)}), {"objects": 0})
            return pair["objects"], held_out == (a, b)

        rows = [(a, [cell(a, b) for b in second_values]) for a in first_values]
        yield {"split": name, "columns": second_values, "rows": rows}


def _combinations(hop: Hop, whole: Splits, attributes: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """For every two held-out values, the shares of objects with each combination of their types' values."""
    order = [(kind, value) for kind, of_kind in attributes.items() for value in of_kind]
    pairs = [(by_values(split), max(split["objects"], 1)) for split in whole.values()]
    none = {"objects": 0}
    for two in combinations(hop.held_out or (), 2):
        held_out = sorted(two, key=order.index)
        types = [kind for kind, _ in held_out]
        yield {
            "types": types,
            "rows": [
                {
                    "values": values,
                    "held_out": [value for _, value in held_out] == list(values),
                    "shares": [
                        found.get(frozenset(zip(types, values, strict=True)), none)["objects"] / n
                        for found, n in pairs
                    ],
                }
                for values in product(*(attributes[kind] for kind in types))
            ],
        }


def _distances(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The distances between streams, in the order of the splits; the reference is named first."""
    by_split = {each["a"]: each for each in found}
    for name, kind in SPLITS.items():
        if kind.drawn == "stream" and name in by_split:
            yield {**by_split[name], "a": by_split[name]["b"], "b": name}


def _never(families: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The families that can never mention the pair: each file once, with their places in it."""
    places: dict[str, list[str]] = {}
    for each in families:
        if not each["can_mention"]:
            places.setdefault(each["file"], []).append(str(each["place"]))
    for file, of_file in places.items():
        yield {"file": file, "places": of_file, "n": len(of_file)}


def folder_datasheet(layout: Layout, manifest: Manifest) -> str:
    """The datasheet of the whole dataset, in Markdown.

    Raises:
        DatasetError: the folder's measurements are missing or broken.
    """
    measured = read_measured_folder(layout.measured)
    types = [(kind, list(values)) for kind, values in manifest.world["attributes"].items()]
    hops = [parse_hop(name, types) for name in measured["splits"]]
    names = {
        folder: list(dict.fromkeys(name for splits in measured[folder].values() for name in splits))
        for folder in ("splits", "covr")
    }
    n_pairs = sum(hop.held_out is not None for hop in hops)
    n_values = sum(hop.value is not None for hop in hops)
    return render_markdown(
        "dataset.md",
        **making_and_licence(manifest),
        measured=measured,
        names=names,
        n_pairs=n_pairs,
        contents=[
            *_contents(n_pairs, len(hops) - n_pairs - n_values, n_values),
            *(["episodes with nonce words"] if manifest.nonce else []),
        ],
        episodes=manifest.nonce.get(NONE, {}),
        n_of_one=sum(n for splits in measured["splits"].values() for n in splits.values()),
        n_of_sets=sum(n for splits in measured["covr"].values() for n in splits.values()),
        of_places=[name for name, kind in SPLITS.items() if kind.drawn == "places"],
    )


def _contents(n_pairs: int, n_plain: int, n_values: int) -> Iterator[str]:
    if n_pairs:
        yield f"{n_pairs:,} held-out pair{'s' * (n_pairs != 1)}"
    if n_plain:
        yield "a dataset with nothing held out" if n_plain == 1 else f"{n_plain} with nothing held out"
    if n_values:
        yield f"test sets on {n_values:,} single value{'s' * (n_values != 1)}"
