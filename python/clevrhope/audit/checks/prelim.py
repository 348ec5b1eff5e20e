"""Scenes and questions of single values in, whether nothing but the value changes in each group and set out.

A group of existence is two images of one object, a set of counting six of five objects, told apart by what
their images have in common: places, rotations, camera and lights. Which of them has the value how often,
and what has to be answered, follows from CLEVR-HOPE, appendix B.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from clevrhope.audit.checks.grouped import TYPES, GroupedImages, GroupImage
from clevrhope.audit.folder import AuditFolder, SplitPlace
from clevrhope.audit.report import Tally
from clevrhope.splits.kinds import SPLITS

N_OBJECTS: Mapping[str, int] = {"groups": 1, "sets": 5}


@dataclass(frozen=True)
class _Asked:
    """A question of a group."""

    row: int
    image: GroupImage
    words: bytes
    answer: str


class PrelimSets:
    """Collects the scenes of the preliminary pools."""

    def __init__(self, folder: AuditFolder) -> None:
        self._folder = folder
        self._tally = Tally(
            "preliminary sets",
            "in each group and set nothing changes but the value asked for; existence is true of one image "
            "of two; counting has 0 to 5 objects with the value, one by one, at the same five positions",
            "images",
        )
        n_objects = {
            split.pool: N_OBJECTS[SPLITS[split.name].drawn] for split in folder.splits if split.is_prelim
        }
        self.images = GroupedImages(n_objects, self._tally)
        """Takes the scenes, before `check`."""

    def check(self) -> Tally:
        """The line; reads the preliminary splits."""
        for pool, n_objects in self.images.n_objects.items():
            if n_objects == N_OBJECTS["sets"]:
                self._check_positions(pool)
        for split in self._folder.splits:
            if split.is_prelim:
                self._check_split(split)
        if not self.images.n_objects:
            self._tally.skip("no value is asked for alone in this folder")
        return self._tally

    def _check_positions(self, pool: str) -> None:
        """All images of a counting pool have their objects where most have them."""
        images = self.images.of(pool).values()
        counted = Counter(each.ground for each in images)
        usual = max(counted, key=counted.__getitem__, default=())
        for each in images:
            if each.ground != usual:
                problem = "objects are not at the five positions of the others"
                self._tally.fault(f"scenes/{pool}", each.index, problem, each.ground)

    def _check_split(self, split: SplitPlace) -> None:
        images = self.images.of(split.pool)
        answers = {number: name for name, number in self._folder.vocab.answers.items()}
        groups: dict[str, list[_Asked]] = defaultdict(list)
        with self._folder.open(split) as arrays:
            words = arrays.tokens("questions", 0, len(arrays))
            columns = (arrays.columns[name].tolist() for name in ("image_idxs", "answers"))
            for k, (index, answer) in enumerate(zip(*columns, strict=True)):
                if index in images:  # of one that is missing another check tells
                    asked = _Asked(k, images[index], words[k].tobytes(), answers.get(answer, "?"))
                    groups[asked.image.stage].append(asked)
        for group in groups.values():
            problem, there = _problem(split, group)
            if problem:
                self._tally.fault(split.file, group[0].row, problem, there)


def _problem(split: SplitPlace, group: Sequence[_Asked]) -> tuple[str, str]:
    """What is wrong with a group, and what is there; nothing where all is well."""
    ((kind, value),) = split.hop.target
    at = TYPES.index(kind)
    looks = [each.image.looks for each in group]
    shown = [sum(look[at] == value for look in each) for each in looks]
    answers = [each.answer for each in group]
    there = ", ".join(
        f"{n} of {len(each)}: {said}" for n, each, said in zip(shown, looks, answers, strict=True)
    )
    if len({each.words for each in group}) != 1:
        return "images of one group are asked different questions", there
    if SPLITS[split.name].drawn == "groups" and (shown, answers) != ([1, 0], ["yes", "no"]):
        return f"not two images, of which the first has {value} and the other has not", there
    if SPLITS[split.name].drawn == "sets" and (shown, answers) != ([*range(6)], [str(n) for n in range(6)]):
        return f"not six images with 0, 1, ... 5 objects that have {value}, and these answers", there
    for before, after in pairwise(looks):
        changed = [
            (TYPES[k], old[k], new[k])
            for old, new in zip(before, after, strict=True)
            for k in range(len(TYPES))
            if old[k] != new[k]
        ]
        told = "; ".join(f"{old} becomes {new}" for _, old, new in changed)
        if any(name != kind for name, _, _ in changed):
            return f"images of one group differ in more than {kind}", told
        if len(changed) != 1:
            return "more than one object changes from an image to the next", told
    return "", ""
