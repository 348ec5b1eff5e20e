"""Tasks for Inspect: `inspect eval clevrhope/hope -T dataset=out/small --model ...`.

Inspect imports this module whenever a task is looked up by name, so what reads datasets is imported in the
tasks. docs/vlms.md has an example.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    accuracy,
    grouped,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState

from clevrhope.errors import ClevrhopeError, PredictionsError
from clevrhope.replies import ReplyReader
from clevrhope.replies.instructions import Instruction, find_instruction
from clevrhope.runtime.settings import check_whole

if TYPE_CHECKING:
    from clevrhope.metrics.results import Results
    from clevrhope.metrics.results import Row as ResultRow

Attributes = dict[str, list[str]]
Row = Mapping[str, Any]


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


@task
def suite(
    dataset: str,
    suite: str,
    hop: str | Sequence[str] = (),
    split: str | Sequence[str] = (),
    limit: int | None = None,
    seed: int | None = None,
    instruction: str = "short",
) -> Task:
    """The pairs of a suite of paired tests, each question once; other arguments are those of `hope`.

    `suite` is carets, rad, holdout, visual, or the name of a suite or of paraphrases of one's own. `limit` is
    the maximum number of questions that the suite made on each test set; its tests take turns, and pairs of
    which only one question is drawn are left out.
    """
    return _task(dataset, hop, split, limit, seed, instruction, suite)


@task
def nonce(
    dataset: str,
    control: str | Sequence[str] = "none",
    limit: int | None = None,
    seed: int | None = None,
    instruction: str = "short",
    support: str = "message",
) -> Task:
    """Episodes with nonce words in both conditions, and their gap; other arguments are those of `hope`.

    `control` and `support` are those of `clevrhope ask`, several controls with commas. `limit` is the number
    of episodes of each condition, in whole groups.
    """
    return _task(dataset, (), (), limit, seed, instruction, controls=_names(control), support=support)


class TaskError(click.ClickException, ClevrhopeError):
    """A task cannot be made; Inspect's command line prints its message without a traceback."""


def _task(
    dataset: str,
    hop: str | Sequence[str],
    split: str | Sequence[str],
    limit: int | None,
    seed: int | None,
    instruction: str,
    suite: str | None = None,
    **of_episodes: Any,
) -> Task:
    from clevrhope.dataset.folder import Folder
    from clevrhope.metrics.task_requests import about_requests, answer_key, task_requests
    from clevrhope.pipeline.importing import dataset_of
    from clevrhope.runtime.progress import LOG

    if (limit is None) != (seed is None):
        raise TaskError("limit draws images by the seed: give both, or neither (-T limit=500 -T seed=1)")
    try:
        if limit is not None:
            check_whole("limit", limit, least=1)
        prompt = find_instruction(instruction)
        root = dataset_of(Path(dataset), LOG.info).resolve()
        chosen = of_episodes or {"hops": _names(hop), "splits": _names(split), "suite": suite}
        rows = task_requests(root, limit=limit, seed=seed or 0, **chosen)
        known = (
            ((answer_key(str(root)).answer(row), "") for row in rows)
            if of_episodes
            else about_requests(root, rows)
        )
        samples = [_sample(row, about, prompt) for row, about in zip(rows, known, strict=True)]
        of_world = Folder.open(root, finished=False).attributes
    except ClevrhopeError as error:
        raise TaskError(str(error)) from error
    attributes = {name: [*values] for name, values in of_world.items()}
    for sample in samples if suite or of_episodes else ():
        sample.metadata = {**(sample.metadata or {}), "dataset": str(root), "pairs_of": suite}
    of_kind = pairs if suite else episodes if of_episodes else correct
    return Task(
        dataset=MemoryDataset(samples, name=root.name),
        scorer=[of_kind(attributes), unread(attributes)],
    )


def _names(names: str | Sequence[str]) -> list[str]:
    return [*filter(None, names.split(","))] if isinstance(names, str) else [*names]


def _sample(row: Row, about: tuple[str, str], instruction: Instruction) -> Sample:
    from clevrhope.metrics.nonce_requests import messages
    from clevrhope.metrics.request_files import COPIED

    answer, image = about
    turns: list[ChatMessage] = []
    for role, parts in messages({**row, "prompt": instruction.after(row["question"])}):
        content: list[Any] = [
            ContentImage(image=part) if kind == "image" else ContentText(text=part) for kind, part in parts
        ]
        of_role = ChatMessageUser if role == "user" else ChatMessageAssistant
        turns.append(of_role(content=content))
    return Sample(
        id=row["id"],
        input=turns,
        target=answer,
        metadata={
            **{key: row[key] for key in ("question", "answers", "asked", *COPIED) if key in row},
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
def gaps() -> Metric:
    """`complex_gap` and `minimal_gap`: accuracy on the OOD minus that on the IID test set, from -1 to 1."""

    def compute(scores: list[SampleScore]) -> Value:
        return {f"{kind}_gap": _gap(scores, kind) for kind in ("complex", "minimal")}

    return compute


@metric(scores="unreduced")
def pair_scores() -> Metric:
    """What `clevrhope score --suite` gives, as fractions, for pairs with both questions answered.

    Each test set has all measures of pairs, those that papers report of the tests of the suite's paper, and
    those of crossings and groups (docs/predictions.md). Epochs are scored as runs, whose mean is given.
    """

    def compute(scores: list[SampleScore]) -> Value:
        from clevrhope.metrics.suite_groups import CAPABILITY
        from clevrhope.metrics.suites import score_suite
        from clevrhope.metrics.task_requests import answer_key

        found = {}

        def score(about: Row, predictions: Path) -> "Results":
            suite = about["pairs_of"]
            key = answer_key(about["dataset"], suite)
            return score_suite(key, suite, predictions, seed=0, bootstrap=0)

        for row, fraction in _scored(scores, score):
            reported = ("accuracy", "consistency", "both_right", "rad")
            of_test = row.part.by == CAPABILITY and row.measure in reported
            if of_test or row.part.by in ("", "crossings", "groups"):
                name = "/".join(filter(None, (row.hop, row.split, row.part.name, row.measure)))
                found[name] = fraction
        return found

    return compute


@metric(scores="unreduced")
def episode_scores() -> Metric:
    """What `clevrhope score` gives for episodes, as fractions: of all, and of each form and grid.

    Epochs are scored as runs, whose mean is given. `half_width` is that of the gap's 95% interval.
    """

    def compute(scores: list[SampleScore]) -> Value:
        from clevrhope.metrics.nonce import score_nonce

        def score(about: Row, predictions: Path) -> "Results":
            return score_nonce(about["dataset"], predictions, seed=0, bootstrap=0, partial=True)

        rows = _scored(scores, score)
        return {"/".join(filter(None, (row.part.name, row.measure))): fraction for row, fraction in rows}

    return compute


def _scored(
    scores: Sequence[SampleScore], score: Callable[[Row, Path], "Results"]
) -> Iterator[tuple["ResultRow", float]]:
    """The means over epochs that `clevrhope score` gives, as fractions; none if it cannot score yet."""
    from clevrhope.dataset.vocab import NO_ANSWER
    from clevrhope.metrics.predictions import write_predictions
    from clevrhope.metrics.request_files import COPIED

    if not scores:
        return
    rows = []
    for each in scores:
        about, of_reply = each.sample_metadata or {}, each.score.metadata or {}
        place = {key: about[key] for key in COPIED if key in about}
        answer = each.score.answer or NO_ANSWER
        rows.append({**place, "answer": answer, "run": str(of_reply["epoch"])})
    with TemporaryDirectory(prefix="clevrhope-") as folder:
        path = Path(folder) / "predictions.jsonl"
        write_predictions(path, rows)
        try:
            results = score(about, path)
        except PredictionsError:  # no pair has both answers yet
            return
    for row in results.rows():
        if row.is_mean:
            yield row, float("nan") if row.value is None else row.value / 100


@scorer(
    metrics=[
        grouped(accuracy(), "group", all=False),
        grouped(stderr(cluster="image"), "group", name_template="{group_name}_stderr", all=False),
        gaps(),
    ]
)
def correct(attributes: Attributes) -> Scorer:
    """Whether a reply gives the right answer, read as `clevrhope answers` reads it.

    Args:
        attributes: the values of each attribute of the dataset's world.
    """
    return _correctness(attributes)


@scorer(metrics=[episode_scores()])
def episodes(attributes: Attributes) -> Scorer:
    """As `correct`, with the scores of both conditions of episodes."""
    return _correctness(attributes)


@scorer(metrics=[pair_scores()])
def pairs(attributes: Attributes) -> Scorer:
    """As `correct`, with the scores of pairs."""
    return _correctness(attributes)


def _correctness(attributes: Attributes) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        answer = _read(state, attributes)
        return Score(
            value=float(answer == target.text),
            answer=answer or "",
            explanation=state.output.completion,
            metadata={"epoch": state.epoch},
        )

    return score


@scorer(metrics=[grouped(mean(), "group", all="samples")])
def unread(attributes: Attributes) -> Scorer:
    """Whether a reply gives no answer, or several; such a reply counts as wrong. As for `correct`."""

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
    texts = [about["question"], state.output.completion]
    if "control" in about:
        from clevrhope.metrics.task_requests import answer_key

        texts = [answer_key(about["dataset"]).in_real_words(about, text) for text in texts]
    return _READERS[key].read(*texts, asked=about.get("asked", ()))
