"""Export as tasks of lmms-eval, which evaluates vision-language models.

    <hop>.yaml, <hop>.parquet             a task, and the questions of all its test sets with their images
    <hop>.covr.yaml, <hop>.covr.parquet   the same for questions over several images
    utils.py                              what the tasks call, which scores replies with clevrhope.rewards
    README.md                             the command

A task reads one split of its data, so the test sets are a column, by which its metrics are named; a gap could
not be computed over several tasks. Paths in a task are relative to where lmms-eval is started.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clevrhope.dataset.question_kinds import IMAGE, Field
from clevrhope.export.parquet import schema_of, write_table
from clevrhope.export.readme import write_readme
from clevrhope.export.source import ExportSource, Sample, SplitSource
from clevrhope.metrics.answer_key import drawn_images
from clevrhope.metrics.request_files import asked_answers
from clevrhope.pages import render_page
from clevrhope.replies.instructions import INSTRUCTIONS
from clevrhope.runtime.progress import Advance
from clevrhope.splits.kinds import SYSTEMATICITY_GAPS

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS = (
    *(Field(name, "", "") for name in ("id", "question", "answer", "hop", "split", "source")),
    *(Field(name, "", "", several=True) for name in ("answers", "asked")),
    Field("images", "", "", IMAGE, several=True),
)
"""docs/export.md says what they hold."""

_REPEATED = ("images.list.element.bytes", "answers.list.element", "asked.list.element")


def write(source: ExportSource, out: Path, advance: Advance) -> None:
    """Writes a task for each table of questions, and what they share."""
    tasks, schema = [], schema_of(_COLUMNS, {})
    for name, splits in source.by_config().items():
        names = [split.split for split in splits]
        tasks.append(f"clevrhope_{name.replace('.', '_')}")
        parts = [(split.samples(whole=False), _rows(source, split, schema)) for split in splits]
        write_table(out / f"{name}.parquet", schema, parts, advance, repeated=_REPEATED)
        task = render_page(
            "exports/lmms_eval.yaml",
            task=tasks[-1],
            table=name,
            splits=names,
            gaps=[
                f"{gap}_gap"
                for gap, kind in SYSTEMATICITY_GAPS.items()
                if {kind.baseline, kind.name} <= {*names}
            ],
            instruction=INSTRUCTIONS["short"],
        )
        (out / f"{name}.yaml").write_text(task, "utf-8")
    utils = render_page("exports/lmms_eval_utils.txt", attributes=source.manifest.world["attributes"])
    (out / "utils.py").write_text(utils, "utf-8")
    write_readme(source, out, "lmms_eval", tasks=tasks, file=f"{name}.parquet")


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
