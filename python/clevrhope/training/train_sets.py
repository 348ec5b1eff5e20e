"""The train sets that models learn from: train, train with questions of a suite, covr_train. No torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clevrhope.dataset.augmented_h5 import n_augmented, read_fingerprint, suite_of_split
from clevrhope.dataset.contents import find_split, no_train_set
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.split_reader import SplitReader, open_split
from clevrhope.dataset.vocab import Vocab
from clevrhope.splits.covr.kinds import is_covr
from clevrhope.splits.kinds import TRAIN


@dataclass(frozen=True)
class TrainSet:
    """A train set of a sub-dataset."""

    layout: Layout
    hop: str
    split: str
    vocab: Path
    """The file of the vocabulary that its tokens and answers are in."""
    h5: Path | None = None
    """The file with a suite's questions; None for train itself, and for questions about sets of images."""

    def open(self, size: int, vocab: Vocab) -> SplitReader:
        """The first `size` questions of train, with those that are added to them; errors as `SplitReader`."""
        if self.h5 is None:
            return open_split(self.layout, self.hop, self.split, limit=size, vocab=vocab)
        # The message of train itself names the number of its own questions.
        open_split(self.layout, self.hop, TRAIN.name, limit=size, vocab=vocab)
        return SplitReader(self.h5, limit=n_augmented(size), vocab=vocab)

    def binding(self) -> Mapping[str, str]:
        """What run.json says of it: nothing of train itself."""
        if self.h5 is None:
            return {} if self.split == TRAIN.name else {"split": self.split}
        return {"split": self.split, "suite_fingerprint": read_fingerprint(self.h5)}


def find_train_set(layout: Layout, hop: str, split: str) -> TrainSet:
    """The train set of a name that `check_train_split` knows.

    Raises:
        ConfigError: it is not in the folder; the message has the command that makes it.
    """
    if is_covr(split):
        return TrainSet(layout, hop, find_split(layout, hop, split), layout.vocab_of(split))
    find_split(layout, hop, TRAIN.name)
    suite = suite_of_split(split)
    if suite is None:
        return TrainSet(layout, hop, split, layout.vocab)
    h5 = layout.suite_h5(hop, suite, split)
    if not h5.exists():
        raise no_train_set(layout, hop, suite)
    return TrainSet(layout, hop, split, layout.suite_vocab(hop, suite), h5)
