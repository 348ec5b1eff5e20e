"""Workers on GPUs: each has one, kernels are compiled once, and they have a time for their answers."""

from pathlib import Path
from typing import Any

import pytest
from fake_preferences import LISTING
from test_pool import FAKE_WORKER, outcome, scenes

from benchmarks import render_workers
from clevrhope.images.blender.cycles import KERNELS_S, CyclesRenderer
from clevrhope.images.blender.devices import Device, find_devices
from clevrhope.images.blender.process import Patience
from clevrhope.images.settings import BlenderSettings
from clevrhope.images.stage import stage_title


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "of_each"), [(None, 2), (1, 1), (3, 3)])
def test_each_gpu_has_its_own_workers(
    workers: int | None, of_each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = find_devices(("cuda",), command=LISTING)
    monkeypatch.setattr(
        "clevrhope.images.blender.cycles.choose_gpus", lambda choice: (there.of(choice.kind), "")
    )
    with CyclesRenderer(
        settings=BlenderSettings(device="cuda"), workers=workers, command=FAKE_WORKER
    ) as made:
        assert made.workers == 2 * of_each
        assert {start["allowance_s"] for start in made.pool.start} == {KERNELS_S}
        assert stage_title(made) == "Rendering images on Card 3, Card 1"
        starts = [start["gpu"] for start in made.pool.start]
        assert len(dict(made.render(scenes(12)))) == 12
        assert made.pool.devices <= {"cuda:0 (Card 3)", "cuda:1 (Card 1)"}
    assert [start["identity"] for start in starts].count("CUDA_Card_0000:3a:00") == of_each
    assert [start["identity"] for start in starts].count("CUDA_Card_0000:1a:00") == of_each


@pytest.fixture
def _two_of_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    there = [Device(f"cuda:{k}", "H", f"CUDA_H_0000:{k}a:00", denoises=True) for k in (1, 2)]
    monkeypatch.setattr("clevrhope.images.blender.cycles.choose_gpus", lambda choice: (there, ""))
    for variable in ("CUDA_CACHE_PATH", "OPTIX_CACHE_PATH"):
        monkeypatch.delenv(variable, raising=False)


def on_gpus(**choices: Any) -> CyclesRenderer:
    return CyclesRenderer(settings=BlenderSettings(device="cuda"), command=FAKE_WORKER, **choices)


@pytest.mark.slow
@pytest.mark.usefixtures("_two_of_a_kind")
def test_one_worker_compiles_kernels_before_the_others_begin(tmp_path: Path) -> None:
    log = tmp_path / "log"
    tasks = [(i, {"do": "ok", "value": i, "log": str(log)}) for i in range(12)]
    tasks[0][1].update(do="slow", seconds=1.5)
    with on_gpus() as made:
        assert len(dict(made.render(tasks))) == 12
        assert len(made.pool.pids) == 4
    assert log.read_text().split()[0] == "0"
    tasks[0][1].update(do="die")  # then the others find nothing compiled, and begin all the same
    with on_gpus() as made:
        assert len(outcome(made, tasks)[0]) == 11


@pytest.mark.usefixtures("_two_of_a_kind")
def test_compiled_kernels_are_kept_beside_the_images_or_where_the_user_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kernel_folder(folder: Path | None) -> str:
        with on_gpus(workers=1, folder=folder) as made:
            list(made.render([(0, {"do": "ok", "value": 0, "log": str(tmp_path / "log")})]))
        return (tmp_path / "log").read_text().splitlines()[-1].split()[1]

    assert kernel_folder(tmp_path / "out") == str(tmp_path / "out" / ".clevrhope.kernels")
    assert (tmp_path / "out" / ".clevrhope.kernels").is_dir()
    assert kernel_folder(None) == "None"
    monkeypatch.setenv("CUDA_CACHE_PATH", "/elsewhere")
    assert kernel_folder(tmp_path / "other") == "/elsewhere"


@pytest.mark.slow
@pytest.mark.usefixtures("_two_of_a_kind")
def test_a_worker_on_a_gpu_has_its_time() -> None:
    tasks: list[tuple[int, dict[str, object]]] = [(0, {"do": "slow", "seconds": 8.0, "value": 0})]
    with on_gpus(workers=1, patience=Patience(0.1, clock_s=60.0, still_s=3.0), allowance_s=0.0) as made:
        assert sorted(dict(made.render(tasks))) == [0]
    with on_gpus(workers=1, patience=Patience(60.0, clock_s=2.0), allowance_s=0.0) as made:
        _, failure = outcome(made, tasks)
        assert "no answer within 2 s, and how long its GPU worked is unknown" in failure.reasons[0]


@pytest.mark.usefixtures("_two_of_a_kind")
def test_bench_measures_workers_on_a_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[CyclesRenderer] = []

    def open_fake(**choices: Any) -> CyclesRenderer:
        made.append(CyclesRenderer(command=FAKE_WORKER, **choices))
        return made[-1]

    monkeypatch.setattr(render_workers, "CyclesRenderer", open_fake)
    run = render_workers.measure_workers(2, "cuda", tmp_path, tried=(1, 2))
    assert [each.workers for each in run.runs] == [1, 2]
    assert run.compile_seconds == pytest.approx(10.0)
    for each in run.runs:
        assert each.seconds == 2.0
        assert each.worker_bytes > 1 << 20
        assert 0.0 < each.images_per_second <= run.best.images_per_second
    assert run.as_json()["best_workers"] == run.best.workers
    assert "10.0 s longer" in "\n".join(render_workers.text_lines(run))
