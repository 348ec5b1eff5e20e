"""What a run would stumble over is told before anything is written; what nothing was made of is replaced."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

torch = pytest.importorskip("torch")

from short_runs import NMN, Train, info, rows, weights
from tiny_models import Plain, Tiny

from clevrhope.dataset.binding import BindingError
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ClevrhopeError, ConfigError, TrainingError
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Recipe, Stage
from clevrhope.training.answers import check_programs
from clevrhope.training.evaluation import evaluate
from wording import check_refused, refused


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


def test_images_of_another_size_are_told_before_the_generators_stage(run: Train, tmp_path: Path) -> None:
    settings = {**NMN, "image_height": 20}
    check_refused(ConfigError, run, model="tensor_nmn", settings=settings)
    assert not (tmp_path / "run").exists()
    made = run(model="tensor_nmn", settings={**settings, "image_height": 16, "recipe.updates": 1})
    assert made.updates == 3


@pytest.mark.parametrize("gives", [None, 1.5, torch.ones(8), torch.ones(())])
def test_a_later_stages_loss_is_tried_first(
    gives: Any, run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Late, "gives", gives)
    check_refused(ConfigError, run, model="test_rehearsal:Late")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "other",
    [
        lambda model, batch: model.loss(batch)[None],
        lambda model, batch: model.predict(batch).logsumexp(1).topk(8).values.mean(),
    ],
    ids=["an array of one number", "of the whole batch"],
)
def test_a_loss_may_be(other: Any, run: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Late, "other", other)
    assert run(model="test_rehearsal:Late").updates == 4


def test_what_is_wrong_inside_of_a_model_is_told_with_the_batchs_shapes(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Late, "gives", staticmethod(lambda batch: batch.questions @ torch.ones(3)))
    with pytest.raises(RuntimeError) as caught:
        run(model="test_rehearsal:Late")
    (note,) = caught.value.__notes__
    assert note.startswith("(Late, tried before its run on 8 questions: questions (8, ")
    assert note.endswith(
        'features["pixels"] (8, 3, 16, 24); a model that cannot be tried like this sets rehearses = False)'
    )
    assert not (tmp_path / "run").exists()
    # Who says so begins, and is told in the stage itself.
    monkeypatch.setattr(Late, "rehearses", False, raising=False)
    with pytest.raises(RuntimeError) as caught:
        run(model="test_rehearsal:Late")
    assert not hasattr(caught.value, "__notes__")
    assert len(list((tmp_path / "run/state").iterdir())) == 1


def test_a_stage_is_tried_with_the_weights_that_it_trains_and_backwards(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Stage("late", 2, 8, loss="other", trains=("words",))
    monkeypatch.setattr(Late, "recipe", Recipe((Late.recipe.stages[0], late)))
    monkeypatch.setattr(Late, "gives", staticmethod(lambda batch: batch.features["pixels"].float().mean()))
    check_refused(ConfigError, run, model="test_rehearsal:Late")

    def looks_alone(self: Late, batch: Batch) -> Any:
        return self.look(batch.features["pixels"] / 255).sum()

    monkeypatch.setattr(Late, "other", looks_alone)  # whose weights this stage does not train
    check_refused(ConfigError, run, model="test_rehearsal:Late")

    def written_over(self: Late, batch: Batch) -> Any:
        squared = self.words(batch.questions).exp()
        loss = squared.square().sum()
        squared.zero_()
        return loss

    monkeypatch.setattr(Late, "other", written_over)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        run(model="test_rehearsal:Late")
    assert not (tmp_path / "run").exists()


def test_ways_of_writing_programs_are_tried(run: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Late, "gives", "the weights' loss")
    monkeypatch.setattr(Late, "program_ways", {"symbolic": "write"})
    check_refused(ConfigError, run, model="test_rehearsal:Late")
    with refused(ConfigError):
        check_programs(Late.__new__(Late), "write", Batch(*[torch.ones(0)] * 7, {}), [1])


def test_a_rehearsal_leaves_no_trace_in_the_weights(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("rehearsed")
    monkeypatch.setattr("clevrhope.training.run.rehearse", lambda *_, **__: None)
    run("not")
    assert weights(tmp_path / "rehearsed") == weights(tmp_path / "not")


def test_a_folder_of_which_nothing_was_kept_is_taken_over(run: Train, dataset: Path, tmp_path: Path) -> None:
    check_refused(TrainingError, run, model="tiny_models:Explodes")
    before = (tmp_path / "run/log.jsonl").read_text()
    assert before
    made = run(settings={"width": 9})
    assert (made.updates, made.resumed_at) == (30, 0)
    assert info(tmp_path / "run")["model"] == "tiny_models:Tiny"
    assert rows(tmp_path / "run/log.jsonl")[0]["stage"] == "words"
    assert read_vocab(tmp_path / "run/vocab.json") == read_vocab(dataset / "vocab.json")

    # Where there is something to lose, it is kept.
    with pytest.raises(TrainingError):
        run("kept", model="tiny_models:Explodes", save_every=10)
    check_refused(BindingError, run, "kept")


def test_a_model_that_cannot_be_copied_is_trained_all_the_same(
    run: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise TypeError("cannot pickle")

    monkeypatch.setattr(Plain, "__deepcopy__", refuse, raising=False)
    assert run(model="tiny_models:Silent").updates == 5


def test_a_build_that_gives_no_module_is_told(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual: dict[str, Any] = {"model": "tiny_models:Fickle"}
    run("good", **usual)
    for named in ("none", "words"):
        monkeypatch.setenv("TINY_BUILDS", named)
        check_refused(ConfigError, run, "bad", **usual)
        check_refused(ConfigError, evaluate, tmp_path / "good", device="cpu")
    assert not (tmp_path / "bad").exists()


def test_a_module_that_cannot_be_imported_is_told(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imports_too_much.py").write_text("raise ImportError('made for another torch')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    check_refused(ConfigError, run, model="imports_too_much:Model")


@pytest.mark.parametrize(
    "changes",
    [
        {"size": 163},
        {"size": 12},
        {"hop": "rubber_cylindre"},
        {"model": "tyni"},
        {"model": "tiny_modles:Tiny"},
        {"model": "tiny_models:Tyni"},
        {"model": "tiny_models:NoPredict"},
        {"model": "tiny_models:Optimiser"},
        {"settings": {"widht": 3}},
        {"model": "film"},
    ],
)
def test_what_cannot_be_trained(changes: dict[str, Any], run: Train, tmp_path: Path) -> None:
    check_refused(ClevrhopeError, run, **changes)
    assert not (tmp_path / "run").exists()
