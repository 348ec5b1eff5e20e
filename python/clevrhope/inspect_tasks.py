"""Tasks for Inspect: `inspect eval clevrhope/hope -T dataset=out/small --model ...`.

Inspect imports this module whenever a task is looked up by name, so what reads datasets is imported in the
tasks. docs/vlms.md has an example.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    accuracy,
    grouped,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState

from clevrhope.replies import ReplyReader
from clevrhope.replies.instructions import Instruction, find_instruction

Attributes = dict[str, list[str]]

_FOLDERS: list[TemporaryDirectory[str]] = []
"""Of images that a dataset has in HDF5 alone; they are removed when the program ends."""


@task
def hope(
    dataset: str,
    hop: str | Sequence[str] = (),
    split: str | Sequence[str] = (),
    limit: int | None = None,
    seed: int | None = None,
    instruction: str = "short",
) -> Task:
    """Questions about one image, with gaps between test sets without and with the held-out pair.

    Args:
        dataset: a dataset's folder, or published files.
        hop: the held-out pairs; all if none is named.
        split: the test sets; all if none is named.
        limit: maximum number of questions of each test set, about drawn images.
        seed: seed for drawing images; needed with `limit`.
        instruction: short, think, or a text file with what follows each question.
    """
    return _task(dataset, hop, split or (), limit, seed, instruction)


@task
def covr(
    dataset: str,
    hop: str | Sequence[str] = (),
    split: str | Sequence[str] = "covr_test",
    limit: int | None = None,
    seed: int | None = None,
    instruction: str = "short",
) -> Task:
    """Questions about up to five images; arguments are those of `hope`."""
    return _task(dataset, hop, split, limit, seed, instruction)


def _task(
    dataset: str,
    hop: str | Sequence[str],
    split: str | Sequence[str],
    limit: int | None,
    seed: int | None,
    instruction: str,
) -> Task:
    from clevrhope.dataset.folder import Folder
    from clevrhope.errors import ConfigError
    from clevrhope.metrics.request_files import read_requests, write_requests
    from clevrhope.pipeline.importing import dataset_of

    if limit is not None and seed is None:
        raise ConfigError("limit draws images: give a seed, too (-T seed=1)")
    root = dataset_of(Path(dataset), print)
    _FOLDERS.append(TemporaryDirectory(prefix="clevrhope-"))
    requests = Path(_FOLDERS[-1].name) / "requests.jsonl"
    write_requests(root, requests, hops=_names(hop), splits=_names(split), limit=limit, seed=seed or 0)
    rows = list(read_requests(requests))
    prompt = find_instruction(instruction)
    samples = [_sample(row, about, prompt) for row, about in zip(rows, _about(root, rows), strict=True)]
    attributes = {name: [*values] for name, values in Folder.open(root, finished=False).attributes.items()}
    return Task(
        dataset=MemoryDataset(samples, name=Path(dataset).resolve().name),
        scorer=[correct(attributes), unread(attributes)],
    )


def _names(names: str | Sequence[str]) -> list[str]:
    return [*filter(None, names.split(","))] if isinstance(names, str) else [*names]


def _about(root: Path, rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The right answer and the image of each request; of a set, the image that the question was made for."""
    from clevrhope.dataset.layout import Layout
    from clevrhope.dataset.question_table import open_split
    from clevrhope.dataset.vocab import read_vocab
    from clevrhope.metrics.answer_key import drawn_images

    layout, answers, images = Layout(root), dict[tuple[str, str], list[str]](), {}
    for row in rows:
        place = (row["hop"], row["split"])
        if place not in answers:
            vocab = read_vocab(layout.vocab_of(row["split"]))
            table = open_split(layout, *place, vocab=vocab)
            names = vocab.answers()
            answers[place] = [names[number] for number in table.answers.tolist()]
            images[place] = [f"{table.pool}/{index}" for index in drawn_images(table).tolist()]
        number = row["question_index"]
        yield answers[place][number], images[place][number]


def _sample(row: Mapping[str, Any], about: tuple[str, str], instruction: Instruction) -> Sample:
    answer, image = about
    paths = row["images"] if "images" in row else [row["image"]]
    content: list[Any] = [*(ContentImage(image=path) for path in paths)]
    content.append(ContentText(text=instruction.after(row["question"])))
    of_row = {key: row[key] for key in ("question", "hop", "split", "answers", "asked") if key in row}
    return Sample(
        id=row["id"],
        input=[ChatMessageUser(content=content)],
        target=answer,
        metadata={
            **of_row,
            "group": f"{row['hop']}/{row['split']}",
            "image": image,
            "instruction": instruction.label,
        },
    )


def _gap(scores: Sequence[SampleScore], kind: str) -> float:
    """OOD minus IID accuracy, from -1 to 1, a mean over held-out pairs; NaN without both test sets."""
    by_group: dict[tuple[str, str], list[float]] = {}
    for each in scores:
        about = each.sample_metadata or {}
        by_group.setdefault((about["hop"], about["split"]), []).append(each.score.as_float())
    means = {group: sum(values) / len(values) for group, values in by_group.items()}
    gaps = [
        means[hop, f"{kind}_ood"] - means[hop, f"{kind}_iid"]
        for hop, split in means
        if split == f"{kind}_ood" and (hop, f"{kind}_iid") in means
    ]
    return sum(gaps) / len(gaps) if gaps else float("nan")


@metric
def complex_gap() -> Metric:
    """Accuracy on complex_ood minus that on complex_iid, from -1 to 1."""

    def compute(scores: list[SampleScore]) -> float:
        return _gap(scores, "complex")

    return compute


@metric
def minimal_gap() -> Metric:
    """Accuracy on minimal_ood minus that on minimal_iid, from -1 to 1."""

    def compute(scores: list[SampleScore]) -> float:
        return _gap(scores, "minimal")

    return compute


@scorer(
    metrics=[
        grouped(accuracy(), "group", all=False),
        grouped(stderr(cluster="image"), "group", name_template="{group_name}_stderr", all=False),
        complex_gap(),
        minimal_gap(),
    ]
)
def correct(attributes: Attributes) -> Scorer:
    """Whether a reply gives the right answer, read as `clevrhope answers` reads it.

    Args:
        attributes: the values of each attribute of the dataset's world.
    """

    async def score(state: TaskState, target: Target) -> Score:
        answer = _read(state, attributes)
        reply = state.output.completion
        return Score(value=float(answer == target.text), answer=answer or "", explanation=reply)

    return score


@scorer(metrics=[grouped(mean(), "group", all="samples")])
def unread(attributes: Attributes) -> Scorer:
    """Whether a reply gives no answer, or several; such a reply counts as wrong.

    Args:
        attributes: the values of each attribute of the dataset's world.
    """

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=float(_read(state, attributes) is None))

    return score


_READERS: dict[str, ReplyReader] = {}
"""Readers by the world's values and answers."""


def _read(state: TaskState, attributes: Attributes) -> str | None:
    about = state.metadata
    key = repr((attributes, about["answers"]))
    if key not in _READERS:
        _READERS[key] = ReplyReader(about["answers"], attributes)
    return _READERS[key].read(about["question"], state.output.completion, asked=about.get("asked", ()))
