"""The iterable that `stream` gives: questions in memory, and images that are rendered when asked for."""

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.loader import Item, Split, Transform
from clevrhope.dataset.torch_dataset import restored
from clevrhope.errors import ConfigError
from clevrhope.images.pixel_cache import PixelCache
from clevrhope.images.rendering_record import rendering_as_json
from clevrhope.images.settings import NativeSettings
from clevrhope.pipeline.split_source import SplitSource
from clevrhope.pipeline.window_images import WindowImages, WindowScenes
from clevrhope.runtime.forms import INDEX, TEXT, Fields, check_form
from clevrhope.runtime.resources import available_cores
from clevrhope.runtime.settings import check_whole
from clevrhope.training.window_order import Numbers, Order, Share, window_bounds

_PROCESS = os.getpid()
"""The process that imported this module. One that is forked from it has the module, but no native threads."""


_STATE = Fields(
    {
        "stream": TEXT,
        "share": Fields(dict.fromkeys(("rank", "world_size", "worker", "n_workers"), INDEX)),
        "epoch": INDEX,
        "position": INDEX,
    }
)
"""The form of what `state_dict` gives."""


class Stream:
    """The questions of a split as an iterable; made by `stream`. Its items are those of `clevrhope.load`.

    A pass over it is an epoch; there is one at a time. The order of shuffled questions depends on the seed
    and on the number of the epoch, which `set_epoch` sets, and which goes up by one when a pass ends, though
    only in the process that iterates. A DataLoader with workers iterates in them, so there `set_epoch` gives
    each epoch its order, and the main process's stream does not know how far an epoch is.
    """

    def __init__(
        self,
        source: SplitSource,
        *,
        limit: int | None,
        rendering: NativeSettings,
        images: bool,
        scenes: bool,
        text: bool,
        transform: Transform | None,
        order: Order,
        ranks: tuple[int, int] | None,
        cache: Path | None,
    ) -> None:
        """`ranks` is the number of this one and how many there are; None asks torch.distributed."""
        engine = source.open_engine()
        rendered = {**source.binding(engine), "rendering": rendering_as_json(rendering)}
        kept = PixelCache(cache, rendered) if cache is not None and images else None
        rows, vocab, binding = source.make(engine, limit)
        self.hop, self.split, self.pool = rows.hop, rows.split, rows.pool
        """The names of the HOP, of the split, and of the pool in which `image_index` counts."""
        self.vocab = vocab
        """What the numbers in the items mean."""
        self._image_idxs = rows.image_idxs
        self._bounds = window_bounds(rows.image_idxs, source.group)
        self._order, self._ranks = order, ranks
        self._scenes = WindowScenes(source)
        self._images = WindowImages(self._scenes, source, rendering, kept) if images else None
        self._items = Split(
            rows,
            vocab,
            self._images,
            text=text,
            transform=transform,
            scenes=self._scenes if scenes else None,
        )
        decided = {**binding, **rendered, "n": len(rows), "order": asdict(order)}
        self._digest = hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()
        self._epoch, self._position = 0, 0
        self._resumed: Share | None = None  # whose state the next pass resumes
        self._n_passes = 0

    def __len__(self) -> int:
        """Questions of an epoch; those of this rank, with all of its workers."""
        windows = self._share().of_rank(self._windows())
        return int(np.diff(self._bounds)[windows].sum())

    def __repr__(self) -> str:
        return f"<Stream of {len(self._items):,} questions of {self.hop}/{self.split}>"

    def __iter__(self) -> Iterator[Item]:
        """The items of an epoch, or what is left of one that is resumed.

        Raises:
            ConfigError: the process was forked, or the state that was loaded is of another number of ranks or
                workers. From an item: another pass has begun.
        """
        check_process()
        share = self._share()
        if self._resumed is None:
            self._position = 0
        else:
            _check_share(self._resumed, share)
        self._resumed = None
        self._n_passes += 1
        return self._rest_of_epoch(share, self._n_passes)

    def _rest_of_epoch(self, share: Share, number: int) -> Iterator[Item]:
        self._check_pass(number)
        if share.n_workers > 1:
            # Workers share the cores. The native module reads this when it first needs threads.
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
        """Makes the next pass the whole of this epoch, or what is left of it if a state of it was loaded.

        Workers of a DataLoader learn of it when they start; those that stay from one epoch to the next
        (`persistent_workers`) count by themselves.
        """
        check_whole("epoch", epoch)
        if self._resumed is None or epoch != self._epoch:
            self._epoch, self._position, self._resumed = epoch, 0, None

    def state_dict(self) -> dict[str, Any]:
        """How far the pass is that is under way, for `load_state_dict`.

        It is about the process that calls it: in a worker of a DataLoader about the worker's part, as
        torchdata's StatefulDataLoader expects, and in the main process about no worker's part.
        """
        return {
            "stream": self._digest,
            "share": asdict(self._share()),
            "epoch": self._epoch,
            "position": self._position,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Has the next pass begin with the item that would have followed when the state was taken.

        The pass has to be in the process that loads the state: workers of a DataLoader refuse a state that
        the main process has loaded.

        Raises:
            ConfigError: the state is of another stream, or of another number of ranks or workers.
        """
        here = self.state_dict()
        check_form(state, _STATE, "state", error=ConfigError)
        if state["stream"] != here["stream"]:
            raise ConfigError(
                "state: taken from a stream of other questions, images or order; give the same arguments"
            )
        share = Share(**state["share"])
        _check_share(share, self._share())
        self._epoch, self._position, self._resumed = state["epoch"], state["position"], share

    def __reduce__(self) -> tuple[Any, ...]:
        # A worker is in no process group, so its rank is passed on to it.
        share = self._share()
        state = {**self.__dict__, "_ranks": (share.rank, share.world_size)}
        return restored, (Stream, state)

    def _windows(self) -> Numbers:
        return self._order.windows(len(self._bounds) - 1, self._epoch)

    def _open(self, numbers: list[int]) -> None:
        windows = [np.unique(self._image_idxs[slice(*self._bounds[each : each + 2])]) for each in numbers]
        self._scenes.open(windows)
        if self._images is not None:
            self._images.open(windows)

    def _share(self) -> Share:
        """This process's part, as torch says it where the rank was not given."""
        ranks, data = self._ranks, sys.modules.get("torch.utils.data")
        distributed = sys.modules.get("torch.distributed")
        if ranks is None and distributed and distributed.is_available() and distributed.is_initialized():
            ranks = distributed.get_rank(), distributed.get_world_size()
        worker = data.get_worker_info() if data else None
        return Share(*(ranks or (0, 1)), *((worker.id, worker.num_workers) if worker else (0, 0)))


def _check_share(then: Share, now: Share) -> None:
    if then != now:
        raise ConfigError(f"state: taken in {then}, not in {now}; resume with as many ranks and workers")


def check_process() -> None:
    """Passes unless the process was forked with this module in it.

    Raises:
        ConfigError: it was; a call of the native module would wait for threads that were not copied.
    """
    if os.getpid() != _PROCESS:
        raise ConfigError(
            "this process was forked, and has no threads to render with; let it be spawned, as by "
            'DataLoader(..., multiprocessing_context="spawn")'
        )
