"""Answers of LXMERT as others finetuned it on another dataset, such as VQA2, without any training here.

Its head scores the answers of that dataset, 3,129 of VQA2. Source: CLEVR-HOPE, appendix B.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.contents import find_hop, hops_in, of_episodes_alone, splits_in
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import SINGLE
from clevrhope.dataset.question_table import open_split
from clevrhope.dataset.vocab import NOT_TRAINED, SPECIAL_TOKENS, Vocab, make_vocab, read_vocab
from clevrhope.errors import ConfigError, listed
from clevrhope.features.device import chosen_device
from clevrhope.features.store import open_store
from clevrhope.features.weights import load_into, read_weights
from clevrhope.models.lxmert.config import LxmertConfig
from clevrhope.models.lxmert.model import LxmertScratch, published_name
from clevrhope.runtime.json_text import read_json
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.training.answers import BATCH, NO_ANSWER, accuracy, predict_answers
from clevrhope.training.data import Questions
from clevrhope.training.device import computing
from clevrhope.training.predictions import Part, answer_lines, write_lines
from clevrhope.training.request import chosen_splits
from clevrhope.training.run_folder import RunFolder

NAME = "lxmert_vqa"
"""The model's name in predictions."""

WHAT = "weights of LXMERT finetuned on VQA2, of transformers or of LXMERT's own release"
"""The file of weights, for messages."""

_LABELS = "LXMERT's trainval_label2ans.json, a list, or a config.json of transformers with id2label"
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SIZES = {
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "intermediate": "intermediate_size",
    "language_layers": "l_layers",
    "object_layers": "r_layers",
    "cross_layers": "x_layers",
}
"""Setting -> its name in a config.json of transformers."""


@dataclass(frozen=True)
class ZeroShot:
    """The result of `evaluate_zero_shot`.

    Attributes:
        path: the file of predictions.
        percent: "HOP split" -> accuracy in per cent.
        n_questions: number of questions.
        n_foreign: number of answers that are no answer of the dataset's questions; they count as wrong.
        labels: the labels that are answers of the dataset.
    """

    path: Path
    percent: Mapping[str, float]
    n_questions: int
    n_foreign: int
    labels: tuple[str, ...]


def read_labels(path: Path) -> tuple[list[str], dict[str, Any]]:
    """The answers that a head scores, in order, and what a config.json says of the model's sizes.

    Raises:
        ConfigError: there is no such file, or it does not name each answer once.
    """
    content, sizes = read_json(path, "a list of answers", error=ConfigError, remedy=f"expected {_LABELS}"), {}
    if isinstance(content, dict):
        sizes = {name: content[key] for name, key in _SIZES.items() if key in content}
        pairs = content.get("id2label")
        if "id2label" not in content and all(isinstance(number, int) for number in content.values()):
            pairs = {number: label for label, number in content.items()}
        by_number = {str(number): label for number, label in pairs.items()} if isinstance(pairs, dict) else {}
        content = [by_number.get(str(number)) for number in range(len(by_number))]
    if not isinstance(content, list) or not content or not all(isinstance(each, str) for each in content):
        raise ConfigError(f"{path}: no list of answers; expected {_LABELS}")
    if len({*content}) < len(content):
        twice = next(each for each in content if content.count(each) > 1)
        raise ConfigError(f'{path}: "{twice}" is listed twice; expected {_LABELS}')
    return content, sizes


def read_zero_shot(weights: Path, labels: Path, vocab: Vocab) -> tuple[LxmertScratch, list[str]]:
    """The model with its weights, and the answers that it scores; `vocab` has the words of the questions.

    Raises:
        ConfigError: a file is missing or of another form, or the head scores another number of answers.
    """
    names, sizes = read_labels(labels)
    own = make_vocab([], [], [])
    numbers = {**own.answer_token_to_idx, **{name: len(SPECIAL_TOKENS) + k for k, name in enumerate(names)}}
    model = LxmertScratch.build(sizes, Vocab(vocab.question_token_to_idx, own.program_token_to_idx, numbers))
    found = {published_name(name): value for name, value in read_weights(weights, what=WHAT).items()}
    rows = found.get("answer_head.logit_fc.3.bias")
    if rows is not None and len(rows) != len(names):
        raise ConfigError(
            f"{weights}: its head scores {len(rows):,} answers, but {labels} has {len(names):,}"
        )
    load_into(model, found, path=weights, what=WHAT)
    return model, names


def evaluate_zero_shot(
    weights: Path,
    labels: Path,
    dataset: Path,
    out: Path,
    *,
    hops: Sequence[str] = (),
    splits: Sequence[str] | None = None,
    features: str | None = None,
    device: str = "auto",
    batch_size: int = BATCH,
    progress: Progress | None = None,
) -> ZeroShot:
    """Answers the test sets of a dataset with a model of another one, and writes predictions for `score`.

    The model's answer is the label with the highest score. It is mapped by its text, with numbers in words as
    digits; an answer that no question of the dataset has counts as wrong.

    Args:
        weights: the file of weights.
        labels: the file that names the answers of its head.
        dataset: the dataset's folder.
        out: the folder in which predictions are written.
        hops: the sub-datasets; empty for all.
        splits: as for `evaluate`.
        features: as for `evaluate`.
        device: as for `evaluate`.
        batch_size: as for `evaluate`.
        progress: as for `evaluate`.

    Raises:
        ConfigError: as for `read_zero_shot`; no label is an answer of the dataset; it has no such HOP, split
            or store, or no test set.
        DatasetError: the dataset or its features are incomplete.
    """
    layout = Layout(dataset)
    store = open_store(dataset, kind=LxmertConfig().features, name=features)
    vocab = read_vocab(layout.vocab)
    model, names = read_zero_shot(weights, labels, vocab)
    answers = {text: n for text, n in vocab.answer_token_to_idx.items() if text not in SPECIAL_TOKENS}
    texts = [name.strip().casefold() for name in names]
    words = {word: str(number) for number, word in enumerate(_NUMBERS)}
    mapped = np.asarray([answers.get(words.get(text, text), NO_ANSWER) for text in texts])
    if (mapped == NO_ANSWER).all():
        raise ConfigError(
            f"{labels}: none of its {len(names):,} answers, such as {listed(names, most=3)}, is one of this "
            f"dataset; expected {_LABELS}"
        )
    where = chosen_device(device)
    sets: dict[tuple[str, str], Questions] = {}
    for hop in [find_hop(layout, name) for name in hops] or hops_in(layout):
        place = f"{dataset}: " if splits else ""
        for split in chosen_splits(splits_in(layout, hop, SINGLE), hop, splits, place=place):
            table = open_split(layout, hop, split, vocab=vocab)
            sets[hop, split] = Questions(table, store.pool(table.pool), where)
    if not sets:
        said = of_episodes_alone(layout) or "no test sets; build some, such as those of --prelim"
        raise ConfigError(f"{dataset}: {said}")
    given = {}
    n_questions = sum(map(len, sets.values()))
    with (
        (progress or Silent()).stage("Predicting", total=n_questions, unit="questions") as advance,
        computing(where, precision="float32", deterministic=False),
    ):
        model = model.to(where)
        for key, questions in sets.items():
            n_scores = len(SPECIAL_TOKENS) + len(names)
            options: dict[str, Any] = {"batch_size": batch_size, "advance": advance, "precision": "float32"}
            best = predict_answers(model, "predict", questions, n_answers=n_scores, **options)
            given[key] = np.where(best == NO_ANSWER, NO_ANSWER, mapped[best - len(SPECIAL_TOKENS)])
    note = "; ".join(filter(None, (NOT_TRAINED, store.info.note)))
    columns = {"model": NAME, "features": store.info.kind, "note": note}
    lines = (
        answer_lines(hop, Part("", split), range(len(each)), each, vocab, columns)
        for (hop, split), each in given.items()
    )
    path = RunFolder(out).prediction("last", "predict")
    write_lines(path, {Part("", ""): chain.from_iterable(lines)})
    return ZeroShot(
        path=path,
        percent={" ".join(key): accuracy(each, sets[key]) for key, each in given.items()},
        n_questions=n_questions,
        n_foreign=sum(int((each == NO_ANSWER).sum()) for each in given.values()),
        labels=tuple(compress(names, mapped != NO_ANSWER)),
    )
