"""Requests about episodes with nonce words: a support and a question, in the test and its controls."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS
from clevrhope.errors import ConfigError
from clevrhope.metrics.episodes import N_PROBES, EpisodeQuestion, Episodes
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

_WHAT = "What is this?"
"""Asked about a support image that has a turn of its own."""


class NonceRequests:
    """What is asked about a folder's episodes.

    Attributes:
        chosen: split, row of a question and page ("" for none) of each request, in order.
        n_images: the number of images in all requests, each counted as often as it is shown.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        controls: Sequence[str] = (),
        limit: int | None = None,
        seed: int,
        form: str = "requests",
        support: str = MESSAGE,
        instruction: Instruction | None = None,
        jpeg: int | None = None,
    ) -> None:
        """Chooses the requests.

        Args:
            folder: a dataset with episodes and their images.
            controls: names of `CONTROLS`, about the same episodes; if empty, those of `DEFAULT`.
            limit: the number of episodes in each condition; groups of matched scenes stay whole, so there may
                be up to two more. For "html", the episodes of each condition on a page.
            seed: seed for drawing groups, of which forms take turns, if there is a limit.
            form: as for `write_requests`; for "html" there are two pages, about one episode of each group.
            support: `MESSAGE` or `TURNS`; for "vlmeval", it is always `LIST`.
            instruction: as for `write_requests`.
            jpeg: likewise.

        Raises:
            ConfigError: a control is unknown or not of this folder, a table is to have requests without
                images, or there are too few groups for a page.
            DatasetError: the folder has no episodes.
        """
        self.episodes = Episodes(folder)
        known = self.episodes.controls
        for control in controls:
            if control not in known:
                why = "; types of words are told in all of its requests" if control == "told" else ""
                raise ConfigError(
                    f'--control: {self.episodes.folder} has no control "{control}"{why}; there are: '
                    f"{', '.join(known)}"
                )
        if form == "vlmeval" and "text" in controls:
            raise ConfigError("--control: text has no images, but each row of VLMEvalKit's table has some")
        self._limit, self._form, self._instruction = limit, form, instruction
        self._support = {"vlmeval": LIST, "html": None}.get(form, support)
        of_all = {"seed": None if limit is None else seed, "jpeg": jpeg, "support": self._support}
        of_all["instruction"] = None if instruction is None else instruction.label
        self._same = {name: value for name, value in of_all.items() if value is not None}
        sizes = np.bincount(self.episodes.groups)
        self._first_rows = np.cumsum(sizes) - sizes
        self._groups = np.arange(len(sizes))
        if limit is not None:
            forms = self.episodes.table.question_families[self._first_rows]
            self._groups = order_in_turn(forms, self._groups, seed=seed)
        if form == "html":
            self.chosen = [*self._of_pages(N_OF_PEOPLE if limit is None else limit)]
        else:
            wanted = dict.fromkeys(controls, limit) if controls else {**DEFAULT, TEST: limit}
            self.chosen = [
                each for control, most in wanted.items() for each in self._of_control(control, most)
            ]
        self.n_images = sum(
            (question.image is not None) + sum(image is not None for image, _ in question.context)
            for question in (self.episodes.question(split, index) for split, index, _ in self.chosen)
        )

    def _rows(self, n: int | None) -> Ints:
        """The sorted rows of whole groups, at least n; all if None."""
        sizes = np.bincount(self.episodes.groups)[self._groups]
        n_groups = len(sizes) if n is None else int(np.searchsorted(np.cumsum(sizes), n)) + 1
        return np.flatnonzero(np.isin(self.episodes.groups, self._groups[:n_groups])).astype(np.int32)

    def _of_control(self, control: str, most: int | None) -> Iterator[tuple[str, int, str]]:
        limits = [n for n in (most, self._limit) if n is not None]
        rows = self._rows(min(limits, default=None)).tolist()
        for condition in NONCE_SPLITS:
            for row in rows:
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
        return write_predictions(out, self._requests(out), marked_by="answers")

    def _requests(self, out: Path) -> Iterator[dict[str, Any]]:
        episodes, layout = self.episodes, Layout(self.episodes.folder)
        answers = [answer for answer in episodes.answers if answer not in SPECIAL_TOKENS]
        supports = np.unique([table.support_idxs for table in episodes.conditions.values()])
        path_of = {
            pool: image_paths(layout, pool, indices, out)
            for pool, indices in (
                (episodes.table.pool, episodes.table.image_idxs),
                (OBJECTS, supports[supports >= 0]),
            )
        }
        for split, index, page in self.chosen:
            question = episodes.question(split, index)
            context = [
                {**({} if image is None else {"image": path_of[OBJECTS](image)}), "text": text}
                for image, text in question.context
            ]
            about: dict[str, Any] = {"context": context, "question": question.text}
            if question.image is not None:
                pool, number = question.image
                about = {"image": path_of[pool](number), **about}
            if self._instruction is not None and self._form != "html":
                asked = _numbered(question) if self._support == LIST else question.text
                about["prompt"] = self._instruction.after(asked)
            if self._form == "vlmeval":
                about["right_answer"] = question.answer
            yield {
                "id": f"{NONE}/{split}/{index}@{episodes.asked_of}",
                **about,
                "asked": asked_answers(question.program, answers, episodes.attributes),
                "answers": answers,
                "hop": NONE,
                "split": split,
                "control": condition_and_control(split)[1],
                **({"page": page} if page else {}),
                "asked_of": episodes.asked_of,
                **self._same,
                "question_index": index,
            }


def _numbered(question: EpisodeQuestion) -> str:
    """Context and question as one text, for images that all come before it."""
    said, number = [], 0
    for image, text in question.context:
        number += image is not None
        said.append(text if image is None else f"Image {number}: {text}")
    return " ".join([*said, f"Image {number + 1}: {question.text}"])


def messages(request: Mapping[str, Any]) -> Messages:
    """What a model is given for a request of any kind: its context, its images and its prompt.

    Args:
        request: as `read_requests` gives it; without `prompt`, the question stands for it.
    """
    turns: Messages = []
    parts: list[tuple[str, str]] = []
    for each in request.get("context", ()):
        parts += [("image", each["image"])] if "image" in each else []
        if "image" in each and request.get("support") == TURNS:
            turns += [("user", [*parts, ("text", _WHAT)]), ("assistant", [("text", each["text"])])]
            parts = []
        elif request.get("support") != LIST:
            parts.append(("text", each["text"]))
    images = request["images"] if "images" in request else [request["image"]] if "image" in request else []
    parts += [("image", image) for image in images]
    return [*turns, ("user", [*parts, ("text", request.get("prompt", request["question"]))])]
