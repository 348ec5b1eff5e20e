"""The train sets that models learn from: train, train with questions of a suite, covr_train. No torch."""

from collections.abc import Mapping

from clevrhope.dataset.augmented_h5 import n_augmented, read_fingerprint, suite_of_split
from clevrhope.dataset.contents import find_split, no_train_set
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.split_reader import SplitReader, open_split
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.splits.kinds import TRAIN


def open_train_set(
    layout: Layout, hop: str, split: str, size: int
) -> tuple[SplitReader, Vocab, Mapping[str, str]]:
    """A train set of a name that `check_train_split` knows.

    Returns:
        Its first `size` questions, with those that a suite added to them; their vocabulary; and what run.json
        says of the set, which is nothing of train itself.

    Raises:
        ConfigError: it is not in the folder, and the message has the command that makes it; or it is smaller.
        DatasetError: a damaged file.
    """
    suite = suite_of_split(split)
    find_split(layout, hop, split if suite is None else TRAIN.name)
    if suite is None:
        vocab = read_vocab(layout.vocab_of(split))
        binding = {} if split == TRAIN.name else {"split": split}
        return open_split(layout, hop, split, limit=size, vocab=vocab), vocab, binding
    h5 = layout.suite_h5(hop, suite, split)
    if not h5.exists():
        raise no_train_set(layout, hop, suite)
    vocab = read_vocab(layout.suite_vocab(hop, suite))
    # The message of train itself names the number of its own questions.
    open_split(layout, hop, TRAIN.name, limit=size, vocab=vocab)
    binding = {"split": split, "suite_fingerprint": read_fingerprint(h5)}
    return SplitReader(h5, limit=n_augmented(size), vocab=vocab), vocab, binding
