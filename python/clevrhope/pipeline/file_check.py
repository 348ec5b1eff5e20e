"""Finds the question files of a folder that are missing or damaged, so that a run writes them again."""

from dataclasses import dataclass
from pathlib import Path

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.runtime.atomic import record
from clevrhope.runtime.progress import Advance, ignore_advance


@dataclass(frozen=True)
class QuestionFiles:
    """The question files of a folder, compared with its manifest."""

    manifest: Manifest
    layout: Layout
    checksums: bool
    """Whether contents are compared, not only sizes."""
    advance: Advance = ignore_advance
    """Called for each split that is compared."""

    def has_json(self, hop: str, split: str) -> bool:
        """Whether a split was written with a JSON question file, which it then keeps."""
        return self.layout.relative(self.layout.questions_json(hop, split)) in self.manifest.files

    def are_whole(self, hop: str, split: str, *, question_json: bool) -> bool:
        """Whether a split's files exist as the manifest lists them."""
        files = [self.layout.questions_h5(hop, split)]
        if question_json:
            files.append(self.layout.questions_json(hop, split))
        whole = all(map(self._as_listed, files))
        self.advance(1)
        return whole

    def _as_listed(self, path: Path) -> bool:
        known = self.manifest.files.get(self.layout.relative(path))
        try:
            same = known is not None and path.stat().st_size == known.bytes
        except OSError:
            return False
        return same and (not self.checksums or record(path) == known)
