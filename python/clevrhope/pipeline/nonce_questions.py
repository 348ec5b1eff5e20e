"""Complex questions of episodes: those of templates about the pair, answered otherwise on either scene."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clevrhope._core import SceneBatch, Templates, execute_tokens, instantiate_questions
from clevrhope.errors import TemplateError
from clevrhope.pipeline.engine import Engine, synonyms
from clevrhope.questions import template_files
from clevrhope.runtime import assets
from clevrhope.splits.nonce.draws import Draws
from clevrhope.splits.nonce.episodes import N_A, Group

_OF_TWO_NUMBERS = ("less_than", "greater_than")


class Complex(NamedTuple):
    """A complex question of a group.

    Attributes:
        layout: the number of the layout on which it was found.
        is_reversed: whether the group's first scene is the one whose answer is yes.
        question: its tokens, <START> and <END> included.
        program: the tokens of its program, likewise.
    """

    layout: int
    is_reversed: bool
    question: list[int]
    program: list[int]


class ComplexQuestions:
    """Finds complex questions, with those templates of a folder that are answered yes or no.

    The template that asks for a pair alone, as the form `exist` does, is left out.
    """

    def __init__(self, engine: Engine, words: Sequence[str]) -> None:
        """Reads the templates.

        Args:
            engine: the folder's engine.
            words: the words by number.

        Raises:
            TemplateError: no template asks such a question.
        """
        self._world, self._seed, self._words = engine.world, engine.seed, words
        self._tokens, self._answers = engine.encoder.tokens, engine.world.answers
        self._widths = engine.templates.question_width, engine.templates.program_width
        self._named = [name.partition("[")[::2] for name in self._tokens.names]
        folder = engine.config.templates or assets.question_templates()
        kept = {name: _of_yes_and_no(content) for name, content in template_files(folder)}
        files = [(name, families) for name, families in kept.items() if families != b"[]"]
        if not files:
            raise TemplateError(
                f"{folder}: no template compares or relates objects and is answered yes or no"
            )
        # A second word for a value would stay beside its nonce word, and tell what that means.
        values = {value for _, values in engine.world.attribute_types for value in values}
        plain = {word: forms for word, forms in synonyms(engine.config).items() if word not in values}
        data = json.dumps(plain).encode()
        self._templates = Templates(files, [name for name, _ in files], data, engine.world.vocabulary)

    def find(self, group: Group, scenes: Sequence[bytes], layout: int) -> Complex | None:
        """A question that has a different answer on each of a group's two scenes; None if none was found.

        It is about the group's pair, and names no other value of A and B.
        """
        data = b'{"scenes": [%s]}' % b", ".join(scenes)
        batch = SceneBatch.from_json(self._world.vocabulary, data, file=group.name)
        types = self._world.attribute_types
        pair = [(types[kind][0], types[kind][1][value]) for kind, value in (group.named[0], group.named[N_A])]
        made = instantiate_questions(
            batch,
            self._templates,
            seed=self._seed,
            held_out=pair,
            questions="with",
            questions_per_scene=self._templates.n_families,
        )
        programs, lengths = made.program_tokens(self._tokens, self._widths[1])
        answers = [
            execute_tokens(self._tokens, programs, batch.graphs, np.full(len(programs), scene, np.uint32))
            for scene in range(len(scenes))
        ]
        differ = (answers[0] != answers[1]) & (answers[0] >= 0) & (answers[1] >= 0)
        rows = [row for row in np.flatnonzero(differ).tolist() if self._fits(programs[row].tolist(), pair)]
        if not rows:
            return None
        draws = Draws(self._seed, f"nonce questions {group.form.name} {layout}", group.number)
        families = made.column("question_families")
        family = draws.choice(sorted({*families[rows].tolist()}))
        row = draws.choice([row for row in rows if families[row] == family])
        questions, n_words = made.question_tokens(self._words, self._widths[0])
        return Complex(
            layout,
            self._answers[answers[0][row]] == "yes",
            questions[row, : n_words[row]].tolist(),
            programs[row, : lengths[row]].tolist(),
        )

    def _fits(self, program: Sequence[int], pair: Sequence[tuple[str, str]]) -> bool:
        """Whether a program names no other values of the pair's types."""
        named = [self._named[token] for token in program]
        of_types = {f"filter_{kind}": f"{value}]" for kind, value in pair}
        return all(value == of_types.get(function, value) for function, value in named)


def _of_yes_and_no(content: bytes) -> bytes:
    """The families of a file that are answered yes or no, but for the one that asks for a pair alone."""
    families = [
        family
        for family in json.loads(content)
        if len(family["nodes"]) > 2 and _is_yes_or_no(str(family["nodes"][-1]["type"]))
    ]
    return json.dumps(families).encode()


def _is_yes_or_no(function: str) -> bool:
    return function.endswith("exist") or function.startswith("equal_") or function in _OF_TWO_NUMBERS
