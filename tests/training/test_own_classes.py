"""The examples of the documentation: features of other networks, sentences for tokenizers, on_log."""

import json
import re
import shutil
import sys
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from building import request as asked
from short_runs import HOP, StopsAt, Train, log, rows, weights

from benchmarks.synthetic_batch import part_of
from clevrhope.__main__ import run_command
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import QuestionTable, open_split
from clevrhope.dataset.suite_questions import open_suite
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError
from clevrhope.features.dataset_folder import BuiltDataset
from clevrhope.features.store import NoFeatures, open_store
from clevrhope.features.weights import weights_digest
from clevrhope.models.batch import Batch
from clevrhope.pipeline import build
from clevrhope.pipeline.suites import make_suite
from clevrhope.training.data import Questions
from clevrhope.training.test_sets import map_vocab
from clevrhope.training.train_sets import kept_rows
from wording import check_refused

DOCS = Path(__file__).parents[2] / "docs"
TINY: Mapping[str, Any] = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


def example(page: str, title: str) -> str:
    """The block of code on a page that begins with this docstring."""
    text = (DOCS / page).read_text("utf-8")
    blocks = re.findall(r"^```python[^\n]*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (code,) = [each for each in blocks if each.startswith(f'"""{title}')]
    return str(code)


@pytest.fixture
def home(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the pages' dino.py, and the dataset as out/small."""
    monkeypatch.chdir(tmp_path)
    for name in ("dino", "clip", "networks", "towers"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    shutil.copytree(dataset, tmp_path / "out/small")
    Path("dino.py").write_text(example("models_of_your_own.md", "DINOv2's patch vectors"))
    return tmp_path


def save_dino(folder: Path, seed: int) -> Path:
    """A tiny DINOv2 with random weights."""
    torch.manual_seed(seed)
    transformers.Dinov2Model(transformers.Dinov2Config(**TINY, patch_size=56)).save_pretrained(folder)
    return folder


def features(*options: str) -> int:
    return run_command(["features", "out/small", "--quiet", "--device", "cpu", *options])


@pytest.mark.slow
def test_features_of_dinov2_are_those_of_its_images(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from PIL import Image

    import clevrhope

    folder = save_dino(home / "weights", 1)
    assert features("--kind", "dino:Dino", "--weights", str(folder)) == 0
    store = open_store(Path("out/small"), kind="dino:Dino")
    net = transformers.Dinov2Model.from_pretrained(folder).eval()
    assert store.info.weights == weights_digest(net)
    assert store.info.options == {"width": 224, "height": 224}
    item = clevrhope.load("out/small", HOP, "train")[5]
    image = np.asarray(Image.fromarray(item["image"]).resize((224, 224), Image.Resampling.BICUBIC)) / 255
    pixels = torch.tensor((image - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)).permute(2, 0, 1).float()
    with torch.no_grad():
        expected = net(pixels[None]).last_hidden_state[0, 1:]
    pool = store.pool("train")
    row = pool.rows(np.asarray([item["image_index"]]))[0]
    np.testing.assert_allclose(pool.arrays["patches"][row], expected, rtol=2e-3, atol=2e-3)
    # Other weights need another store.
    other = save_dino(home / "other", 2)
    assert features("--kind", "dino:Dino", "--weights", str(other)) == 1
    assert "features/Dino: another feature store is there (weights is " in capsys.readouterr().err


@pytest.mark.slow
def test_clip_takes_the_place_of_dinov2(home: Path) -> None:
    config = transformers.CLIPVisionConfig(**TINY, intermediate_size=16, patch_size=56)
    transformers.CLIPVisionModel(config).save_pretrained(home / "weights")
    code = Path("dino.py").read_text().replace("Dinov2Model", "CLIPVisionModel").replace("Dino(", "Clip(")
    changed = code.replace("self.device)).last", "self.device, (0.48, 0.46, 0.41), (0.27, 0.26, 0.28))).last")
    assert changed != code
    Path("clip.py").write_text(changed)
    assert features("--kind", "clip:Clip", "--weights", "weights", "--pools", "test_ood") == 0
    arrays = open_store(Path("out/small"), kind="clip:Clip").pool("test_ood").arrays
    assert arrays["patches"].shape[1:] == (16, 16)


@pytest.mark.slow
def test_features_of_a_network_of_timm(home: Path) -> None:
    timm = pytest.importorskip("timm")
    torch.save(timm.create_model("resnet18").state_dict(), home / "weights.pth")
    Path("networks.py").write_text(example("models_of_your_own.md", "The last maps or patch vectors"))
    assert features("--kind", "networks:Timm", "--weights", "weights.pth", "--pools", "test_ood") == 0
    arrays = open_store(Path("out/small"), kind="networks:Timm").pool("test_ood").arrays
    assert arrays["maps"].shape[1:] == (512, 7, 7)


def test_a_model_reads_own_features_and_sentences_with_its_own_tokenizer(home: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    assert features("--kind", "dino:Dino", "--weights", str(save_dino(home / "weights", 1))) == 0
    known = [word.lower() for word in read_vocab(Path("out/small/vocab.json")).questions()]
    words = ["[PAD]", "[UNK]", "?", *known]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
    made = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]"
    )
    tokenizer.save_pretrained("encoder")
    config = transformers.BertConfig(**TINY, vocab_size=len(numbers), intermediate_size=16)
    transformers.BertModel(config).save_pretrained("encoder")
    Path("towers.py").write_text(example("models_of_your_own.md", "A text encoder whose words look"))
    train = f"train towers:Towers out/small --hop {HOP} --size 64 --seed 1 --updates 2".split()
    train += ["--set", "encoder=encoder", "--set", "patch_width=16", "--out", "runs/towers-1", "--quiet"]
    assert run_command([*train, "--device", "cpu"]) == 0
    evaluate = "evaluate runs/towers-1 --model towers:Towers --quiet --device cpu"
    assert run_command(evaluate.split()) == 0
    answered = rows(Path("runs/towers-1/predictions/last.predict.jsonl"))
    assert {row["features"] for row in answered} == {"dino:Dino"}


@pytest.fixture(scope="module")
def worded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with a suite, and with questions about sets of images; nothing is rendered."""
    out = tmp_path_factory.mktemp("worded") / "demo"
    build(asked(out, covr=True, render=False, hops=(HOP,)))
    make_suite(out, "carets")
    return out


def written(path: Path) -> list[str]:
    return [each["question"] for each in json.loads(path.read_text())["questions"]]


def texts(reader: QuestionTable, folder: Path, *, size: int = 100) -> list[str]:
    features = NoFeatures(BuiltDataset(folder)).pool(reader.pool)
    questions = Questions(reader, features, torch.device("cpu"))
    batches = questions.batches(np.arange(len(questions)), size)
    return [sentence for batch in batches for sentence in batch.text()]


@pytest.mark.parametrize(
    "split", ["train", "complex_ood", "minimal_ood", "covr_train", "covr_test_paraphrased"]
)
def test_text_is_that_of_the_question_file(split: str, worded: Path) -> None:
    layout = Layout(worded)
    reader = open_split(layout, HOP, split, vocab=read_vocab(layout.vocab_of(split)))
    expected = written(layout.questions_json(HOP, split))
    assert texts(reader, worded) == expected
    assert all(each[0].isupper() and each.endswith("?") for each in expected)


def test_text_of_some_rows_of_a_suite_and_in_another_vocabulary(worded: Path) -> None:
    layout = Layout(worded)
    vocab = read_vocab(layout.vocab)
    expected = written(layout.questions_json(HOP, "train"))
    every = open_split(layout, HOP, "train", vocab=vocab)
    kept = kept_rows(every.programs, {"count": 1}, seed=1, vocab=vocab)
    found = texts(every.take(kept), worded)
    assert 0 < len(found) < len(expected)
    assert not any(each.startswith("How many") for each in found)
    assert found == [each for each in expected if each in set(found)]

    there = read_vocab(layout.suite_vocab(HOP, "carets"))
    suite, rows, _ = open_suite(layout, HOP, "carets", "complex_iid", vocab=there)
    of_suite = np.asarray(written(layout.suite_json(HOP, "carets", "complex_iid")))[rows].tolist()
    assert texts(suite, worded) == of_suite

    mapped, unknown = map_vocab(suite, there=there, here=vocab, place="here", may_lack=True)
    assert unknown, "the suite has words that the dataset has not"
    assert texts(mapped, worded) == of_suite


def test_parts_of_a_batch_have_their_own_text(worded: Path) -> None:
    layout = Layout(worded)
    reader = open_split(layout, HOP, "covr_train", vocab=read_vocab(layout.covr_vocab))
    features = NoFeatures(BuiltDataset(worded)).pool(reader.pool)
    questions = Questions(reader, features, torch.device("cpu"))
    (batch,) = questions.batches(np.asarray([7, 3, 5]), 3)
    expected = written(layout.questions_json(HOP, "covr_train"))
    assert batch.text() == [expected[7], expected[3], expected[5]]
    assert part_of(batch, slice(2)).text() == batch.text()[:2]
    assert batch.to("cpu").text() == batch.text()
    n_images = (batch.images >= 0).sum(1).tolist()
    singles = [text for text, n in zip(batch.text(), n_images, strict=True) for _ in range(n)]
    assert batch.single_images().text() == singles
    check_refused(ConfigError, Batch(*[torch.ones(0)] * 7, {}).text)


def test_on_log_gets_every_record_in_order(run: Train, tmp_path: Path) -> None:
    records: list[dict[str, Any]] = []
    run("plain", tune_on="val", tune_every=9)
    run("run", tune_on="val", tune_every=9, on_log=records.append)
    assert weights(tmp_path / "run") == weights(tmp_path / "plain")
    steps = [record.pop("step") for record in records]
    assert records == rows(tmp_path / "run/log.jsonl")
    first = {"words": 0, "all": 12}
    assert steps == [first[record["stage"]] + record["update"] for record in records]
    assert sum("accuracy" in record for record in records) == 2
    # A resumed run repeats what came after its last state.
    steps = []
    for left in (15, 100):
        try:
            run("stopped", on_log=lambda record: steps.append(record["step"]), progress=StopsAt(left))
        except KeyboardInterrupt:
            assert steps == list(range(1, 16))
    assert steps == list(range(1, 31))


def test_an_exception_in_on_log_stops_the_run_which_can_be_resumed(run: Train, tmp_path: Path) -> None:
    def broken(record: dict[str, Any]) -> None:
        if record["step"] == 14:
            raise OSError("no route to host")

    run("whole", save_every=5)
    with pytest.raises(OSError, match="no route to host") as caught:
        run("stopped", save_every=5, on_log=broken)
    assert caught.value.__notes__ == ["(raised in on_log at update 14; the same call resumes the run)"]
    assert run("stopped", save_every=5).resumed_at > 0
    assert weights(tmp_path / "stopped") == weights(tmp_path / "whole")
    assert log(tmp_path / "stopped") == log(tmp_path / "whole")


def test_the_pages_example_of_weights_and_biases(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[dict[str, Any], int]] = []

    class Run:
        def log(self, record: dict[str, Any], *, step: int) -> None:
            shown.append((record, step))

    @contextmanager
    def init(**settings: Any) -> Any:
        assert settings["config"]["model"] == "tiny_models:Tiny"
        yield Run()

    stand_in = ModuleType("wandb")
    monkeypatch.setattr(stand_in, "init", init, raising=False)
    monkeypatch.setitem(sys.modules, "wandb", stand_in)
    code = example("training.md", "Trains a model and shows its log in Weights & Biases.")
    for old, new in (
        ('"film"', '"tiny_models:Tiny"'),
        ("size=5000,", "size=64, updates=5, device='cpu',"),
        ('settings={"features": "pixels"},', ""),
    ):
        assert code.count(old) == 1
        code = code.replace(old, new)
    exec(compile(code, "the page's example", "exec"), {})
    assert [step for _, step in shown] == [1, 2, 3, 4, 5]
    assert all(record["loss"] > 0 for record, _ in shown)


def test_a_module_that_seeds_at_import_does_not_choose_the_first_weights(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["import torch", "from tiny_models import Tiny", "torch.manual_seed(0)", "class Net(Tiny): ..."]
    (tmp_path / "seeding_module.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("imports", "has_imported"):
        run(name, model="seeding_module:Net", updates=2)
    assert weights(tmp_path / "imports") == weights(tmp_path / "has_imported")
