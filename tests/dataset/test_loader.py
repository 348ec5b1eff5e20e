"""`load`: the items are the files' questions and the renderer's pixels, in any process."""

import pickle
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from building import build_demo
from fake_renderer import pixels_of
from truth import HOP, SPLITS, Truth

from clevrhope import ConfigError, DatasetError, execute, load
from clevrhope.dataset.card import Card
from clevrhope.programs import answer_text
from wording import check_refused, refused


def made(out: Path, **changes: Any) -> Path:
    build_demo(out, **changes)
    return out


@pytest.fixture(scope="module", params=["png", "h5"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp(request.param) / "data", images=request.param)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("bare") / "data", render=False)


@pytest.mark.parametrize("split", SPLITS)
def test_items_are_the_questions_of_the_file_with_their_images(folder: Path, split: str) -> None:
    data, truth = load(folder, HOP, split, text=True), Truth(folder)
    wanted, scenes = truth.questions(split), truth.scenes(data.pool)
    assert len(data) == len(wanted)
    assert (data.hop, data.split) == (HOP, split)
    functions = data.vocab.programs()
    for k, (item, question) in enumerate(zip(data, wanted, strict=True)):
        assert item["question_index"] == k
        assert item["image_index"] == question["image_index"]
        assert item["family"] == question["question_family_index"]
        assert item["question_text"] == question["question"]
        assert item["answer_text"] == data.vocab.answers()[item["answer"]] == question["answer"]
        assert item["question"].dtype == item["program"].dtype == np.int32
        spoken = [functions[token] for token in item["program"] if token > 3]
        assert item["program_text"].split() == spoken
        assert item["image"].dtype == np.uint8
        assert item["image"].flags.writeable
        np.testing.assert_array_equal(item["image"], pixels_of(scenes[question["image_index"]]))


def test_it_is_a_sequence(folder: Path) -> None:
    data = load(folder, "cylinder_rubber", "train", images=False)
    assert len(list(data)) == len(data) == 162
    assert data[-1]["question_index"] == data[np.int64(161)]["question_index"] == 161
    for outside in (162, -163):
        with pytest.raises(IndexError):
            data[outside]
    assert set(data[0]) == {"question", "program", "answer", "image_index", "question_index", "family"}


def test_the_first_questions_and_a_transform(folder: Path) -> None:
    short = load(folder, HOP, "train", limit=50, transform=lambda image: image.mean())
    assert len(short) == 50
    whole = load(folder, HOP, "train", images=True)
    for one, other in zip(short, whole, strict=False):
        np.testing.assert_array_equal(one["question"], other["question"])
        assert one["image"] == other["image"].mean()


def test_a_folder_without_images_leaves_them_out_unless_they_are_required(bare: Path) -> None:
    data = load(bare, HOP, "train", transform=lambda _: pytest.fail("there is no image"))
    assert not data.rendered
    assert set(data[3]) == set(load(bare, HOP, "train", images=False)[3])
    assert "without images" in repr(data)
    check_refused(DatasetError, load, bare, HOP, "train", images=True)


def test_a_slice_is_a_part_of_the_same_kind(folder: Path) -> None:
    data = load(folder, HOP, "train", text=True)
    part = data[10:20]
    assert (len(part), part.hop, part.split, part.vocab) == (10, HOP, "train", data.vocab)
    assert type(part) is type(data)
    assert repr(part) == "<10 questions of rubber_cylinder/train, with images>"
    np.testing.assert_array_equal(part[3]["image"], data[13]["image"])
    assert part[3]["question_text"] == data[13]["question_text"]
    assert part.show(3).question == data.show(13).question
    numbers = list(range(162))
    for cut in (
        slice(-5, None),
        slice(None, None, 50),
        slice(None, None, -1),
        slice(200, 300),
        slice(-500, 2),
    ):
        assert [each["question_index"] for each in data[cut]] == numbers[cut]
    assert [each["question_index"] for each in data[100:][::-2][:3]] == [161, 159, 157]
    assert data[10:20][-1]["question_index"] == 19
    with refused(IndexError):
        part[10]
    assert [each["question_index"] for each in pickle.loads(pickle.dumps(part))] == numbers[10:20]
    assert len(data) == 162, "a slice leaves the whole as it was"


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_a_dataloader_makes_batches_of_slices_and_of_a_folder_without_images(bare: Path) -> None:
    from torch.utils.data import DataLoader, Dataset

    data = load(bare, HOP, "train", text=True)
    part = data[10:17]
    assert isinstance(part, Dataset)
    assert len(data + part) == 169
    copy = pickle.loads(pickle.dumps(part))
    assert isinstance(copy, Dataset)
    assert copy[3]["question_text"] == data[13]["question_text"]
    batches = list(DataLoader(part, batch_size=4))
    assert [batch["question_index"].tolist() for batch in batches] == [[10, 11, 12, 13], [14, 15, 16]]
    assert "image" not in batches[0]


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        (("rubber_cilinder", "train"), {}),
        ((HOP, "val"), {}),
        ((HOP, "train"), {"limit": 25_000}),
        ((HOP, "train"), {"limit": 0}),
    ],
)
def test_what_the_folder_does_not_have(
    folder: Path, arguments: tuple[str, str], keywords: dict[str, int]
) -> None:
    check_refused(ConfigError, load, folder, *arguments, **keywords)


def test_files_that_are_not_whole(folder: Path, tmp_path: Path) -> None:
    check_refused(DatasetError, load, tmp_path, HOP, "train")
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    path = copy / "hops" / HOP / "train.h5"
    path.write_bytes(path.read_bytes()[:3000])
    check_refused(DatasetError, load, copy, HOP, "train")


@pytest.mark.slow
def test_some_images_missing(tmp_path: Path) -> None:
    copy = made(tmp_path / "copy", images="png")
    with h5py.File(copy / "hops" / HOP / "train.h5") as file:
        last = int(file["image_idxs"][-1])  # images are in the order of places, not of indices
    gone = copy / "images" / "train" / f"HOPE_train_{last:06}.png"
    gone.unlink()
    check_refused(DatasetError, load, copy, HOP, "train")
    assert load(copy, HOP, "train", limit=36)[35]["image"] is not None
    assert "image" not in load(copy, HOP, "train", images=False)[0]


def test_naming_it_imports_no_torch(bare: Path) -> None:
    """Only a call does, and only where torch is installed."""
    script = "import sys, clevrhope; clevrhope.load; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
@pytest.mark.slow
def test_a_dataloader_with_workers_gives_each_question_once(folder: Path, start: str) -> None:
    """The parent's files are open when the workers start, and stay good."""
    import torch
    from torch.multiprocessing.reductions import shared_cache
    from torch.utils.data import DataLoader, Dataset

    data = load(folder, HOP, "train", text=True)
    assert isinstance(data, Dataset)
    images = [item["image"] for item in data]
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=2, multiprocessing_context=start)
    seen: dict[int, torch.Tensor] = {}
    for batch in loader:
        assert batch["image"].dtype == torch.uint8
        assert batch["answer"].dtype == torch.int64
        assert len(batch["question_text"]) == len(batch["question"])
        seen.update(zip(batch["question_index"].tolist(), batch["image"], strict=True))
    assert sorted(seen) == list(range(162))
    for k, item in enumerate(data):
        np.testing.assert_array_equal(seen[k].numpy(), images[k])
        np.testing.assert_array_equal(item["image"], images[k])
    shared_cache.clear()  # torch would give them back one by one as the interpreter ends, and fail at each


def test_a_question_is_shown_with_its_image_text_and_program(folder: Path, bare: Path) -> None:
    for split in ("train", "minimal_ood"):
        data = load(folder, HOP, split, text=True, scenes=True)
        for number in (0, 3, -1):
            item, card = data[number], data.show(number)
            assert (card.question, card.answer) == (item["question_text"], item["answer_text"])
            assert np.array_equal(np.asarray(card.image), item["image"])
            answer = execute(card.program, item["scene"])
            assert answer_text(answer) == card.answer
            assert answer == execute(item["program"], item["scene"])
            assert repr(card) == f"{card.place}: {card.question} {card.answer}\n{card.program}"
            assert card._repr_html_().count("data:image/png;base64,") == 1
        assert load(folder, HOP, split, images=False).show(0).image is None
    check_refused(IndexError, data.show, 99_999)
    unrendered = load(bare, HOP, "train").show(0)
    assert unrendered.image is None
    assert "No image" in unrendered._repr_html_()


def test_a_card_escapes_what_a_dataset_says() -> None:
    hostile = "<script>alert(1)</script>"
    shown = Card(hostile, hostile, hostile, (), hostile)._repr_html_()
    assert "<script>" not in shown
    assert shown.count("&lt;script&gt;") == 4
