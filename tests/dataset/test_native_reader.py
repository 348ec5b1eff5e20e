"""The audit's execution of programs, beside a plain one, on real CLEVR."""

import json
from pathlib import Path

import numpy as np
from plain_execution import NoAnswer, Scene, execute, scene_of
from token_rows import padded

from clevrhope._core import AuditScenes
from clevrhope.dataset.native_reader import NO_ANSWER, question_reader, vocabulary_of
from clevrhope.dataset.split_files import Vocab
from clevrhope.dataset.split_files import prefix as prefixed
from wording import refused

SPECIAL = ("<NULL>", "<START>", "<END>", "<UNK>")
REAL_VALUES = {
    "size": "small large",
    "color": "gray red blue green brown purple cyan yellow",
    "material": "rubber metal",
    "shape": "cube sphere cylinder",
}


def test_the_audit_answers_as_a_plain_execution_does(test_data: Path) -> None:
    """Every real CLEVR program on every scene, so that sets of none and of several objects come up too."""
    folder = test_data / "real_clevr"
    path = folder / "CLEVR_val_scenes.json"
    scenes = json.loads(path.read_text())["scenes"]
    rows = [
        row
        for split in ("train", "val")
        for row in json.loads((folder / f"CLEVR_{split}_questions.json").read_text())["questions"]
    ]
    programs = [
        [(s["function"], "".join(s["value_inputs"]), tuple(s["inputs"])) for s in row["program"]]
        for row in rows
    ]
    asked = [(program, scene["image_index"]) for program in programs for scene in scenes]
    tokens = [prefixed(program) for program in programs]
    names = [*SPECIAL, *sorted({token for each in tokens for token in each})]
    answers = [
        *SPECIAL,
        "no",
        "yes",
        *map(str, range(11)),
        *(v for of in REAL_VALUES.values() for v in of.split()),
    ]
    known = {
        name: i
        for i, name in enumerate(
            [
                *names,
                *(
                    f"filter_{kind}[{value}]"
                    for kind, of in REAL_VALUES.items()
                    for value in of.split()
                    if f"filter_{kind}[{value}]" not in names
                ),
            ]
        )
    }
    vocab = Vocab({}, known, {name: i for i, name in enumerate(answers)})
    vocabulary = vocabulary_of(vocab)
    read = AuditScenes.read(vocabulary, [path])
    place = {index: at for at, index in enumerate(read.indices.tolist())}
    reader = question_reader(vocab, (), {}, vocabulary)
    by_number = padded([[1, *(known[t] for t in prefixed(program)), 2] for program, _ in asked], 60)
    found = reader.read(
        np.zeros((len(asked), 1), np.int32), by_number, read, np.asarray([place[index] for _, index in asked])
    )
    plain = {scene["image_index"]: scene_of(scene) for scene in scenes}
    n_answered = 0
    for (program, index), answer in zip(asked, found.answers.tolist(), strict=True):
        try:
            expected = execute(program, plain[index])
        except NoAnswer:
            assert answer == NO_ANSWER
        else:
            assert answers[answer] == expected
            n_answered += 1
    assert 0 < n_answered < len(asked)


def test_the_executor_agrees_with_real_clevr(test_data: Path) -> None:
    n = 0
    for split in ("train", "val"):
        folder = test_data / "real_clevr"
        rows = json.loads((folder / f"CLEVR_{split}_scenes.json").read_text())["scenes"]
        scenes = {row["image_index"]: scene_of(row) for row in rows}
        for row in json.loads((folder / f"CLEVR_{split}_questions.json").read_text())["questions"]:
            program = [
                (s["function"], "".join(s["value_inputs"]), tuple(s["inputs"])) for s in row["program"]
            ]
            assert execute(program, scenes[row["image_index"]]) == row["answer"], row["question"]
            n += 1
    assert n >= 44


def test_the_executor_refuses_a_set_that_is_not_one_object() -> None:
    two = Scene((("small", "red", "rubber", "cube"), ("large", "red", "metal", "cube")), {})
    with refused(NoAnswer):
        execute([("scene", "", ()), ("filter_shape", "sphere", (0,)), ("unique", "", (1,))], two)
