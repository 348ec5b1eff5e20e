"""Classes of one's own that make features: what they declare, what they give, and what is refused."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from building import Cli
from PIL import Image

import clevrhope
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.features.extraction import make_features
from clevrhope.features.extractor import Array, ArraySpec, Extractor, ExtractorOptions, ImageArray, Scene
from clevrhope.features.source import Batches
from clevrhope.features.store import open_store
from wording import check_words, refused

HERE = "test_extractors"


class Colors(Extractor):
    """The mean color of an image of 8 x 6 pixels, and the color of its first pixel."""

    arrays: ClassVar[Mapping[str, ArraySpec]] = {
        "mean": ArraySpec("float32", (3,)),
        "first": ArraySpec("uint8", (3,)),
    }
    weights = None
    size = (8, 6)
    batch_size = 7

    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> Mapping[str, Array]:
        assert images.shape[1:] == (6, 8, 3)
        assert len(images) <= 7
        assert not scenes
        return {"mean": images.mean((1, 2), dtype=np.float32), "first": images[:, 0, 0]}


class Both(Colors):
    """Reads scenes, too, and images of their own size."""

    reads = ("image", "scene")
    arrays: ClassVar[Mapping[str, ArraySpec]] = {"numbers": ArraySpec("int64", (2,))}
    size = None

    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> Mapping[str, Array]:
        assert images.shape[1:] == (32, 48, 3)
        numbers = [(each["image_index"], len(each["objects"])) for each in scenes]
        return {"numbers": np.asarray(numbers)}


class Weighted(Colors):
    """Has weights, which `--weights` says, and a setting."""

    def __init__(self, options: ExtractorOptions) -> None:
        self.weights = f"digest of {options.weights}"
        self.options = {"setting": 1}


class Wrong(Colors):
    """What it gives is what a test puts here."""

    given: ClassVar[Any] = None

    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> Mapping[str, Array]:
        rows = {**super().rows(images, scenes)}
        changed: Mapping[str, Array] = self.given(rows)
        return changed


class NoArrays(Extractor):
    """Lacks its arrays."""

    weights = None


class NoWeights(Extractor):
    """Lacks its weights."""

    arrays = Colors.arrays


class NoBase:
    """Is not derived from `Extractor`."""


def test_a_class_of_ones_own_gets_resized_images_and_its_rows_are_stored(folder: Path) -> None:
    made = make_features(folder, kind=f"{HERE}:Colors")
    assert made.folder == folder / "features/Colors"
    info = json.loads((made.folder / "store.json").read_text())
    assert (info["kind"], info["reads"], info["weights"]) == (f"{HERE}:Colors", ["image"], None)
    assert info["options"] == {"width": 8, "height": 6}
    questions = clevrhope.load(folder, "rubber_cylinder", "complex_ood")
    pool = open_store(folder, kind=f"{HERE}:Colors").pool(questions.pool)
    item = questions[3]
    small = np.asarray(Image.fromarray(item["image"]).resize((8, 6), Image.Resampling.BICUBIC))
    (row,) = pool.rows(np.asarray([item["image_index"]]))
    np.testing.assert_array_equal(pool.arrays["first"][row], small[0, 0])
    np.testing.assert_allclose(pool.arrays["mean"][row], small.mean((0, 1)), rtol=1e-6)
    assert make_features(folder, kind=f"{HERE}:Colors").n_made == 0


def test_a_class_can_read_images_and_scenes(folder: Path) -> None:
    make_features(folder, kind=f"{HERE}:Both", pools=["train"])
    pool = open_store(folder, kind=f"{HERE}:Both").pool("train")
    scenes = json.loads((folder / "scenes/train/0000.json").read_text())["scenes"]
    expected = {scene["image_index"]: len(scene["objects"]) for scene in scenes}
    assert {int(index): int(n) for index, n in pool.arrays["numbers"]} == expected


def test_features_of_other_weights_or_options_never_share_a_store(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual: Any = {"kind": f"{HERE}:Weighted", "pools": ["test_ood"]}
    make_features(folder, weights="a", **usual)
    with refused(DatasetError):
        make_features(folder, weights="b", **usual)
    monkeypatch.setattr(Weighted, "size", (4, 4))
    with refused(DatasetError):
        make_features(folder, weights="a", **usual)


NO_CLASSES = ("nowhere:Colors", "pixel", ":Colors")
NO_EXTRACTORS = ("Nothing", "NoBase", "HERE", "NoArrays", "NoWeights")


@pytest.mark.parametrize("kind", [*NO_CLASSES, *(f"{HERE}:{name}" for name in NO_EXTRACTORS)])
def test_a_class_that_makes_no_features_gets_one_sentence(kind: str, folder: Path, cli: Cli) -> None:
    check_refused(folder, kind, cli)
    assert not (folder / "features").exists()


def check_refused(folder: Path, kind: str, cli: Cli) -> None:
    """Checks that the command refuses the kind in one sentence, which a snapshot holds."""
    (sentence,) = cli("features", folder, "--kind", kind, "--quiet", code=2).err.splitlines()
    check_words(sentence)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("arrays", {"mean": ArraySpec("float31", (3,))}),  # a dtype that no file can have
        ("arrays", {"indices": ArraySpec("float32", (3,))}),  # the name of one of the store's own
        ("options", {"names": {1, 2}}),  # which no JSON can hold
        ("size", 224),
        ("batch_size", 0),
    ],
    ids=["dtype", "name", "options", "size", "batch_size"],
)
def test_a_wrong_declaration_gets_one_sentence(
    name: str, value: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(Colors, name, value)
    check_refused(folder, f"{HERE}:Colors", cli)
    assert not (folder / "features").exists()


def test_options_that_a_class_does_not_take_are_refused(folder: Path) -> None:
    for options in ({"size": (9, 9)}, {"weights": "x"}):
        with refused(ConfigError):
            make_features(folder, kind=f"{HERE}:Colors", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        lambda rows: None,
        lambda rows: {"mean": rows["mean"]},
        lambda rows: {**rows, "first": rows["first"].tolist()},
        lambda rows: {**rows, "mean": rows["mean"].astype("float64")},
        lambda rows: {**rows, "mean": rows["mean"][:-1]},
        lambda rows: {**rows, "mean": rows["mean"] / 0},
        lambda rows: {**rows, "mean": rows["mean"] * np.float32("nan")},
    ],
)
@pytest.mark.filterwarnings("ignore:.*encountered in divide:RuntimeWarning")
def test_rows_of_another_form_get_one_sentence(
    given: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(Wrong, "given", staticmethod(given))
    check_refused(folder, f"{HERE}:Wrong", cli)


class Numbers(Extractor):
    """The first number of each image, of at most `most` images at a time."""

    weights = None
    arrays: ClassVar[Mapping[str, ArraySpec]] = {"number": ArraySpec("uint8", ())}

    def __init__(self, most: int, problem: str) -> None:
        self.most, self.problem, self.tried = most, problem, list[int]()

    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> Mapping[str, Array]:
        self.tried.append(len(images))
        if len(images) > self.most:
            raise RuntimeError(self.problem)
        return {"number": images[:, 0, 0, 0]}


def test_batches_are_halved_until_they_fit() -> None:
    pytest.importorskip("torch")
    images = np.zeros((11, 1, 1, 3), np.uint8)
    images[:, 0, 0, 0] = range(11)
    full = "CUDA out of memory. Tried to allocate 2 GiB"
    numbers = Numbers(3, full)
    batches = Batches("numbers", numbers, device="cpu")
    assert batches.rows(images, [])["number"].tolist() == list(range(11))
    assert numbers.tried == [11, 8, 4, 2, 2, 2, 2, 2, 1]
    assert batches.size == 2, "the next block does not try again"
    with refused(ConfigError):
        Batches("numbers", Numbers(0, full), device="cpu").rows(images, [])
    with pytest.raises(RuntimeError, match="shapes differ"):
        Batches("numbers", Numbers(0, "shapes differ"), device="cpu").rows(images, [])
