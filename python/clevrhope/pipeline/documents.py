"""The documents of a dataset, made from its finished files: datasheets, contact sheet and vocabulary."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.images_h5 import images_in, read_images
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.measured import write_measured
from clevrhope.dataset.question_kinds import PAIR_PLACES, SETS, SINGLE, STRUCTURES, kind_of
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.scene_files import Pools
from clevrhope.dataset.vocab import read_vocab
from clevrhope.describe.contact_sheet import contact_sheet, pair_boxes, sketch_url, thumbnail_url
from clevrhope.describe.covr import measure_covr
from clevrhope.describe.datasheets import folder_datasheet, write_datasheet
from clevrhope.describe.measure import FamilyNames, SceneCounts, count_scenes, measure_split
from clevrhope.describe.measured import PoolStats, folder_json, hop_json
from clevrhope.describe.suites import measure_suites
from clevrhope.images.png import read_png
from clevrhope.images.renderers import made_by
from clevrhope.pages.markdown import listed
from clevrhope.pipeline import engine
from clevrhope.pipeline.questions import distinct_images
from clevrhope.pipeline.resolution import Resolved
from clevrhope.pipeline.text import indices_by_pool
from clevrhope.runtime.atomic import FileRecord, record, write_whole
from clevrhope.runtime.progress import Progress
from clevrhope.runtime.threads import map_in_threads
from clevrhope.scenes.sketch import SIZE_PX
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SHARED_PLACES, SPLITS, TRAIN

IMAGES_SHOWN = 6
QUESTIONS_SHOWN = 5
IMAGES_SHOWN_OF_MANY = 2
"""Images per split on the contact sheet if there are more sub-datasets than `MANY`."""
MANY = 3
PLACES_SHOWN = 2
TEXTS_SHOWN, TEXTS_SHOWN_OF_MANY = 4, 1
"""Texts per split of questions over several images, each with two answers."""
WIDTH_IN_A_SET_PX = 240
"""Width of an image in a row of five."""


def write_documents(
    resolved: Resolved,
    manifest: Manifest,
    of_splits: Mapping[tuple[str, str], tuple[str, Ints]],
    scenes: Pools,
    progress: Progress,
) -> dict[str, FileRecord]:
    """Measures the folder's files, writes its datasheets and contact sheet, and returns their records.

    `of_splits` has the pool of each HOP's split, and the scenes that it asks about.
    """
    layout, used = resolved.layout, indices_by_pool(of_splits.values())
    hops = [resolved.hop(name) for name in manifest.splits]
    with progress.stage("Measuring splits", total=len(hops), unit="sub-datasets") as advance:
        counts = {pool: count_scenes(scenes[pool].native, scenes[pool].types) for pool in used}
        # Pool -> by scene index, the number of sub-datasets that use the scene.
        n_users = {pool: np.zeros(int(each[-1]) + 1, dtype=np.int32) for pool, each in used.items()}
        for hop_name in dict.fromkeys(hop for hop, _ in of_splits):
            of_hop = (scenes for (name, _), scenes in of_splits.items() if name == hop_name)
            for pool, mine in indices_by_pool(of_hop).items():
                n_users[pool][mine] += 1

        templates, never_mention = resolved.engine.templates, engine.families_that_never_mention
        families = engine.families(templates)

        def measure(hop: Hop) -> dict[str, Any]:
            _, mine = of_splits.get((hop.name, TRAIN.name), ("", np.zeros(0, dtype=np.int32)))
            known: dict[str, Any] = {"from_clevr": resolved.engine.published_by_number(mine)}
            known["never"] = never_mention(templates, hop.held_out) if hop.held_out else ()
            return measured_hop(hop, layout, manifest, counts, n_users, families, **known)

        files: dict[str, FileRecord] = {}
        for hop, measured in zip(hops, map_in_threads(measure, hops), strict=True):
            write_measured(layout.hop_measured(hop.name), measured)
            files |= write_datasheet(layout, manifest, hop.name)
            advance(1)
    with progress.stage("Writing pages", total=2, unit="pages") as advance:
        pools = {pool: pool_stats(indices, n_users[pool]) for pool, indices in used.items()}
        whole = folder_json(hops, manifest, pools, n_answers=len(resolved.engine.world.answers))
        write_measured(layout.measured, whole)
        write_whole(layout.datasheet, folder_datasheet(layout, manifest).encode())
        advance(1)
        written = [layout.measured, layout.datasheet]
        if manifest.splits or manifest.covr:  # a sheet has nothing to show of episodes, which browse shows
            write_whole(layout.contact_sheet, contact_sheet(_sheet(resolved, manifest, used)).encode())
            written.append(layout.contact_sheet)
        advance(1)
    return files | {layout.relative(path): record(path) for path in written}


def measured_hop(
    hop: Hop,
    layout: Layout,
    manifest: Manifest,
    counts: Mapping[str, SceneCounts | None],
    n_users: Mapping[str, Ints],
    families: FamilyNames,
    **known: Any,
) -> dict[str, Any]:
    """The content of a sub-dataset's measured.json.

    `counts` has what the scenes of each pool show, if that is known; `n_users` the number of sub-datasets
    that use each scene, by index; `known` the other arguments of `hop_json`.
    """
    vocab, splits, shared = read_vocab(layout.vocab), {}, {}
    for split in [name for name in manifest.splits[hop.name] if kind_of(name) is SINGLE]:
        rows = read_table(layout.questions_h5(hop.name, split)).load()
        splits[split] = measure_split(
            rows.pool, rows, vocab=vocab, scenes=counts[rows.pool], families=families
        )
        shared[split] = int((n_users[rows.pool][rows.scenes] > 1).sum())
    return hop_json(
        hop,
        splits,
        images_shared=shared,
        families=families,
        **known,
        suites=measure_suites(layout, manifest, hop.name),
        covr=measure_covr(layout, manifest, hop.name),
    )


def pool_stats(indices: Ints, n_users: Ints) -> PoolStats:
    """The images of a pool, from the scenes in use and the number of sub-datasets that use each scene."""
    n_images, n_shared = (int(np.count_nonzero(n_users >= least)) for least in (1, 2))
    return PoolStats(int(indices[-1]) + 1, n_images, n_shared, int(n_users.sum()))


def _sheet(resolved: Resolved, manifest: Manifest, used: Mapping[str, Ints]) -> dict[str, Any]:
    n_shown = IMAGES_SHOWN if len(manifest.splits) <= MANY else IMAGES_SHOWN_OF_MANY
    return {
        "seed": manifest.seed_in_words,
        "n_questions": manifest.n_questions,
        "n_images": sum(map(len, used.values())),
        "n_rendered": sum(pool["images"] for pool in manifest.pools.values()),
        "hops": [_hop_cards(resolved.hop(name), resolved, manifest, n_shown) for name in manifest.splits],
        "renderer": made_by(manifest.rendering) if manifest.rendering else "",
        "n_published": sum(resolved.engine.n_published(pool, each) for pool, each in used.items()),
    }


def _hop_cards(hop: Hop, resolved: Resolved, manifest: Manifest, n_shown: int) -> dict[str, Any]:
    synonyms = engine.synonyms(resolved.config)

    def words(value: str) -> frozenset[str]:
        return frozenset(form for word in (value, *synonyms.get(value, ())) for form in (word, f"{word}s"))

    n_texts = TEXTS_SHOWN if n_shown == IMAGES_SHOWN else TEXTS_SHOWN_OF_MANY
    palette = resolved.engine.palettes.get(hop.pools)
    return {
        "hop": hop,
        "pair_words": [words(value) for _, value in hop.held_out or ()],
        "seen": listed([" ".join(each) for each in palette.combinations]) if palette else "",
        "splits": [
            _split(split, entry, _cards(hop, split, entry["pool"], resolved, n_shown))
            for split, entry in manifest.splits[hop.name].items()
        ],
        "covr": [
            _split(split, entry, _set_cards(hop.name, split, entry["pool"], resolved, n_texts))
            for split, entry in manifest.covr.get(hop.name, {}).items()
        ],
    }


def _split(split: str, entry: Mapping[str, Any], cards: Sequence[Any]) -> dict[str, Any]:
    """A split and its cards; `entry` is the manifest's."""
    sizes = {"n_questions": entry["questions"], "n_images": entry["images"]}
    return {"split": split, **sizes, "cards": cards}


def _cards(hop: Hop, split: str, pool: str, resolved: Resolved, n_shown: int) -> list[dict[str, Any]]:
    """Cards of the first images that a split asks about; for a minimal split, of whole places."""
    layout = resolved.layout
    detokenizer = Detokenizer(read_vocab(layout.vocab))
    families = engine.families(resolved.engine.templates)
    by_image: dict[int, list[dict[str, str]]] = {}
    rows = read_table(layout.questions_h5(hop.name, split)).part(0, 50 * n_shown)
    rows.load("image_idxs", "question_families", "questions", "answers")
    for k, (image, family) in enumerate(
        zip(rows.image_idxs.tolist(), rows.question_families.tolist(), strict=True)
    ):
        asked = {
            "text": detokenizer.question(rows.questions[k]),
            "answer": detokenizer.answer(int(rows.answers[k])),
            "family": f"{families[family][0].removesuffix('.json')} {families[family][1]} (number {family})",
        }
        by_image.setdefault(image, []).append(asked)
    kind = SPLITS[split]
    group = kind.group_of(len(hop.target))
    has_groups = kind.drawn != "stream" and pool != SHARED_PLACES
    if kind.drawn == "places" and has_groups:
        places = list(dict.fromkeys(index // group for index in by_image))[:PLACES_SHOWN]
        shown = [index for index in by_image if index // group in places]
    else:
        shown = list(by_image)[: max(n_shown, group)]
    images = dict(_shown_images(layout, pool, shown))
    colours, size_px = engine.colours(resolved.config), resolved.manifest.raster_px
    scenes = {
        scene["image_index"]: scene
        for scene in scenes_of(layout, pool, np.asarray(sorted(shown), dtype=np.int32))
    }
    return [
        {
            "name": str(scenes[index]["image_filename"]),
            "image": images.get(index) or sketch_url(scenes[index], colours, size_px),
            "sketch": index not in images,
            "pair_boxes": pair_boxes(scenes[index], hop.held_out, size_px) if hop.held_out else (),
            "questions": by_image[index][:QUESTIONS_SHOWN],
            "source": str(scenes[index].get("source", "")),
            "group": index // group if has_groups else -1,
        }
        for index in shown
    ]


def _set_cards(hop: str, split: str, pool: str, resolved: Resolved, n_shown: int) -> list[dict[str, Any]]:
    """Cards of the first questions of a split: `n_shown` texts with two answers each."""
    vocab = read_vocab(resolved.layout.covr_vocab)
    table = read_table(resolved.layout.questions_h5(hop, split), SETS, vocab=vocab)
    rows, templates = table.part(0, 2 * n_shown), table.templates
    detokenizer = Detokenizer(vocab)
    sets = list(_sets(rows, pool, detokenizer, resolved))
    return [
        {
            "text": detokenizer.question(rows.questions[k]),
            "template": templates[int(rows.question_families[k])],
            "structure": STRUCTURES[int(rows.structures[k])],
            "pair_place": PAIR_PLACES[int(rows.pair_places[k])],
            "sets": sets[k : k + 2],
        }
        for k in range(0, len(rows), 2)
    ]


def _sets(
    rows: QuestionTable, pool: str, detokenizer: Detokenizer, resolved: Resolved
) -> Iterator[dict[str, Any]]:
    """The set of each question, with its answer."""
    used = distinct_images([rows.image_idxs])
    scenes = {scene["image_index"]: scene for scene in scenes_of(resolved.layout, pool, used)}
    images = dict(_shown_images(resolved.layout, pool, used.tolist(), width_px=WIDTH_IN_A_SET_PX))
    colours, size_px = engine.colours(resolved.config), resolved.manifest.raster_px
    for k in range(len(rows)):
        mine = [scenes[index] for index in rows.image_idxs[k].tolist() if index >= 0]
        shown = [
            {
                "name": str(scene["image_filename"]),
                "image": images.get(scene["image_index"]) or sketch_url(scene, colours, size_px),
                "sketch": scene["image_index"] not in images,
                "is_source": place == int(rows.sources[k]),
            }
            for place, scene in enumerate(mine)
        ]
        yield {"images": shown, "answer": detokenizer.answer(int(rows.answers[k]))}


def _shown_images(
    layout: Layout, pool: str, indices: Sequence[int], *, width_px: int = SIZE_PX[0]
) -> Iterator[tuple[int, str]]:
    """Index and thumbnail URL of those images that exist."""
    packed = set(images_in(layout.images_h5(pool)).tolist())
    for index in indices:
        png = layout.image(pool, index)
        if png.exists():
            yield index, thumbnail_url(read_png(png), width_px=width_px)
        elif index in packed:
            for _, pixels in read_images(layout.images_h5(pool), [index]):
                yield index, thumbnail_url(pixels, width_px=width_px)
