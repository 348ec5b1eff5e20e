"""The commands that train and evaluate models: features, train, evaluate."""

import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from clevrhope.cli.arguments import (
    DATASET,
    PATH,
    Command,
    options,
    read_names,
    repeated,
    show_result,
    shown_progress,
)
from clevrhope.errors import command_line, shown
from clevrhope.runtime.terminal import say
from clevrhope.runtime.toml import parse_toml

if TYPE_CHECKING:
    from clevrhope.training.request import TrainRequest

_SIZE = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,3})", re.ASCII)

COLLAPSE = "It has collapsed: {:.1f}% of the questions of the tune set get the same answer."

_DEVICE = "--device NAME = auto: A torch device: cpu, cuda, cuda:1.  [default: auto]"


@click.command(cls=Command, short_help="Extracts the features of images that models read.")
@click.argument("folder", type=DATASET, metavar="DIR")
@options(f"""
    --kind NAME!: pixels (no weights needed; for train --set features=pixels), attributes (the true ones),
        scene-boxes (the true boxes), resnet101, frcnn, or a class of your own as package.module:Class.
    --size WxH: Resize images to this size first; write image to keep their own size.  [default: 224x224 for
        pixels and resnet101, image for scene-boxes]
    --weights WEIGHTS: Weights of the backbone: a local file (for frcnn, a folder), or random, except for
        frcnn; or what a class of your own takes. Whatever is made from features of random weights says so.
    --out PATH: Folder of the store.  [default: DIR/features/KIND...]
    --pools NAMES...: Only these pools, separated by commas.
    {_DEVICE}
    --quiet: Print nothing but errors.
    --json -> as_json: Print one JSON object instead of text.
""")
def features(folder: Path, kind: str, **choices: Any) -> None:
    """Extracts the features of a dataset's images for models to read.

    After an interruption, run the same command again to resume.
    """
    from clevrhope.features.extraction import make_features

    made = make_features(
        folder,
        kind=kind,
        size=read_size(choices["size"]),
        weights=choices["weights"],
        out=choices["out"],
        pools=read_names(choices["pools"]) or None,
        device=choices["device"],
        progress=shown_progress(choices),
    )
    from clevrhope.runtime.display import size

    result = {
        "folder": str(made.folder),
        "kind": made.kind,
        "pools": dict(made.pools),
        "note": made.note,
        "made": made.n_made,
        "skipped": made.n_skipped,
        "bytes": made.n_bytes,
    }
    note = f"; {made.note}" if made.note else ""
    if made.n_skipped:
        note += f"; {made.n_skipped:,} images of blur, fill and crop were left out, as no scene shows them"
    counts = f"{sum(made.pools.values()):,} images, {made.n_made:,} made now, {size(made.n_bytes)}"
    show_result(choices, result, [f"{made.folder}: {counts}{note}"])


@click.command(cls=Command, short_help="Trains a model on a dataset.")
@click.argument("model", metavar="MODEL")
@click.argument("folder", type=DATASET, metavar="DIR")
@options(f"""
Train set
    --hop HOP!: The HOP whose train set is used, or none, where nothing is held out.
    --size SIZE!: Train on the first SIZE questions, such as 25k or 5000.
    --split SPLIT = train: The train set: train; or train_carets, which clevrhope suite carets DIR --train
        makes (--size counts the questions of train, and those added to them come on top); or covr_train,
        whose questions are about sets of images.  [default: train]
    --drop-type TYPE=SHARE... -> drop_types: Leave out this share of the train questions of a type: color=0.9,
        count=0.5; separated by commas, or repeated. A question's type is the function that ends its program,
        without query_.
    --covr-split PREDICATE: With --split covr_train, hold out the questions with these properties, such as
        'compscope & has-quant-all' or 'uses:filter_color[red]': !, &, |, parentheses, and the conditions that
        docs/training.md lists.
        program is COVR's split by programs; lexical-1 to lexical-3 draw pairs of words, and lexical:red+cube
        names one.
    --shots N0: With --covr-split, train on this number of the questions that are held out.  [default: 0]
    --iid-size-of PREDICATE: In place of --covr-split, train on as many questions as that run, drawn from all.
Model and recipe
    --features NAME: The store of features, by its name in DIR or by its folder; needed where several fit.
    --set NAME=VALUE... -> settings: A setting of the model (channels=32; features=pixels for film, tensor_nmn
        and vector_nmn, which then need no weights) or of its recipe (recipe.batch_size=32,
        recipe.STAGE.rate=1e-4, recipe.schedule=linear, recipe.stages=STAGE, recipe.objective=rewards,
        recipe.stop_at=90, recipe.patience=5, recipe.accumulation=4); repeatable.
    --updates N: Total updates over all stages; each stage keeps its share of them.
    --seed SEED: Seed of weights and order; if left out, one is drawn, printed and recorded.
    --init-from RUN: Start from the last weights of this finished run of the same model; words and answers are
        matched by name.
Tuning and checkpoints
    --tune-on SET: Also keep, as the checkpoint best, the weights that do best on this set: val, the HOP's own
        split for tuning, in which a pair is held out. none:val shows the pair. Runs on covr_train take
        covr_dev.
    --tune-every N: Updates between evaluations on that set.  [default: 20 evaluations]
    --keep-last N = 1: Late checkpoints to keep.  [default: 1]
    --keep-every N: Updates between those checkpoints.
    --save-every N: Updates between saved states for resuming.  [default: every 5 minutes]
Machine
    {_DEVICE}
    --threads N = 1: CPU threads; a run is bound to their number, as it decides the last bits.  [default: 1]
    --precision float32|tf32|bf16: Precision of the computations.  [default: the recipe's; float32 in place of
        bf16 on devices without instructions for it]
    --deterministic: Give the same bits every time on a GPU, too; this is slower.
""")
@options("""
    --out RUN: The run's folder.  [default: runs/MODEL-HOP-SIZE-SEED]
    --quiet: Print nothing but errors.
    --json -> as_json: Print one JSON object instead of text.
""")
def train(**choices: Any) -> None:
    """Trains MODEL (a name, or package.module:Class) on a dataset.

    After an interruption, run the same command again to resume.
    """
    _load_torch(quiet=choices["quiet"])
    from clevrhope.training.run import train as run

    drawn = choices["seed"] is None
    if drawn:
        choices["seed"] = secrets.randbelow(2**32)
    request = read_train_request(choices)

    def tell(sentences: Sequence[str]) -> None:
        if drawn:
            again = repeated({"--seed": request.seed})
            say(f"Seed {request.seed} was drawn; to resume later: {again}", err=True)
        for sentence in () if choices["quiet"] else sentences:
            say(sentence, err=True)

    made = run(request, shown_progress(choices), tell=tell)
    new = made.updates > made.resumed_at
    rate = f"{made.updates_a_second:,.1f} per second" if new else "none of them new"
    loss = f", loss {made.loss:.4f}" if made.loss is not None else ""
    of_class = ["--model", request.model] if ":" in request.model else []
    lines = [
        f"{made.folder}: {made.updates:,} updates, {rate}{loss}",
        *([COLLAPSE.format(made.most_frequent)] if made.has_collapsed else []),
        f"To evaluate it: {command_line('evaluate', made.folder, *of_class)}",
    ]
    show_result(choices, {**asdict(made), "folder": str(made.folder), "seed": request.seed}, lines)


@click.command(cls=Command, short_help="Evaluates a trained model on the test sets.")
@click.argument("run", type=PATH, metavar="RUN")
@options(f"""
What to answer
    --hop HOP: Another sub-dataset of the same pair whose test sets are answered, such as one with fewer
        combinations.  [default: the run's own]
    --splits SPLITS...: Only these splits, separated by commas.
    --suite NAME... -> suites: Answer the questions of this suite (carets, rad, holdout, visual), and of its
        splits where answers are missing; repeatable.
    --dataset DATASET: Another dataset of the same world; needs --out.
    --labels FILE: RUN is not a run, but weights of LXMERT that others finetuned, on VQA2 for instance; FILE
        names the answers of its head (trainval_label2ans.json, or transformers' config.json). It answers all
        test sets of --dataset, or those of --hop, into --out.
With what
    --model CLASS: The run's package.module:Class, if it is one of your own: importing a class runs its code.
    --checkpoint NAME... -> checkpoints: Only this checkpoint; repeatable.  [default: all that were kept]
    --reaching PERCENT: Only the last weights, and the first two kept checkpoints in a row with this accuracy
        on the set that the run was tuned on.
    --features NAME: The store of features, by its name in DIR or its folder.
    {_DEVICE}
    --batch-size N = 256: Batch size.  [default: 256]
""")
@options("""
    --out FOLDER: Parent folder of predictions/.  [default: RUN]
    --quiet: Show no progress.
    --json -> as_json: Print one JSON object instead of text.
""")
def evaluate(run: Path, **choices: Any) -> None:
    """Evaluates a trained run on the test sets of its HOP; writes predictions for clevrhope score."""
    if choices["labels"] is not None:
        _evaluate_zero_shot(run, choices)
        return
    _load_torch(quiet=choices["quiet"])
    from clevrhope.training.evaluation import evaluate as answer
    from clevrhope.training.test_sets import SKIPPED

    suites: list[str | None] = [*read_names(choices["suites"])] or [None]
    made = [
        each
        for suite in suites
        for each in answer(
            run,
            model=choices["model"],
            dataset=choices["dataset"],
            features=choices["features"],
            checkpoints=choices["checkpoints"] or None,
            reaching=choices["reaching"],
            hop=choices["hop"],
            splits=read_names(choices["splits"]) or None,
            suite=suite,
            out=choices["out"],
            device=choices["device"],
            batch_size=choices["batch_size"],
            progress=shown_progress(choices),
        )
    ]
    lines = []
    for each in made:
        accuracies = ", ".join(
            f"{split} {percent:.2f}%" + _beside(each.constants.get(split), each.groups.get(split))
            for split, percent in each.percent.items()
        )
        n_without = sum(each.unanswered.values())
        without = f"; {n_without:,} without an answer" if n_without else ""
        n_unknown = len(each.unknown_words)
        unknown = f"; words read as <UNK>: {n_unknown:,}" if n_unknown else ""
        skipped = f"; {SKIPPED} ({each.n_skipped:,} questions)" if each.n_skipped else ""
        lines.append(f"{each.path}: {accuracies}{without}{unknown}{skipped}")
    rows = [dict(vars(each)) for each in made]
    result = [{"predictions": str(row.pop("path")), **row} for row in rows]
    show_result({"as_json": choices["as_json"]}, result, lines)


def _evaluate_zero_shot(weights: Path, choices: Mapping[str, Any]) -> None:
    """Answers the test sets of a dataset with LXMERT as others finetuned it."""
    for name in ("dataset", "out"):
        if choices[name] is None:
            raise click.UsageError(f"--labels needs --{name}")
    for name in ("suites", "model", "checkpoints", "reaching"):
        if choices.get(name):
            raise click.UsageError(f"--{name.removesuffix('s')} is for a run, not for weights with --labels")
    _load_torch(quiet=choices["quiet"])
    from clevrhope.training.zero_shot import evaluate_zero_shot

    made = evaluate_zero_shot(
        weights,
        choices["labels"],
        choices["dataset"],
        choices["out"],
        hops=[choices["hop"]] if choices["hop"] else [],
        splits=read_names(choices["splits"]) or None,
        features=choices["features"],
        device=choices["device"],
        batch_size=choices["batch_size"],
        progress=shown_progress(choices),
    )
    share = 100 * made.n_foreign / made.n_questions
    lines = [f"{name}: {percent:.2f}%" for name, percent in made.percent.items()]
    lines.append(
        f"{made.path}: {made.n_questions:,} answers, of which {share:.1f}% are none of this dataset and "
        f"count as wrong; {len(made.labels)} labels are answers here"
    )
    lines.append(f"To score them: {command_line('score', choices['dataset'], made.path)}")
    show_result(choices, {**asdict(made), "path": str(made.path)}, lines)


def _beside(constant: tuple[str, float] | None, groups: float | None) -> str:
    """The accuracy of always giving one answer and the share of right groups, in brackets; "" of others."""
    if constant is None or groups is None:
        return ""
    return f" (always {constant[0]}: {constant[1]:.2f}%; groups right: {groups:.2f}%)"


def _load_torch(*, quiet: bool) -> None:
    """Imports torch, and says so first, because it can take several seconds; raises as `check_torch` does."""
    from clevrhope.runtime.extras import check_torch

    if not quiet and "torch" not in sys.modules:
        say("Loading torch", err=True)
    check_torch()


def read_size(text: str | None) -> tuple[int, int] | Literal["image"] | None:
    """Width and height in pixels, "image" for the images' own size, or None if nothing is given."""
    if text is None:
        return None
    if text == "image":
        return "image"
    match = _SIZE.fullmatch(text)
    if match is None:
        raise click.UsageError(
            f"--size: {shown(text)} should be width and height in pixels, such as 96x64, or image"
        )
    return int(match[1]), int(match[2])


def read_train_request(choices: Mapping[str, Any]) -> "TrainRequest":
    """The request that the options of `train` describe, with its seed; `quiet` and `as_json` are ignored.

    Raises:
        ConfigError: a value does not fit its option, or does not go with the others.
    """
    from clevrhope.training.request import TrainRequest, covr_part_name, default_out, parse_drops, parse_size

    rest = {name: value for name, value in choices.items() if name not in ("quiet", "as_json")}
    rest["dataset"] = rest.pop("folder")
    rest["size"] = parse_size(rest["size"])
    named = {name: rest[name] for name in ("model", "hop", "size", "seed", "split")}
    covr_part = covr_part_name(*(rest[name] for name in ("covr_split", "iid_size_of", "shots")))
    rest["out"] = rest["out"] or default_out(**named, covr_part=covr_part)
    rest["settings"] = _read_settings(rest["settings"])
    rest["drop_types"] = parse_drops(read_names(rest["drop_types"]))
    return TrainRequest(**rest)


def _read_settings(given: Sequence[str]) -> dict[str, Any]:
    """Settings from NAME=VALUE; values are TOML (32, 1e-4, true, "text", [1, 2]), or else strings."""
    settings: dict[str, Any] = {}
    for each in given:
        name, equals, text = each.partition("=")
        if not (name and equals):
            raise click.UsageError(f"--set: {shown(each)} should be NAME=VALUE")
        try:
            value = parse_toml(f"value = {text}")["value"]
        except ValueError:
            value = text
        settings[name] = text if isinstance(value, date | time) else value
    return settings
