"""`stream`: the questions and pixels of a build, without one, in any number of processes."""

import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, IterableDataset

import clevrhope
from clevrhope import ConfigError
from clevrhope.__main__ import run_command
from clevrhope.pipeline.split_source import SplitSource
from clevrhope.splits.kinds import PAIR_SPLITS
from clevrhope.training.stream import Stream
from wording import check_refused, refused

HOP, SEED, SIZE = "rubber_cylinder", 5, (96, 64)
N_TRAIN = 2_600
"""Two windows, the second one cut."""


def build(out: Path, *options: str) -> Path:
    assert run_command(["build", "--seed", str(SEED), "--quiet", "--out", str(out), *options]) == 0
    return out


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("built")
    rendering = 'renderer = "native"\nquality = "draft"\nwidth = 96\nheight = 64\n'
    (home / "small.toml").write_text(f"[rendering]\n{rendering}")
    sizes = ("--preset", "demo", "--train-questions", str(N_TRAIN), "--config", str(home / "small.toml"))
    return build(home / "data", "--hop", HOP, *sizes, "--images", "h5")


def made(split: str = "train", hop: str = HOP, **changes: Any) -> Stream:
    given: dict[str, Any] = {"size": SIZE, "seed": SEED, "quality": "draft", "limit": N_TRAIN, **changes}
    return clevrhope.stream(hop, split, **given)


def texts(split: str = "train", **changes: Any) -> Stream:
    return made(split, images=False, **changes)


def numbers(items: Any) -> list[int]:
    return [int(each["question_index"]) for each in items]


def assert_same(items: Iterator[dict[str, Any]], wanted: Any) -> None:
    n = 0
    for item, other in zip(items, wanted, strict=True):
        assert item.keys() == other.keys()
        for key, value in other.items():
            if isinstance(value, np.ndarray):
                assert value.dtype == item[key].dtype
                np.testing.assert_array_equal(item[key], value)
            else:
                assert type(value) is type(item[key])
                assert item[key] == value
        n += 1
    assert n == len(wanted) > 0


@pytest.mark.parametrize("split", PAIR_SPLITS)
def test_items_are_those_of_a_build_in_its_order(built: Path, split: str) -> None:
    n = len(clevrhope.load(built, HOP, split, images=False))
    wanted = clevrhope.load(built, HOP, split, limit=min(n, 180), text=True, scenes=True)
    stream = made(split, limit=len(wanted), text=True, scenes=True)
    assert isinstance(stream, IterableDataset)
    assert (stream.hop, stream.split, stream.pool) == (wanted.hop, wanted.split, wanted.pool)
    assert stream.vocab == wanted.vocab
    assert len(stream) == len(wanted)
    assert_same(iter(stream), wanted)


def test_an_image_is_an_array_of_its_own() -> None:
    items = iter(made(limit=9))
    first, second = next(items), next(items)
    assert first["image_index"] == second["image_index"]
    first["image"][:] = 0
    assert second["image"].any()


PALETTE = '{"cube": ["gray", "red"], "sphere": ["cyan", "red"], "cylinder": ["cyan", "purple"]}'


@pytest.mark.parametrize(
    ("hop", "options", "arguments", "splits"),
    [
        ("none", (), {}, ("train", "val", "test")),
        ("cyan_cylinder-d8", (), {}, PAIR_SPLITS),
        ("cyan_cylinder-d8-grid", (), {"diversity": 8, "diversity_mode": "grid"}, ("train", "minimal_ood")),
        ("prelim_cyan", (), {}, ("existence", "counting")),
        (
            "none-mine",
            ("--hop", "none", "--palette", "mine.json", "--test-palette", "other.json"),
            {"palette": "mine.json", "test_palette": "other.json"},
            ("train", "val_b", "test_b"),
        ),
        (
            HOP,
            ("--hop", HOP, "--config", "other.toml"),
            {"config": "other.toml"},
            ("train", "complex_ood", "minimal_ood"),
        ),
    ],
)
@pytest.mark.slow
def test_other_datasets(
    hop: str,
    options: Sequence[str],
    arguments: dict[str, Any],
    splits: Sequence[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.json").write_text(PALETTE)
    Path("other.json").write_text(PALETTE.replace("cyan", "blue"))
    Path("other.toml").write_text(
        'minimal_pool = "shared"\nstrictness = "implied"\n[world]\nmax_objects = 6\n'
    )
    folder = build(tmp_path / "data", *(options or ("--hop", hop)), "--preset", "demo", "--no-render")
    asked = hop.partition("-")[0] if "diversity" in arguments or "palette" in arguments else hop
    for split in splits:
        wanted = clevrhope.load(folder, hop, split, images=False, scenes=True)
        stream = texts(split, hop=asked, limit=len(wanted), scenes=True, **arguments)
        assert stream.hop == hop
        assert_same(iter(stream), wanted)


@pytest.mark.slow
def test_two_spawned_workers_give_the_pixels_of_a_build(built: Path) -> None:
    wanted = clevrhope.load(built, HOP, "train")
    loader = DataLoader(made(), batch_size=64, num_workers=2, multiprocessing_context="spawn")
    found: dict[int, Any] = {}
    for batch in loader:
        for k, image in zip(numbers_of(batch), batch["image"], strict=True):
            assert k not in found
            found[k] = image.numpy().copy()
    assert sorted(found) == list(range(N_TRAIN))
    for item in wanted:
        np.testing.assert_array_equal(found[item["question_index"]], item["image"])


def numbers_of(batch: dict[str, Any]) -> list[int]:
    return [int(k) for k in batch["question_index"].tolist()]


def in_worker(monkeypatch: pytest.MonkeyPatch, number: int, of: int) -> None:
    monkeypatch.setenv("RAYON_NUM_THREADS", "2")  # a worker sets it where it is not set
    info = SimpleNamespace(id=number, num_workers=of)
    monkeypatch.setattr(torch.utils.data, "get_worker_info", lambda: info)


def as_rank(monkeypatch: pytest.MonkeyPatch, rank: int, world_size: int) -> None:
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: rank)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: world_size)


@pytest.fixture(scope="module", params=[None, 7])
def six_windows(request: pytest.FixtureRequest) -> Stream:
    return texts(limit=11_500, shuffle=request.param)


@pytest.mark.slow
@pytest.mark.parametrize(("world_size", "n_workers"), [(1, 4), (2, 2), (3, 1), (3, 4)])
def test_ranks_and_workers_share_the_questions(
    six_windows: Stream, world_size: int, n_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    for rank in range(world_size):
        as_rank(monkeypatch, rank, world_size)
        of_rank: list[int] = []
        for worker in range(n_workers):
            in_worker(monkeypatch, worker, n_workers)
            of_rank += numbers(pickle.loads(pickle.dumps(six_windows)))
        assert len(of_rank) == len(six_windows)
        given += of_rank
    assert sorted(given) == list(range(11_500))


def test_a_worker_gets_the_questions_and_makes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that scenes are looked at once, not once a worker."""
    expected = [item["question"].tolist() for item in made(limit=40)]
    sent = pickle.dumps(made(limit=40))

    def make(*_: Any) -> None:
        raise AssertionError("questions are made again")

    monkeypatch.setattr(SplitSource, "make", make)
    assert [item["question"].tolist() for item in pickle.loads(sent)] == expected
    with pytest.raises(AssertionError, match="made again"):
        made(limit=40)


def test_windows_of_250_images_stay_whole() -> None:
    n = 4_700  # the third one is cut
    first, second = (numbers(texts(limit=n, rank=rank, world_size=2)) for rank in (0, 1))
    images = [each["image_index"] for each in texts(limit=n)]
    assert len({images[k] for k in second}) == 250
    assert first[-1] == n - 1
    assert {images[k] for k in first}.isdisjoint(images[k] for k in second)


def test_torch_distributed_says_the_rank_also_to_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, whole = texts(), numbers(texts())
    as_rank(monkeypatch, 1, 2)
    second = numbers(stream)
    in_a_worker = pickle.dumps(stream)
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: False)
    assert numbers(pickle.loads(in_a_worker)) == second
    assert 0 < len(second) < len(whole) == len(numbers(stream))


def test_a_shuffled_order_follows_from_seed_and_epoch() -> None:
    stream = texts(shuffle=3, buffer=2)
    epochs = [numbers(stream) for _ in range(2)]
    assert epochs[0] != epochs[1]
    assert all(sorted(each) == list(range(N_TRAIN)) for each in epochs)
    stream.set_epoch(0)
    assert numbers(stream) == epochs[0]
    assert numbers(texts(shuffle=3, buffer=2)) == epochs[0]
    assert numbers(texts(shuffle=4, buffer=2)) != epochs[0]


def test_questions_are_shuffled_within_as_many_windows_as_the_buffer_has() -> None:
    for buffer, n_images in ((1, 250), (2, 500)):
        items = list(texts(limit=13_000, shuffle=3, buffer=buffer))
        ends = [items[k]["image_index"] for k in range(len(items))]
        first = ends[: 9 * n_images - 200]
        assert len(set(first)) == n_images
        assert first != sorted(first)


@pytest.mark.parametrize("shuffle", [None, 7])
@pytest.mark.parametrize("given", [0, 40, 2_250, N_TRAIN])
@pytest.mark.slow
def test_a_resumed_epoch_goes_on_with_the_next_question(shuffle: int | None, given: int) -> None:
    stream = texts(shuffle=shuffle)
    numbers(stream)  # an epoch before it
    items = iter(stream)
    before = [next(items)["question_index"] for _ in range(given)]
    state = pickle.loads(pickle.dumps(stream.state_dict()))
    other = texts(shuffle=shuffle)
    other.load_state_dict(state)
    assert other.state_dict() == state
    assert before + numbers(other) == before + numbers(items)
    assert len(before) == given
    # And so are the epochs after it.
    assert numbers(other) == numbers(stream)
    assert other.state_dict()["epoch"] == 3


def test_a_resumed_epoch_has_its_images() -> None:
    stream, other = (made(limit=60, shuffle=2) for _ in range(2))
    items = iter(stream)
    for _ in range(25):
        next(items)
    other.load_state_dict(stream.state_dict())
    assert_same(iter(other), list(items))


def test_each_worker_resumes_its_own_part(monkeypatch: pytest.MonkeyPatch) -> None:
    for worker in (0, 1):
        in_worker(monkeypatch, worker, 2)
        stream, other = texts(shuffle=1), texts(shuffle=1)
        items = iter(stream)
        for _ in range(100):
            next(items)
        other.load_state_dict(stream.state_dict())
        assert numbers(other) == numbers(items)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_workers_refuse_a_state_of_the_main_process(n_workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stream, other = texts(), texts()
    next(iter(stream))
    other.load_state_dict(stream.state_dict())
    for _ in range(2):
        sent = pickle.dumps(other)
        with monkeypatch.context() as patch:
            in_worker(patch, 0, n_workers)
            with refused(ConfigError):
                iter(pickle.loads(sent))
    other.set_epoch(1)  # leaves the state
    in_worker(monkeypatch, 0, n_workers)
    assert numbers(pickle.loads(pickle.dumps(other)))[0] == 0


def test_a_resumed_epoch_is_set_as_every_epoch() -> None:
    stream, other = texts(shuffle=3), texts(shuffle=3)
    stream.set_epoch(4)
    items = iter(stream)
    for _ in range(100):
        next(items)
    state = stream.state_dict()
    rest = numbers(items)
    other.load_state_dict(state)
    other.set_epoch(4)
    assert numbers(other) == rest
    other.set_epoch(4)  # the resume is used up
    assert numbers(other)[100:] == rest
    other.load_state_dict(state)
    other.set_epoch(5)
    assert len(numbers(other)) == N_TRAIN


@pytest.mark.parametrize("given", [0, 1, 9])
def test_a_second_pass_ends_the_first(given: int) -> None:
    stream = texts(limit=9)
    first = iter(stream)
    for _ in range(given):
        next(first)
    second = iter(stream)
    assert next(second)["question_index"] == 0
    check_refused(ConfigError, next, first)
    assert numbers(second) == list(range(1, 9))
    assert stream.state_dict()["epoch"] == 1


@pytest.mark.parametrize(
    "change",
    [
        {"stream": "of another"},
        {"position": "3"},
        {"share": {}},
        {"share": {"rank": 0, "world_size": 1, "worker": 1, "n_workers": 4}},
    ],
)
def test_a_state_that_does_not_fit(change: dict[str, Any]) -> None:
    stream = texts(limit=10)
    check_refused(ConfigError, stream.load_state_dict, {**stream.state_dict(), **change})


def test_a_state_of_other_arguments_does_not_fit() -> None:
    state = texts(limit=10).state_dict()
    for change in ({"seed": 6}, {"limit": 11}, {"shuffle": 1}, {"size": (96, 65)}, {"split": "val_iid"}):
        check_refused(ConfigError, texts(**{"limit": 10, **change}).load_state_dict, state)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_worker_is_told_to_be_spawned() -> None:
    loader = DataLoader(made(limit=9), num_workers=1, multiprocessing_context="fork")
    check_refused(ConfigError, list, loader)


def printed(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_naming_it_imports_no_torch() -> None:
    assert printed("import sys, clevrhope; clevrhope.stream; print('torch' in sys.modules)") == "False"


@pytest.mark.slow
def test_without_torch_it_is_a_plain_iterable() -> None:
    script = (
        "import sys\nsys.modules['torch'] = None\nimport clevrhope, pickle\n"
        f"made = clevrhope.stream({HOP!r}, 'train', size={SIZE}, seed={SEED}, limit=9, quality='draft')\n"
        "sums = [int(each['image'].sum()) for each in pickle.loads(pickle.dumps(made))]\n"
        "print(type(made).__name__, sum(sums))\n"
    )
    assert printed(script) == f"Stream {sum(int(each['image'].sum()) for each in made(limit=9))}"
