"""`python -m benchmarks` with very little work: what it prints, not how fast this machine is."""

import json

import numpy as np
import pytest

from benchmarks import speeds as bench
from benchmarks.__main__ import run_benchmark

LITTLE = bench.Work(windows=1, scenes=20, pairs=5_000, scored_pairs=1_000, images=0, repetitions=1)
PROMISED = {
    *("questions_per_second", "ood_questions_per_second", "states_per_question", "programs_per_second"),
    *("steps_per_second", "scenes_per_second", "set_questions_per_second", "set_programs_per_second"),
    *("scored_pairs_per_second", "line_pairs_per_second", "seconds_per_small_build", "seconds_per_image"),
    "psnr_db",
}


@pytest.mark.slow
def test_json_has_the_promised_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "QUICK", LITTLE)
    assert run_benchmark(["--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) > PROMISED
    assert all(result[name] > 0 for name in PROMISED - {"seconds_per_image", "psnr_db"})
    # The bounds that do not depend on the machine.
    assert result["states_per_question"] <= 12
    assert result["ood_states_per_question"] <= 50


@pytest.mark.slow
def test_the_table_says_what_was_not_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "QUICK", LITTLE)
    assert run_benchmark(["--no-images"]) == 0
    assert capsys.readouterr().out.count("not measured") == 4


def test_no_pair_of_program_and_scene_comes_twice() -> None:
    programs, scenes = bench.distinct_pairs(30, 7, 1_000)
    assert len(programs) == 210
    assert len(np.unique(programs.astype(np.int64) * 7 + scenes)) == 210
