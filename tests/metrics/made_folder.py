"""A folder for `score`, made of a few questions, small enough to work its scores out by hand."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.clevr_json import rows_file, scene_info
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest, write_manifest
from clevrhope.dataset.measured import write_measured
from clevrhope.dataset.questions_h5 import QuestionWriter
from clevrhope.dataset.vocab import make_vocab, write_vocab

ATTRIBUTES = {
    "size": ["small", "large"],
    "color": ["red", "blue", "purple"],
    "material": ["rubber", "metal"],
    "shape": ["cube", "cylinder"],
}
ANSWERS = ["yes", "no", *map(str, range(11)), *(value for values in ATTRIBUTES.values() for value in values)]

POOLS = {
    "train": "train",
    "val_iid": "val_iid",
    "complex_iid": "test_iid",
    "complex_ood": "test_ood",
    "minimal_iid": "minimal_material_shape",
    "minimal_ood": "minimal_material_shape",
    "val": "val",
    "test": "test_iid",
    "test_b": "test_iid-other",
}

FILES = ["zero_hop", "one_hop"]
"""Family f is number f % 10 of FILES[f // 10]."""

Asked = Sequence[tuple[int, int, str]]
"""Image, family and answer of each question."""

CONSTRAINTS = {"min_objects": 3, "max_objects": 10, "width": 480, "height": 320, "min_pixels": 100}

Rows = list[dict[str, Any]]


def make_folder(
    root: Path,
    hops: Mapping[str, Mapping[str, Asked]],
    *,
    objects: Mapping[str, Mapping[int, int]] | None = None,
    measured: bool = True,
) -> Path:
    """Writes a dataset's folder without images; `objects` are those of each scene, by pool."""
    layout = Layout(root)
    vocab = make_vocab(["are"], ["scene"], ANSWERS)
    layout.root.mkdir(parents=True)
    write_vocab(layout.vocab, vocab)
    splits: dict[str, dict[str, dict[str, Any]]] = {}
    for hop, asked_by_split in hops.items():
        for split, asked in asked_by_split.items():
            _write_arrays(layout, hop, split, asked, vocab.answer_token_to_idx)
            entry = {"pool": POOLS[split], "questions": len(asked), "images": len({row[0] for row in asked})}
            splits.setdefault(hop, {})[split] = entry
        if measured:
            _write_families(layout, hop, asked_by_split)
    for pool, counts in (objects or {}).items():
        with rows_file(layout.scene_shard(pool, 0), key="scenes", info=scene_info(pool)) as add:
            add([_scene(index, n) for index, n in counts.items()])
    write_manifest(
        layout.manifest,
        Manifest(
            version="1",
            seed=0,
            world={"fingerprint": "none", "attributes": ATTRIBUTES, "constraints": CONSTRAINTS},
            templates={"fingerprint": "none", "files": FILES},
            questions={"window": 250, "an_image": {}},
            splits=splits,
            complete=True,
        ),
    )
    return root


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def right_answers(hops: Mapping[str, Mapping[str, Asked]], **more: Any) -> Rows:
    """A prediction for every question of every test set, all of them right."""
    return [
        {"hop": hop, "split": split, "question_index": k, "answer": answer, **more}
        for hop, splits in hops.items()
        for split, asked in splits.items()
        if split != "train"
        for k, (_, _, answer) in enumerate(asked)
    ]


def _write_arrays(layout: Layout, hop: str, split: str, asked: Asked, numbers: Mapping[str, int]) -> None:
    n = len(asked)
    tokens, lengths = np.zeros((n, 4), dtype=np.int32), np.full(n, 3, dtype=np.int32)
    with QuestionWriter(layout.questions_h5(hop, split), hop=hop, split=split, pool=POOLS[split]) as writer:
        writer.append(
            {
                "questions": tokens,
                "question_lengths": lengths,
                "programs": tokens,
                "program_lengths": lengths,
                "answers": np.asarray([numbers[answer] for _, _, answer in asked], dtype=np.int32),
                "image_idxs": np.asarray([image for image, _, _ in asked], dtype=np.int32),
                "question_families": np.asarray([family for _, family, _ in asked], dtype=np.int32),
                "relation_needed": np.full((n, 3), -1, dtype=np.int8),
            }
        )


def _write_families(layout: Layout, hop: str, asked_by_split: Mapping[str, Asked]) -> None:
    """Measurements that have nothing but the names of families."""
    used = sorted({family for asked in asked_by_split.values() for _, family, _ in asked})
    families = [
        {"question_family_index": k, "file": FILES[k // 10], "place": k % 10, "can_mention": True}
        for k in used
    ]
    nothing = {"splits": {}, "distances": [], "suites": {}, "covr": {}}
    measured = {"hop": hop, "diversity": 0, "held_out": {}, "families": families, **nothing}
    write_measured(layout.hop_measured(hop), measured)


def _scene(index: int, n_objects: int) -> bytes:
    look = {"size": "large", "color": "red", "material": "rubber", "shape": "cube", "rotation": 0}
    row = {
        "image_index": index,
        "image_filename": f"{index}.png",
        "objects": [look | {"3d_coords": [k, 0, 0]} for k in range(n_objects)],
        "relationships": {name: [[]] * n_objects for name in ("left", "right", "front", "behind")},
    }
    return json.dumps(row).encode()
