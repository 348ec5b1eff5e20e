"""Every kind of file that a command reads, small and whole."""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from clevr_making import make_clevr
from targets import TRAIN

from clevrhope.__main__ import run_command
from clevrhope.runtime.assets import blender_assets, question_templates
from clevrhope.runtime.atomic import record
from clevrhope.training import checkpoints

SMALL = """
[sizes]
train = 18
val_iid = 9
complex_iid = 9
complex_ood = 3
val = 9
test = 9
minimal_copies = 1
minimal_places = 1
covr_train = 12
covr_dev = 6
covr_test = 6
[rendering]
width = 60
height = 40
"""

PYRAMID = """
v -1 -1 1
v 1 -1 1
v 1 -1 -1
v -1 -1 -1
v 0 1 0
f 4 3 2 1
f 1 2 5
f 2 3 5
f 3 4 5
f 4 1 5
"""

PALETTE = {"cube": ["gray", "red"], "cylinder": ["blue", "green"], "sphere": ["red", "blue"]}

EXPERIMENT = """
title = "small"
jobs = 1
[report]
[[dataset]]
name = "all"
seed = 3
templates = ["zero_hop"]
[dataset.config]
images = "h5"
[dataset.config.sizes]
train = 18
[[dataset.build]]
hops = ["rubber_cylinder"]
diversity = []
[[dataset.features]]
kind = "pixels"
size = "48x32"
[[model]]
name = "tensor_nmn"
sizes = ["18"]
seeds = [1]
updates = 2
[model.set]
stages = "engine"
features = "pixels"
image_width = 48
image_height = 32
channels = 4
"recipe.batch_size" = 4
"""

YAML = """
MODEL:
  MAX_POOL: true
  ROI_BOX_HEAD:
    RES5HALVE: false
  RPN:
    PRE_NMS_TOPK_TEST: 100
ANCHOR_GENERATOR:
  SIZES: [[32, 64]]
  ASPECT_RATIOS: [[0.5, 1.0]]
"""


def make_meshes(folder: Path) -> None:
    """CLEVR's properties, with two of its shapes from files."""
    folder.mkdir()
    shutil.copy(blender_assets().resolve().parent / "tests/data/look_meshes/Knot.glb", folder)
    (folder / "pyramid.obj").write_text(PYRAMID)
    properties = json.loads((blender_assets() / "properties.json").read_text())
    properties["shapes"] |= {"sphere": "Knot.glb", "cylinder": "pyramid.obj"}
    (folder / "properties.json").write_text(json.dumps(properties))


def make_corpus(root: Path) -> Path:
    """Makes all files below a new folder."""
    root.mkdir(parents=True)
    (root / "small.toml").write_text(SMALL)
    (root / "experiment.toml").write_text(EXPERIMENT)
    (root / "palette.json").write_text(json.dumps(PALETTE))
    shutil.copy(blender_assets() / "properties.json", root)
    make_meshes(root / "meshes")
    shutil.copytree(question_templates(), root / "templates", symlinks=False)
    data, build = root / "data", ("--config", root / "small.toml", "--seed", 3, "--quiet")
    images = ["--renderer", "native", "--quality", "draft", "--images", "both"]
    images += ["--passes", "mask,depth,normal"]
    run("build", "--hop", "rubber_cylinder,none", *images, *build, "--out", data)
    for number in (1, 2):
        part = ("--shard", f"{number}/2", "--no-render", "--out", root / f"part{number}")
        run("build", "--hop", "rubber_cylinder", *build, *part)
    _make_sets(root / "sets", build)
    scenes = json.loads((data / "scenes/train/0000.json").read_text())
    scenes["scenes"] = scenes["scenes"][:2]
    (root / "scenes.json").write_text(json.dumps(scenes))
    questions = json.loads((data / "hops/rubber_cylinder/train_questions.json").read_text())
    first = scenes["scenes"][0]["image_index"]
    of_first = [each for each in questions["questions"] if each["image_index"] == first]
    (root / "programs.json").write_text(json.dumps({"questions": of_first[:4]}))
    render = ("--renderer", "native", "--quality", "draft", "--passes", "mask")
    run("render", root / "scenes.json", *render, "--out", root / "rendered", "--quiet")
    _make_clevr(root, questions["questions"])
    run("baseline", data, "--kind", "symbolic", "--out", root / "predictions.jsonl")
    _make_parquet(root)
    run("ask", data, "--limit", 3, "--seed", 1, "--out", root / "requests.jsonl")
    requests = [json.loads(line) for line in (root / "requests.jsonl").read_text().splitlines()]
    replies = [json.dumps({"id": each["id"], "reply": "It is yes."}) for each in requests]
    (root / "replies.jsonl").write_text("\n".join(replies) + "\n")
    body = {"model": "m", "choices": [{"message": {"content": "It is yes."}}]}
    results = [
        json.dumps({"custom_id": each["id"], "response": {"status_code": 200, "body": body}, "error": None})
        for each in requests
    ]
    (root / "results.jsonl").write_text("\n".join(results) + "\n")
    table = ["id\tprediction", *(f'"{each["id"]}"\t"It is yes."' for each in requests)]
    (root / "results.tsv").write_text("\n".join(table) + "\n")
    run("features", data, "--kind", "pixels", "--size", "48x32", "--quiet")
    train = f"{TRAIN} --seed 1 --quiet".replace("{C}", str(root)).split()
    run(*train, "--out", root / "run")
    run("evaluate", root / "run", "--quiet")
    _make_stopped(root, train)
    _make_weights(root)
    return root


def run(*arguments: object) -> None:
    """Runs a command that has to do what it is for."""
    assert run_command([str(each) for each in arguments]) == 0, arguments


def _make_sets(sets: Path, build: Sequence[object]) -> None:
    """A dataset with questions over several images and two suites, and predictions about them beside it."""
    run("build", "--hop", "rubber_cylinder", "--covr", "--no-render", *build, "--out", sets)
    run("suite", "holdout", sets, "--quiet")
    run("suite", "rad", sets, "--train", "--quiet")
    run("baseline", sets, "--kind", "symbolic", "--suite", "holdout", "--out", sets.with_name("pairs.jsonl"))
    about = {"hop": "rubber_cylinder", "answer": "yes"}
    rows = [
        {**about, "split": f"covr_{split}", "question_index": number}
        for split in ("dev", "test", "test_paraphrased", "test_ood")
        for number in range(6)
    ]
    sets.with_name("sets.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def _make_clevr(root: Path, questions: Sequence[dict[str, object]]) -> None:
    for split in ("train", "val"):
        made = make_clevr(root / "clevr", 6, split=split, seed=2)
        rows = [
            {**each, "split": split, "image_index": k % 6, "image_filename": f"CLEVR_{split}_{k % 6:06d}.png"}
            for k, each in enumerate(questions[:6])
        ]
        path = root / "clevr/questions" / f"CLEVR_{split}_questions.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"info": {"split": split}, "questions": rows}))
        source = next((root / "data/images").glob("*/*.png"))
        for name in made.sampled:
            (root / "clevr/images" / split).mkdir(parents=True, exist_ok=True)
            shutil.copy(source, root / "clevr/images" / split / name)


def _make_parquet(root: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [json.loads(line) for line in (root / "predictions.jsonl").read_text().splitlines()]
    pq.write_table(pa.Table.from_pylist(rows), root / "predictions.parquet")


def _make_stopped(root: Path, train: Sequence[str]) -> None:
    """A run that was stopped once it had saved its first state."""
    save = checkpoints.save_state

    def save_and_stop(*arguments: Any) -> None:
        save(*arguments)
        raise KeyboardInterrupt

    with patch.object(checkpoints, "save_state", save_and_stop):
        assert run_command([*train, "--save-every", "1", "--out", str(root / "stopped")]) == 130


def _make_weights(root: Path) -> None:
    """Files of the right kind with tensors that do not fit: reading comes before fitting."""
    from safetensors.torch import save_file

    tensors = {"conv1.weight": torch.zeros(2, 2), "fc.bias": torch.ones(3)}
    torch.save(tensors, root / "resnet.pth")
    save_file(tensors, root / "resnet.safetensors")
    (root / "frcnn").mkdir()
    torch.save(tensors, root / "frcnn/pytorch_model.bin")
    (root / "frcnn/config.yaml").write_text(YAML)


def copy_corpus(corpus: Path, to: Path) -> None:
    """A copy whose files are links to the corpus' own, which nobody writes to in place."""
    shutil.copytree(corpus, to, copy_function=_link)


WRITTEN_IN_PLACE = (".jsonl", ".npy")
"""Ends the names of files that a command appends to or fills; all others are written anew."""


def renew(file: Path) -> None:
    """Records a changed file in its dataset's manifest as it is now, so that its checksum is right."""
    for folder in file.parents[:-1]:
        manifest = folder / "manifest.json"
        if manifest.is_file() and file.is_file():
            raw = json.loads(manifest.read_bytes())
            name = file.relative_to(folder).as_posix()
            if name in raw["files"]:
                raw["files"][name] = asdict(record(file))
                manifest.unlink()  # the copy is a link to the corpus' own
                manifest.write_text(json.dumps(raw))
            return


def _link(source: str, to: str) -> None:
    if source.endswith(WRITTEN_IN_PLACE):
        shutil.copy(source, to)
    else:
        os.link(source, to)
