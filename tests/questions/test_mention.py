"""The two readings of what a question mentions: each on examples, and beside the other on all templates."""

import random
from pathlib import Path

import numpy as np
import pytest
from phrasing_language import VALUES, Phrasing, read_phrasings
from plain_mention import TOKEN, Step, WordReader, program_implies, program_mentions
from program_strategies import Nodes, random_program, random_scene
from token_rows import padded

from clevrhope._core import AuditScenes
from clevrhope.dataset.native_reader import question_reader, vocabulary_of
from clevrhope.dataset.split_files import Value, Vocab

KINDS = {"Z": "size", "C": "color", "M": "material", "S": "shape"}
ALL_VALUES = [(kind, value) for letter, kind in KINDS.items() for value in VALUES[letter]]
RUBBER_CYLINDER = (("material", "rubber"), ("shape", "cylinder"))
PAIRS = [RUBBER_CYLINDER, (("size", "large"), ("color", "cyan")), (("size", "small"), ("material", "metal"))]
TEMPLATES = Path(__file__).resolve().parents[2] / "question_templates"


@pytest.mark.parametrize(
    ("question", "mentions"),
    [
        ("Are there any big matte cylinders?", True),
        ("Are there any rubber things that are left of the red cylinder?", False),
        ("Is there a matte cylinder?", True),
        ("What number of RUBBER Cylinders are visible?", True),
        ("There is a cylinder; is anything else the same material as the rubber ball?", False),
        ("How many matte things are either cylinders or red cubes?", True),
        ("How many matte things are red cubes or cylinders?", True),
        ("How many matte objects are there that are either metal cylinders or red cubes?", True),
        ("How many of the cylinders are tiny things or matte objects?", True),
        ("How many things are either cylinders or rubber cubes?", False),
        ("How many things are matte cubes left of the ball or cylinders behind the cube?", False),
        ("How many of the matte things are cubes left of the cylinder or balls?", False),
        ("How many of the matte things are cubes left of the ball or red cylinders behind it?", True),
        ("What matte shape is left of the cylinder?", False),
        ("There is a cylinder; what matte thing is left of it?", False),
        ("Are there fewer matte things than there are cylinders?", False),
        ("Are there the same number of cylinders as matte balls?", False),
    ],
)
def test_words(question: str, mentions: bool) -> None:
    assert WordReader(ALL_VALUES, RUBBER_CYLINDER).mentions(question) is mentions
    assert audited([(question, [])], RUBBER_CYLINDER)[:2] == ([False], [mentions])


def test_a_new_value_is_its_own_word_and_may_have_several() -> None:
    values = [*ALL_VALUES, ("color", "hot_pink"), ("shape", "cone")]
    pair = (("color", "hot_pink"), ("shape", "cone"))
    words = {"hot_pink": ["hot pink"], "cone": ["cone", "traffic cone"]}
    reader = WordReader(values, pair, words)
    asked = ["How many hot pink rubber traffic cones are there?", "Is the hot pink thing left of a cone?"]
    assert [reader.mentions(question) for question in asked] == [True, False]
    found = audited([(question, []) for question in asked], pair, values, words)
    assert found[:2] == ([False, False], [True, False])


def prefix(steps: list[Step]) -> list[str]:
    """The functions in prefix order, such as `filter_color[red]`: the last one, then those of its inputs."""
    tokens: list[str] = []
    todo = [len(steps) - 1]
    while todo:
        function, argument, inputs = steps[todo.pop()]
        tokens.append(f"{function}[{argument}]" if argument else function)
        todo.extend(reversed(inputs))
    return tokens


def steps_of(text: str) -> list[Step]:
    """Steps such as "scene, filter_shape cylinder, exist"; each takes the one before it, or those with @."""
    steps: list[Step] = []
    for function, *rest in (step.split() for step in text.split(", ")):
        inputs = tuple(int(word[1:]) for word in rest if word[0] == "@")
        before = () if function == "scene" else (len(steps) - 1,)
        steps.append((function, "".join(word for word in rest if word[0] != "@"), inputs or before))
    return steps


CYLINDERS = "scene, filter_shape cylinder"
RUBBER = "scene, filter_material rubber, unique"


@pytest.mark.parametrize(
    ("program", "mentions"),
    [
        (f"{CYLINDERS}, filter_material rubber, exist", True),
        (f"{CYLINDERS}, filter_material metal, exist", False),
        # A cylinder, then what is left of it: the description starts anew.
        (f"{CYLINDERS}, unique, relate left, filter_material rubber", False),
        (f"{CYLINDERS}, unique, same_size, filter_material rubber", False),
        # Two lists side by side: intersect joins them, union does not, a filter after it meets both.
        (f"{CYLINDERS}, scene, filter_material rubber, intersect @1 @3", True),
        (f"{CYLINDERS}, scene, filter_material rubber, union @1 @3", False),
        (f"{CYLINDERS}, scene, filter_color red, union @1 @3, filter_material rubber", True),
        # Is the rubber thing a cylinder? Is it a cube? Is the rubber cylinder red?
        (f"{RUBBER}, verify_shape cylinder", True),
        (f"{RUBBER}, verify_shape cube", False),
        (f"{RUBBER}, verify_color red", False),
        # Is it a sphere, a cylinder or a cube? A choice offers each of the values.
        (f"{RUBBER}, offer_shape sphere, offer_shape cylinder, offer_shape cube, query_shape", True),
        (f"{RUBBER}, offer_shape sphere, offer_shape cube", False),
        # Is it left of the cylinder? Are there rubber things and cylinders? Is there not one cylinder?
        (f"{RUBBER}, scene, filter_shape cylinder, unique, verify_relation left @2 @5", False),
        ("scene, filter_material rubber, exist, scene, filter_shape cylinder, exist, and @2 @5", False),
        (f"{CYLINDERS}, count, count_is 1, not", False),
    ],
)
def test_programs(program: str, mentions: bool) -> None:
    steps = steps_of(program)
    assert program_mentions(steps, RUBBER_CYLINDER) is mentions
    assert program_implies(steps, RUBBER_CYLINDER) is mentions
    assert audited([("?", steps)], RUBBER_CYLINDER) == ([mentions], [False], [mentions])


def random_programs(n: int) -> list[list[Step]]:
    """Programs of any functions; without nodes that the last does not need, as a row of tokens has it."""
    programs: list[list[Step]] = []
    for seed in range(n):
        rng = random.Random(seed)
        nodes = random_program(rng, random_scene(rng))
        needed: list[Step] = []

        def add(number: int, nodes: Nodes = nodes, needed: list[Step] = needed) -> int:
            node = nodes[number]
            inputs = tuple(add(source) for source in node["inputs"])
            needed.append((node["function"], "".join(node["value_inputs"]), inputs))
            return len(needed) - 1

        add(len(nodes) - 1)
        if len(needed) <= 80:
            programs.append(needed)
    return programs


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "_".join(value for _, value in pair))
def test_the_audit_reads_random_programs_as_the_definition_says(pair: tuple[Value, ...]) -> None:
    programs = random_programs(4000)
    expected = [program_mentions(program, pair) for program in programs]
    assert audited([("?", program) for program in programs], pair)[0] == expected
    assert 100 < sum(expected) < len(programs) - 100


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "_".join(value for _, value in pair))
def test_verifying_a_value_mentions_what_filtering_by_it_does(pair: tuple[Value, ...]) -> None:
    verified: list[list[Step]] = []
    filtered: list[list[Step]] = []
    for program in random_programs(1000):
        at = next((i for i, step in enumerate(program) if step[0] == "unique"), None)
        if at is None:
            continue
        (of_set,) = program[at][2]
        for kind, value in pair:
            verified.append([*program[: at + 1], (f"verify_{kind}", value, (at,))])
            filtered.append([*program[:at], (f"filter_{kind}", value, (of_set,)), ("exist", "", (at,))])
    found = [audited([("?", program) for program in programs], pair)[0] for programs in (verified, filtered)]
    assert found[0] == found[1]
    assert 50 < sum(found[0]) < len(verified) - 50


def instantiate(phrasing: Phrasing, rng: random.Random) -> tuple[str, list[Step]]:
    """A random sentence of a phrasing, and its program; no scene is asked whether it makes sense."""
    given: dict[str, str] = {}
    for param in phrasing.family["params"]:
        name, letter = param["name"], param["name"][1]
        choices = phrasing.choices(name)
        unset = [] in choices or ["thing"] in choices
        if name not in phrasing.null_params and not (unset and rng.random() < 0.4):
            given[name] = rng.choice(VALUES[letter])
    words, keep, was_optional = [], True, False
    for item, optional in phrasing.items():
        keep = keep if optional and was_optional else rng.random() < 0.5
        was_optional = optional
        if item.startswith("<"):
            name = item.removesuffix("s")
            value = given.get(name, "thing" if name[1] == "S" else "")
            if value:
                words.append(rng.choice(phrasing.synonyms.get(value, [value])) + "s" * item.endswith("s"))
        elif keep or not optional:
            words.append(item)
    return " ".join(words).replace(" ;", ";").replace(" ?", "?"), program_of(phrasing.family, given)


def program_of(family: dict, given: dict[str, str]) -> list[Step]:
    """The macros of CLEVR's templates, spelt out."""
    program: list[Step] = []
    result: list[int] = []  # by node of the template: the step that gives it

    def add(function: str, argument: str, *inputs: int) -> int:
        program.append((function, argument, inputs))
        return len(program) - 1

    for node in family["nodes"]:
        kind, inputs = node["type"], [result[i] for i in node["inputs"]]
        sides = list(node.get("side_inputs", []))
        macro = (
            kind.startswith(("filter", "relate_filter"))
            and kind.removeprefix("filter_") not in KINDS.values()
        )
        if not macro:
            result.append(add(kind, given[sides[0]] if sides else "", *inputs))
            continue
        at = inputs[0]
        if kind.startswith("relate"):
            at = add("relate", given[sides.pop(0)], at)
        for name in sides:
            if name in given:
                at = add(f"filter_{KINDS[name[1]]}", given[name], at)
        last = kind.rpartition("_")[2]
        result.append(add(last, "", at) if last in ("unique", "count", "exist") else at)
    return program


def check_readings_agree(phrasings: list[Phrasing], pair: tuple[Value, ...], n: int) -> None:
    reader, rng, n_mentioning = WordReader(ALL_VALUES, pair), random.Random(0), 0
    asked: list[tuple[str, list[Step]]] = []
    for phrasing in phrasings:
        for _ in range(n):
            question, program = instantiate(phrasing, rng)
            mentions = program_mentions(program, pair)
            assert reader.mentions(question) == mentions, f"{phrasing.name}: {question}"
            n_mentioning += mentions
            asked.append((question, program))
    assert n_mentioning > n * len(phrasings) / 100  # both kinds came up often
    by_program, by_words, implied = audited(asked, pair)
    if (
        pair != RUBBER_CYLINDER
    ):  # templates about the same material name none, nor those about the same shape one
        assert sum(implied) > sum(by_program)
    for (question, program), in_program, in_words, is_implied in zip(
        asked, by_program, by_words, implied, strict=True
    ):
        assert in_program == program_mentions(program, pair), question
        assert is_implied == program_implies(program, pair), question
        assert in_words == reader.mentions(question), question


def audited(
    asked: list[tuple[str, list[Step]]],
    pair: tuple[Value, ...],
    values: list[Value] = ALL_VALUES,
    words: dict[str, list[str]] | None = None,
) -> tuple[list[bool], list[bool], list[bool]]:
    """What the audit finds that programs and words mention, and programs imply; nothing is answered."""
    special = ["<NULL>", "<START>", "<END>", "<UNK>"]
    said = [TOKEN.findall(question) for question, _ in asked]
    done = [prefix(program) if program else [] for _, program in asked]
    filters = [f"filter_{kind}[{value}]" for kind, value in values]
    numbers = [
        {name: i for i, name in enumerate([*special, *sorted({token for row in rows for token in row})])}
        for rows in (said, [*done, filters])
    ]
    vocab = Vocab(*numbers, {"yes": 4, "no": 5})
    vocabulary = vocabulary_of(vocab)
    reader = question_reader(vocab, pair, words or {}, vocabulary)
    rows = [
        padded([[1, *(known[token] for token in row), 2] for row in of_all], 90)
        for of_all, known in zip((said, done), numbers, strict=True)
    ]
    nowhere = np.full(len(asked), -1)
    findings = reader.read(*rows, AuditScenes.read(vocabulary, []), nowhere)
    return findings.by_program.tolist(), findings.by_words.tolist(), findings.implied.tolist()


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "_".join(value for _, value in pair))
def test_words_and_programs_agree_on_our_templates(pair: tuple[Value, ...]) -> None:
    check_readings_agree(read_phrasings(TEMPLATES), pair, 12)


@pytest.mark.parametrize("folder", ["clevr_v1/templates", "closure_templates"])
def test_words_and_programs_agree_on_templates_of_others(folder: str, test_data: Path) -> None:
    check_readings_agree(read_phrasings(test_data / folder, synonyms_of=TEMPLATES), RUBBER_CYLINDER, 12)
