"""Workers that die, hang, complain or grow: what becomes of their scenes, and what is left of them."""

import errno
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clevrhope.errors import RenderError
from clevrhope.images.blender.cycles import CyclesRenderer, memory_share, threads_of_workers
from clevrhope.images.blender.pool import GROWTH_BYTES, ScenesFailedError, WorkersFailedError
from clevrhope.images.blender.process import Patience, WorkerFolder, remove_abandoned
from clevrhope.images.blender.protocol import read_frame, write_frame
from clevrhope.images.blender.worker import _serve, _why_unfit
from clevrhope.images.settings import BlenderSettings
from waiting import HANG_S, wait_until
from wording import check_refused, check_words, refused

pytestmark = pytest.mark.slow

#: For a worker that works, and does not stand still.
PATIENT = Patience(work_s=60.0, clock_s=60.0)
FAKE_WORKER = (sys.executable, str(Path(__file__).with_name("fake_worker.py")))


def renderer(
    *, workers: int = 2, patience: Patience = PATIENT, samples: int = 1, **more: Any
) -> CyclesRenderer:
    settings = BlenderSettings(samples=samples, device="cpu")
    return CyclesRenderer(settings=settings, workers=workers, patience=patience, command=FAKE_WORKER, **more)


def scenes(n: int) -> list[tuple[int, dict[str, object]]]:
    return [(i, {"do": "ok", "value": i}) for i in range(n)]


def outcome(
    made: CyclesRenderer, tasks: list[tuple[int, dict[str, object]]]
) -> tuple[dict[int, np.ndarray], ScenesFailedError]:
    """What came back, and the report of what did not."""
    found: dict[int, np.ndarray] = {}

    def collect() -> None:
        for key, pixels in made.render(tasks):
            found[key] = pixels

    with pytest.raises(ScenesFailedError) as failure:
        collect()
    return found, failure.value


def is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def wait_until_gone(pids: list[int]) -> None:
    wait_until(lambda: not any(map(is_alive, pids)), f"the end of {pids}")


def test_every_scene_comes_back_under_its_key_and_is_taken_only_as_workers_get_free() -> None:
    taken = 0
    found: dict[int, np.ndarray] = {}

    def source() -> Iterator[tuple[int, dict[str, object]]]:
        nonlocal taken
        for task in scenes(100):
            taken += 1
            yield task

    with renderer() as made:
        for key, pixels in made.render(source()):
            found[key] = pixels
            assert taken <= len(found) + 2 * 2
        pids = made.pool.pids
    assert {key: int(pixels[0, 0, 0]) for key, pixels in found.items()} == {i: i for i in range(100)}
    assert found[3].shape == (1, 2, 3)
    wait_until_gone(pids)


@pytest.mark.parametrize(
    ("do", "options"),
    [
        ("die", {}),
        ("spin", {"patience": Patience(work_s=1.0, clock_s=60.0)}),
        ("hang", {"patience": Patience(work_s=60.0, clock_s=60.0, still_s=5.0)}),
        ("swell", {"memory_limit_bytes": 1 << 28}),
        ("unfit", {}),
    ],
    ids=["dies", "spins", "hangs", "swells", "is unfit"],
)
def test_a_worker_that_fails_is_replaced_and_its_scene_done_again(
    do: str, options: dict[str, Any], tmp_path: Path
) -> None:
    """One scene does so once, and another always, which is set aside after three workers."""
    task = {"do": do, "seconds": 3600.0, "bytes": 1 << 28}
    tasks = scenes(6)
    tasks[1] = (1, {**task, "value": 1, "marker": str(tmp_path / "marker")})
    tasks[4] = (4, task)
    with renderer(workers=1, **options) as made:
        first = dict(made.render(tasks[:1])) and made.pool.pids
        assert sorted(dict(made.render(tasks[1:4]))) == [1, 2, 3]
        assert made.pool.pids != first
        found, failure = outcome(made, tasks[4:])
    assert sorted(found) == [5]
    assert list(failure.reasons) == [4]
    check_words(str(failure))


def test_a_worker_that_gets_little_of_a_busy_machine_goes_on() -> None:
    """It takes far longer by the clock than its work, and pauses; but never for so long as a hung one.

    The first pause alone is longer than `clock_s`.
    """
    tasks: list[tuple[int, dict[str, object]]] = [(0, {"do": "spin", "seconds": 0.8, "value": 0})]
    patience = Patience(work_s=2.0, clock_s=1.0, still_s=HANG_S)
    with renderer(workers=1, patience=patience) as made:
        (pid,) = dict(made.render(scenes(1))) and made.pool.pids
        done = threading.Event()

        def starve() -> None:
            time.sleep(2.5 * patience.clock_s)
            os.kill(pid, signal.SIGCONT)
            while not done.wait(0.2):
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.6)
                os.kill(pid, signal.SIGCONT)

        other = threading.Thread(target=starve)
        os.kill(pid, signal.SIGSTOP)
        other.start()
        try:
            assert sorted(dict(made.render(tasks))) == [0]
        finally:
            done.set()
            other.join()
        assert made.pool.pids == [pid]


def test_where_work_cannot_be_read_the_clock_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrhope.images.blender.process.processor_seconds", lambda pid: None)
    with renderer(workers=1, patience=Patience(work_s=60.0, clock_s=5.0, still_s=0.5)) as made:
        found, failure = outcome(made, [(0, {"do": "hang"}), *scenes(2)[1:]])
    assert sorted(found) == [1]
    assert "no answer within 5 s, and how long its processor worked is unknown" in failure.reasons[0]


@pytest.mark.parametrize(
    ("error", "on_gpu"),
    [
        (MemoryError(), True),
        (RuntimeError("Error: System is out of GPU memory\n"), True),
        (RuntimeError("Out of memory in cuMemAlloc_v2(&p, size)"), True),
        (RuntimeError("Out of memory in pass"), False),
        (RuntimeError("Illegal memory address in queue"), True),
        (ValueError("not an uncompressed\ncolour TGA"), False),
    ],
    ids=lambda value: f"{value!r:.30}",
)
def test_why_a_worker_is_of_no_use_any_more(error: Exception, on_gpu: bool) -> None:
    check_words(_why_unfit(error, on_gpu=on_gpu))


def test_a_workers_first_image_may_take_longer() -> None:
    tasks = scenes(4)
    for i in (0, 2):
        tasks[i] = (i, {"do": "spin", "seconds": 3.0, "value": i})
    with renderer(workers=1, patience=Patience(work_s=1.0, clock_s=60.0), allowance_s=60.0) as made:
        before = {i: made.pool.pids for i, _ in made.render(tasks)}
    # The third was its worker's third image, was hung then, and became the first one of another worker.
    assert sorted(before) == [0, 1, 2, 3]
    assert before[0] == before[1] != before[2]


@pytest.mark.parametrize(("n", "in_a_row"), [(100, 3), (3, 12)], ids=["many", "all of a few"])
def test_no_scene_is_blamed_if_workers_end_one_after_another(
    n: int, in_a_row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clevrhope.images.blender.pool.FAILURES_IN_A_ROW", in_a_row)
    tasks: list[tuple[int, dict[str, object]]] = [(i, {"do": "die"}) for i in range(n)]
    with renderer() as made, refused(WorkersFailedError):
        list(made.render(tasks))


@pytest.mark.parametrize("do", ["kill", "full"])
def test_no_scene_is_blamed_for_what_ends_workers_from_outside(do: str) -> None:
    """Also between images, all of which are made."""
    tasks = scenes(6)
    tasks[2] = (2, {"do": do})
    found: list[int] = []
    with renderer(workers=1) as made, refused(RenderError):
        found.extend(key for key, _ in made.render(tasks))
    assert found == [0, 1, 3, 4, 5]


@pytest.mark.parametrize(
    ("error", "is_outside"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (MemoryError(), True),
        (RuntimeError("Out of memory in pass"), True),
        (RuntimeError("Illegal memory address in queue"), False),
    ],
    ids=repr,
)
def test_a_worker_knows_what_is_no_scenes_fault(error: Exception, is_outside: bool) -> None:
    def fail(_: object) -> None:
        raise error

    replies = io.BytesIO()
    _serve(SimpleNamespace(render=fail), {"task": "render", "scene": {}}, replies, on_gpu=False)
    replies.seek(0)
    frame = read_frame(replies)
    assert frame is not None
    assert frame[0]["is_outside"] == is_outside


def test_scenes_are_blamed_if_there_are_images_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrhope.images.blender.pool.FAILURES_IN_A_ROW", 3)
    tasks: list[tuple[int, dict[str, object]]] = [
        (i, {"do": "die"} if i % 2 else {"do": "ok", "value": 0}) for i in range(8)
    ]
    with renderer(workers=1) as made:
        found, failure = outcome(made, tasks)
    assert sorted(found) == [0, 2, 4, 6]
    assert sorted(failure.reasons) == [1, 3, 5, 7]


def test_a_scene_that_a_worker_refuses_is_not_tried_again() -> None:
    tasks = scenes(4)
    tasks[0] = (0, {"do": "problem"})
    with renderer(workers=1) as made:
        first = dict(made.render(scenes(1))) and made.pool.pids
        found, failure = outcome(made, tasks)
        assert made.pool.pids == first
    assert sorted(found) == [1, 2, 3]
    assert failure.reasons == {0: "objects[0].color: unknown name"}


def test_workers_are_replaced_after_some_images_and_when_they_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, renderer(workers=1) as made:
        patch.setattr("clevrhope.images.blender.pool.IMAGES_PER_WORKER", 3)
        pids = [made.pool.pids for _ in made.render(scenes(9))]
    assert len({pid for each in pids for pid in each}) >= 2

    grown = scenes(6)
    grown[2] = (2, {"do": "ok", "value": 2, "memory_bytes": GROWTH_BYTES + 10})
    with renderer(workers=1) as made:
        first = dict(made.render(grown[:2])) and made.pool.pids
        assert sorted(dict(made.render(grown[2:]))) == [2, 3, 4, 5]
        assert made.pool.pids != first


@pytest.mark.parametrize("samples", [13, 14], ids=["without bpy", "ends at its start"])
def test_a_worker_that_cannot_work_is_not_started_for_ever(samples: int) -> None:
    with renderer(samples=samples) as made, refused(RenderError):
        list(made.render(scenes(3)))


def test_a_run_that_is_left_ends_its_workers_and_the_next_starts_new_ones() -> None:
    made = renderer()
    for _ in made.render(scenes(50)):
        pids = made.pool.pids
        break
    wait_until_gone(pids)
    assert sorted(dict(made.render(scenes(5)))) == list(range(5))
    made.close()


PARENT = """
import sys
sys.path[:0] = {paths!r}
from test_pool import renderer
made = renderer()
for _ in made.render([(0, {{"do": "ok", "value": 0}}), (1, {{"do": "ok", "value": 0}})]):
    pass
print(*made.pool.pids, flush=True)
list(made.render((i, {{"do": "hang"}}) for i in range(4)))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_a_run_that_is_interrupted_or_killed(number: signal.Signals) -> None:
    code = PARENT.format(paths=[str(folder) for folder in Path(__file__).parents[:2]])
    program = [sys.executable, "-c", code]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 2
        time.sleep(0.3)
        process.send_signal(number)
        _, errors = process.communicate(timeout=HANG_S)
    assert ("KeyboardInterrupt" in errors) == (number == signal.SIGINT)
    wait_until_gone(pids)


def test_a_worker_that_spins_ends_without_a_parent_too() -> None:
    code = "from clevrhope.images.blender import worker; worker._limit_processor_time(0.5)\nwhile True: pass"
    spun = subprocess.run([sys.executable, "-c", code], timeout=HANG_S, check=False)
    assert spun.returncode == -signal.SIGXCPU


@pytest.mark.parametrize(("free_mb", "is_used"), [(4_000, True), (64, False), (0, False)])
def test_a_folder_in_memory_without_room_is_not_used(
    free_mb: int, is_used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container, whose /dev/shm has 64 MB."""
    free = SimpleNamespace(free=free_mb << 20)
    monkeypatch.setattr("clevrhope.images.blender.process.MEMORY_FOLDER", tmp_path)
    monkeypatch.setattr("clevrhope.images.blender.process.shutil.disk_usage", lambda _: free)
    folder = WorkerFolder()
    try:
        assert (folder.path.parent == tmp_path) == is_used
    finally:
        folder.remove()


def test_a_folder_in_memory_that_gets_full_is_left_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program fills /dev/shm after the worker has started."""
    memory, disk = tmp_path / "memory", tmp_path / "disk"
    free = {memory: 1 << 30, disk: 1 << 30}
    for folder in (memory, disk):
        folder.mkdir()

    def usage(path: Path) -> SimpleNamespace:
        return SimpleNamespace(free=next(free[each] for each in free if path.is_relative_to(each)))

    def render(task: str) -> list[int]:
        return sorted(
            dict(made.render([(0, {"do": "ok"}), (1, {"do": task, "marker": str(tmp_path / task)})]))
        )

    monkeypatch.setattr("clevrhope.images.blender.process.MEMORY_FOLDER", memory)
    monkeypatch.setattr("clevrhope.images.blender.process.tempfile.gettempdir", lambda: str(disk))
    monkeypatch.setattr("clevrhope.images.blender.process.shutil.disk_usage", usage)
    with renderer(workers=1) as made:
        assert dict(made.render(scenes(1)))
        assert len(list(memory.iterdir())) == 1
        free[memory] = 0
        assert render("unfit") == [0, 1]
        assert (len(list(memory.iterdir())), len(list(disk.iterdir()))) == (0, 1)
        free[disk] = 0
        check_refused(RenderError, render, "die")


def test_a_disk_on_which_a_worker_cannot_start_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/clevrhope-worker-1")

    monkeypatch.setattr("clevrhope.images.blender.process.tempfile.mkdtemp", full)
    with renderer(workers=1) as made, refused(RenderError):
        list(made.render(scenes(1)))


def test_what_a_run_and_its_workers_leave_behind_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are killed at once; the next worker that starts on the machine removes their folders."""
    monkeypatch.setattr("clevrhope.images.blender.process.LEAST_AGE_S", HANG_S)
    program = (
        "import sys, time; from pathlib import Path; from clevrhope.images.blender import process as w;"
        "w.MEMORY_FOLDER = Path(sys.argv[1]); folder = w.WorkerFolder();"
        "print(folder.path, flush=True); time.sleep(3600)"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    folders = [Path(run.stdout.readline().strip()) for run in runs if run.stdout]
    runs[0].kill()
    runs[0].communicate()
    remove_abandoned(tmp_path)
    assert all(folder.is_dir() for folder in folders)  # as one that is being made
    for folder in folders:
        os.utime(folder, (1.0, 1.0))
    remove_abandoned(tmp_path)
    assert [folder.is_dir() for folder in folders] == [False, True]
    runs[1].kill()
    runs[1].communicate()


def test_an_actors_memory_is_the_part_that_goes_with_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrhope.images.blender.cycles.available_bytes", lambda: 100 << 30)
    monkeypatch.setattr("clevrhope.images.blender.cycles.available_cores", lambda: 32)
    assert memory_share() == memory_share(32) == 80 << 30
    assert memory_share(2) == 5 << 30


def test_cores_are_shared_out_once() -> None:
    cores = len(os.sched_getaffinity(0))
    assert sum(threads_of_workers(1)) == cores
    assert threads_of_workers(cores) == [1] * cores
    if cores >= 2:
        by_default = threads_of_workers()
        assert sum(by_default) == cores
        assert min(by_default) >= 2


def test_a_frame_comes_back_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    with path.open("wb") as pipe:
        write_frame(pipe, {"a": [1, "ü"]}, b"pixels\n\0")
    with path.open("rb") as pipe:
        assert read_frame(pipe) == ({"a": [1, "ü"]}, b"pixels\n\0")
        assert read_frame(pipe) is None
    path.write_bytes(path.read_bytes()[:-1])
    with path.open("rb") as pipe:
        assert read_frame(pipe) is None
