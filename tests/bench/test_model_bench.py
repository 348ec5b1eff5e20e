"""How fast models train: what `python -m benchmarks models` measures, at tiny sizes."""

import json

import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import models as bench
from benchmarks.__main__ import benchmarks
from benchmarks.models import counted_rnns, measure_models, text_lines
from benchmarks.tensor_nmn import measure_forms
from clevrhope.errors import ConfigError
from clevrhope.models.lstm import Gru, Lstm

NMN = {
    **{"features": "pixels", "image_width": 48, "image_height": 32, "halvings": 3, "channels": 8},
    **{"classifier_channels": 8, "classifier_hidden": 16, "generator_words": 8, "generator_hidden": 8},
}


@pytest.fixture(autouse=True)
def small_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bench._PEAK_SIDE, "cpu", 256)


@pytest.mark.slow
def test_each_stage_is_timed_and_counted() -> None:
    told: list[str] = []
    speeds = measure_models(["tensor_nmn"], device="cpu", updates=2, settings=NMN, advance=told.append)
    assert [each.stage for each in speeds.stages] == ["generator", "engine", "reinforce"]
    assert told == ["tensor_nmn, generator", "tensor_nmn, engine", "tensor_nmn, reinforce"]
    assert speeds.precision == {"tensor_nmn": "float32"}
    n_updates = {"generator": 200_000, "engine": 500_000, "reinforce": 100_000}
    for each in speeds.stages:
        assert each.batch_size == 64
        assert each.hours == pytest.approx(n_updates[each.stage] / each.updates_a_second / 3600)
        expected = each.teraflop * each.updates_a_second / speeds.peak["float32"]
        assert each.share_of_peak == pytest.approx(expected)
    assert all(each.teraflop > 0 for each in speeds.stages)
    assert speeds.hours["tensor_nmn"] == pytest.approx(sum(each.hours for each in speeds.stages))
    lines = text_lines(speeds)
    assert lines[-1].endswith("the paper: at most 524")
    assert sum("updates per second" in line for line in lines) == 3


def test_only_losses_that_train_compiles_are_timed_compiled() -> None:
    with pytest.raises(ConfigError, match=r"recipe\.compile: stage train of QuestionOnly cannot"):
        measure_models(["question_only"], device="cpu", updates=1, compiles=True)


@pytest.mark.slow
def test_the_command_prints_one_object() -> None:
    arguments = ["models", "--model", "question_only", "--device", "cpu", "--updates", "1", "--json"]
    made = CliRunner().invoke(benchmarks, arguments)
    assert made.exit_code == 0, made.output
    told = json.loads(made.output)
    assert told["paper_hours"] == {"question_only": None}
    (stage,) = told["stages"]
    assert (stage["model"], stage["stage"], stage["batch_size"]) == ("question_only", "train", 64)
    assert stage["updates_a_second"] > 0


def test_the_forms_of_tensor_nmn_are_timed_in_one_run() -> None:
    config = {name: value for name, value in NMN.items() if not name.startswith(("classifier", "generator"))}
    times, apart, told = measure_forms(config, ("bucketed", "gathered"), 8, 1, "cpu")
    assert set(times) == {"bucketed", "gathered"}
    assert min(times.values()) > 0
    assert max(apart.values()) < 1e-4
    assert "8 channels" in told


def test_lstms_and_grus_are_counted_which_torch_does_not() -> None:
    """2 operations a weight and word; three times that with the way back."""
    model = torch.nn.ModuleDict({"lstm": Lstm(3, 5, 2, batch_first=True, bidirectional=True)})
    n_weights = 2 * 4 * 5 * (3 + 5) + 2 * 4 * 5 * (10 + 5)
    packed = pack_padded_sequence(torch.randn(2, 4, 3), torch.tensor([4, 2]), batch_first=True)
    with counted_rnns(model) as found:
        model["lstm"](torch.randn(2, 4, 3))
        with torch.no_grad():
            model["lstm"](torch.randn(2, 4, 3))
        with FlopCounterMode(display=False) as counted:
            model["lstm"](packed)
    assert found == [3 * 2 * 8 * n_weights, 2 * 8 * n_weights]
    assert (
        counted.get_total_flops() == 2 * 6 * n_weights
    )  # of packed words torch counts all by itself, on a CPU
    model["lstm"](torch.randn(2, 4, 3))
    assert len(found) == 2
    gru = Gru(3, 5, batch_first=True)
    with counted_rnns(gru) as found:
        gru(torch.randn(2, 4, 3))
    assert found == [3 * 2 * 8 * 3 * 5 * (3 + 5)]
