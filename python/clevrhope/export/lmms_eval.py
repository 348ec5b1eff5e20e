"""Export as tasks of lmms-eval, which evaluates vision-language models.

    <hop>.yaml, <hop>.parquet             a task, and the questions of all its test sets with their images
    <hop>.covr.yaml, <hop>.covr.parquet   the same for questions over several images
    nonce.yaml, nonce.jsonl               the same for episodes with nonce words, as requests that name images
    nonce_<control>.yaml, .jsonl          the same for their controls
    nonce_images/                         the images of episodes, each once
    utils.py                              what the tasks call, which scores replies with clevrhope.rewards
    README.md                             the command

A task reads one split of its data, so the test sets are a column, by which its metrics are named; a gap could
not be computed over several tasks. Paths in a task are relative to where lmms-eval is started.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrhope.dataset.question_kinds import IMAGE, NONCE, Field
from clevrhope.errors import ConfigError
from clevrhope.export.parquet import schema_of, write_table
from clevrhope.export.readme import write_readme
from clevrhope.export.source import ExportSource, Sample, SplitSource
from clevrhope.metrics.answer_key import drawn_images
from clevrhope.metrics.episodes import N_PROBES, Episodes
from clevrhope.metrics.nonce_requests import LIST, NonceRequests, messages
from clevrhope.metrics.request_files import asked_answers
from clevrhope.pages import render_page
from clevrhope.replies.instructions import INSTRUCTIONS
from clevrhope.runtime.progress import Advance
from clevrhope.splits.kinds import SYSTEMATICITY_GAPS
from clevrhope.splits.nonce.kinds import NONCE_SPLITS, TEST, control_split

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS = (
    *(Field(name, "", "") for name in ("id", "question", "answer", "hop", "split", "source")),
    *(Field(name, "", "", several=True) for name in ("answers", "asked")),
    Field("images", "", "", IMAGE, several=True),
)
"""docs/export.md says what they hold."""

_REPEATED = ("images.list.element.bytes", "answers.list.element", "asked.list.element")

_INSTRUCTION = INSTRUCTIONS["short"]


def write(source: ExportSource, out: Path, advance: Advance) -> None:
    """Writes a task for each table of questions, or control of episodes, and what they share.

    Raises:
        ConfigError: episodes are exported in one condition alone.
    """
    tasks: list[str] = []
    schema = schema_of(_COLUMNS, {})
    for name, splits in source.by_config().items():
        if splits[0].kind is NONCE:
            tasks += _write_episodes(source, len(splits), out, advance)
            continue
        parts = [(split.samples(whole=False), _rows(source, split, schema)) for split in splits]
        write_table(out / f"{name}.parquet", schema, parts, advance, repeated=_REPEATED)
        names = [split.split for split in splits]
        gaps = [
            f"{gap}_gap" for gap, kind in SYSTEMATICITY_GAPS.items() if {kind.baseline, kind.name} <= {*names}
        ]
        tasks.append(_write_task(out / f"{name}.parquet", names, gaps))
    utils = render_page("exports/lmms_eval_utils.txt", attributes=source.manifest.world["attributes"])
    (out / "utils.py").write_text(utils, "utf-8")
    write_readme(source, out, "lmms_eval", tasks=tasks)


def _write_task(data: Path, splits: Sequence[str], gaps: Sequence[str]) -> str:
    """Writes the task of a file of questions, whose metrics are splits and gaps; returns its name."""
    task = f"clevrhope_{data.stem.replace('.', '_')}"
    about = {"task": task, "file": data, "splits": splits, "gaps": gaps, "instruction": _INSTRUCTION}
    data.with_suffix(".yaml").write_text(render_page("exports/lmms_eval.yaml", **about), "utf-8")
    return task


def _write_episodes(source: ExportSource, n_conditions: int, out: Path, advance: Advance) -> Iterator[str]:
    """Writes images and requests of episodes, and a task for each control; yields the tasks' names."""
    root = source.layout.root
    if n_conditions < len(NONCE_SPLITS):
        raise ConfigError(
            f"--format lmms-eval gives the gap between {' and '.join(NONCE_SPLITS)}; name both with --splits"
        )
    controls = Episodes(root).controls if source.rendered else ("text",)
    requests = NonceRequests(root, controls, seed=0, support=LIST, instruction=_INSTRUCTION)
    rows = requests.rows(out / "nonce.jsonl", copied=True)
    for control, of_control in groupby(rows, itemgetter("control")):
        data = out / f"{control_split('nonce', control)}.jsonl"
        with data.open("w", encoding="utf-8") as file:
            for row in of_control:
                file.write(f"{json.dumps(_document(requests.episodes, row))}\n")
                advance(control == controls[0])
        splits = [control_split(split, control) for split in NONCE_SPLITS]
        yield _write_task(data, splits, ["nonce_gap"] if control == TEST else [])


def _document(episodes: Episodes, request: Mapping[str, Any]) -> dict[str, Any]:
    """A request with its text and images, the right answer, and what the episode's words mean."""
    row = request["question_index"] // (N_PROBES if request["control"] == "words" else 1)
    ((_, parts),) = messages({**request, "prompt": request["question"]})
    return {
        **request,
        "text": parts[-1][1],
        "images": [content for kind, content in parts if kind == "image"],
        "answer": episodes.answer(request),
        "real_words": [f"{word}: {value}" for word, value in episodes.meanings(row).items()],
        "source": f"group {episodes.groups[row]}",
    }


def _rows(source: ExportSource, split: SplitSource, schema: "pa.Schema") -> Callable[..., "pa.Table"]:
    """What makes the rows of a split's samples."""
    import pyarrow as pa

    attributes, answers = source.manifest.world["attributes"], split.answer_names
    images = drawn_images(split.reader).tolist()

    def rows(group: Sequence[Sample]) -> "pa.Table":
        found = [
            {
                "id": f"{split.hop}/{split.split}/{each.index}@{source.manifest.digest}",
                "question": each.text,
                "answer": each.answer,
                "hop": split.hop,
                "split": split.split,
                "source": f"{split.reader.pool}/{images[each.index]}",
                "answers": answers,
                "asked": asked_answers(each.program, answers, attributes) if split.kind.of_sets else [],
                "images": [
                    {"bytes": image.png, "path": image.filename} for image in sample.images if image.png
                ],
            }
            for sample in group
            for each in sample.questions
        ]
        return pa.Table.from_pylist(found, schema=schema)

    return rows
