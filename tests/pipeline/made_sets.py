"""Files of questions about sets of images, made of the scenes of a built folder."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from clevrhope import _core
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import MAX_IMAGES, SETS
from clevrhope.dataset.question_table import QuestionTable, read_scenes_in_use
from clevrhope.dataset.questions_h5 import QuestionWriter
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab, extended_vocab, read_vocab, write_vocab
from clevrhope.programs import Program, default_vocabulary, read_scenes

SIZES = {
    "covr_train": ("train", 96),
    "covr_dev": ("complex_iid", 24),
    "covr_test": ("complex_iid", 40),
    "covr_test_paraphrased": ("complex_iid", 20),
    "covr_test_ood": ("complex_ood", 32),
}
"""Split -> the split of the HOP whose scenes it has, and the number of its questions."""

TEMPLATES = ("verify_logic", "count")
_MORE_WORDS, _MORE_FUNCTIONS = ("images", "many", "with"), ("unique_images", "count_images")
_WIDTH = 14


def make_sets(folder: Path, hop: str, sets: Mapping[str, tuple[str, int]] = SIZES) -> Vocab:
    """Writes covr/vocab.json and splits of a HOP; a third of the sets have fewer than five images."""
    layout = Layout(folder)
    vocab = extended_vocab(read_vocab(layout.vocab), words=_MORE_WORDS, program_tokens=_MORE_FUNCTIONS)
    (layout.root / "covr" / hop).mkdir(parents=True)
    write_vocab(layout.covr_vocab, vocab)
    for number, (split, (of_split, n)) in enumerate(sets.items()):
        pool, there = read_scenes_in_use(layout.questions_h5(hop, of_split))
        rng = np.random.default_rng(number)
        image_idxs = np.full((n, MAX_IMAGES), -1, np.int32)
        for row in range(n):
            n_images = int(rng.integers(1, MAX_IMAGES)) if row % 3 == 0 else MAX_IMAGES
            image_idxs[row, :n_images] = rng.choice(there, n_images, replace=False)
        with QuestionWriter(
            layout.questions_h5(hop, split),
            hop=hop,
            split=split,
            pool=pool,
            attributes={
                "templates": TEMPLATES,
                "property_names": ["has_count"],
                "term_names": ["cube", "red"],
            },
        ) as writer:
            writer.append(_questions(layout, pool, image_idxs, vocab, rng).arrays())
    return vocab


def _questions(
    layout: Layout, pool: str, image_idxs: np.ndarray, vocab: Vocab, rng: np.random.Generator
) -> QuestionTable:
    """Whether there are objects of a color and a shape in even rows; in odd ones, in how many images."""
    vocabulary, n = default_vocabulary(), len(image_idxs)
    scenes = read_scenes(layout.scene_shard(pool, 0))
    places = np.where(image_idxs < 0, -1, np.searchsorted(scenes.indices, image_idxs)).astype(np.int32)
    sets = _core.SceneSets(scenes.graphs, places)
    tokens = _core.ProgramTokens(vocabulary, vocab.programs())
    texts, programs, answers = [], [], []
    for row in range(n):
        color, shape = rng.choice(["red", "blue", "gray"]), rng.choice(["cube", "sphere"])
        found = [
            {"operation": "find", "arguments": [shape]},
            {"operation": "filter", "dependencies": [0], "arguments": [color]},
        ]
        counted = [
            {"operation": "unique_images", "dependencies": [1]},
            {"operation": "count", "dependencies": [2]},
        ]
        existing = [{"operation": "exists", "dependencies": [1]}]
        program = Program([*found, *(counted if row % 2 else existing)])
        begin = "How many images with" if row % 2 else "Are there any"
        texts.append([*begin.split(), color, f"{shape}s"])
        programs.append(program._handle.to_tokens(tokens, _WIDTH)[0])
        number = _core.execute_batch(
            program._handle, sets, np.zeros(1, np.uint32), np.array([row], np.uint32)
        )
        answers.append(vocab.answer_token_to_idx[vocabulary.set_answers[int(number[0])]])
    questions = _tokens(texts, vocab)
    zeros = np.zeros(n, np.int8)
    return QuestionTable(
        SETS,
        {
            "questions": questions,
            "question_lengths": (questions != 0).sum(1).astype(np.int32),
            "programs": np.array(programs, np.int32),
            "program_lengths": (np.array(programs) != 0).sum(1).astype(np.int32),
            "answers": np.array(answers, np.int32),
            "image_idxs": image_idxs,
            "question_families": np.arange(n, dtype=np.int32) % 2,
            "orig_idxs": np.arange(n, dtype=np.int32),
            "structures": zeros,
            "sources": zeros,
            "cut": zeros - 1,
            "pair_places": zeros,
            "properties": (np.arange(n) % 2).astype(np.int8)[:, np.newaxis],
            "terms": np.full(n, 0b11, np.int64),
        },
    )


def _tokens(texts: list[list[str]], vocab: Vocab) -> np.ndarray:
    start, end = (SPECIAL_TOKENS.index(mark) for mark in ("<START>", "<END>"))
    rows = np.zeros((len(texts), _WIDTH), np.int32)
    for row, text in zip(rows, texts, strict=True):
        row[: len(text) + 2] = [start, *(vocab.question_token_to_idx[word] for word in text), end]
    return rows
