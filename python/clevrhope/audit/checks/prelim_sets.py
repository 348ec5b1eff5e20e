"""The check of preliminary sets: in each group or set, only the value that is asked for changes.

An existence group is two images of one object, and a counting set is six images of five objects. The images
of a group agree in positions, rotations, camera and lights, by which groups are recognised. The number of
objects in each image that have the value, and the answers, follow from CLEVR-HOPE, appendix B.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from clevrhope.audit.checks.image_groups import TYPES, GroupImage, ImageGroups
from clevrhope.audit.folder import AuditFolder, SplitPlace
from clevrhope.audit.report import Check
from clevrhope.splits.kinds import SPLITS

N_OBJECTS: Mapping[str, int] = {"groups": 1, "sets": 5}


@dataclass(frozen=True)
class _Question:
    """A question about an image of a group."""

    row: int
    image: GroupImage
    words: bytes
    answer: str


class PrelimSets:
    """The scenes of all preliminary pools, and the check of the splits that use them."""

    def __init__(self, folder: AuditFolder, check: Check) -> None:
        self._folder, self._check = folder, check
        n_objects = {
            split.pool: N_OBJECTS[SPLITS[split.name].drawn] for split in folder.splits if split.is_prelim
        }
        self.images = ImageGroups(n_objects, self._check)
        """Gets the scenes before `check` is called."""

    def check(self) -> None:
        """Reads the preliminary splits."""
        for pool, n_objects in self.images.n_objects.items():
            if n_objects == N_OBJECTS["sets"]:
                self._check_positions(pool)
        for split in self._folder.splits:
            if split.is_prelim:
                self._check_split(split)
        if not self.images.n_objects:
            self._check.skip("this folder has no questions about single values")

    def _check_positions(self, pool: str) -> None:
        """Checks that all images of a counting pool have their objects at the most common positions."""
        images = self.images.of(pool).values()
        counted = Counter(each.ground for each in images)
        usual = max(counted, key=counted.__getitem__, default=())
        for each in images:
            if each.ground != usual:
                problem = "objects are not at the same five positions as in the other images"
                self._check.fault(f"scenes/{pool}", each.index, problem, each.ground)

    def _check_split(self, split: SplitPlace) -> None:
        images = self.images.of(split.pool)
        answers = {number: name for name, number in self._folder.vocab.answers.items()}
        groups: dict[str, list[_Question]] = defaultdict(list)
        with split.open() as arrays:
            words = arrays.tokens("questions", 0, len(arrays))
            columns = (arrays.columns[name].tolist() for name in ("image_idxs", "answers"))
            for k, (index, answer) in enumerate(zip(*columns, strict=True)):
                if index in images:  # another check reports missing scenes
                    question = _Question(k, images[index], words[k].tobytes(), answers.get(answer, "?"))
                    groups[question.image.stage].append(question)
        for group in groups.values():
            problem, there = _problem(split, group)
            if problem:
                self._check.fault(split.file, group[0].row, problem, there)


def _problem(split: SplitPlace, group: Sequence[_Question]) -> tuple[str, str]:
    """The problem with a group, and the values that show it; empty if there is none."""
    ((kind, value),) = split.hop.target
    at = TYPES.index(kind)
    looks = [each.image.looks for each in group]
    shown = [sum(look[at] == value for look in each) for each in looks]
    answers = [each.answer for each in group]
    there = ", ".join(
        f"{n} of {len(each)}: {answer}" for n, each, answer in zip(shown, looks, answers, strict=True)
    )
    if len({each.words for each in group}) != 1:
        return "images of one group have different questions", there
    if SPLITS[split.name].drawn == "groups" and (shown, answers) != ([1, 0], ["yes", "no"]):
        return f"not two images, of which only the first shows {value}", there
    if SPLITS[split.name].drawn == "sets" and (shown, answers) != ([*range(6)], [str(n) for n in range(6)]):
        return f"not six images with 0, 1, ... 5 objects that are {value}, and these answers", there
    for before, after in pairwise(looks):
        changed = [
            (TYPES[k], old[k], new[k])
            for old, new in zip(before, after, strict=True)
            for k in range(len(TYPES))
            if old[k] != new[k]
        ]
        changes = "; ".join(f"{old} becomes {new}" for _, old, new in changed)
        if any(name != kind for name, _, _ in changed):
            return f"images of one group differ in more than {kind}", changes
        if len(changed) != 1:
            return "more than one object changes from one image to the next", changes
    return "", ""
