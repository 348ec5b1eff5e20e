"""The audit of an imported dataset, of which little is promised: what its files show by themselves.

Published questions may have programs or text alone, and scenes or none. A check that needs what is not there
is not done, and says so.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader
from clevrhope.audit.checks.questions import same_texts, text_digests, wrong_answers
from clevrhope.audit.checks.scenes import excluded
from clevrhope.audit.report import CheckResult, Report, Results, new_results, where
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.native_reader import CLEVR_WORDS, question_reader, vocabulary_of
from clevrhope.dataset.question_table import QuestionTable, open_split
from clevrhope.dataset.scene_files import MISSING, Pools, PoolScenes
from clevrhope.dataset.source_images import source_images
from clevrhope.dataset.split_files import Vocab, read_vocab
from clevrhope.describe.measured import total_variation
from clevrhope.runtime.progress import Progress
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS, TRAIN, SplitKind

CHECKS = (
    *("pair by chains", "pair by descriptions", "pair in words", "pair in images", "answers"),
    *("images of one kind", "equal texts", "answers of sets", "objects an image"),
)

BY_CHAINS, BY_DESCRIPTIONS, IN_WORDS, IN_IMAGES, ANSWERS, APART, TEXTS, BALANCE, NUMBERS = CHECKS

NO_SCENES = "scenes are not published"
NO_PROGRAMS = "programs are not published; import with --templates reads them from texts"

SPREAD = 4.0
"""Standard deviations by which a count of images may differ from what equal frequencies give."""


@dataclass(frozen=True)
class _Split:
    """A split of a sub-dataset."""

    hop: Hop
    kind: SplitKind
    table: QuestionTable
    file: str
    """Path of its file below the folder."""


def audit_imported(folder: Folder, *, pixels: bool, progress: Progress) -> Report:
    """Audits an imported dataset.

    Args:
        folder: the dataset.
        pixels: whether images are read and compared, which takes long.
        progress: shows the progress.

    Raises:
        DatasetError: a file is missing or broken.
    """
    results = new_results(CHECKS)
    layout = folder.layout
    hops = tuple(folder.hop(name) for name in folder.manifest.splits)
    splits = []
    for hop in hops:
        for name in folder.manifest.splits[hop.name]:
            table = open_split(layout, hop.name, name, vocab=folder.vocab)
            splits.append(_Split(hop, SPLITS[name], table, layout.relative(table.path)))
    vocab = read_vocab(layout.vocab)
    pools = Pools(layout, vocabulary_of(vocab))
    total = sum(len(split.table) for split in splits)
    with progress.stage("Reading questions", total=total, unit="questions") as advance:
        for split in splits:
            _read(split, vocab, pools, results)
            advance(len(split.table))
    _compare_answers(splits, results[BALANCE])
    for split in splits:
        _check_images(split, pools[split.table.pool], results)
    _check_apart(layout, splits, results[APART], pixels=pixels, progress=progress)
    have_scenes = any(len(pools[split.table.pool].indices) for split in splits)
    for name, what in (
        *((name, NO_SCENES) for name in (IN_IMAGES, NUMBERS)),
        (ANSWERS, NO_PROGRAMS if have_scenes else NO_SCENES),
        *((name, NO_PROGRAMS) for name in (BY_CHAINS, BY_DESCRIPTIONS)),
    ):
        if not results[name].n_checked:
            results[name].skip(what)
    for result in results.values():
        result.finish()
    return Report(str(folder.root), tuple(hop.name for hop in hops), tuple(results.values()))


def _read(split: _Split, vocab: Vocab, pools: Pools, results: Results) -> None:
    """Reads a split's questions: what they ask for, their answers, and texts that occur twice."""
    table, hop = split.table, split.hop
    by_chains, by_descriptions = (
        question_reader(vocab, hop.target, CLEVR_WORDS, vocabulary_of(vocab), in_chains=in_chains)
        for in_chains in (True, False)
    )
    does = "mentions" if split.kind.asked == "never" else "does not mention"
    has_program = table.program_lengths > 2
    pool = pools[table.pool]

    def text(row: int) -> str:
        return vocab.text(table.tokens(row)[0][0].tolist())

    of_texts = [np.zeros(0, np.uint64)]
    for first, questions, programs in table.blocks():
        numbers = range(first, first + len(questions))
        rows = pool.rows(table.image_idxs[first : numbers.stop])
        with_program = has_program[first : numbers.stop]
        chains, findings = (
            reader.read(questions, programs, pool.native, rows) for reader in (by_chains, by_descriptions)
        )
        for name, place, mentions, is_read in (
            (BY_CHAINS, "program", chains.by_program, with_program),
            (BY_DESCRIPTIONS, "program", findings.by_program, with_program),
            (IN_WORDS, "words", findings.by_words, np.ones(len(rows), bool)),
        ):
            if hop.target:
                results[name].n_checked += int(is_read.sum())
                if split.kind.asked in ("never", "always"):
                    wrong = is_read & (mentions == (split.kind.asked == "never"))
                    problem = f"{does} {hop.words} in its {place}"
                    found = where(wrong, problem, lambda k, first=first: text(first + k))
                    results[name].add(split.file, found, numbers)
        can_run = with_program & (rows != MISSING)
        given = np.where(can_run, findings.answers, AuditReader.NO_SCENE)
        faults = wrong_answers(given, table.answers[first : numbers.stop], vocab.answer_names)
        results[ANSWERS].add(split.file, faults, numbers)
        results[ANSWERS].n_checked += int(can_run.sum())
        of_texts.append(text_digests(questions))
    images = table.image_idxs.astype(np.uint64)
    results[TEXTS].add(split.file, same_texts(images, np.concatenate(of_texts), text))
    results[TEXTS].n_checked += len(table)


def _compare_answers(splits: Sequence[_Split], check: CheckResult) -> None:
    """Notes the most frequent answer of each set, and how far its answers are from those of train."""
    counts = {(split.hop, split.kind): Counter(split.table.answers.tolist()) for split in splits}
    for split in splits:
        mine, train = counts[split.hop, split.kind], counts.get((split.hop, TRAIN))
        (answer, n), total = mine.most_common(1)[0], mine.total()
        note = f"{split.hop.name} {split.kind.name}: {split.table.answer_names[answer]} {n / total:.1%}"
        if train is not None and split.kind is not TRAIN:
            note += f", {total_variation(mine, train):.3f} from train"
        check.notes.append(note)
        check.n_checked += total


def _check_images(split: _Split, pool: PoolScenes, results: Results) -> None:
    """What the scenes of a split's images say, if they are published: the pair, and numbers of objects."""
    if not len(pool.indices):
        return
    kind, target, check = split.kind, split.hop.target, results[IN_IMAGES]
    used, rows = split.table.scenes, pool.rows(split.table.scenes)
    place = f"scenes/{pool.name}"
    check.add(place, where(rows == MISSING, "a question's scene is missing", lambda k: split.file), used)
    used, rows = used[rows != MISSING], rows[rows != MISSING]
    if target and kind.shown in ("never", "always"):
        wrong = pool.holding(target)[rows] == (kind.shown == "never")
        does = "shows" if kind.shown == "never" else "does not show"
        problem = f"{does} {split.hop.words}, in {kind.name}"
        check.add(place, where(wrong, problem, lambda k: used[k]), used)
        check.n_checked += len(used)
    if kind.drawn == "stream":
        _check_numbers(split, pool.native.n_objects[rows], results[NUMBERS])


def _check_numbers(split: _Split, n_objects: npt.NDArray[Any], check: CheckResult) -> None:
    """Notes the mean number of objects, and finds numbers that are not as frequent as the others."""
    numbers = Counter(n_objects.tolist())
    n, usual = len(n_objects), len(n_objects) / max(1, len(numbers))
    check.n_checked += n
    mean = n_objects.sum() / max(1, n)
    check.notes.append(f"{split.hop.name} {split.kind.name}: {mean:.2f} objects an image")
    for number, count in sorted(numbers.items()):
        if abs(count - usual) > SPREAD * np.sqrt(usual) + 1:
            problem = f"{number} objects in {count:,} images, where equal frequencies give {usual:,.0f}"
            check.fault(split.file, None, problem, f"{count / n:.1%}")


def _check_apart(
    layout: Layout, splits: Sequence[_Split], check: CheckResult, *, pixels: bool, progress: Progress
) -> None:
    """Checks that no image of a train set is in a test set of the same pair, by name or pixels."""

    @cache
    def marks_of(pool: str) -> Mapping[int, Any]:
        return _marks(layout, pool, pixels, progress)

    for a, b in combinations(splits, 2):
        if a.hop != b.hop or not excluded(a.kind, b.kind):
            continue
        mine, theirs = a.table.scenes.tolist(), b.table.scenes.tolist()
        if a.table.pool == b.table.pool:
            both = sorted(set(mine).intersection(theirs))
        else:
            marks, others = marks_of(a.table.pool), marks_of(b.table.pool)
            known = {marks[index] for index in mine if index in marks}
            if not known:
                continue
            both = [index for index in theirs if others.get(index) in known]
        for index in both:
            problem = f"an image of {a.hop.name} {a.kind.name} is in {b.kind.name}"
            check.fault(b.file, None, problem, f"image {index}")
        check.n_checked += len(mine) + len(theirs)
    if check.n_checked:
        check.notes.append(f"compared by {'pixels' if pixels else 'names'}")
    else:
        check.skip("the files do not name images; --pixels compares the images themselves")


def _marks(layout: Layout, pool: str, pixels: bool, progress: Progress) -> Mapping[int, Any]:
    """Index of each image of a pool -> what no image of another split may have; empty if unknown."""
    images = source_images(layout, pool)
    if images is None:
        return {}
    if not pixels:
        return {index: name for index, name in enumerate(images.record.names or ()) if name}
    indices = images.record.indices.tolist()
    digests = {}
    with progress.stage(f"Reading images of {pool}", total=len(indices), unit="images") as advance:
        for index in indices:
            digests[index] = hash(images.pixels(index).tobytes())
            advance(1)
    return digests
