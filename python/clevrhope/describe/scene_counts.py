"""A pool's scene files in, what its scenes show out, as counted in the native reader's arrays."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from clevrhope._core import AuditScenes
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.describe.measure import SceneCounts, count_scenes
from clevrhope.errors import DatasetError, SceneError


def read_scene_counts(shards: Sequence[Path], attributes: Mapping[str, Sequence[str]]) -> SceneCounts:
    """Counts the objects of every scene in a pool's files; uses all cores.

    `attributes` are the world's types and their values, as the manifest has them.

    Raises:
        DatasetError: a missing file, one that is cut off, or a scene with values that the world has not.
    """
    vocabulary = vocabulary_with(attributes)
    try:
        scenes = AuditScenes.read(vocabulary, list(shards))
    except SceneError as error:
        raise DatasetError(str(error)) from error
    return count_scenes(scenes.indices, scenes.n_objects, scenes.attributes, vocabulary.attribute_types)
