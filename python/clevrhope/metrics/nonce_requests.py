"""Requests about episodes with nonce words: a support and a question, in the test and its controls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import NO_ANSWER
from clevrhope.errors import ConfigError
from clevrhope.metrics.episodes import N_PROBES, Episodes
from clevrhope.metrics.predictions import write_predictions
from clevrhope.metrics.request_files import asked_answers, image_paths, order_in_turn
from clevrhope.replies.instructions import Instruction
from clevrhope.splits.hops import NONE
from clevrhope.splits.nonce.kinds import NONCE_SPLITS, OBJECTS, TEST, condition_and_control, control_split

Messages = list[tuple[str, list[tuple[str, str]]]]
"""Messages in order: who says each ("user", "assistant"), and ("image", path) and ("text", text) in it."""

MESSAGE, TURNS, LIST = "message", "turns", "list"
"""How a support is given: in the message with the question, in separate turns, or as a list of images whose
sentences are numbered."""

DEFAULT: Mapping[str, int | None] = {TEST: None, "words": 200, "real": 200}
"""What is asked by default: controls, and about how many episodes in each condition; all if None."""

N_OF_PEOPLE = 10
"""The episodes of each condition on a page for people."""

PAGES = ("A", "B")
"""The pages for people: what one has in `unseen`, the other has in `seen`."""


@dataclass
class NonceRequests:
    """What is asked about a folder's episodes; `form`, `instruction` and `jpeg` are as for `write_requests`.

    Making it raises `ConfigError` for a control that does not fit or a page without enough groups, and
    `DatasetError` for a folder without episodes.

    Attributes:
        folder: a dataset with episodes and their images.
        controls: names of `CONTROLS`, about the same episodes; if empty, those of `DEFAULT`.
        limit: the number of episodes in each condition; groups of matched scenes stay whole, so there may be
            up to two more. For "html", the episodes of each condition on a page.
        seed: seed for drawing groups, of which forms take turns, if there is a limit.
        form: for "html" there are two pages, about one episode of each group.
        support: `MESSAGE`, `TURNS` or `LIST`; for "vlmeval", it is always `LIST`.
        chosen: split, row of a question and page ("" for none) of each request, in order.
        n_images: the number of images in all requests, each counted as often as it is shown.
    """

    folder: Path | str
    controls: Sequence[str] = ()
    limit: int | None = None
    seed: int = field(kw_only=True)
    form: str = "requests"
    support: str = MESSAGE
    instruction: Instruction | None = None
    jpeg: int | None = None

    def __post_init__(self) -> None:
        self.episodes = Episodes(self.folder)
        unfit = {"vlmeval": ["text"], "html": self.episodes.controls[1:]}.get(self.form, ())
        known = [name for name in self.episodes.controls if name not in unfit]
        for control in self.controls:
            if control not in known:
                raise ConfigError(
                    f'control: {self.folder} has no control "{control}" for the format {self.form}; there '
                    f"are: {', '.join(known)}"
                )
        if self.support not in (MESSAGE, TURNS, LIST):
            raise ConfigError(f'support: "{self.support}"; expected {MESSAGE}, {TURNS} or {LIST}')
        sizes = np.bincount(self.episodes.groups)
        self._first_rows, self._groups = np.cumsum(sizes) - sizes, np.arange(len(sizes))
        if self.limit is not None:
            forms = self.episodes.table.question_families[self._first_rows]
            self._groups = order_in_turn(forms, self._groups, seed=self.seed)
        wanted = dict.fromkeys(self.controls) or DEFAULT
        self.chosen = (
            [*self._of_pages(N_OF_PEOPLE if self.limit is None else self.limit)]
            if self.form == "html"
            else [each for control, most in wanted.items() for each in self._of_control(control, most)]
        )
        sizes = (self.episodes.table.support_idxs >= 0).sum(axis=1)
        self.n_images = 0
        for split, index, _ in self.chosen:
            control = condition_and_control(split)[1]
            row = index // N_PROBES if control == "words" else index
            self.n_images += 0 if control == "text" else 1 if control == "bare" else 1 + int(sizes[row])

    def _rows(self, n: int | None) -> Ints:
        """The sorted rows of whole groups, at least n; all if None."""
        sizes = np.bincount(self.episodes.groups)[self._groups]
        n_groups = len(sizes) if n is None else int(np.searchsorted(np.cumsum(sizes), n)) + 1
        return np.flatnonzero(np.isin(self.episodes.groups, self._groups[:n_groups])).astype(np.int32)

    def _of_control(self, control: str, most: int | None) -> Iterator[tuple[str, int, str]]:
        limits = [n for n in (most, self.limit) if n is not None]
        rows = self._rows(min(limits, default=None)).tolist()
        for row in rows:
            for condition in NONCE_SPLITS:  # a file that is cut off, or read in part, has both
                for probe in range(N_PROBES if control == "words" else 1):
                    index = N_PROBES * row + probe if control == "words" else row
                    yield control_split(condition, control), index, ""

    def _of_pages(self, n: int) -> Iterator[tuple[str, int, str]]:
        """On each page n episodes of either condition, one of a group; B has each in the other one than A."""
        if 2 * n > len(self._groups):
            raise ConfigError(
                f"{self.episodes.folder}: a page with {n} episodes of each condition needs {2 * n} groups of "
                f"matched scenes, but there are {len(self._groups)}; choose a smaller --limit"
            )
        groups = self._groups[: 2 * n].tolist()
        forms = self.episodes.table.question_families[self._first_rows[groups]]
        n_forms, sizes = len({*forms.tolist()}), np.bincount(self.episodes.groups)
        for number, page in enumerate(PAGES):
            for place, group in enumerate(groups):
                turn = place // n_forms
                # With an even number of forms, every second turn begins with the other condition.
                condition = (place + number + (0 if n_forms % 2 else turn)) % 2
                member = (turn // 2 + place) % int(sizes[group])
                yield NONCE_SPLITS[condition], int(self._first_rows[group]) + member, page

    def write(self, out: Path) -> int:
        """Writes the requests and returns their number; raises as `write_requests`."""
        return write_predictions(out, self.rows(out), marked_by="answers")

    def rows(self, out: Path, *, copied: bool = False) -> Iterator[dict[str, Any]]:
        """The requests, which name images relative to a file `out`; `copied` is as for `image_paths`."""
        episodes, layout = self.episodes, Layout(self.episodes.folder)
        answers = [answer for answer in episodes.answers if answer != NO_ANSWER]
        pools = {episodes.table.pool: episodes.table.image_idxs, OBJECTS: np.asarray([*episodes.values_of])}
        path_of = {
            pool: image_paths(layout, pool, indices, out, copied=copied) for pool, indices in pools.items()
        }
        same = {
            "seed": None if self.limit is None else self.seed,
            "jpeg": self.jpeg,
            "support": {"vlmeval": LIST, "html": None}.get(self.form, self.support),
            "instruction": self.instruction and self.instruction.label,
        }
        for split, index, page in self.chosen:
            question = episodes.question(split, index)
            about: dict[str, Any] = {"page": page or None, **same}
            if question.image is not None:
                pool, number = question.image
                about["image"] = path_of[pool](number)
            if self.instruction is not None and self.form != "html":
                about["prompt"] = self.instruction.after(question.text)
            if self.form == "vlmeval":
                about["right_answer"] = question.answer
            yield {
                "id": f"{NONE}/{split}/{index}@{episodes.asked_of}",
                "context": [
                    {"text": text} if image is None else {"image": path_of[OBJECTS](image), "text": text}
                    for image, text in question.context
                ],
                "question": question.text,
                **{name: value for name, value in about.items() if value is not None},
                "asked": asked_answers(question.program, answers, episodes.attributes),
                "answers": answers,
                "hop": NONE,
                "split": split,
                "control": condition_and_control(split)[1],
                "asked_of": episodes.asked_of,
                "question_index": index,
            }


def messages(request: Mapping[str, Any]) -> Messages:
    """What a model is given for a request of any kind: context, images, and the prompt or the question."""
    turns: Messages = []
    parts: list[tuple[str, str]] = []
    images = request["images"] if "images" in request else [request["image"]] if "image" in request else []
    text, support = request.get("prompt", request["question"]), request.get("support")
    sentences, n = [], 0
    for each in request.get("context", ()):
        n += "image" in each
        parts += [("image", each["image"])] if "image" in each else []
        if support == LIST:
            sentences.append(f"Image {n}: {each['text']}" if "image" in each else each["text"])
        elif support == TURNS and "image" in each:
            turns += [("user", [*parts, ("text", "What is this?")]), ("assistant", [("text", each["text"])])]
            parts = []
        else:
            parts.append(("text", each["text"]))
    if support == LIST:
        text = " ".join([*sentences, f"Image {n + 1}: {text}" if images else text])
    return [*turns, ("user", [*parts, *(("image", image) for image in images), ("text", text)])]
