"""Scenes to execute programs on, to look at, to render and to ask about."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from clevrhope import _core, questions, scenes
from clevrhope.errors import SceneError, shown
from clevrhope.programs.gaps import fill_gaps
from clevrhope.programs.program import Program
from clevrhope.runtime.json_text import json_bytes
from clevrhope.runtime.settings import check_whole
from clevrhope.scenes.forms import read_batch, several
from clevrhope.scenes.sketch import object_words, scene_svg, swatch_svg
from clevrhope.scenes.vocabulary import default_vocabulary

if TYPE_CHECKING:
    from PIL.Image import Image

    from clevrhope.look.definition import Look

MAX_IMAGES = 5
"""The most scenes of a set."""


@dataclass(frozen=True)
class Question:
    """A question about a scene.

    Attributes:
        text: the question in English.
        program: its meaning.
        answer: the answer as CLEVR's files spell it: "yes", "3", "cylinder".
    """

    text: str
    program: Program
    answer: str

    def __repr__(self) -> str:
        return f"Question({self.text!r}, answer={self.answer!r})"

    def _repr_html_(self) -> str:
        return (
            f"<div><p>{escape(self.text)} <b>{escape(self.answer)}</b></p>{self.program._repr_html_()}</div>"
        )


class Scene:
    """A scene, checked once, on which programs can be executed; it can be drawn, rendered and asked about.

    It needs to contain only what it is used for. Programs need `objects`, each with the attributes that the
    program reads, and for relations either `relationships` or the `3d_coords` of each object. A notebook
    shows the scene as a sketch.

    Args:
        scene: a scene of a CLEVR scene file, as json.load returns it, or parts of one.
        vocabulary: the values that the scene may name; by default CLEVR's.

    Raises:
        SceneError: not a single scene of this vocabulary; names the place in it.
    """

    __slots__ = ("_content", "_gaps", "_handle", "_vocabulary")

    def __init__(self, scene: Mapping[str, Any], *, vocabulary: _core.Vocabulary | None = None) -> None:
        self._vocabulary = vocabulary or default_vocabulary()
        given = _single(scene)
        _check_has_objects(given, "scene")
        self._content = json_bytes(given, "scene", error=SceneError)
        full, self._gaps = fill_gaps(given, self._vocabulary.attribute_types)
        content = self._content if full is given else json_bytes(full, "scene", error=SceneError)
        with _about_one_scene():
            self._handle = _core.SceneGraphs.from_json(self._vocabulary, content, file="scene")

    @property
    def vocabulary(self) -> _core.Vocabulary:
        """The values that the scene may name."""
        return self._vocabulary

    @property
    def content(self) -> dict[str, Any]:
        """The scene in CLEVR's JSON form, unchanged."""
        scene: dict[str, Any] = json.loads(self._content)
        return scene

    def render(
        self,
        *,
        width: int = 480,
        height: int = 320,
        quality: str = "standard",
        renderer: str = "native",
        look: Look | None = None,
    ) -> Image:
        """Renders the scene as a PIL image; for many scenes, `clevrhope.render` is faster.

        Each object needs its size, color, material, shape and `3d_coords`. A missing `rotation` is taken as
        0. Camera and lights are at their positions before jitter.

        Args:
            width: pixels.
            height: pixels.
            quality: draft, standard or high; for Blender draft, standard or original.
            renderer: native or blender.
            look: how the values in the scene are drawn; by default as in CLEVR.

        Raises:
            ConfigError: an unknown renderer or quality, or an invalid size.
            SceneError: an object lacks something, or is outside the world or the image.
            RenderError: Blender is missing or cannot be started.
        """
        # Rendering loads far more than the rest of this module needs.
        from PIL.Image import fromarray

        from clevrhope.images.renderers import open_renderer, row_named

        settings = replace(row_named(renderer).settings(), width=width, height=height).with_quality(quality)
        with open_renderer(settings, look=look, workers=1) as opened:
            ((_, pixels),) = opened.render([("scene", self.content)])
        return fromarray(pixels)

    def ask(self, n: int = 9, *, seed: int, templates: _core.Templates | None = None) -> list[Question]:
        """Asks questions about the scene, with their programs and answers.

        `clevrhope.instantiate_questions` asks about many scenes, with answers that are balanced.

        Args:
            n: number of questions wanted; some scenes yield fewer.
            seed: from 0 to 2**64 - 1.
            templates: made for the scene's vocabulary; by default the package's own.

        Raises:
            ConfigError: `n` or the seed is not a whole number from 0 to 2**64 - 1.
            SceneError: an object lacks an attribute, or the relations are unknown.
        """
        check_whole("n", n)
        for needed in self._gaps.values():
            raise SceneError(f"scene: questions need {needed}")
        with _about_one_scene():
            batch = read_batch(self, self._vocabulary, file="scene")
        templates = templates or _templates(self._vocabulary)
        asked = questions.instantiate_questions(batch, seed=seed, templates=templates, questions_per_scene=n)
        return [
            Question(row["question"], Program(row, vocabulary=self._vocabulary), row["answer"])
            for row in json.loads(asked.to_json(split="scene"))
        ]

    def __len__(self) -> int:
        """Number of objects."""
        return int(self._handle.n_objects[0])

    def __repr__(self) -> str:
        return f"Scene({len(self)} object{'' if len(self) == 1 else 's'})"

    def _repr_svg_(self) -> str:
        return scene_svg(self.content, numbered=True)

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li>{swatch_svg(item)} {escape(object_words(item))}</li>" for item in self.content["objects"]
        )
        return f'<div>{self._repr_svg_()}<ol start="0">{items}</ol></div>'


class SceneSet:
    """One to five scenes on which a program is executed together, for questions about several images.

    Args:
        scenes: scenes of a CLEVR scene file, as json.load returns them, or the parts of them that programs
            ask for; at most 64 objects in all.
        vocabulary: the values that the scenes may name; by default CLEVR's.

    Raises:
        SceneError: not scenes of this vocabulary, or too many of them; says which.
    """

    __slots__ = ("_contents", "_gaps", "_handle", "_vocabulary")

    def __init__(
        self, scenes: Sequence[Mapping[str, Any]], *, vocabulary: _core.Vocabulary | None = None
    ) -> None:
        self._vocabulary = vocabulary or default_vocabulary()
        _check_is_list(scenes)
        if not 1 <= len(scenes) <= MAX_IMAGES:
            raise SceneError(f"{len(scenes)} scenes; a set has one to {MAX_IMAGES}")
        for place, scene in enumerate(scenes):
            _check_has_objects(scene, f"set: scenes[{place}]")
            if scene in scenes[:place]:
                first = scenes.index(scene)
                raise SceneError(f"scenes {first} and {place} are the same; the scenes of a set are distinct")
        types = self._vocabulary.attribute_types
        made = [fill_gaps(scene, types, f"scenes[{place}].") for place, scene in enumerate(scenes)]
        self._contents = [json_bytes(scene, "scene", error=SceneError) for scene in scenes]
        self._gaps = {needed: clause for _, gaps in reversed(made) for needed, clause in gaps.items()}
        content = json_bytes({"scenes": [scene for scene, _ in made]}, "scene", error=SceneError)
        graphs = _core.SceneGraphs.from_json(self._vocabulary, content, file="set")
        self._handle = _core.SceneSets(graphs, np.arange(len(graphs), dtype=np.int32)[np.newaxis])

    @property
    def contents(self) -> list[dict[str, Any]]:
        """The scenes in CLEVR's JSON form, unchanged."""
        return [json.loads(content) for content in self._contents]

    def __len__(self) -> int:
        """Number of images."""
        return len(self._contents)

    def __repr__(self) -> str:
        return f"SceneSet({len(self)} image{'' if len(self) == 1 else 's'})"

    def _repr_html_(self) -> str:
        drawn = "".join(
            f'<div style="display:inline-block">{scene_svg(scene, numbered=True)}</div>'
            for scene in self.contents
        )
        return f"<div>{drawn}</div>"


def sample_scenes(
    indices: int | Iterable[int], *, seed: int, pool: str = "train", world: _core.World | None = None
) -> list[Scene]:
    """Samples scenes from a pool, as `Scene` objects that can be drawn, rendered and asked about.

    `scenes.sample_scenes` returns the same scenes as a `SceneBatch`, for functions that work on many scenes.

    Args:
        indices: the scenes' indices in the pool; a number n means the first n.
        seed: from 0 to 2**64 - 1.
        pool: the stream's name: train, val, test_iid, test_ood, or any other.
        world: by default CLEVR's vocabulary and look, with CLEVR-HOPE's constraints.

    Raises:
        ConfigError: the seed or an index is not a whole number from 0 to 2**64 - 1.
        SceneError: a scene could not meet the constraints; says which ones, and how often it failed.
    """
    batch = scenes.sample_scenes(indices, seed=seed, pool=pool, world=world)
    vocabulary = None if world is None else world.vocabulary
    return [Scene(json.loads(row), vocabulary=vocabulary) for row in batch.json_rows()]


@cache
def _templates(vocabulary: _core.Vocabulary) -> _core.Templates:
    return questions.read_templates(vocabulary)


def _check_is_list(scenes: object) -> None:
    if not isinstance(scenes, Sequence) or isinstance(scenes, str | bytes):
        raise SceneError(f"set: expected a list of scenes, got {shown(scenes)}")


def _check_has_objects(scene: object, place: str) -> None:
    if not isinstance(scene, Mapping):
        raise SceneError(f'{place}: expected a dictionary with "objects", got {shown(scene)}')
    if "objects" not in scene:
        raise SceneError(f'{place}: "objects" is missing; expected a list of objects')


@contextmanager
def _about_one_scene() -> Iterator[None]:
    """Removes the position in a list from the engine's messages, since the engine reads lists of scenes."""
    try:
        yield
    except SceneError as error:
        raise SceneError(str(error).replace("scene: scenes[0].", "scene: ", 1)) from error


def _single(scene: object) -> object:
    """Returns the scene after checking that it is not a scene file or a list of scenes."""
    listed = several(scene)
    if listed is None:
        return scene
    what = "scene file" if isinstance(scene, Mapping) else "list, of which SceneSet takes one to five scenes"
    raise SceneError(f"scene: a {what}; expected a single scene, such as the first in it")
