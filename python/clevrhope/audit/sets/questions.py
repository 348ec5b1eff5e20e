"""Checks of the meaning of questions over several images: answers, sources, distractors, held-out pair."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditSetReader
from clevrhope.audit.folder import SetSplit
from clevrhope.audit.report import Check
from clevrhope.audit.sets.batches import Batch, Flags
from clevrhope.audit.sets.lines import SetLines
from clevrhope.config.question_settings import QuestionSettings
from clevrhope.dataset.covr_h5 import MAX_IMAGES, PAIR_PLACES
from clevrhope.dataset.native_reader import NO_SCENE, WHY
from clevrhope.dataset.scene_files import MISSING, PoolScenes, Rows

UNIQUE = (
    "verify_attr",
    "choose_attr",
    "query_attr",
    "verify_same_attr",
    "query_object",
    "choose_object",
    "choose_relation",
)
"""Templates about the unique object that fits a description."""

DECIDED = ("verify_logic", "verify_quantifier", "verify_quantifier_attr")
"""Templates whose answer one image can decide, so that it need not change without the last leaf."""

_TEMPLATES = np.asarray(AuditSetReader.TEMPLATES)
_NOWHERE, _QUESTION, _DISTRACTORS = range(len(PAIR_PLACES))


class MeaningCheck:
    """The checks of one split, batch by batch."""

    def __init__(
        self,
        split: SetSplit,
        settings: QuestionSettings,
        templates: tuple[str, ...],
        answers: Mapping[int, str],
        lines: SetLines,
    ) -> None:
        self._split, self._settings, self._lines, self._answers = split, settings, lines, answers
        self._templates = np.asarray([*templates, ""])
        self.n_by_place = np.zeros(len(PAIR_PLACES), dtype=np.int64)
        """Questions with the pair nowhere, in the question, and in distractors alone."""
        self.n_by_cut = np.zeros(3, dtype=np.int64)
        """Questions without a last leaf, and with one that changes nothing or something."""

    def look_at(self, batch: Batch, pool: PoolScenes) -> None:
        """Checks a batch."""
        matches = batch.found.matches.reshape(-1, 2, MAX_IMAGES).astype(np.int64)
        self._check_programs(batch, matches)
        self._check_distractors(batch, matches)
        if self._split.hop.pair is not None:
            self._check_pair(batch, matches, pool)

    def _check_programs(self, batch: Batch, matches: Rows) -> None:
        check, found = self._lines.programs, batch.found
        check.n_checked += len(batch)
        given, wanted = found.answers, batch.columns["answers"]
        for k in np.flatnonzero((given != wanted) & (given != NO_SCENE)).tolist():
            answer = int(given[k])
            problem = f"its program gives {self._answers.get(answer)}, not the answer"
            if answer < 0:
                problem = f"its program has no answer ({WHY.get(answer)})"
            stored = int(wanted[k])
            check.fault(batch.file, batch.first + k, problem, self._answers.get(stored, stored))
        named = self._named(batch)
        templates = self._by_program(batch)
        batch.fault(check, named != templates, "its program is of another template than", named)
        structures = batch.columns["structures"]
        wrong = found.structures != structures
        batch.fault(check, wrong, "its program is of another structure than", structures)
        # If any image shows the first described set, or else the second, the source must show it.
        shows = (matches > 0).any(axis=1)  # (N, 5)
        at_source = np.take_along_axis(shows, self._sources(batch), axis=1)[:, 0]
        wrong = shows.any(axis=1) & ~at_source
        batch.fault(
            check, wrong, "another image than the source shows what it describes", batch.columns["sources"]
        )

    def _check_distractors(self, batch: Batch, matches: Rows) -> None:
        check, templates = self._lines.distractors, self._by_program(batch)
        check.n_checked += len(batch)
        is_executed = batch.rows[:, 0] != MISSING
        members = np.maximum(matches, 0)  # (N, 2, 5)
        n = members.sum(axis=2)
        at_source = np.take_along_axis(members, self._sources(batch)[:, None], axis=2)[:, :, 0]  # (N, 2)
        is_same = templates == "verify_same_attr"
        is_right = (n[:, 0] == 1) & (at_source[:, 0] == 1)
        is_right &= ~is_same | ((n[:, 1] == 1) & (at_source[:, 1] == 0))
        wrong = np.isin(templates, UNIQUE) & is_executed & ~is_right
        batch.fault(check, wrong, "not once in its source and nowhere else; by image it is there", matches)
        cut, stored = batch.found.cut, batch.columns["cut"]
        self.n_by_cut += np.bincount(cut.astype(np.int64) + 1, minlength=3)
        problem = "cut is not what the program without its last leaf gives, but"
        batch.fault(check, is_executed & (cut != stored), problem, stored)
        if self._settings.distractors == "edited":
            idle = is_executed & (cut == 0) & ~np.isin(templates, DECIDED)
            batch.fault(check, idle, "its last leaf is of no consequence", templates)

    def _check_pair(self, batch: Batch, matches: Rows, pool: PoolScenes) -> None:
        check, found, hop = self._lines.pair, batch.found, self._split.hop
        check.n_checked += len(batch)
        places = batch.columns["pair_places"]
        self.n_by_place += np.bincount(np.clip(places, 0, 2), minlength=len(PAIR_PLACES))
        implied = found.implied & (self._settings.strictness == "implied")
        spoken = found.by_program | found.by_words | implied
        in_question = np.zeros(len(batch), dtype=np.bool_)
        if self._split.kind.mentions:
            in_question = places == _QUESTION
            self._check_places(batch, matches, pool)
        else:
            batch.fault(check, places != _NOWHERE, "pair_places is not 0, where the pair is held out", places)
            if self._settings.covr_hold == "both":
                self._check_images(batch, pool, check)
        batch.fault(check, spoken & ~in_question, f"mentions {hop.words}: template", self._named(batch))
        lacks = in_question & ~found.by_program
        batch.fault(check, lacks, f"does not mention {hop.words}: template", self._named(batch))

    def _check_places(self, batch: Batch, matches: Rows, pool: PoolScenes) -> None:
        """Checks questions about the pair: one mentions it, or only distractors show it."""
        check, places = self._lines.pair, batch.columns["pair_places"]
        batch.fault(
            check, places == _NOWHERE, "pair_places is 0, where each question is about the pair", places
        )
        shows_pair = self._shows_pair(batch, pool)
        describes = (matches > 0).any(axis=1)  # (N, 5)
        by_distractors = shows_pair.any(axis=1) & ~(shows_pair & describes).any(axis=1)
        wrong = (places == _DISTRACTORS) & (batch.rows[:, 0] != MISSING) & ~by_distractors
        problem = f"not distractors alone show a {self._split.hop.noun}; by image"
        batch.fault(check, wrong, problem, shows_pair)

    def _check_images(self, batch: Batch, pool: PoolScenes, check: Check) -> None:
        wrong = self._shows_pair(batch, pool).any(axis=1)
        problem = f"an image shows a {self._split.hop.noun}; images"
        batch.fault(check, wrong, problem, batch.columns["image_idxs"])

    def _shows_pair(self, batch: Batch, pool: PoolScenes) -> Flags:
        """(N, 5) whether each image shows the pair."""
        holding = np.append(pool.holding(self._split.hop.target), False)  # the last for MISSING
        shown: Flags = holding[batch.rows]
        return shown

    def _by_program(self, batch: Batch) -> npt.NDArray[np.str_]:
        """(N,) the template of each program; "" for none."""
        return np.append(_TEMPLATES, "")[batch.found.templates]

    def _named(self, batch: Batch) -> npt.NDArray[np.str_]:
        """(N,) the template that each row names; "" for none."""
        families = batch.columns["question_families"]
        known = (families >= 0) & (families < len(self._templates) - 1)
        names: npt.NDArray[np.str_] = self._templates[np.where(known, families, -1)]
        return names

    @staticmethod
    def _sources(batch: Batch) -> Rows:
        """(N, 1) the index of each source image; 0 for one that is out of range."""
        sources = batch.columns["sources"].astype(np.int64)
        return np.where((sources >= 0) & (sources < MAX_IMAGES), sources, 0)[:, None]
