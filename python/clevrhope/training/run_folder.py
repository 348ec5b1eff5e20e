"""A run's folder: what it was asked for in, that and its parts' places out. No torch.

```
RUN/run.json                          model, dataset, pair, size, seed, recipe, features: what binds the run
RUN/vocab.json                        the vocabulary that its numbers are of
RUN/log.jsonl                         a line every so many updates
RUN/state/<update>/tensors.safetensors  weights, optimiser and generators: what a resumed run needs
RUN/state/<update>/state.json           and its scalars
RUN/weights/<checkpoint>.safetensors  what is evaluated: last, best, a stage's end, late checkpoints
RUN/predictions/<checkpoint>.<way>.jsonl  what clevrhope evaluate wrote
RUN/finished.json                     there when all updates are made
```
A folder or file that is there is whole.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clevrhope.dataset.manifest import BindingError, difference
from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.forms import COUNT, NAME, OBJECT, SEED, TEXT, Fields, check_form
from clevrhope.runtime.json_text import as_json_values, read_object

FORMAT = 2

RUN = Fields(
    {
        "model": TEXT,
        "hop": NAME,
        "size": COUNT,
        "seed": SEED,
        "places": Fields({"dataset": TEXT, "features": TEXT}),
    },
    {
        "settings": OBJECT,
        "recipe": OBJECT,
        "precision": TEXT,
        "features": OBJECT,
        "dataset": OBJECT,
        "tune": OBJECT,
        "keep": OBJECT,
    },
)
"""The form of run.json."""

_FREE = ("versions", "places")
"""What may differ when a run is gone on with: where things lie, and with which torch it began."""


class RunFolder:
    """The paths of a run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run = root / "run.json"
        self.vocab = root / "vocab.json"
        self.log = root / "log.jsonl"
        self.state = root / "state"
        self.weights = root / "weights"
        self.predictions = root / "predictions"
        self.finished = root / "finished.json"
        self.tensorboard = root / "tensorboard"

    def folders(self) -> tuple[Path, ...]:
        """Every folder that the run's files are written to."""
        return self.root, self.weights, self.predictions

    def checkpoint(self, name: str) -> Path:
        """The weights of a checkpoint."""
        return self.weights / f"{name}.safetensors"

    def checkpoints(self) -> tuple[str, ...]:
        """The names of the weights that are there, "last" at the end."""
        names = sorted(path.stem for path in self.weights.glob("[!.]*.safetensors"))
        return (*(name for name in names if name != "last"), *(name for name in names if name == "last"))

    @property
    def is_begun(self) -> bool:
        """Whether it has a state to go on with, or its last weights."""
        return self.finished.exists() or any(self.state.glob("[0-9]" * 9))

    def prediction(self, checkpoint: str, way: str) -> Path:
        """The predictions of a checkpoint in one of its model's ways."""
        return self.predictions / f"{checkpoint}.{way}.jsonl"

    def bind(self, wanted: Mapping[str, Any]) -> bool:
        """Writes run.json, or finds it to ask for the same; True where it was there.

        Where it asks for another run of which nothing was kept yet, no state and no weights, it is replaced.

        Raises:
            BindingError: it asks for another run; says in what.
            DatasetError: a folder with other files in it, or a run.json that is none.
        """
        wanted = as_json_values({"format": FORMAT, **wanted})
        if not self.run.exists():
            others = [each.name for each in self.root.iterdir() if not each.name.startswith(".")]
            if others:
                raise DatasetError(
                    f"{self.root}: {others[0]} is in it, but no run.json, so it is no run's folder; "
                    "choose another --out"
                )
            return self._write(wanted)
        there = {name: value for name, value in self.read().items() if name not in _FREE}
        here = {name: value for name, value in wanted.items() if name not in _FREE}
        if there != here and not self.is_begun and not self.checkpoints():
            self.vocab.unlink(missing_ok=True)
            return self._write(wanted)
        if there != here:
            raise BindingError(
                f"{self.root}: another run is in it ({difference(there, here)}); choose another --out, "
                "or ask for the same to go on with it"
            )
        return True

    def _write(self, content: Mapping[str, Any]) -> bool:
        write_whole(self.run, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
        return False

    def read(self) -> dict[str, Any]:
        """The content of run.json.

        Raises:
            DatasetError: there is none, or not of this version.
        """
        if not self.run.exists():
            raise DatasetError(f"{self.root}: no run of clevrhope train (no run.json)")
        raw = read_object(self.run, "a run of clevrhope train", remedy="begin another run")
        if raw.get("format") != FORMAT:
            raise DatasetError(f"{self.run}: of another version of clevrhope; evaluate it with that one")
        check_form(raw, RUN, self.run)
        return raw
