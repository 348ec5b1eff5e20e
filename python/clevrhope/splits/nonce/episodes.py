"""Episodes: in each, a support teaches nonce words, and one question asks about two of them together.

Episodes come in groups that share support, words and question; their scenes are matched and their answers
differ. Groups of all forms take turns, so that a smaller number of episodes is a prefix of a larger one. A
group is a function of the world's values, the seed, the form and a number. What a complex question asks also
depends on where objects are, so it is found when they are placed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np
import numpy.typing as npt

from clevrhope.errors import SplitError
from clevrhope.splits.nonce.draws import Draws
from clevrhope.splits.nonce.queries import MatchedScenes, matched_scenes
from clevrhope.splits.nonce.supports import (
    Slot,
    n_assignments,
    ordered_slots,
    support_slots,
    unnamed_values,
)
from clevrhope.splits.nonce.words import usable_words

Objects = npt.NDArray[np.int8]
Types = Sequence[tuple[str, Sequence[str]]]
"""Each attribute type of a world with its values."""

COMPLEX = "complex"
"""What a form asks whose questions are those of templates."""

OF_LAYOUT = -1
"""Instead of a value: it is drawn with the places of objects, anew for each attempt to find a question."""

N_A = 3
"""The number of values of A in every grid."""


@dataclass(frozen=True)
class Form:
    """A form of question on grids of one size.

    Attributes:
        asks: "exist", "count", "query" or "complex".
        n_b: the number of values of B; A has `N_A`.
        grids: the attribute types (A, B) that groups take in turn.
        n_objects: the numbers of objects of its scenes.
        answers: the answers of a group's scenes in their order; empty if they are values that a group draws.
    """

    asks: str
    n_b: int
    grids: tuple[tuple[str, str], ...]
    n_objects: tuple[int, ...]
    answers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name in files and tables, such as exist_3x2."""
        return f"{self.asks}_{N_A}x{self.n_b}"

    @property
    def n_scenes(self) -> int:
        """The number of a group's scenes."""
        return len(self.answers) or 2


_OF_SHAPES = (("color", "shape"),)
_OF_TWO_VALUES = (("color", "size"), ("color", "material"), ("shape", "size"), ("shape", "material"))

FORMS: tuple[Form, ...] = (
    Form("exist", 3, _OF_SHAPES, (4, 5, 6), ("no", "yes")),
    Form("exist", 2, _OF_TWO_VALUES, (4, 6), ("no", "yes")),
    Form("query", 3, _OF_SHAPES, (8,)),
    Form("count", 3, _OF_SHAPES, (8, 9), ("0", "1", "2")),
    Form(COMPLEX, 3, _OF_SHAPES, (8,), ("no", "yes")),
)
"""The forms of questions, in the order in which groups take turns."""


@dataclass(frozen=True)
class Group:
    """Episodes that share everything but the scene and the answer.

    Attributes:
        form: the form of their question.
        number: the group's number among those of its form.
        a: the number of the type A.
        b: the number of the type B.
        named: (type, value) of each word: the values of A, then those of B; the question is about the first
            of either.
        words: the nonce word of each of `named`.
        slots: the support's slots in order.
        support: (2, K, T) the values of the support's objects in `unseen` and in `seen`.
        scenes: (S, N, T) the values of the objects of each scene; `OF_LAYOUT` for those of types without
            words if the question is complex.
        answers: (S,) the answer to each scene; of a complex question, whose scenes may have to be reversed,
            once that is known.
        asked: the type that a query asks for; None for other forms.
    """

    form: Form
    number: int
    a: int
    b: int
    named: tuple[tuple[int, int], ...]
    words: tuple[str, ...]
    slots: tuple[Slot, ...]
    support: Objects
    scenes: Objects
    answers: tuple[str, ...]
    asked: int | None

    @property
    def name(self) -> str:
        """Its name among all groups of a stream, such as exist_3x3 12."""
        return f"{self.form.name} {self.number}"

    @cached_property
    def mentions(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For either condition, the numbers of the two words of each statement."""
        return tuple(
            tuple((cell[0], N_A + cell[1]) for cell in (slot[condition] for slot in self.slots))
            for condition in (0, 1)
        )


@dataclass(frozen=True)
class Episode:
    """One question: a scene of a group, with the group's support."""

    group: Group
    member: int
    """The number of its scene in the group."""

    @property
    def scene(self) -> Objects:
        """(N, T) the values of the scene's objects."""
        scene: Objects = self.group.scenes[self.member]
        return scene

    @property
    def answer(self) -> str:
        """The answer to the question."""
        return self.group.answers[self.member]


class EpisodeStream:
    """The endless stream of episodes of a world with a seed.

    Attributes:
        forms: the forms that the world's values allow, in the order of `FORMS`.
        missing: one sentence for each form or grid that they do not allow.
    """

    def __init__(self, types: Types, *, seed: int, told: bool = True, forms: Sequence[Form] = FORMS) -> None:
        """Opens the stream.

        Args:
            types: the world's attribute types and values.
            seed: from 0 to 2**64 - 1.
            told: whether an episode tells which words are for which attribute, so that few images suffice.
            forms: the forms that are wanted.

        Raises:
            SplitError: no form can be made of these values.
        """
        self.types, self.seed, self.told = tuple((kind, tuple(values)) for kind, values in types), seed, told
        self._names = [kind for kind, _ in self.types]
        self._n_values = [len(values) for _, values in self.types]
        self._grids: dict[Form, tuple[tuple[str, str], ...]] = {}
        self.missing: list[str] = []
        for form in forms:
            problems = {grid: self._problem(form, grid) for grid in form.grids}
            self.missing += [
                f"{form.name} of {grid[0]} and {grid[1]}: {problem}"
                for grid, problem in problems.items()
                if problem
            ]
            if grids := tuple(grid for grid, problem in problems.items() if not problem):
                self._grids[form] = grids
        self.forms = tuple(self._grids)
        if not self.forms:
            raise SplitError(f"no episodes can be made of this world's values: {'; '.join(self.missing)}")
        self._words = usable_words((value for _, values in self.types for value in values), least=N_A * 2)

    def episodes(self, first: int, n: int) -> list[Episode]:
        """The n episodes from number `first` on."""
        a_turn = sum(form.n_scenes for form in self.forms)
        turn, skipped = divmod(first, a_turn)
        found: list[Episode] = []
        for number in count(turn):
            for form in self.forms:
                found += self.of_group(form, number)
            if len(found) >= skipped + n:
                return found[skipped : skipped + n]
        return found

    def of_form(self, form: Form, n: int) -> Iterator[Episode]:
        """The first n episodes of one form."""
        for k in range(-(-n // form.n_scenes)):
            yield from self.of_group(form, k)[: n - k * form.n_scenes]

    def of_group(self, form: Form, number: int) -> list[Episode]:
        """The episodes of a group."""
        group = self.group(form, number)
        return [Episode(group, member) for member in range(form.n_scenes)]

    def group(self, form: Form, number: int) -> Group:
        """The group of a form with a number.

        Raises:
            SplitError: a constraint cannot be met; names it.
        """
        draws = Draws(self.seed, f"nonce {form.name}", number)
        grids = self._grids[form]
        turn, place = divmod(number, len(grids))
        a, b = (self._names.index(kind) for kind in grids[place])
        named = (
            *((a, value) for value in draws.sample(range(self._n_values[a]), N_A)),
            *((b, value) for value in draws.sample(range(self._n_values[b]), form.n_b)),
        )
        words = tuple(draws.sample(self._words, len(named)))
        slots = ordered_slots(support_slots(form.n_b, told=self.told), draws, first=turn % 2)
        matched = draws.choice(matched_scenes(form.asks, N_A, form.n_b, draws.choice(form.n_objects)))
        asked, sides = self._asked(form, (a, b), turn // 2, draws)
        support = np.empty((2, len(slots), len(self.types)), dtype=np.int8)
        for kind in self._unnamed(a, b):
            support[:, :, kind] = unnamed_values(
                slots, self._n_values[kind], draws, told=self.told, kind=self._names[kind]
            )
        for condition in (0, 1):
            for slot, kinds in enumerate(slots):
                i, j = kinds[condition]
                support[condition, slot, a], support[condition, slot, b] = named[i][1], named[N_A + j][1]
        scenes = self._scenes(matched, (a, b), named, asked, sides, draws)
        if form.asks == COMPLEX:
            scenes[:, :, self._unnamed(a, b)] = OF_LAYOUT
        answers = form.answers or tuple(self.types[asked][1][side] for side in sides if asked is not None)
        group = Group(form, number, a, b, named, words, slots, support, scenes, answers, asked)
        self._check_identified(group)
        return group

    def _asked(
        self, form: Form, grid: tuple[int, int], turn: int, draws: Draws
    ) -> tuple[int | None, tuple[int, ...]]:
        """The type that a query asks for, which take turns, and its two values in the order of answers."""
        if form.asks != "query":
            return None, ()
        able = [kind for kind in self._unnamed(*grid) if self._n_values[kind] > 1]
        asked = able[turn % len(able)]
        return asked, tuple(sorted(draws.sample(range(self._n_values[asked]), 2)))

    def _unnamed(self, a: int, b: int) -> list[int]:
        return [kind for kind in range(len(self.types)) if kind not in (a, b)]

    def _scenes(
        self,
        matched: MatchedScenes,
        grid: tuple[int, int],
        named: Sequence[tuple[int, int]],
        asked: int | None,
        sides: tuple[int, ...],
        draws: Draws,
    ) -> Objects:
        """(S, N, T) the scenes; an object has the same place in all, and the same unnamed values."""
        a, b = grid
        objects = draws.shuffled(range(len(matched.cells)))
        scenes = np.empty((len(matched.relabelings), len(objects), len(self.types)), dtype=np.int8)
        for kind in self._unnamed(a, b):
            for place, cell in enumerate(objects):
                scenes[:, place, kind] = (
                    sides[matched.sides[cell]] if kind == asked else draws.below(self._n_values[kind])
                )
        for scene, relabeling in zip(scenes, matched.relabelings, strict=True):
            for place, cell in enumerate(objects):
                i, j = matched.cells[cell]
                scene[place, a] = named[relabeling.a[i]][1]
                scene[place, b] = named[N_A + relabeling.b[j]][1]
        return scenes

    def _check_identified(self, group: Group) -> None:
        """Proves that exactly one assignment of words to values fits the support, in either condition."""
        types = [kind if self.told else None for kind, _ in group.named]
        for condition, said in zip(group.support, group.mentions, strict=True):
            n = n_assignments(condition.tolist(), said, types)
            if n != 1:
                raise SplitError(
                    f"group {group.name}: {n} assignments of words to values fit its "
                    "support; expected exactly one"
                )

    def _problem(self, form: Form, grid: tuple[str, str]) -> str:
        """Why a form cannot be made on a grid; "" if it can."""
        for kind, least in zip(grid, (N_A, form.n_b), strict=True):
            n = self._n_values[self._names.index(kind)] if kind in self._names else 0
            if n < least:
                return f"{kind} has {n} value{'s' * (n != 1)}; expected at least {least}"
        others = {kind: n for kind, n in zip(self._names, self._n_values, strict=True) if kind not in grid}
        if form.asks == "query" and max(others.values(), default=0) < 2:
            return f"a query asks for {' or '.join(others)}, which have one value each; expected two"
        short = [kind for kind, n in others.items() if n < 2]
        if not self.told and short:
            return f"{' and '.join(short)} has one value, which all images share; words of any type need two"
        return ""
