"""Writes a dataset of ours in the forms of the official files: their names, columns and types."""

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import clevrhope
from clevrhope.dataset.clevr_folder import FAMILIES

HOPS = {"rubber_cylinder": 0, "metal_cylinder": 12}
"""Pair -> its official number."""

TUPLES = {hop: (None, None, "cylinder", hop.partition("_")[0]) for hop in HOPS}

NAMES = {"train": "train", "complex_iid": "val_iid", "complex_ood": "test"}
"""Split -> what official files of whole scenes call it."""

PARQUET = {
    "train": "train",
    **{name: f"test_{name}" for name in ("complex_iid", "complex_ood", "minimal_iid", "minimal_ood")},
}


def write_parquet(dataset: Path, out: Path, *, named: bool = False, shards: int = 1) -> Path:
    """HOP00/test_complex_ood-00000-of-00001.parquet: idx, query, answer, image."""
    for hop, number in HOPS.items():
        for split, name in PARQUET.items():
            rows = clevrhope.load(dataset, hop, split, text=True)
            folder = out / f"HOP{number:02}"
            folder.mkdir(parents=True, exist_ok=True)
            table = _table(dataset, rows, named=named)
            size = -(-len(table) // shards)
            for k in range(shards):
                path = folder / f"{name}-{k:05}-of-{shards:05}.parquet"
                pq.write_table(table.slice(k * size, size), path, row_group_size=7)
    return out


def _table(dataset: Path, rows: Any, *, named: bool) -> pa.Table:
    items = [rows[k] for k in range(len(rows))]
    images = []
    for item in items:
        path = dataset / "images" / rows.pool / f"HOPE_{rows.pool}_{item['image_index']:06}.png"
        images.append({"bytes": path.read_bytes(), "path": path.name if named else None})
    return pa.table(
        {
            "idx": pa.array(range(len(items)), pa.int64()),
            "query": [item["question_text"] for item in items],
            "answer": [item["answer_text"] for item in items],
            "image": pa.array(images, pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        }
    )


def write_hdf5(dataset: Path, out: Path, *, splits: Sequence[str] = tuple(NAMES)) -> Path:
    """CLOSURE's HDF5 with vocab.json."""
    for hop, number in HOPS.items():
        run = out / ("held_out_CLEVR" if number < 6 else "held_out_CLEVR_add")
        folder = run / "hdf5_held_out_CLEVR" / f"no_text_no_vis_{TUPLES[hop]}_v1.0_ques"
        folder.mkdir(parents=True)
        shutil.copy(dataset / "vocab.json", run / "hdf5_held_out_CLEVR" / "vocab.json")
        for split in splits:
            rows = clevrhope.load(dataset, hop, split)
            name = {"val_iid": "val"}.get(NAMES[split], NAMES[split])
            with h5py.File(folder / f"{name}_CLEVR_ho_questions.h5", "w") as file:
                for key, values in _arrays(rows.table).items():
                    file[key] = values
            images = run / "hdf5_held_out_CLEVR_ims" / f"{NAMES[split]}_v1.0_img" / f"{NAMES[split]}_ims.h5"
            images.parent.mkdir(parents=True, exist_ok=True)
            _write_features(dataset, rows.pool, images)
    return out


def _arrays(table: Any) -> dict[str, Any]:
    return {
        "questions": table.questions,
        "questions_len": table.question_lengths,
        "programs": table.programs,
        "programs_len": table.program_lengths,
        "image_idxs": table.image_idxs,
        "orig_idxs": np.arange(len(table)),
        "question_families": np.asarray([FAMILIES[k][1] for k in table.question_families]),
        "answers": table.answers.astype(np.int64),
        "types": np.zeros(len(table), np.int64),
    }


def _write_features(dataset: Path, pool: str, path: Path) -> None:
    """`features` (N, 3, height, width): the images of all pairs that use the pool, by index."""
    from PIL import Image

    images = {int(each.stem.rpartition("_")[2]): each for each in (dataset / "images" / pool).glob("*.png")}
    first = np.asarray(Image.open(next(iter(images.values()))))
    features = np.zeros((max(images) + 1, 3, *first.shape[:2]), np.uint8)
    for index, each in images.items():
        features[index] = np.asarray(Image.open(each).convert("RGB")).transpose(2, 0, 1)
    with h5py.File(path, "w") as file:
        file["features"] = features


def write_json(dataset: Path, out: Path) -> Path:
    """CLEVR's question files with `_output`, scenes that lost what `trim_scenes` drops, and PNG files."""
    for hop, number in HOPS.items():
        run = out / ("held_out_CLEVR" if number < 6 else "held_out_CLEVR_add")
        run.mkdir(parents=True)
        for split, name in NAMES.items():
            rows = json.loads((dataset / "hops" / hop / f"{split}_questions.json").read_text())["questions"]
            pool = clevrhope.load(dataset, hop, split, images=False).pool
            stem = f"CLEVR_held_out_{name}"
            for row in rows:
                row["image_filename"] = f"{stem}_{row['image_index']:06}.png"
                file, place = FAMILIES[row["question_family_index"]]
                row |= {"template_filename": file, "question_family_index": place}
                for node in row["program"]:
                    node["_output"] = 0
            of_split = f"CLEVR_ho_{name}_{TUPLES[hop]}_no_text_no_vis_questions.json"
            if name == "test":
                of_split = f"CLEVR_held_out_questions_test_{TUPLES[hop]}.json"
            (run / of_split).write_text(json.dumps({"info": {}, "questions": rows}))
            folder = run / "images" / name
            folder.mkdir(parents=True, exist_ok=True)
            for path in (dataset / "images" / pool).glob("*.png"):
                shutil.copy(path, folder / f"{stem}_{path.stem.rpartition('_')[2]}.png")
            (run / f"{stem}_scenes.json").write_text(json.dumps({"scenes": _scenes(dataset, pool, stem)}))
    return out


def _scenes(dataset: Path, pool: str, stem: str) -> list[dict[str, Any]]:
    found = []
    for path in sorted((dataset / "scenes" / pool).glob("*.json")):
        for scene in json.loads(path.read_text())["scenes"]:
            objects = [
                {key: value for key, value in thing.items() if key != "pixel_coords"}
                | {"rotation": math.radians(thing["rotation"])}
                for thing in scene["objects"]
            ]
            index = scene["image_index"]
            found.append(
                {
                    "image_index": index,
                    "image_filename": f"{stem}_{index:06}.png",
                    "directions": scene["directions"],
                    "objects": objects,
                }
            )
    return found
