"""Export as tar shards for the webdataset library, which streams them.

    <hop>/<split>-000000.tar     1,000 samples each: HOPE_train_000007.png, HOPE_train_000007.json
    shards.json                  HOP -> split -> the shards as a brace pattern, samples, questions
    vocab.json                   the dataset's own

A sample is an image with its questions: a sample per question would repeat each image nine times in a stream.
docs/export.md has the one line that makes a sample per question of these.
"""

import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.export.source import Sample, Source, SplitSource
from clevrhope.runtime.progress import Advance

IMAGES_A_SHARD = 1_000
"""Some 100 MB; few enough that the smaller test sets make a shard for each of several workers."""


def write(source: Source, out: Path, advance: Advance) -> None:
    """Writes all shards, and their list."""
    detokenizer = Detokenizer(source.vocab)
    shards: dict[str, dict[str, Any]] = {}
    for split in source.splits:
        pattern = _write_split(split, split.samples(detokenizer, whole=True), out, advance)
        shards.setdefault(split.hop, {})[split.split] = {
            "shards": pattern,
            "samples": len(split.indices),
            "questions": len(split.reader),
        }
    (out / "shards.json").write_text(json.dumps(shards, indent=1) + "\n", "utf-8")
    shutil.copyfile(source.layout.vocab, out / "vocab.json")


def _write_split(split: SplitSource, samples: Iterator[Sample], out: Path, advance: Advance) -> str:
    (out / split.hop).mkdir(exist_ok=True)
    name = f"{split.hop}/{split.split}"
    n_shards = -(-len(split.indices) // IMAGES_A_SHARD)
    for number in range(n_shards):
        path = out / f"{name}-{number:06d}.tar"
        with (
            path.open("wb") as file,
            tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar,
        ):
            for sample in islice(samples, IMAGES_A_SHARD):
                key = Path(sample.image_filename).stem
                if sample.png is not None:
                    _add(tar, f"{key}.png", sample.png)
                _add(tar, f"{key}.json", _content(split, sample))
                advance(len(sample.questions))
    return f"{name}-{{000000..{n_shards - 1:06d}}}.tar"


def _content(split: SplitSource, sample: Sample) -> bytes:
    content = {
        "hop": split.hop,
        "split": split.split,
        "pool": split.reader.pool,
        "image_index": sample.image_index,
        "questions": [
            {
                "question_index": question.index,
                "question": question.text,
                "program": question.program,
                "answer": question.answer,
                "question_family_index": question.family,
            }
            for question in sample.questions
        ],
    }
    return json.dumps(content, ensure_ascii=False).encode()


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)  # no time and no owner: equal content gives equal bytes
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))
