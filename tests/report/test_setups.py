"""Runs of one model that were trained in different ways: their names, and what is told beside the paper's."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from simulated import HOP, LIMITED, check_part, identity_of, text_of, trained, write_predictions, write_run

from clevrhope.errors import PredictionsError
from clevrhope.models.lxmert.config import PRETRAINED, SCRATCH
from clevrhope.models.tensor_nmn.config import ENGINE_ALONE, THREE_STAGES
from clevrhope.report import find_sources, measure, report
from clevrhope.report.runs import Source
from clevrhope.report.setups import differences, differences_from_paper, distinct_names
from wording import check_refused


def names(folder: Path, **more: Any) -> list[str]:
    return [each.name for each in find_sources([folder], **more)[0]]


def run_json(**changes: Any) -> dict[str, Any]:
    return {"model": "lxmert_p", **trained(**changes)}


@pytest.mark.parametrize(
    ("setups", "expected"),
    [
        ([{"features": "pixels", "channels": 32}], [""]),
        ([{"channels": 32}, {}], ["channels=32", ""]),
        ([{"features": "pixels"}, {"features": "resnet101"}], ["pixels", "resnet101"]),
        # One name tells all apart, whatever else differs; where none does, several.
        ([{"features": "a", "rate": 1}, {"features": "b", "rate": 2}], ["a", "b"]),
        ([{"features": "a", "updates": n} for n in (1, 2, 3)], ["updates=1", "updates=2", "updates=3"]),
        (
            [{"features": f, "recipe.x.rate": r} for f in "ab" for r in (1e-3, 0.5)],
            [
                "a, recipe.x.rate=0.001",
                "a, recipe.x.rate=0.5",
                "b, recipe.x.rate=0.001",
                "b, recipe.x.rate=0.5",
            ],
        ),
        ([{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 1}], ["a=1, b=1", "a=1, b=2", "a=2, b=1"]),
        ([{"n": 0.1}, {"n": 0.10000001}], ["n=0.1", "n=0.10000001"]),
    ],
)
def test_names_are_short_and_say_what_differs(setups: list[dict[str, Any]], expected: list[str]) -> None:
    assert distinct_names(setups) == expected


def test_all_that_differs_is_told_but_parts_of_stages_that_not_all_have() -> None:
    engine, all_three = (
        {"n": 1, "recipe.stages": stages, "recipe.engine.rate": rate, **more}
        for stages, rate, more in (
            (["engine"], 0.1, {}),
            (["generator", "engine"], 0.2, {"recipe.generator.rate": 0.3}),
        )
    )
    assert differences([engine, all_three]) == [
        "recipe.stages=engine, recipe.engine.rate=0.1",
        "recipe.stages=generator+engine, recipe.engine.rate=0.2",
    ]


def test_runs_that_were_trained_in_different_ways_are_no_seeds_of_each_other(
    dataset: Path, tmp_path: Path
) -> None:
    """Of one pair, size and seed: pooled, they would be one run with late checkpoints, or two seeds."""
    for k, (hop, size) in enumerate(((HOP, 60), (LIMITED, 60))):
        for channels, ood in ((32, 0.0), (128, 0.2)):
            write_run(
                tmp_path / "runs", dataset, model="film", hop=hop, size=size, seed=1, name=f"-{channels}",
                wrong={"complex_ood": ood}, trained=trained(channels=channels, features="pixels"),
            )  # fmt: skip
        assert len(names(tmp_path / "runs")) == 2 * (k + 1)
    made = report([tmp_path / "runs"], tmp_path / "out")
    for table in (
        "Accuracy and gaps of film (channels=32)",
        "Accuracy and gaps of film (channels=128)",
        "Accuracy and gap",
    ):
        check_part(text_of(made), f"**{table}", "\n\n**")
    check_part(text_of(made), "are not seeds of each other")
    assert {line.split(",")[0] for line in made.csv.read_text().splitlines()[1:]} == {
        "film (channels=32)", "film (channels=128)"
    }  # fmt: skip


def test_two_folders_of_one_run_are_two_runs_and_one_that_is_named_twice_is_one(
    dataset: Path, tmp_path: Path
) -> None:
    plain = {"model": "film", "hop": LIMITED, "size": 60, "seed": 1, "wrong": {}, "trained": trained()}
    for name in ("-a", "-b"):
        write_run(tmp_path / "runs", dataset, **plain, name=name)
    assert names(tmp_path / "runs") == ["film", "film"]
    assert len(find_sources([tmp_path / "runs", tmp_path / "runs/film-cyan_cylinder-d4-grid-60-1-a"])[0]) == 2
    text = report([tmp_path / "runs"], tmp_path / "out").markdown.read_text()
    assert "| 60 | 1, 2 |" in text, "two runs on one sub-dataset"


def test_features_and_updates_and_classes_tell_runs_apart(dataset: Path, tmp_path: Path) -> None:
    plain = {"hop": HOP, "size": 60, "seed": 1, "wrong": {}}
    stage = replace(PRETRAINED.stages[0], updates=10)
    ways = {
        "film": [trained(features="pixels"), trained(features="resnet101")],
        "vector_nmn": [trained(), trained(replace(PRETRAINED, stages=(stage,)))],
        "one:Net": [trained()],
        "two:Net": [trained()],
    }
    for model, several in ways.items():
        for k, way in enumerate(several):
            write_run(tmp_path / "runs", dataset, model=model, **plain, trained=way, name=f"-{k}")
    assert set(names(tmp_path / "runs")) == {
        "film (pixels)", "film (resnet101)", "vector_nmn (updates=10)", "vector_nmn (updates=218750)",
        "Net (model=one:Net)", "Net (model=two:Net)",
    }  # fmt: skip


def test_datasets_tell_runs_apart_only_where_they_meet(dataset: Path, tmp_path: Path) -> None:
    other = shutil.copytree(dataset, tmp_path / "copy")
    way = trained()
    said = identity_of(dataset, HOP)
    apart = {**way, "dataset": {**said, "templates": "0123abcd" * 8}}
    plain = {"model": "film", "size": 60, "seed": 1, "wrong": {}}
    write_run(tmp_path / "runs", dataset, **plain, hop=HOP, trained=way)
    write_run(tmp_path / "runs", other, **plain, hop=LIMITED, trained=apart)
    assert names(tmp_path / "runs") == ["film", "film"]
    write_run(tmp_path / "runs", other, **plain, hop=HOP, trained=apart, name="-other")
    assert set(names(tmp_path / "runs")) == {"film (dataset=data)", "film (dataset=copy)"}
    # As when one folder is taken for all: what runs say of their own still tells them apart.
    assert set(names(tmp_path / "runs", dataset=dataset)) == {
        f"film (dataset.templates={said['templates'][:8]})",
        "film (dataset.templates=0123abcd)",
    }


def test_datasets_that_differ_in_their_seed_are_replicates(dataset: Path, tmp_path: Path) -> None:
    other = shutil.copytree(dataset, tmp_path / "copy")
    plain = {"model": "film", "size": 60, "seed": 1, "wrong": {}, "hop": LIMITED}
    way = trained()
    write_run(tmp_path / "runs", dataset, **plain, trained=way)
    again = {**way, "dataset": {**identity_of(dataset, LIMITED), "seed": 6, "palette": None}}
    write_run(tmp_path / "runs", other, **plain, trained=again, name="-other")
    assert names(tmp_path / "runs") == ["film", "film"]


@pytest.mark.parametrize(("seed", "n_names"), [(6, 1), (5, 2)])
def test_palettes_of_a_file_for_each_seed_are_replicates(
    seed: int, n_names: int, dataset: Path, tmp_path: Path
) -> None:
    """As in an experiment whose palette has {seed} in its path; with one seed they are two palettes."""
    places = (dataset, shutil.copytree(dataset, tmp_path / "copy"))
    for place, its_seed, palette in zip(places, (5, seed), ("a", "b"), strict=True):
        way = trained() | {"dataset": {**identity_of(dataset, HOP), "seed": its_seed, "palette": palette}}
        plain = {"model": "film", "hop": HOP, "size": 60, "seed": 1, "wrong": {}}
        write_run(tmp_path / "runs", place, **plain, trained=way, name=palette)
    assert len(set(names(tmp_path / "runs"))) == n_names


def test_gaps_of_plain_pairs_in_different_worlds_are_not_averaged(dataset: Path, tmp_path: Path) -> None:
    way = trained()
    said = identity_of(dataset, HOP)
    simple = {**way, "hop": "large_rubber", "dataset": {**said, "world": "0123abcd" * 8}}
    plain = {"model": "film", "size": 60, "seed": 1, "wrong": {}, "hop": HOP}
    write_run(tmp_path / "runs", dataset, **plain, trained=way)
    write_run(tmp_path / "runs", dataset, **plain, trained=simple, name="-simple")
    assert names(tmp_path / "runs") == [
        f"film (dataset.world={said['world'][:8]})",
        "film (dataset.world=0123abcd)",
    ]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seed": 6}, "seed is 6 then, 5 now"),
        ({"rendering": {"renderer": "native"}}, ""),
        ({"questions": {}}, 'questions.window is "none" then, 250 now'),
    ],
)
def test_a_run_on_what_is_no_longer_in_its_datasets_folder_is_left_out(
    change: dict[str, Any], told: str, dataset: Path, tmp_path: Path
) -> None:
    plain = {"model": "film", "size": 60, "wrong": {}, "hop": HOP}
    write_run(tmp_path / "runs", dataset, **plain, seed=1)
    said = {**identity_of(dataset, HOP), **change}
    left = write_run(tmp_path / "runs", dataset, **plain, seed=2, trained={**trained(), "dataset": said})
    results, skipped = measure(find_sources([tmp_path / "runs"])[0])
    if "rendering" in change:  # the folder has no images, and its questions are the same
        assert [each.run for each in results] == ["1", "2"]
        return
    assert [each.run for each in results] == ["1"]
    (sentence,) = skipped
    assert sentence.startswith(f"{left}: trained on another dataset than the one that is in {dataset} now")
    assert told in sentence


def test_question_only_counts_for_its_own_dataset_alone(dataset: Path, tmp_path: Path) -> None:
    other = shutil.copytree(dataset, tmp_path / "copy")
    plain = {"hop": HOP, "size": 60, "seed": 1}
    write_run(tmp_path / "runs", dataset, model="film", **plain, wrong={})
    write_run(tmp_path / "runs", other, model="question_only", **plain, wrong={"complex_iid": 0.5})
    film, reader = measure(find_sources([tmp_path / "runs"])[0])[0]
    assert (film.blind.name, reader.blind.name) == ("majority_by_family", "question_only")
    write_run(
        tmp_path / "runs", dataset, model="question_only", **plain, wrong={"complex_iid": 0.4}, name="b"
    )
    film, _, _ = measure(find_sources([tmp_path / "runs"])[0])[0]
    assert (film.floor, film.blind.name) == (60.0, "question_only")


def test_what_is_not_the_papers_training_is_told() -> None:
    assert differences_from_paper("lxmert_p", run_json(weights="here/model.safetensors")) == ""
    assert differences_from_paper("lxmert_s", run_json(recipe=SCRATCH)) == ""
    nmn = run_json(recipe=THREE_STAGES, features="resnet101", form="gathered", generator="attention")
    assert differences_from_paper("tensor_nmn", nmn) == ""
    assert differences_from_paper("tensor_nmn", run_json(recipe=THREE_STAGES, features="pixels")) == (
        "features pixels, not resnet101"
    )
    assert differences_from_paper(
        "tensor_nmn", run_json(recipe=ENGINE_ALONE, features="resnet101", stages="engine")
    ) == (
        "stages engine, not all; updates 500000, not 800000; "
        "recipe.stages engine, not generator+engine+reinforce"
    )
    assert differences_from_paper("lxmert_p", run_json(recipe=SCRATCH)) == (
        "updates 481000, not 218750; recipe.train.rate 1e-05, not 5e-05"
    )
    assert differences_from_paper("film", run_json()) == ""
    assert differences_from_paper("lxmert_p", None) == "how it was trained is not known"


def test_the_note_is_beside_the_papers_numbers_and_there_alone(dataset: Path, tmp_path: Path) -> None:
    plain = {"hop": HOP, "size": 60, "seed": 1, "wrong": {}}
    nmn = trained(THREE_STAGES, features="pixels")
    write_run(tmp_path / "runs", dataset, model="tensor_nmn", **plain, trained=nmn,
              files=("last.predicted_programs", "last.true_programs"))  # fmt: skip
    write_run(tmp_path / "runs", dataset, model="lxmert_p", **plain, trained=trained())
    told = write_predictions(tmp_path / "theirs.jsonl", dataset, HOP, {}, train_size=60, model="lxmert_s")
    made = report([tmp_path / "runs", told], tmp_path / "out", dataset=dataset)
    sections = text_of(made).split("\n## ")
    by_model = {each.splitlines()[0]: each for each in sections}
    # Four tables of accuracies, two of gaps.
    note = "Not trained as in the paper: "
    assert by_model["tensor_nmn"].count(f"{note}features pixels, not resnet101.") == 6
    assert by_model["lxmert_s"].count(f"{note}how it was trained is not known.") == 6
    assert note not in by_model["tensor_nmn, true programs"]
    assert note not in by_model["lxmert_p"]


def test_a_run_that_says_nonsense_of_its_recipe_is_named(dataset: Path, tmp_path: Path) -> None:
    plain = {"model": "film", "hop": HOP, "size": 60, "seed": 1, "wrong": {}}
    folder = write_run(tmp_path / "runs", dataset, **plain, trained={"recipe": {"stages": ["engine"]}})
    _, (told,) = find_sources([folder])
    assert told.startswith(f"{folder / 'run.json'}: settings, recipe, features or dataset are not as")
    check_refused(PredictionsError, report, [folder], tmp_path / "out")


def test_a_source_is_called_after_its_group_and_compared_by_its_model() -> None:
    source = Source(Path("p"), Path("d"), "tensor_nmn", Path("r"), group="pixels", way="symbolic")
    assert (source.name, source.paper_model) == ("tensor_nmn (pixels)", "")
    assert replace(source, way="").paper_model == "tensor_nmn"
    assert replace(source, way="", after="engine").paper_model == ""
