"""Learning from rewards, and stopping at an accuracy."""

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from building import Cli
from safetensors.torch import load_file
from short_runs import HOP, PIXELS, StopsAt, Train, check_resumes, info, log
from tiny_models import Plain
from torch import Tensor, nn

from clevrhope.dataset.folder import Folder
from clevrhope.errors import ConfigError, TrainingError
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Recipe, Stage
from clevrhope.training.policy import AnswerRewards, policy_loss
from clevrhope.training.recipe_settings import recipe_of
from clevrhope.training.request import TrainRequest
from clevrhope.training.run_folder import RunFolder
from clevrhope.training.stacked_runs import check_stackable
from wording import check_refused

PLAIN = {"model": "tiny_models:Plain", "tune_on": "val", "tune_every": 10}
"""A model that reads words alone."""
REWARDS: dict[str, Any] = {"recipe.objective": "rewards", "recipe.rate": 0.1}


def batch_of(questions: dict[int, str]) -> Batch:
    """A batch of questions by the index of their right answer."""
    none, rows = torch.zeros(len(questions), 1, dtype=torch.long), torch.arange(len(questions))
    texts = list(questions.values())
    return Batch(*[none] * 4, torch.tensor(list(questions)), rows, rows, {}, sentences=lambda: texts)


def test_each_right_answer_of_a_world_is_rewarded_and_no_other(dataset: Path) -> None:
    folder = Folder.open(dataset)
    answers = folder.vocab.answers()
    questions = {
        **{k: "How many cubes are there?" for k, each in enumerate(answers) if each.isdecimal()},
        **{k: "Is there a cube?" for k, each in enumerate(answers) if each in ("yes", "no")},
    }
    for name, values in folder.attributes.items():
        questions |= {answers.index(each): f"What {name} is the thing?" for each in values}
    assert len(questions) == len(answers) - 4, "all answers but the special tokens"
    drawn = torch.arange(4, len(answers)).expand(len(questions), -1)
    rewards = AnswerRewards(folder.vocab, folder.attributes)(batch_of(questions), drawn)
    assert torch.equal(rewards, torch.eye(len(answers))[list(questions), 4:])


@pytest.mark.parametrize("entropy", [0.0, 0.5])
def test_the_gradient_is_that_of_the_expected_reward_and_the_entropy(dataset: Path, entropy: float) -> None:
    folder = Folder.open(dataset)
    torch.manual_seed(1)
    n_answers = len(folder.vocab.answers())
    own = torch.randn(2, n_answers)
    own[0, 5] = own[1, 7] = 3.0
    own.requires_grad_()

    class Scores(nn.Module):
        def predict(self, batch: Batch) -> Tensor:
            return own

    stage = Stage("only", 1, 2, objective="rewards", samples=20_000, entropy=entropy)
    batch = batch_of({5: "How many cubes are there?", 7: "How many things are there?"})
    policy_loss(Scores(), stage, batch, AnswerRewards(folder.vocab, folder.attributes)).backward()
    estimated = own.grad
    own.grad = None
    shares = own[:, 4:].softmax(1)
    expected = (shares[0, 1] + shares[1, 3] - entropy * (shares * shares.log()).sum()) / 2
    (-expected).backward()
    assert estimated is not None
    assert own.grad is not None
    assert own.grad.abs().max() > 0.04
    assert (estimated - own.grad).abs().max() < 0.005


def test_scores_that_are_no_numbers_are_told_in_a_sentence(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_numbers(self: Plain, batch: Batch) -> Tensor:
        return self.words(batch.questions) * torch.nan  # type: ignore[no-any-return]

    monkeypatch.setattr(Plain, "predict", no_numbers)
    check_refused(TrainingError, run, model="tiny_models:Plain", settings=REWARDS)


def test_a_run_on_rewards_learns_and_resumes_to_the_same_bits(run: Train, tmp_path: Path) -> None:
    usual: dict[str, Any] = {**PLAIN, "updates": 60, "settings": {**REWARDS, "recipe.batch_size": 16}}
    made = check_resumes(run, tmp_path, 7, 20, **usual)
    assert not made.has_collapsed
    percents = [each["accuracy"] for each in log(tmp_path / "whole") if "accuracy" in each]
    assert percents[0] < 25
    assert percents[-1] > 33, "36% is what the words of questions give away, to learning from labels as well"
    (stage,) = info(tmp_path / "whole")["recipe"]["stages"]
    assert (stage["objective"], stage["samples"], stage["entropy"]) == ("rewards", 16, 0.1)


def test_what_decides_nothing_is_not_recorded() -> None:
    """So runs of earlier versions, whose run.json says nothing of rewards, can be resumed."""
    stages = (Stage("words", 1, 1), Stage("all", 1, 1, objective="rewards"))
    words, both = Recipe(stages).record()["stages"]
    assert set(both) - set(words) == {"objective", "samples", "entropy"}
    assert "stop_at" not in Recipe(stages).record()
    assert Recipe(stages, stop_at=90).record()["stop_at"] == 90


def test_a_collapse_is_told(run: Train, dataset: Path, tmp_path: Path, cli: Cli) -> None:
    settings = {"rate": 3, "samples": 2, "entropy": 0, "batch_size": 4, "objective": "rewards"}
    options = [text for name, value in settings.items() for text in ("--set", f"recipe.{name}={value}")]
    words = f"--hop {HOP} --size 100 --seed 3 --updates 30 --tune-on val --device cpu --out"
    told = cli("train", "tiny_models:Plain", dataset, *words.split(), tmp_path / "run", *options).out
    assert "It has collapsed: 100.0% of the questions of the tune set get the same answer.\n" in told
    assert log(tmp_path / "run")[-1]["most_frequent"] == 100


def test_a_run_stops_at_an_accuracy(run: Train, tmp_path: Path) -> None:
    """Its last weights are those that reached it, also if it is interrupted just then."""
    usual: dict[str, Any] = {**PLAIN, "updates": 60, "keep_last": 60, "keep_every": 10}
    settings = {"recipe.rate": 0.1, "recipe.batch_size": 16}
    run("whole", **usual, settings=settings)
    found = {each["update"]: each["accuracy"] for each in log(tmp_path / "whole") if "accuracy" in each}
    update, percent = next((at, each) for at, each in found.items() if each > found[10])
    settings["recipe.stop_at"] = percent
    early = [f"train-{each:07d}" for each in range(10, update, 10)]
    progress = StopsAt(update)  # interrupts after the update that reaches it
    made = run("stopped", **usual, settings=settings, progress=progress)
    assert (made.updates, made.resumed_at, made.checkpoints) == (update, 0, ("best", *early, "last"))
    assert json.loads((tmp_path / "stopped/finished.json").read_text())["updates"] == update
    assert log(tmp_path / "stopped")[-1]["accuracy"] == percent
    kept = load_file(tmp_path / f"whole/weights/train-{update:07d}.safetensors")
    last = load_file(tmp_path / "stopped/weights/last.safetensors")
    assert all(torch.equal(last[name], kept[name]) for name in kept)
    assert run("stopped", **usual, settings=settings).updates == update, "also when it is asked for again"
    # An accuracy between the evaluations before it is reached by the last weights as well.
    assert RunFolder(tmp_path / "stopped").first_reaching(found[update - 10]) == (early[-1], "last")


def test_what_cannot_learn_from_rewards_or_stop_is_refused(run: Train, dataset: Path, tmp_path: Path) -> None:
    check_refused(ConfigError, run, settings={"recipe.stop_at": 90})
    check_refused(ConfigError, run, model="tensor_nmn", settings={**PIXELS, "recipe.objective": "rewards"})
    sets = TrainRequest("plain", dataset, HOP, 9, 1, tmp_path, settings=REWARDS, split="covr_train")
    stopping = {"recipe.stop_at": 90}
    stacked = TrainRequest("plain", dataset, HOP, 9, 1, tmp_path, settings=stopping, tune_on="val")
    check_refused(ConfigError, recipe_of, Plain(9, 9), sets)
    check_refused(ConfigError, check_stackable, Plain(9, 9), stacked)
    assert not (tmp_path / "run").exists()
