"""The plan of questions over several images: what the build then makes, counted or estimated."""

from pathlib import Path

import pytest
from building import Make, request

from clevrhope.pipeline import forecast
from clevrhope.pipeline.forecast import Plan, make_plan, plan_json, plan_lines

HOP = "rubber_cylinder"


def images(made: Plan) -> dict[str, int]:
    return {each["split"]: each["images"] for each in made.splits}


def test_a_counted_plan_is_what_is_built(make: Make, tmp_path: Path) -> None:
    asked = request(tmp_path / "data", covr=True, render=False)
    planned = make_plan(asked)
    found = plan_json(planned)
    assert not (tmp_path / "data").exists()
    built = make(tmp_path / "data", covr=True, render=False)
    assert planned.exact
    assert found["questions"] == built.n_questions
    assert found["scenes"] == built.n_images == found["hops"][HOP]
    entries = {**built.splits[HOP], **built.covr[HOP]}
    assert images(planned) == {split: entry["images"] for split, entry in entries.items()}
    assert any(line.split()[:2] == [HOP, "covr_test_paraphrased"] for line in plan_lines(planned))


@pytest.mark.slow
def test_an_existing_folder_needs_only_the_other_images(make: Make, tmp_path: Path) -> None:
    make(tmp_path / "data")
    there = {path.name for path in (tmp_path / "data/images").rglob("*.png")}
    n_new = make_plan(request(tmp_path / "data", covr=True)).images_to_render
    make(tmp_path / "data", covr=True)
    made = {path.name for path in (tmp_path / "data/images").rglob("*.png")}
    assert n_new == len(made - there) > 0


@pytest.mark.slow
def test_an_estimate_is_near_the_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"covr_train": 3_000, "covr_dev": 400, "covr_test": 400}
    asked = request(tmp_path / "data", covr=True, render=False, sizes=sizes)
    counted = make_plan(asked)
    monkeypatch.setattr(forecast, "COUNTED", 0)
    estimated = make_plan(asked)
    assert (counted.exact, estimated.exact) == (True, False)
    assert estimated.questions == pytest.approx(counted.questions, rel=0.02)
    for split, n in images(counted).items():
        if split.startswith("covr_"):
            assert images(estimated)[split] == pytest.approx(n, rel=0.1), split
    assert estimated.scenes == pytest.approx(counted.scenes, rel=0.1)
    assert estimated.hops[HOP] == pytest.approx(counted.hops[HOP], rel=0.1)
