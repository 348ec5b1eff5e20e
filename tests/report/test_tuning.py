"""The table of accuracies on the tune set by setting, and which setting is chosen."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from simulated import HOP, LIMITED, table_below, text_of, trained, write_run

from clevrhope.report import report

TITLE = "Accuracy on the tuning set by setting, per cent"
ENDS = {(8, 1): [80.0, 70.0], (8, 2): [60.0, 74.0], (16, 1): [50.0, 75.0], (16, 2): [99.0, 73.0]}
"""Channels and seed -> accuracies. 16 channels end with a mean of 74, 8 with 72."""


def write_tuned(
    out: Path, dataset: Path, channels: int, seed: int, accuracies: Sequence[float], *, hop: str = HOP
) -> None:
    run = write_run(out, dataset, model="film", hop=hop, size=200, seed=seed, wrong={}, name=f"-{channels}",
                    trained=trained(channels=channels))  # fmt: skip
    place = {"stage": "train", "of": 20}
    lines = [{**place, "update": 10 * k, "loss": 1.0} for k in (1, 2)]
    lines += [
        {**place, "update": 10 * (k + 1), "tuned_on": "val_iid", "accuracy": value}
        for k, value in enumerate(accuracies)
    ]
    (run / "log.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_the_setting_with_the_best_accuracy_at_the_end_is_chosen(dataset: Path, tmp_path: Path) -> None:
    for (channels, seed), accuracies in ENDS.items():
        write_tuned(tmp_path / "runs", dataset, channels, seed, accuracies)
    # A sub-dataset that only one setting was trained on says nothing about which is better.
    write_tuned(tmp_path / "runs", dataset, 8, 1, [100.0], hop=LIMITED)
    made = report([tmp_path / "runs"], tmp_path / "report")
    assert table_below(text_of(made), TITLE) == [
        ["model", "train size", "setting", "tuned on", "at the end, %", "best, %", "chosen"],
        ["film", "200", "channels=8", "val_iid", "72.0 ± 2.8 (2)", "77.0 ± 4.2 (2)", ""],
        ["film", "200", "channels=16", "val_iid", "74.0 ± 1.4 (2)", "87.0 ± 17.0 (2)", "yes"],
    ]
    with made.csv.open() as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "tuning_accuracy"]
    found = {(row["model"], row["run"]): (row["split"], row["mean_percent"], row["chosen"]) for row in rows}
    assert found == {
        ("film (channels=8)", "1"): ("val_iid", "70.0000", ""),
        ("film (channels=8)", "2"): ("val_iid", "74.0000", ""),
        ("film (channels=16)", "1"): ("val_iid", "75.0000", "yes"),
        ("film (channels=16)", "2"): ("val_iid", "73.0000", "yes"),
    }


def test_one_setting_is_no_choice(dataset: Path, tmp_path: Path) -> None:
    write_tuned(tmp_path / "runs", dataset, 8, 1, [70.0])
    made = report([tmp_path / "runs"], tmp_path / "report")
    assert TITLE not in text_of(made)
    assert "tuning_accuracy" not in made.csv.read_text()


def test_settings_on_no_common_pair_are_not_compared(dataset: Path, tmp_path: Path) -> None:
    write_tuned(tmp_path / "runs", dataset, 8, 1, [70.0])
    write_tuned(tmp_path / "runs", dataset, 16, 1, [75.0], hop=LIMITED)
    assert TITLE not in text_of(report([tmp_path / "runs"], tmp_path / "report"))
