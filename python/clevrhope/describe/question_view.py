"""One question of a dataset for a reader: text, answer, program with the result of each step, and images."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import Vocabulary
from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.contents import find_hop, find_split
from clevrhope.dataset.detokenizer import Detokenizer, ProgramNodes
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.folder_check import check_outside
from clevrhope.dataset.image_source import find_images
from clevrhope.dataset.layout import Layout, image_filename
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.mentions import mentions
from clevrhope.dataset.nonce_text import statements_of
from clevrhope.dataset.question_kinds import ABSENT, NONCE
from clevrhope.dataset.question_table import QuestionTable, open_split
from clevrhope.dataset.steps import StepWriter
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import ConfigError
from clevrhope.programs import Scene, SceneSet, TracedStep, trace
from clevrhope.questions import read_templates
from clevrhope.runtime.atomic import write_whole
from clevrhope.scenes.sketch import object_words
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SHARED_PLACES, SPLITS


@dataclass(frozen=True)
class ShownImage:
    """An image of a question.

    Attributes:
        index: the scene's index in its pool.
        name: the name of the image file.
        path: the path of its PNG file; None if the image is only in HDF5, or not rendered.
        objects: each object in words, such as "large red metal cube", by number.
    """

    index: int
    name: str
    path: Path | None
    objects: tuple[str, ...]


@dataclass(frozen=True)
class QuestionView:
    """A question with everything that is known about it.

    Attributes:
        hop: the HOP's name.
        split: the split's name.
        number: the question's index, from 0 to `n_questions` - 1.
        n_questions: number of questions of the split.
        text: the question.
        answer: the answer, in the spelling of the files.
        family: the question family, or the template of a question about several images.
        mention: whether it mentions the held-out pair, as a clause.
        group: its group of images, as a clause; "" if images are not grouped.
        images: one image, or up to five.
        steps: the program with the result of each step; none if published files lack program or scene.
        program: the program's functions in prefix order; "" if published files lack it.
        sentences: the steps of the answer in sentences, as `StepWriter` describes them.
        words: of an episode, the value that each nonce word stands for.
        support: of an episode, each statement of its support with the image that it is about.
    """

    hop: str
    split: str
    number: int
    n_questions: int
    text: str
    answer: str
    family: str
    mention: str
    group: str
    images: tuple[ShownImage, ...]
    steps: tuple[TracedStep, ...]
    program: str = ""
    sentences: Sequence[Mapping[str, Any]] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    support: tuple[tuple[str, ShownImage], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The whole view, for `--json`."""
        content = asdict(self)
        for image in (*content["images"], *(image for _, image in content["support"])):
            image["path"] = None if image["path"] is None else str(image["path"])
        return content

    def lines(self) -> list[str]:
        """The question as text."""
        lines = [
            f"{self.hop}/{self.split}, question {self.number} (of 0 to {self.n_questions - 1})",
            "",
            f"Question  {self.text}",
            f"Answer    {self.answer}",
            f"Family    {self.family}",
            f"Mention   {self.mention}",
            *([f"Group     {self.group}"] if self.group else []),
        ]
        if self.words:
            lines.append(f"Words     {', '.join(f'{word}: {value}' for word, value in self.words.items())}")
            lines += ["", "Support   each statement, and what its image shows"]
        for number, (statement, image) in enumerate(self.support):
            shown = f"{', '.join(image.objects)} ({image.path or image.name})"
            lines.append(f"  {number:>2}  {statement}  {shown}")
        for number, image in enumerate(self.images):
            head = f"Image {number}" if len(self.images) > 1 else "Image"
            lines += ["", f"{head:<9} {image.path or image.name}"]
            lines += [f"  {k:>2}  {words}" for k, words in enumerate(image.objects)]
        if not self.steps:
            return [*lines, "", f"Program   {self.program or 'not published'}"]
        of_sets = "; object 1.2 is object 2 of image 1" if len(self.images) > 1 else ""
        lines += ["", f"Program   each step by number, and what it returns{of_sets}"]
        calls = [step.call for step in self.steps]
        width = max(map(len, calls))
        for k, (call, step) in enumerate(zip(calls, self.steps, strict=True)):
            lines.append(f"  {k:>2}  {call:<{width}}  {self._result(step)}")
        if self.sentences:
            lines += ["", "Steps", *(f"  {sentence['text']}" for sentence in self.sentences)]
        return lines

    def _result(self, step: TracedStep) -> str:
        n_objects = sum(len(image.objects) for image in self.images)
        return f"all {n_objects} objects" if len(step.objects) == n_objects > 1 else step.result


def view_question(folder: Path, hop: str, split: str, number: int | None) -> QuestionView:
    """A question of a split.

    Args:
        folder: the dataset.
        hop: the HOP.
        split: the split, which may be about several images.
        number: the question's index; if it is None, the error says which indices exist.

    Raises:
        ConfigError: the folder lacks the HOP, the split or the question; the message says what it has.
        DatasetError: the folder is not a dataset, or one of its files is damaged.
    """
    layout = Layout(folder)
    hop = find_hop(layout, hop)
    split = find_split(layout, hop, split)
    vocab = read_vocab(layout.vocab_of(split))
    reader = open_split(layout, hop, split, vocab=vocab)
    if number is None or not 0 <= number < len(reader):
        given = "--question is missing" if number is None else f"--question: there is no question {number}"
        raise ConfigError(f"{given}; {hop}/{split} has questions 0 to {len(reader) - 1}")
    dataset = Folder.open(folder, finished=False)
    held_out, vocabulary = dataset.hop(hop), dataset.vocabulary
    questions, programs = reader.tokens(number)
    texts = Detokenizer(vocab).texts(questions[0], programs[0], int(reader.answers[number]))
    indices, of_sets = reader.images_of(number), reader.kind.of_sets
    steps: Sequence[TracedStep] = ()
    sentences: Sequence[Mapping[str, Any]] = ()
    if dataset.has_scenes(reader.pool):
        by_index = {scene["image_index"]: scene for scene in scenes_of(layout, reader.pool, _sorted(indices))}
        scenes = [by_index[index] for index in indices]
    else:
        scenes = [
            {"image_index": index, "image_filename": image_filename(reader.pool, index), "objects": []}
            for index in indices
        ]
    if texts["program_text"] and dataset.has_scenes(reader.pool):
        asked = (
            SceneSet(scenes, vocabulary=vocabulary) if of_sets else Scene(scenes[0], vocabulary=vocabulary)
        )
        (nodes,) = ProgramNodes(vocab, dataset.attributes).nodes(programs)
        steps = trace(nodes, asked, vocabulary=vocabulary)
        raster_px = dataset.manifest.raster_px
        writer = StepWriter(vocab, dataset.attributes, lambda index: json.dumps(by_index[index]), raster_px)
        sentences = json.loads(writer.write(programs, np.asarray([indices]))[0])
    spoken: dict[str, Any] = {"text": texts["question_text"]}
    if reader.kind is NONCE:
        spoken = _episode(layout, reader, vocab, number)
    return QuestionView(
        *(hop, split, number, len(reader), spoken.pop("text"), texts["answer_text"]),
        _family(dataset.manifest, vocabulary, reader, number),
        _mention(held_out, programs, vocab, vocabulary, of_sets=of_sets),
        "" if dataset.manifest.source else _group(held_out, split, reader.pool, indices[0]),
        tuple(_image(layout, reader.pool, scene) for scene in scenes),
        tuple(steps),
        texts["program_text"],
        sentences,
        **spoken,
    )


def _episode(layout: Layout, reader: QuestionTable, vocab: Vocab, number: int) -> dict[str, Any]:
    """An episode's question in its words, what these mean, and its support."""
    names, rows = vocab.questions(), reader.words[number].tolist()
    indices = [index for index in reader.support_idxs[number].tolist() if index != ABSENT]
    wanted = np.unique(np.asarray(indices, dtype=np.int32))
    scenes = {scene["image_index"]: scene for scene in scenes_of(layout, reader.support_pool, wanted)}
    images = [_image(layout, reader.support_pool, scenes[index]) for index in indices]
    statements = statements_of(reader.in_nonce_words(number, reader.statements[number]), vocab)
    return {
        "text": reader.sentence(number, reader.tokens(number)[0][0]),
        "words": {names[word]: value for word, value in zip(rows, reader.value_names, strict=True) if word},
        "support": tuple(zip(statements, images, strict=True)),
    }


def save_images(folder: Path, view: QuestionView, out: Path) -> list[Path]:
    """Writes the images of a question as PNG files, and returns their paths.

    Several images are numbered at the end of their names: `out` with -0, -1 and so on.

    Raises:
        ConfigError: the images are not rendered, `out` is not the name of a PNG file, or it is within the
            dataset's folder, where it could replace files.
        DatasetError: an image is missing or damaged, or a file cannot be written.
    """
    if out.suffix.lower() != ".png":
        raise ConfigError(f"--save: {out} should end in .png")
    check_outside(out, option="--save")
    layout = Layout(folder)
    pool = open_split(layout, view.hop, view.split, vocab=read_vocab(layout.vocab_of(view.split))).pool
    indices = [image.index for image in view.images]
    images = find_images(layout, pool, _sorted(indices), prefer="png")
    if images is None:
        raise ConfigError(
            f"--save: {folder} has no image of this question; "
            "run the dataset's build again without --no-render"
        )
    names = [out] if len(indices) == 1 else [out.with_stem(f"{out.stem}-{k}") for k in range(len(indices))]
    for index, path in zip(indices, names, strict=True):
        write_whole(path, images.png(index)(), option="--save")
    return names


def _sorted(indices: Sequence[int]) -> Any:
    return np.asarray(sorted(indices), dtype=np.int32)


def _family(manifest: Manifest, vocabulary: Vocabulary, reader: QuestionTable, number: int) -> str:
    """The family's name, such as one_hop 3; its number if the templates are not ours."""
    family = int(reader.question_families[number])
    if names := reader.kind.columns["question_families"].names:
        structure = reader.said(reader.kind.fields, number).get("structure")
        return f"{reader.attributes[names][family]}" + (f" ({structure})" if structure else "")
    if family < 0:
        return "not published"
    if manifest.source:
        return f"number {family}"
    templates = read_templates(vocabulary)
    if templates.fingerprint != manifest.templates["fingerprint"]:
        return f"number {family} of the dataset's own templates"
    known = {index: f"{file.removesuffix('.json')} {place}" for file, place, index in templates.families}
    return f"{known[family]} (number {family})"


def _mention(hop: Hop, programs: Any, vocab: Vocab, vocabulary: Vocabulary, *, of_sets: bool) -> str:
    if not hop.target:
        return "nothing is held out"
    what = "the held-out pair" if hop.held_out else "the value"
    is_there = mentions(programs, vocab, vocabulary, hop.target, of_sets=of_sets)[0]
    return f"{what} ({hop.words}) is {'' if is_there else 'not '}mentioned"


def _group(hop: Hop, split: str, pool: str, index: int) -> str:
    """The image's position in its group, as a clause; "" if images are not grouped, or are in many groups."""
    kind = SPLITS.get(split)
    if kind is None or kind.drawn == "stream" or pool == SHARED_PLACES:
        return ""
    size = kind.group_of(len(hop.target))
    noun = {"places": "place", "groups": "group", "sets": "set"}[kind.drawn]
    return f"{noun} {index // size}, image {index % size} (of 0 to {size - 1})"


def _image(layout: Layout, pool: str, scene: Mapping[str, Any]) -> ShownImage:
    index = int(scene["image_index"])
    path = layout.image(pool, index)
    objects = tuple(map(object_words, scene["objects"]))
    return ShownImage(index, str(scene["image_filename"]), path if path.is_file() else None, objects)
