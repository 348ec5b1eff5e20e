"""Export for reinforcement learning with verifiable rewards, which verl and EasyR1 read as it is.

    <hop>/<split>.parquet     one row per question, with its images

An image with nine questions is stored only once in a row group, as in the format "parquet". Prompts have
`<image>` in front of the question for each image. `floor` is what a policy earns on the row's level and split
without looking at the image, by the best of the four answers of `levels.Floor`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrhope.dataset.levels import Floor, floors
from clevrhope.export.parquet import write_tables
from clevrhope.export.readme import write_readme
from clevrhope.export.source import ExportSource, Sample, SampleQuestion, SplitSource
from clevrhope.metrics.request_files import asked_answers
from clevrhope.rewards import Scorer
from clevrhope.runtime.progress import Advance

if TYPE_CHECKING:
    import pyarrow as pa

ABILITY = "visual_question_answering"


def write(source: ExportSource, out: Path, advance: Advance) -> None:
    """Writes a file for each split, and a README with the floors."""
    tables = []
    for split in source.splits:
        assert split.levels is not None
        (out / split.hop).mkdir(exist_ok=True)
        tables.append((split, floors(split.reader, split.levels)))
        _write_split(source, *tables[-1], out / split.hop / split.split, advance)
    answers = [*dict.fromkeys(answer for split in source.splits for answer in split.answer_names)]
    write_readme(
        source,
        out,
        "rl",
        instruction=source.instruction,
        tables=tables,
        of_clevr=Scorer().answers >= {*answers},
        answers=answers,
        attributes=source.manifest.world["attributes"],
    )


def _write_split(
    source: ExportSource, split: SplitSource, of_levels: dict[int, Floor], begin: Path, advance: Advance
) -> None:
    import pyarrow as pa

    schema = _schema(split)

    def table(group: Sequence[Sample]) -> pa.Table:
        questions = ((sample, question) for sample in group for question in sample.questions)
        return pa.Table.from_pylist([_row(source, split, of_levels, *each) for each in questions], schema)

    repeated = [f"images.list.element.{name}" for name in ("bytes", "path")]
    (path,) = write_tables(split, begin, 1, schema, table, advance, repeated=repeated)
    path.rename(begin.with_name(f"{begin.name}.parquet"))


def _row(
    source: ExportSource,
    split: SplitSource,
    of_levels: dict[int, Floor],
    sample: Sample,
    question: SampleQuestion,
) -> dict[str, Any]:
    assert split.levels is not None
    assert source.instruction is not None
    images = [{"bytes": image.png, "path": image.filename} for image in sample.images] if split.images else []
    problem = "<image>" * len(images) + source.instruction.after(question.text)
    attributes = source.manifest.world["attributes"]
    asked = asked_answers(question.program, split.answer_names, attributes) if split.kind.of_sets else []
    level = int(split.levels[question.index])
    about = {"question": question.text, "asked": asked}
    return {
        "data_source": f"clevrhope/{split.hop}/{split.split}",
        "prompt": [{"role": "user", "content": problem}],
        "images": images,
        "ability": ABILITY,
        "reward_model": {"style": "rule", "ground_truth": question.answer},
        "extra_info": {
            "index": question.index if split.rows is None else int(split.rows[question.index]),
            "split": split.split,
            "instruction": source.instruction.label,
            **about,
        },
        "problem": problem,
        "answer": json.dumps({**about, "answer": question.answer}),
        "question": question.text,
        "level": level,
        "floor": max(of_levels[level]),
    }


def _schema(split: SplitSource) -> "pa.Schema":
    import pyarrow as pa

    text, number = pa.string(), pa.int32()
    info = {"index": number, "split": text, "instruction": text, "question": text, "asked": pa.list_(text)}
    columns = {
        "data_source": text,
        "prompt": pa.list_(pa.struct([("role", text), ("content", text)])),
        "images": pa.list_(pa.struct([("bytes", pa.binary()), ("path", text)])),
        "ability": text,
        "reward_model": pa.struct([("style", text), ("ground_truth", text)]),
        "extra_info": pa.struct([*info.items()]),
        "problem": text,
        "answer": text,
        "question": text,
        "level": number,
        "floor": pa.float64(),
    }
    if split.images is None:
        del columns["images"]
    features = {"images": {"feature": {"_type": "Image"}, "_type": "Sequence"}}  # `datasets` infers the rest
    about = {"huggingface": json.dumps({"info": {"features": features}})}
    return pa.schema([*columns.items()], metadata=about if split.images else {})
