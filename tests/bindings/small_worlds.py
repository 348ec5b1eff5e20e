"""Worlds of the package's values and look, with scenes and questions, for tests of the native module."""

import numpy as np

from clevrhope import _core
from clevrhope.runtime.assets import blender_assets, question_templates

PAIR = [("material", "rubber"), ("shape", "cylinder")]
SPECIAL = ["<NULL>", "<START>", "<END>", "<UNK>"]
"""The tokens that come before all words."""


def asset(name: str) -> bytes:
    return (blender_assets() / name).read_bytes()


def world_of(constraints: str = "{}", properties: bytes | None = None) -> _core.World:
    files = (properties or asset("properties.json"), asset("look.json"))
    return _core.World(*files, constraints, properties_file="properties", look_file="look")


def studio() -> _core.NativeStudio:
    return _core.NativeStudio(asset("look.json"), file="look.json")


def zero_hop(world: _core.World) -> _core.Templates:
    folder = question_templates()
    files = [("zero_hop", (folder / "zero_hop.json").read_bytes())]
    return _core.Templates(files, [], (folder / "synonyms.json").read_bytes(), world.vocabulary)


def sampled(world: _core.World, *indices: int) -> _core.SceneBatch:
    return _core.sample_scenes(world, seed=1, pool="train", indices=np.asarray(indices, np.uint64))


def asked_on(scenes: _core.SceneBatch, templates: _core.Templates, n: int) -> _core.QuestionBatch:
    """Up to n questions of any kind on each scene."""
    return _core.instantiate_questions(
        scenes, templates, seed=1, held_out=None, questions="any", questions_per_scene=n
    )
