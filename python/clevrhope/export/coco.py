"""Export as COCO instance annotations: masks, boxes and areas of the objects in images.

    <hop>/<split>/HOPE_<pool>_<i>.png
    <hop>/annotations/instances_<split>.json

An image's `id` is its scene's index in the pool, which is also in the file name. Each object with a visible
pixel has an annotation: `segmentation` is its mask in COCO's encoding (run lengths, by columns), `bbox` the
tight box [x, y, width, height], `area` the number of pixels. Categories are shapes, because detectors need
few of them; size, colour, material, the object's index in the scene and its visible fraction are in
`attributes`. Annotations are numbered from 1 throughout the file, because pycocotools takes 0 to mean none.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.layout import image_filename
from clevrhope.dataset.passes_h5 import PassesFile, find_passes
from clevrhope.errors import ConfigError
from clevrhope.export.readme import write_readme
from clevrhope.export.source import ExportSource, SplitSource
from clevrhope.runtime.progress import Advance

LICENCE = {"id": 1, "name": "CC BY 4.0", "url": "https://creativecommons.org/licenses/by/4.0/"}


def write(source: ExportSource, out: Path, advance: Advance) -> None:
    """Writes images and annotations of all splits.

    Raises:
        ConfigError: the folder has no images, or no masks.
    """
    for split in source.splits:
        if split.images is None:
            raise ConfigError(
                f"{source.layout.root}: no images of {split.hop}/{split.split}, which COCO's annotations "
                "are about; build them, and leave out --no-images"
            )
        # Missing masks raise an error before anything is written.
        find_passes(source.layout, split.reader.pool, split.indices, ("mask",))
    for split in source.splits:
        _write_annotations(source, split, out / split.hop / "annotations")
        names = (image_filename(split.reader.pool, index) for index in split.indices.tolist())
        split.write_images(out / split.hop / split.split, names, advance)
    write_readme(source, out, "coco")


def _write_annotations(source: ExportSource, split: SplitSource, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pool = split.reader.pool
    masks = find_passes(source.layout, pool, split.indices, ("mask",))
    shapes = source.manifest.world["attributes"]["shape"]
    categories = {shape: number for number, shape in enumerate(shapes, 1)}
    head = {
        "info": {
            "description": f"clevrhope {split.hop} {split.split}, pool {pool}",
            "version": source.manifest.version,
        },
        "licenses": [LICENCE],
        "categories": [
            {"id": number, "name": shape, "supercategory": "object"} for shape, number in categories.items()
        ],
    }
    with (folder / f"instances_{split.split}.json").open("w", encoding="utf-8") as file:
        file.write(f'{json.dumps(head)[:-1]}, "images": [')
        height, width = masks.size
        for number, index in enumerate(split.indices.tolist()):
            image = {
                "id": index,
                "file_name": image_filename(pool, index),
                "width": width,
                "height": height,
                "license": LICENCE["id"],
            }
            file.write((",\n" if number else "\n") + json.dumps(image))
        file.write('\n], "annotations": [')
        for number, each in enumerate(_annotations(source, split, masks, categories), 1):
            file.write((",\n" if number > 1 else "\n") + json.dumps({"id": number, **each}))
        file.write("\n]}\n")


def _annotations(
    source: ExportSource, split: SplitSource, masks: PassesFile, categories: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    from pycocotools import mask as coco  # from the extra `export`

    for scene in scenes_of(source.layout, split.reader.pool, split.indices):
        row = masks.row(scene["image_index"], ("mask",))
        for number, each in enumerate(scene["objects"]):
            visible = int(row["visible_px"][number])
            if not visible:
                continue  # COCO has no empty masks
            packed = coco.encode(np.asfortranarray(row["mask"] == number))
            yield {
                "image_id": scene["image_index"],
                "category_id": categories[each["shape"]],
                "segmentation": {"size": packed["size"], "counts": packed["counts"].decode("ascii")},
                "bbox": row["boxes"][number].tolist(),
                "area": visible,
                "iscrowd": 0,
                "attributes": {
                    **{kind: each[kind] for kind in source.manifest.world["attributes"] if kind != "shape"},
                    "object_index": number,
                    "visible_fraction": round(visible / int(row["alone_px"][number]), 6),
                },
            }
