"""The renderer that uses the actors of a Ray cluster, on any number of machines.

An actor holds a renderer. It receives scenes from here and sends pixels back. No
folder or file is shared: files are written here, as without Ray. An actor that is lost, or whose machine
breaks down, is replaced, and its scenes are given to others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any, Generic, TypeVar

from clevrhope.errors import ConfigError, RenderError, listed
from clevrhope.images.blender.cycles import THREADS_OF_A_WORKER, WORKERS_OF_A_GPU
from clevrhope.images.blender.pool import (
    ATTEMPTS,
    FAILURES_IN_A_ROW,
    FAILURES_OF_MACHINE,
    ScenesFailedError,
    WorkersFailedError,
)
from clevrhope.images.passes import Passes
from clevrhope.images.ray.actor import Answer, RenderActor
from clevrhope.images.ray.cluster import connect, import_ray
from clevrhope.images.renderer import Pixels, Renderer, RendererRow, Scene
from clevrhope.images.settings import CPU, INTERFACES, Rendering, parse_device
from clevrhope.look.definition import Look, read_look
from clevrhope.version import software_version

K = TypeVar("K", bound=Hashable)

#: Number of scenes that an actor has at once: the one that it renders, and the next.
SCENES_OF_AN_ACTOR = 2
#: How long Ray may take to place the first actor, which then loads Blender.
PLACE_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Places:
    """The resources to request from Ray.

    Attributes:
        actors: number of actors.
        cpus: CPUs of each actor.
        gpus: GPUs of each actor: 1, or a fraction where several share one.
    """

    actors: int
    cpus: int
    gpus: float


def places_in(resources: Mapping[str, float], rendering: Rendering, workers: int | None) -> Places:
    """The actors to request from a cluster.

    Args:
        resources: the cluster's resources, by Ray's names, CPU and GPU.
        rendering: the settings; a renderer without devices, and Blender on the CPU, need no GPU.
        workers: actors per GPU, by default two; without GPUs, all actors, by default one for every two CPUs.

    Raises:
        ConfigError: GPUs are wanted but there are none, or there are more actors than CPUs.
    """
    cpus = int(resources.get("CPU", 0))
    gpus = 0
    if (device := getattr(rendering, "device", None)) is not None:
        choice = parse_device(device)
        gpus = 0 if choice.kind == CPU else int(resources.get("GPU", 0))
        if not gpus and choice.kind in INTERFACES:
            raise ConfigError(f"--device {choice.kind}: this Ray cluster has no GPU; take --device cpu")
    each = workers or WORKERS_OF_A_GPU
    actors = gpus * each if gpus else workers or max(1, cpus // THREADS_OF_A_WORKER)
    if actors > cpus:
        raise ConfigError(
            f"--workers: {actors} actors are more than this Ray cluster has CPUs, {cpus}; each takes 1 or 2"
        )
    return Places(actors, min(THREADS_OF_A_WORKER, cpus // actors), 1 / each if gpus else 0.0)


@dataclass(eq=False)
class _Task(Generic[K]):
    """A scene, how many actors were lost while rendering it, and whether a lost actor had it."""

    key: K
    scene: Scene
    lost: int = 0
    is_suspect: bool = False


@dataclass(eq=False)
class _Actor(Generic[K]):
    """An actor and its tasks; the first one is in flight."""

    handle: Any
    tasks: deque[_Task[K]] = field(default_factory=deque)
    is_ready: bool = False


class RayRenderer(Renderer):
    """Renders in a Ray cluster; actors start with the first image and end with `close`.

    Args:
        rendering: size and effort.
        row: the renderer that these settings are for.
        look: shapes, materials, lights, camera and properties; by default the package's.
        workers: actors for each GPU of the cluster; without GPUs, all actors.
        address: the cluster's address, see `connect`.
        actor: the actor's class, for tests.

    Raises:
        ConfigError: the address, device or number of workers is invalid.
        RenderError: Ray is not installed, or does not answer.
    """

    def __init__(
        self,
        rendering: Rendering,
        row: RendererRow,
        *,
        look: Look | None = None,
        workers: int | None = None,
        address: str | None = None,
        actor: type = RenderActor,
    ) -> None:
        self._ray = import_ray()
        device = getattr(rendering, "device", CPU)
        if (choice := parse_device(device)).numbers:
            raise ConfigError(
                f"--device {device}: Ray itself assigns the GPUs of its cluster; take {choice.kind}"
            )
        self._connected = connect(address)
        try:
            self._places = places_in(self._ray.cluster_resources(), rendering, workers)
        except ConfigError:
            self._disconnect()
            raise
        self._class = self._ray.remote(actor).options(
            num_cpus=self._places.cpus, num_gpus=self._places.gpus, max_restarts=0, max_task_retries=0
        )
        of_each = (look or read_look(), self._places.cpus, self._places.gpus)
        self._given = (partial(row.open_in_actor, rendering, *of_each), software_version())
        self._actors: list[_Actor[Any]] = []
        self._under_way: dict[Any, tuple[_Actor[Any], _Task[Any] | None]] = {}
        self._idle_since = 0.0
        self._has_images = False

    @property
    def workers(self) -> int:
        """Number of actors when Ray has placed all of them."""
        return self._places.actors

    def render(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Pixels]]:
        """Yields images, (height, width, 3) uint8 sRGB, in order of completion.

        Raises:
            RenderError: no actor can be placed or can work, too many in a row are lost, or some were lost for
                an unknown reason, raised after all other scenes are done.
            ScenesFailedError: some scenes could not be rendered; raised after all others are done.
        """
        return self._run("render", scenes)

    def passes(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Passes]]:
        """Yields annotations in order of completion; see `Annotator`."""
        return self._run("passes", scenes)

    def _run(self, task: str, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Any]]:
        """The results of the actors' method `task` for each scene."""
        source = (_Task(key, scene) for key, scene in scenes)
        again: deque[_Task[K]] = deque(islice(source, 1))
        if not again:
            return
        failed: dict[K, str] = {}
        given_up: list[K] = []
        lost_in_a_row = failed_in_a_row = 0
        ended = ""
        self._has_images = False
        finished = False
        try:
            missing = self._places.actors - len(self._actors)
            self._actors += [self._start_actor() for _ in range(missing)]
            self._idle_since = monotonic()
            while self._hand_out(task, again, source):
                for actor, given, answer in self._answers():
                    if isinstance(answer, str):
                        lost_in_a_row += 1
                        if lost_in_a_row == FAILURES_IN_A_ROW:
                            raise WorkersFailedError(f"{lost_in_a_row} of Ray's actors", answer)
                        for each in self._replace(actor):
                            if each.lost < ATTEMPTS:
                                again.append(each)
                            else:
                                failed_in_a_row, ended = failed_in_a_row + 1, answer
                                given_up.append(each.key)
                    elif given is None:
                        actor.is_ready = True
                    elif answer.made is None:
                        failed[given.key] = answer.reason
                        if answer.ended:
                            failed_in_a_row, ended = failed_in_a_row + 1, f"the last one {answer.ended}"
                        if failed_in_a_row == FAILURES_IN_A_ROW:
                            raise WorkersFailedError(f"{failed_in_a_row * ATTEMPTS} render workers", ended)
                    else:
                        lost_in_a_row = failed_in_a_row = 0
                        self._has_images = True
                        yield given.key, answer.made
            finished = True
        finally:
            if not finished:
                self._end_actors()  # nobody will take the results still in flight
        if failed_in_a_row >= FAILURES_OF_MACHINE and not self._has_images:
            raise WorkersFailedError(f"{failed_in_a_row * ATTEMPTS} render workers", ended)
        if given_up:  # Ray does not say whether a scene ended an actor, or a signal or full memory did
            noun = "scene" if len(given_up) == 1 else "scenes"
            raise RenderError(
                f"{len(given_up) * ATTEMPTS} of Ray's actors were lost before they gave an image of {noun} "
                f"{listed(given_up, most=10)}; the cause need not be a scene: {ended}"
            )
        if failed:
            raise ScenesFailedError(failed)

    def close(self) -> None:
        """Ends the actors and leaves the cluster; a cluster that this renderer started ends too."""
        self._end_actors()
        self._disconnect()

    def _start_actor(self) -> _Actor[Any]:
        actor: _Actor[Any] = _Actor(self._class.remote(*self._given))
        self._under_way[actor.handle.hello.remote()] = (actor, None)
        return actor

    def _hand_out(self, method: str, again: deque[_Task[K]], source: Iterator[_Task[K]]) -> bool:
        """Gives scenes to the actors that are ready; returns whether any are in flight or waiting."""
        for actor in self._actors:
            while actor.is_ready and len(actor.tasks) < self._room(actor, again):
                task = again.popleft() if again else next(source, None)
                if task is None:
                    return any(each.tasks for each in self._actors)
                actor.tasks.append(task)
                reference = getattr(actor.handle, method).remote(task.scene)
                self._under_way[reference] = (actor, task)
        return True

    def _room(self, actor: _Actor[K], again: deque[_Task[K]]) -> int:
        """How many scenes the actor may have at once.

        The answer for a finished scene may be lost with an actor, and then the wrong scene is blamed. So the
        scenes of a lost actor are rendered again one per actor, where no other scene can be the cause.
        """
        return 1 if again or any(task.is_suspect for task in actor.tasks) else SCENES_OF_AN_ACTOR

    def _answers(self) -> Iterator[tuple[_Actor[Any], _Task[Any] | None, Answer | str]]:
        """The next answers, after waiting up to a second; for a lost actor, the reason as a string."""
        if any(actor.is_ready for actor in self._actors):
            self._idle_since = monotonic()
        elif monotonic() > self._idle_since + PLACE_TIMEOUT_S:
            places = self._places
            raise RenderError(
                f"Ray found no place for any actor within {PLACE_TIMEOUT_S:g} s; each asks for {places.cpus} "
                f"CPUs and {places.gpus:g} GPUs, and others may hold them: see ray status"
            )
        done, _ = self._ray.wait(list(self._under_way), timeout=1.0)
        for reference in done:
            if reference not in self._under_way:  # of an actor that was already lost
                continue
            actor, task = self._under_way.pop(reference)
            try:
                answer = self._ray.get(reference)
            except self._ray.exceptions.RayError as error:
                yield actor, task, _in_one_line(error)
                continue
            if answer.problem:
                if not self._has_images:
                    raise RenderError(answer.problem)
                # There were images, so other machines work and only this one has broken down.
                yield actor, task, _in_one_line(RenderError(answer.problem))
                continue
            if task is not None:
                actor.tasks.remove(task)
            yield actor, task, answer

    def _replace(self, actor: _Actor[K]) -> Iterable[_Task[K]]:
        """Starts another actor in place of a lost one; returns the tasks of the lost one."""
        self._under_way = {ref: given for ref, given in self._under_way.items() if given[0] is not actor}
        self._ray.kill(actor.handle)
        self._actors[self._actors.index(actor)] = self._start_actor()
        if actor.tasks:
            actor.tasks[0].lost += 1  # as far as is known here, the others were not started
        for task in actor.tasks:
            task.is_suspect = True
        return actor.tasks

    def _end_actors(self) -> None:
        actors, self._actors, self._under_way = self._actors, [], {}
        if self._ray.is_initialized():
            for actor in actors:
                self._ray.kill(actor.handle)

    def _disconnect(self) -> None:
        if self._connected:
            self._ray.shutdown()
            self._connected = False


def _in_one_line(error: Exception) -> str:
    """The error of an actor in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    # A traceback begins with the actor's name and ends with the error; Ray's own messages begin with it.
    return lines[-1 if "ray::" in str(error) else 0][:200]
