"""What a run would stumble over is told before anything is written; what nothing was made of is replaced."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

torch = pytest.importorskip("torch")

from short_runs import Train
from tiny_models import Plain, Tiny

from clevrhope.dataset.manifest import BindingError
from clevrhope.errors import ConfigError, TrainingError
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Recipe, Stage
from clevrhope.training.checks import check_programs

SMALL_NMN: Mapping[str, Any] = {
    **{"features": "pixels", "picture_width": 24, "halvings": 2, "channels": 8, "recipe.batch_size": 16},
    **{"classifier_channels": 8, "classifier_hidden": 16, "generator_words": 8, "generator_hidden": 8},
}


class Late(Tiny):
    """Its second stage's loss, or one of its ways, is what a test puts there."""

    recipe = Recipe((Stage("only", updates=2, batch_size=8), Stage("late", 2, 8, loss="other")))
    gives: Any = None
    ways: ClassVar[Any] = {"predict": "predict"}
    program_ways: ClassVar[Any] = {}

    def other(self, batch: Batch) -> Any:
        if self.gives == "the weights' loss":
            return self.loss(batch)
        return self.gives(batch) if callable(self.gives) else self.gives

    def write(self, batch: Batch) -> Any:
        return batch.programs.float()


def test_pictures_of_another_size_are_told_before_the_generators_stage(run: Train, tmp_path: Path) -> None:
    settings = {**SMALL_NMN, "picture_height": 20}
    with pytest.raises(ConfigError, match="the pictures are 24 x 16 pixels, the model was made for 24 x 20"):
        run(model="tensor_nmn", settings=settings)
    assert not (tmp_path / "run").exists()
    made = run(model="tensor_nmn", settings={**settings, "picture_height": 16, "recipe.updates": 1})
    assert made.updates == 3


@pytest.mark.parametrize(
    ("gives", "told"),
    [
        (None, r"Late.other gives None; expected one number as a tensor"),
        (1.5, r"Late.other gives 1.5; expected one number"),
        (torch.ones(8), r"Late.other gives a tensor of shape \(8,\); expected one number"),
        (torch.ones(()), r"Late.other gives a loss that depends on no weight of stage late"),
    ],
)
def test_a_later_stages_loss_is_tried_first(
    gives: Any, told: str, run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Late, "gives", gives)
    with pytest.raises(ConfigError, match=told):
        run(model="test_rehearsal:Late")
    assert not (tmp_path / "run").exists()


def test_what_is_wrong_inside_of_a_model_is_told_with_the_batchs_shapes(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Late, "gives", staticmethod(lambda batch: batch.questions @ torch.ones(3)))
    with pytest.raises(RuntimeError) as caught:
        run(model="test_rehearsal:Late")
    (note,) = caught.value.__notes__
    assert note.startswith("(Late, tried on 4 questions: questions (4, ")
    assert note.endswith('features["pixels"] (4, 3, 16, 24))')
    assert not (tmp_path / "run").exists()


def test_ways_of_writing_programs_are_tried(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Late, "gives", "the weights' loss")
    monkeypatch.setattr(Late, "program_ways", {"symbolic": "write"})
    with pytest.raises(ConfigError, match=r"Late.write: torch.float32 of shape \(4, .* expected int64 rows"):
        run(model="test_rehearsal:Late")
    with pytest.raises(ConfigError, match=r"Late.write: \[1\] for 0 questions; expected int64 rows"):
        check_programs(Late.__new__(Late), "write", Batch(*[torch.ones(0)] * 7, {}), [1])


def test_a_rehearsal_leaves_no_trace_in_the_weights(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("rehearsed")
    monkeypatch.setattr("clevrhope.training.run.rehearse", lambda *_, **__: None)
    run("not")
    a, b = ((tmp_path / name / "weights/last.safetensors").read_bytes() for name in ("rehearsed", "not"))
    assert a == b


def test_a_folder_of_which_nothing_was_kept_is_taken_over(run: Train, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="at update 25 of stage only; no state was saved yet"):
        run(model="tiny_models:Explodes")
    before = (tmp_path / "run/log.jsonl").read_text()
    assert before
    made = run(settings={"width": 9})
    assert (made.updates, made.resumed_at) == (30, 0)
    assert json.loads((tmp_path / "run/run.json").read_text())["model"] == "tiny_models:Tiny"
    first = json.loads((tmp_path / "run/log.jsonl").read_text().splitlines()[0])
    assert first["stage"] == "words"

    # Where there is something to lose, it is kept.
    with pytest.raises(TrainingError):
        run("kept", model="tiny_models:Explodes", save_every=10)
    with pytest.raises(BindingError, match="another run is in it"):
        run("kept")


def test_stages_that_differ_are_told_by_name(run: Train) -> None:
    run()
    with pytest.raises(BindingError, match=r"recipe.stages.all.updates is 18 there, 30 asked for"):
        run(settings={"recipe.all.updates": 30})


def test_a_model_that_cannot_be_copied_is_trained_all_the_same(
    run: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise TypeError("cannot pickle")

    monkeypatch.setattr(Plain, "__deepcopy__", refuse, raising=False)
    assert run(model="tiny_models:Silent").updates == 5
