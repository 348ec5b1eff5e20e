"""Whole runs: the same seed gives the same weights, stopped or not; what is written; what is refused."""

import json
import shutil
import signal
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from building import Cli, build_demo, stamps
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from short_runs import (
    HOP,
    StopsAt,
    Train,
    check_resumes,
    info,
    log,
    rows,
    start_command,
    stopped_states,
    weights,
)

from clevrhope.dataset.binding import BindingError
from clevrhope.errors import ConfigError, DatasetError, TrainingError
from clevrhope.features.extraction import make_features
from clevrhope.runtime.lock import locked
from clevrhope.training.checkpoints import save_state
from clevrhope.training.evaluation import evaluate
from clevrhope.training.run_folder import FORMAT
from wording import check_refused, refused


@pytest.fixture
def whole(run: Train, tmp_path: Path) -> Path:
    """A run that nobody stopped; both stages are 30 updates together."""
    run("whole")
    return tmp_path / "whole"


def test_the_same_seed_gives_the_same_run_and_another_another(
    run: Train, whole: Path, tmp_path: Path
) -> None:
    run("again")
    run("other", seed=4)
    assert weights(tmp_path / "again") == weights(whole)
    assert log(tmp_path / "again") == log(whole)
    there, other = (load_file(tmp_path / name / "weights/last.safetensors") for name in ("again", "other"))
    assert not torch.equal(there["words.weight"], other["words.weight"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_at_any_update_and_resumed_equals_uninterrupted(
    number: int, run: Train, whole: Path, tmp_path: Path
) -> None:
    """In the first stage, at its end, at the start of the second, inside an epoch and at the edge of one."""
    states = stopped_states(run, tmp_path / "stopped", (1, 6, 5, 1, 5, 10), number)
    assert states == [f"{update:09d}" for update in (1, 7, 12, 13, 18, 28)]
    assert not (tmp_path / "stopped/weights/last.safetensors").exists()
    made = check_resumes(run, tmp_path, 1)
    assert (made.updates, made.resumed_at) == (30, 29)
    assert not (tmp_path / "stopped/state").exists(), "what a resumed run needs is given back at the end"


def test_averaged_weights_are_kept_and_tuned_and_resume_as_well(
    run: Train, whole: Path, tmp_path: Path
) -> None:
    usual: dict[str, Any] = {"settings": {"recipe.averaging": 0.8}, "keep_last": 18, "keep_every": 1}
    run("plain", keep_last=18, keep_every=1)
    run("averaged", **usual, tune_on="val", tune_every=9)
    tuned = {**usual, "tune_on": "val", "tune_every": 9}
    states = stopped_states(run, tmp_path / "stopped", (6, 12, 5), **tuned)
    assert states == ["000000006", "000000018", "000000023"]
    run("stopped", **tuned)
    assert weights(tmp_path / "stopped") == weights(tmp_path / "averaged")
    assert log(tmp_path / "stopped") == log(tmp_path / "averaged")
    # By hand, from the weights after each update of the last stage, which averaging does not change.
    average: dict[str, torch.Tensor] = {}
    names = [*(f"all-{update:07d}" for update in range(1, 18)), "last"]
    for update, name in enumerate(names, 1):
        now = load_file(tmp_path / f"plain/weights/{name}.safetensors")
        share = max(0.2, 1 / update)
        now = {key: each for key, each in now.items() if each.is_floating_point()}
        average = {key: now[key].lerp(average.get(key, now[key]), 1 - share) for key in now}
        kept = load_file(tmp_path / f"averaged/weights/{name}.safetensors")
        assert all(torch.allclose(kept[key], average[key], atol=1e-6) for key in now), name


def test_schedule_groups_and_parts_of_batches_resume_as_well(run: Train, tmp_path: Path) -> None:
    settings = {
        "recipe.schedule": "cosine",
        "recipe.accumulation": 4,
        "recipe.groups": [
            {"weights": "answer.*", "rate": 0.1},
            {"weights": "words.*", "rate": 0, "decay": 0},
        ],
    }
    check_resumes(run, tmp_path, 7, 13, settings=settings)
    begun = load_file(tmp_path / "whole/weights/words.safetensors")
    ended = load_file(tmp_path / "whole/weights/last.safetensors")
    moved = {name for name in begun if not torch.equal(begun[name], ended[name])}
    assert "answer.weight" in moved
    assert "words.weight" not in moved, "its rate is 0"


def test_a_batch_in_parts_makes_the_same_update(run: Train, tmp_path: Path) -> None:
    """Of a model whose loss is a mean over its questions."""
    for name, parts in (("whole", 1), ("parts", 4)):
        run(name, model="tiny_models:Plain", updates=9, settings={"recipe.accumulation": parts})
    whole, parts = (load_file(tmp_path / each / "weights/last.safetensors") for each in ("whole", "parts"))
    assert all(torch.allclose(whole[name], parts[name], atol=1e-5) for name in whole)
    losses = [[line["loss"] for line in log(tmp_path / each)] for each in ("whole", "parts")]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_a_run_ends_once_it_has_not_become_better_for_long(run: Train, tmp_path: Path) -> None:
    settings = {"recipe.all.rate": 1e-12, "recipe.patience": 2}
    usual: dict[str, Any] = {"tune_on": "val", "tune_every": 2, "settings": settings}
    made = check_resumes(run, tmp_path, 14, 3, **usual)
    assert made.updates == 12 + 6, "the best, and two that are no better"
    check_refused(ConfigError, run, "untuned", settings=settings)


def test_threads_are_a_part_of_a_run(run: Train, tmp_path: Path) -> None:
    run("whole", threads=2, on_log=lambda _: seen.append(torch.get_num_threads()))
    assert {*seen} == {2}
    assert torch.get_num_threads() == 1
    about = info(tmp_path / "whole")
    assert about["threads"] == 2
    assert about["made_with"]["instructions"] == torch.backends.cpu.get_cpu_capability()
    assert about["made_with"]["torch"]
    check_refused(BindingError, run, "whole")


seen: list[int] = []


def test_muon_in_bfloat16_resumes_as_well(run: Train, tmp_path: Path) -> None:
    settings = {"recipe.all.optimiser": "muon", "recipe.all.decay": 0}
    usual: dict[str, Any] = {"precision": "bf16", "settings": settings}
    check_resumes(run, tmp_path, 20, **usual)
    run("float32", settings=settings)
    run("adam", precision="bf16", settings={"recipe.all.optimiser": "adam", "recipe.all.decay": 0})
    assert len({weights(tmp_path / name) for name in ("whole", "float32", "adam")}) == 3


def test_pretrained_weights_are_needed_once(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a run begins; not where it goes on, is asked for again, or is evaluated."""
    file = tmp_path / "bias"
    monkeypatch.setenv("TINY_BEGINS_WITH", str(file))
    usual: dict[str, Any] = {"model": "tiny_models:Begins"}
    for name, bias in (("zero", "0"), ("whole", "3")):
        file.write_text(bias)
        run(name, **usual)
    stopped_states(run, tmp_path / "stopped", [5], **usual)
    file.unlink()
    run("stopped", **usual)
    assert weights(tmp_path / "stopped") == weights(tmp_path / "whole") != weights(tmp_path / "zero")
    assert run("stopped", **usual).updates == 30
    assert evaluate(tmp_path / "stopped", device="cpu")
    check_refused(ConfigError, run, "another", **usual)
    assert not (tmp_path / "another").exists()


@pytest.mark.slow
def test_killed_and_resumed_equals_uninterrupted(dataset: Path, run: Train, tmp_path: Path) -> None:
    usual: dict[str, Any] = {"model": "tiny_models:Slow", "updates": 60}
    run("whole", **usual)
    out = tmp_path / "killed"
    words = f"train tiny_models:Slow {dataset} --hop {HOP} --size 100 --seed 3 --updates 60"
    arguments = words.split()
    arguments += ["--save-every", "7", "--device", "cpu", "--out", str(out), "--quiet"]
    process = start_command(*arguments)
    while process.poll() is None and not list((out / "state").glob("[!.]*")):
        time.sleep(0.002)
    process.kill()
    process.communicate()
    # Whatever a kill can leave: half a file, half a state.
    (out / "weights").mkdir(exist_ok=True)
    (out / "weights/.clevrhope-last.safetensors.partial").write_bytes(b"half")
    (out / "state/.clevrhope-000000099.work").mkdir(exist_ok=True)
    made = run("killed", save_every=7, **usual)
    assert made.updates == 60
    assert weights(out) == weights(tmp_path / "whole")
    assert log(out) == log(tmp_path / "whole")
    assert not list(out.rglob("*.partial"))


def test_a_finished_run_is_left_alone(run: Train, whole: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*") if path.is_file()}
    made = run("whole")
    assert (made.updates, made.resumed_at, made.checkpoints) == (30, 30, ("words", "last"))
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*") if path.is_file()} == before


def test_only_a_stages_weights_move(whole: Path) -> None:
    """The first stage of `Tiny` trains words and answer; its image part stands still, running means too."""
    from tiny_models import Tiny

    from clevrhope.dataset.vocab import read_vocab
    from clevrhope.training.order import derived_seed

    said = json.loads((whole / "run.json").read_text())
    torch.manual_seed(derived_seed(3, "weights"))
    new = Tiny.build({}, read_vocab(Path(said["places"]["dataset"]) / "vocab.json")).state_dict()
    first, last = (load_file(whole / f"weights/{name}.safetensors") for name in ("words", "last"))
    for name in new:
        assert torch.equal(new[name], first[name]) == name.startswith("look."), name
        assert not torch.equal(first[name], last[name]), name


def test_the_log_says_how_it_went(whole: Path) -> None:
    lines = rows(whole / "log.jsonl")
    assert [(line["stage"], line["update"]) for line in lines] == [
        *(("words", k) for k in range(1, 13)),
        *(("all", k) for k in range(1, 19)),
    ]
    assert lines[12]["rate"] == 0, "the first update of a warm-up"
    assert all(line["loss"] > 0 and line["updates_a_second"] > 0 for line in lines)


def test_late_checkpoints_and_the_best_one_are_kept(run: Train, whole: Path, tmp_path: Path) -> None:
    made = run("kept", keep_last=3, keep_every=4, tune_on="val", tune_every=5)
    assert made.checkpoints == ("all-0000010", "all-0000014", "best", "words", "last")
    # Looking at the tune set changes nothing.
    a, b = (load_file(folder / "weights/last.safetensors") for folder in (tmp_path / "kept", whole))
    assert all(torch.equal(a[name], b[name]) for name in a)
    looks = [line for line in log(tmp_path / "kept") if "tuned_on" in line]
    assert [line["update"] for line in looks] == [5, 10, 15, 18]
    best = max(looks, key=lambda line: line["accuracy"])
    from clevrhope.training.checkpoints import read_about

    assert read_about(tmp_path / "kept/weights/best.safetensors")["update"] == best["update"]


@pytest.mark.parametrize(("tune_on", "recorded"), [("val", "val_iid"), ("none:val", "none:val")])
def test_val_is_the_split_of_the_pair_and_that_of_none_only_by_name(
    tune_on: str, recorded: str, run: Train, tmp_path: Path
) -> None:
    run(tune_on=tune_on, updates=2)
    assert info(tmp_path / "run")["tune"]["on"] == recorded


def test_where_a_split_for_tuning_is_missing_the_message_says_how_to_build_it(
    run: Train, tmp_path: Path
) -> None:
    bare = build_demo(tmp_path / "bare", images="h5", splits=("train", "complex_iid")).folder
    make_features(bare, kind="pixels", size=(24, 16))
    for tune_on in ("val", "none:val"):
        check_refused(ConfigError, run, dataset=bare, tune_on=tune_on)


def test_a_loss_that_is_no_number_stops_the_run(run: Train, tmp_path: Path) -> None:
    check_refused(TrainingError, run, model="tiny_models:Explodes", save_every=10)
    tensors = load_file(tmp_path / "run/state/000000020/tensors.safetensors")
    assert all(bool(each.isfinite().all()) for name, each in tensors.items() if name.startswith("model."))
    assert not (tmp_path / "run/weights").exists()
    check_refused(TrainingError, run, model="tiny_models:Explodes", save_every=10)


def test_a_folder_belongs_to_one_run(run: Train, whole: Path, tmp_path: Path) -> None:
    for changes in ({"seed": 4}, {"settings": {"width": 9}}, {"settings": {"recipe.all.updates": 30}}):
        check_refused(BindingError, run, "whole", **changes)
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "thesis.tex").write_text("")
    check_refused(DatasetError, run, "strange")
    with locked(tmp_path / "busy"), pytest.raises(DatasetError, match="another run is writing here"):
        run("busy")


@pytest.mark.parametrize("place", ["log.jsonl", "state", "predictions", "other_hops"])
def test_nothing_of_a_run_is_written_through_links(place: str, run: Train, tmp_path: Path) -> None:
    stopped_states(run, tmp_path / "run", [5])
    if place in ("predictions", "other_hops"):
        run()
    elsewhere, path = tmp_path / "elsewhere", tmp_path / "run" / place
    if path.exists():
        path.rename(elsewhere)
    else:
        elsewhere.mkdir()
    path.symlink_to(elsewhere)
    before = stamps(tmp_path)
    check_refused(DatasetError, run)
    with refused(DatasetError):
        evaluate(tmp_path / "run", device="cpu") if (tmp_path / "run/weights").exists() else run()
    assert stamps(tmp_path) == before


def test_a_folder_half_written(run: Train, whole: Path, tmp_path: Path) -> None:
    half = tmp_path / "half"
    half.mkdir()
    (half / ".clevrhope-run.json.partial").write_text("{")
    run("half")
    assert weights(half) == weights(whole)
    shutil.rmtree(half)
    run("half", save_every=2)
    (half / "finished.json").unlink()  # killed between the last weights and the word that all is done
    run("half", save_every=2)
    assert weights(half) == weights(whole)
    (half / "run.json").write_text("{")
    check_refused(DatasetError, run, "half")


def test_a_damaged_state_is_told(run: Train, tmp_path: Path) -> None:
    stopped_states(run, tmp_path / "run", [5])
    path = tmp_path / "run/state/000000005/tensors.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    check_refused(DatasetError, run)


def test_the_command_line_stops_in_a_sentence_and_goes_on(
    dataset: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = f"--hop {HOP} --size 100 --seed 3 --set width=4 --set recipe.words.rate=1e-3"
    command = ["train", "tiny_models:Tiny", dataset, *options.split()]
    monkeypatch.setattr("clevrhope.cli.models.shown_progress", lambda _: StopsAt(4))
    stopped = cli(*command, code=130)
    assert stopped.err.strip() == "clevrhope: stopped; run the same command to resume"
    monkeypatch.setattr("clevrhope.cli.models.shown_progress", lambda _: None)
    told = json.loads(cli(*command, "--json").out)
    assert told["folder"] == f"runs/Tiny-{HOP}-100-3"
    assert (told["updates"], told["resumed_at"]) == (30, 4)
    for wrong, sentence in (
        (["--seed", "4", "--out", told["folder"]], "seed is 3 there, 4 asked for"),
        (["--tune-on", "complex_ood"], "is a test set"),
        (["--set", "width"], "should be NAME=VALUE"),
        (["--size", "many"], "should be a number of questions"),
    ):
        assert sentence in cli(*command, *wrong, code=2).err


def test_a_state_of_a_model_with_other_weights_gets_one_sentence(run: Train, tmp_path: Path) -> None:
    stopped_states(run, tmp_path / "run", [5])
    state = tmp_path / "run/state/000000005"
    tensors = load_file(state / "tensors.safetensors")
    tensors["model.answer.old"] = tensors.pop("model.answer.bias")
    save_file(tensors, state / "tensors.safetensors")
    said = json.loads((state / "state.json").read_text())
    said["sha256"] = sha256((state / "tensors.safetensors").read_bytes()).hexdigest()
    (state / "state.json").write_text(json.dumps(said))
    check_refused(DatasetError, run)


def test_a_run_of_another_format_gets_one_sentence(run: Train, whole: Path) -> None:
    path = whole / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": FORMAT - 1}))
    for call in (lambda: run("whole"), lambda: evaluate(whole)):
        check_refused(DatasetError, call)


def test_a_state_can_be_written_twice(tmp_path: Path) -> None:
    from clevrhope.training.checkpoints import RunProgress, read_state

    model = torch.nn.Linear(2, 2)
    model.tied = model.weight  # shares memory, as tied embeddings do
    for best in (None, 3.0):
        save_state(tmp_path, RunProgress(best=best), 7, model, None)
    read = read_state(tmp_path)
    assert read is not None
    assert read[0].best == 3.0
    assert torch.equal(read[1]["model.tied"], model.weight)
    assert [path.name for path in tmp_path.iterdir()] == ["000000007"]


def test_a_full_disk_is_told_by_every_file_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clevrhope.training import checkpoints
    from clevrhope.training.member import Log

    def full(*_: Any, **__: Any) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(checkpoints, "save_file", full)
    with pytest.raises(DatasetError, match="no space left"):
        save_state(tmp_path, checkpoints.RunProgress(), 7, torch.nn.Linear(2, 2), None)
    (tmp_path / "log.jsonl").symlink_to("/dev/full")
    monkeypatch.setattr("os.truncate", lambda *_: None)
    log = Log(tmp_path / "log.jsonl", length=0, on_log=None)
    for write in (lambda: log.add({"update": 1}, step=1), log.close):
        with pytest.raises(DatasetError, match="no space left"):
            write()
