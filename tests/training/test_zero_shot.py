"""LXMERT as others finetuned it answers single values without training: its labels are mapped to answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from building import Cli, request

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.torch import save_file
from test_stages_of_models import NoiseBoxes

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError
from clevrhope.features import kinds
from clevrhope.features.extraction import make_features
from clevrhope.pipeline import build
from clevrhope.training.zero_shot import evaluate_zero_shot, read_labels, read_zero_shot
from wording import refused

N = 3_129
LABELS = ["net", "Yes", "no", "two", "3", "blue", *(f"thing {k}" for k in range(N - 6))]
"""Labels as VQA2's: some are answers of CLEVR."""

assert NoiseBoxes  # which the table of kinds names


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The preliminary sets of two values, with boxes of noise as the detector's."""
    out = tmp_path_factory.mktemp("values") / "data"
    build(request(out, hops=(), prelim=("cyan", "rubber"), render=False))
    with pytest.MonkeyPatch.context() as patch:
        row = replace(kinds.KINDS["scene-boxes"], extractor="test_stages_of_models:NoiseBoxes")
        patch.setitem(kinds.KINDS, "frcnn", row)
        make_features(out, kind="frcnn", weights=out.parent)  # which noise does not read
    return out


def theirs(**changes: Any) -> Any:
    """A small random model of transformers with VQA2's number of labels."""
    torch.manual_seed(1)
    sizes = {"hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 32}
    layers = {"l_layers": 1, "r_layers": 1, "x_layers": 2}
    config = transformers.LxmertConfig(**sizes, **layers, num_qa_labels=N, **changes)
    config.id2label = dict(enumerate(LABELS))
    return transformers.LxmertForQuestionAnswering(config).eval()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What transformers saves of it: model.safetensors and config.json."""
    folder = tmp_path_factory.mktemp("vqa")
    theirs().save_pretrained(folder)
    return folder


def predictions(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def biased(checkpoint: Path, label: str, out: Path) -> Path:
    """The weights of a model that always gives one answer, with a copy of its config.json."""
    state = theirs().state_dict()
    state["answer_head.logit_fc.3.bias"][LABELS.index(label)] = 1e4
    out.mkdir()
    save_file({name: each.contiguous() for name, each in state.items()}, out / "model.safetensors")
    (out / "config.json").write_bytes((checkpoint / "config.json").read_bytes())
    return out


@pytest.mark.parametrize(
    ("label", "answer", "foreign"),
    [("Yes", "yes", False), ("two", "2", False), ("3", "3", False), ("net", "<UNK>", True)],
)
def test_an_answer_is_mapped_by_its_text(
    label: str, answer: str, foreign: bool, values: Path, checkpoint: Path, tmp_path: Path
) -> None:
    weights = biased(checkpoint, label, tmp_path / "vqa")
    files = weights / "model.safetensors", weights / "config.json"
    made = evaluate_zero_shot(*files, values, tmp_path / "out", hops=["prelim_cyan"], device="cpu")
    rows = predictions(made.path)
    assert {row["answer"] for row in rows} == {answer}
    assert {(row["hop"], row["split"]) for row in rows} == {
        ("prelim_cyan", "existence"),
        ("prelim_cyan", "counting"),
    }
    assert made.labels == ("Yes", "no", "two", "3", "blue")
    assert (made.n_questions, made.n_foreign) == (len(rows), len(rows) if foreign else 0)
    expected = {"prelim_cyan existence": 50.0 * (answer == "yes"), "prelim_cyan counting": 0.0}
    if answer in ("2", "3"):
        expected["prelim_cyan counting"] = pytest.approx(100 / 6)
    assert made.percent == expected


def test_all_weights_are_those_of_transformers(values: Path, checkpoint: Path) -> None:
    vocab = read_vocab(Layout(values).vocab)
    ours, names = read_zero_shot(checkpoint / "model.safetensors", checkpoint / "config.json", vocab)
    assert names == LABELS
    state = ours.state_dict()
    assert all(torch.equal(state[name], each) for name, each in theirs().state_dict().items())


def test_the_names_of_the_original_release_are_read(values: Path, checkpoint: Path, tmp_path: Path) -> None:
    state = {
        name.replace("answer_head.", "").replace("lxmert.", "lxrt_encoder.model.bert."): each
        for name, each in theirs().state_dict().items()
    }
    torch.save(state, tmp_path / "BEST.pth")
    vocab = read_vocab(Layout(values).vocab)
    ours, _ = read_zero_shot(tmp_path / "BEST.pth", checkpoint / "config.json", vocab)
    assert torch.equal(ours.state_dict()["answer_head.logit_fc.0.weight"], state["logit_fc.0.weight"])


@pytest.mark.parametrize("content", [LABELS, {name: k for k, name in enumerate(LABELS)}])
def test_labels_are_a_list_or_numbered(content: Sequence[str] | Mapping[str, int], tmp_path: Path) -> None:
    (tmp_path / "labels.json").write_text(json.dumps(content))
    assert read_labels(tmp_path / "labels.json") == (LABELS, {})


def test_the_command_tells_the_share_and_score_has_the_values_table(
    values: Path, checkpoint: Path, tmp_path: Path, cli: Cli
) -> None:
    weights = biased(checkpoint, "net", tmp_path / "vqa")
    options = ["--labels", weights / "config.json", "--dataset", values, "--device", "cpu"]
    told = cli("evaluate", weights / "model.safetensors", *options, "--out", tmp_path / "out").out
    assert "of which 100.0% are none of this dataset and count as wrong; 5 labels are answers here" in told
    scores = cli("score", values, tmp_path / "out/predictions/last.predict.jsonl", "--bootstrap", "0").out
    assert "each value alone" in scores
    assert "cyan" in scores
    assert "rubber" in scores


@pytest.mark.parametrize(
    "labels",
    [
        LABELS[:-1],  # another number than the head has
        [f"LABEL_{k}" for k in range(N)],  # names that say nothing, as a config.json may have
        [*LABELS[:-1], "net"],
        ["yes", 3],
        {"id2label": {"0": "yes", "2": "no"}},
        "yes",
    ],
    ids=["too few", "none", "twice", "number", "gap", "text"],
)
def test_labels_that_do_not_fit_are_refused(
    labels: Any, values: Path, checkpoint: Path, tmp_path: Path
) -> None:
    config = json.loads((checkpoint / "config.json").read_text())
    content = {**config, "id2label": dict(enumerate(labels))} if len(labels) > 100 else labels
    (tmp_path / "labels.json").write_text(json.dumps(content))
    with refused(ConfigError):
        evaluate_zero_shot(
            checkpoint / "model.safetensors", tmp_path / "labels.json", values, tmp_path / "out", device="cpu"
        )


def test_options_of_runs_are_refused(checkpoint: Path, values: Path, tmp_path: Path, cli: Cli) -> None:
    command = ["evaluate", checkpoint / "model.safetensors", "--labels", checkpoint / "config.json"]
    assert "--labels needs --dataset" in cli(*command, code=2).err
    assert "--labels needs --out" in cli(*command, "--dataset", values, code=2).err
    more = ["--dataset", values, "--out", tmp_path / "out", "--checkpoint", "last"]
    assert "--checkpoint is for a run" in cli(*command, *more, code=2).err
