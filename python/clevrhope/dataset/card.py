"""A question of a dataset as a notebook shows it: images, text, program and answer."""

import base64
import io
from dataclasses import dataclass
from html import escape

from PIL import Image

from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.image_source import ImageSource
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.programs.text import text_html, text_of_tokens


@dataclass(frozen=True)
class Card:
    """A question that a notebook shows with its images.

    Attributes:
        question: its text.
        answer: its correct answer in words.
        program: its text, from which `Program` can read it.
        images: PIL images in the question's order; empty if the folder is not rendered.
        place: its HOP, split and number.
    """

    question: str
    answer: str
    program: str
    images: tuple[Image.Image, ...]
    place: str

    @property
    def image(self) -> Image.Image | None:
        """The first image; None if the question has no images."""
        return self.images[0] if self.images else None

    def __repr__(self) -> str:
        return f"{self.place}: {self.question} {self.answer}\n{self.program}"

    def _repr_html_(self) -> str:
        drawn = "".join(
            f'<img src="{_url(image)}" width="{image.width}" alt="Image {number}" '
            'style="display:inline-block;margin:0 4px 4px 0;max-width:100%">'
            for number, image in enumerate(self.images)
        )
        return (
            f"<div>{drawn or '<i>No image.</i>'}"
            f"<p>{escape(self.question)} <b>{escape(self.answer)}</b></p>"
            f"{text_html(self.program)}<small>{escape(self.place)}</small></div>"
        )


class Cards(tuple[Card, ...]):
    """Questions that belong together, such as the two of a pair."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        return "".join(card._repr_html_() for card in self)


def make_card(
    table: QuestionTable, number: int, detokenizer: Detokenizer, images: ImageSource | None
) -> Card:
    """The card of a split's question, with its images if there is a source of them."""
    questions, programs = table.tokens(number)
    indices = () if images is None else table.images_of(number)
    return Card(
        question=table.sentence(number, questions[0]),
        answer=detokenizer.answer(int(table.answers[number])),
        program=text_of_tokens(detokenizer.program(programs[0])),
        images=tuple(Image.fromarray(images.pixels(index)) for index in indices) if images else (),
        place=f"{table.hop}/{table.split}, question {number}",
    )


def _url(image: Image.Image) -> str:
    memory = io.BytesIO()
    image.save(memory, "PNG")
    return f"data:image/png;base64,{base64.b64encode(memory.getvalue()).decode()}"
