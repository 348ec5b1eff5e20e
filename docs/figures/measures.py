"""Charts of what was measured: numbers of objects under palettes and filters, and systematicity gaps."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import matplotlib.ticker
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from PIL import Image
from style import BLUE, GREEN, INK, NOTE, ORANGE, SOFT, WIDTH, chart, drawn

import clevrhope
import data
from clevrhope import _core
from clevrhope.scenes import read_world

RESULTS = Path(__file__).parents[1] / "results_hour.csv"
"""Every run of the experiment hour."""
MODELS = ("object_transformer", "question_only")
_OBJECTS = np.arange(3, 11)
_LETTERS = NOTE * 0.72  # points, of 100 to the inch, as a chart counts letters
Shares = npt.NDArray[np.float64]

_FILTERED = 200_000  # scenes of the pool that are looked at, of which some 2 in 10,000 pass
_AT_ONCE = 10_000


def palette(folder: Path) -> Image.Image:
    """Numbers of objects at diversity 4, under a filter and under a palette."""
    built = data.diversities(folder)
    row = json.loads((built / "manifest.json").read_text())["palettes"]["cyan_cylinder-d4"]["rows"][0]
    passed = _filtered({tuple(values) for values in row})
    made = _numbers(built, "cyan_cylinder-d4", "train")
    figure = chart(WIDTH, 560)
    left, right = figure.subplots(1, 2, sharey=True)
    share = 100 * len(passed) / _FILTERED
    _bars(left, _shares(passed), SOFT, f"Filter: {len(passed)} of {_FILTERED:,} scenes pass ({share:.2f}%)")
    _bars(right, _shares(made), GREEN, "Palette: no scene is thrown away")
    left.set_ylabel("share of train images, %")
    left.set_ylim(0, 106)
    figure.subplots_adjust(left=0.075, right=0.975, top=0.86, bottom=0.17, wspace=0.08)
    return drawn(figure)


def confounds(folder: Path) -> Image.Image:
    """Numbers of objects in train and OOD images, if scenes were filtered and as they are."""
    figure = chart(WIDTH, 600)
    panels = figure.subplots(1, 2, sharey=True)
    options = (
        *("--hop", "rubber_cylinder", "--preset", "small", "--train-questions", "36000"),
        *(
            "--test-questions",
            "8000",
            "--splits",
            "train,complex_iid,complex_ood",
            "--no-render",
            "--no-json",
        ),
    )
    built = data.build(folder / "confounds", *options)
    made = [_numbers(built, "rubber_cylinder", split) for split in ("train", "complex_ood")]
    for axes, title, (train, ood) in zip(
        panels, ("If scenes were filtered", "As they are"), (_by_pair(_AT_ONCE), made), strict=True
    ):
        axes.set_title(title, loc="left", weight="bold", size=_LETTERS * 1.2, pad=16)
        for numbers, color, marker, name in ((train, GREEN, "o", "Train"), (ood, ORANGE, "s", "OOD test")):
            label = f"{name}: {numbers.mean():.1f} objects on average"
            axes.plot(
                _OBJECTS,
                _shares(numbers),
                color=color,
                marker=marker,
                markersize=11,
                linewidth=3,
                label=label,
            )
        axes.legend(frameon=False, loc="lower center", handlelength=2.4)
        _count_axis(axes)
        axes.set_ylim(0, 26)
    panels[0].set_ylabel("share of images, %")
    figure.subplots_adjust(left=0.075, right=0.975, top=0.86, bottom=0.16, wspace=0.08)
    return drawn(figure)


def result(folder: Path) -> Image.Image:
    """Accuracy on the pair over the number of combinations: each palette, means, and the floor."""
    figure = chart(WIDTH, 640)
    axes = figure.subplots()
    seen = (4, 8, 16)
    # Each of the runs with more combinations also answered the questions of its palette's first four.
    trained = ["", "cyan_cylinder-d8", "cyan_cylinder-d16"]
    same = {model: [_accuracies(model, "complex_ood", 4, on) for on in trained] for model in MODELS}
    own = [_accuracies(MODELS[0], "complex_iid", k) for k in seen]
    axes.plot(seen, same[MODELS[0]], color=ORANGE, linewidth=1.5, alpha=0.35)
    for runs, color, marker, words, above in (
        (own, BLUE, "o", "on questions like\nthose of training", 14),
        (same[MODELS[0]], ORANGE, "s", "on questions about the\npair that was never seen", -34),
        (same[MODELS[1]], SOFT, "^", "on the same questions,\nwithout the image", -34),
    ):
        means = np.mean(runs, axis=1)
        axes.plot(seen, means, color=color, marker=marker, markersize=12, linewidth=4)
        for k, mean in zip(seen, means, strict=True):
            place = {"xytext": (0, above), "textcoords": "offset points", "ha": "center", "weight": "bold"}
            ground = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.8}
            axes.annotate(f"{mean:.1f}", (k, mean), color=color, bbox=ground, **place)
        axes.text(
            17.2,
            means[-1] + (4 if above > 0 else -6),
            words,
            color=color,
            weight="bold",
            va="center",
            linespacing=1.3,
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(seen, map(str, seen))
    axes.set_xlim(3.7, 26)
    axes.set_ylim(0, 108)
    axes.set_xlabel("combinations of color and shape that exist, the unseen pair among them", labelpad=10)
    axes.set_ylabel("questions answered correctly, %")
    figure.subplots_adjust(left=0.075, right=0.985, top=0.97, bottom=0.15)
    return drawn(figure)


def gap(folder: Path) -> Image.Image:
    """IID and OOD accuracy of a model at diversity 4 and 16, and of one that sees no images."""
    figure = chart(WIDTH, 660)
    axes = figure.subplots()
    for start, diversity in ((0.0, 4), (3.5, 16)):
        for x, split, color, name in (
            (0.0, "complex_iid", BLUE, "IID"),
            (0.95, "complex_ood", ORANGE, "OOD"),
        ):
            runs, blind = (
                _accuracies(model, split, diversity) for model in ("object_transformer", "question_only")
            )
            axes.bar(start + x, runs.mean(), 0.8, color=color)
            dots = start + x + np.linspace(-0.22, 0.22, len(runs))
            axes.scatter(dots, runs, s=70, color="white", edgecolor=INK, linewidth=1.5, zorder=3)
            words = f"{name}\n{runs.mean():.1f}%"
            axes.text(
                start + x,
                4,
                words,
                color="white",
                weight="bold",
                size=_LETTERS * 1.15,
                ha="center",
                linespacing=1.4,
            )
            level = [blind.mean()] * 2
            axes.plot(
                [start + x - 0.4, start + x + 0.4], level, color="white", linewidth=4, linestyle=(0, (2, 1))
            )
            axes.text(start + x, level[0] - 6.5, f"{level[0]:.1f}%", color="white", ha="center")
        iid, ood = (
            _accuracies("object_transformer", split, diversity).mean()
            for split in ("complex_iid", "complex_ood")
        )
        at = start + 1.55
        for x, height in ((start + 0.4, iid), (start + 1.35, ood)):
            axes.plot([x, at + 0.14], [height, height], color=SOFT, linewidth=2, linestyle=(0, (3, 2)))
        arrow = {
            "arrowstyle": "-|>",
            "color": INK,
            "linewidth": 3,
            "shrinkA": 0,
            "shrinkB": 0,
            "mutation_scale": 20,
        }
        axes.annotate("", (at, ood), (at, iid), arrowprops=arrow)
        words = f"systematicity gap:\n{ood:.1f} - {iid:.1f}\n= {ood - iid:.1f} points"
        words = words.replace("-", "\N{MINUS SIGN}")
        axes.text(at + 0.2, min((ood + iid) / 2, 90), words, va="center", linespacing=1.4)
    axes.set_xticks(
        [0.475, 3.975], ["trained at diversity 4", "trained at diversity 16"], size=_LETTERS * 1.1
    )
    axes.tick_params(axis="x", length=0, pad=10)
    axes.set_xlim(-0.7, 6.75)
    axes.set_ylim(0, 104)
    axes.set_yticks(range(0, 101, 20))
    axes.set_ylabel("accuracy, %")
    notes = f"bars: means of {len(runs)} runs\ndots: single runs\ndashed: a model that\nnever sees the image"
    axes.text(1.75, 2, notes, color=SOFT, linespacing=1.4)
    figure.subplots_adjust(left=0.075, right=0.985, top=0.97, bottom=0.12)
    return drawn(figure)


def _accuracies(model: str, split: str, diversity: int, trained_on: str = "") -> Shares:
    """The per cent of right answers of each run with its palette's own seed after its last update.

    `trained_on` names another sub-dataset of its palette on which the run was trained.
    """
    with RESULTS.open() as file:
        return np.array(
            [
                float(row["mean_percent"])
                for row in csv.DictReader(file)
                if (row["model"], row["metric"], row["split"]) == (model, "accuracy", split)
                and (row["hop"], row["checkpoint"]) == (f"cyan_cylinder-d{diversity}", "last")
                and (row["trained_on"], row["dataset"]) == (trained_on, f"hour-{row['run']}")
            ]
        )


def _filtered(seen: set[tuple[str, ...]]) -> Sequence[int]:
    """Numbers of objects in the scenes of which each object has a seen combination of color and shape."""
    passed = []
    for start in range(0, _FILTERED, _AT_ONCE):
        for row in _rows(range(start, start + _AT_ONCE)):
            objects = json.loads(row)["objects"]
            if all((item["color"], item["shape"]) in seen for item in objects):
                passed.append(len(objects))
    return passed


def _rows(indices: range) -> Sequence[bytes]:
    """Scenes of the pool train as JSON."""
    numbers = np.asarray(indices, dtype=np.uint64)
    return _core.sample_scenes(read_world(), seed=data.SEED, pool="train", indices=numbers).json_rows()


def _by_pair(n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Numbers of objects of the pool's first n scenes without a rubber cylinder, and of those with one."""
    found: tuple[list[int], list[int]] = ([], [])
    for row in _rows(range(n)):
        objects = json.loads(row)["objects"]
        has_pair = any((item["material"], item["shape"]) == ("rubber", "cylinder") for item in objects)
        found[has_pair].append(len(objects))
    return np.array(found[0]), np.array(found[1])


def _numbers(built: Path, hop: str, split: str) -> npt.NDArray[np.int64]:
    """The number of objects of each image of a split."""
    rows = clevrhope.load(built, hop, split, images=False)
    used = {row["image_index"] for row in rows}
    files = sorted((built / "scenes" / rows.pool).glob("*.json"))
    scenes = (scene for file in files for scene in json.loads(file.read_bytes())["scenes"])
    return np.array([len(scene["objects"]) for scene in scenes if scene["image_index"] in used])


def _shares(numbers: Sequence[int] | npt.NDArray[np.int64]) -> Shares:
    """The per cent of the images that have 3, 4, ... 10 objects."""
    counts = (np.asarray(numbers)[:, None] == _OBJECTS).sum(axis=0)
    return 100 * counts / counts.sum()


def _bars(axes: Axes, shares: Shares, color: str, title: str) -> None:
    axes.bar(_OBJECTS, shares, 0.72, color=color)
    for x, share in zip(_OBJECTS, shares, strict=True):
        axes.text(x, share + 2, f"{share:.0f}", ha="center", color=INK)
    axes.set_title(title, loc="left", weight="bold", size=_LETTERS * 1.1, pad=14)
    _count_axis(axes)


def _count_axis(axes: Axes) -> None:
    axes.set_xlabel("objects in the image")
    axes.xaxis.set_major_locator(matplotlib.ticker.FixedLocator(list(_OBJECTS)))
    axes.tick_params(axis="x", length=0)
