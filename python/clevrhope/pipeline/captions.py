"""Makes captions and their images from a finished dataset: `clevrhope captions`.

Scenes of two objects are rendered as the dataset's are. Their images wait in a hidden file, so that a stopped
run is resumed; the list of tables is written last.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.captions import CaptionTable, is_captions, write_captions
from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.contents import find_hop
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.folder_check import check_outside
from clevrhope.dataset.image_source import find_images
from clevrhope.dataset.image_store import ImageStore, remove_store
from clevrhope.dataset.manifest import digest_of
from clevrhope.dataset.question_kinds import IMAGE, Field
from clevrhope.dataset.scene_reader import in_image_pixels
from clevrhope.errors import ConfigError
from clevrhope.export.parquet import schema_of
from clevrhope.images.png import encode_png
from clevrhope.images.renderer import Renderer
from clevrhope.images.renderers import open_renderer, rendering_from_json
from clevrhope.images.stage import stage_title, write_results
from clevrhope.look.definition import read_look
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.pages import render_page
from clevrhope.pipeline.matching import CaptionedScene, Group, MatchingGroups, noun
from clevrhope.runtime.atomic import OWN_PREFIX, record, whole_file, write_whole
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.lock import locked
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.scenes import read_world
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import MINIMAL_IID, MINIMAL_OOD
from clevrhope.splits.minimal_groups import groups_of

GROUPS: Mapping[str, int] = {"demo": 20, "small": 200, "paper": 2_000}
"""The most groups of a split, by the dataset's preset."""

GROUPS_AT_ONCE = 16
"""Number of groups in a row group of a table, which readers unpack at once."""

COLUMNS = (
    Field("image", "", "the image, 8-bit RGB", IMAGE),
    Field("caption", "", "the caption that is true of it, and of no other image of its group"),
    Field("group", "", "number of its group", "int32"),
    Field("place", "", "number of its place: images of one place differ in values alone", "int32"),
    Field("has_pair", "", "whether an object has all held-out values", "bool"),
    Field("scene", "", "the scene as JSON, in pixels of the image"),
)
"""The columns of a table. The rows of a group are one after another."""


def make_captions(
    root: Path,
    out: Path,
    n: int | None = None,
    *,
    hops: Sequence[str] | None = None,
    properties: Path | None = None,
    progress: Progress | None = None,
    make_renderer: Callable[..., AbstractContextManager[Renderer]] = open_renderer,
) -> tuple[CaptionTable, ...]:
    """Writes a folder of captions for the held-out pairs of a finished dataset with images.

    Args:
        root: the dataset's folder; it is only read.
        out: the new folder, or that of a run that was stopped.
        n: the most groups of a split; by default as in the dataset's preset, see `GROUPS`.
        hops: the sub-datasets; by default all that hold something out and have no palette.
        properties: the dataset's properties file, if it is not the package's.
        progress: shows how far the work is.
        make_renderer: opens the renderer.

    Raises:
        ConfigError: a sub-dataset does not exist, holds nothing out or has a palette; the dataset was
            imported or has no images; `out` holds something else, or is in a dataset; or pyarrow is missing.
        DatasetError: the folder is not a finished dataset, was made with other properties, or a file in it is
            missing.
        ScenesFailedError: some scenes could not be rendered; the same command tries them again.
    """
    check_extra("captions need", "pyarrow", "export")
    check_outside(out)
    maker = _Maker(Folder.open(root), n, properties)
    wanted = maker.hops(hops)
    made: list[CaptionTable] = []
    with locked(out):
        there = {path.name for path in out.iterdir() if path.name[0] != "."}
        own = there.intersection(hop.name for hop in wanted)  # of a stopped run, which may have a card
        if stray := there - own - ({"README.md"} if own else set()):
            what = "it has captions already" if is_captions(out) else f"not empty ({min(stray)})"
            raise ConfigError(f"{out}: {what}; choose another folder, or remove it first")
        for hop in wanted:
            made += maker.write(hop, out, progress or Silent(), make_renderer)
        for path in out.glob(f"{OWN_PREFIX}*"):
            remove_store(path)
        write_whole(out / "README.md", render_page("exports/captions.md", tables=made).encode())
        write_captions(out, maker.about, made)
    return tuple(made)


class _Maker:
    """Makes the tables of a dataset's held-out pairs; errors as for `make_captions`."""

    def __init__(self, folder: Folder, n: int | None, properties: Path | None) -> None:
        self._folder, self._properties = folder, properties
        self._manifest = manifest = folder.manifest
        if manifest.source or manifest.rendering is None or not manifest.pools:
            what = "was imported" if manifest.source else "has no images"
            raise ConfigError(
                f"{folder.title}: it {what}; captions need a dataset that was built with images"
            )
        self._n = n or GROUPS.get(str(manifest.config.get("preset")), GROUPS["demo"])
        self._rendering = rendering_from_json(manifest.rendering, where=str(folder.layout.manifest))
        self._key = AnswerKey(folder.root)
        folder.world(properties)  # checks the properties
        of_two = {**manifest.world["constraints"], "min_objects": 2, "max_objects": 2}
        self._changes = manifest.world.get("look")
        self._world = read_world(properties=properties, constraints=of_two, changes=self._changes)
        self.about = {
            "version": manifest.version,
            "dataset": manifest.digest,
            "seed": manifest.public_seed,
            "attributes": manifest.world["attributes"],
            "rendering": manifest.rendering,
        }
        """What captions.json says of the dataset."""

    def hops(self, names: Sequence[str] | None) -> list[Hop]:
        """The sub-datasets of pairs without a palette, all or those that are named."""
        found = [find_hop(self._folder.layout, name) for name in names or ()] or self._manifest.splits
        hops = [self._folder.hop(name) for name in dict.fromkeys(found)]
        held = [hop for hop in hops if hop.held_out and not hop.palette]
        if not held or (names and len(held) < len(hops)):
            which = next((f"--hop {hop.name}" for hop in hops if hop not in held), self._folder.root)
            raise ConfigError(
                f"{which}: captions are of held-out pairs without a palette; name one with --hop"
            )
        return held

    def write(
        self, hop: Hop, out: Path, progress: Progress, make_renderer: Callable[..., Any]
    ) -> Iterator[CaptionTable]:
        """Writes the tables of a pair."""
        by_split = MatchingGroups(hop, self._world, seed=self._manifest.seed).first(self._n)
        # The name stands for all that decides the images, so that no others are taken for them.
        decided = digest_of([self._manifest.digest, self._manifest.rendering, hop.name])
        with ImageStore(out / f"{OWN_PREFIX}images-{decided}") as store:
            scenes = [row.scene for groups in by_split.values() for group in groups for row in group]
            missing = [(each["image_index"], each) for each in scenes if each["image_index"] not in store]
            if missing:
                look = read_look(properties=self._properties, changes=self._changes)
                with (
                    make_renderer(self._rendering, look=look, folder=self._folder.root) as renderer,
                    progress.stage(stage_title(renderer), total=len(missing), unit="images") as advance,
                ):
                    for _ in write_results(renderer.render(missing), store.add):
                        advance(1)
            for split, groups in by_split.items():
                yield self._write_table(
                    hop, split, groups, lambda index: encode_png(store.packed(index).pixels()), out
                )
        for split in (MINIMAL_OOD, MINIMAL_IID):
            if split in self._manifest.splits[hop.name]:
                yield from self._write_minimal(hop, split, out)

    def _write_minimal(self, hop: Hop, split: str, out: Path) -> Iterator[CaptionTable]:
        """Writes the first whole groups of a minimal set, each image captioned by its one object."""
        layout, table = self._folder.layout, self._key.test_set(hop.name, split)
        groups = groups_of(table.answers == self._key.answers["yes"])
        asked = [
            tuple(sorted(table.image_idxs[first : first + hop.corners].tolist()))
            for first in groups.first[groups.size == hop.corners].tolist()
        ]
        chosen = list(dict.fromkeys(asked))[: self._n]  # several questions are asked of a group
        used = np.unique(np.asarray(chosen, dtype=np.int32))
        images = find_images(layout, table.pool, used, prefer="png")
        if images is None or not chosen:
            return
        unit = self._key.images_of_a_unit(table.pool, split)
        rows = {}
        for scene in scenes_of(layout, table.pool, used):
            index, (item,) = scene["image_index"], scene["objects"]
            caption = noun({kind: item[kind] for kind, _ in hop.target})
            rows[index] = CaptionedScene(index // unit, caption, scene)
        whole = [[rows[index] for index in group] for group in chosen]
        yield self._write_table(hop, split, whole, lambda index: images.png(index)(), out)

    def _write_table(
        self, hop: Hop, split: str, groups: Sequence[Group], png: Callable[[int], bytes], out: Path
    ) -> CaptionTable:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema, path = schema_of(COLUMNS, {}), out / hop.name / f"{split}.parquet"
        converted = in_image_pixels(self._manifest)

        def values(group: int, row: CaptionedScene) -> dict[str, Any]:
            index, objects = row.scene["image_index"], row.scene["objects"]
            return {
                "image": {"bytes": png(index), "path": row.scene["image_filename"]},
                "caption": row.caption,
                "group": group,
                "place": row.place,
                "has_pair": any(all(item[kind] == held for kind, held in hop.target) for item in objects),
                "scene": json.dumps(converted(row.scene), ensure_ascii=False),
            }

        # Written through a Python file, so that a full disk raises Python's error.
        with (
            whole_file(path) as temporary,
            temporary.open("wb") as file,
            pq.ParquetWriter(file, schema) as writer,
        ):
            for begin in range(0, len(groups), GROUPS_AT_ONCE):
                block = enumerate(groups[begin : begin + GROUPS_AT_ONCE], begin)
                rows = [values(number, row) for number, group in block for row in group]
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        held_out = [[*value] for value in hop.target]
        return CaptionTable(hop.name, split, held_out, len(groups), len(groups[0]), record(path).sha256)
