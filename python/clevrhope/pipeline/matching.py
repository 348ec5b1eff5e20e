"""Groups of two scenes that differ in the binding of two values, with the captions that tell them apart.

A group is a scene of two objects and the same scene with the values of one type exchanged: a red cube and a
blue sphere, a blue cube and a red sphere. Words and values are the same in both, so only their binding
matches an image with its caption.

Group k of `matching_iid` is group k of `matching_ood` with one of the held-out values replaced, so that the
pair is in no image. Places, rotations, camera, lights and all other values are the same.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from clevrhope._core import SceneBatch, World, edit_scenes, sample_scenes
from clevrhope.dataset.captions import MATCHING_IID, MATCHING_OOD
from clevrhope.errors import ConfigError, with_article
from clevrhope.splits.hops import Hop

POOL = "matching"
"""The stream of scenes of two objects, from which all held-out pairs take theirs."""

SCENES_AT_ONCE = 256

MOST_SCENES = 20
"""The most scenes, for each group that is wanted, among which groups are looked for."""

IMAGES, INDICES = 2, 4
"""Images that a place has in a split, and indices that are reserved for them in both splits."""


class CaptionedScene(NamedTuple):
    """A scene in CLEVR's form, and the caption that is true of it.

    Groups of one place share camera, lights, positions and all values that are not of the pair's types.
    """

    place: int
    caption: str
    scene: dict[str, Any]


Group = Sequence[CaptionedScene]


class MatchingGroups:
    """The groups of a held-out pair.

    Attributes:
        splits: the splits that the values allow: if each type has two values, every group shows the pair, so
            there is no `matching_iid`.
    """

    def __init__(self, hop: Hop, world: World, *, seed: int) -> None:
        """Takes a world whose scenes have two objects.

        Raises:
            ConfigError: a type has no other value than the held-out one.
        """
        self._hop, self._world, self._seed = hop, world, seed
        values = dict(world.attribute_types)
        self._free = {kind: [v for v in values[kind] if v != held_out] for kind, held_out in hop.target}
        if lone := next((kind for kind, free in self._free.items() if not free), None):
            raise ConfigError(f"{hop.name}: the world has only one {lone}, so objects cannot differ in it")
        self._replaceable = [kind for kind, free in self._free.items() if len(free) > 1]
        self.splits = (MATCHING_OOD, MATCHING_IID) if self._replaceable else (MATCHING_OOD,)

    def first(self, n: int) -> dict[str, list[Group]]:
        """The first n groups of each split; a smaller n yields a prefix.

        Raises:
            ConfigError: there are fewer among the scenes that are looked at.
        """
        found: list[Group] = []
        most = MOST_SCENES * n + SCENES_AT_ONCE
        for begin in range(0, most, SCENES_AT_ONCE):
            indices = np.arange(begin, begin + SCENES_AT_ONCE, dtype=np.uint64)
            drawn = sample_scenes(self._world, seed=self._seed, pool=POOL, indices=indices)
            found += self._placed([self._planned(json.loads(row)) for row in drawn.json_rows()])
            if len(found) >= n:
                return {
                    split: [group[IMAGES * k : IMAGES * (k + 1)] for group in found[:n]]
                    for k, split in enumerate(self.splits)
                }
        raise ConfigError(
            f"{self._hop.name}: {len(found):,} of {most:,} scenes of two objects can exchange values, but "
            f"{n:,} groups are wanted; take fewer with --groups"
        )

    def _placed(self, planned: Sequence[Group]) -> Iterator[Group]:
        """The images of each place with their coordinates; leaves out places where some image is impossible.

        An object of another size may stand too near to the other one, or hide it.
        """
        rows = [row for group in planned for row in group]
        content = json.dumps([row.scene for row in rows]).encode()
        scenes = SceneBatch.from_json(self._world.vocabulary, content, file=POOL)
        n = len(rows)
        edited, is_made = edit_scenes(
            self._world,
            scenes,
            np.arange(n, dtype=np.uint32),
            kept=np.full(n, 0b11, dtype=np.uint32),
            changes=np.full((n, 3), -1, dtype=np.int32),
            indices=np.asarray([row.scene["image_index"] for row in rows], dtype=np.uint64),
            pool=f"{self._hop.name}.{POOL}",
        )
        made = {scene["image_index"]: scene for scene in map(json.loads, edited.json_rows())}
        for group, are_made in zip(planned, is_made.reshape(len(planned), -1), strict=True):
            if are_made.all():
                yield [row._replace(scene=made[row.scene["image_index"]]) for row in group]

    def _planned(self, scene: dict[str, Any]) -> Group:
        """The images of a place in the splits' order, not yet placed with their values."""
        place, held_out = scene["image_index"], dict(self._hop.target)
        other = {kind: self._drawn(place, f"other {kind}", free) for kind, free in self._free.items()}
        objects_of = [(held_out, other)]
        if self._replaceable:
            kind = self._drawn(place, "replaced", self._replaceable)
            left = [value for value in self._free[kind] if value != other[kind]]
            objects_of.append(({**held_out, kind: self._drawn(place, "replacement", left)}, other))
        forward = (1, -1)
        order, images, words = (
            self._drawn(place, what, forward) for what in ("objects", "images", "caption")
        )
        rows: list[CaptionedScene] = []
        for one, two in objects_of:
            kind = self._hop.target[0][0]
            exchanged = ({**one, kind: two[kind]}, {**two, kind: one[kind]})
            for values in [(one, two), exchanged][::images]:
                caption = " and ".join([noun(each) for each in values][::words])
                items = [
                    {**item, **each} for item, each in zip(scene["objects"][::order], values, strict=True)
                ]
                index = INDICES * place + len(rows)
                rows.append(CaptionedScene(place, caption, {**scene, "objects": items, "image_index": index}))
        return rows

    def _drawn(self, place: int, what: str, choices: Sequence[Any]) -> Any:
        """A choice that depends only on the seed, the pair and the place."""
        text = f"{POOL} {self._seed} {self._hop.name} {place} {what}"
        number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
        return choices[number % len(choices)]


_WORD_ORDER = ("size", "color", "material", "shape")


def noun(values: Mapping[str, str]) -> str:
    """An object with these values, by type, as captions name it: "a red cube", "a small metal thing"."""
    words = [values[kind] for kind in _WORD_ORDER if kind in values]
    words += [] if "shape" in values else ["thing"]
    return with_article(" ".join(words))
