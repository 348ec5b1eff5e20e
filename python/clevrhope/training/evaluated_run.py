"""A trained run and the test sets that it is evaluated on, all checked to belong together."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clevrhope.dataset.binding import difference
from clevrhope.dataset.contents import find_hop, no_suite, same_hop, splits_in, suite_splits, suite_splits_in
from clevrhope.dataset.covr_questions import rows_sha256
from clevrhope.dataset.folder import Folder, identity
from clevrhope.dataset.folder_check import check_in_place
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import read_manifest
from clevrhope.dataset.question_kinds import SETS, SINGLE
from clevrhope.dataset.vocab import Vocab, read_vocab, vocab_digest
from clevrhope.errors import ConfigError, DatasetError, shown
from clevrhope.features.store import NOTHING, FeatureStore, open_store
from clevrhope.models.names import MODELS, check_name
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.json_text import as_json_values
from clevrhope.runtime.paths import check_links
from clevrhope.runtime.settings import check_known
from clevrhope.splits.covr.kinds import COVR_TRAIN, is_covr
from clevrhope.splits.kinds import TRAIN
from clevrhope.splits.palettes import MARK
from clevrhope.training.checkpoints import read_about
from clevrhope.training.predictions import Part
from clevrhope.training.prepared_run import described_features
from clevrhope.training.request import check_reaching, chosen_splits
from clevrhope.training.run_folder import OTHER_HOPS, RunFolder


class EvaluatedRun:
    """A trained run and the test sets of a dataset on which it is evaluated."""

    def __init__(
        self,
        folder: RunFolder,
        *,
        model: str | None,
        dataset: Path | None,
        features: str | None,
        checkpoints: Sequence[str] | None,
        reaching: float | None,
        hop: str | None,
        splits: Sequence[str] | None,
        suite: str | None,
        out: Path | None,
    ) -> None:
        """Opens a run for evaluation; arguments and errors as for `evaluate`."""
        self.folder = folder
        self.info = folder.read()
        """The content of its run.json."""
        check_links(out or folder.root, ("predictions", OTHER_HOPS))
        _check_model(folder, self.info["model"], model)
        check_reaching(reaching, checkpoints)
        self.checkpoints = (
            _chosen_checkpoints(folder, checkpoints)
            if reaching is None
            else _checkpoints_reaching(folder, reaching)
        )
        """The names of the checkpoints to evaluate."""
        if dataset is None:
            check_in_place(Path(self.info["places"]["dataset"]), folder.root)
        self.layout = Layout(dataset or Path(self.info["places"]["dataset"]))
        """The dataset."""
        self.store = _open_store(self.layout.root, self.info, features)
        """The features of its images."""
        self.vocab = read_vocab(folder.vocab)
        """The vocabulary of the run's model."""
        for name in self.checkpoints:
            _check_checkpoint(folder.checkpoint(name), self.info, self.vocab)
        trained_hop = find_hop(self.layout, self.info["hop"])
        self.hop = trained_hop if hop is None else _other_sub_dataset(self.layout, hop, trained_hop)
        """The sub-dataset whose test sets are answered."""
        self.is_of_sets = is_covr(self.info.get("split", TRAIN.name))
        """Whether the questions are about sets of images."""
        built = splits_in(self.layout, self.hop, SETS if self.is_of_sets else SINGLE)
        self.splits = chosen_splits(built, self.hop, None)
        """All of its test sets."""
        tested = built if suite is None else self._splits_of_suite(suite)
        chosen = chosen_splits(tested, self.hop, splits, place=f"{self.layout.root}: ")
        of_suite = [Part(suite, split) for split in chosen if suite is not None]
        self.parts = (*(Part("", split) for split in chosen), *of_suite)
        """The questions that are asked for."""
        self.dataset = identity(
            Folder.open(self.layout.root).manifest,
            read_vocab(self.layout.vocab),
            hop=trained_hop,
            images=self.store.info.of_images,
        )
        """What identifies the dataset in a file of predictions."""
        self.into = RunFolder(out or (folder.root if self.hop == trained_hop else folder.other_hop(self.hop)))
        """The folder for the predictions."""
        differs = self._difference(trained_hop)
        # Reports take the predictions in a folder with a run.json for those of that run.
        if differs and (out is None or RunFolder(out).run.exists()):
            raise ConfigError(
                f"{self.layout.root}: another dataset than {folder.root} was trained on ({differs}), so its "
                f"predictions do not belong in {out or folder.root}; choose a separate folder with --out"
            )

    def _splits_of_suite(self, suite: str) -> tuple[str, ...]:
        """The splits on which a suite was made, if they are of the run's kind of questions."""
        made = (suite_splits_in if self.is_of_sets else suite_splits)(self.layout, self.hop, suite)
        tested = tuple(split for split in made if is_covr(split) == self.is_of_sets)
        if not tested:
            mine, theirs = (
                ("sets of images", "one image") if self.is_of_sets else ("one image", "sets of images")
            )
            raise ConfigError(
                f"{self.folder.root}: the run is about {mine}, and the questions of the suite {suite} are "
                f"about {theirs}; choose a run on {TRAIN.name if self.is_of_sets else COVR_TRAIN}"
            )
        if not chosen_splits(tested, self.hop, None):
            raise no_suite(self.layout.root, suite, self.hop)
        return tested

    def _difference(self, trained_hop: str) -> str:
        """How the dataset differs from the one that the run was trained on; "" if it does not.

        Its test sets are compared only if the original dataset is still in its place.
        """
        info, layout, hop = self.info, self.layout, self.hop
        if self.dataset != info["dataset"]:
            return difference(info["dataset"], self.dataset, sides=("in training", "here"))
        sets = layout.questions_h5(hop, COVR_TRAIN)
        is_known = "train_sha256" in info and sets.is_file()
        if is_known and rows_sha256(sets, info["size"]) != info["train_sha256"]:
            return f"other questions in {COVR_TRAIN}"
        trained_on = Layout(Path(info["places"]["dataset"]))
        manifest = read_manifest(trained_on.manifest)
        if manifest is None or not trained_on.vocab.exists() or layout.root.resolve() == trained_on.root:
            return ""
        images, vocab = self.store.info.of_images, read_vocab(trained_on.vocab)
        if identity(manifest, vocab, hop=trained_hop, images=images) != self.dataset:
            return ""
        files = Folder.open(layout.root).manifest.files
        names = [layout.relative(layout.questions_h5(hop, split)) for split in self.splits]
        same = all(name in files and files[name] == manifest.files.get(name) for name in names)
        return "" if same else "other questions in its test sets"


def _chosen_checkpoints(folder: RunFolder, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """The wanted checkpoints, by default all, which must then include the last weights."""
    known = folder.checkpoints()
    if "last" not in known and (wanted is None or not known):
        what = "not finished, so there are no last weights; run its clevrhope train again"
        if folder.finished.exists():
            what = "its last weights are gone; put back a copy, or train into another folder"
        choice = f", or choose of these with --checkpoint: {', '.join(known)}" if known else ""
        raise ConfigError(f"{folder.root}: {what}{choice}")
    check_known(wanted or (), known, f"{folder.root}: no checkpoint")
    return tuple(wanted or known)


def _checkpoints_reaching(folder: RunFolder, percent: float) -> tuple[str, ...]:
    """The first two kept checkpoints in a row that reach an accuracy, if any do, and the last weights.

    Writes their names to reached.json, which reports read.
    """
    _chosen_checkpoints(folder, ("last",))
    reached = folder.first_reaching(percent)
    content = {"percent": percent, "checkpoints": reached}
    write_whole(folder.reached, (json.dumps(content, indent=2) + "\n").encode())
    return tuple(dict.fromkeys((*reached, "last")))


def _check_model(folder: RunFolder, name: str, trusted: str | None) -> None:
    """Checks that a run's class is clevrhope's, imported already, or named by the user.

    A run folder that somebody else made could otherwise run code of its choice: importing a module runs it.
    """
    check_name(name)
    if trusted is not None and trusted != name:
        raise ConfigError(f"--model: {shown(trusted)} is not the class of {folder.root}, {shown(name)}")
    if trusted is None and name not in MODELS and name.partition(":")[0] not in sys.modules:
        raise ConfigError(
            f"{folder.run}: model is {shown(name)}, which is not one of clevrhope's; if you trust this "
            f"class, name it: --model {shlex.quote(name)}"
        )


def _other_sub_dataset(layout: Layout, name: str, trained: str) -> str:
    """The full name of another sub-dataset, which must hold out the same pair as the one trained on."""
    hop = find_hop(layout, name)
    if not same_hop(hop.partition(MARK)[0], trained.partition(MARK)[0]):
        raise ConfigError(
            f"--hop: the run holds out {trained}, and {hop} another pair, which the run may have seen; name "
            "a sub-dataset of the same pair"
        )
    return hop


def _open_store(root: Path, info: Mapping[str, Any], name: str | None) -> FeatureStore:
    """The store of a dataset whose features are those that a run was trained on; a DatasetError if others."""
    trained_on = info["features"]
    is_read = trained_on["kind"] != NOTHING
    if name is None and is_read and root.resolve() == Path(info["places"]["dataset"]):
        name = info["places"]["features"]
    store = open_store(root, kind=trained_on["kind"], name=name)
    here = as_json_values(described_features(store))
    if here != trained_on:
        differs = difference(trained_on, here, sides=("in training", "here"))
        remedy = "make those, or say which with --features"
        if here["options"].get("values") != trained_on["options"].get("values"):
            remedy = "evaluate on a dataset of the same values"
        raise DatasetError(
            f"{store.folder}: other features than the run was trained on ({differs}); {remedy}"
        )
    return store


def _check_checkpoint(path: Path, info: Mapping[str, Any], vocab: Vocab) -> None:
    """Checks that a checkpoint is of the run whose run.json has `info`; raises DatasetError if not."""
    about = read_about(path)
    wanted = {**{name: info[name] for name in ("model", "hop", "size", "seed")}, "vocab": vocab_digest(vocab)}
    for name, value in wanted.items():
        if about[name] != value:
            raise DatasetError(
                f"{path}: a checkpoint of another run ({name} is {shown(about[name])}, not {shown(value)}); "
                "move it elsewhere, or put the run's own back"
            )
