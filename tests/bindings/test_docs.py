"""The native module documents itself: `help()` says what a name is for, and a repr what a handle holds."""

import inspect
import json
from collections.abc import Iterator

import numpy as np
import pytest

from clevrhope import _core
from clevrhope.runtime.assets import blender_assets, question_templates

PAIR = [("material", "rubber"), ("shape", "cylinder")]
VALUE = ("color", "red")
NAMES = ["<NULL>", "<START>", "<END>", "<UNK>", "scene", "exist"]


def public_names() -> Iterator[tuple[str, object]]:
    for name in _core.__all__:
        member = getattr(_core, name)
        if callable(member):
            yield name, member
        if isinstance(member, type):
            for inner in (inner for inner in vars(member) if inner[0].islower()):
                yield f"{name}.{inner}", getattr(member, inner)


def test_every_public_name_is_documented() -> None:
    documented = {"the module": _core, **dict(public_names())}
    assert len(documented) > 100
    for name, member in documented.items():
        doc = inspect.getdoc(member)
        assert doc, name
        assert doc[0].isupper() or doc[0] in "(`6", f"{name}: {doc}"
        assert doc.splitlines()[0].rstrip()[-1] in ".:", f"{name}: {doc}"


def test_arguments_show_in_help() -> None:
    assert str(inspect.signature(_core.sample_scenes)) == "(world, *, seed, pool, indices)"
    assert str(inspect.signature(_core.CountingPool)) == "(world, *, value)"
    assert str(inspect.signature(_core.SplitStream.next)) == "(self, /, n_windows)"


def test_class_docs_say_what_constructors_raise() -> None:
    made = [each for _, each in public_names() if isinstance(each, type) and each.__text_signature__]
    assert len(made) > 10
    assert [
        each for each in made if each is not _core.PoolScenes and "Raises:" not in (each.__doc__ or "")
    ] == []


def templates_of(world: _core.World) -> _core.Templates:
    folder = question_templates()
    files = [("zero_hop", (folder / "zero_hop.json").read_bytes())]
    return _core.Templates(files, [], (folder / "synonyms.json").read_bytes(), world.vocabulary)


def handles(world: _core.World) -> Iterator[tuple[object, str]]:
    """One of each class, and something that its repr says."""
    templates = templates_of(world)
    vocabulary = world.vocabulary
    yield world, f"3 to 10 objects on 480 x 320 pixels, fingerprint {world.fingerprint[:8]}"
    yield vocabulary, "size 2, color 8, material 2, shape 3"
    yield templates, f"{templates.n_families} question families"
    scenes = _core.sample_scenes(world, seed=1, pool="train", indices=np.asarray([7, 9], np.uint64))
    yield scenes, "2 scenes, indices 7 to 9"
    yield scenes.graphs, f"2 scenes, {scenes.n_objects.sum()} objects"
    asked = _core.instantiate_questions(
        scenes, templates, seed=1, pair=None, questions="any", questions_per_scene=1
    )
    yield asked, f'{len(asked)} questions, the first "{asked.texts[0]}"'
    entry = {"test": "again", "tier": "in", "source": ["all"], "wording": "phrasing", "relation": "same"}
    folder = question_templates()
    suite = _core.Suite(
        "mine",
        files=[("mine", json.dumps([entry]).encode())],
        subjects={},
        templates=templates,
        template_files=[("zero_hop", (folder / "zero_hop.json").read_bytes())],
    )
    yield suite, "mine of 1 tests"
    words = ["<NULL>", "<START>", "<END>", "<UNK>", *templates.words]
    tokens = _core.ProgramTokens(vocabulary)
    again = _core.SplitQuestions(
        templates,
        asked.question_tokens(words, 60)[0],
        asked.program_tokens(tokens, 60)[0],
        asked.question_families,
        asked.answers,
        words=words,
        tokens=tokens,
        answer_names=vocabulary.answers,
    )
    yield again, f"SplitQuestions: {len(asked)}"
    pairs = suite.pairs(
        asked.question_tokens(words, 60)[0],
        asked.program_tokens(tokens, 60)[0],
        asked.question_families,
        asked.answers,
        asked.image_idxs.astype(np.int32),
        scenes.graphs,
        np.searchsorted(scenes.indices, asked.image_idxs),
        words=words,
        tokens=tokens,
        answer_names=vocabulary.answers,
        seed=1,
        hop="none",
        split="test",
        pool="train",
        pair=None,
        palette=None,
        rule="any",
        per_cell=0,
        search=False,
    )
    yield pairs, f'{len(asked)}, the first "{pairs.questions.texts[1]}"'
    program = json.dumps([{"function": "scene", "inputs": []}, {"function": "exist", "inputs": [0]}])
    yield _core.Programs.from_json(vocabulary, program.encode(), file="p.json"), "1, 2 steps"
    yield _core.ProgramTokens(vocabulary, NAMES), '6, the last "exist"'
    yield _core.SceneSets(scenes.graphs, np.zeros((1, 1), np.int32)), "1, 1 images in all"
    pool_scenes = _core.PoolScenes(world, seed=3, pool="test_ood")
    yield pool_scenes, "pool test_ood, seed 3, 0 scenes"
    stream = _core.SplitStream(
        pool_scenes, templates, split="some", pair=None, scenes="any", questions="any", questions_per_scene=1
    )
    yield stream, "split some, pool test_ood"
    yield _core.MinimalPool(world, pair=PAIR), "minimal_material_shape of 960 places, 4 images"
    shared = _core.MinimalPool(world, pair=PAIR, shared=True)
    yield shared, "minimal of 40 places that all pairs share"
    yield _core.CountingPool(world, value=VALUE), "counting_color of sets of 6 images"
    yield (
        _core.NativeStudio((blender_assets() / "look.json").read_bytes(), file="look.json"),
        "shapes cube, sphere, cylinder; materials rubber, metal",
    )
    tokens = {"question_tokens": NAMES, "program_tokens": NAMES}
    absent = _core.AbsentReader(vocabulary, **tokens, types=("material", "shape"), seen=[], words=[])
    yield absent, "material and shape, 0 combinations"
    yield _core.AuditReader(vocabulary, **tokens, answers=[], pair=PAIR, words=[]), "rubber cylinder held out"
    yield _core.AuditScenes.read(vocabulary, []), "AuditScenes: 0"
    reader = _core.TextReader(vocabulary, **tokens, answers=[], templates=[], synonyms=b"{}")
    yield reader, "0 question families"
    audit = _core.AuditReader(vocabulary, **tokens, answers=[], pair=PAIR, words=[])
    rows, nowhere = np.ones((1, 4), np.int32), np.asarray([-1])
    findings = audit.read(rows, rows, _core.AuditScenes.read(vocabulary, []), nowhere)
    yield findings, "1 questions; 0 mention"
    yield from handles_of_sets(world, tokens)


def handles_of_sets(world: _core.World, tokens: dict[str, list[str]]) -> Iterator[tuple[object, str]]:
    """The same of questions over several images."""
    vocabulary = world.vocabulary
    sentences = (question_templates() / "covr.json").read_bytes()
    phrasings = _core.Phrasings(sentences, vocabulary, file="covr.json")
    yield phrasings, f"<Phrasings {phrasings.fingerprint[:8]}"
    stream = _core.SetStream(
        _core.PoolScenes(world, seed=3, pool="test_ood"),
        phrasings,
        split="some",
        pair=None,
        scenes="any",
        places=["nowhere"],
        implied=False,
        distractors="edited",
        half=None,
        paraphrased=False,
    )
    yield stream, "split some, pool test_ood"
    questions = stream.next(1).take(0, 2)
    yield questions, f'2 questions over several images, the first "{questions.texts[0][:20]}'
    reader = _core.AuditSetReader(vocabulary, **tokens, answers=[], pair=PAIR, words=[])
    yield reader, "with a pair held out"
    yield reader.encode([], "some", [], []), "AuditSetRows: 0"
    nothing = np.ones((0, 4), np.int32)
    scenes = _core.AuditScenes.read(vocabulary, [])
    yield reader.read(nothing, nothing, scenes, np.ones((0, 5), np.int64)), "of 0 questions"


def test_reprs_are_worth_reading(world: _core.World) -> None:
    shown = {type(handle): (repr(handle), part) for handle, part in handles(world)}
    classes = {each for _, each in public_names() if isinstance(each, type)}
    assert set(shown) == classes - {_core.AuditViolation}
    assert repr(_core.AuditViolation.NO_ANSWER) == "AuditViolation.NO_ANSWER"
    for kind, (text, part) in shown.items():
        assert "object at 0x" not in text
        assert text.startswith(f"<{kind.__name__}")
        assert text.endswith(">")
        assert part in text


def test_an_unknown_choice_lists_the_known_ones(world: _core.World) -> None:
    templates = templates_of(world)
    pool = _core.MinimalPool(world, pair=PAIR)
    scenes = _core.sample_scenes(world, seed=1, pool="train", indices=np.asarray([7], np.uint64))
    studio = _core.NativeStudio((blender_assets() / "look.json").read_bytes(), file="look.json")
    with pytest.raises(
        ValueError, match='questions: unknown value "al"; known: any, without, unimplied, with'
    ):
        _core.instantiate_questions(
            scenes,
            templates,
            seed=1,
            pair=None,
            questions="al",  # type: ignore[arg-type]
            questions_per_scene=1,
        )
    with pytest.raises(ValueError, match='kind: unknown value "id"; known: iid, ood'):
        pool.questions(templates, seed=1, kind="id", places=np.zeros(1, np.uint64))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='mode: unknown value "nest"; known: nested, grid'):
        world.seen_palette(PAIR, diversity=4, mode="nest", seed=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='quality: unknown value "low"; known: draft, standard, high'):
        studio.render(b"{}", width=2, height=2, quality="low")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        studio.render(b"{}", width=2, height=2, quality=1)  # type: ignore[arg-type]
