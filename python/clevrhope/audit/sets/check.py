"""The check of a folder's questions over several images: the table of rules, applied split by split."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader
from clevrhope.audit.checks.questions import of_attributes, of_ranges, of_tokens, of_vocabulary, wrong_answers
from clevrhope.audit.folder import AuditFolder, SetFile
from clevrhope.audit.json_agreement import Columns, Compared, Encoder, compare_json
from clevrhope.audit.report import Found, Results, where
from clevrhope.audit.sets.balance import BalanceCheck
from clevrhope.audit.sets.batch import Batch, SetBatches, digests, scene_rows
from clevrhope.audit.sets.rules import CUTS, FILES, PAIR, PROGRAMS, RULES
from clevrhope.audit.sets.texts import Texts, check_texts
from clevrhope.dataset.native_reader import known_words, vocabulary_of
from clevrhope.dataset.question_kinds import PAIR_PLACES, STRUCTURES
from clevrhope.dataset.split_files import Vocab, read_vocab
from clevrhope.dataset.vocab import by_number
from clevrhope.errors import DatasetError, VocabularyError
from clevrhope.runtime.progress import Advance
from clevrhope.splits.covr.kinds import COVR_KINDS
from clevrhope.splits.hops import Hop
from clevrhope.splits.palettes import pool_name

Numbers: TypeAlias = npt.NDArray[np.int64]

_PHRASINGS = 1 << 16
"""An upper bound on the phrasings of a kind of question."""

_VARIANTS = 16
"""An upper bound on the variants of a template."""


def check_sets(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Reads the questions over several images.

    Raises:
        DatasetError: a file is missing or cannot be read.
    """
    if not folder.all_sets:
        for result in results.values():
            result.skip("this folder has no questions over several images")
    elif folder.sets:
        checks = _SetChecks(folder, results)
        for hop in dict.fromkeys(split.hop for split in folder.sets):
            checks.check(hop, advance)
        checks.finish()


class _SetChecks:
    """The checks of a folder's questions over several images, and the state that its splits share."""

    def __init__(self, folder: AuditFolder, results: Results) -> None:
        self._folder, self._results = folder, results
        self._vocab: Vocab = read_vocab(folder.layout.covr_vocab)
        self._balance = BalanceCheck(self._vocab, results["several images: balance"])
        self._n_by_cut = np.zeros(3, dtype=np.int64)
        results[FILES].add("covr/vocab.json", of_vocabulary(self._vocab, folder.vocab))

    def check(self, hop: Hop, advance: Advance) -> None:
        """Checks the splits of a sub-dataset."""
        splits = [split for split in self._folder.sets if split.hop == hop]
        reader = self._reader(hop)
        texts = {}
        for split in splits:
            texts[split.name] = self._check_split(split, reader)
            advance(1)
        check_texts(splits, texts, self._results["several images: texts"])

    def finish(self) -> None:
        """Adds notes with the counts."""
        files = self._results[FILES]
        n, n_splits = files.n_checked, len(self._folder.sets)
        files.notes.append(f"questions over several images: {n:,} in {n_splits} splits")
        n_exempt, n_idle, n_needed = self._n_by_cut.tolist()
        self._results[CUTS].notes.append(
            f"questions over several images: {n_needed:,} change without their last leaf, {n_idle:,} do not, "
            f"and {n_exempt:,} have none"
        )
        self._balance.finish(n)

    def _reader(self, hop: Hop) -> AuditReader:
        vocab = self._vocab
        try:
            return AuditReader(
                vocabulary_of(vocab),
                question_tokens=by_number(vocab.words),
                program_tokens=by_number(vocab.functions),
                answers=by_number(vocab.answers),
                held_out=list(hop.target),
                words=known_words(vocab, self._folder.words, hop.target),
            )
        except VocabularyError as error:
            raise DatasetError(f"{self._folder.layout.covr_vocab}: {error}") from error

    def _check_split(self, split: SetFile, reader: AuditReader) -> Texts:
        folder, results, pool = self._folder, self._results, self._folder.scenes[split.pool]
        with split.open() as arrays:
            file = SetBatches(split, arrays, self._vocab, folder.manifest.settings, pool, reader)
            kind, hop, columns = COVR_KINDS[split.name], split.hop, arrays.columns
            place = {"hop": hop.name, "split": split.name}
            place["pool"] = pool_name(kind.pool if hop.held_out else kind.plain_pool, hop.pools)
            results[FILES].add(split.file, of_attributes(arrays, place))
            results[FILES].add(split.file, of_ranges(arrays))
            if sorted(arrays.templates) != sorted(AuditReader.TEMPLATES):
                problem = "attribute templates are not COVR's"
                results[FILES].fault(split.file, None, problem, arrays.templates)
            phrasings: list[Numbers] = []
            if split.json.is_file() and folder.is_readable(split.json):
                files = Compared(split.json, folder.layout.relative(split.json), split.file)
                compare_json(files, arrays, _encoder(file, phrasings), (), results[FILES])
            batches = []
            for batch in file.batches():
                self._check_batch(batch)
                kinds = batch.found.templates.astype(np.int64) * _VARIANTS + batch.found.variants
                batches.append((digests(batch["questions"]), kinds, batch.sizes))
            none = (np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros((0, 3), np.int64))
            texts, kinds, sizes = map(np.concatenate, zip(none, *batches, strict=True))
            self._balance.check_split(split, arrays, sizes)
            if hop.held_out is not None and kind.mentions:
                places = np.clip(columns["pair_places"], 0, 2)
                _, in_question, by_distractors = np.bincount(places, minlength=len(PAIR_PLACES)).tolist()
                results[PAIR].notes.append(
                    f"questions over several images: {in_question:,} of {hop.name} {split.name} "
                    f"mention the pair, and of {by_distractors:,} distractors alone show it"
                )
            numbers = np.concatenate([*phrasings, np.full(len(arrays), -1)])[: len(arrays)]
            known = (numbers >= 0) & (numbers < _PHRASINGS)
            of_kinds = np.where(known, kinds * _PHRASINGS + numbers, -1)
            return Texts(texts, of_kinds, columns["answers"].astype(np.int32))

    def _check_batch(self, batch: Batch) -> None:
        results, split, found = self._results, batch.file.split, batch.found
        for name in (FILES, PROGRAMS, CUTS, *([PAIR] if split.hop.held_out else [])):
            results[name].n_checked += len(batch)
        self._n_by_cut += np.bincount(found.cut.astype(np.int64) + 1, minlength=3)
        wrong = wrong_answers(batch.asked.answers, batch["answers"], self._vocab.answer_names)
        results[PROGRAMS].add(split.file, wrong, batch.numbers)
        for name in ("questions", "programs"):
            tokens = of_tokens(name, batch[name], batch[f"{name[:-1]}_lengths"])
            results[FILES].add(split.file, tokens, batch.numbers)
        names = {"pool": batch.file.pool.name, "words": split.hop.words, "noun": split.hop.noun}
        for rule in RULES:
            faults = where(rule.wrong(batch), rule.problem.format(**names), batch[rule.value])
            results[rule.line].add(split.file, faults, batch.numbers)


def _encoder(file: SetBatches, phrasings: list[Numbers]) -> Encoder:
    """The encoder of questions over several images; appends the number of each question's phrasing."""
    arrays, split, pool = file.arrays, file.split, file.pool
    widths = [arrays.tokens(name, 0, 1).shape[1] for name in ("questions", "programs")]

    def encode(rows: Sequence[tuple[int, bytes]], first: int) -> tuple[Columns, Iterable[Found]]:
        try:
            found = file.reader.encode_sets(
                [row for _, row in rows], split.name, arrays.templates, STRUCTURES
            )
        except ValueError as error:
            place = f"in the {len(rows)} questions from {first} on"
            raise DatasetError(f"{split.json}: {place}: {error}") from error
        questions, question_lengths = found.questions(widths[0])
        programs, program_lengths = found.programs(widths[1])
        n_images, sources, families, structures, phrasing, other_split, orig_idxs = found.numbers.T
        images = found.image_idxs
        phrasings.append(phrasing)
        scenes = scene_rows(images, pool)[2]
        named = found.are_named(pool.native, scenes) | (scenes[:, 0] < 0)
        named &= (images >= 0).sum(axis=1) == n_images
        numbers = range(first, first + len(rows))
        problem = f"image_filenames are not those of the scenes in {pool.name}"
        of_another = where(other_split != 0, "names another split than", lambda k: split.name, numbers)
        return {
            "questions": questions,
            "programs": programs,
            "question_lengths": question_lengths,
            "program_lengths": program_lengths,
            "answers": found.answers,
            "image_idxs": images,
            "sources": sources,
            "question_families": families,
            "structures": structures,
            "orig_idxs": orig_idxs,
        }, [*where(~named, problem, images, numbers), *of_another]

    return encode
