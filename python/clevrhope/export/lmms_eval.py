"""Export as tasks of lmms-eval, which evaluates vision-language models.

    <hop>.yaml, <hop>.parquet             a task, and the questions of all its test sets with their images
    <hop>.covr.yaml, <hop>.covr.parquet   the same for questions over several images
    utils.py                              what the tasks call, which scores replies with clevrhope.rewards
    README.md                             the command

A task reads one split of its data, so the test sets are a column, by which its metrics are named; a gap could
not be computed over several tasks. Paths in a task are relative to where lmms-eval is started.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clevrhope.dataset.question_kinds import IMAGE, Field
from clevrhope.export.parquet import IMAGES_A_GROUP, schema_of, table_writer, write_groups
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
    Field("id", "", "as in requests of `clevrhope ask`"),
    Field("images", "", "the images, in the question's order", IMAGE, several=True),
    Field("question", "", "the question in English"),
    Field("answer", "", "the answer in words"),
    Field("answers", "", "all answers that are allowed", several=True),
    Field("asked", "", "of several images, the answers among which the question asks", several=True),
    Field("hop", "", "the held-out pair"),
    Field("split", "", "the test set"),
    Field("source", "", "the image that the question was made for, by which errors are clustered"),
)
_REPEATED = ("images.list.element.bytes", "answers.list.element", "asked.list.element")


def write(source: ExportSource, out: Path, advance: Advance) -> None:
    """Writes a task for each table of questions, and what they share."""
    tasks = []
    for name, splits in source.by_config().items():
        names = [split.split for split in splits]
        sides = {name: {kind.baseline, kind.name} for name, kind in SYSTEMATICITY_GAPS.items()}
        tasks.append(f"clevrhope_{name.replace('.', '_')}")
        schema = schema_of(_COLUMNS, {})
        with table_writer(out / f"{name}.parquet", schema, _REPEATED) as writer:
            for split in splits:
                table = _Table(source, split, schema)
                write_groups(writer, split.samples(whole=False), table.rows, advance, IMAGES_A_GROUP)
        task = render_page(
            "exports/lmms_eval.yaml",
            task=tasks[-1],
            table=name,
            splits=names,
            gaps=[f"{gap}_gap" for gap in sides if sides[gap] <= {*names}],
            instruction=INSTRUCTIONS["short"],
        )
        (out / f"{name}.yaml").write_text(task, "utf-8")
    utils = render_page("exports/lmms_eval_utils.txt", attributes=source.manifest.world["attributes"])
    (out / "utils.py").write_text(utils, "utf-8")
    write_readme(source, out, "lmms_eval", tasks=tasks, file=f"{name}.parquet")


class _Table:
    """Makes the rows of a split."""

    def __init__(self, source: ExportSource, split: SplitSource, schema: "pa.Schema") -> None:
        self._split, self._schema = split, schema
        self._attributes, self._digest = source.manifest.world["attributes"], source.manifest.digest
        self._sources = drawn_images(split.reader).tolist()

    def rows(self, group: Sequence[Sample]) -> "pa.Table":
        """The rows of some samples."""
        import pyarrow as pa

        split, pool = self._split, self._split.reader.pool
        answers, of_sets = split.answer_names, split.kind.of_sets
        rows = [
            {
                "id": f"{split.hop}/{split.split}/{each.index}@{self._digest}",
                "images": [
                    {"bytes": image.png, "path": image.filename} for image in sample.images if image.png
                ],
                "question": each.text,
                "answer": each.answer,
                "answers": answers,
                "asked": asked_answers(each.program, answers, self._attributes) if of_sets else [],
                "hop": split.hop,
                "split": split.split,
                "source": f"{pool}/{self._sources[each.index]}",
            }
            for sample in group
            for each in sample.questions
        ]
        return pa.Table.from_pylist(rows, schema=self._schema)
