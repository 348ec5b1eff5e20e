"""The commands that train and evaluate models: features, train, evaluate."""

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from clevrhope.cli.arguments import PATH, Whole, read_names, shown_progress
from clevrhope.errors import shown
from clevrhope.runtime.toml import parse_toml

if TYPE_CHECKING:
    from clevrhope.training.request import TrainRequest

_SIZE = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,3})", re.ASCII)

_device = click.option(
    "--device", metavar="NAME", default="auto", help="As torch spells it: cpu, cuda, cuda:1.  [default: auto]"
)
_quiet = click.option("--quiet", is_flag=True, help="Say nothing but errors.")
_as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")


@click.command()
@click.argument("folder", type=PATH, metavar="DIR")
@click.option(
    "--kind",
    required=True,
    metavar="NAME",
    help="pixels, attributes (true ones), scene-boxes (true boxes), resnet101, frcnn.",
)
@click.option(
    "--size",
    metavar="WxH",
    help="Bring images to this size first; image for their own.  [default: 224x224 for pixels and "
    "resnet101, image for scene-boxes]",
)
@click.option(
    "--weights",
    metavar="PATH",
    help="The backbone's weights, a local file, for frcnn a folder; or random, which frcnn cannot take and "
    "which is marked in all that is made of it.",
)
@click.option("--out", type=PATH, help="Folder of the store.  [default: DIR/features/KIND...]")
@click.option("--pools", multiple=True, metavar="NAMES", help="Only these pools, commas between them.")
@_device
@_quiet
@_as_json
def features(folder: Path, kind: str, **choices: Any) -> None:
    """Makes what models read of a dataset's images; run it again after any stop to go on.

    DIR may be CLEVR v1.0's own folder, whose val train --tune-on takes.
    """
    from clevrhope.features.extraction import make_features

    pools = read_names(choices["pools"])
    made = make_features(
        folder,
        kind=kind,
        size=read_size(choices["size"]),
        weights=choices["weights"],
        out=choices["out"],
        pools=pools or None,
        device=choices["device"],
        progress=shown_progress(choices),
    )
    n = sum(made.pools.values())
    if choices["as_json"]:
        told = {"folder": str(made.folder), "kind": made.kind, "pools": dict(made.pools), "note": made.note}
        click.echo(json.dumps({**told, "made": made.n_made, "bytes": made.n_bytes}))
    elif not choices["quiet"]:
        from clevrhope.runtime.display import size

        note = f"; {made.note}" if made.note else ""
        click.echo(f"{made.folder}: {n:,} images, {made.n_made:,} made now, {size(made.n_bytes)}{note}")


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("folder", type=PATH, metavar="DIR")
@click.option("--hop", required=True, metavar="NAME", help="Whose train set; none holds nothing out.")
@click.option(
    "--size", required=True, metavar="N", help="The first so many questions: 25k, 200k, 560k, 5000."
)
@click.option(
    "--seed",
    type=Whole(0, 2**64 - 1),
    help="Decides weights and order; drawn, printed, recorded if left out.",
)
@click.option("--out", type=PATH, metavar="RUN", help="[default: runs/MODEL-HOP-SIZE-SEED]")
@click.option("--updates", type=Whole(1), metavar="N", help="In all; stages keep their shares.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Of the model (channels=32) or its recipe (recipe.batch_size=32, recipe.STAGE.rate=1e-4, "
    "recipe.schedule=linear, recipe.stages=STAGE).",
)
@click.option("--features", metavar="NAME", help="A store of DIR, or its folder, where there are several.")
@_device
@click.option("--deterministic", is_flag=True, help="The same bits each time on a GPU, too; slower.")
@click.option(
    "--precision",
    type=click.Choice(["float32", "tf32", "bf16"]),
    help="[default: the recipe's; float32 for bf16 where the device has no instructions for it]",
)
@click.option(
    "--tune-on",
    metavar="SET",
    help="Keep what is best there, too, as best: val (of none), or CLEVR v1.0's folder for its val.",
)
@click.option("--tune-every", type=Whole(1), metavar="N", help="Updates between looks.  [default: 20 looks]")
@click.option("--keep-last", type=Whole(1), default=1, metavar="K", help="Late checkpoints.  [default: 1]")
@click.option("--keep-every", type=Whole(1), metavar="N", help="Updates between them.")
@click.option(
    "--save-every", type=Whole(1), metavar="N", help="Updates between states to resume.  [default: 5 minutes]"
)
@click.option("--tensorboard", is_flag=True, help="Write TensorBoard's files, too.")
@_quiet
@_as_json
def train(model: str, folder: Path, as_json: bool, quiet: bool, **choices: Any) -> None:
    """Trains MODEL (a name, or package.module:Class) on a dataset; run it again after any stop to go on."""
    from clevrhope.runtime.extras import check_torch

    check_torch()
    from clevrhope.training.memory import keep_freed_memory
    from clevrhope.training.run import train as run

    keep_freed_memory()

    drawn = choices["seed"] is None
    if drawn:
        choices["seed"] = secrets.randbelow(2**32)
    request = read_train_request({"model": model, "folder": folder, **choices})
    seed = request.seed
    if drawn:
        click.echo(
            f"Seed {seed} was drawn; to go on after a stop: --seed {seed} --out {request.out}", err=True
        )
    made = run(request, shown_progress({"quiet": quiet}))
    if as_json:
        told = {"folder": str(made.folder), "updates": made.updates, "resumed_at": made.resumed_at}
        rate = {"updates_a_second": made.updates_a_second, "seconds": made.seconds, "loss": made.loss}
        click.echo(json.dumps({**told, **rate, "checkpoints": made.checkpoints, "seed": seed}))
    elif not quiet:
        now = made.updates - made.resumed_at
        rate_told = f", {made.updates_a_second:,.1f} a second" if now else ", all of them were there"
        loss = f", loss {made.loss:.4f}" if made.loss is not None else ""
        click.echo(f"{made.folder}: {made.updates:,} updates{rate_told}{loss}")
        click.echo(f"Evaluate it: clevrhope evaluate {made.folder}")


@click.command()
@click.argument("run", type=PATH, metavar="RUN")
@click.option(
    "--checkpoint", "checkpoints", multiple=True, metavar="NAME", help="[default: all that are kept]"
)
@click.option("--splits", multiple=True, metavar="NAMES", help="[default: all test sets of the run's pair]")
@click.option("--dataset", type=PATH, metavar="DIR", help="Another of the same world; needs --out.")
@click.option("--features", metavar="NAME", help="A store of DIR, or its folder.")
@click.option("--out", type=PATH, metavar="FOLDER", help="Where predictions/ goes.  [default: RUN]")
@_device
@click.option("--batch-size", type=Whole(1), default=256, show_default=True, metavar="N")
@_quiet
@_as_json
def evaluate(run: Path, **choices: Any) -> None:
    """Answers the test sets with a trained run; writes predictions for clevrhope score."""
    from clevrhope.runtime.extras import check_torch

    check_torch()
    from clevrhope.training.evaluation import evaluate as answer

    made = answer(
        run,
        dataset=choices["dataset"],
        features=choices["features"],
        checkpoints=choices["checkpoints"] or None,
        splits=read_names(choices["splits"]) or None,
        out=choices["out"],
        device=choices["device"],
        batch_size=choices["batch_size"],
        progress=shown_progress(choices),
    )
    if choices["as_json"]:
        click.echo(
            json.dumps(
                [
                    {
                        "predictions": str(each.path),
                        "checkpoint": each.checkpoint,
                        "way": each.way,
                        "percent": dict(each.percent),
                        "unanswered": dict(each.unanswered),
                    }
                    for each in made
                ]
            )
        )
        return
    for each in made:
        told = ", ".join(f"{split} {percent:.2f}%" for split, percent in each.percent.items())
        without = sum(each.unanswered.values())
        click.echo(f"{each.path}: {told}" + (f"; {without:,} without an answer" if without else ""))


def read_size(text: str | None) -> tuple[int, int] | Literal["picture"] | None:
    """Width and height, "picture", or None where nothing is said."""
    if text is None:
        return None
    if text == "picture":
        return "picture"
    match = _SIZE.fullmatch(text)
    if match is None:
        raise click.UsageError(
            f"--size: {shown(text)} should be width and height in pixels, such as 96x64, or image"
        )
    return int(match[1]), int(match[2])


def read_train_request(choices: Mapping[str, Any]) -> "TrainRequest":
    """What the options of `train` ask for, a seed among them; those of what is printed are left aside.

    Raises:
        ConfigError: a value that is none of its option's, or one that does not go with the others.
    """
    from clevrhope.training.request import TrainRequest, default_out, parse_size

    rest = {name: value for name, value in choices.items() if name not in ("quiet", "as_json")}
    rest["dataset"] = rest.pop("folder")
    rest["size"] = parse_size(rest["size"])
    rest["out"] = rest["out"] or default_out(*(rest[name] for name in ("model", "hop", "size", "seed")))
    rest["settings"] = _read_settings(rest["settings"])
    return TrainRequest(**rest)


def _read_settings(given: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE each; a value is TOML's (32, 1e-4, true, "text", [1, 2]), or else a text."""
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
