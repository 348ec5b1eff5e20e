"""Images by a Ray cluster: as the local ones, also when actors are killed; and what it cannot, in words."""

import json
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fake_actor
import pytest
from building import Cli, request, tree
from fake_actor import FakeActor, LateActor

from benchmarks.reference_images import REFERENCE_FOLDER, reference_scenes
from clevrhope.errors import ConfigError, RenderError
from clevrhope.images.blender.cycles import BLENDER
from clevrhope.images.blender.devices import Device
from clevrhope.images.blender.pool import ScenesFailedError, WorkersFailedError
from clevrhope.images.native import NATIVE
from clevrhope.images.ray.actor import Answer, RenderActor
from clevrhope.images.ray.cluster import connect
from clevrhope.images.ray.engine import Places, RayRenderer, places_in
from clevrhope.images.renderers import row_of
from clevrhope.images.settings import BlenderSettings, NativeSettings
from clevrhope.look.definition import read_look
from clevrhope.pipeline import build
from clevrhope.version import software_version
from wording import check_refused, check_words, refused

pytestmark = pytest.mark.slow

SCENES = REFERENCE_FOLDER / "scenes.json"
TINY = NativeSettings(width=96, height=64, quality="draft")
TINY_BLENDER = BlenderSettings(width=96, height=64, samples=1, device="cpu")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A Ray cluster of two CPUs on this machine, whatever it has: two actors have a place."""
    ray = pytest.importorskip("ray", reason="needs Ray: pip install 'clevrhope[ray]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clevrhope.images.ray.cluster.available_cores", lambda: 2)
        patch.setenv(
            "RAY_worker_niceness", "0"
        )  # at Ray's own 15, other programs leave actors next to nothing
        assert connect("local")
    ray.cloudpickle.register_pickle_by_value(fake_actor)  # what pytest adds to the path, actors do not know
    yield
    ray.shutdown()


@pytest.mark.parametrize(
    ("resources", "rendering", "workers", "places"),
    [
        ({"CPU": 16}, BlenderSettings(), None, Places(8, 2, 0.0)),
        ({"CPU": 16}, NativeSettings(), None, Places(8, 2, 0.0)),
        ({"CPU": 1}, BlenderSettings(), None, Places(1, 1, 0.0)),
        ({"CPU": 3}, BlenderSettings(), 2, Places(2, 1, 0.0)),
        ({"CPU": 64, "GPU": 8}, BlenderSettings(), None, Places(16, 2, 0.5)),
        ({"CPU": 64, "GPU": 8}, BlenderSettings(device="cuda"), 1, Places(8, 2, 1.0)),
        ({"CPU": 24, "GPU": 8}, BlenderSettings(), 3, Places(24, 1, 1 / 3)),
        ({"CPU": 64, "GPU": 8}, BlenderSettings(device="cpu"), None, Places(32, 2, 0.0)),
        ({"CPU": 64, "GPU": 8}, NativeSettings(), None, Places(32, 2, 0.0)),
    ],
)
def test_what_is_asked_of_a_cluster(
    resources: dict[str, float], rendering: Any, workers: int | None, places: Places
) -> None:
    assert places_in(resources, rendering, workers) == places


@pytest.mark.parametrize(
    ("resources", "rendering", "workers"),
    [
        ({"CPU": 8}, BlenderSettings(device="hip"), None),
        ({"CPU": 8}, BlenderSettings(), 9),
        ({"CPU": 3, "GPU": 2}, BlenderSettings(), 2),
    ],
)
def test_what_a_cluster_does_not_have(
    resources: dict[str, float], rendering: Any, workers: int | None
) -> None:
    check_refused(ConfigError, places_in, resources, rendering, workers)


def test_an_actor_says_what_its_machine_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Ray needed: an actor is a plain class. GPUs are not here; Ray would say there is one."""
    scene = reference_scenes()[0]

    def of(rendering: Any, *, gpus: float = 0.0, version: str = "") -> RenderActor:
        opens = partial(row_of(rendering).open_in_actor, rendering, read_look(), 2, gpus)
        return RenderActor(opens, version or software_version())

    old = of(TINY, version="0.0.9").hello().problem
    assert f"clevrhope {software_version()}, but 0.0.9 where the run was started" in old
    monkeypatch.setattr("clevrhope.images.blender.cycles.choose_gpus", lambda choice: ([], ""))
    blind = of(BlenderSettings(), gpus=0.5).hello().problem
    assert blind.startswith(f"{socket.gethostname()}: Ray has a GPU here, but Blender finds none")
    well = of(TINY)
    assert well.hello() == Answer()
    refused = well.render({"objects": [{**scene["objects"][0], "color": "ochre"}]})
    assert "ochre" in refused.reason
    assert not refused.problem


@pytest.mark.parametrize(("kind", "name"), [("auto", "optix:0"), ("cuda", "cuda:0")])
def test_an_actor_renders_on_the_gpu_that_ray_shows_it(
    kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[dict[str, Any]] = []
    card = Device(name, "Card 1", "identity", denoises=True)
    monkeypatch.setattr("clevrhope.images.blender.cycles.choose_gpus", lambda choice: ([card], ""))
    monkeypatch.setattr(
        "clevrhope.images.blender.cycles.CyclesRenderer", lambda **given: opened.append(given)
    )
    look = read_look()
    opens = partial(BLENDER.open_in_actor, BlenderSettings(device=kind), look, 2, 0.5)
    actor = RenderActor(opens, software_version())
    assert actor.hello() == Answer()
    settings = BlenderSettings(device=name)
    assert opened == [{"look": look, "settings": settings, "workers": 1, "cores": 2}]


@pytest.mark.usefixtures("cluster")
def test_scenes_come_back_whatever_happens_to_actors(tmp_path: Path) -> None:
    tasks: dict[int, dict[str, Any]] = {i: {"do": "ok", "value": i} for i in range(30)}
    tasks[3] = {"do": "die", "value": 3, "marker": str(tmp_path / "died")}
    tasks[16] = {"do": "break", "value": 16, "marker": str(tmp_path / "broke")}
    tasks[12] = {"do": "refuse"}
    found = {}

    def collect(renderer: RayRenderer) -> None:
        for key, pixels in renderer.render(tasks.items()):
            found[key] = int(pixels[0, 0, 0])

    with RayRenderer(TINY, NATIVE, workers=2, actor=FakeActor) as renderer:
        with pytest.raises(ScenesFailedError) as failure:
            collect(renderer)
        assert ready(renderer)
        # And the next run has actors that are there.
        assert len(dict(renderer.render((i, tasks[0]) for i in range(3)))) == 3
    assert found == {i: i for i in range(30) if i != 12}
    assert (tmp_path / "died").exists()
    assert (tmp_path / "broke").exists()
    assert failure.value.reasons == {12: "objects[0].color: unknown name"}


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("do", ["kill", "break", "full"])
def test_no_scene_is_blamed_for_what_ends_actors_from_outside(do: str) -> None:
    """Also between images, all of which are made."""
    tasks: dict[int, dict[str, Any]] = {i: {"do": "ok", "value": i} for i in range(6)}
    tasks[2] = {"do": do}
    found = []
    renderer, outside = RayRenderer(TINY, NATIVE, workers=1, actor=FakeActor), "cause need not be a scene: "
    with renderer, pytest.raises(RenderError, match=outside) as failure:
        found.extend(key for key, _ in renderer.render(tasks.items()))
    assert sorted(found) == [0, 1, 3, 4, 5]
    assert not isinstance(failure.value, ScenesFailedError)


@pytest.mark.usefixtures("cluster")
def test_a_finished_scene_is_not_blamed_for_the_next_one() -> None:
    """The scene before the deadly one is finished each time, but its answer is lost with the actor."""
    tasks = {0: {"do": "ok", "value": 0}, 1: {"do": "die"}}
    with RayRenderer(TINY, NATIVE, workers=1, actor=LateActor) as renderer:
        rendered = renderer.render(tasks.items())
        assert next(rendered)[0] == 0
        with pytest.raises(RenderError, match="before they gave an image of scene 1;"):
            next(rendered)


@pytest.mark.usefixtures("cluster")
def test_actors_that_cannot_work_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrhope.images.ray.engine.FAILURES_IN_A_ROW", 2)
    for width in (13, 14):
        rendering = replace(TINY, width=width)
        with RayRenderer(rendering, NATIVE, workers=1, actor=FakeActor) as renderer, refused(RenderError):
            list(renderer.render([(0, {"do": "ok", "value": 0})]))


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(("do", "n", "in_a_row"), [("wear", 30, 4), ("wear", 3, 12), ("die", 3, 12)])
def test_no_scene_is_blamed_if_every_actor_fails(
    do: str, n: int, in_a_row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clevrhope.images.ray.engine.FAILURES_IN_A_ROW", in_a_row)
    made = RayRenderer(TINY, NATIVE, workers=2, actor=FakeActor)
    with made, pytest.raises(WorkersFailedError) as failure:
        list(made.render((i, {"do": do}) for i in range(n)))
    n_workers = 3 * min(n, in_a_row)
    assert f"{n_workers} render workers in a row ended without giving an image" in str(failure.value)
    assert ("ran out of memory" if do == "wear" else "The actor died") in str(failure.value)


@pytest.mark.usefixtures("cluster")
def test_a_cluster_that_is_full_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [(i, {"do": "ok", "value": 0}) for i in range(2)]
    with RayRenderer(TINY, NATIVE, workers=2, actor=FakeActor) as all_places:
        while len(ready(all_places)) < 2:
            assert len(dict(all_places.render(tasks))) == 2
        monkeypatch.setattr("clevrhope.images.ray.engine.PLACE_TIMEOUT_S", 2.0)
        with RayRenderer(TINY, NATIVE, workers=1, actor=FakeActor) as renderer, refused(RenderError):
            list(renderer.render(tasks))


def ready(renderer: RayRenderer) -> list[Any]:
    return [actor.handle for actor in renderer._actors if actor.is_ready]


class Unlucky(RayRenderer):
    """Loses an actor after some of its images."""

    killed = 0

    def render(self, scenes: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        chance = random.Random(7)
        left = chance.randrange(1, 4)
        for done in super().render(scenes):
            left -= 1
            if not left and self.killed < 2:
                self._ray.kill(chance.choice(ready(self)))
                Unlucky.killed += 1
                left = chance.randrange(1, 5)
            yield done


@pytest.mark.usefixtures("cluster")
def test_a_build_by_blender_in_actors_that_are_killed_is_the_local_one(tmp_path: Path) -> None:
    few: dict[str, Any] = {"splits": ("complex_ood",), "sizes": {"complex_ood": 9}, "images": "png"}
    asked = request(tmp_path / "local", rendering=TINY_BLENDER, **few)
    build(asked)
    build(
        replace(asked, out=tmp_path / "ray"),
        make_renderer=lambda rendering, workers: Unlucky(rendering, BLENDER, workers=workers),
    )
    assert Unlucky.killed == 2
    assert tree(tmp_path / "ray") == tree(tmp_path / "local")


@pytest.mark.usefixtures("cluster")
def test_the_command_line_by_ray_writes_what_it_writes_by_itself(tmp_path: Path, cli: Cli) -> None:
    settings = tmp_path / "tiny.toml"
    settings.write_text('[rendering]\nrenderer = "native"\nquality = "draft"\nwidth = 96\nheight = 64\n')
    few = ("--hop", "none", "--splits", "val", "--test-questions", "36", "--seed", "3", "--quiet")
    few = (*few, "--passes", "mask,depth,normal")
    for engine in ("local", "ray"):
        cli("build", *few, "--config", settings, "--engine", engine, "--out", tmp_path / engine)
    assert tree(tmp_path / "ray") == tree(tmp_path / "local")
    arguments = ["render", SCENES, "--renderer", "native", "--quality", "draft", "--engine", "ray"]
    made = cli(*arguments, "--out", tmp_path / "images", "--json", "--quiet")
    assert json.loads(made.out)["n_rendered"] == 16


def test_an_address_that_does_not_answer_is_one_sentence(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray", reason="needs Ray: pip install 'clevrhope[ray]'")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr("clevrhope.images.ray.cluster.HELLO_TIMEOUT_S", 3.0)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        closed = listening.getsockname()[1]
    address = f"127.0.0.1:{closed}"
    asked = ["render", SCENES, "--engine", "ray", "--quiet", "--out", tmp_path / "out"]
    told = cli(*asked, "--address", address, code=1).err
    assert told.startswith(f"clevrhope: --address {address}: nothing answers there (")
    assert told.count("\n") == 1
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        threading.Thread(target=lambda: listening.accept()[0].close(), daemon=True).start()
        check_refused(RenderError, connect, address)
    check_refused(ConfigError, connect, "head")
    assert not (tmp_path / "out").exists()


def test_numbers_of_gpus_are_rays_to_share_out() -> None:
    pytest.importorskip("ray", reason="needs Ray: pip install 'clevrhope[ray]'")
    check_refused(ConfigError, RayRenderer, BlenderSettings(device="cuda:0,1"), BLENDER)


@pytest.mark.parametrize(("options", "code"), [("--engine ray", 1), ("--address auto", 2)])
def test_without_ray_the_sentence_says_what_to_install_or_to_add(
    options: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    asked = ["render", SCENES, "--out", tmp_path / "out", "--quiet", *options.split()]
    check_words(cli(*asked, code=code).err)


def test_a_temporary_folder_whose_path_is_too_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_: object) -> None:
        raise OSError("validate_socket_filename failed: AF_UNIX path length cannot exceed 107 bytes: /long")

    fake = SimpleNamespace(is_initialized=lambda: False, init=init)
    monkeypatch.setattr("clevrhope.images.ray.cluster.import_ray", lambda: fake)
    monkeypatch.setattr("clevrhope.images.ray.cluster._keep_off_standard_output", lambda: None)
    check_refused(RenderError, connect, None)


def test_local_processes_need_no_ray(tmp_path: Path) -> None:
    script = (
        "import sys; from clevrhope.__main__ import run_command; code = run_command(sys.argv[1:]); "
        "sys.exit(code or 'ray' in sys.modules)"
    )
    scenes = {"scenes": reference_scenes()[:1]}
    (tmp_path / "scenes.json").write_text(json.dumps(scenes))
    arguments = ["render", tmp_path / "scenes.json", "--out", tmp_path / "out", "--renderer", "native"]
    subprocess.run([sys.executable, "-c", script, *arguments, "--quiet"], check=True)
