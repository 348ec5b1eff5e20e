"""A trained run and the test sets that it is evaluated on, all checked to belong together."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class EvaluatedRun:
    """A trained run and the test sets of a dataset on which it is evaluated.

    Attributes:
        folder: the run's folder.
        info: the content of its run.json.
        checkpoints: the names of the checkpoints to evaluate.
        vocab: the vocabulary of its model.
        layout: the dataset.
        dataset: what identifies the dataset in a file of predictions.
        store: the features of its images.
        hop: the sub-dataset whose test sets are answered.
        splits: all of these test sets.
        parts: the questions that are asked for.
        into: the folder for the predictions.
    """

    folder: RunFolder
    info: Mapping[str, Any]
    checkpoints: tuple[str, ...]
    vocab: Vocab
    layout: Layout
    dataset: Mapping[str, Any]
    store: FeatureStore
    hop: str
    splits: tuple[str, ...]
    parts: tuple[Part, ...]
    into: RunFolder

    @property
    def is_of_sets(self) -> bool:
        """Whether the questions are about sets of images."""
        return is_covr(self.info.get("split", TRAIN.name))


def open_run(
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
) -> EvaluatedRun:
    """Opens a run for evaluation; arguments and errors as for `evaluate`."""
    info = folder.read()
    check_links(out or folder.root, ("predictions", OTHER_HOPS))
    _check_model(folder, info["model"], model)
    check_reaching(reaching, checkpoints)
    if reaching is None:
        names = _chosen_checkpoints(folder, checkpoints)
    else:
        names = _checkpoints_reaching(folder, reaching)
    if dataset is None:
        check_in_place(Path(info["places"]["dataset"]), folder.root)
    layout = Layout(dataset or Path(info["places"]["dataset"]))
    store = _open_store(layout.root, info, features)
    vocab = read_vocab(folder.vocab)
    for name in names:
        _check_checkpoint(folder.checkpoint(name), info, vocab)
    trained_hop = find_hop(layout, info["hop"])
    hop = trained_hop if hop is None else _other_sub_dataset(layout, hop, trained_hop)
    of_sets = is_covr(info.get("split", TRAIN.name))
    built = splits_in(layout, hop, SETS if of_sets else SINGLE)
    every = chosen_splits(built, hop, None)
    tested = built
    if suite is not None:
        made = (suite_splits_in if of_sets else suite_splits)(layout, hop, suite)
        tested = tuple(split for split in made if is_covr(split) == of_sets)
        if not tested:
            mine, theirs = ("sets of images", "one image") if of_sets else ("one image", "sets of images")
            raise ConfigError(
                f"{folder.root}: the run is about {mine}, and the questions of the suite {suite} are about "
                f"{theirs}; choose a run on {TRAIN.name if of_sets else COVR_TRAIN}"
            )
        if not chosen_splits(tested, hop, None):
            raise no_suite(layout.root, suite, hop)
    chosen = chosen_splits(tested, hop, splits, place=f"{layout.root}: ")
    about = identity(
        Folder.open(layout.root).manifest,
        read_vocab(layout.vocab),
        hop=trained_hop,
        images=store.info.of_images,
    )
    of_suite = [Part(suite, split) for split in chosen if suite is not None]
    opened = EvaluatedRun(
        folder=folder,
        info=info,
        checkpoints=names,
        vocab=vocab,
        layout=layout,
        dataset=about,
        store=store,
        hop=hop,
        splits=every,
        parts=(*(Part("", split) for split in chosen), *of_suite),
        into=RunFolder(out or (folder.root if hop == trained_hop else folder.other_hop(hop))),
    )
    differs = _difference(opened, trained_hop)
    # Reports take the predictions in a folder with a run.json for those of that run.
    if differs and (out is None or RunFolder(out).run.exists()):
        raise ConfigError(
            f"{layout.root}: another dataset than {folder.root} was trained on ({differs}), so its "
            f"predictions do not belong in {out or folder.root}; choose a separate folder with --out"
        )
    return opened


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


def _difference(opened: EvaluatedRun, trained_hop: str) -> str:
    """How the dataset differs from the one that the run was trained on; "" if it does not.

    Its test sets are compared only if the original dataset is still in its place.
    """
    info, layout, hop = opened.info, opened.layout, opened.hop
    if opened.dataset != info["dataset"]:
        return difference(info["dataset"], opened.dataset, sides=("in training", "here"))
    sets = layout.questions_h5(hop, COVR_TRAIN)
    if "train_sha256" in info and sets.is_file() and rows_sha256(sets, info["size"]) != info["train_sha256"]:
        return f"other questions in {COVR_TRAIN}"
    trained_on = Layout(Path(info["places"]["dataset"]))
    manifest = read_manifest(trained_on.manifest)
    if manifest is None or not trained_on.vocab.exists() or layout.root.resolve() == trained_on.root:
        return ""
    images, vocab = opened.store.info.of_images, read_vocab(trained_on.vocab)
    if identity(manifest, vocab, hop=trained_hop, images=images) != opened.dataset:
        return ""
    files = Folder.open(layout.root).manifest.files
    names = [layout.relative(layout.questions_h5(hop, split)) for split in opened.splits]
    same = all(name in files and files[name] == manifest.files.get(name) for name in names)
    return "" if same else "other questions in its test sets"
