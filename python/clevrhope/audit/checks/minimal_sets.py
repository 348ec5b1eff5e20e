"""The check of minimal sets: the images of a group differ only in the pair's values, and one answer is yes.

A group shows an object at one place, once for each corner of a grid, which has two values of each held-out
attribute. Its questions and their answers follow from CLEVR-HOPE, section 3: each sentence is true of one of
its images. In a pool of shared places, all pairs' groups are at the same places; elsewhere a place has one
grid.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import product

from clevrhope.audit.checks.image_groups import TYPES, GroupImage, ImageGroups, Values
from clevrhope.audit.folder import AuditFolder, SplitPlace
from clevrhope.audit.report import Check
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SHARED_PLACES, SPLITS


class MinimalSets:
    """The one-object scenes of all minimal pools, and the check of the splits that use them."""

    def __init__(self, folder: AuditFolder, check: Check) -> None:
        self._folder, self._check = folder, check
        pools = dict.fromkeys((split.pool for split in folder.splits if split.is_minimal), 1)
        self.images = ImageGroups(pools, self._check)
        """Gets the scenes before `check` is called."""

    def check(self) -> None:
        """Reads the minimal splits."""
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

    def _check_places(self, pool: str, hop: Hop, places: Iterable[Sequence[GroupImage]]) -> None:
        """Checks that a place's images differ in the values of the pair's attributes, and in nothing else.

        Corners may be missing if only minimal_iid uses the pool, or if a set has few places. A shared place
        shows all objects, each once.
        """
        kinds = range(len(TYPES)) if pool == SHARED_PLACES else _kinds(hop)
        for images in places:
            held = {tuple(each.values[k] for k in kinds) for each in images}
            others = {tuple(v for k, v in enumerate(each.values) if k not in kinds) for each in images}
            problem = ""
            if len(others) != 1:
                problem = "images of one place differ in more than the pair's types"
            elif len(held) != len(images):
                problem = "two images of one place show the same values"
            elif pool != SHARED_PLACES and any(
                len({corner[k] for corner in held}) > 2 for k in range(len(kinds))
            ):
                problem = f"not a grid of {hop.corners} images"
            if problem:
                values = "; ".join(" ".join(each.values) for each in images)
                self._check.fault(f"scenes/{pool}", images[0].index, problem, values)

    def _check_split(self, split: SplitPlace, places: Mapping[str, Sequence[GroupImage]]) -> None:
        kinds = _kinds(split.hop)
        place_of = {each.index: (place, each.values) for place, images in places.items() for each in images}
        pair = tuple(value for _, value in split.hop.pair or ())
        yes, no = (self._folder.vocab.answers.get(answer, -1) for answer in ("yes", "no"))
        groups: dict[tuple[str, Values, bytes], list[tuple[int, Values, int, int]]] = defaultdict(list)
        n_no = 0
        with split.open() as arrays:
            words = arrays.tokens("questions", 0, len(arrays))
            columns = zip(
                arrays.columns["image_idxs"].tolist(), arrays.columns["answers"].tolist(), strict=True
            )
            for k, (index, answer) in enumerate(columns):
                n_no += answer == no
                if index in place_of:
                    place, values = place_of[index]
                    others = tuple(value for kind, value in enumerate(values) if kind not in kinds)
                    shown = tuple(values[kind] for kind in kinds)
                    groups[place, others, words[k].tobytes()].append((k, shown, index, answer))
            n = len(arrays)
        seen = self._folder.seen(split.hop) if split.hop.palette else None
        for questions in groups.values():
            self._check_group(split, questions, pair, seen, yes)
        corners = split.hop.corners
        ood = SPLITS[split.name].shown == "in one"
        if ood and corners * n_no != (corners - 1) * n:
            self._check.fault(
                split.file, None, f"not exactly {corners - 1} answers in {corners} are no", f"{n_no} of {n}"
            )

    def _check_group(
        self,
        split: SplitPlace,
        questions: Sequence[tuple[int, Values, int, int]],
        pair: Values,
        seen: Set[Values] | None,
        yes: int,
    ) -> None:
        """Checks that a question is asked once about each image of a grid, and is true of one of them.

        In distribution, the image that shows the pair, or what a palette does not have, is left out.
        `questions` have their number, the values of the pair's types in their image, the image, and the
        answer.
        """
        ood = SPLITS[split.name].shown == "in one"
        shown = [values for _, values, _, _ in questions]
        sides = [list(dict.fromkeys(values[k] for values in shown)) for k in range(len(pair))]
        corners = set(product(*sides))
        hidden = pair in corners if seen is None else not corners <= seen
        wanted = split.hop.corners - (not ood and hidden)
        problem = ""
        if len(questions) != wanted or len(set(shown)) != len(shown) or len(corners) != split.hop.corners:
            problem = f"not asked once about each of {wanted} images of a place"
        elif sum(answer == yes for *_, answer in questions) != 1:
            problem = "the answer is not yes for exactly one image of the place"
        elif ood:
            if next(values for _, values, _, answer in questions if answer == yes) != pair:
                problem = "the answer is yes for an image that does not show the pair"
        elif pair in shown:
            problem = "asked about an image that shows the pair"
        if problem:
            k = questions[0][0]
            with split.open() as arrays:
                self._check.fault(split.file, k, problem, self._folder.question(arrays, k))


def _kinds(hop: Hop) -> list[int]:
    return [TYPES.index(kind) for kind, _ in hop.pair or ()]
