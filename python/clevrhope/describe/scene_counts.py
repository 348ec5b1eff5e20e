"""Counts of what the scenes of a pool show, made from the native reader's arrays."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from clevrhope._core import AuditScenes
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.describe.measure import SceneCounts, count_scenes
from clevrhope.errors import DatasetError, SceneError


def read_scene_counts(shards: Sequence[Path], attributes: Mapping[str, Sequence[str]]) -> SceneCounts:
    """Counts the objects of every scene in a pool's files, on all cores.

    `attributes` are the world's attribute types with their values, as in the manifest.

    Raises:
        DatasetError: a file is missing or cut off, or a scene has values that are not in the world.
    """
    vocabulary = vocabulary_with(attributes)
    try:
        scenes = AuditScenes.read(vocabulary, list(shards))
    except SceneError as error:
        raise DatasetError(str(error)) from error
    return count_scenes(scenes.indices, scenes.n_objects, scenes.attributes, vocabulary.attribute_types)
