"""Questions through the binding: what a split promises, whatever batches it is made in."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_worlds import SPECIAL

from clevrhope import SplitError, TemplateError, _core, execute, instantiate_questions
from clevrhope.programs import answer_text
from clevrhope.questions import read_templates
from clevrhope.runtime.assets import question_templates
from clevrhope.splits import PoolScenes, QuestionStream
from wording import check_refused

PAIR = (("material", "rubber"), ("shape", "cylinder"))


@pytest.fixture(scope="module")
def templates(world: _core.World) -> _core.Templates:
    return read_templates(world)


@pytest.fixture(scope="module")
def pool_scenes(world: _core.World) -> PoolScenes:
    return PoolScenes(world, seed=7, pool="train")


def stream(pool_scenes: PoolScenes, templates: _core.Templates, **changes: Any) -> QuestionStream:
    settings: dict[str, Any] = {
        "split": "train",
        "held_out": PAIR,
        "scenes": "without",
        "questions": "without",
        "questions_per_scene": 9,
    }
    return QuestionStream.about_images(pool_scenes, templates, **{**settings, **changes})


def rows(batch: _core.QuestionBatch) -> list[dict[str, Any]]:
    questions: list[dict[str, Any]] = json.loads(batch.to_json(split="train"))
    return questions


def test_scenes_that_are_kept_are_those_of_the_pool(world: _core.World) -> None:
    kept = PoolScenes(world, seed=7, pool="train")
    kept.scenes(np.arange(500, dtype=np.uint64))
    assert kept.n_kept == 500
    indices = np.asarray([499, 3, 700, 0, 250, 3, 10_000], dtype=np.uint64)
    pool = _core.sample_scenes(world, seed=7, pool="train", indices=indices)
    assert kept.scenes(indices).json_rows() == pool.json_rows()
    assert kept.n_kept == 502


def test_a_prepared_stream_gives_the_same_questions(
    pool_scenes: PoolScenes, templates: _core.Templates
) -> None:
    prepared = stream(pool_scenes, templates)
    prepared.prepare(2)
    assert prepared.next(2).texts == stream(pool_scenes, templates).next(2).texts


@pytest.mark.parametrize(
    ("split", "pool", "rule", "a_scene"),
    [("train", "train", "without", 9), ("complex_ood", "test_ood", "with", 1)],
)
def test_first_questions_are_golden(
    world: _core.World, templates: _core.Templates, split: str, pool: str, rule: Any, a_scene: int
) -> None:
    """A change here is a change of every dataset: `DATASET_VERSION` goes up, and CHANGELOG says so."""
    pool_scenes = PoolScenes(world, seed=7, pool=pool)
    batch = (
        stream(pool_scenes, templates, split=split, scenes=rule, questions=rule, questions_per_scene=a_scene)
        .next(1)
        .take(0, 18)
    )
    found = [
        [row["image_index"], row["question"], row["answer"]] for row in json.loads(batch.to_json(split=split))
    ]
    golden = json.loads((Path(__file__).parent / "golden_questions.json").read_text())
    assert found == golden[split]


def test_rows_columns_and_tokens_say_the_same(
    world: _core.World, pool_scenes: PoolScenes, templates: _core.Templates
) -> None:
    batch = stream(pool_scenes, templates).next(1).take(100, 400)
    assert len(batch) == 300
    questions = rows(batch)
    assert [row["question"] for row in questions] == batch.texts
    assert [row["question_family_index"] for row in questions] == batch.column("question_families").tolist()
    assert [row["question_index"] for row in questions] == list(range(300))
    families = {index: (file, place) for file, place, index in templates.families}
    for row, needed in zip(questions, batch.column("relation_needed"), strict=True):
        assert families[row["question_family_index"]] == (row["template_filename"], row["template_index"])
        relations = [node for node in row["program"] if node["function"] == "relate"]
        assert row["relation_needed"] == [bool(n) for n in needed if n >= 0]
        assert len(row["relation_needed"]) == len(relations)
    names = SPECIAL + templates.words
    words, lengths = batch.question_tokens(names, templates.question_width)
    for row, tokens, length in zip(questions, words, lengths, strict=True):
        said = [names[token] for token in tokens[1 : length - 1]]
        plain = row["question"].replace(";", " ;").replace(",", " ,").replace("?", "").replace(".", "")
        assert said == plain.split()
        assert (tokens[0], tokens[length - 1], tokens[length:].any()) == (1, 2, False)
    program_tokens = _core.ProgramTokens(world.vocabulary)
    programs, _ = batch.program_tokens(program_tokens, templates.program_width)
    parsed = _core.Programs.from_tokens(program_tokens, programs)
    assert len(parsed) == 300


def test_what_does_not_fit_a_row_is_named(pool_scenes: PoolScenes, templates: _core.Templates) -> None:
    batch = stream(pool_scenes, templates).next(1)
    check_refused(TemplateError, batch.question_tokens, SPECIAL, templates.question_width)
    check_refused(TemplateError, batch.question_tokens, SPECIAL + templates.words, 5)
    with pytest.raises(KeyError, match="known: answers, image_idxs"):
        batch.column("answer_idxs")
    with pytest.raises(IndexError):
        batch.take(1, len(batch) + 1)


def test_a_question_of_four_relations_does_not_fit_a_row(
    tmp_path: Path, world: _core.World, pool_scenes: PoolScenes
) -> None:
    family = json.loads((question_templates() / "three_hop.json").read_text())[0]
    values = ["<R4>", "<Z5>", "<C5>", "<M5>", "<S5>"]
    node = {"type": "relate_filter_unique", "inputs": [3], "side_inputs": values}
    family["nodes"].insert(-1, node)
    family["nodes"][-1]["inputs"] = [4]
    family["params"] += [{"type": "Relation", "name": "<R4>"}]
    family["params"] += [{**each, "name": each["name"].replace("4", "5")} for each in family["params"][-5:-1]]
    family["text"] = [
        "How many <Z4> <C4> <M4> <S4>s lie <R3> the <Z5> <C5> <M5> <S5> <R4> the <Z3> <C3> <M3> <S3>?"
    ]
    family["text"][0] = family["text"][0][:-1] + " <R2> the <Z2> <C2> <M2> <S2> <R> the <Z> <C> <M> <S>?"
    (tmp_path / "four_hop.json").write_text(json.dumps([family]))
    (tmp_path / "families.json").write_text('{"files": ["four_hop.json"]}')
    batch = stream(pool_scenes, read_templates(world, tmp_path)).next(1)
    with pytest.raises(ValueError, match="has 4 relations, the row has room for 3"):
        batch.column("relation_needed")


def test_questions_on_published_scenes(
    world: _core.World, templates: _core.Templates, test_data: Path
) -> None:
    file = test_data / "real_clevr" / "CLEVR_val_scenes.json"
    scenes = _core.SceneBatch.from_json(world.vocabulary, file.read_bytes(), file=str(file))
    published = {scene["image_index"]: scene for scene in json.loads(file.read_bytes())["scenes"]}
    batch = instantiate_questions(scenes, seed=5, templates=templates, questions_per_scene=4)
    assert len(batch) == 4 * len(scenes)
    for row in rows(batch):
        scene = published[row["image_index"]]
        assert answer_text(execute(row, scene)) == row["answer"]
        assert row["image_filename"] == scene["image_filename"]


@pytest.mark.parametrize(("folder", "n_families"), [("clevr_v1/templates", 90), ("closure_templates", 48)])
def test_templates_of_others_load_and_ask(
    world: _core.World, pool_scenes: PoolScenes, test_data: Path, folder: str, n_families: int
) -> None:
    theirs = read_templates(world, test_data / folder)
    assert theirs.n_families == n_families
    batch = stream(pool_scenes, theirs).next(2)
    assert set(batch.column("question_families")) > set(range(0, n_families, 10))


def test_a_folder_without_templates_is_named(world: _core.World, tmp_path: Path) -> None:
    check_refused(TemplateError, read_templates, world, tmp_path)
    (tmp_path / "one_hop.json").write_text("[{]")
    check_refused(TemplateError, read_templates, world, tmp_path)


def test_what_no_template_can_mention_is_said_at_once(
    world: _core.World, pool_scenes: PoolScenes, tmp_path: Path
) -> None:
    nodes = [{"type": "scene", "inputs": []}, {"type": "count", "inputs": [0]}]
    template = {"text": ["How many things are there?"], "nodes": nodes, "params": [], "constraints": []}
    (tmp_path / "bare.json").write_text(json.dumps([template]))
    bare = read_templates(world, tmp_path)
    assert bare.families_that_can_mention(PAIR) == []
    check_refused(SplitError, stream, pool_scenes, bare, split="complex_ood", questions="with")


@pytest.mark.parametrize(
    "pair",
    [
        (("material", "rubber"), ("material", "metal")),
        (("material", "rubber"), ("shape", "metal")),
        (("material", "rubber"),),
    ],
)
def test_what_is_no_pair_is_named(
    pool_scenes: PoolScenes, templates: _core.Templates, pair: tuple[tuple[str, str], ...]
) -> None:
    check_refused(SplitError, stream, pool_scenes, templates, held_out=pair)
