"""Every kind of file that a command reads, small and whole, and the commands that read each of them."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from clevr_making import make_clevr

from clevrhope.__main__ import run_command
from clevrhope.runtime.assets import blender_assets, question_templates
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

TRAIN = (
    "train tensor_nmn {C}/data --hop rubber_cylinder --size 18 --updates 2 --set stages=engine "
    "--set features=pixels --set image_width=48 --set image_height=32 --set halvings=4 --set channels=4 "
    "--set classifier_channels=4 --set classifier_hidden=4 --set recipe.batch_size=4 --device cpu"
)

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


class Target(NamedTuple):
    """Files of the corpus, and what reads them."""

    files: list[str]
    """Patterns below the corpus."""
    commands: list[str]
    """Command lines; {C} stands for the corpus' folder, {O} for a new one."""
    weight: int
    """How often it is drawn, beside the others."""


SHORT = {
    "DATASET": """
        stats {C}/data
        stats {C}/data --json --full
        audit {C}/data
        verify {C}/data
        plan --out {C}/data --hop rubber_cylinder --no-render
        build --out {C}/data --hop rubber_cylinder --no-render --quiet
        build --out {C}/data --hop red_cube --config {C}/small.toml --no-render --quiet
        export {C}/data --format parquet --out {O} --quiet
        export {C}/data --format webdataset --out {O} --quiet
        export {C}/data --format clevr --hop rubber_cylinder --out {O} --quiet
        export {C}/data --format iep --hop rubber_cylinder --out {O} --quiet
        export {C}/data --format coco --out {O} --quiet
        ask {C}/data --out {O}.jsonl
        baseline {C}/data --kind majority_by_family --out {O}.jsonl
        baseline {C}/data --kind symbolic --out {O}.jsonl
        score {C}/data {C}/predictions.jsonl --seed 1 --bootstrap 10 --quiet
        load {C}/data
        """,
    "IMAGES": """
        audit {C}/data
        verify {C}/data
        export {C}/data --format parquet --out {O} --quiet
        export {C}/data --format webdataset --out {O} --quiet
        features {C}/data --kind pixels --size 48x32 --out {O} --quiet
        load {C}/data
        """,
    "PLAN_AND_BUILD": """
        plan --no-render OPTIONS --out {O}
        build --no-render --quiet --seed 1 --config {C}/small.toml OPTIONS --out {O}
        """,
    "RENDER": "render {C}/scenes.json --renderer native --quality draft OPTIONS --quiet",
    "TRAIN": f"{TRAIN} OPTIONS --quiet",
}
"""What stands for several or for long commands in the table; OPTIONS are those behind it there."""

TABLE = """
manifest, 4: data/manifest.json
    DATASET
    features {C}/data --kind attributes --quiet
    evaluate {C}/run --quiet
vocabulary, 1: data/vocab.json
    DATASET
questions as arrays, 4: data/hops/*/*.h5
    DATASET
questions as rows, 2: data/hops/*/*_questions.json
    audit {C}/data
    stats {C}/data
    load {C}/data
scenes, 3: data/scenes/*/*.json
    audit {C}/data
    verify {C}/data
    stats {C}/data
    export {C}/data --format clevr --hop rubber_cylinder --out {O} --quiet
    export {C}/data --format coco --out {O} --quiet
    features {C}/data --kind attributes --quiet
    baseline {C}/data --kind symbolic --out {O}.jsonl
    build --out {C}/data --hop rubber_cylinder --no-render --quiet
images, 1: data/images/*/*.png
    IMAGES
images as arrays, 2: data/images/*.h5
    IMAGES
annotations, 2: data/passes/*.h5
    audit {C}/data
    export {C}/data --format coco --out {O} --quiet
    load {C}/data
pages, 1: data/DATASHEET.md data/hops/*/DATASHEET.md data/index.html
    audit {C}/data
parts, 2: part1/manifest.json part2/hops/*/*
    merge {C}/part1 {C}/part2 --hop rubber_cylinder --out {O} --no-render --quiet
properties, 2: properties.json
    PLAN_AND_BUILD --properties {C}/properties.json --hop rubber_cylinder
    RENDER --properties {C}/properties.json --out {O}
meshes, 1: meshes/Knot.glb meshes/pyramid.obj
    RENDER --properties {C}/meshes/properties.json --out {O}
templates, 2: templates/zero_hop.json templates/synonyms.json templates/families.json
    PLAN_AND_BUILD --templates {C}/templates --hop rubber_cylinder
palette, 1: palette.json
    PLAN_AND_BUILD --palette {C}/palette.json --hop none
settings, 2: small.toml
    plan --no-render --config {C}/small.toml --hop rubber_cylinder --out {O}
    build --no-render --quiet --seed 1 --config {C}/small.toml --hop rubber_cylinder --out {O}
experiment, 2: experiment.toml
    experiment {C}/experiment.toml --plan --out {O}
scene file, 2: scenes.json
    RENDER --out {O}
    execute {C}/scenes.json {C}/programs.json
programs, 2: programs.json
    execute {C}/scenes.json {C}/programs.json
account of rendering, 1: rendered/render.json rendered/*_passes.h5
    RENDER --passes mask --out {C}/rendered
CLEVR, 2: clevr/questions/*.json clevr/scenes/*.json clevr/images/*/*.png
    stats {C}/clevr
    audit {C}/data --against {C}/clevr
    build --clevr {C}/clevr --hop rubber_cylinder --no-render --seed 1 --config {C}/small.toml \\
        --out {O} --quiet
    features {C}/clevr --kind pixels --size 48x32 --out {O} --quiet
predictions, 3: predictions.jsonl predictions.parquet
    score {C}/data {C}/predictions.jsonl --seed 1 --bootstrap 10 --quiet
    score {C}/data {C}/predictions.parquet --seed 1 --bootstrap 10 --quiet
    report m={C}/predictions.jsonl --dataset {C}/data --out {O} --quiet
replies, 2: requests.jsonl replies.jsonl
    answers {C}/replies.jsonl --requests {C}/requests.jsonl --dataset {C}/data --out {O}.jsonl
    answers {C}/replies.jsonl --requests {C}/requests.jsonl --out {O}.jsonl
features, 3: data/features/*/store.json data/features/*/*/*
    evaluate {C}/run --quiet
    features {C}/data --kind pixels --size 48x32 --quiet
    TRAIN --seed 2 --out {O}
run, 3: run/run.json run/vocab.json run/log.jsonl run/weights/* run/finished.json
    evaluate {C}/run --quiet
    report {C}/run --out {O} --quiet
    TRAIN --seed 1 --out {C}/run
state of a run, 2: stopped/run.json stopped/log.jsonl stopped/state/*/*
    TRAIN --seed 1 --save-every 1 --out {C}/stopped
predictions of a run, 1: run/predictions/*
    report {C}/run --out {O} --quiet
weights, 2: frcnn/pytorch_model.bin resnet.pth resnet.safetensors
    features {C}/data --kind frcnn --weights {C}/frcnn --out {O} --quiet
    features {C}/data --kind resnet101 --weights {C}/resnet.pth --out {O} --quiet
    features {C}/data --kind resnet101 --weights {C}/resnet.safetensors --out {O} --quiet
YAML, 1: frcnn/config.yaml
    features {C}/data --kind frcnn --weights {C}/frcnn --out {O} --quiet
"""
"""Name and weight of each target with its files, and in the lines below the commands that read them."""


def read_targets(table: str) -> dict[str, Target]:
    """The targets of a table, by name."""
    targets: dict[str, Target] = {}
    for line in table.replace("\\\n", "").strip().splitlines():
        title, _, rest = line.strip().partition(": " if line[0] != " " else " ")
        if line[0] != " ":
            name, _, weight = title.partition(", ")
            targets[name] = Target(rest.split(), [], int(weight))
        else:
            commands = SHORT[title].replace("OPTIONS", rest) if title in SHORT else line
            targets[name].commands.extend(" ".join(each.split()) for each in commands.strip().splitlines())
    return targets


TARGETS = read_targets(TABLE)


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


def _link(source: str, to: str) -> None:
    if source.endswith(WRITTEN_IN_PLACE):
        shutil.copy(source, to)
    else:
        os.link(source, to)
