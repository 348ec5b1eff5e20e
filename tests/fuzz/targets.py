"""The kinds of files in the corpus, and the commands that read each of them."""

from typing import NamedTuple

TRAIN = (
    "train tensor_nmn {C}/data --hop rubber_cylinder --size 18 --updates 2 --set stages=engine "
    "--set features=pixels --set image_width=48 --set image_height=32 --set halvings=4 --set channels=4 "
    "--set classifier_channels=4 --set classifier_hidden=4 --set recipe.batch_size=4 --device cpu"
)


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
        export {C}/data --format official --hop rubber_cylinder --out {O} --quiet
        export {C}/data --format coco --out {O} --quiet
        ask {C}/data --out {O}.jsonl
        baseline {C}/data --kind majority_by_family --out {O}.jsonl
        baseline {C}/data --kind symbolic --out {O}.jsonl
        score {C}/data {C}/predictions.jsonl --seed 1 --bootstrap 10 --quiet
        load {C}/data
        """,
    "SETS": """
        stats {C}/sets
        audit {C}/sets
        verify {C}/sets
        info {C}/sets
        build --out {C}/sets --covr --hop rubber_cylinder --no-render --quiet
        build --out {C}/sets --covr --hop red_cube --config {C}/small.toml --no-render --quiet
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
questions over several images, 4: sets/covr/*/* sets/covr/vocab.json
    SETS
    export {C}/sets --format covr --out {O} --quiet
    score {C}/sets {C}/sets.jsonl --covr --seed 1 --bootstrap 10 --quiet
    load {C}/sets covr_train
suites, 4: sets/hops/*/suites/*/*
    SETS
    suite rad {C}/sets --quiet
    suite holdout {C}/sets --quiet
    score {C}/sets {C}/pairs.jsonl --suite holdout --seed 1 --bootstrap 10 --quiet
    load {C}/sets complex_iid holdout
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
replies, 2: requests.jsonl replies.jsonl results.jsonl results.tsv
    answers {C}/replies.jsonl --requests {C}/requests.jsonl --dataset {C}/data --out {O}.jsonl
    answers {C}/replies.jsonl --requests {C}/requests.jsonl --out {O}.jsonl
    answers {C}/results.jsonl --requests {C}/requests.jsonl --out {O}.jsonl
    answers {C}/results.tsv --requests {C}/requests.jsonl --partial --out {O}.jsonl
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
