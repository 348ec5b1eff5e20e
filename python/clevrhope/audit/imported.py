"""The audit of an imported dataset, of which little is promised: what its files show by themselves.

Published questions may have programs or text alone, and scenes or none. A check that needs what is not there
is not done, and says so.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import combinations, groupby, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader, AuditScenes
from clevrhope.audit.checks.questions import wrong_answers
from clevrhope.audit.checks.scenes import excluded
from clevrhope.audit.report import CheckResult, Found, Report, Results, new_results, where
from clevrhope.dataset.clevr_json import parse_row, read_numbered_rows
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.native_reader import CLEVR_WORDS, question_reader, vocabulary_of
from clevrhope.dataset.question_table import QuestionTable, open_split
from clevrhope.dataset.scene_files import MISSING, Pools, Rows
from clevrhope.dataset.source_images import source_images
from clevrhope.dataset.split_files import Vocab, read_vocab
from clevrhope.describe.measured import total_variation
from clevrhope.errors import DatasetError
from clevrhope.runtime.progress import Progress
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS, TRAIN, SplitKind

CHECKS = (
    *("pair by chains", "pair by descriptions", "pair in words", "pair in images", "answers"),
    *("images of one kind", "equal texts", "answers of sets"),
    *("objects an image", "order of objects", "CLEVR's images", "suites and sets"),
)

NO_OTHERS = (
    "pairs of suites and questions about sets of images are not checked in published files; audit the folder "
    "that clevrhope build wrote"
)
NO_SCENES = "scenes are not published"
NO_PROGRAMS = "programs are not published; with --templates, they are read from the texts"

PREFIXES = (25_000, 200_000)
"""Sizes of the smaller train sets."""

SPREAD = 4.0
"""Standard deviations by which a count of images may differ from what equal frequencies give."""

_TYPES = ("size", "color", "shape", "material")
"""The attributes in the order in which the official generator sorts objects."""


def audit_imported(folder: Folder, *, pixels: bool, progress: Progress) -> Report:
    """Audits an imported dataset.

    Args:
        folder: the dataset.
        pixels: whether images are read and compared, which takes long.
        progress: shows the progress.

    Raises:
        DatasetError: a file is missing or broken.
    """
    has_others = bool(folder.manifest.suites or folder.manifest.covr)
    results = new_results(CHECKS if has_others else CHECKS[:-1])
    hops = tuple(folder.hop(name) for name in folder.manifest.splits)
    splits = [_Split(folder, hop, name) for hop in hops for name in folder.manifest.splits[hop.name]]
    vocab = read_vocab(folder.layout.vocab)
    pools = Pools(folder.layout, vocabulary_of(vocab))
    total = sum(len(split.table) for split in splits)
    with progress.stage("Reading questions", total=total, unit="questions") as advance:
        for split in splits:
            _read(split, vocab, pools, results)
            advance(len(split.table))
    for _, of_hop in groupby(splits, lambda split: split.hop.name):
        _compare_answers([*of_hop], results["answers of sets"])
    _check_images(splits, pools, results)
    _check_apart(folder, splits, results["images of one kind"], pixels=pixels, progress=progress)
    have_scenes = any(split.has_scenes for split in splits)
    for name in ("pair in images", "answers", "objects an image", "order of objects"):
        if not results[name].n_checked and results[name].done:
            results[name].skip(NO_PROGRAMS if name == "answers" and have_scenes else NO_SCENES)
    for name in ("pair by chains", "pair by descriptions"):
        if not results[name].n_checked:
            results[name].skip(NO_PROGRAMS)
    if has_others:
        results[CHECKS[-1]].skip(NO_OTHERS)
    for result in results.values():
        result.finish()
    return Report(str(folder.root), tuple(hop.name for hop in hops), tuple(results.values()))


@dataclass
class _Split:
    """A split of a sub-dataset."""

    folder: Folder
    hop: Hop
    name: str

    @cached_property
    def table(self) -> QuestionTable:
        """Its questions."""
        return open_split(self.folder.layout, self.hop.name, self.name, vocab=self.folder.vocab)

    @property
    def kind(self) -> SplitKind:
        """What is promised of its kind."""
        return SPLITS[self.name]

    @property
    def file(self) -> str:
        """Its file below the folder."""
        return self.folder.layout.relative(self.table.path)

    @property
    def has_scenes(self) -> bool:
        """Whether the scenes of its images are there."""
        return bool(self.folder.layout.scene_files(self.table.pool))


def _read(split: _Split, vocab: Vocab, pools: Pools, results: Results) -> None:
    """Reads a split's questions: what they ask for, their answers, and texts that occur twice."""
    table, target = split.table, split.hop.target
    by_chains, by_descriptions = (
        question_reader(vocab, target, CLEVR_WORDS, vocabulary_of(vocab), in_chains=in_chains)
        for in_chains in (True, False)
    )
    # Questions that were chosen by their descriptions mention the pair, but perhaps not in a chain.
    not_in_chains = split.kind.asked == "always" and split.folder.manifest.settings.strictness != "chain"
    has_program = table.program_lengths > 2
    pool = pools[table.pool]
    digests: list[int] = []
    for first, questions, programs in table.blocks():
        numbers = range(first, first + len(questions))
        block = slice(first, numbers.stop)
        rows = pool.rows(table.image_idxs[block])
        with_program = has_program[block]
        chains, findings = (
            reader.read(questions, programs, pool.native, rows) for reader in (by_chains, by_descriptions)
        )
        for name, mentions, is_read, place in (
            ("pair by chains", chains.by_program | not_in_chains, with_program, "its program"),
            ("pair by descriptions", findings.by_program, with_program, "its program"),
            ("pair in words", findings.by_words, np.ones(len(rows), dtype=bool), "its words"),
        ):
            if not target:
                continue
            found = where(
                is_read & _wrong(split.kind.asked, mentions),
                f"{_does(split.kind.asked, 'mention')} {split.hop.words} in {place}",
                lambda k, questions=questions: vocab.text(questions[k].tolist()),
            )
            results[name].add(split.file, found, numbers)
            results[name].n_checked += int(is_read.sum())
        can_run = with_program & (rows != MISSING)
        given = np.where(can_run, findings.answers, AuditReader.NO_SCENE)
        faults = wrong_answers(given, table.answers[block], vocab.answer_names)
        results["answers"].add(split.file, faults, numbers)
        results["answers"].n_checked += int(can_run.sum())
        digests += [hash(question.tobytes()) for question in questions]
    results["equal texts"].add(split.file, _equal_texts(table, np.asarray(digests, dtype=np.int64)))
    results["equal texts"].n_checked += len(table)


def _equal_texts(table: QuestionTable, digests: npt.NDArray[np.int64]) -> Iterator[Found]:
    """Questions whose text an earlier one of their image has."""
    images = table.image_idxs
    order = np.lexsort((digests, images))
    both = (images[order][1:] == images[order][:-1]) & (digests[order][1:] == digests[order][:-1])
    for first, again in zip(order[:-1][both].tolist(), order[1:][both].tolist(), strict=True):
        yield again, f"the text of question {first} on its image", f"image {images[again]}"


def _wrong(promise: str, has_pair: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """(n,) what has the pair although it never must, or the reverse."""
    if promise not in ("never", "always"):
        return np.zeros(len(has_pair), dtype=bool)
    return has_pair if promise == "never" else ~has_pair


def _does(promise: str, verb: str) -> str:
    return f"{verb}s" if promise == "never" else f"does not {verb}"


def _compare_answers(splits: list[_Split], check: CheckResult) -> None:
    """Notes the most frequent answer of each set, and how far its answers are from those of train."""
    counts = {split.name: Counter(split.table.answers.tolist()) for split in splits}
    for split in splits:
        mine, train = counts[split.name], counts.get(TRAIN.name)
        (answer, n), total = mine.most_common(1)[0], mine.total()
        note = f"{split.hop.name} {split.name}: {split.folder.vocab.answers()[answer]} {n / total:.1%}"
        if train is not None and split.name != TRAIN.name:
            note += f", {total_variation(mine, train):.3f} from train"
        check.notes.append(note)
        check.n_checked += total


def _check_images(splits: list[_Split], pools: Pools, results: Results) -> None:
    """What the scenes of images say: the pair, numbers of objects and their order, and CLEVR's share."""
    sorted_by_pool: dict[str, tuple[int, int, set[int]]] = {}
    for split in splits:
        if not split.has_scenes:
            continue
        table, pool = split.table, pools[split.table.pool]
        used = table.scenes
        rows = pool.rows(used)
        if (rows == MISSING).any():
            missing = used[rows == MISSING]
            problem = "a question's scene is missing"
            for index in missing.tolist():
                results["pair in images"].fault(f"scenes/{pool.name}", index, problem, split.file)
            used, rows = used[rows != MISSING], rows[rows != MISSING]
        if split.hop.target and split.kind.shown in ("never", "always"):
            wrong = _wrong(split.kind.shown, pool.holding(split.hop.target)[rows])
            problem = f"{_does(split.kind.shown, 'show')} {split.hop.words}, in {split.name}"
            found = where(wrong, problem, lambda k, used=used: used[k])
            results["pair in images"].add(f"scenes/{pool.name}", found, used)
            results["pair in images"].n_checked += len(used)
        if split.kind.drawn == "stream":
            _check_numbers(split, pool.native, rows, results["objects an image"])
        if pool.name not in sorted_by_pool:
            sorted_by_pool[pool.name] = _order_and_origin(split)
        n_sorted, n_scenes, of_clevr = sorted_by_pool[pool.name]
        if split.kind.role == "train" and of_clevr:
            _note_clevr(split, of_clevr, results["CLEVR's images"])
    for name, (n_sorted, n_scenes, _) in sorted_by_pool.items():
        results["order of objects"].n_checked += n_scenes
        share = f"{n_sorted / max(1, n_scenes):.1%}"
        results["order of objects"].notes.append(
            f"{name}: {share} of scenes list objects sorted by their values"
        )
    if not results["CLEVR's images"].n_checked:
        results["CLEVR's images"].skip("published scenes do not say which images are CLEVR's")


def _check_numbers(split: _Split, scenes: AuditScenes, rows: Rows, check: CheckResult) -> None:
    """Notes the mean number of objects, and finds numbers that are not as frequent as the others."""
    numbers = Counter(scenes.n_objects[rows].tolist())
    n, usual = len(rows), len(rows) / max(1, len(numbers))
    check.n_checked += n
    mean = sum(number * count for number, count in numbers.items()) / max(1, n)
    check.notes.append(f"{split.hop.name} {split.name}: {mean:.2f} objects an image")
    for number, count in sorted(numbers.items()):
        if abs(count - usual) > SPREAD * np.sqrt(usual) + 1:
            problem = f"{number} objects in {count:,} images, where equal frequencies give {usual:,.0f}"
            check.fault(split.file, None, problem, f"{count / n:.1%}")


def _order_and_origin(split: _Split) -> tuple[int, int, set[int]]:
    """How many scenes of a pool list their objects sorted, of how many; and the indices of CLEVR's."""
    n_sorted = n = 0
    of_clevr = set()
    for path in split.folder.layout.scene_files(split.table.pool):
        for line, row in read_numbered_rows(path):
            scene = parse_row(row, path, line)
            keys = [tuple(str(thing.get(kind)) for kind in _TYPES) for thing in scene["objects"]]
            n, n_sorted = n + 1, n_sorted + all(a <= b for a, b in pairwise(keys))
            if scene.get("reuse_dataset") or scene.get("reuse_filename"):
                of_clevr.add(int(scene["image_index"]))
    return n_sorted, n, of_clevr


def _note_clevr(split: _Split, of_clevr: set[int], check: CheckResult) -> None:
    """Notes CLEVR's share of the images of train, and of its prefixes."""
    table = split.table
    shares = []
    for size in (*(size for size in PREFIXES if size < len(table)), len(table)):
        images = np.unique(table.image_idxs[:size])
        shares.append(f"{np.isin(images, list(of_clevr)).mean():.1%} of the first {size:,} questions' images")
    check.n_checked += len(table.scenes)
    check.notes.append(f"{split.hop.name}: {', '.join(shares)}")


def _check_apart(
    folder: Folder, splits: list[_Split], check: CheckResult, *, pixels: bool, progress: Progress
) -> None:
    """Checks that no image of a train set is in a test set of the same pair, by name or pixels."""
    marks_of = cache(partial(_marks, folder, check=check, pixels=pixels, progress=progress))
    for hop, of_hop in groupby(splits, lambda split: split.hop.name):
        for a, b in combinations(of_hop, 2):
            if not excluded(a.kind, b.kind):
                continue
            marks = [marks_of(each.table.pool) for each in (a, b)]
            if a.table.pool == b.table.pool:
                both = set(np.intersect1d(a.table.scenes, b.table.scenes).tolist())
            else:
                mine = {marks[0][index] for index in a.table.scenes.tolist() if index in marks[0]}
                both = {k for k in b.table.scenes.tolist() if k in marks[1] and marks[1][k] in mine}
                if not mine:
                    continue
            for index in sorted(both):
                check.fault(b.file, None, f"an image of {hop} {a.name} is in {b.name}", f"image {index}")
            check.n_checked += len(a.table.scenes) + len(b.table.scenes)
    if check.n_checked:
        check.notes.append(f"compared by {'pixels' if pixels else 'names'}")
    else:
        check.skip("the files do not name images; --pixels compares the images themselves")


def _marks(
    folder: Folder, pool: str, *, check: CheckResult, pixels: bool, progress: Progress
) -> Mapping[int, Any]:
    """Index of each image of a pool -> what no image of another split may have; empty if unknown.

    An image that cannot be read is a fault, and is left out.
    """
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
