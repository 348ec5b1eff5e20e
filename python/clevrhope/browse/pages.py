"""The pages as HTML."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from textwrap import shorten
from typing import Any

import numpy as np

from clevrhope.browse.addresses import Links, Query
from clevrhope.browse.folder import SiteFolder, SplitKey
from clevrhope.browse.index import FACETS, Facet, Index
from clevrhope.browse.indexes import Indexes, Making
from clevrhope.browse.models import OUTCOMES, Model, Models, accuracy, chosen_rows
from clevrhope.browse.program_graph import GAP_Y, STEP_HEIGHT, STEP_WIDTH
from clevrhope.browse.views import ImageView, PairLine, QuestionLine, Views
from clevrhope.dataset.question_kinds import NONCE, kind_of
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.images.renderers import made_by
from clevrhope.pages import render_page
from clevrhope.splits.covr.kinds import COVR_KINDS
from clevrhope.splits.hops import name_order
from clevrhope.splits.kinds import SPLITS
from clevrhope.splits.nonce.kinds import NONCE_CAPTIONS

LINES_A_PAGE = 25

CAPTIONS = {**{name: kind.caption for name, kind in COVR_KINDS.items()}, **NONCE_CAPTIONS}
"""What is in each split that is not one of a held-out pair."""

MOST_SPLITS_SHOWN = 60
"""Maximum number of splits of which the overview shows an image, as each file has to be opened."""

MOST_LETTERS = 90
"""Maximum length of the sentence beside a family."""

SIZES: Mapping[str, Any] = {"STEP_WIDTH": STEP_WIDTH, "STEP_HEIGHT": STEP_HEIGHT, "STEP_GAP": GAP_Y}
"""Sizes of steps in the drawing of a program."""

ASSETS: Mapping[str, str] = {
    "style.css": "text/css",
    "script.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""The style, the script and the icon of all pages -> their media types."""


def asset(name: str) -> bytes:
    """The content of one of `ASSETS`."""
    return files("clevrhope.browse").joinpath("files", name).read_bytes()


@dataclass(frozen=True)
class Choice:
    """A filter of the form."""

    name: str
    label: str
    options: Sequence[tuple[str, str, int | None]]
    """Value, text, and number of questions with this value under the other filters."""
    chosen: str


class Pages:
    """Makes the pages of a dataset."""

    def __init__(self, folder: SiteFolder, models: Models, indexes: Indexes) -> None:
        self._folder, self._models, self._indexes = folder, models, indexes
        self._views = Views(folder, models)

    def _render(self, template: str, links: Links, query: Query, **content: Any) -> str:
        name, (width, height) = self._folder.layout.root.resolve().name, self._folder.manifest.raster_px
        sizes = {**SIZES, "WIDTH": width, "HEIGHT": height}
        return render_page(
            f"browse/{template}", links=links, query=query, folder_name=name, **sizes, **content
        )

    def home(self, links: Links, query: Query) -> str:
        """The overview: all sub-datasets with their splits, the models, and notes on their predictions."""
        folder, manifest = self._folder, self._folder.manifest
        hops = []
        for name in folder.hops:
            hop = folder.known_hop(name)
            splits = []
            for split in folder.splits(name):
                kind = SPLITS.get(split)
                entry = getattr(manifest, kind_of(split).listed).get(name, {}).get(split)
                caption = kind.caption_of(len(hop.target)) if kind and hop else CAPTIONS.get(split, "")
                place = SplitKey(name, split)
                n_questions = None if entry is None else entry["questions"]
                splits.append((place, n_questions, caption, self._first_image(place)))
            suites = {
                suite: [SplitKey(name, split, suite) for split in of_suite]
                for suite, of_suite in folder.suites(name).items()
            }
            hops.append((name, hop.title if hop else "", splits, suites))
        n_questions = sum(n or 0 for _, _, splits, _ in hops for _, n, _, _ in splits)
        n_images = sum(int(pool.get("images", 0)) for pool in manifest.pools.values())
        tiles = [
            (f"{n_questions:,}", "questions"),
            (f"{n_images:,}", "images"),
            (f"{len(hops):,}", "sub-dataset" if len(hops) == 1 else "sub-datasets"),
            (manifest.seed_in_words, "seed"),
        ]
        rendering = f"Images are rendered by {made_by(manifest.rendering)}." if manifest.rendering else ""
        models = [(model.name, self._accuracies_of(model)) for model in self._models.models]
        return self._render(
            "home.html",
            links,
            query,
            tiles=tiles,
            hops=hops,
            rendering=rendering,
            models=models,
            notes=self._models.notes,
        )

    def _first_image(self, place: SplitKey) -> ImageView | None:
        """The image of a split's first question; None if it is unreadable or splits are very many."""
        if sum(len(self._folder.splits(hop)) for hop in self._folder.hops) > MOST_SPLITS_SHOWN:
            return None
        images = self._views.line(place, 0).images
        return images[0] if images else None

    def _accuracies_of(self, model: Model) -> dict[str, list[tuple[str, float, int]]]:
        """Sub-dataset -> split, accuracy in per cent, and number of answers of a model, without suites."""
        found: dict[str, list[tuple[str, float, int]]] = {}
        for place, answers in sorted(model.answers.items(), key=lambda each: name_order(each[0].hop)):
            with suppress(DatasetError):  # the page of the split says what is wrong
                percent, n = accuracy(answers, self._folder, place)
                if percent is not None and place.suite is None:
                    found.setdefault(place.hop, []).append((place.split, percent, n))
        return found

    def questions(self, links: Links, query: Query) -> str:
        """A list of questions, or the progress of the index if it is still being made.

        Raises:
            ConfigError: there is no such sub-dataset.
            DatasetError: the index cannot be made or read.
        """
        if query.hop not in self._folder.hops:
            raise ConfigError(f"{self._folder.layout.root}: no sub-dataset {query.hop or 'without a name'}")
        index = self._indexes.get(query.hop)
        if isinstance(index, Making):
            return self._render("making.html", links, query, making=index)
        notes = [*index.notes]
        try:
            query.filter(self._folder.attributes)
        except ConfigError as error:
            notes.append(f"What the image shows was left out of the search: {error}.")
            query = replace(query, shows="")
        models = self._models_of(query)
        first = (query.page - 1) * LINES_A_PAGE
        n, lines = self._matches(index, query, first, LINES_A_PAGE)
        last = max(1, -(-n // LINES_A_PAGE))
        return self._render(
            "questions.html",
            links,
            query,
            choices=self._choices(index, query),
            n=n,
            first=first,
            lines=lines,
            last=last,
            more=query.page < last,
            models=[model.name for model in models],
            accuracies=self._accuracies(index, query, models),
            hop=self._folder.known_hop(query.hop),
            all_models=bool(self._models),
            fields=query.fields(),
            notes=notes,
            is_filtered=query.text() != Query(hop=query.hop, split=query.split, page=query.page).text(),
        )

    def _matches(self, index: Index, query: Query, first: int, most: int) -> tuple[int, list[QuestionLine]]:
        """The number of questions in a list, and its lines, at most `most` from the index `first` on."""
        wanted = query.filter(self._folder.attributes)
        models = self._models_of(query)
        place = SplitKey(query.hop, query.split)
        if models and query.split in index.splits and (query.outcome or query.order != "file"):
            reader, _ = self._folder.reader(place)
            rows = chosen_rows(
                index.rows(wanted),
                [model.answers[place] for model in models],
                reader.answers,
                outcome=query.outcome,
                errors_first=query.order != "file",
            )
            found = [(query.split, row) for row in rows[first : first + most].tolist()]
            n = len(rows)
        else:
            n, found = index.page(wanted, skip=first, most=most)
        return n, [self._views.line(SplitKey(query.hop, split), row) for split, row in found]

    def _accuracies(
        self, index: Index, query: Query, models: Sequence[Model]
    ) -> list[tuple[str, float | None, int]]:
        """Name, accuracy and number of answers of models on those questions of a split that match."""
        if not models or query.split not in index.splits:
            return []
        rows, place = index.rows(query.filter(self._folder.attributes)), SplitKey(query.hop, query.split)
        return [(each.name, *accuracy(each.answers[place], self._folder, place, rows)) for each in models]

    def _models_of(self, query: Query) -> list[Model]:
        """The one or two models whose results are compared on the chosen split, if there are any."""
        about = self._models.about(SplitKey(query.hop, query.split))
        numbers = [1 if query.a is None else query.a, 2 if query.b is None else query.b]
        chosen = [self._models.models[k - 1] for k in numbers if 1 <= k <= len(self._models)]
        if query.a is None and query.b is None:
            chosen = about[:2]
        return list({model.name: model for model in chosen if model in about}.values())

    def _choices(self, index: Index, query: Query) -> list[Choice]:
        """The filters, with the number of questions for each value under the other filters."""
        wanted = query.filter(self._folder.attributes)
        names: Mapping[Facet, Mapping[int, str]] = {
            "split": {each.number: each.name for each in index.splits.values()},
            "family": {
                number: shorten(
                    f"{name}: {index.sentences.get(number, '')}", MOST_LETTERS, placeholder=" ..."
                )
                for number, name in index.families.items()
            },
            "answer": index.answers,
            "mention": {0: "does not mention it", 1: "mentions it"},
            "objects": {},
        }
        hop = self._folder.known_hop(query.hop)
        labels: Mapping[Facet, str] = {
            "split": "Split",
            "family": "Family",
            "answer": "Answer",
            "mention": f"Mention of {hop.words}" if hop else "Mention",
            "objects": "Objects",
        }
        choices = [Choice("hop", "Sub-dataset", [(hop, hop, None) for hop in self._folder.hops], query.hop)]
        for facet in FACETS:
            value = getattr(query, facet)
            chosen = "" if value is None else str(value)
            options: list[tuple[str, str, int | None]] = [("", "any", None)]
            for number, n in index.options(wanted, facet):
                name = names[facet].get(number, str(number))
                options.append((name if facet == "split" else str(number), name, n))
            if chosen not in {option for option, _, _ in options}:
                options.append((chosen, names[facet].get(value, chosen), 0))
            if len(options) > 1:
                choices.append(Choice(facet, labels[facet], options, chosen))
        if self._models:
            about = self._models.about(SplitKey(query.hop, query.split))
            numbers = {model.name: str(k) for k, model in enumerate(self._models.models, 1)}
            compared = [numbers[model.name] for model in self._models_of(query)]
            for name, label, at in (("a", "Model A", 0), ("b", "Model B", 1)):
                options = [(numbers[model.name], model.name, None) for model in about]
                if at or not options:
                    options.insert(0, ("0", "none", None))
                choices.append(Choice(name, label, options, compared[at] if at < len(compared) else "0"))
            outcomes = [("", "any", None), *((value, text, None) for value, text in OUTCOMES.items())]
            choices.append(Choice("outcome", "Result", outcomes, query.outcome))
            orders = [("", "errors of A first", None), ("file", "order of the file", None)]
            choices.append(Choice("order", "Order", orders, query.order))
        looks = [("", "list", None), ("grid", "grid of images", None)]
        choices.append(Choice("view", "Shown as", looks, query.view))
        return choices

    def question(self, links: Links, place: SplitKey, number: int, query: Query) -> str:
        """The page of the question with this number, counted from 0.

        Raises:
            ConfigError: there is no such question.
            DatasetError: it cannot be read.
        """
        row, n = number, self._check_row(place, number, per=1)
        view = self._views.question(place, row, query.step)
        index = self._indexes.ready(place.hop)
        family, mention = "", None
        if index is not None and place.split in index.splits:
            family, mention = index.families.get(view.family, ""), index.mentions(place.split, row)
        hop = self._folder.known_hop(place.hop)
        before, after = self._neighbours(links, place, row, query, n, index)
        is_episode = kind_of(place.split) is NONCE
        return self._render(
            "episode.html" if is_episode else "question.html",
            links,
            query,
            view=view,
            place=place,
            row=row,
            n=n,
            family=view.template or family or f"family {view.family}",
            mention=mention,
            hop_words=hop.words if hop else "",
            group=self._views.group(place, row),
            same_image=self._views.about_same_image(place, row),
            pairs=self._views.pairs_of(place, row),
            episode=self._views.episode(place, row) if is_episode else None,
            before=before,
            after=after,
            back=self._list_link(links, place, row, query),
            all_models=bool(self._models),
        )

    def _list_link(self, links: Links, place: SplitKey, row: int, query: Query) -> str:
        """A link to the list from which a question was reached, or to the list of its split."""
        if query.at is None:
            listed = Query(split=place.split, order="file" if self._models else "")
        else:
            listed = replace(query, step=None, boxes=1, ids=1, masks=0)
        at = row if query.at is None else query.at
        return links.questions(place.hop, listed, page=at // LINES_A_PAGE + 1)

    def _neighbours(
        self, links: Links, place: SplitKey, row: int, query: Query, n: int, index: Index | None
    ) -> tuple[str | None, str | None]:
        """Links to the previous and next question, in the list that led to this one or else in its file."""
        if query.at is None or index is None:
            before = links.question(place, row - 1, query) if row else None
            return before, links.question(place, row + 1, query) if row + 1 < n else None
        at = query.at
        first = max(at - 1, 0)
        listed = replace(query, hop=place.hop)
        lines = dict(enumerate(self._matches(index, listed, first, 3)[1], first))

        def link(number: int) -> str | None:
            line = lines.get(number)
            return None if line is None else links.question(line.place, line.row, query, at=number)

        return (link(at - 1) if at else None), link(at + 1)

    def pairs(self, links: Links, place: SplitKey, query: Query) -> str:
        """A list of the pairs of a suite on a split; raises as `question` does."""
        n = self._check_row(place, 0, per=2)
        reader = self._views.pair_reader(place)
        tests = [(name, int((reader.test[::2] == k).sum())) for k, name in enumerate(reader.tests)]
        names = [name for name, count in tests if count]
        chosen = query.test if query.test in names else ""
        of_test = reader.test[::2] == reader.tests.index(chosen) if chosen else np.ones(n, bool)
        numbers = np.flatnonzero(of_test)
        first = (query.page - 1) * LINES_A_PAGE
        listed = numbers[first : first + LINES_A_PAGE].tolist()
        lines = [self._views.pair_line(place, k) for k in listed]
        return self._render(
            "pairs.html",
            links,
            query,
            place=place,
            tests=[(name, count) for name, count in tests if count],
            chosen=chosen,
            lines=lines,
            n=len(numbers),
            last=max(1, -(-len(numbers) // LINES_A_PAGE)),
        )

    def pair(self, links: Links, place: SplitKey, number: int, query: Query) -> str:
        """A pair's page, with both questions side by side; raises as `question` does."""
        n = self._check_row(place, number, per=2)
        line: PairLine = self._views.pair_line(place, number)
        reader = self._views.pair_reader(place)
        sides = [
            (role, self._views.question(place, 2 * number + at, step), int(reader.orig_idxs[2 * number + at]))
            for at, (role, step) in enumerate((("Original", query.step), ("Partner", query.step2)))
        ]
        return self._render(
            "pair.html",
            links,
            query,
            place=place,
            number=number,
            n=n,
            line=line,
            sides=sides,
            split_place=SplitKey(place.hop, place.split),
            before=links.pair(place, number - 1, query) if number else None,
            after=links.pair(place, number + 1, query) if number + 1 < n else None,
            all_models=bool(self._models),
        )

    def _check_row(self, place: SplitKey, row: int, *, per: int) -> int:
        """The number of questions, or of pairs if `per` is 2; a ConfigError if there is no such row."""
        root = self._folder.layout.root
        if not self._folder.has(place):
            named = f"{place.hop}/{place.split}" + (f", suite {place.suite}" if place.suite else "")
            raise ConfigError(f"{root}: no questions of {named}")
        reader, _ = self._folder.reader(place)
        n = len(reader) // per
        what = "pair" if per == 2 else "question"
        if row >= n:
            raise ConfigError(f"{reader.path}: no {what} {row:,}; it has {n:,}, counted from 0")
        return n

    def message(self, links: Links, title: str, sentence: str) -> str:
        """A page with an error message."""
        return self._render("message.html", links, Query(), title=title, sentence=sentence)
