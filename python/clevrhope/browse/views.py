"""The content of pages on a question: its text, images with boxes, program steps, and related questions.

Each part is read separately. If a part cannot be read, the page says so and shows the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clevrhope.browse.folder import SiteFolder, SplitKey
from clevrhope.browse.models import Judged, Models
from clevrhope.browse.program_graph import ProgramGraph, Step, program_graph
from clevrhope.dataset.layout import image_filename
from clevrhope.dataset.nonce_text import in_real_words, statements_of
from clevrhope.dataset.question_kinds import ABSENT, PAIRS, RELATIONS, SET_PAIRS, TIERS
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.suite_pools import is_pixel_edit, parse_suite_pool
from clevrhope.errors import ClevrhopeError, DatasetError
from clevrhope.programs import Scene, SceneSet, TracedStep, trace
from clevrhope.runtime.reading import reading
from clevrhope.scenes.sketch import box_px, object_words
from clevrhope.splits.kinds import SHARED_PLACES, SPLITS
from clevrhope.splits.nonce.kinds import NONCE_SPLITS, TOLD, nonce_file

MOST_RELATIVES = 60
"""Maximum number of questions of a group or about the same image, and of pairs, that a page lists."""


@dataclass(frozen=True)
class Box:
    """An object of an image."""

    number: int
    words: str
    """Its values in words, such as "small red rubber cube"."""
    x: float
    """Like all coordinates here, in pixels of the raster of the scenes."""
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class ImageView:
    """An image, or a drawing of its scene."""

    pool: str
    index: int
    name: str
    place: int
    """Index in its set of images; 0 for questions about one image."""
    is_rendered: bool
    has_mask: bool
    boxes: Sequence[Box]
    scene: dict[str, Any] | None
    """The scene; None if it cannot be read or does not exist."""
    is_source: bool = False
    """Whether a question over several images was made on it."""
    fault: str = ""
    """The problem with its files; "" for none."""

    @property
    def alt(self) -> str:
        """The alternative text of the image, for readers who cannot see it."""
        kind = "Image" if self.is_rendered else "Sketch"
        if self.scene is None:
            return f"{kind} {self.name}"
        n = len(self.boxes)
        listed = "; ".join(f"{box.number}, {box.words}" for box in self.boxes)
        return f"{kind} {self.name} with {n} object{'s' * (n != 1)}: {listed}"


@dataclass(frozen=True)
class QuestionLine:
    """A question in a list."""

    place: SplitKey
    row: int
    text: str
    answer: str
    images: Sequence[tuple[str, int, bool]] = ()
    """Pool and index of each image, and whether it is rendered."""
    judged: Sequence[Judged] = ()
    fault: str = ""
    """The reason why the question cannot be read, in which case it has no text."""


@dataclass(frozen=True)
class QuestionView:
    """A question with everything that its page shows."""

    line: QuestionLine
    pool: str
    family: int
    template: str
    """The template's name if the kind of questions names its templates; else ""."""
    facts: Sequence[tuple[str, str]]
    """What else its kind says of a question, by name."""
    images: Sequence[ImageView]
    graph: ProgramGraph | None
    graph_fault: str
    lit: Step | None
    """The step whose objects are marked."""

    @property
    def is_executed(self) -> bool:
        """Whether the results of the steps are known."""
        return self.graph is not None and any(step.result for step in self.graph.steps)

    def is_lit(self, image: int, number: int) -> bool:
        """Whether an object is in the result of the marked step."""
        return self.lit is not None and (image, number) in self.lit.objects

    def shows_lit(self, image: int) -> bool:
        """Whether an image is in the result of the marked step."""
        return self.lit is not None and image in self.lit.images


@dataclass(frozen=True)
class SupportImage:
    """An image of an episode's support."""

    image: ImageView
    statement: str
    is_swapped: bool
    """Whether the other condition has another object here."""


@dataclass(frozen=True)
class EpisodeView:
    """What a page on an episode shows besides its question."""

    words: Mapping[str, Mapping[str, str]]
    """The types A and B -> their words with what these mean, the question's words first."""
    conditions: Mapping[str, Sequence[SupportImage]]
    types_are_told: bool
    others: Sequence[QuestionLine]
    """The episodes with the same support and question."""

    def plain(self, text: str) -> str:
        """A text in real words."""
        return in_real_words(text, {word: of[word] for of in self.words.values() for word in of})


@dataclass(frozen=True)
class GroupImage:
    """An image of a minimal group or a preliminary set, with the questions about it."""

    image: ImageView
    lines: Sequence[QuestionLine]
    is_current: bool


@dataclass(frozen=True)
class PairLine:
    """A pair of a suite in a list."""

    place: SplitKey
    number: int
    test: str
    tier: str
    relation: str
    original: QuestionLine
    partner: QuestionLine
    partner_is_shown: bool = False
    """Whether the page is about the partner, so that the other question is the original."""


class Views:
    """Reads the content of pages."""

    def __init__(self, folder: SiteFolder, models: Models) -> None:
        self._folder, self._models = folder, models

    def line(self, place: SplitKey, row: int) -> QuestionLine:
        """A question for a list; if it cannot be read, the line has the reason in place of the text."""
        try:
            reader, vocab = self._folder.reader(place)
            answer = vocab.answers()[int(reader.answers[row])]
            judged = self._models.judged(place, row, answer)
            questions, _ = reader.tokens(row)
            text = reader.sentence(row, questions[0])
        except DatasetError as error:
            return QuestionLine(place, row, "", "", fault=str(error))
        images = [
            (reader.pool, index, self._is_rendered(reader.pool, index)) for index in reader.images_of(row)
        ]
        return QuestionLine(place, row, text, answer, images, judged)

    def _is_rendered(self, pool: str, index: int) -> bool:
        """Whether there is an image; True if its file cannot be read, because requesting it says why."""
        try:
            return self._folder.is_rendered(pool, index)
        except DatasetError:
            return True

    def question(self, place: SplitKey, row: int, step: int | None) -> QuestionView:
        """A question with a step (from 1) marked; raises DatasetError if it cannot be read."""
        line = self.line(place, row)
        if line.fault:
            raise DatasetError(line.fault)
        reader, _ = self._folder.reader(place)
        source = int(reader.sources[row]) if "sources" in reader.kind.columns else None
        images = [
            self.image(reader.pool, index, at, is_source=at == source)
            for at, index in enumerate(reader.images_of(row))
        ]
        graph, fault = self._graph(place, row, images, of_sets=reader.kind.of_sets)
        steps = graph.steps if graph else ()
        family, names = int(reader.question_families[row]), reader.kind.columns["question_families"].names
        fields = [field for field in reader.kind.fields if field.column != "question_families"]
        return QuestionView(
            line=line,
            pool=reader.pool,
            family=family,
            template=str(reader.attributes[names][family]) if names else "",
            facts=[
                (name.replace("_", " "), str(value))
                for name, value in reader.said(fields, row).items()
                if value is not None
            ],
            images=images,
            graph=graph,
            graph_fault=fault,
            lit=steps[step - 1] if step and step <= len(steps) else None,
        )

    def image(self, pool: str, index: int, at: int = 0, *, is_source: bool = False) -> ImageView:
        """An image; its `fault` has any problem with its scene or files."""
        scene = None
        boxes: list[Box] = []
        faults = []
        try:
            is_rendered = self._folder.is_rendered(pool, index)
        except DatasetError as error:
            is_rendered = True
            faults.append(str(error))
        try:
            if self._folder.has_scenes(pool) and not (
                parse_suite_pool(pool) and is_pixel_edit(np.asarray([index]))[0]
            ):
                scene = self._folder.scene(pool, index)
                with reading(self._folder.layout.scenes(pool), "scenes whose objects have places"):
                    size_px = self._folder.manifest.raster_px
                    boxes = [_box(number, item, size_px) for number, item in enumerate(scene["objects"])]
        except DatasetError as error:
            scene, boxes = None, []
            faults.append(str(error))
        name = image_filename(pool, index)
        has_mask = self._folder.has_mask(pool, index)
        fault = "; ".join(faults)
        return ImageView(pool, index, name, at, is_rendered, has_mask, boxes, scene, is_source, fault)

    def _graph(
        self, place: SplitKey, row: int, images: Sequence[ImageView], *, of_sets: bool
    ) -> tuple[ProgramGraph | None, str]:
        """The program's graph, and any problem with the program or its execution."""
        try:
            nodes = self._folder.program(place, row)
        except ClevrhopeError as error:
            return None, str(error)
        steps: Sequence[TracedStep] = ()
        fault = ""
        scenes = [image.scene for image in images if image.scene is not None]
        if images and len(scenes) == len(images):
            vocabulary = self._folder.vocabulary
            try:
                with reading(self._folder.layout.scenes(images[0].pool), "scenes that programs run on"):
                    scene: Scene | SceneSet = (
                        SceneSet(scenes, vocabulary=vocabulary)
                        if of_sets
                        else Scene(scenes[0], vocabulary=vocabulary)
                    )
                    steps = trace(nodes, scene, vocabulary=vocabulary)
            except ClevrhopeError as error:
                fault = str(error)
        return program_graph(nodes, steps), fault

    def about_same_image(self, place: SplitKey, row: int) -> list[QuestionLine]:
        """The other questions of a split about a question's image; none for a set of images."""
        reader, _ = self._folder.reader(place)
        if reader.image_idxs.ndim > 1:
            return []
        rows = np.flatnonzero(reader.image_idxs == reader.image_idxs[row]).tolist()
        return [self.line(place, each) for each in rows[:MOST_RELATIVES] if each != row]

    def group(self, place: SplitKey, row: int) -> list[GroupImage]:
        """The images of a question's minimal group or preliminary set; empty if it has none."""
        hop, kind = self._folder.known_hop(place.hop), SPLITS.get(place.split)
        if hop is None or kind is None or kind.drawn == "stream" or place.suite is not None:
            return []
        size = kind.group_of(len(hop.target))
        reader, vocab = self._folder.reader(place)
        current = int(reader.image_idxs[row])
        if reader.pool == SHARED_PLACES:
            # Each group begins with the image that the question is true of.
            yes = vocab.answer_token_to_idx["yes"]
            group = np.cumsum(reader.answers == yes)
            rows = np.flatnonzero(group == group[row]).tolist()
        else:
            rows = np.flatnonzero(reader.image_idxs // size == current // size)[:MOST_RELATIVES].tolist()
        lines: dict[int, list[QuestionLine]] = {}
        for each in sorted(rows, key=lambda each: int(reader.image_idxs[each])):
            lines.setdefault(int(reader.image_idxs[each]), []).append(self.line(place, each))
        return [
            GroupImage(self.image(reader.pool, index), found, index == current)
            for index, found in lines.items()
        ]

    def episode(self, place: SplitKey, row: int) -> EpisodeView:
        """An episode in both conditions; raises DatasetError if either cannot be read."""
        with reading(self._folder.questions_path(place), "episodes that are in both conditions"):
            tables = [self._folder.reader(SplitKey(place.hop, split)) for split in NONCE_SPLITS]
            unseen, vocab = tables[0]
            names, numbers = vocab.questions(), zip(unseen.value_names, unseen.words[row], strict=True)
            words = {value: names[number] for value, number in numbers if number}
            types = {value: (kind, of) for kind, of in self._folder.attributes.items() for value in of}
            asked = [unseen.value_names[number] for number in unseen.pairs[row].tolist()]
            others: list[int] = []
            partner = int(unseen.partners[row])
            while partner not in (row, ABSENT, *others):
                others.append(partner)
                partner = int(unseen.partners[partner])
            swapped = (unseen.support_idxs[row] != tables[1][0].support_idxs[row]).tolist()
            conditions = {}
            for table, _ in tables:
                said = statements_of(table.in_nonce_words(row, table.statements[row]), vocab)
                cells = zip(table.support_idxs[row].tolist(), said, swapped, strict=False)
                conditions[nonce_file(table.split)] = [
                    SupportImage(self.image(table.support_pool, index), *cell) for index, *cell in cells
                ]
            of_types = {}
            for value in asked:
                kind, values = types[value]
                in_order = dict.fromkeys([value, *values])
                of_types[kind] = {words[each]: each for each in in_order if each in words}
            lines = [self.line(place, each) for each in others]
            return EpisodeView(of_types, conditions, unseen.types == TOLD, lines)

    def pairs_of(self, place: SplitKey, row: int) -> list[PairLine]:
        """The pairs of all suites in which a question of a split is the original or the partner.

        A suite that cannot be read is left out; the page of its pairs says why.
        """
        found: list[PairLine] = []
        for suite, splits in self._folder.suites(place.hop).items():
            if place.split not in splits or place.suite is not None:
                continue
            of_suite = SplitKey(place.hop, place.split, suite)
            try:
                reader = self.pair_reader(of_suite)
                rows = np.flatnonzero(reader.orig_idxs == row)[:MOST_RELATIVES].tolist()
            except DatasetError:
                continue
            found += [
                replace(self.pair_line(of_suite, each // 2), partner_is_shown=each % 2 == 1) for each in rows
            ]
        return found

    def pair_line(self, place: SplitKey, number: int) -> PairLine:
        """A pair of a suite; raises as `SiteFolder.reader` does."""
        reader = self.pair_reader(place)
        at = 2 * number
        return PairLine(
            place,
            number,
            reader.tests[int(reader.test[at])],
            TIERS[int(reader.tier[at])],
            RELATIONS[int(reader.relation[at])],
            self.line(place, at),
            self.line(place, at + 1),
        )

    def pair_reader(self, place: SplitKey) -> QuestionTable:
        """The questions of a suite's pairs; raises as `SiteFolder.reader` does."""
        reader, _ = self._folder.reader(place)
        if reader.kind not in (PAIRS, SET_PAIRS):
            raise DatasetError(f"{reader.path}: not a file of paired tests")
        return reader


def _box(number: int, item: dict[str, Any], size_px: tuple[int, int]) -> Box:
    left, top, right, bottom = (float(each) for each in box_px(item, size_px))
    left, top = max(left, 0.0), max(top, 0.0)
    right, bottom = min(right, float(size_px[0])), min(bottom, float(size_px[1]))
    return Box(number, object_words(item), left, top, right - left, bottom - top)
