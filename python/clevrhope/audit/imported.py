"""The audit of an imported dataset, of which little is promised: what its files show by themselves.

Published questions may have programs or text alone, and scenes or none. A check that needs what is not there
is not done, and says so.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader
from clevrhope.audit.checks.questions import PREFIXES, same_texts, text_digests, wrong_answers
from clevrhope.audit.checks.scenes import excluded
from clevrhope.audit.report import CheckResult, Report, Results, check_rows, new_results, where
from clevrhope.dataset.clevr_json import parse_row, read_numbered_rows
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.native_reader import question_reader, vocabulary_of
from clevrhope.dataset.question_table import QuestionTable, open_split
from clevrhope.dataset.scene_files import MISSING, Pools
from clevrhope.dataset.source_images import source_images
from clevrhope.dataset.split_files import Vocab, read_vocab
from clevrhope.dataset.vocab import CLEVR_WORDS
from clevrhope.describe.measured import total_variation
from clevrhope.errors import DatasetError
from clevrhope.runtime.progress import Progress
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS, TRAIN, SplitKind

SPREAD = 4.0
"""Standard deviations by which a count of images may differ from what equal frequencies give."""

_TYPES = ("size", "color", "shape", "material")
"""The attributes in the order in which the official generator sorts objects."""


def reasons() -> dict[str, str]:
    """Check of an import -> why it was not done, if there was nothing that it could check."""
    return {name: row["unless"] for name, row in check_rows().items() if "unless" in row}


@dataclass(frozen=True)
class _Split:
    """A split of a sub-dataset, and the path of its file below the folder."""

    hop: Hop
    kind: SplitKind
    table: QuestionTable
    file: str

    @property
    def name(self) -> str:
        return f"{self.hop.name} {self.kind.name}"


def audit_imported(folder: Folder, *, pixels: bool, progress: Progress) -> Report:
    """Audits an imported dataset.

    Args:
        folder: the dataset.
        pixels: whether images are read and compared, which takes long.
        progress: shows the progress.

    Raises:
        DatasetError: a file is missing or broken.
    """
    layout, manifest = folder.layout, folder.manifest
    why_not = reasons()
    *names, of_others = why_not
    has_others = manifest.suites or manifest.covr or manifest.nonce
    results = new_results([*names, of_others] if has_others else names)
    splits = []
    for hop, entries in manifest.splits.items():
        for name in entries:
            table = open_split(layout, hop, name, vocab=folder.vocab)
            splits.append(_Split(folder.hop(hop), SPLITS[name], table, layout.relative(table.path)))
    vocab = read_vocab(layout.vocab)
    pools = Pools(layout, vocabulary_of(vocab))
    total = sum(len(split.table) for split in splits)
    with progress.stage("Reading questions", total=total, unit="questions") as advance:
        for split in splits:
            # Questions chosen by their descriptions mention the pair, but perhaps not in a chain.
            in_chains = split.kind.asked != "always" or manifest.settings.strictness == "chain"
            _read(split, vocab, pools, results, in_chains=in_chains)
            advance(len(split.table))
    _compare_answers(splits, results["answers of sets"])
    with_scenes = [split for split in splits if layout.scene_files(split.table.pool)]
    for split in with_scenes:
        _check_images(split, pools, results)
    _check_scene_rows(folder, with_scenes, results)
    _check_apart(folder, splits, results["images of one kind"], pixels=pixels, progress=progress)
    if not with_scenes:
        why_not["answers"] = why_not["pair in images"]
    for name, result in results.items():
        if why_not[name] and not result.n_checked and not result.n_faults:
            result.skip(why_not[name])
        result.finish()
    notes = tuple((manifest.source or {})["notes"])
    lines = tuple(result for name, result in results.items() if splits or name == of_others)
    return Report(folder.title, tuple(manifest.splits), lines, notes)


def _read(split: _Split, vocab: Vocab, pools: Pools, results: Results, *, in_chains: bool) -> None:
    """Reads a split's questions: what they ask for, their answers, and texts that occur twice."""
    table, hop, promise = split.table, split.hop, split.kind.asked
    about = (vocab, hop.target, CLEVR_WORDS, vocabulary_of(vocab))
    readers = [question_reader(*about, in_chains=of_chains) for of_chains in (True, False)]
    has_program, pool = table.program_lengths > 2, pools[table.pool]
    digests = [np.zeros(0, np.uint64)]

    def text(first: int, row: int) -> str:
        return vocab.text(table.tokens(first + row)[0][0].tolist())

    for first, questions, programs in table.blocks():
        numbers = np.arange(first, first + len(questions))
        rows = pool.rows(table.image_idxs[numbers])
        with_program = has_program[numbers]
        chains, findings = (each.read(questions, programs, pool.native, rows) for each in readers)
        for name, mentions, is_read, place in (
            ("pair by chains", chains.by_program | (not in_chains), with_program, "its program"),
            ("pair by descriptions", findings.by_program, with_program, "its program"),
            ("pair in words", findings.by_words, np.ones_like(with_program), "its words"),
        ):
            if hop.target:
                wrong, problem = _misplaced(promise, mentions, "mention", hop)
                found = where(wrong & is_read, f"{problem} in {place}", partial(text, first), numbers)
                results[name].add(split.file, found)
                results[name].n_checked += int(is_read.sum())
        can_run = with_program & (rows != MISSING)
        given = np.where(can_run, findings.answers, AuditReader.NO_SCENE)
        faults = wrong_answers(given, table.answers[numbers], vocab.answer_names)
        results["answers"].add(split.file, faults, numbers)
        results["answers"].n_checked += int(can_run.sum())
        digests.append(text_digests(questions))
    images = table.image_idxs.astype(np.uint64)
    results["equal texts"].add(split.file, same_texts(images, np.concatenate(digests), partial(text, 0)))
    if len(table.scenes) < len(table):  # else no image has two questions, by what the files say
        results["equal texts"].n_checked += len(table)


def _misplaced(
    promise: str, has_pair: npt.NDArray[np.bool_], verb: str, hop: Hop
) -> tuple[npt.NDArray[np.bool_], str]:
    """(n,) what has the pair although it never must, or the reverse, and the problem."""
    if promise == "never":
        return has_pair, f"{verb}s {hop.words}"
    return ~has_pair & (promise == "always"), f"does not {verb} {hop.words}"


def _compare_answers(splits: Sequence[_Split], check: CheckResult) -> None:
    """Notes the most frequent answer of each set, and how far its answers are from those of train."""
    counts = {split.name: Counter(split.table.answers.tolist()) for split in splits}
    for split in splits:
        mine, train = counts[split.name], counts.get(f"{split.hop.name} {TRAIN.name}")
        ((answer, n),) = mine.most_common(1)
        note = f"{split.name}: {split.table.answer_names[answer]} {n / mine.total():.1%}"
        if train is not None and split.kind is not TRAIN:
            note += f", {total_variation(mine, train):.3f} from train"
        check.notes.append(note)
        check.n_checked += mine.total()


def _check_images(split: _Split, pools: Pools, results: Results) -> None:
    """What the scenes of a split's images say: whether the pair is there, and how many objects."""
    pool, check, shown = pools[split.table.pool], results["pair in images"], split.kind.shown
    used, file, target = split.table.scenes, f"scenes/{pool.name}", split.hop.target
    rows = pool.rows(used)
    check.add(file, where(rows == MISSING, "a question's scene is missing", lambda k: split.file), used)
    used, rows = used[rows != MISSING], rows[rows != MISSING]
    if target and shown in ("never", "always"):
        wrong, problem = _misplaced(shown, pool.holding(target)[rows], "show", split.hop)
        check.add(file, where(wrong, f"{problem}, in {split.kind.name}", used), used)
        check.n_checked += len(used)
    if split.kind.drawn != "stream":
        return
    n_objects, check = pool.native.n_objects[rows], results["objects an image"]
    numbers, n = Counter(n_objects.tolist()), max(1, len(rows))
    usual = n / max(1, len(numbers))
    check.n_checked += len(rows)
    check.notes.append(f"{split.name}: {n_objects.sum() / n:.2f} objects an image")
    for number, count in sorted(numbers.items()):
        if abs(count - usual) > SPREAD * np.sqrt(usual) + 1:
            problem = f"{number} objects in {count:,} images, where equal frequencies give {usual:,.0f}"
            check.fault(split.file, None, problem, f"{count / n:.1%}")


def _check_scene_rows(folder: Folder, splits: Sequence[_Split], results: Results) -> None:
    """Notes how many scenes of each pool list objects sorted, and CLEVR's share of train sets' images."""
    of_clevr: dict[str, list[int]] = {}
    for pool in dict.fromkeys(split.table.pool for split in splits):
        is_sorted, of_clevr[pool] = list[bool](), []
        rows = ((path, row) for path in folder.layout.scene_files(pool) for row in read_numbered_rows(path))
        for path, (line, row) in rows:
            scene = parse_row(row, path, line)
            keys = [tuple(str(thing.get(kind)) for kind in _TYPES) for thing in scene["objects"]]
            is_sorted.append(keys == sorted(keys))
            if scene.get("reuse_dataset") or scene.get("reuse_filename"):
                of_clevr[pool].append(scene["image_index"])
        check, share = results["order of objects"], np.mean(is_sorted or [False])
        check.n_checked += len(is_sorted)
        check.notes.append(f"{pool}: {share:.1%} of scenes list objects sorted by their values")
    for split in splits:
        table, check = split.table, results["CLEVR's images"]
        if split.kind.role == "train" and of_clevr[table.pool]:
            shares = []
            prefixes = [size for size in PREFIXES if size < len(table)]
            for size in (*prefixes, len(table)):
                share = np.isin(np.unique(table.image_idxs[:size]), of_clevr[table.pool]).mean()
                shares.append(f"{share:.1%} of the first {size:,} questions' images")
            check.n_checked += len(table.scenes)
            check.notes.append(f"{split.hop.name}: {', '.join(shares)}")


def _check_apart(
    folder: Folder, splits: Sequence[_Split], check: CheckResult, *, pixels: bool, progress: Progress
) -> None:
    """Checks that no image of a train set is in a test set of the same pair, by name or pixels."""

    @cache
    def marks_of(pool: str) -> Mapping[int, Any]:
        """Index of each image -> what no image of another split may have; an unreadable one is a fault."""
        images = source_images(folder.layout, pool)
        if images is None:
            return {}
        if not pixels:
            return {index: name for index, name in enumerate(images.record.names or ()) if name}
        indices, found = images.record.indices.tolist(), {}
        with progress.stage(f"Reading images of {pool}", total=len(indices), unit="images") as advance:
            for index in indices:
                try:
                    found[index] = hash(images.pixels(index).tobytes())
                except DatasetError as error:
                    check.fault(f"images/{pool}", index, "an image cannot be read", str(error))
                advance(1)
        return found

    for a, b in combinations(splits, 2):
        if a.hop != b.hop or not excluded(a.kind, b.kind):
            continue
        mine, theirs = a.table.scenes.tolist(), b.table.scenes.tolist()
        marks, others = marks_of(a.table.pool), marks_of(b.table.pool)
        if a.table.pool == b.table.pool:
            marks = others = {index: index for index in (*mine, *theirs)}
        known = {marks[index] for index in mine if index in marks}
        for index in theirs:
            if others.get(index) in known:
                problem = f"an image of {a.name} is in {b.kind.name}"
                check.fault(b.file, None, problem, f"image {index}")
        check.n_checked += len(mine) + len(theirs) if known else 0
    if check.n_checked:
        check.notes.append(f"compared by {'pixels' if pixels else 'names'}")
