"""One split without a folder: its questions, and the scenes and images of its windows, made on demand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.config.presets import Config
from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.dataset.question_kinds import QUESTIONS, SINGLE
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import ConfigError
from clevrhope.images.pixel_cache import PixelCache
from clevrhope.images.renderer import Renderer
from clevrhope.images.renderers import open_renderer
from clevrhope.images.settings import Rendering
from clevrhope.look.definition import read_look
from clevrhope.pipeline.binding import open_engine
from clevrhope.pipeline.engine import Engine
from clevrhope.pipeline.jobs import Job, new_job, wanted_splits
from clevrhope.pipeline.nonce import MOST_EPISODES, NonceEngine
from clevrhope.pipeline.questions import questions_of
from clevrhope.pipeline.request import Limits, Request, second_palette
from clevrhope.runtime.settings import suggestion
from clevrhope.splits.covr.kinds import is_covr
from clevrhope.splits.hops import NONE
from clevrhope.splits.kinds import SHARED_PLACES, SPLITS
from clevrhope.splits.nonce.kinds import NONCE_SPLITS, SCENES, TOLD, is_nonce
from clevrhope.version import DATASET_VERSION


@dataclass(frozen=True)
class SplitSource:
    """Everything that decides a split. It pickles, so that another process can make the chosen scenes."""

    request: Request
    job: Job

    @property
    def config(self) -> Config:
        """Sizes, look and constraints."""
        return self.request.config

    @property
    def group(self) -> int:
        """Number of images that belong together, such as four in a minimal set; 1 if images stand alone."""
        if self.job.pool == SHARED_PLACES:
            return 1
        return SPLITS[self.job.split].group_of(len(self.job.hop.target))

    def open_engine(self) -> Engine:
        """The engine that makes the split's questions and the scenes of its pool."""
        return open_engine(self.request, None)[0]

    def scene_engine(self, engine: Engine) -> Engine | NonceEngine:
        """What makes the scenes, by the engine of `open_engine`."""
        return engine

    def make(self, engine: Engine, limit: int | None) -> tuple[QuestionTable, dict[str, Any]]:
        """Makes the questions, all of them or the first `limit`, with the engine of `open_engine`.

        Returns:
            The questions, and everything that decides them, as in a manifest.

        Raises:
            ConfigError: the split has fewer questions than `limit`.
            SplitError: a bounded search found too little; names the predicate that excludes too much.
        """
        binding = {**self.binding(engine), "templates": engine.templates.fingerprint}
        binding |= {"hop": self.job.hop.name, "split": self.job.split}
        return self._table(engine, limit), {**binding, "questions": self.config.changed_settings()}

    def _table(self, engine: Engine, limit: int | None) -> QuestionTable:
        job = replace(self.job, question_json=False)
        if limit is not None and job.kind.unit == "questions":
            job = replace(job, goal=limit)
        vocab = engine.encoder.vocab
        made: list[QuestionTable] = []
        n = 0
        for batch in questions_of(job, engine):
            made.append(_narrow(batch.table, vocab))
            n += len(batch.table)
            if limit is not None and n >= limit:
                break
        if limit is not None and n < limit:
            raise ConfigError(
                f"limit is {limit:,}, but {job.split} of {job.hop.name} has {n:,} questions; take fewer"
            )
        return _joined(made, limit, vocab, job)

    def n_objects(self, engine: Engine, image_idxs: Ints) -> Ints:
        """(N,) number of objects in each of these scenes (N,) of the split's pool, which are made for it."""
        indices, at = np.unique(image_idxs, return_inverse=True)
        batches = self.scene_engine(engine).scene_rows(self.job.pool, indices)
        rows = (row for batch in batches for row in batch)
        counts: Ints = np.array([len(json.loads(row)["objects"]) for row in rows], dtype=np.int32)[at]
        return counts

    def binding(self, engine: Engine) -> dict[str, Any]:
        """Everything that decides the scenes of the split's pool."""
        world = engine.world_of(self.job.pool).fingerprint
        return {"version": DATASET_VERSION, "world": world, "seed": engine.seed, "pool": self.job.pool}


@dataclass(frozen=True)
class EpisodeSource(SplitSource):
    """As many episodes with nonce words in a condition as the job's goal; each tells the types of words."""

    _made: list[NonceEngine] = field(default_factory=list, init=False, repr=False, compare=False)
    """What has drawn the episodes, once it has; other processes draw them anew."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": []}

    @property
    def group(self) -> int:
        """Images stand alone."""
        return 1

    def scene_engine(self, engine: Engine) -> NonceEngine:
        """What makes the scenes of queries and of supports."""
        if not self._made:
            self._made.append(NonceEngine(engine, self.job.goal, TOLD))
        return self._made[0]

    def _table(self, engine: Engine, limit: int | None) -> QuestionTable:
        return self.scene_engine(engine).table(self.job.split)


def open_split_source(
    hop: str, split: str, *, config: Config, seed: int, limits: Limits, limit: int | None = None
) -> SplitSource:
    """A split of a sub-dataset, as `build` would make it, or the first `limit` episodes in a condition.

    Raises:
        ClevrhopeError: there is no such pair or split, or a setting is wrong or conflicts with another.
    """
    if is_covr(split):
        raise ConfigError(
            f"split is {split}, whose questions are about several images; build a dataset with them instead"
        )
    request = Request(out=Path(), hops=(hop,), config=config, seed=seed, limits=limits)
    engine, (found,) = open_engine(request, None)
    if is_nonce(split):
        if hop != NONE or limits != Limits():
            raise ConfigError(f"{split}: episodes are of hop {NONE} alone, without diversity and palettes")
        if limit is None or limit > MOST_EPISODES:
            raise ConfigError(f"limit is {limit}; expected 1 to {MOST_EPISODES:,}, the number of episodes")
        return EpisodeSource(request, Job(found, split, SCENES, limit))
    second = second_palette(limits)
    known = wanted_splits(found, None, second)
    if split not in known:
        known = (*known, *(NONCE_SPLITS if hop == NONE else ()))
        raise ConfigError(
            f'no split "{split}" of {found.name}{suggestion(split, known)}; known: {", ".join(known)}'
        )
    return SplitSource(request, new_job(found, split, config.sizes, engine, second))


def _narrow(rows: QuestionTable, vocab: Vocab) -> QuestionTable:
    """Only the common columns, with tokens of the narrowest type: one byte each with CLEVR's vocabulary."""
    columns = {name: each for name, each in rows.arrays().items() if name in QUESTIONS}
    for name, tokens in (("questions", vocab.questions()), ("programs", vocab.programs())):
        columns[name] = columns[name].astype(np.min_scalar_type(len(tokens)))
    return QuestionTable(SINGLE, columns)


def _joined(parts: list[QuestionTable], limit: int | None, vocab: Vocab, job: Job) -> QuestionTable:
    columns = {name: np.concatenate([getattr(each, name) for each in parts])[:limit] for name in QUESTIONS}
    return QuestionTable(SINGLE, columns, vocab=vocab, hop=job.hop.name, split=job.split, pool=job.pool)


@dataclass
class _Window:
    """The scenes and images of one window, as far as they are made."""

    indices: Ints
    rows: Mapping[int, str] = field(default_factory=dict)
    pixels: npt.NDArray[np.uint8] | None = None
    is_rendered: npt.NDArray[np.bool_] | None = None


class Windows:
    """The scenes and images of the open windows, each made when it is first needed. Pickles without them."""

    def __init__(
        self,
        source: SplitSource,
        rendering: Rendering,
        cache: PixelCache | None,
        *,
        support: tuple[str, Ints] | None = None,
    ) -> None:
        """`cache` keeps the images of whole windows; `support`, a pool and scenes, is a window that stays."""
        self._source, self._rendering, self._cache = source, rendering, cache
        self._pool = source.job.pool if support is None else support[0]
        self._support = None if support is None else support[1]
        self._engine: Engine | NonceEngine | None = None
        self._renderer: Renderer | None = None
        self._windows: Sequence[_Window] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_engine": None, "_renderer": None, "_windows": ()}

    def open(self, windows: Sequence[Ints]) -> None:
        """Opens windows, given by the indices of their scenes, and closes those that were open."""
        self._windows = [_Window(indices) for indices in windows]

    def __getitem__(self, index: int) -> str:
        """A scene of an open window, as JSON; the scenes of a window are sampled together."""
        window = self._window(index)
        if not window.rows:
            self._engine = self._engine or self._source.scene_engine(self._source.open_engine())
            batches = self._engine.scene_rows(self._pool, window.indices)
            rows = (row.decode() for batch in batches for row in batch)
            window.rows = dict(zip(window.indices.tolist(), rows, strict=True))
        return window.rows[index]

    def pixels(self, index: int) -> ImageArray:
        """(height, width, 3) uint8 RGB of a scene of an open window, in an array that the caller owns.

        Raises:
            DatasetError: the cache cannot be read or written.
            SceneError: the renderer has no formula for a shape or material.
        """
        window = self._window(index)
        n = len(window.indices)
        if window.pixels is None or window.is_rendered is None:
            shape = (self._rendering.height, self._rendering.width, 3)
            cached = self._cache.read(window.indices, shape) if self._cache else None
            window.pixels = np.empty((n, *shape), np.uint8) if cached is None else cached
            window.is_rendered = np.full(n, cached is not None)
        place = int(np.searchsorted(window.indices, index))
        if not window.is_rendered[place]:
            ((_, window.pixels[place]),) = self._open_renderer().render([(index, json.loads(self[index]))])
            window.is_rendered[place] = True
            if self._cache and window.is_rendered.all():
                self._cache.write(window.indices, window.pixels)
        return np.array(window.pixels[place])

    def _window(self, index: int) -> _Window:
        if self._support is not None and not self._windows:
            self.open([self._support])
        (window,) = (each for each in self._windows if index in each.indices)
        return window

    def _open_renderer(self) -> Renderer:
        if self._renderer is None:
            config = self._source.config
            look = read_look(properties=config.properties, changes=config.look)
            self._renderer = open_renderer(self._rendering, look=look, workers=1)
        return self._renderer
