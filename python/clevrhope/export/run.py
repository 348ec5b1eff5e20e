"""Exports a dataset into a new folder, which appears complete or not at all."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.contents import choose, of_episodes_alone, suite_command
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.folder_check import check_outside
from clevrhope.dataset.image_source import Images, find_images
from clevrhope.dataset.layout import FOLDERS, Layout
from clevrhope.dataset.levels import read_levels, rows_on
from clevrhope.dataset.manifest import FILES_TABLE, Manifest
from clevrhope.dataset.passes_h5 import find_passes
from clevrhope.dataset.question_kinds import KINDS, NONCE, PAIRS, SETS, SINGLE, kind_of
from clevrhope.dataset.question_table import open_split, read_table
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_pools import SuitePool
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.export.formats import FORMATS, Format
from clevrhope.export.source import ExportSource, SplitSource
from clevrhope.replies.instructions import find_instruction
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.paths import check_links
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.settings import suggestion
from clevrhope.runtime.whole_folder import check_new, whole_folder
from clevrhope.splits.covr.kinds import COVR_TRAIN
from clevrhope.splits.kinds import TRAIN
from clevrhope.splits.nonce.kinds import NONCE_SPLITS, OBJECTS, SCENES

SOURCE = "source.json"
"""The file that says what an export was made from; it is written first."""


@dataclass(frozen=True)
class Exported:
    """A summary of what was written."""

    folder: Path
    images: bool
    """False for text only, by choice or because the folder has no images."""
    n_questions: int
    n_images: int
    """Number of distinct images that the splits use, as `build` counts them."""
    n_copies: int
    """Number of images written; each split or set of images that shares an image has its own copy."""
    n_bytes: int
    splits: tuple[tuple[str, str], ...]
    """(HOP, split) of each split."""
    n_pairs: int = 0
    """Number of pairs of suites on these splits; of the other numbers, only `n_copies` includes them."""

    def as_json(self) -> dict[str, Any]:
        """The summary as JSON values."""
        return {
            "folder": str(self.folder),
            "questions": self.n_questions,
            "images": self.n_images,
            "image_copies": self.n_copies,
            "bytes": self.n_bytes,
            "splits": [{"hop": hop, "split": split} for hop, split in self.splits],
            **({"pairs": self.n_pairs} if self.n_pairs else {}),
        }


def export(
    folder: Path | str,
    out: Path | str,
    *,
    format: str,
    hops: Sequence[str] | None = None,
    splits: Sequence[str] | None = None,
    train_questions: int | None = None,
    images: bool = True,
    masks: bool = False,
    steps: bool = False,
    shard_size: int | None = None,
    levels: Sequence[int] = (),
    instruction: str | Path | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Writes splits of a finished dataset in a format that other libraries read (see docs/export.md).

    Args:
        folder: a dataset made by `clevrhope build`; it is only read.
        out: the new folder, which must not exist yet, or must be empty.
        format: a name in `FORMATS`.
        hops: the HOPs to export; None for all in the folder.
        splits: the splits to export; None for all that are about one image, or in format "covr" for all that
            are about sets of images, or of a folder of episodes alone for both conditions. Some HOPs may lack
            a split.
        train_questions: number of questions of each `train`, from the first; 25_000 and 200_000 are the
            paper's smaller sets.
        images: False exports only text, as does a folder without images.
        masks: whether to export the masks too; needs a folder built with masks, and format "parquet".
        steps: whether to export the steps of each answer in sentences, in format "parquet".
        shard_size: images of a file, of formats "parquet" and "webdataset"; by default so many that eight
            loaders have a file each, but at least 16, and at most what the format recommends.
        levels: only questions on these levels of difficulty, 1 to 4, of format "rl"; all if empty.
        instruction: the name or file of what follows each question of format "rl"; None for "think".
        progress: shows the progress of the export.

    Raises:
        ConfigError: there is no such format, HOP, split, level, instruction or size, several HOPs were given
            to a format for one HOP, the format or the folder has no masks, a library is missing, or `out` is
            in a dataset.
        DatasetError: `out` is not empty, a file of the dataset is missing or truncated, or the disk is full
            or not writable.
    """
    chosen, folder, out = _format(format), Path(folder), Path(out)
    if masks and not chosen.more:
        raise ConfigError(f"--masks goes with --format parquet, not {format}; coco has masks without it")
    if not chosen.prompts and (levels or instruction is not None):
        option = "--level" if levels else "--instruction"
        raise ConfigError(f"{option} goes with --format rl, not {format}")
    prompt = find_instruction(instruction or "think") if chosen.prompts else None
    if steps and not chosen.more:
        raise ConfigError(f"--steps goes with --format parquet, not {format}")
    check_new(out)
    check_outside(out)
    layout = Layout(folder)
    check_links(folder, (layout.manifest.name, FILES_TABLE, layout.vocab.name, *FOLDERS))
    names = _names(layout, hops, splits, format, chosen)
    found = tuple(dict.fromkeys(hop for hop, _ in names))
    if chosen.one_hop and len(found) > 1:
        listed = ", ".join(found[:3]) + (", ..." if len(found) > 3 else "")
        raise ConfigError(
            f"--format {format} holds one HOP, but {len(found)} were chosen ({listed}); name one with --hop"
        )
    dataset = Folder.open(folder, finished=False)
    if shard_size is not None and not chosen.shards:
        raise ConfigError(f"--shard-size goes with --format parquet and webdataset, not {format}")
    if shard_size is not None and shard_size < 1:
        raise ConfigError(f"--shard-size: {shard_size}; expected 1 or more images in a file")
    source = _source(dataset, names, chosen, train_questions, levels, images, masks)
    source = replace(source, shard_size=shard_size, instruction=prompt)
    if steps:
        source = source.with_steps()
    if (chosen.scenes or steps) and not all(
        dataset.has_scenes(each.reader.pool) and each.n_programs for each in source.splits
    ):
        others = "--format parquet, webdataset or official"
        needs = "--steps needs; leave it out" if steps else f"--format {format} needs; take {others}"
        raise ConfigError(f"{folder}: it was imported without scenes or programs, which {needs}")
    if masks and not source.rendered:
        raise ConfigError("--masks: masks are of images, and the export has none; leave out --masks")
    n_questions = sum(len(each.reader) for each in source.splits)
    by_pool: dict[str, list[Ints]] = {}
    for each in source.splits if source.rendered else ():
        by_pool.setdefault(each.reader.pool, []).append(each.indices)
        if each.support is not None:
            by_pool.setdefault(each.reader.support_pool, []).append(each.support_idxs)
    exported = (*source.splits, *source.suites)
    total = sum(len(each.reader) for each in exported)
    stage = (progress or Silent()).stage(f"Exporting {format}", total=total, unit="questions")
    with stage as advance, whole_folder(out) as work:
        (work / SOURCE).write_bytes(_source_json(source, format))
        chosen.write(source, work, advance)
    n_of_pool = {pool: len(np.unique(np.concatenate(indices))) for pool, indices in by_pool.items()}
    n_images = sum(n_of_pool.values())
    once = () if chosen.more else (SCENES, OBJECTS)  # only tables have copies for each episode
    n_copies = sum(n_of_pool.get(pool, 0) for pool in once)
    n_copies += sum(each.n_copies for each in exported if each.images and each.reader.pool not in once)
    return Exported(
        folder=out,
        images=source.rendered,
        n_questions=n_questions,
        n_images=n_images,
        n_copies=n_copies if chosen.copies else n_images,
        n_bytes=sum(path.stat().st_size for path in out.rglob("*") if path.is_file()),
        splits=names,
        n_pairs=sum(len(each.reader) for each in source.suites) // 2,
    )


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise ConfigError(f'unknown format "{name}"{suggestion(name, FORMATS)}; known: {", ".join(FORMATS)}')
    chosen = FORMATS[name]
    if chosen.needs:
        check_extra(f"--format {name} needs", chosen.needs, "export")
    return chosen


def _names(
    layout: Layout, hops: Sequence[str] | None, splits: Sequence[str] | None, name: str, chosen: Format
) -> tuple[tuple[str, str], ...]:
    """The splits to export, grouped by HOP, with the kinds of questions that the format supports.

    Raises:
        ConfigError: a split is of another kind; also as `choose` raises it.
    """
    names: list[tuple[str, str]] = []
    if not splits and of_episodes_alone(layout):
        splits = NONCE_SPLITS
    for kind in KINDS.values() if splits else (SINGLE if chosen.single else SETS,):
        named = [split for split in splits or () if kind_of(split) is kind]
        if named and kind is NONCE and not (chosen.more or named[0] in chosen.splits):
            raise ConfigError(
                f"--format {name} has no place for the supports of episodes, which {named[0]} has; take "
                "--format parquet or lmms-eval"
            )
        if named and not kind.of_sets and not chosen.single:
            raise ConfigError(f"--format {name} holds questions over several images, and {named[0]} has none")
        if named and kind.of_sets and not chosen.sets:
            *others, last = (other for other, each in FORMATS.items() if each.sets)
            raise ConfigError(
                f"--format {name} has no place for sets of images, which the questions of {named[0]} are "
                f"about; take --format {', '.join(others)} or {last}"
            )
        if named or not splits:
            names += choose(layout, hops, named or None, kind)
    if chosen.splits:
        for split in splits or ():
            if split not in chosen.splits:
                known = ", ".join(chosen.splits)
                raise ConfigError(f"--format {name} has no place for {split}; it holds {known}")
        names = [each for each in names if each[1] in chosen.splits]
        if not names:
            raise ConfigError(f"{layout.root}: none of its splits has a place in --format {name}")
    if not names:
        raise ConfigError(
            f"{layout.root}: it has no questions over several images, which --format {name} holds; run the "
            "dataset's build again with --covr"
        )
    found = [hop for hop, _ in names]
    return tuple(sorted(names, key=lambda each: found.index(each[0])))


def _source(
    dataset: Folder,
    names: Sequence[tuple[str, str]],
    chosen: Format,
    train_questions: int | None,
    wanted_levels: Sequence[int],
    wants_images: bool,
    wants_masks: bool,
) -> ExportSource:
    layout, manifest = dataset.layout, dataset.manifest
    splits: list[SplitSource] = []
    for hop, split in names:
        limit = train_questions if split in (TRAIN.name, COVR_TRAIN) else None
        kind = kind_of(split)
        entry = getattr(manifest, kind.listed).get(hop, {}).get(split)
        if entry is None:
            raise DatasetError(f"{layout.manifest}: {hop}.{split} is missing; run the dataset's build again")
        vocab = read_vocab(kind.vocab(layout, split))
        reader = open_split(layout, hop, split, limit=limit, vocab=vocab)
        if (reader.hop, reader.split, reader.pool) != (hop, split, entry["pool"]):
            raise DatasetError(
                f"{reader.path}: it holds {reader.hop}/{reader.split} of pool {reader.pool}, but the "
                f"manifest has {hop}/{split} of pool {entry['pool']} there; run the dataset's build again"
            )
        has_scenes = dataset.has_scenes(reader.pool)
        levels = read_levels(layout, reader) if chosen.prompts and has_scenes else None
        rows = None
        if levels is not None and wanted_levels:
            rows = np.array(rows_on(levels, wanted_levels, f"{hop}/{split}"), dtype=np.int32)
            reader, levels = reader.take(rows), levels[rows]
        image_idxs = reader.image_idxs[reader.image_idxs >= 0]
        images = _images(layout, manifest, reader.pool, image_idxs, chosen) if wants_images else None
        indices, counts = np.unique(image_idxs, return_counts=True)
        masks = find_passes(layout, reader.pool, indices, ("mask",)) if wants_masks and images else None
        made = SplitSource(reader, images, indices, counts, masks=masks, levels=levels, rows=rows)
        if kind is NONCE and images is not None:
            shown = made.support_idxs
            made = replace(made, support=_images(layout, manifest, reader.support_pool, shown, chosen))
        splits.append(made)
    bare = next((each for each in splits if each.images is None), None)
    if bare is not None and any(each.images is not None for each in splits):
        raise DatasetError(
            f"{layout.root}: no images of {bare.hop}/{bare.split}, although other splits have images; "
            "run the dataset's build again to render them, or choose other splits with --splits, or leave "
            "images out with --no-images"
        )
    suites = tuple(_suites(layout, manifest, splits)) if chosen.suites else ()
    return ExportSource(layout, manifest, tuple(splits), suites)


def _images(layout: Layout, manifest: Manifest, pool: str, image_idxs: Ints, chosen: Format) -> Images | None:
    images = find_images(layout, pool, image_idxs, prefer=chosen.prefer)
    if images is None and pool in manifest.pools:
        raise DatasetError(
            f"{layout.images(pool)}: no images, though {layout.manifest.name} lists them; "
            "run the dataset's build again to render them, or export text only with --no-images"
        )
    return images


def _suites(layout: Layout, manifest: Manifest, splits: Sequence[SplitSource]) -> Iterator[SplitSource]:
    """The suites that have pairs on the splits, with their images: those of the splits, or their own.

    Raises:
        DatasetError: a suite's file is missing or damaged, or has pairs other than those in the manifest.
    """
    names = ((hop, suite) for hop in dict.fromkeys(each.hop for each in splits)
             for suite in manifest.suites.get(hop, {}))  # fmt: skip
    for hop, suite in names:
        vocab = read_vocab(layout.suite_vocab(hop, suite))
        for split in splits:
            entry = manifest.suites[hop][suite].get(split.split)
            if split.hop != hop or not entry or not entry["pairs"]:
                continue
            path = layout.suite_h5(hop, suite, split.split)
            pairs = read_table(path, PAIRS, max_rows=2 * int(entry["pairs"]), vocab=vocab).check()
            own_pool = SuitePool(hop, suite, split.split).name if entry.get("images") else ""
            found = (pairs.hop, pairs.suite, pairs.split, pairs.pool, len(pairs))
            pool = own_pool or split.reader.pool
            if found != (hop, suite, split.split, pool, 2 * int(entry["pairs"])):
                raise DatasetError(
                    f"{path}: it holds {len(pairs) // 2:,} pairs of {pairs.suite} on {pairs.hop}/"
                    f"{pairs.split}, but the manifest lists {entry['pairs']:,} of {suite} on {hop}/"
                    f"{split.split} there; make it again: {suite_command(layout.root, suite, hop)}"
                )
            indices, counts = np.unique(pairs.image_idxs[pairs.image_idxs >= 0], return_counts=True)
            images = split.images
            if own_pool and images is not None:
                images = find_images(layout, own_pool, indices, prefer="png")
            yield SplitSource(pairs, images, indices, counts)


def _source_json(source: ExportSource, format_name: str) -> bytes:
    """The `source.json` of an export: the origin of its content, and its size."""
    manifest = source.manifest
    content: dict[str, Any] = {
        "format": format_name,
        "dataset_version": manifest.version,
        **({"edition": manifest.edition} if manifest.edition else {}),
        "seed": manifest.public_seed,
        "world": manifest.world["fingerprint"],
        "templates": manifest.templates["fingerprint"],
        "strictness": manifest.settings.strictness,
        "images": source.rendered,
        **({"instruction": source.instruction.label} if source.instruction else {}),
        "splits": {
            hop: {each.split: {"questions": len(each.reader), "scenes": len(each.indices)} for each in splits}
            for hop, splits in source.by_hop().items()
        },
    }
    suites: dict[str, dict[str, dict[str, int]]] = {}
    for each in source.suites:
        size = {"pairs": len(each.reader) // 2, "scenes": len(each.indices)}
        suites.setdefault(each.config, {})[each.split] = size
    return (json.dumps({**content, **({"suites": suites} if suites else {})}, indent=1) + "\n").encode()
