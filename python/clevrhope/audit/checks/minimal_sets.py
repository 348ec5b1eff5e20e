"""The check of minimal sets: the images of a group differ only in the pair's values, and one answer is yes.

A place is shown once for each corner of a grid, which has two values of each held-out attribute. Its
questions and their answers follow from CLEVR-HOPE, section 3: each sentence is true of one of its images.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from clevrhope.audit.checks.image_groups import TYPES, GroupImage, ImageGroups, Values
from clevrhope.audit.folder import AuditFolder, SplitPlace
from clevrhope.audit.report import Check
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS


class MinimalSets:
    """The one-object scenes of all minimal pools, and the check of the splits that use them."""

    def __init__(self, folder: AuditFolder) -> None:
        self._folder = folder
        self._check = Check(
            "minimal groups",
            "the images of a place differ in the pair's types alone; each question is asked about every "
            "image that it may be, and true of one; in the OOD set, all answers of a group but one are no",
            "images",
        )
        pools = dict.fromkeys((split.pool for split in folder.splits if split.is_minimal), 1)
        self.images = ImageGroups(pools, self._check)
        """Gets the scenes before `check` is called."""

    def check(self) -> Check:
        """Reads the minimal splits and returns the line of the report."""
        whole: set[str] = set()
        for split in self._folder.splits:
            if split.is_minimal and split.hop.pair:
                places = self.images.places(split.pool)
                if split.pool not in whole:
                    self._check_places(split.pool, split.hop, places.values())
                    whole.add(split.pool)
                self._check_split(split, places)
        if not self.images.n_objects:
            self._check.skip("this folder has no minimal sets")
        return self._check

    def _check_places(self, pool: str, hop: Hop, places: Iterable[Sequence[GroupImage]]) -> None:
        """Checks that a place's images differ in the values of the pair's attributes, and in nothing else.

        Corners may be missing if only minimal_iid uses the pool, or if a set has few places.
        """
        kinds = _kinds(hop)
        for images in places:
            held = {tuple(each.values[k] for k in kinds) for each in images}
            others = {tuple(v for k, v in enumerate(each.values) if k not in kinds) for each in images}
            sides = [{corner[k] for corner in held} for k in range(len(kinds))]
            problem = ""
            if len(others) != 1:
                problem = "images of one place differ in more than the pair's types"
            elif len(held) != len(images):
                problem = "two images of one place show the same values"
            elif len(images) > hop.corners or any(len(side) > 2 for side in sides):
                problem = f"not a grid of {hop.corners} images"
            if problem:
                values = "; ".join(" ".join(each.values) for each in images)
                self._check.fault(f"scenes/{pool}", images[0].index, problem, values)

    def _check_split(self, split: SplitPlace, places: Mapping[str, Sequence[GroupImage]]) -> None:
        place_of = {each.index: (place, each.values) for place, images in places.items() for each in images}
        pair = tuple((TYPES.index(kind), value) for kind, value in split.hop.pair or ())
        corners_of = {place: {each.index for each in images} for place, images in places.items()}
        with_pair = {
            place for place, images in places.items() if any(_holds(each.values, pair) for each in images)
        }
        yes, no = (self._folder.vocab.answers.get(answer, -1) for answer in ("yes", "no"))
        groups: dict[tuple[str, bytes], list[tuple[int, int, int]]] = defaultdict(list)
        n_no = 0
        with self._folder.open(split) as arrays:
            words = arrays.tokens("questions", 0, len(arrays))
            columns = zip(
                arrays.columns["image_idxs"].tolist(), arrays.columns["answers"].tolist(), strict=True
            )
            for k, (index, answer) in enumerate(columns):
                n_no += answer == no
                if index in place_of:
                    groups[place_of[index][0], words[k].tobytes()].append((k, index, answer))
            n = len(arrays)
        ood = SPLITS[split.name].shown == "in one"
        for (place, _), questions in groups.items():
            hidden = self._hidden(split, places[place]) if split.hop.palette else place in with_pair
            self._check_group(split, questions, place_of, pair, corners_of[place], hidden, yes)
        corners = split.hop.corners
        if ood and corners * n_no != (corners - 1) * n:
            self._check.fault(
                split.file, None, f"not exactly {corners - 1} answers in {corners} are no", f"{n_no} of {n}"
            )

    def _hidden(self, split: SplitPlace, images: Sequence[GroupImage]) -> bool:
        """Whether a corner of a place was not seen, according to the values of its images."""
        kinds = _kinds(split.hop)
        shown = [tuple(each.values[k] for k in kinds) for each in images]
        corners = set(product(*({values[k] for values in shown} for k in range(len(kinds)))))
        return not corners <= (self._folder.seen(split.hop) or frozenset())

    def _check_group(
        self,
        split: SplitPlace,
        questions: Sequence[tuple[int, int, int]],
        place_of: Mapping[int, tuple[str, Values]],
        pair: Sequence[tuple[int, str]],
        corners: set[int],
        hidden: bool,
        yes: int,
    ) -> None:
        """Checks that a question is asked once about each possible image, and is true of one of them."""
        ood = SPLITS[split.name].shown == "in one"
        shown = [index for _, index, _ in questions]
        wanted = split.hop.corners - (not ood and hidden)
        problem = ""
        if len(questions) != wanted or len(set(shown)) != len(shown) or not set(shown) <= corners:
            problem = f"not asked once about each of {wanted} images of a place"
        elif sum(answer == yes for _, _, answer in questions) != 1:
            problem = "the answer is not yes for exactly one image of the place"
        elif ood:
            matched = next(index for _, index, answer in questions if answer == yes)
            if not _holds(place_of[matched][1], pair):
                problem = "the answer is yes for an image that does not show the pair"
        elif any(_holds(place_of[index][1], pair) for index in shown):
            problem = "asked about an image that shows the pair"
        if problem:
            k = questions[0][0]
            with self._folder.open(split) as arrays:
                self._check.fault(split.file, k, problem, self._folder.question(arrays, k))


def _kinds(hop: Hop) -> list[int]:
    return [TYPES.index(kind) for kind, _ in hop.pair or ()]


def _holds(values: Values, pair: Sequence[tuple[int, str]]) -> bool:
    return bool(pair) and all(values[k] == value for k, value in pair)
