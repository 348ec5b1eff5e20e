"""The audit's execution of programs, beside the slow executor of the tests, on real CLEVR."""

import json
from pathlib import Path

import numpy as np
import slow_executor
from program_strategies import VALUES
from token_rows import padded

from clevrhope._core import AuditScenes
from clevrhope.dataset.native_reader import NO_ANSWER, question_reader, vocabulary_of
from clevrhope.dataset.split_files import Vocab
from clevrhope.programs import answer_text

SPECIAL = ("<NULL>", "<START>", "<END>", "<UNK>")


def test_the_audit_answers_as_a_slow_execution_does(test_data: Path) -> None:
    """Every real CLEVR program on every scene, so that sets of none and of several objects come up too."""
    folder = test_data / "real_clevr"
    path = folder / "CLEVR_val_scenes.json"
    scenes = json.loads(path.read_text())["scenes"]
    programs = [
        row["program"]
        for split in ("train", "val")
        for row in json.loads((folder / f"CLEVR_{split}_questions.json").read_text())["questions"]
    ]
    values = [(kind, value) for kind, of_kind in VALUES.items() for value in of_kind]
    answers = [*SPECIAL, "no", "yes", *map(str, range(11)), *(value for _, value in values)]
    tokens = [slow_executor.prefix_tokens(program) for program in programs]
    of_programs = sorted({token for each in tokens for token in each})
    filters = [f"filter_{kind}[{value}]" for kind, value in values]
    names = [*SPECIAL, *of_programs, *(name for name in filters if name not in of_programs)]
    number = {name: i for i, name in enumerate(names)}
    vocab = Vocab({}, number, {name: i for i, name in enumerate(answers)})

    asked = [(k, scene) for k in range(len(programs)) for scene in scenes]
    rows = [[1, *(number[token] for token in tokens[k]), 2] for k, _ in asked]
    vocabulary = vocabulary_of(vocab)
    read = AuditScenes.read(vocabulary, [path])
    places = np.searchsorted(read.indices, [scene["image_index"] for _, scene in asked])
    reader = question_reader(vocab, (), {}, vocabulary)
    no_words = np.zeros((len(asked), 1), np.int32)
    given = reader.read(no_words, padded(rows, 60), read, places).answers.tolist()
    outputs = [slow_executor.run(programs[k], scene)[-1] for k, scene in asked]
    failed = [output == slow_executor.FAILED for output in outputs]
    expected = [None if fails else answer_text(output) for fails, output in zip(failed, outputs, strict=True)]
    assert [None if answer == NO_ANSWER else answers[answer] for answer in given] == expected
    assert 0 < sum(failed) < len(asked)
