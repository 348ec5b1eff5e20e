"""Experiments on published files, and with models that answer without training, as the paper has them."""

import json
from pathlib import Path
from typing import Any

import pytest
from experiment_grid import FILES, plan_of

from clevrhope.errors import ConfigError
from clevrhope.experiments.checks import check_plan, findings
from clevrhope.experiments.run import run_experiment
from wording import check_words, refused

PUBLISHED = (FILES / "published.toml").read_text("utf-8")


@pytest.fixture
def file(grid: Path) -> Path:
    """An experiment's file beside what it reads."""
    (grid.parent / "CLEVR_v1.0/questions").mkdir(parents=True)
    for split, n in (("train", 6_400), ("val", 10)):
        rows = [{"question_index": number, "answer": "yes"} for number in range(n)]
        path = grid.parent / f"CLEVR_v1.0/questions/CLEVR_{split}_questions.json"
        path.write_text(json.dumps({"questions": rows}))
    (grid.parent / "vqa.safetensors").touch()
    (grid.parent / "frcnn").touch()
    (grid.parent / "labels.json").write_text('["yes", "no"]')
    return grid


def test_files_are_imported_and_a_model_answers_without_training(file: Path, asked: Any) -> None:
    plan = plan_of(file, text=PUBLISHED)
    check_plan(plan)
    made = run_experiment(plan)
    assert (made.failures, made.n_new) == ((), 2)
    lines = [" ".join(each).replace(str(file.parent), "TMP") for each in asked()]
    check_words("\n".join(sorted(lines)))
    run_experiment(plan_of(file, text=PUBLISHED))
    assert asked() == []


def test_all_that_is_missing_is_named(file: Path) -> None:
    for path in (file.parent / "CLEVR_v1.0/questions").iterdir():
        path.unlink()
    (file.parent / "vqa.safetensors").unlink()
    problems = [*findings(plan_of(file, text=PUBLISHED))]
    check_words("\n".join(map(str, problems)))
    assert len(problems) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('published = "CLEVR_v1.0"', 'published = "CLEVR_v1.0"\nseed = 1'),
        ('published = "CLEVR_v1.0"', 'published = "CLEVR_v1.0"\nfolder = "here"'),
        ('published = "CLEVR_v1.0"', 'published = "CLEVR_v1.0"\nseeds = [1, 2]'),
        ("seeds = [1]", 'seeds = "dataset"'),
        ('dataset = "values"', 'dataset = "vlaues"'),
        ('labels = "labels.json"\n', ""),
        ('labels = "labels.json"', 'labels = "vqa.safetensors"'),
        ("updates = [2, 4]", 'set = { "recipe.rate" = [0.1, -1.0] }'),
        ('published = "CLEVR_v1.0"', 'published = ""'),
        ('published = "CLEVR_v1.0"', 'published = "CLEVR_v1.0"\ncovr = true\nsuites = { rad = [] }'),
        ('hops = ["none"]', 'hops = ["none", "gray_cube", "rubber_cube"]'),
        ('splits = ["train", "val"]', 'splits = ["trian", "test"]'),
        ('splits = ["train", "val"]', 'splits = ["val"]'),
        ('splits = ["train", "val"]', 'splits = ["train"]'),
        ("sizes = [6400]", "sizes = [6401]"),
        ('kind = "frcnn"\nweights = "frcnn"', 'kind = "pixels"'),
        (
            '[[dataset.features]]\nkind = "frcnn"\nweights = "frcnn"',
            '[[dataset.features]]\nkind = "frcnn"\nweights = "frcnn"\n' * 2,
        ),
    ],
)
def test_what_does_not_fit_is_refused(old: str, new: str, file: Path) -> None:
    with refused(ConfigError):
        check_plan(plan_of(file, (old, new), text=PUBLISHED))


def test_features_of_an_existing_folder_have_to_be_there(file: Path, dataset: Path) -> None:
    begin, _, rest = PUBLISHED.partition("seed = 1\nrender = false\n")
    text = f'{begin}folder = "{dataset}"\n{rest}'.replace(
        'hops = ["prelim_cyan", "prelim_rubber"]\n[[dataset.features]]\nkind = "frcnn"\nweights = "frcnn"\n',
        'hops = ["rubber_cylinder"]\n',
    )
    with refused(ConfigError):
        check_plan(plan_of(file, text=text))
