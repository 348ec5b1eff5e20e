"""A run's folder: the paths of its files, and the request that it belongs to. No torch.

```
RUN/run.json                          the request: model, dataset, pair, size, seed, recipe, features
RUN/vocab.json                        the vocabulary of its tokens and answers
RUN/log.jsonl                         a line every few updates
RUN/state/<update>/tensors.safetensors  weights, optimiser and random numbers: what a resumed run needs
RUN/state/<update>/state.json           the scalars that it needs
RUN/weights/<checkpoint>.safetensors  checkpoints: last, best, the end of a stage, late ones
RUN/predictions/<checkpoint>.<way>.jsonl  what clevrhope evaluate wrote
RUN/other_hops/<hop>/predictions/     the same for other sub-datasets of the pair
RUN/reached.json                      the accuracy and the checkpoints of evaluate --reaching
RUN/finished.json                     written when training is over
```
Every folder and file that exists is complete.
"""

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from clevrhope.dataset.binding import BindingError, difference
from clevrhope.errors import DatasetError, WrongFolderError
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.forms import (
    BOOLEAN,
    COUNT,
    INDEX,
    NAME,
    OBJECT,
    SEED,
    SHA256,
    TEXT,
    Fields,
    ListOf,
    Nullable,
    check_form,
)
from clevrhope.runtime.json_text import as_json_values, read_object
from clevrhope.runtime.reading import reading

FORMAT = 2

RUN = Fields(
    {
        "model": TEXT,
        "hop": NAME,
        "size": COUNT,
        "seed": SEED,
        "settings": OBJECT,
        "recipe": Fields({"stages": ListOf(OBJECT)}),
        "precision": TEXT,
        "deterministic": BOOLEAN,
        "keep": OBJECT,
        "features": Fields({"kind": TEXT, "note": Nullable(TEXT)}),
        "dataset": OBJECT,
        "places": Fields({"dataset": TEXT, "features": TEXT}),
    },
    {
        "split": TEXT,
        "tune": OBJECT,
        "threads": COUNT,
        "made_with": OBJECT,
        "drop_types": OBJECT,
        "train_sha256": TEXT,
        "init": Fields(
            {"hop": NAME, "size": COUNT, "split": TEXT, "learned": SHA256, "sha256": SHA256}, {"covr": TEXT}
        ),
        "covr": Fields({"role": TEXT, "given": TEXT, "predicate": TEXT, "shots": INDEX, "rows": COUNT}),
    },
)
"""The form of run.json."""

OTHER_HOPS = "other_hops"
"""The folder in a run's folder with predictions for other sub-datasets of its pair."""

WRITTEN = ("log.jsonl", "state", "weights", "predictions", OTHER_HOPS)
"""What `train` and `evaluate` write to or remove from a run's folder, besides files that they replace."""

_FREE = ("made_with", "places")
"""Keys that may differ when a run is resumed: versions and machine, and the paths of its data."""


class RunFolder:
    """The paths of a run's files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run = root / "run.json"
        self.vocab = root / "vocab.json"
        self.log = root / "log.jsonl"
        self.state = root / "state"
        self.weights = root / "weights"
        self.predictions = root / "predictions"
        self.finished = root / "finished.json"
        self.reached = root / "reached.json"

    def folders(self) -> tuple[Path, ...]:
        """The folders that files are written to."""
        return self.root, self.weights, self.predictions

    def checkpoint(self, name: str) -> Path:
        """The file of a checkpoint."""
        return self.weights / f"{name}.safetensors"

    def checkpoints(self) -> tuple[str, ...]:
        """The names of all checkpoints, "last" at the end."""
        names = (path.stem for path in self.weights.glob("[!.]*.safetensors"))
        return tuple(sorted(names, key=lambda name: (name == "last", name)))

    def other_hop(self, hop: str) -> Path:
        """The folder for predictions about another sub-dataset of the run's pair."""
        return self.root / OTHER_HOPS / hop

    def evaluations(self) -> list[dict[str, Any]]:
        """The records of the log about the tune set; a finished run's last one is about its last weights.

        Raises:
            DatasetError: the log is missing or damaged.
        """
        with reading(self.log, "a run's log"):
            records = [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]
        return [each for each in records if "tuned_on" in each]

    def first_reaching(self, percent: float) -> tuple[str, ...]:
        """The first two checkpoints in a row that reach an accuracy on the tune set; empty if none do.

        They are in a row if the run was not evaluated on that set between them.

        Raises:
            DatasetError: the run was not tuned on any set, or the weights were not kept.
        """
        evaluated = self.evaluations()
        if not evaluated:
            raise DatasetError(f"{self.log}: the run was trained without --tune-on; train it with that")
        for before, after in pairwise(evaluated):
            if min(before["accuracy"], after["accuracy"]) >= percent:
                names = [
                    "last" if each is evaluated[-1] else late_checkpoint(each["stage"], each["update"])
                    for each in (before, after)
                ]
                lost = [name for name in names if name not in self.checkpoints()]
                if lost:
                    raise DatasetError(
                        f"{self.root}: it reached {percent:g}% at {lost[0]}, whose weights were not kept; "
                        "train with --keep-every equal to --tune-every, and a larger --keep-last"
                    )
                return tuple(names)
        return ()

    @property
    def is_started(self) -> bool:
        """Whether the run has a state to resume from or is finished."""
        return self.finished.exists() or any(self.state.glob("[0-9]" * 9))

    def prediction(self, checkpoint: str, way: str) -> Path:
        """The file of a checkpoint's predictions in one of its model's ways of answering."""
        return self.predictions / f"{checkpoint}.{way}.jsonl"

    def bind(self, request: Mapping[str, Any]) -> None:
        """Writes run.json, or checks that the one there holds the same request.

        A run.json with another request is replaced if there are no states or weights yet.

        Raises:
            BindingError: the folder holds a run of another request; the message says what differs.
            DatasetError: the folder holds other files, or an invalid run.json.
        """
        request = as_json_values({"format": FORMAT, **request})
        if not self.run.exists():
            others = [each.name for each in self.root.iterdir() if not each.name.startswith(".")]
            if others:
                raise DatasetError(
                    f"{self.root}: {others[0]} is in it, but no run.json, so it is not the folder of a run; "
                    "choose another --out"
                )
            self._write(request)
            return
        there = {name: value for name, value in self.read().items() if name not in _FREE}
        here = {name: value for name, value in request.items() if name not in _FREE}
        if there == here:
            return
        if self.is_started or self.checkpoints():
            raise BindingError(
                f"{self.root}: another run is in it ({difference(there, here)}); choose another --out, or "
                "request the same run to resume it"
            )
        self.vocab.unlink(missing_ok=True)
        self._write(request)

    def _write(self, content: Mapping[str, Any]) -> None:
        write_whole(self.run, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())

    def read(self) -> dict[str, Any]:
        """The content of run.json.

        Raises:
            WrongFolderError: there is no run.json.
            DatasetError: it is damaged, or of another version.
        """
        if not self.run.exists():
            is_other = self.root.exists()
            what = "not a run of clevrhope train (it has no run.json)" if is_other else "no such folder"
            raise WrongFolderError(f"{self.root}: {what}; give the folder that clevrhope train --out wrote")
        raw = read_object(self.run, "a run of clevrhope train", remedy="start another run")
        if raw.get("format") != FORMAT:
            raise DatasetError(f"{self.run}: of another version of clevrhope; evaluate it with that one")
        check_form(raw, RUN, self.run)
        return raw


def late_checkpoint(stage: str, update: int) -> str:
    """The name of a checkpoint that is kept before the end of the last stage."""
    return f"{stage}-{update:07d}"
