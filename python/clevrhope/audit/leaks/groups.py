"""The check of images that come in groups: what changes in a group, what is asked about it, and the answers.

The images of a group show their objects at the same positions, with the same rotations, to the same camera.

- Minimal sets (CLEVR-HOPE, section 3): an object at one place, once for each corner of a grid, which has two
  values of each held-out attribute. Each sentence is asked about every image of a grid that it may be, and is
  true of one. In a pool of shared places, all pairs' groups are at the same places.
- Existence (appendix B): two images of one object, of which the first shows the value that is asked for.
- Counting: six images of five objects, of which 0, 1, ... 5 show the value. From one image to the next, one
  object takes the value.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from clevrhope.audit.report import CheckResult, Found, where
from clevrhope.dataset.scene_files import MISSING, PoolScenes
from clevrhope.dataset.split_files import SplitArrays
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SHARED_PLACES, SPLITS

Values = tuple[str, ...]
Setting = tuple[int, bytes]
"""What the images of a group share: digest of positions and rotations, and the camera."""

N_OBJECTS: Mapping[str, int] = {"places": 1, "groups": 1, "sets": 5}
"""Number of objects in each image, by how a split is drawn."""


@dataclass(frozen=True)
class GroupQuestion:
    """A question about an image of a group, with the values of each object of the image."""

    row: int
    scene: int
    """Row of the image's scene in its pool."""
    setting: Setting
    looks: tuple[Values, ...]
    words: bytes
    answer: str


def check_groups(
    hop: Hop,
    split: str,
    arrays: SplitArrays,
    pool: PoolScenes,
    answers: Mapping[int, str],
    seen: Set[Values] | None,
    file: str,
    check: CheckResult,
) -> None:
    """Checks the groups of a split.

    Args:
        hop: what is held out.
        split: the split's name.
        arrays: its questions.
        pool: the scenes that they are about.
        answers: the names of answers by number.
        seen: the combinations of the pair's attributes that were seen; None if all but the pair were.
        file: path of the questions' file.
        check: the line of the report to which faults are added.
    """
    n_objects = N_OBJECTS[SPLITS[split].drawn]
    scenes = pool.rows(arrays.used)
    scenes = scenes[scenes != MISSING]  # another line reports missing scenes
    check.n_checked += len(scenes)
    n_shown = pool.native.n_objects[scenes]
    problem = f"not {n_objects} objects, like the pool's other images"
    check.add(f"scenes/{pool.name}", where(n_shown != n_objects, problem, n_shown), pool.indices[scenes])
    questions = list(_questions(arrays, pool, n_objects, answers))
    groups: dict[Setting, list[GroupQuestion]] = defaultdict(list)
    for question in questions:
        groups[question.setting].append(question)
    kinds = [kind for kind, _ in pool.types]
    of_pair = [kinds.index(kind) for kind, _ in hop.held_out or ()]
    for group in groups.values():
        if hop.held_out:
            looks = {question.scene: question.looks[0] for question in group}
            problem = _place_problem(
                [*looks.values()], range(len(kinds)) if pool.name == SHARED_PLACES else of_pair
            )
            if problem:
                values = "; ".join(map(" ".join, looks.values()))
                check.fault(f"scenes/{pool.name}", int(pool.indices[group[0].scene]), problem, values)
        else:
            problem, value = _prelim_problem(hop, split, kinds, group)
            if problem:
                check.fault(file, group[0].row, problem, value)
    if hop.held_out:
        check.add(file, _minimal(hop, questions, of_pair, seen, ood=SPLITS[split].shown == "in one"))


def _questions(
    arrays: SplitArrays, pool: PoolScenes, n_objects: int, answers: Mapping[int, str]
) -> Iterator[GroupQuestion]:
    """The questions about scenes that have so many objects."""
    ends, attributes = np.cumsum(pool.native.n_objects.astype(np.int64)), pool.native.attributes
    cameras, is_whole = pool.native.cameras, pool.native.n_objects == n_objects
    words = arrays.tokens("questions", 0, len(arrays))
    scenes = pool.rows(arrays.columns["image_idxs"]).tolist()
    for k, (scene, answer) in enumerate(zip(scenes, arrays.columns["answers"].tolist(), strict=True)):
        if scene != MISSING and is_whole[scene]:
            objects = attributes[ends[scene] - n_objects : ends[scene]].tolist()
            looks = tuple(
                tuple(values[number] for (_, values), number in zip(pool.types, numbers, strict=True))
                for numbers in objects
            )
            setting = (int(pool.places[scene]), cameras[scene].tobytes())
            yield GroupQuestion(k, scene, setting, looks, words[k].tobytes(), answers.get(answer, "?"))


def _place_problem(looks: Sequence[Values], kinds: Sequence[int]) -> str:
    """The problem with the images of a place, which differ only in the values of these attributes."""
    corners = {tuple(values[k] for k in kinds) for values in looks}
    if len({tuple(value for k, value in enumerate(values) if k not in kinds) for values in looks}) != 1:
        return "images of one place differ in more than the pair's types"
    if len(corners) != len(looks):
        return "two images of one place show the same values"
    if len(kinds) < len(looks[0]) and any(len(set(values)) > 2 for values in zip(*corners, strict=True)):
        return "not a grid of images"
    return ""


def _minimal(
    hop: Hop, questions: Sequence[GroupQuestion], kinds: Sequence[int], seen: Set[Values] | None, *, ood: bool
) -> Iterator[Found]:
    """A question is asked once about each image of a grid, and is true of one of them.

    In distribution, the image that shows the pair, or what a palette does not have, is left out.
    """
    pair = tuple(value for _, value in hop.held_out or ())
    groups: dict[tuple[Setting, Values, bytes], list[tuple[Values, GroupQuestion]]] = defaultdict(list)
    for question in questions:
        (values,) = question.looks
        others = tuple(value for k, value in enumerate(values) if k not in kinds)
        shown = tuple(values[k] for k in kinds)
        groups[question.setting, others, question.words].append((shown, question))
    for group in groups.values():
        shown_values = [values for values, _ in group]
        corners = set(product(*({values[k] for values in shown_values} for k in range(len(pair)))))
        hidden = pair in corners if seen is None else not corners <= seen
        wanted = hop.corners - (not ood and hidden)
        are_yes = [values for values, question in group if question.answer == "yes"]
        problem = ""
        if len(group) != wanted or len(set(shown_values)) != len(group) or len(corners) != hop.corners:
            problem = f"not asked once about each of {wanted} images of a place"
        elif len(are_yes) != 1:
            problem = "the answer is not yes for exactly one image of the place"
        elif ood and are_yes != [pair]:
            problem = "the answer is yes for an image that does not show the pair"
        elif not ood and pair in shown_values:
            problem = "asked about an image that shows the pair"
        if problem:
            answers = ", ".join(f"{' '.join(values)}: {question.answer}" for values, question in group)
            yield group[0][1].row, problem, answers
    n = len(questions)
    n_no = sum(question.answer == "no" for question in questions)
    if ood and hop.corners * n_no != (hop.corners - 1) * n:
        yield None, f"not exactly {hop.corners - 1} answers in {hop.corners} are no", f"{n_no} of {n}"


def _prelim_problem(
    hop: Hop, split: str, kinds: Sequence[str], group: Sequence[GroupQuestion]
) -> tuple[str, str]:
    """The problem with a group of images about one value, and the values that show it; empty if none."""
    ((kind, value),) = hop.target
    at = kinds.index(kind)
    images = [question.looks for question in group]
    shown = [sum(values[at] == value for values in objects) for objects in images]
    answers = [question.answer for question in group]
    in_images = ", ".join(f"{n} of {len(images[k])}: {answers[k]}" for k, n in enumerate(shown))
    if len({question.words for question in group}) != 1:
        return "images of one group have different questions", in_images
    if SPLITS[split].drawn == "groups" and (shown, answers) != ([1, 0], ["yes", "no"]):
        return f"not two images, of which only the first shows {value}", in_images
    if SPLITS[split].drawn == "sets" and (shown, answers) != ([*range(6)], [str(n) for n in range(6)]):
        return f"not six images with 0, 1, ... 5 objects that are {value}, and these answers", in_images
    for before, after in pairwise(images):
        changed = [
            (kinds[k], old[k], new[k])
            for old, new in zip(before, after, strict=True)
            for k in range(len(kinds))
            if old[k] != new[k]
        ]
        changes = "; ".join(f"{old} becomes {new}" for _, old, new in changed)
        if any(name != kind for name, _, _ in changed):
            return f"images of one group differ in more than {kind}", changes
        if len(changed) != 1:
            return "more than one object changes from one image to the next", changes
    return "", ""
