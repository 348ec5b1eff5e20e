"""Digests of a dataset's content, which do not depend on how its files are compressed and laid out.

A split has up to three digests, each a SHA-256 in hexadecimal digits:

questions: of the canonical JSON of `format`, which is "clevrhope questions 1"; `vocab`, the digest of the
    vocabulary (`vocab_digest`); `pool`; `n`; and `columns`, for each array the SHA-256 of its numbers as
    little-endian int32, row after row. The arrays of tokens are without the padding behind each row's length.
    The columns are answers, image_idxs, question_families, question_lengths, program_lengths, questions and
    programs; for questions about sets of images also structures and sources; for episodes with nonce words
    also those of `_OF_EPISODES`. What follows from these, such as relation_needed, is left out.
scenes: of the indices (little-endian int32, in ascending order) of the scenes that the questions are about,
    and then of the 32 bytes of the SHA-256 of each scene in that order. A scene is its row of the scene file
    as canonical JSON, without `stream`, which says what it was drawn from.
    Episodes have scenes of two pools: the digest is that of the canonical JSON of the list of both.
images: likewise, of the images that are compared: the SHA-256 of width and height in decimal digits with a
    space after each, then of the pixels' red, green and blue, a byte each, row after row.

Canonical JSON has sorted keys, no spaces, only ASCII characters, and numbers as Python writes them.

A sub-dataset's digest is computed from those of its splits as canonical JSON, and the whole digest from those
of the sub-datasets, see `whole_digest`.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.clevr_json import read_numbered_rows, scene_index
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.image_source import H5Images, PngImages, png_indices
from clevrhope.dataset.images_h5 import ImageArray, images_in
from clevrhope.dataset.layout import SCENES_A_SHARD, Layout, image_filename
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import ABSENT, NONCE, SETS, kind_of
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import read_vocab, vocab_digest
from clevrhope.errors import DatasetError
from clevrhope.runtime.progress import Advance, Progress
from clevrhope.runtime.threads import map_in_threads
from clevrhope.splits.hops import NONE

PARTS = ("questions", "scenes", "images")
"""The parts of a split that have a digest."""

Tree: TypeAlias = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Sub-dataset -> split -> part -> digest; parts that are missing or cannot be read are left out."""

_COLUMNS = ("answers", "image_idxs", "question_families", "question_lengths", "program_lengths")
_OF_EPISODES = ("support_idxs", "statements", "words", "pairs", "grids", "partners")
_MORE_COLUMNS = {SETS.name: ("structures", "sources"), NONCE.name: _OF_EPISODES}
"""The arrays of further kinds of questions, by the kind's name."""
_TOKENS = {"questions": "question_lengths", "programs": "program_lengths"}
"""The arrays of tokens, each with the array that holds the number of tokens in a row."""

Key = TypeVar("Key")
Value = TypeVar("Value")

_ROWS = 1 << 15
"""Number of questions read at a time."""


@dataclass(frozen=True)
class Content:
    """The digests of a folder's content.

    Attributes:
        splits: the digests; those of `images` only if all images to be compared exist.
        checked: sub-dataset and split -> pool -> the indices of its images that are compared.
        images: pool -> index -> digest of an image.
        n_questions: number of questions in all splits that could be read.
        n_scenes: number of scenes in use.
        faults: a sentence for each file that is damaged or missing.
    """

    splits: Tree
    checked: Mapping[tuple[str, str], Mapping[str, Ints]]
    images: Mapping[str, Mapping[int, str]]
    n_questions: int
    n_scenes: int
    faults: tuple[str, ...]


def read_content(layout: Layout, manifest: Manifest, progress: Progress, *, every_image: int = 1) -> Content:
    """Computes the digests of a folder's content; reports damaged files, and still reads the others.

    Args:
        layout: the folder's layout.
        manifest: the folder's manifest.
        progress: shows the stages.
        every_image: compare only images whose index in the pool is a multiple of this.
    """
    faults: list[str] = []
    found = _read_questions(layout, manifest, faults, progress)
    by_pool: dict[str, list[Ints]] = {}
    for each in found.values():
        for pool, indices in each.used.items():
            by_pool.setdefault(pool, []).append(indices)
    used = {pool: np.unique(np.concatenate(by_pool[pool])) for pool in sorted(by_pool)}
    checked = {pool: each[each % every_image == 0] for pool, each in used.items()}
    has_scenes, images = Folder(layout, manifest).has_scenes, {}
    scenes: dict[str, dict[int, bytes]] = {pool: {} for pool in used}
    n_scenes = sum(len(used[pool]) for pool in filter(has_scenes, used))
    with progress.stage("Comparing scenes", total=n_scenes, unit="scenes") as advance:
        for pool in filter(has_scenes, used):
            scenes[pool] = _read_scenes(layout, pool, used[pool], faults, advance)
    if manifest.rendering is not None:
        n_images = sum(map(len, checked.values()))
        with progress.stage("Comparing images", total=n_images, unit="images") as advance:
            for pool, indices in checked.items():
                images[pool] = _read_images(layout, pool, indices, faults, advance)
    splits: dict[str, dict[str, dict[str, str]]] = {}
    of_split = {}
    for (hop, split), each in found.items():
        chosen = {pool: indices[indices % every_image == 0] for pool, indices in each.used.items()}
        of_split[hop, split] = chosen
        parts = {"questions": each.digest, "scenes": joined_digest(each.used, scenes)}
        if images:
            parts["images"] = joined_digest(chosen, images)
        splits.setdefault(hop, {})[split] = {name: part for name, part in parts.items() if part}
    return Content(
        splits,
        of_split,
        {pool: {index: each.hex() for index, each in there.items()} for pool, there in images.items()},
        sum(each.n for each in found.values()),
        n_scenes,
        tuple(faults),
    )


def whole_digest(splits: Tree, parts: Sequence[str]) -> str | None:
    """The digest of these parts of all splits; None if a split lacks one of them, or there is no split.

    It is the digest of the canonical JSON of `format`, "clevrhope content 1", and `hops`, which maps each
    sub-dataset to the digest of an object that maps each split to the digests of the wanted parts.
    """
    if not splits or any(
        name not in each for hop in splits.values() for each in hop.values() for name in parts
    ):
        return None
    hops = {
        hop: digest_of({split: {name: each[name] for name in parts} for split, each in of_hop.items()})
        for hop, of_hop in splits.items()
    }
    return digest_of({"format": "clevrhope content 1", "hops": hops})


def digest_of(value: Any) -> str:
    """The SHA-256 of a value as canonical JSON."""
    return hashlib.sha256(_canonical(value)).hexdigest()


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


@dataclass(frozen=True)
class _Split:
    """The content of a split's question file."""

    digest: str
    used: Mapping[str, Ints]
    """Pool -> the indices of the scenes that its questions are about, sorted, each once."""
    n: int


def _read_questions(
    layout: Layout, manifest: Manifest, faults: list[str], progress: Progress
) -> dict[tuple[str, str], _Split]:
    """The digests of all splits whose files can be read."""
    entries = {(hop, split): entry["questions"] for hop, split, entry in manifest.all_splits()}
    episodes = manifest.nonce.get(NONE, {})
    entries |= {(NONE, split): int(entry["questions"]) for split, entry in episodes.items()}
    vocabularies: dict[Path, str] = {}
    for path in sorted({layout.vocab_of(split) for _, split in entries}):
        with _reported(faults):
            vocabularies[path] = vocab_digest(read_vocab(path))

    def read(place: tuple[str, str]) -> _Split:
        hop, split = place
        vocab = vocabularies.get(layout.vocab_of(split), "")
        return _read_split(layout.questions_h5(hop, split), split, vocab)

    splits = {}
    with progress.stage("Comparing questions", total=sum(entries.values()), unit="questions") as advance:
        for place, result in map_in_threads(partial(_attempted, read), entries):
            if isinstance(result, DatasetError):
                faults.append(str(result))
            else:
                splits[place] = result
            advance(entries[place])
    return splits


@contextmanager
def _reported(faults: list[str]) -> Iterator[None]:
    """Adds the error of a damaged file to the faults, after which other files are read."""
    try:
        yield
    except DatasetError as error:
        faults.append(str(error))


def _attempted(read: Callable[[Key], Value], key: Key) -> tuple[Key, Value | DatasetError]:
    """The key and what is read for it, or the error that prevents it."""
    try:
        return key, read(key)
    except DatasetError as error:
        return key, error


def _read_split(path: Path, split: str, vocab: str) -> _Split:
    """Computes the digest of a split's questions; raises the errors of `open_hdf5`."""
    table = read_table(path, kind_of(split))
    names = (*_COLUMNS, *_MORE_COLUMNS.get(table.kind.name, ()))
    sums = {name: hashlib.sha256() for name in (*names, *_TOKENS)}
    pools = [(table.pool, "image_idxs")]
    if table.kind is NONCE:
        pools.append((table.support_pool, "support_idxs"))
    used: dict[str, Ints] = {pool: np.zeros(0, dtype=np.int32) for pool, _ in pools}
    for rows in table.parts(_ROWS):
        for name in names:
            sums[name].update(_bytes(getattr(rows, name)))
        for name, lengths in _TOKENS.items():
            tokens, n_tokens = getattr(rows, name), getattr(rows, lengths)
            width = tokens.shape[1]
            if n_tokens.max() > width:
                raise DatasetError(f"{path}: {lengths} has {n_tokens.max()}, but {name} have {width} tokens")
            sums[name].update(_bytes(tokens[np.arange(width) < n_tokens[:, None]]))
        for pool, column in pools:
            used[pool] = np.union1d(used[pool], getattr(rows, column)).astype(np.int32)
    columns = {name: each.hexdigest() for name, each in sums.items()}
    digest = digest_of(
        {
            "format": "clevrhope questions 1",
            "vocab": vocab,
            "pool": table.pool,
            "n": len(table),
            "columns": columns,
        }
    )
    present = {pool: indices[indices != ABSENT] for pool, indices in used.items()}
    return _Split(digest if vocab else "", present, len(table))


def _bytes(numbers: npt.NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(numbers, dtype="<i4").data


def _read_scenes(
    layout: Layout, pool: str, indices: Ints, faults: list[str], advance: Advance
) -> dict[int, bytes]:
    """The digests of the scenes of a pool that can be read, by index."""
    digests: dict[int, bytes] = {}
    for shard in np.unique(indices // SCENES_A_SHARD).tolist():
        path = layout.scene_shard(pool, shard)
        wanted = set(indices[indices // SCENES_A_SHARD == shard].tolist())
        with _reported(faults):
            for line, row in read_numbered_rows(path):
                index = scene_index(row, path, line)
                if index in wanted:
                    if index in digests:
                        raise DatasetError(f"{path}:{line}: scene {index} is there twice")
                    digests[index] = scene_digest(row, path, line)
                    advance(1)
            if missing := wanted - digests.keys():
                raise DatasetError(
                    f"{path}: {len(missing):,} of {len(wanted):,} scenes are missing, first {min(missing)}"
                )
    return digests


def scene_digest(row: bytes, path: Path, line: int) -> bytes:
    """The SHA-256 of a row of a scene file, at this line.

    Raises:
        DatasetError: the JSON is broken.
    """
    try:
        scene = json.loads(row)
        scene.pop("stream", None)
        return hashlib.sha256(_canonical(scene)).digest()
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path}:{line}: broken JSON ({error})") from error


def _read_images(
    layout: Layout, pool: str, indices: Ints, faults: list[str], advance: Advance
) -> dict[int, bytes]:
    """The digests of the images of a pool that can be read, by index.

    If there are both PNG files and HDF5, both are read and must agree.
    """
    h5, folder = layout.images_h5(pool), layout.images(pool)
    png = PngImages(folder, partial(image_filename, pool))
    in_png = np.intersect1d(indices, png_indices(folder, pool))
    in_h5 = np.zeros(0, dtype=np.int32)
    with _reported(faults):
        in_h5 = np.intersect1d(indices, images_in(h5))
    packed = H5Images(layout, pool)
    digests: dict[int, bytes] = {}
    from_png = partial(_attempted, lambda index: image_digest(png.pixels(index)))
    from_h5 = partial(_attempted, lambda index: image_digest(packed.pixels(index)))
    for index, digest in chain(
        map_in_threads(from_png, in_png.tolist(), threads=None), map(from_h5, in_h5.tolist())
    ):
        if isinstance(digest, DatasetError):
            faults.append(str(digest))
        elif index not in digests:
            digests[index] = digest
            advance(1)
        elif digests[index] != digest:
            faults.append(f"{h5}: image {index} has other pixels than {image_filename(pool, index)}")
    missing = np.setdiff1d(indices, np.union1d(in_png, in_h5))
    if len(missing):
        faults.append(
            f"{folder}: {len(missing):,} of {len(indices):,} images are missing, first "
            f"{image_filename(pool, int(missing[0]))}; run the dataset's build again to render them"
        )
    return digests


def image_digest(pixels: ImageArray) -> bytes:
    """The SHA-256 of an image's size and pixels, (height, width, 3) uint8 RGB."""
    height, width, _ = pixels.shape
    found = hashlib.sha256(f"{width} {height} ".encode())
    found.update(np.ascontiguousarray(pixels).data)
    return found.digest()


def joined_digest(used: Mapping[str, Ints], digests: Mapping[str, Mapping[int, bytes]]) -> str:
    """The digest of the indices of a pool and their digests, or of several such; "" if one is missing."""
    found = []
    for pool, indices in used.items():
        if not all(index in digests[pool] for index in indices.tolist()):
            return ""
        of_pool = hashlib.sha256(_bytes(indices))
        for index in indices.tolist():
            of_pool.update(digests[pool][index])
        found.append(of_pool.hexdigest())
    return found[0] if len(found) == 1 else digest_of(found)
