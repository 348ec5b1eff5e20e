"""`stream`: a split without a build, as an iterable of questions in memory and images rendered on demand.

Torch is imported only if it is installed, and only when `stream` is called.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from clevrhope.config.presets import Config
from clevrhope.config.sources import resolve_config
from clevrhope.dataset.levels import levels_of, rows_on
from clevrhope.dataset.loader import Item, Split, Transform
from clevrhope.dataset.question_kinds import ABSENT, NONCE
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.torch_dataset import restored, torch_class
from clevrhope.errors import ConfigError, shown
from clevrhope.images.pixel_cache import PixelCache
from clevrhope.images.renderers import rendering_as_json, row_named
from clevrhope.pipeline.request import Limits
from clevrhope.pipeline.split_source import Windows, open_split_source
from clevrhope.runtime.forms import INDEX, TEXT, Fields, check_form
from clevrhope.runtime.resources import available_cores
from clevrhope.runtime.settings import check_whole
from clevrhope.training.order import Numbers, Order, Share, window_bounds

_PROCESS = os.getpid()
"""The process that imported this module. A process forked from it has the module, but no native threads."""

_STATE = Fields(
    {
        "stream": TEXT,
        "share": Fields(dict.fromkeys(("rank", "world_size", "worker", "n_workers"), INDEX)),
        "epoch": INDEX,
        "position": INDEX,
    }
)
"""The form of a `state_dict`."""


def stream(
    hop: str,
    split: str,
    *,
    size: tuple[int, int],
    seed: int,
    limit: int | None = None,
    renderer: str = "native",
    quality: str | None = None,
    diversity: int | None = None,
    diversity_mode: Literal["nested", "grid"] = "nested",
    palette: str | PathLike[str] | None = None,
    test_palette: str | PathLike[str] | None = None,
    config: str | PathLike[str] | None = None,
    images: bool = True,
    text: bool = False,
    transform: Transform | None = None,
    scenes: bool = False,
    levels: Sequence[int] = (),
    shuffle: int | None = None,
    buffer: int = 4,
    rank: int | None = None,
    world_size: int | None = None,
    cache: str | PathLike[str] | None = None,
) -> "Stream":
    """A split's questions, with images that are rendered when they are needed: data without files.

    Questions, their order and pixels are those of `clevrhope build` with the same seed and settings; items
    are those of `clevrhope.load`. All questions are made now; the workers of a DataLoader only make images.

    Args:
        hop: such as "rubber_cylinder", "cyan_cylinder-d8", "prelim_cyan", or "none".
        split: such as "train" or "complex_ood"; or of "none", episodes with nonce words, "nonce_unseen" or
            "nonce_seen".
        size: (width, height) of an image in pixels.
        seed: the seed of scenes and questions, from 0 to 2**64 - 1, as in `build --seed`.
        limit: the number of questions, from the first on; None for as many as the paper has, of which
            there are no episodes.
        renderer: "native", or another that renders in this process.
        quality: one of the renderer's: "draft", "standard" (the default) or "high".
        diversity: number of combinations of the pair's types in training, the pair included.
        diversity_mode: which combinations these are, as in `build --diversity-mode`.
        palette: a file with the combinations, as in `build --palette`.
        test_palette: the palette of val_b and test_b of `none`, as in `build --test-palette`.
        config: a settings file, as in `build --config`.
        images: False leaves the images out.
        text: adds question, program and answer in words.
        transform: applied to each image, (height, width, 3) uint8 RGB.
        scenes: adds the scenes, as a dataset's files have them.
        levels: only questions on these levels of difficulty, 1 to 4, of the first `limit`; all if empty.
        shuffle: a seed for the order; None for the split's own order.
        buffer: number of windows of 250 images whose questions are shuffled together; a process holds their
            images in memory.
        rank: rank of this process among those that train together; None asks torch.distributed.
        world_size: the number of these processes.
        cache: a folder that keeps the images for later epochs and runs.

    Returns:
        A torch `IterableDataset` where torch is installed, another iterable elsewhere.

    Raises:
        ConfigError: there is no such pair or split, no question is on a level, or a setting is wrong.
        DatasetError: the cache cannot be used.
        SplitError: no question or scene meets the split's conditions.
        SceneError: the renderer has no formula for a shape or material.
    """
    check_process()
    if not (isinstance(size, tuple | list) and len(size) == 2 and all(type(each) is int for each in size)):
        raise ConfigError(f"size is {shown(size)}; expected (width, height) in pixels, such as (96, 64)")
    if not row_named(renderer).is_in_process:
        raise ConfigError(f"renderer {renderer} has processes of its own, which a stream cannot start")
    checked = replace(row_named(renderer).settings(), width=size[0], height=size[1])
    if quality is not None:
        checked.with_quality(quality)
    check_whole("seed", seed)
    check_whole("buffer", buffer, least=1)
    for name, number, least in (("shuffle", shuffle, 0), ("limit", limit, 1), ("diversity", diversity, 1)):
        if number is not None:
            check_whole(name, number, least=least)
    ranks = _ranks(rank, world_size)
    limits = Limits(
        () if diversity is None else (diversity,),
        diversity_mode,
        None if palette is None else Path(palette),
        None if test_palette is None else Path(test_palette),
    )
    try:
        settings = _settings(None if config is None else Path(config), size, renderer, quality)
        source = open_split_source(hop, split, config=settings, seed=seed, limits=limits, limit=limit)
    except ConfigError as error:  # it may name options of `build`, which are arguments here
        words = re.sub("--([a-z-]+)", lambda option: option[1].replace("-", "_"), str(error))
        raise ConfigError(words) from error
    rendering, order = settings.rendering, Order(shuffle, buffer)
    engine = source.open_engine()
    rendered = {**source.binding(engine), "rendering": rendering_as_json(rendering)}
    kept = PixelCache(Path(cache), rendered) if cache is not None and images else None
    rows, binding = source.make(engine, limit)
    windows = Windows(source, rendering, kept)
    support: Windows | None = None
    if rows.kind is NONCE and images:
        pool, used = rows.support_pool, np.setdiff1d(rows.support_idxs, [ABSENT]).astype(np.int32)
        of_support = None if cache is None else PixelCache(Path(cache), {**rendered, "pool": pool})
        support = Windows(source, rendering, of_support, support=(pool, used))
    pixels, given = windows if images else None, windows.__getitem__ if scenes else None
    chosen, image_idxs = None, rows.image_idxs
    if levels:
        n_objects = source.n_objects(engine, image_idxs)
        chosen = rows_on(levels_of(rows, n_objects), levels, f"{rows.hop}/{split}")
        image_idxs = image_idxs[chosen]
        binding["rows"] = chosen
    items = Split(rows, pixels, text=text, transform=transform, scenes=given, rows=chosen, support=support)
    decided = {**binding, **rendered, "n": len(rows), "order": asdict(order)}
    digest = hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()
    bounds = window_bounds(image_idxs, source.group)
    made: Stream = torch_class(Stream)(items, windows, image_idxs, bounds, order, ranks, digest)
    return made


def _settings(file: Path | None, size: tuple[int, int], renderer: str, quality: str | None) -> Config:
    """The settings of a build with the paper's number of questions."""
    width, height = size
    config = resolve_config(
        preset="paper", file=file, renderer=renderer, quality=quality, width=width, height=height
    )
    if config.clevr is not None:
        raise ConfigError(f"{file}: clevr: CLEVR's images are copied, not rendered, so they need a build")
    if config.passes:
        raise ConfigError(f"{file}: passes: a stream gives no {', '.join(config.passes)}; build a dataset")
    return config


def _ranks(rank: int | None, world_size: int | None) -> tuple[int, int] | None:
    if rank is None and world_size is None:
        return None
    if rank is None or world_size is None:
        raise ConfigError("rank and world_size go together; give both, or neither to ask torch.distributed")
    check_whole("rank", rank)
    check_whole("world_size", world_size, least=1)
    if rank >= world_size:
        raise ConfigError(f"rank is {rank}, but world_size is {world_size}; ranks are counted from 0")
    return rank, world_size


class Stream:
    """The questions of a split as an iterable; made by `stream`. Its items are those of `clevrhope.load`.

    A pass over it is an epoch; only one pass can be under way. The order of shuffled questions depends on the
    seed and on the number of the epoch, which `set_epoch` sets, and which increases by one when a pass ends,
    but only in the process that iterates. With a DataLoader that has workers, these iterate: `set_epoch` then
    gives each epoch its order, and the stream of the main process does not know how far an epoch is.
    """

    def __init__(
        self,
        items: Split,
        opened: Windows,
        image_idxs: Ints,
        bounds: Numbers,
        order: Order,
        ranks: tuple[int, int] | None,
        digest: str,
    ) -> None:
        """`opened` makes what the items of open windows need; without `ranks`, torch.distributed is asked."""
        self.hop, self.split, self.pool = items.hop, items.split, items.pool
        """The names of the HOP, of the split, and of the pool that `image_index` refers to."""
        self.vocab = items.vocab
        """The vocabulary of the items' tokens and answers."""
        self._items, self._opened, self._image_idxs, self._bounds = items, opened, image_idxs, bounds
        self._order, self._ranks, self._digest = order, ranks, digest
        self._epoch, self._position = 0, 0
        self._resumed: Share | None = None  # whose state the next pass resumes
        self._n_passes = 0

    def __len__(self) -> int:
        """Number of questions in an epoch of this rank, with all of its workers."""
        windows = self._share().of_rank(self._windows())
        return int(np.diff(self._bounds)[windows].sum())

    def __repr__(self) -> str:
        return f"<Stream of {len(self._items):,} questions of {self.hop}/{self.split}>"

    def __iter__(self) -> Iterator[Item]:
        """The items of an epoch, or the rest of one that is resumed.

        Raises:
            ConfigError: the process was forked, or the loaded state has another number of ranks or workers;
                or, from an item, another pass has begun.
        """
        check_process()
        share = self._share()
        if self._resumed is None:
            self._position = 0
        else:
            self._resumed.check(share)
        self._resumed = None
        self._n_passes += 1
        return self._rest_of_epoch(share, self._n_passes)

    def _rest_of_epoch(self, share: Share, number: int) -> Iterator[Item]:
        self._check_pass(number)
        if share.n_workers > 1:
            # Workers share the cores. The native module reads this when it first starts threads.
            os.environ.setdefault("RAYON_NUM_THREADS", str(max(1, available_cores() // share.n_workers)))
        epoch, given = self._epoch, self._position
        for windows, rows in self._order.pieces(share.of(self._windows()), self._bounds, epoch):
            if given < len(rows):
                self._open(windows)
            for row in rows[given:].tolist():
                item = self._items[row]
                self._position += 1
                yield item
                self._check_pass(number)
            given = max(0, given - len(rows))
        self._open([])
        self._epoch, self._position = epoch + 1, 0

    def _check_pass(self, number: int) -> None:
        if number != self._n_passes:
            raise ConfigError(
                "another pass over this stream has begun, which ended this one; "
                "make two streams to iterate over both at once"
            )

    def set_epoch(self, epoch: int) -> None:
        """Makes the next pass all of this epoch, or the rest of it if a state of it was loaded.

        Workers of a DataLoader learn of it when they start; those that stay from one epoch to the next
        (`persistent_workers`) count epochs themselves.
        """
        check_whole("epoch", epoch)
        if self._resumed is None or epoch != self._epoch:
            self._epoch, self._position, self._resumed = epoch, 0, None

    def state_dict(self) -> dict[str, Any]:
        """The position of the current pass, for `load_state_dict`.

        It is that of the calling process: in a worker of a DataLoader that of the worker's part, as
        torchdata's StatefulDataLoader expects, and in the main process not that of any worker.
        """
        return {
            "stream": self._digest,
            "share": asdict(self._share()),
            "epoch": self._epoch,
            "position": self._position,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next pass begin with the item that would have followed when the state was taken.

        The pass must be in the process that loads the state: workers of a DataLoader refuse a state that the
        main process loaded.

        Raises:
            ConfigError: the state is of another stream, or has another number of ranks or workers.
        """
        here = self.state_dict()
        check_form(state, _STATE, "state", error=ConfigError)
        if state["stream"] != here["stream"]:
            raise ConfigError(
                "state: taken from a stream of other questions, images or order; give the same arguments"
            )
        share = Share(**state["share"])
        share.check(self._share())
        self._epoch, self._position, self._resumed = state["epoch"], state["position"], share

    def __reduce__(self) -> tuple[Any, ...]:
        # A worker is not in the process group, so the rank is passed on to it.
        share = self._share()
        state = {**self.__dict__, "_ranks": (share.rank, share.world_size)}
        return restored, (Stream, state)

    def _windows(self) -> Numbers:
        return self._order.windows(len(self._bounds) - 1, self._epoch)

    def _open(self, numbers: list[int]) -> None:
        windows = [np.unique(self._image_idxs[slice(*self._bounds[each : each + 2])]) for each in numbers]
        self._opened.open(windows)

    def _share(self) -> Share:
        """This process's part; torch says which rank it is if none was given."""
        ranks, data = self._ranks, sys.modules.get("torch.utils.data")
        distributed = sys.modules.get("torch.distributed")
        if ranks is None and distributed and distributed.is_available() and distributed.is_initialized():
            ranks = distributed.get_rank(), distributed.get_world_size()
        rank, n_ranks = ranks or (0, 1)
        worker = data.get_worker_info() if data else None
        if worker is None:
            return Share(rank, n_ranks, 0, 0)
        return Share(rank, n_ranks, worker.id, worker.num_workers)


def check_process() -> None:
    """Checks that the process was not forked from one with this module.

    Raises:
        ConfigError: it was; a call of the native module would wait forever for threads that it does not have.
    """
    if os.getpid() != _PROCESS:
        raise ConfigError(
            "this process was forked, and has no threads to render with; let it be spawned, as by "
            'DataLoader(..., multiprocessing_context="spawn")'
        )
