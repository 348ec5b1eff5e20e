"""What holds for every call into the native module: the GIL, Ctrl-C, errors, immutability."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from small_worlds import world_of

from clevrhope import _core
from clevrhope.errors import ClevrhopeError, SceneError, VocabularyError
from systems import needs_limits
from waiting import HANG_S
from wording import check_refused, refused


def ticks_during_a_call(world: _core.World, n_scenes: int) -> int:
    """How often this thread comes to run while another one samples scenes."""
    indices, span = np.arange(n_scenes, dtype=np.uint64), list[float]()

    def sample() -> None:
        span.append(time.perf_counter())
        _core.sample_scenes(world, seed=0, pool="train", indices=indices)
        span.append(time.perf_counter())

    thread = threading.Thread(target=sample)
    thread.start()
    ticks = []
    while thread.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    thread.join()
    begin, end = span
    return sum(begin + 0.2 * (end - begin) < tick < begin + 0.8 * (end - begin) for tick in ticks)


def test_python_runs_on_while_scenes_are_sampled(world: _core.World) -> None:
    """On a busy machine this thread has its turn in a long call; if the GIL were held, in none."""
    assert any(ticks_during_a_call(world, 2_000 * 4**k) > 5 for k in range(5))


LONG_CALLS = {
    "scenes": '_core.sample_scenes(world, seed=0, pool="p", indices=np.arange(10_000_000, dtype=np.uint64))',
    "image": 'studio.render(placement, width=8192, height=8192, quality="high")',
    "paths": "studio.path_trace(placement, width=2000, height=2000, samples=10_000)",
    "passes": "studio.passes(placement, width=8192, height=8192)",
}


@needs_limits
@pytest.mark.parametrize("call", LONG_CALLS.values(), ids=LONG_CALLS)
def test_control_c_ends_a_long_call(call: str) -> None:
    import resource

    script = f"""
import json
import numpy as np
from clevrhope import _core
from clevrhope.images.native import NativeRenderer
from clevrhope.scenes import read_world
world = read_world()
first = _core.sample_scenes(world, seed=0, pool="p", indices=np.arange(1, dtype=np.uint64))
scene = json.loads(first.json_rows()[0])
renderer = NativeRenderer(workers=1)
studio, placement = renderer._studio, renderer._placement(scene)
print("ready", flush=True)
{call}
print("finished", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    before_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=HANG_S)
    # Each call takes longer than that: it was the signal that ended it.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before_s < 60
    assert b"KeyboardInterrupt" in errors
    assert b"panicked" not in errors
    assert output == b""
    assert process.returncode != 0


@pytest.mark.parametrize("config", ['{"max_objects": 40}', '{"max_object": 9}', '{"min_objects": 3'])
def test_impossible_constraints_are_named(config: str) -> None:
    check_refused(SceneError, world_of, config)


def test_each_domain_has_its_error_class() -> None:
    with refused(VocabularyError) as raised:
        _core.Vocabulary(b'{"sizes": {"large": 0.7}}', file="colours.json")
    assert isinstance(raised.value, ClevrhopeError)
    assert isinstance(raised.value, ValueError)


def test_handles_are_frozen(world: _core.World) -> None:
    with pytest.raises(AttributeError):
        world.fingerprint = "another"  # type: ignore[misc]


def test_a_scene_is_a_function_of_its_index(world: _core.World) -> None:
    indices = np.array([5, 900, 2], dtype=np.uint64)
    batch = _core.sample_scenes(world, seed=3, pool="train", indices=indices)
    assert batch.indices.tolist() == [5, 900, 2]
    alone = _core.sample_scenes(world, seed=3, pool="train", indices=indices[1:2])
    assert alone.json_rows() == batch.json_rows()[1:2]
    assert batch.take(np.array([2, 0], dtype=np.uint32)).indices.tolist() == [2, 5]
    other = _core.sample_scenes(world, seed=4, pool="train", indices=indices[1:2])
    assert other.json_rows() != alone.json_rows()
    check_refused(IndexError, batch.take, np.array([0, 20], dtype=np.uint32))
