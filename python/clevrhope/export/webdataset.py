"""Export as tar shards for the webdataset library, which streams them.

    <hop>/<split>-000000.tar     samples of 1,000 images: HOPE_train_000007.png, HOPE_train_000007.json
    <hop>.<suite>/               the same for the pairs of a suite
    shards.json                  folder -> split -> the shards as a brace pattern, samples, questions
    README.md                    a description of these files, and how to load them
    vocab.json, covr_vocab.json  the dataset's own, for one image and for sets of images; also one a suite

A sample is an image with its questions: a sample per question would repeat each image nine times in a stream.
docs/export.md shows a line of code that splits these into one sample per question. A question about a set of
images is a sample of its own: HOPE_covr_test_000007.0.png, .1.png and so on, HOPE_covr_test_000007.json.
"""

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from clevrhope.dataset.vocab import vocab_json
from clevrhope.export.readme import write_readme
from clevrhope.export.source import ExportSource, Sample, SplitSource, split_json
from clevrhope.runtime.progress import Advance
from clevrhope.sources.exports import METADATA

IMAGES_A_SHARD = 1_000
"""About 100 MB; few enough that the smaller test sets have a shard for each of several workers."""


def write(source: ExportSource, out: Path, advance: Advance) -> None:
    """Writes all shards and a list of them."""
    shards: dict[str, dict[str, Any]] = {}
    for split in (*source.splits, *source.suites):
        shards.setdefault(_folder(split), {})[split.split] = {
            "shards": _write_split(source, split, out, advance),
            "samples": split.n_samples,
            "questions": len(split.reader),
            METADATA: split_json(source, split),
        }
        of_suite = f"{split.config}_" if split.kind.names else ""
        begin = "covr_" if split.kind.of_sets else of_suite
        (out / f"{begin}vocab.json").write_bytes(vocab_json(split.vocab))
    (out / "shards.json").write_text(json.dumps(shards, indent=1) + "\n", "utf-8")
    first = source.splits[0]
    pattern = shards[first.hop][first.split]["shards"]
    write_readme(source, out, "webdataset", shards=pattern, first_of_sets=first.kind.of_sets)


def _folder(split: SplitSource) -> str:
    """The folder of a split's shards: that of its HOP, or of a suite, whose splits have the HOP's names."""
    return split.config if split.kind.names else split.hop


def _write_split(source: ExportSource, split: SplitSource, out: Path, advance: Advance) -> str:
    (out / _folder(split)).mkdir(exist_ok=True)
    name = f"{_folder(split)}/{split.split}"
    scene_of, n_shards = source.scene_of(split.reader.pool), source.n_shards(split, IMAGES_A_SHARD)
    for number, samples in enumerate(split.shards(n_shards, whole=True)):
        path = out / f"{name}-{number:06d}.tar"
        with (
            path.open("wb") as file,
            tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar,
        ):
            for sample in samples:
                for entry, content in _entries(split, sample, scene_of):
                    _add(tar, entry, content)
                advance(len(sample.questions))
    return f"{name}-{{000000..{n_shards - 1:06d}}}.tar"


def _entries(
    split: SplitSource, sample: Sample, scene_of: Callable[[int], str]
) -> Iterator[tuple[str, bytes]]:
    """The files of a sample, by name."""
    about: dict[str, Any] = {"hop": split.hop, "split": split.split, "pool": split.reader.pool}
    questions = [
        {
            "question_index": question.index,
            "question": question.text,
            "program": question.program,
            "answer": question.answer,
            **question.about,
        }
        for question in sample.questions
    ]
    if split.kind.of_sets:
        (question,) = questions
        key = f"HOPE_{split.split}_{question['question_index']:06d}"
        names = [f"{key}.{place}.png" for place in range(len(sample.images))]
        about |= {"image_indices": [image.index for image in sample.images], **question}
        about["scenes"] = [json.loads(scene_of(image.index) or "null") for image in sample.images]
    else:
        (image,) = sample.images
        key = Path(image.filename).stem.replace(".", "_")  # readers take what follows a dot for a suffix
        names = [f"{key}.png"]
        about |= {"image_index": image.index, "questions": questions}
        about["scene"] = json.loads(scene_of(image.index) or "null")
    for name, image in zip(names, sample.images, strict=True):
        if image.png is not None:
            yield name, image.png
    yield f"{key}.json", json.dumps(about, ensure_ascii=False).encode()


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)  # no time and no owner, so that equal content gives equal bytes
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))
