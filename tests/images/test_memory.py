"""A worker that has made a thousand images holds no more than one that has made fifty."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.reference_images import reference_scenes
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.settings import RenderSettings

pytestmark = pytest.mark.slow

IMAGES = 1000
#: What allocators keep back and forth; a leak of an image's pixels alone would come to 38 MB and more.
SLACK_BYTES = 30 << 20


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def test_memory_stays_flat_over_a_thousand_images() -> None:
    settings = RenderSettings(width=120, height=80, samples=1, device="cpu")
    scenes = reference_scenes()

    def source() -> Iterator[tuple[int, Any]]:
        for i in range(IMAGES):
            yield i, scenes[i % len(scenes)]

    with CyclesRenderer(settings=settings, workers=2) as renderer:
        early: list[int] = []
        for done, _ in enumerate(renderer.render(source()), start=1):
            if done == 50 + len(scenes) * 2:  # by then each worker has seen all scenes
                pids = renderer.pool.pids
                early = [resident(pid) for pid in pids]
        late = [resident(pid) for pid in pids]
        assert renderer.pool.pids == pids
    assert all(after < before + SLACK_BYTES for before, after in zip(early, late, strict=True))
